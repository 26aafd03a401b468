//! Text to interventions.

use super::{Change, How, Intervention, Shape, TimeReader, Window, window};
use crate::fitted::expression::{ExpressionError, Parser, Symbol, Trouble};

pub(super) fn intervention(
    text: &str,
    variables: &[String],
    read_time: &TimeReader<'_>,
) -> Result<Intervention, ExpressionError> {
    let (head, tail) = window::split(text);
    // Places are counted in the whole text, whichever part of it is read.
    let whole = |error: ExpressionError| ExpressionError { text: text.to_owned(), ..error };
    let mut parser = Parser::new(head, variables).map_err(whole)?;
    let change = change(&mut parser).map_err(whole)?;
    parser.end().map_err(whole)?;
    let window = match tail {
        Some(tail) => window::read(text, tail, read_time)?,
        None => Window { from: f64::NEG_INFINITY, to: f64::INFINITY },
    };
    Ok(Intervention { text: text.trim().to_owned(), change, window })
}

/// A word of the language is one only where a bracket, or the word of a shape, follows it.
fn change(parser: &mut Parser<'_>) -> Result<Change, ExpressionError> {
    let word = match parser.peek() {
        (Symbol::Name(word), Symbol::Sign("(")) => word.clone(),
        (Symbol::Name(word), Symbol::Name(_)) if word == "project" => word.clone(),
        _ => String::new(),
    };
    match word.as_str() {
        "drift" | "diffusion" => {
            parser.advance();
            parser.advance();
            let variable = parser.variable()?;
            parser.needs(")", "`)`")?;
            let how = how(parser)?;
            let negative = how.1;
            let value =
                if negative { parser.negative_expression()? } else { parser.expression()? };
            let how = how.0;
            Ok(if word == "drift" {
                Change::Drift { variable, how, value }
            } else {
                Change::Diffusion { variable, how, value }
            })
        }
        "clip" => {
            parser.advance();
            parser.advance();
            let variable = parser.variable()?;
            parser.needs(";", "`;` and two bounds")?;
            let bounds = bounds(parser)?;
            parser.needs(")", "`)`")?;
            Ok(Change::Clip { variable, bounds })
        }
        "project" => project(parser),
        _ => {
            let variable = parser.variable()?;
            parser.needs("=", "`=` (only drift and diffusion can be added to or scaled)")?;
            Ok(Change::Hold { variable, value: parser.expression()? })
        }
    }
}

/// The operator, and whether its value counts negative.
fn how(parser: &mut Parser<'_>) -> Result<(How, bool), ExpressionError> {
    let signs = [
        ("=", (How::Set, false)),
        ("+=", (How::Add, false)),
        ("-=", (How::Add, true)),
        ("*=", (How::Scale, false)),
    ];
    let found = signs.into_iter().find(|(sign, _)| parser.takes(sign));
    found.map(|(_, how)| how).ok_or_else(|| parser.unexpected("`=`, `+=`, `-=` or `*=`"))
}

fn project(parser: &mut Parser<'_>) -> Result<Change, ExpressionError> {
    parser.advance();
    let position = parser.position();
    let shape = match parser.peek().0 {
        Symbol::Name(name) if ["sphere", "plane", "box"].contains(&name.as_str()) => name.clone(),
        _ => return Err(parser.unexpected("`sphere`, `plane` or `box`")),
    };
    parser.advance();
    parser.needs("(", "`(`")?;
    let mut variables = vec![parser.variable()?];
    while parser.takes(",") {
        variables.push(parser.variable()?);
    }
    let mut once = variables.clone();
    once.sort_unstable();
    once.dedup();
    if once.len() < variables.len() {
        let found = "one of them twice".to_owned();
        let problem = Trouble::Unexpected { expected: "every variable once", found };
        return Err(parser.error(position, problem));
    }
    parser.needs(";", "`;` after the variables")?;
    let onto = match shape.as_str() {
        "sphere" => sphere(parser, variables.len())?,
        "plane" => plane(parser, variables.len())?,
        _ => boxed(parser, variables.len())?,
    };
    parser.needs(")", "`)`")?;
    Ok(Change::Project { variables, onto })
}

fn sphere(parser: &mut Parser<'_>, n: usize) -> Result<Shape, ExpressionError> {
    let position = parser.position();
    let radius = parser.constant()?;
    if radius <= 0.0 {
        let found = format!("`{radius}`");
        let problem = Trouble::Unexpected { expected: "a positive radius", found };
        return Err(parser.error(position, problem));
    }
    let centre = if parser.takes(";") { numbers(parser, n)? } else { vec![0.0; n] };
    Ok(Shape::Sphere { radius, centre })
}

fn plane(parser: &mut Parser<'_>, n: usize) -> Result<Shape, ExpressionError> {
    let position = parser.position();
    let normal = numbers(parser, n)?;
    if normal.iter().all(|weight| *weight == 0.0) {
        let found = "zeros".to_owned();
        let problem = Trouble::Unexpected { expected: "a normal that is not zero", found };
        return Err(parser.error(position, problem));
    }
    parser.needs(";", "`;` and the level of the plane")?;
    Ok(Shape::Plane { normal, level: parser.constant()? })
}

fn boxed(parser: &mut Parser<'_>, n: usize) -> Result<Shape, ExpressionError> {
    let position = parser.position();
    let mut all = vec![bounds(parser)?];
    while parser.takes(";") {
        all.push(bounds(parser)?);
    }
    if all.len() == n {
        return Ok(Shape::Box { bounds: all });
    }
    let (expected, found) = ("two bounds per variable, as `0, 1; 0, 2`", all.len().to_string());
    Err(parser.error(position, Trouble::Unexpected { expected, found }))
}

fn bounds(parser: &mut Parser<'_>) -> Result<(f64, f64), ExpressionError> {
    let position = parser.position();
    let low = parser.constant()?;
    parser.needs(",", "`,` between the bounds")?;
    let high = parser.constant()?;
    if low <= high {
        return Ok((low, high));
    }
    let (expected, found) = ("the lower bound first", format!("`{low}, {high}`"));
    Err(parser.error(position, Trouble::Unexpected { expected, found }))
}

fn numbers(parser: &mut Parser<'_>, n: usize) -> Result<Vec<f64>, ExpressionError> {
    let position = parser.position();
    let mut numbers = vec![parser.constant()?];
    while parser.takes(",") {
        numbers.push(parser.constant()?);
    }
    if numbers.len() == n {
        return Ok(numbers);
    }
    let (expected, found) = ("one number per variable", numbers.len().to_string());
    Err(parser.error(position, Trouble::Unexpected { expected, found }))
}
