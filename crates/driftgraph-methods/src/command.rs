//! The command that asks for a plan again, so that no setting is lost on the way.

use std::path::PathBuf;

use driftgraph_core::Preparation;
use driftgraph_data::ReadOptions;
use serde_json::Value;

use crate::settings::flag_words;
use crate::{FitPlan, METHODS, bridge};

impl FitPlan {
    /// The words of the command line that asks for this, after `driftgraph fit DATA`.
    pub fn command_words(&self) -> Vec<String> {
        let asked = self.asked();
        let mut words = Vec::new();
        let is_default = self.method().name() == METHODS[0].name();
        if asked.method.is_some() || (asked.preset.is_none() && !is_default) {
            words.extend(["--method".to_owned(), self.method().name().to_owned()]);
        }
        if let Some(preset) = &asked.preset {
            words.extend(["--preset".to_owned(), preset.clone()]);
        }
        let Preparation { season, detrend, log } = &asked.preparation;
        words.extend(season.iter().flat_map(|rows| ["--season".to_owned(), rows.to_string()]));
        words.extend(detrend.then(|| "--detrend".to_owned()));
        if !log.is_empty() {
            words.extend(["--log".to_owned(), log.join(",")]);
        }
        for (flag, names) in
            [("--sources", &asked.limits.sources), ("--targets", &asked.limits.targets)]
        {
            if !names.is_empty() {
                words.extend([flag.to_owned(), names.join(",")]);
            }
        }
        for (name, value) in &asked.settings {
            match value {
                // Settings of the bridge may stand in a table of their own.
                Value::Object(own) if name == bridge::NAME => {
                    words.extend(own.iter().flat_map(|(name, value)| flag_words(name, value)));
                }
                Value::Array(steps) => {
                    let steps: Vec<String> = steps.iter().map(Value::to_string).collect();
                    words.extend([format!("--{}", crate::settings::flag(name)), steps.join(",")]);
                }
                value => words.extend(flag_words(name, value)),
            }
        }
        let has_seed = self.method().settings().iter().any(|setting| setting.name == "seed");
        if has_seed && !asked.settings.contains_key("seed") {
            words.extend(["--seed".to_owned(), self.settings()["seed"].to_string()]);
        }
        for edge in &asked.edges {
            let pair = format!("{}->{}", edge.source, edge.target);
            words.extend(match edge.probability {
                0.0 => ["--forbid".to_owned(), pair],
                1.0 => ["--require".to_owned(), pair],
                between => ["--prior".to_owned(), format!("{pair}={between}")],
            });
        }
        words
    }

    /// The whole command that learns the same from the same files.
    pub fn command(&self, files: &[PathBuf], options: &ReadOptions) -> String {
        let mut words = vec!["driftgraph".to_owned(), "fit".to_owned()];
        words.extend(files.iter().map(|file| file.display().to_string()));
        for (name, value) in options.arguments() {
            words.push(format!("--{name}"));
            words.extend(value);
        }
        words.extend(self.command_words());
        let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
        words.join(" ")
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+:,@%=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("/data/a.csv"), "/data/a.csv");
        assert_eq!(quoted("my data.csv"), "'my data.csv'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
