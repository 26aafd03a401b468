//! Equations of a process as text: for reading, and for LaTeX.

use driftgraph_core::fitted::equations::{Equation, EquationTerm, TermFunction};

/// Digits of a coefficient.
const DIGITS: usize = 3;

/// `dx/dt = 10 - 1.02 x + 0.98 y z`.
pub fn equation_text(names: &[String], equation: &Equation) -> String {
    let sides = sum(equation, |term| term_text(names, term));
    format!("d{}/dt = {sides}", plain(&names[equation.target]))
}

/// The same as a formula of LaTeX, without dollars around it.
pub fn equation_latex(names: &[String], equation: &Equation) -> String {
    let sides = sum(equation, |term| term_latex(names, term));
    format!(r"\frac{{\mathrm{{d}}{}}}{{\mathrm{{d}}t}} = {sides}", upright(&names[equation.target]))
}

/// The product or function of a term as text; empty for a constant.
pub fn term_text(names: &[String], term: &EquationTerm) -> String {
    if let Some(function) = term.function {
        let inner: Vec<String> = term.factors.iter().map(|&idx| plain(&names[idx])).collect();
        let inner = inner.join(" - ");
        return match function {
            TermFunction::Sine => format!("sin({inner})"),
            TermFunction::Cosine => format!("cos({inner})"),
            TermFunction::Hill { half } => {
                format!("{inner}^2/({}^2 + {inner}^2)", coefficient_text(half))
            }
            TermFunction::Tanh { centre, width } => {
                let (centre, width) = (shift(centre), coefficient_text(width));
                format!("tanh(({inner}{centre})/{width})")
            }
        };
    }
    let factors = powers(&term.factors).into_iter().map(|Power { variable, exponent }| {
        let name = plain(&names[variable]);
        if exponent == 1 { name } else { format!("{name}^{exponent}") }
    });
    factors.collect::<Vec<_>>().join(" ")
}

fn term_latex(names: &[String], term: &EquationTerm) -> String {
    if let Some(function) = term.function {
        let inner: Vec<String> = term.factors.iter().map(|&idx| upright(&names[idx])).collect();
        let inner = inner.join(" - ");
        return match function {
            TermFunction::Sine => format!(r"\sin({inner})"),
            TermFunction::Cosine => format!(r"\cos({inner})"),
            TermFunction::Hill { half } => {
                let half = coefficient_text(half);
                format!(r"\frac{{{inner}^{{2}}}}{{{half}^{{2}} + {inner}^{{2}}}}")
            }
            TermFunction::Tanh { centre, width } => {
                let (centre, width) = (shift(centre), coefficient_text(width));
                format!(r"\tanh\frac{{{inner}{centre}}}{{{width}}}")
            }
        };
    }
    let factors = powers(&term.factors).into_iter().map(|Power { variable, exponent }| {
        let name = upright(&names[variable]);
        if exponent == 1 { name } else { format!("{name}^{{{exponent}}}") }
    });
    factors.collect::<Vec<_>>().join(r"\,")
}

/// ` - 2` for a centre of 2, ` + 2` for one of -2.
fn shift(centre: f64) -> String {
    let sign = if centre < 0.0 { '+' } else { '-' };
    format!(" {sign} {}", coefficient_text(centre.abs()))
}

/// A coefficient with few digits.
pub fn coefficient_text(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return value.to_string();
    }
    let magnitude = value.abs().log10().floor();
    if (-4.0..6.0).contains(&magnitude) {
        let decimals = (DIGITS as f64 - 1.0 - magnitude).max(0.0) as usize;
        let text = format!("{value:.decimals$}");
        if text.contains('.') {
            return text.trim_end_matches('0').trim_end_matches('.').to_owned();
        }
        text
    } else {
        format!("{value:.2e}")
    }
}

/// A variable as often as it stands in a product.
struct Power {
    variable: usize,
    exponent: usize,
}

fn powers(factors: &[usize]) -> Vec<Power> {
    let mut powers: Vec<Power> = Vec::new();
    for &variable in factors {
        match powers.last_mut() {
            Some(last) if last.variable == variable => last.exponent += 1,
            _ => powers.push(Power { variable, exponent: 1 }),
        }
    }
    powers
}

fn sum(equation: &Equation, product: impl Fn(&EquationTerm) -> String) -> String {
    let mut text = String::new();
    for term in &equation.terms {
        let sign = match (text.is_empty(), term.coefficient < 0.0) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        text.push_str(sign);
        text.push_str(&coefficient_text(term.coefficient.abs()));
        let product = product(term);
        if !product.is_empty() {
            text.push(' ');
            text.push_str(&product);
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

/// Names that are not words stand in brackets, so that a product of names can be read.
fn plain(name: &str) -> String {
    let is_word = name.chars().all(|letter| letter.is_alphanumeric() || "_.".contains(letter));
    if is_word { name.to_owned() } else { format!("[{name}]") }
}

/// A name as upright text of a formula.
fn upright(name: &str) -> String {
    let mut out = String::from(r"\mathrm{");
    for letter in name.chars() {
        match letter {
            '\\' => out.push_str(r"\backslash "),
            '~' => out.push_str(r"\sim "),
            '^' => out.push_str(r"\wedge "),
            ' ' => out.push_str(r"\ "),
            '_' | '%' | '&' | '#' | '$' | '{' | '}' => {
                out.push('\\');
                out.push(letter);
            }
            _ => out.push(letter),
        }
    }
    out.push('}');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equation() -> Equation {
        let term = |factors: &[usize], coefficient| EquationTerm {
            factors: factors.to_vec(),
            function: None,
            coefficient,
            interval: None,
            probability: 1.0,
        };
        let terms = vec![term(&[], 10.0), term(&[0], -1.0234), term(&[1, 1], 0.05)];
        Equation { target: 0, terms }
    }

    #[test]
    fn an_equation_is_read_as_it_is_written_by_hand() {
        let names = ["x".to_owned(), "heart rate".to_owned()];
        let text = equation_text(&names, &equation());
        assert_eq!(text, "dx/dt = 10 - 1.02 x + 0.05 [heart rate]^2");
        assert_eq!(
            equation_latex(&names, &equation()),
            r"\frac{\mathrm{d}\mathrm{x}}{\mathrm{d}t} = 10 - 1.02 \mathrm{x} + 0.05 \mathrm{heart\ rate}^{2}"
        );
        assert_eq!(
            equation_text(&names, &Equation { target: 1, terms: vec![] }),
            "d[heart rate]/dt = 0"
        );
    }

    #[test]
    fn functions_are_written_as_in_books() {
        let names = ["x".to_owned(), "y".to_owned()];
        let written = |factors: &[usize], function| {
            let interval = None;
            let factors = factors.to_vec();
            let function = Some(function);
            let term =
                EquationTerm { factors, function, coefficient: 1.0, interval, probability: 1.0 };
            [term_text(&names, &term), term_latex(&names, &term)]
        };
        assert_eq!(
            written(&[0, 1], TermFunction::Sine),
            ["sin(x - y)", r"\sin(\mathrm{x} - \mathrm{y})"]
        );
        assert_eq!(written(&[1], TermFunction::Cosine)[0], "cos(y)");
        assert_eq!(
            written(&[0], TermFunction::Hill { half: 0.75 }),
            ["x^2/(0.75^2 + x^2)", r"\frac{\mathrm{x}^{2}}{0.75^{2} + \mathrm{x}^{2}}"]
        );
        assert_eq!(
            written(&[1], TermFunction::Tanh { centre: -2.0, width: 0.5 }),
            ["tanh((y + 2)/0.5)", r"\tanh\frac{\mathrm{y} + 2}{0.5}"]
        );
    }

    #[test]
    fn coefficients_have_three_digits_whatever_their_size() {
        let written = [1234.56, 0.001_234_5, 3e-9, 0.5, -2.0].map(coefficient_text);
        assert_eq!(written, ["1235", "0.00123", "3.00e-9", "0.5", "-2"]);
    }
}
