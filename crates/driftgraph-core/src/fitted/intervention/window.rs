//! Windows of time behind an intervention: `@ 10..20`, open where a time is missing.

use super::{TimeReader, Window};
use crate::fitted::expression::{ExpressionError, Parser, Trouble};

/// What is done, and the text of its window behind the first `@` that is not part of a quoted name.
pub(super) fn split(text: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (None, '@') => return (&text[..at], Some(&text[at + 1..])),
            (None, '`' | '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if letter == open => quote = None,
            _ => {}
        }
    }
    (text, None)
}

/// The window that stands at the end of a text.
pub(super) fn read(
    text: &str,
    tail: &str,
    read_time: &TimeReader<'_>,
) -> Result<Window, ExpressionError> {
    let start = text.chars().count() - tail.chars().count();
    let error = |position: usize, problem: Trouble| ExpressionError {
        text: text.to_owned(),
        position,
        problem,
    };
    let Some((first, last)) = tail.split_once("..") else {
        let expected = "`..` between the two times of a window";
        let problem = Trouble::Unexpected { expected, found: "the end".to_owned() };
        return Err(error(text.chars().count(), problem));
    };
    let bound = |piece: &str, start: usize, open: f64| -> Result<f64, ExpressionError> {
        let position = start + blanks(piece);
        match piece.trim() {
            "" => Ok(open),
            time => match read_time(time) {
                Ok(Some(time)) => Ok(time),
                Ok(None) => {
                    formula(time).map_err(|inner| error(position + inner.position, inner.problem))
                }
                Err(reason) => Err(error(position, Trouble::NotATime { reason })),
            },
        }
    };
    let from = bound(first, start, f64::NEG_INFINITY)?;
    let to = bound(last, start + first.chars().count() + 2, f64::INFINITY)?;
    if from < to {
        return Ok(Window { from, to });
    }
    let found = format!("`{}..{}`", first.trim(), last.trim());
    let problem = Trouble::Unexpected { expected: "a window that ends after it starts", found };
    Err(error(start + blanks(tail), problem))
}

fn blanks(text: &str) -> usize {
    text.chars().take_while(|letter| letter.is_whitespace()).count()
}

/// A time that is computed from numbers.
fn formula(text: &str) -> Result<f64, ExpressionError> {
    let mut parser = Parser::new(text, &[])?;
    let time = parser.constant()?;
    parser.end()?;
    Ok(time)
}
