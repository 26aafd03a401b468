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

/// Names as an option takes them in a shell.
pub(crate) fn option_names<S: AsRef<str>>(names: &[S]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    in_shell(&names.join(","))
}

/// A word as a shell takes it whole: in quotation marks unless its letters need none.
pub fn in_shell(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "_-.,:/+@=".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    // Within single quotation marks nothing means anything but these marks themselves.
    format!("'{}'", word.replace('\'', r"'\''"))
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
    fn names_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(option_names(&["a_1", "β.2"]), "a_1,β.2");
        assert_eq!(option_names(&["a", "my label"]), "'a,my label'");
        assert_eq!(in_shell("time (month)"), "'time (month)'");
        assert_eq!(in_shell("3' end"), r"'3'\'' end'");
        assert_eq!(in_shell("$HOME"), "'$HOME'");
    }

    #[test]
    fn long_lists_and_long_names_are_cut() {
        assert_eq!(list(&["a", "b"]), "`a`, `b`");
        assert_eq!(list(&["a"; 9]), "`a`, `a`, `a`, `a`, `a`, `a` and 3 more");
        assert_eq!(shorten(&"ä".repeat(50)), format!("{}…", "ä".repeat(40)));
    }
}
