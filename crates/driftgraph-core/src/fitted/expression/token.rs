//! Text to tokens, each with its place.

use super::{ExpressionError, Trouble};

/// A token and the position of its first character.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fitted) struct Token {
    pub(in crate::fitted) symbol: Symbol,
    pub(in crate::fitted) position: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::fitted) enum Symbol {
    Number(f64),
    Name(String),
    /// A name in quotes, which is never a word of the language.
    Quoted(String),
    /// One of the signs below, as written.
    Sign(&'static str),
    End,
}

impl Symbol {
    /// As a message shows it.
    pub(in crate::fitted) fn shown(&self) -> String {
        match self {
            Self::Number(number) => format!("`{number}`"),
            Self::Name(name) | Self::Quoted(name) => format!("`{name}`"),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Longer signs first, so that `+=` is not read as `+` and `=`.
const SIGNS: [&str; 15] =
    ["+=", "-=", "*=", "..", "+", "-", "*", "/", "^", "(", ")", ",", ";", "=", "@"];

/// Splits a text into tokens; the last one is [`Symbol::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    let characters: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < characters.len() {
        if characters[at].is_whitespace() {
            at += 1;
            continue;
        }
        let (symbol, end) = token(text, &characters, at)?;
        tokens.push(Token { symbol, position: at });
        at = end;
    }
    tokens.push(Token { symbol: Symbol::End, position: characters.len() });
    Ok(tokens)
}

fn token(text: &str, characters: &[char], at: usize) -> Result<(Symbol, usize), ExpressionError> {
    let first = characters[at];
    let error = |problem| ExpressionError { text: text.to_owned(), position: at, problem };
    let run = |from: usize, inside: fn(char) -> bool| {
        characters[from..].iter().take_while(|&&character| inside(character)).count() + from
    };
    if matches!(first, '`' | '\'' | '"') {
        let end = characters[at + 1..].iter().position(|&character| character == first);
        let Some(length) = end else {
            let (expected, found) = ("a closing quote", Symbol::End.shown());
            return Err(error(Trouble::Unexpected { expected, found }));
        };
        let name: String = characters[at + 1..at + 1 + length].iter().collect();
        return Ok((Symbol::Quoted(name), at + length + 2));
    }
    let next = characters.get(at + 1).copied().unwrap_or(' ');
    if first.is_ascii_digit() || (first == '.' && next.is_ascii_digit()) {
        let end = number_end(characters, at);
        let digits: String = characters[at..end].iter().collect();
        let number = digits.parse::<f64>().ok().filter(|number| number.is_finite());
        let Some(number) = number else {
            let expected = "a number";
            return Err(error(Trouble::Unexpected { expected, found: format!("`{digits}`") }));
        };
        return Ok((Symbol::Number(number), end));
    }
    if first.is_alphabetic() || first == '_' {
        let part = |character: char| character.is_alphanumeric() || character == '_';
        let mut end = run(at, part);
        // A dot belongs to a name only between its parts: `a.b`, but not `a..`.
        while characters.get(end) == Some(&'.') && characters.get(end + 1).is_some_and(|&c| part(c))
        {
            end = run(end + 1, part);
        }
        return Ok((Symbol::Name(characters[at..end].iter().collect()), end));
    }
    let matches = |sign: &&&str| sign.chars().eq(characters[at..].iter().copied().take(sign.len()));
    match SIGNS.iter().find(matches) {
        Some(sign) => Ok((Symbol::Sign(sign), at + sign.len())),
        None => Err(error(Trouble::UnknownCharacter { found: first })),
    }
}

/// End of a number: `10..20` is a number, two dots and a number.
fn number_end(characters: &[char], start: usize) -> usize {
    let digits = |mut at: usize| {
        while characters.get(at).is_some_and(char::is_ascii_digit) {
            at += 1;
        }
        at
    };
    let mut end = digits(start);
    if characters.get(end) == Some(&'.') && characters.get(end + 1) != Some(&'.') {
        end = digits(end + 1);
    }
    if matches!(characters.get(end), Some('e' | 'E')) {
        let sign = usize::from(matches!(characters.get(end + 1), Some('+' | '-')));
        if characters.get(end + 1 + sign).is_some_and(char::is_ascii_digit) {
            end = digits(end + 1 + sign);
        }
    }
    end
}
