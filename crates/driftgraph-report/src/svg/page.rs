//! The sheet a picture is drawn on: white, titled, and described for those who cannot see it.

use super::colour;
use super::element::Element;
use super::text::{Anchor, coloured_label, label, shortened, text_width};
use crate::html::{PAGE_STYLES, PICTURE_STYLES};

/// Space around everything.
pub(crate) const MARGIN: f64 = 16.0;

const TITLE_FONT: f64 = 17.0;
/// How much wider bold letters are than those that widths are estimated for.
const BOLD: f64 = 1.1;
const SUBTITLE_FONT: f64 = 12.0;
/// Longer titles are shortened rather than letting them widen a small picture without end.
const TITLE_LIMIT: f64 = 560.0;

/// What stands above a picture and behind it.
#[derive(Debug, Clone)]
pub(crate) struct Caption<'a> {
    pub(crate) title: &'a str,
    pub(crate) subtitle: String,
    /// The content in words, for screen readers and search.
    pub(crate) description: String,
}

impl Caption<'_> {
    /// Height of title and subtitle, margin included.
    pub(crate) fn height(&self) -> f64 {
        let title = if self.title.is_empty() { 0.0 } else { 1.6 * TITLE_FONT };
        MARGIN + title + 1.8 * SUBTITLE_FONT
    }

    fn width(&self) -> f64 {
        let title = BOLD * text_width(&self.visible_title(), TITLE_FONT);
        title.max(text_width(&self.subtitle, SUBTITLE_FONT)) + 2.0 * MARGIN
    }

    fn visible_title(&self) -> String {
        shortened(self.title, TITLE_FONT, TITLE_LIMIT)
    }
}

/// A white sheet with its caption, at least `width` wide.
pub(crate) fn sheet(width: f64, height: f64, caption: &Caption) -> Element {
    let (width, height) = (width.max(caption.width()).ceil(), height.ceil());
    let name = if caption.title.is_empty() { "Learned edges" } else { caption.title };
    let mut svg = Element::new("svg")
        .set("xmlns", "http://www.w3.org/2000/svg")
        .place(&[("width", width), ("height", height)])
        .set("viewBox", &format!("0 0 {width} {height}"))
        .set("role", "img")
        .set("font-family", "system-ui, -apple-system, 'Segoe UI', sans-serif")
        .tooltip(name)
        .with(Element::new("desc").text(&caption.description))
        .with(Element::new("rect").set("width", "100%").set("height", "100%").set("fill", "#fff"));
    let mut y = MARGIN;
    if !caption.title.is_empty() {
        let title = label(MARGIN, y + 0.5 * TITLE_FONT, TITLE_FONT, Anchor::Start);
        svg.push(title.set("font-weight", "600").text(&caption.visible_title()));
        y += 1.6 * TITLE_FONT;
    }
    let place = (MARGIN, y + 0.5 * SUBTITLE_FONT);
    svg.push(faint_label(place, Anchor::Start).text(&caption.subtitle));
    svg
}

/// The styles of graphs and heat maps as the report has them by day, for a file that stands alone.
///
/// Colours are put in for their names, which programs other than browsers do not know.
pub(crate) fn style() -> Element {
    let named = PAGE_STYLES.split("--").filter_map(|part| part.split_once(": "));
    let text = named.fold(PICTURE_STYLES.to_owned(), |text, (name, rest)| {
        // The first value of a name is the one by day.
        text.replace(&format!("var(--{name})"), rest.split(';').next().unwrap_or_default())
    });
    Element::new("style").markup(&text)
}

/// An empty line of text that explains others.
pub(crate) fn faint_label(place: (f64, f64), anchor: Anchor) -> Element {
    coloured_label(place, SUBTITLE_FONT, anchor, colour::FAINT_TEXT)
}
