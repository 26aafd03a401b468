//! Formulas over variables and time: a parser for mathematics only, and their values.
//!
//! Grammar: sum of products of powers of atoms; an atom is a number, a name, a call or a bracket.
//! Names with other characters than letters, digits, `_` and `.` stand in backquotes. `t` (or `time`)
//! is the time, unless a variable has that name.

mod parse;
mod token;

pub(super) use parse::Parser;
pub(super) use token::Symbol;

use crate::numeric::real::{exp, ln};

/// What is wrong with a formula, and where.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{problem}, in column {} of `{text}`", .position + 1)]
pub struct ExpressionError {
    /// The whole text.
    pub text: String,
    /// Position of the offending character, from 0, counted in characters.
    pub position: usize,
    /// What is wrong there.
    pub problem: Trouble,
}

/// What can be wrong with a formula.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Trouble {
    /// A character that means nothing here.
    #[error("unknown character `{found}`")]
    UnknownCharacter {
        /// The character.
        found: char,
    },
    /// Something else than the grammar allows.
    #[error("expected {expected}, found {found}")]
    Unexpected {
        /// What could stand here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// A name that is neither a variable nor a function.
    #[error("unknown variable `{name}`; the variables are {known}")]
    UnknownVariable {
        /// The name.
        name: String,
        /// Names that exist.
        known: String,
    },
    /// A function nobody knows.
    #[error("unknown function `{name}`; the functions are {}", FUNCTION_NAMES.join(", "))]
    UnknownFunction {
        /// The name.
        name: String,
    },
    /// A call with too few or too many arguments.
    #[error("`{name}` takes {expected}, found {found}")]
    WrongArguments {
        /// The function.
        name: String,
        /// How many it takes.
        expected: &'static str,
        /// How many it was given.
        found: usize,
    },
    /// Brackets inside brackets without end.
    #[error("the formula is nested too deeply")]
    TooDeep,
    /// A date where a number belongs.
    #[error(
        "`{found}` is a date, and a value is a number; a difference has blanks around its signs"
    )]
    DateAsNumber {
        /// The date.
        found: String,
    },
    /// A time that nobody can read.
    #[error("{reason}")]
    NotATime {
        /// Why.
        reason: String,
    },
    /// A quotient whose divisor is 0.
    #[error("division by zero")]
    DivisionByZero,
    /// A value that is not a finite number.
    #[error("the value is not finite: {value}")]
    NotFinite {
        /// The value.
        value: f64,
    },
}

/// Functions of formulas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Function {
    Sin,
    Cos,
    Tan,
    Tanh,
    Exp,
    Log,
    Sqrt,
    Abs,
    Min,
    Max,
}

const FUNCTIONS: [Function; 10] = [
    Function::Sin,
    Function::Cos,
    Function::Tan,
    Function::Tanh,
    Function::Exp,
    Function::Log,
    Function::Sqrt,
    Function::Abs,
    Function::Min,
    Function::Max,
];
const FUNCTION_NAMES: [&str; 10] =
    ["sin", "cos", "tan", "tanh", "exp", "log", "sqrt", "abs", "min", "max"];

impl Function {
    fn find(name: &str) -> Option<Self> {
        FUNCTION_NAMES.iter().position(|known| *known == name).map(|idx| FUNCTIONS[idx])
    }
}

/// A formula over the variables and the time.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    text: String,
    root: Node,
}

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Number(f64),
    Time,
    Variable(usize),
    Negative(Box<Node>),
    Binary { operator: Operator, sides: Box<[Node; 2]>, position: usize },
    Call { function: Function, arguments: Vec<Node>, position: usize },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Plus,
    Minus,
    Times,
    Over,
    Power,
}

impl Expression {
    /// Reads a formula over these variables.
    ///
    /// ```
    /// use driftgraph_core::fitted::expression::Expression;
    ///
    /// let names = ["x".to_owned(), "gene 2".to_owned()];
    /// let formula = Expression::parse("2*x^2 - `gene 2` + sin(0)", &names)?;
    /// assert_eq!(formula.value(0.0, &[3.0, 1.0])?, 17.0);
    /// let wrong = Expression::parse("2*y", &names).unwrap_err();
    /// assert_eq!(wrong.position, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn parse(text: &str, variables: &[String]) -> Result<Self, ExpressionError> {
        let mut parser = Parser::new(text, variables)?;
        let expression = parser.expression()?;
        parser.end()?;
        Ok(expression)
    }

    /// Its value at a time and state, or what is wrong with it there.
    pub fn value(&self, time: f64, state: &[f64]) -> Result<f64, ExpressionError> {
        self.root.value(time, state).map_err(|(position, problem)| ExpressionError {
            text: self.text.clone(),
            position,
            problem,
        })
    }

    /// Whether its value depends on a variable.
    pub(crate) fn mentions(&self, variable: usize) -> bool {
        self.root.mentions(variable)
    }

    /// Whether its value depends on time or state at all.
    fn is_constant(&self) -> bool {
        self.root.is_constant()
    }
}

impl Node {
    fn value(&self, time: f64, state: &[f64]) -> Result<f64, (usize, Trouble)> {
        let (value, position) = match self {
            Self::Number(number) => return Ok(*number),
            Self::Time => return Ok(time),
            Self::Variable(idx) => return Ok(state[*idx]),
            Self::Negative(inner) => return Ok(-inner.value(time, state)?),
            Self::Binary { operator, sides, position } => {
                let [left, right] = &**sides;
                let (left, right) = (left.value(time, state)?, right.value(time, state)?);
                (operator.apply(left, right).map_err(|trouble| (*position, trouble))?, *position)
            }
            Self::Call { function, arguments, position } => {
                let values = arguments.iter().map(|argument| argument.value(time, state));
                (function.apply(&values.collect::<Result<Vec<_>, _>>()?), *position)
            }
        };
        if value.is_finite() { Ok(value) } else { Err((position, Trouble::NotFinite { value })) }
    }

    fn mentions(&self, variable: usize) -> bool {
        match self {
            Self::Number(_) | Self::Time => false,
            Self::Variable(idx) => *idx == variable,
            Self::Negative(inner) => inner.mentions(variable),
            Self::Binary { sides, .. } => sides.iter().any(|side| side.mentions(variable)),
            Self::Call { arguments, .. } => {
                arguments.iter().any(|argument| argument.mentions(variable))
            }
        }
    }

    fn is_constant(&self) -> bool {
        match self {
            Self::Number(_) => true,
            Self::Time | Self::Variable(_) => false,
            Self::Negative(inner) => inner.is_constant(),
            Self::Binary { sides, .. } => sides.iter().all(Self::is_constant),
            Self::Call { arguments, .. } => arguments.iter().all(Self::is_constant),
        }
    }
}

impl Operator {
    fn apply(self, left: f64, right: f64) -> Result<f64, Trouble> {
        Ok(match self {
            Self::Plus => left + right,
            Self::Minus => left - right,
            Self::Times => left * right,
            Self::Over if right == 0.0 => return Err(Trouble::DivisionByZero),
            Self::Over => left / right,
            Self::Power => libm::pow(left, right),
        })
    }
}

impl Function {
    fn apply(self, arguments: &[f64]) -> f64 {
        let first = arguments[0];
        match self {
            Self::Sin => first.sin(),
            Self::Cos => first.cos(),
            Self::Tan => first.tan(),
            Self::Tanh => libm::tanh(first),
            Self::Exp => exp(first),
            Self::Log => ln(first),
            Self::Sqrt => first.sqrt(),
            Self::Abs => first.abs(),
            Self::Min => arguments.iter().copied().fold(f64::INFINITY, f64::min),
            Self::Max => arguments.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }

    fn takes(self, n_arguments: usize) -> Result<(), &'static str> {
        match self {
            Self::Min | Self::Max if n_arguments < 2 => Err("two arguments or more"),
            Self::Min | Self::Max => Ok(()),
            _ if n_arguments == 1 => Ok(()),
            _ => Err("one argument"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        ["x", "y", "gene 2"].map(str::to_owned).to_vec()
    }

    fn value(text: &str) -> f64 {
        Expression::parse(text, &names()).unwrap().value(10.0, &[2.0, 3.0, 5.0]).unwrap()
    }

    fn wrong(text: &str) -> String {
        match Expression::parse(text, &names()) {
            Err(error) => error.to_string(),
            Ok(fine) => fine.value(0.0, &[0.0; 3]).unwrap_err().to_string(),
        }
    }

    #[test]
    fn formulas_bind_as_in_mathematics() {
        assert_eq!(value("1 + 2*3^2"), 19.0);
        assert_eq!(value("-2^2"), -4.0);
        assert_eq!(value("2^3^2"), 512.0);
        assert_eq!(value("2 - 3 - 4"), -5.0);
        assert_eq!(value("12 / 3 / 2"), 2.0);
        assert_eq!(value("(x + y) * `gene 2` - t"), 15.0);
        assert_eq!(value("max(x, y, 1e1) - min(x, y)"), 8.0);
        assert_eq!(value("2e-1 * 10 + .5"), 2.5);
        assert_eq!(value("sqrt(abs(-16)) + pi - pi"), 4.0);
    }

    #[test]
    fn a_wrong_formula_says_where_and_why() {
        assert_eq!(
            wrong("2*z"),
            "unknown variable `z`; the variables are `x`, `y`, `gene 2`, in column 3 of `2*z`"
        );
        assert_eq!(
            wrong("1 +"),
            "expected a number, a name or a bracket, found the end, in column 4 of `1 +`"
        );
        assert_eq!(wrong("(1"), "expected `)`, found the end, in column 3 of `(1`");
        assert_eq!(wrong("1 2"), "expected the end, found `2`, in column 3 of `1 2`");
        assert_eq!(wrong("x ? y"), "unknown character `?`, in column 3 of `x ? y`");
        assert_eq!(
            wrong("sin(x, y)"),
            "`sin` takes one argument, found 2, in column 1 of `sin(x, y)`"
        );
        assert!(wrong("foo(x)").starts_with("unknown function `foo`"));
        assert_eq!(
            wrong("x + 2000-01-31"),
            "`2000-01-31` is a date, and a value is a number; a difference has blanks around its signs, in column 5 of \
             `x + 2000-01-31`"
        );
        assert_eq!(value("2000 - 01 - 31"), 1968.0);
        assert_eq!(value("2000-1"), 1999.0);
        assert_eq!(wrong("1/0"), "division by zero, in column 2 of `1/0`");
        assert_eq!(wrong("1 / x"), "division by zero, in column 3 of `1 / x`");
        assert_eq!(wrong("log(x)"), "the value is not finite: -inf, in column 1 of `log(x)`");
        assert!(wrong(&"(".repeat(5000)).starts_with("the formula is nested too deeply"));
        assert_eq!(wrong("`x"), "expected a closing quote, found the end, in column 1 of ``x`");
    }

    #[test]
    fn a_variable_named_t_hides_the_time() {
        let names = vec!["t".to_owned()];
        let formula = Expression::parse("t + time", &names).unwrap();
        assert_eq!(formula.value(10.0, &[1.0]).unwrap(), 11.0);
    }
}
