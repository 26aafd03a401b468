//! Checks that every link of the built site leads somewhere, anchors included.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{bail, ensure};

use super::pages_of;

/// Not reached by a link, and with addresses as seen from elsewhere.
const NO_PAGES: [&str; 2] = ["404.html", "print.html"];

/// The number of links; fails with every one that leads nowhere, unless it leads into a folder that is not there yet.
pub(super) fn check(site: &Path, absent: &[&str]) -> anyhow::Result<usize> {
    let (mut n_links, mut problems) = (0, Vec::new());
    let mut texts = BTreeMap::new();
    for page in pages_of(site)? {
        if NO_PAGES.iter().any(|name| page.ends_with(name)) {
            continue;
        }
        let is_absent = |target: &String| {
            absent.iter().any(|folder| target.starts_with(&format!("../{folder}/")))
        };
        for target in targets(&fs::read_to_string(&page)?) {
            if is_absent(&target) {
                continue;
            }
            n_links += 1;
            if let Some(why) = problem(&page, &target, &mut texts)? {
                let name = page.strip_prefix(site).unwrap_or(&page).display();
                problems.push(format!("{name}: {why}"));
            }
        }
    }
    ensure!(n_links > 0, "the site has no links: was it built?");
    if problems.is_empty() {
        return Ok(n_links);
    }
    bail!("links of the site that lead nowhere:\n{}", problems.join("\n"))
}

/// Addresses within the site.
fn targets(html: &str) -> Vec<String> {
    let attributes = ["href=\"", "src=\""];
    let values = attributes.iter().flat_map(|name| html.split(name).skip(1));
    let values = values.filter_map(|rest| rest.split('"').next());
    let inside = values.filter(|value| !value.contains(':') && !value.is_empty());
    inside.map(|value| value.replace("&amp;", "&").replace("%20", " ")).collect()
}

fn problem(
    page: &Path,
    target: &str,
    texts: &mut BTreeMap<PathBuf, String>,
) -> anyhow::Result<Option<String>> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let file = file.split('?').next().unwrap_or_default();
    let mut path = match file {
        "" => page.to_owned(),
        file => page.parent().unwrap_or(page).join(file),
    };
    if path.is_dir() {
        path.push("index.html");
    }
    if !path.is_file() {
        return Ok(Some(format!("there is no `{target}`")));
    }
    if anchor.is_empty() || path.extension().is_none_or(|ending| ending != "html") {
        return Ok(None);
    }
    if !texts.contains_key(&path) {
        texts.insert(path.clone(), fs::read_to_string(&path)?);
    }
    let known = texts[&path].contains(&format!("id=\"{anchor}\""));
    Ok((!known).then(|| format!("nothing has the name `#{anchor}` in `{target}`")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_page_and_a_missing_name_are_told() {
        let folder = std::env::temp_dir().join(format!("xtask-site-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let text = "<a href=\"b.html#here\">b</a><a href=\"b.html#gone\">b</a>\
                    <img src=\"c.svg\"><a href=\"https://d.org\">d</a>";
        fs::write(folder.join("a.html"), text).unwrap();
        fs::write(folder.join("b.html"), "<p id=\"here\"><a href=\"a.html\">a</a>").unwrap();
        let problems = check(&folder, &[]).unwrap_err().to_string();
        fs::write(folder.join("a.html"), "<a href=\"b.html#here\">b</a>").unwrap();
        let n_links = check(&folder, &[]).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        let wanted = "links of the site that lead nowhere:\n\
                      a.html: nothing has the name `#gone` in `b.html#gone`\n\
                      a.html: there is no `c.svg`";
        assert_eq!(problems, wanted);
        assert_eq!(n_links, 2);
    }
}
