//! The column at the right that says what widths, colours and outlines mean.

use super::element::Element;
use super::text::{Anchor, label, text_width};

const FONT: f64 = 12.0;
const ROW: f64 = 20.0;
/// Room for a sample left of its text.
pub(crate) const SAMPLE: f64 = 30.0;

/// Lines of a legend from top to bottom.
#[derive(Debug, Clone, Default)]
pub(crate) struct Legend {
    content: Vec<(Option<Element>, String)>,
}

impl Legend {
    /// A line that names the group below it.
    pub(crate) fn heading(&mut self, text: &str) {
        self.content.push((None, text.to_owned()));
    }

    /// A sample, drawn around y = 0 and from x = 0 to [`SAMPLE`], and its meaning.
    pub(crate) fn entry(&mut self, sample: Element, text: &str) {
        self.content.push((Some(sample), text.to_owned()));
    }

    pub(crate) fn width(&self) -> f64 {
        let widths = self.content.iter().map(|(sample, text)| {
            let indent = if sample.is_some() { SAMPLE + 8.0 } else { 0.0 };
            // Headings are bold, hence wider.
            indent + 1.06 * text_width(text, FONT)
        });
        widths.fold(0.0, f64::max)
    }

    pub(crate) fn height(&self) -> f64 {
        let rows = self.content.iter().enumerate();
        rows.map(|(idx, (sample, _))| ROW + gap_before(idx, sample.as_ref())).sum()
    }

    pub(crate) fn draw(self, x: f64, y: f64) -> Element {
        let mut group = Element::new("g").set("class", "legend");
        let mut middle = y - 0.5 * ROW;
        for (idx, (sample, text)) in self.content.into_iter().enumerate() {
            middle += ROW + gap_before(idx, sample.as_ref());
            if let Some(sample) = sample {
                let shift = format!("translate({x:.2} {middle:.2})");
                group.push(Element::new("g").set("transform", &shift).with(sample));
                group.push(label(x + SAMPLE + 8.0, middle, FONT, Anchor::Start).text(&text));
            } else {
                let heading = label(x, middle, FONT, Anchor::Start);
                group.push(heading.set("font-weight", "600").text(&text));
            }
        }
        group
    }
}

/// Groups stand apart: space above every heading but the first.
fn gap_before(idx: usize, sample: Option<&Element>) -> f64 {
    if idx > 0 && sample.is_none() { 0.6 * ROW } else { 0.0 }
}
