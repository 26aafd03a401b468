//! Advice of the library in the words of Python: keywords instead of options of the command line.

use driftgraph_text::with_options;

/// A sentence with `` `keyword=value` `` for every option that it mentions.
pub(crate) fn in_python_words(text: &str) -> String {
    with_options(text, &|option, value| {
        let keyword = option.replace('-', "_");
        let value = value.trim_matches('\'');
        let is_list = ["ignore", "variables", "missing", "log", "inputs", "sources", "targets"]
            .contains(&option);
        let is_flag = ["transpose", "even-steps", "detrend", "force"].contains(&option);
        let is_placeholder = value.bytes().all(|b| !b.is_ascii_lowercase() && !b.is_ascii_digit());
        Some(match value {
            _ if is_flag => format!("`{keyword}=True`"),
            _ if option == "no-self-loops" => "`self_loops=False`".to_owned(),
            _ if is_placeholder => format!("`{keyword}`"),
            names if is_list => {
                let names: Vec<String> = names.split(',').map(|name| format!("{name:?}")).collect();
                format!("`{keyword}=[{}]`", names.join(", "))
            }
            number if number.parse::<f64>().is_ok() => format!("`{keyword}={number}`"),
            word => format!("`{keyword}={word:?}`"),
        })
    })
}
