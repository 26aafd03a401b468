//! Tokens to formulas, by precedence.

use super::token::{Symbol, Token, tokens};
use super::{Expression, ExpressionError, Function, Node, Operator, Trouble};

/// Brackets inside brackets; more would be a mistake, or an attack on the stack.
const MAX_DEPTH: usize = 64;

/// Reads formulas, and the words around them, from one text.
#[derive(Debug)]
pub(in crate::fitted) struct Parser<'a> {
    text: &'a str,
    variables: &'a [String],
    tokens: Vec<Token>,
    next: usize,
    depth: usize,
}

impl<'a> Parser<'a> {
    pub(in crate::fitted) fn new(
        text: &'a str,
        variables: &'a [String],
    ) -> Result<Self, ExpressionError> {
        Ok(Self { text, variables, tokens: tokens(text)?, next: 0, depth: 0 })
    }

    /// The next symbol, and the one after it.
    pub(in crate::fitted) fn peek(&self) -> (&Symbol, &Symbol) {
        let last = self.tokens.len() - 1;
        (&self.tokens[self.next.min(last)].symbol, &self.tokens[(self.next + 1).min(last)].symbol)
    }

    pub(in crate::fitted) fn position(&self) -> usize {
        self.tokens[self.next.min(self.tokens.len() - 1)].position
    }

    pub(in crate::fitted) fn advance(&mut self) -> Symbol {
        let symbol = self.peek().0.clone();
        self.next += 1;
        symbol
    }

    /// Takes a sign if it is the next symbol.
    pub(in crate::fitted) fn takes(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek().0, Symbol::Sign(next) if *next == sign);
        self.next += usize::from(found);
        found
    }

    /// Takes a sign that must be next.
    pub(in crate::fitted) fn needs(
        &mut self,
        sign: &str,
        expected: &'static str,
    ) -> Result<(), ExpressionError> {
        if self.takes(sign) { Ok(()) } else { Err(self.unexpected(expected)) }
    }

    /// Nothing may follow.
    pub(in crate::fitted) fn end(&self) -> Result<(), ExpressionError> {
        match self.peek().0 {
            Symbol::End => Ok(()),
            _ => Err(self.unexpected("the end")),
        }
    }

    pub(in crate::fitted) fn unexpected(&self, expected: &'static str) -> ExpressionError {
        let found = self.peek().0.shown();
        self.error(self.position(), Trouble::Unexpected { expected, found })
    }

    pub(in crate::fitted) fn error(&self, position: usize, problem: Trouble) -> ExpressionError {
        ExpressionError { text: self.text.to_owned(), position, problem }
    }

    /// The position of the variable whose name is next.
    pub(in crate::fitted) fn variable(&mut self) -> Result<usize, ExpressionError> {
        let position = self.position();
        match self.peek().0.clone() {
            Symbol::Name(name) | Symbol::Quoted(name) => {
                self.next += 1;
                self.find(&name).ok_or_else(|| self.error(position, self.unknown(name)))
            }
            _ => Err(self.unexpected("the name of a variable")),
        }
    }

    fn find(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|variable| variable == name)
    }

    fn unknown(&self, name: String) -> Trouble {
        const SHOWN: usize = 8;
        let shown = self.variables.iter().take(SHOWN).map(|name| format!("`{name}`"));
        let mut known = shown.collect::<Vec<_>>().join(", ");
        if self.variables.len() > SHOWN {
            known.push_str(", ...");
        }
        Trouble::UnknownVariable { name, known }
    }

    /// A whole formula; one without variables is computed now, so that it cannot fail later.
    pub(in crate::fitted) fn expression(&mut self) -> Result<Expression, ExpressionError> {
        let root = self.sum()?;
        let mut expression = Expression { text: self.text.to_owned(), root };
        if expression.is_constant() {
            expression.root = Node::Number(expression.value(0.0, &[])?);
        }
        Ok(expression)
    }

    /// A whole formula with its sign changed.
    pub(in crate::fitted) fn negative_expression(&mut self) -> Result<Expression, ExpressionError> {
        let Expression { text, root } = self.expression()?;
        Ok(Expression { text, root: Node::Negative(Box::new(root)) })
    }

    /// A number known now, such as the bound of a window.
    pub(in crate::fitted) fn constant(&mut self) -> Result<f64, ExpressionError> {
        let position = self.position();
        let expression = self.expression()?;
        if let Node::Number(number) = expression.root {
            return Ok(number);
        }
        let found = "a formula of variables or time".to_owned();
        Err(self.error(position, Trouble::Unexpected { expected: "a number", found }))
    }

    fn sum(&mut self) -> Result<Node, ExpressionError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(self.position(), Trouble::TooDeep));
        }
        let signs = [("+", Operator::Plus), ("-", Operator::Minus)];
        let node = self.chain(&signs, Self::product);
        self.depth -= 1;
        node
    }

    fn product(&mut self) -> Result<Node, ExpressionError> {
        self.chain(&[("*", Operator::Times), ("/", Operator::Over)], Self::signed)
    }

    /// Operands joined by operators of one rank, from left to right.
    fn chain(
        &mut self,
        signs: &[(&str, Operator)],
        operand: fn(&mut Self) -> Result<Node, ExpressionError>,
    ) -> Result<Node, ExpressionError> {
        let mut left = operand(self)?;
        loop {
            let position = self.position();
            let Some(&(_, operator)) = signs.iter().find(|(sign, _)| self.takes(sign)) else {
                return Ok(left);
            };
            let sides = Box::new([left, operand(self)?]);
            left = Node::Binary { operator, sides, position };
        }
    }

    /// -x^2 is -(x^2); signs are counted, so that many of them do not nest.
    fn signed(&mut self) -> Result<Node, ExpressionError> {
        let mut negative = false;
        loop {
            if self.takes("-") {
                negative = !negative;
            } else if !self.takes("+") {
                break;
            }
        }
        let node = self.power()?;
        Ok(if negative { Node::Negative(Box::new(node)) } else { node })
    }

    fn power(&mut self) -> Result<Node, ExpressionError> {
        let base = self.atom()?;
        let position = self.position();
        if !self.takes("^") {
            return Ok(base);
        }
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(position, Trouble::TooDeep));
        }
        // From right to left: 2^3^2 = 2^9.
        let sides = Box::new([base, self.signed()?]);
        self.depth -= 1;
        Ok(Node::Binary { operator: Operator::Power, sides, position })
    }

    fn atom(&mut self) -> Result<Node, ExpressionError> {
        let position = self.position();
        match self.peek().0.clone() {
            Symbol::Number(number) => {
                if let Some(found) = date_at(self.text, position) {
                    return Err(self.error(position, Trouble::DateAsNumber { found }));
                }
                self.next += 1;
                Ok(Node::Number(number))
            }
            Symbol::Sign("(") => {
                self.next += 1;
                let inner = self.sum()?;
                self.needs(")", "`)`")?;
                Ok(inner)
            }
            Symbol::Quoted(_) => Ok(Node::Variable(self.variable()?)),
            Symbol::Name(name) if self.peek().1 == &Symbol::Sign("(") => self.call(&name, position),
            Symbol::Name(name) => {
                self.next += 1;
                match (self.find(&name), name.as_str()) {
                    (Some(idx), _) => Ok(Node::Variable(idx)),
                    (None, "t" | "time") => Ok(Node::Time),
                    (None, "pi") => Ok(Node::Number(std::f64::consts::PI)),
                    _ => Err(self.error(position, self.unknown(name))),
                }
            }
            _ => Err(self.unexpected("a number, a name or a bracket")),
        }
    }

    fn call(&mut self, name: &str, position: usize) -> Result<Node, ExpressionError> {
        let Some(function) = Function::find(name) else {
            return Err(self.error(position, Trouble::UnknownFunction { name: name.to_owned() }));
        };
        self.next += 2;
        let mut arguments = vec![self.sum()?];
        while self.takes(",") {
            arguments.push(self.sum()?);
        }
        self.needs(")", "`,` or `)`")?;
        if let Err(expected) = function.takes(arguments.len()) {
            let (name, found) = (name.to_owned(), arguments.len());
            return Err(self.error(position, Trouble::WrongArguments { name, expected, found }));
        }
        Ok(Node::Call { function, arguments, position })
    }
}

/// A date such as 2000-01-31 that begins at a character, written without blanks as nobody writes a difference.
fn date_at(text: &str, position: usize) -> Option<String> {
    let rest: String = text.chars().skip(position).collect();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '-').unwrap_or(rest.len());
    let parts: Vec<&str> = rest[..end].split('-').collect();
    let is_date = parts.len() == 3
        && parts[0].len() == 4
        && parts[1..].iter().all(|part| (1..=2).contains(&part.len()));
    is_date.then(|| rest[..end].to_owned())
}
