//! Names and long cells as people read them.

/// Up to six names in backticks, so that a table of 20,000 genes gives a readable message.
pub(crate) fn list<S: AsRef<str>>(names: &[S]) -> String {
    const SHOWN: usize = 6;
    let shown = names.iter().take(SHOWN).map(|name| format!("`{}`", shorten(name.as_ref())));
    let shown = shown.collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "none".to_owned(),
        n if n > SHOWN => format!("{shown} and {} more", n - SHOWN),
        _ => shown,
    }
}

/// A cell may hold a novel; a message should not.
pub(crate) fn shorten(text: &str) -> String {
    const SHOWN: usize = 40;
    let mut short: String = text.chars().take(SHOWN).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_and_long_names_are_cut() {
        assert_eq!(list(&["a", "b"]), "`a`, `b`");
        assert_eq!(list(&["a"; 9]), "`a`, `a`, `a`, `a`, `a`, `a` and 3 more");
        assert_eq!(shorten(&"ä".repeat(50)), format!("{}…", "ä".repeat(40)));
    }
}
