//! How to see a result again, and the files a report carries.

use super::base64::base64;
use super::section;
use crate::svg::element::Element;
use crate::view::{Download, ProvenanceView};

/// The section.
pub(super) fn provenance_section(provenance: &ProvenanceView, downloads: &[Download]) -> Element {
    let command = Element::new("pre").set("tabindex", "0");
    let command = command.with(Element::new("code").text(&provenance.command));
    let mut out = section("provenance", "How to see this again");
    if !provenance.command.is_empty() {
        out.push(Element::new("p").text("The same data, settings and seed give the same result:"));
        out.push(command);
    }
    out.push(facts(&provenance.facts));
    if !provenance.settings.is_empty() {
        let summary = Element::new("summary").text("All settings");
        out.push(Element::new("details").with(summary).with(facts(&provenance.settings)));
    }
    if !downloads.is_empty() {
        out.push(Element::new("h3").text("Downloads"));
        out.push(Element::new("ul").set("class", "downloads").with_all(downloads.iter().map(link)));
    }
    out
}

fn facts(facts: &[(String, String)]) -> Element {
    let pairs = facts
        .iter()
        .flat_map(|(name, value)| [Element::new("dt").text(name), Element::new("dd").text(value)]);
    Element::new("dl").with_all(pairs)
}

fn link(download: &Download) -> Element {
    let address =
        format!("data:{};base64,{}", download.media_type, base64(download.text.as_bytes()));
    let link = Element::new("a").set("href", &address).set("download", &download.file);
    Element::new("li").with(link.text(&download.file)).text(&format!(" – {}", download.note))
}
