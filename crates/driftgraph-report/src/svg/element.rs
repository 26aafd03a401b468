//! SVG and HTML elements as text: the only place where names are escaped and numbers are written.

use driftgraph_text::escaped;

/// Elements that end where they start; any other needs a closing tag in HTML.
const WITHOUT_CONTENT: [&str; 12] = [
    "path", "rect", "circle", "line", "polyline", "polygon", "use", "input", "meta", "br", "hr",
    "img",
];
/// Elements within a line of text, where a line break would be shown as a space.
const WITHIN_TEXT: [&str; 9] =
    ["title", "svg", "a", "b", "code", "small", "span", "strong", "tspan"];

/// One element with its attributes and content, all safe to put into XML or HTML.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    tag: &'static str,
    attributes: String,
    content: String,
}

impl Element {
    pub(crate) fn new(tag: &'static str) -> Self {
        Self { tag, attributes: String::new(), content: String::new() }
    }

    /// An attribute with a text.
    pub(crate) fn set(mut self, name: &str, value: &str) -> Self {
        self.attributes.extend([" ", name, "=\"", &escaped(value), "\""]);
        self
    }

    /// An attribute with a number.
    pub(crate) fn at(self, name: &str, value: f64) -> Self {
        self.set(name, &number(value))
    }

    /// Several attributes with numbers.
    pub(crate) fn place(self, numbers: &[(&str, f64)]) -> Self {
        numbers.iter().fold(self, |element, &(name, value)| element.at(name, value))
    }

    /// Text content.
    pub(crate) fn text(mut self, text: &str) -> Self {
        self.content.push_str(&escaped(text));
        self
    }

    /// Markup made by this crate, put in as it is.
    pub(crate) fn markup(mut self, trusted: &str) -> Self {
        self.content.push_str(trusted);
        self
    }

    /// A `title` child: the tooltip of a shape, and what a screen reader says.
    pub(crate) fn tooltip(self, text: &str) -> Self {
        self.with(Element::new("title").text(text))
    }

    pub(crate) fn with(mut self, child: Element) -> Self {
        self.push(child);
        self
    }

    pub(crate) fn push(&mut self, child: Element) {
        child.write_into(&mut self.content);
    }

    /// Several children in turn.
    pub(crate) fn with_all(self, children: impl IntoIterator<Item = Element>) -> Self {
        children.into_iter().fold(self, Self::with)
    }

    pub(crate) fn into_svg(self) -> String {
        let mut out = String::new();
        self.write_into(&mut out);
        out.push('\n');
        out
    }

    fn write_into(self, out: &mut String) {
        let Self { tag, attributes, content } = self;
        if !WITHIN_TEXT.contains(&tag) {
            out.push('\n');
        }
        if content.is_empty() && WITHOUT_CONTENT.contains(&tag) {
            out.extend(["<", tag, &attributes, "/>"]);
        } else {
            out.extend(["<", tag, &attributes, ">", &content, "</", tag, ">"]);
        }
    }
}

/// The drawing commands of a path.
#[derive(Debug, Clone, Default)]
pub(crate) struct PathData(String);

impl PathData {
    /// One command letter and its coordinates.
    pub(crate) fn then(mut self, command: char, coordinates: &[f64]) -> Self {
        self.0.push(command);
        let numbers: Vec<String> = coordinates.iter().map(|&value| number(value)).collect();
        self.0.push_str(&numbers.join(" "));
        self
    }

    pub(crate) fn into_element(self) -> Element {
        Element::new("path").set("d", &self.0)
    }
}

/// A number to a hundredth of a pixel, as short as possible.
fn number(value: f64) -> String {
    debug_assert!(value.is_finite(), "coordinates are finite because checked input is");
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(100.0), "100");
        assert_eq!(number(-0.001), "0");
        assert_eq!(number(-1.504), "-1.5");
    }
}
