//! Settings of methods as text: on a command line, in a settings file, and back.

use driftgraph_core::train::settings::{Range, Setting};
use serde_json::{Map, Value};

use crate::PlanError;

/// A row of a method's table of settings.
pub(crate) const fn row(
    name: &'static str,
    default: &'static str,
    range: Range,
    meaning: &'static str,
) -> Setting {
    Setting { name, default, range, meaning, source: "" }
}

/// The spelling of a setting on the command line.
pub fn flag(name: &str) -> String {
    name.replace('_', "-")
}

/// The value that a text stands for; `none` takes a setting away.
pub fn value_of(setting: &Setting, text: &str) -> Result<Value, PlanError> {
    let wrong = || PlanError::Text {
        flag: flag(setting.name),
        range: setting.range.to_string(),
        found: text.to_owned(),
    };
    let number = |text: &str| match text.parse::<i64>() {
        Ok(whole) => Some(Value::from(whole)),
        Err(_) => text.parse::<f64>().ok().map(Value::from),
    };
    Ok(match setting.range {
        _ if text == "none" && setting.default == "none" => Value::Null,
        Range::Choice(words) if words.contains(&text) => Value::String(text.to_owned()),
        Range::Choice(_) => return Err(wrong()),
        Range::YesNo => Value::Bool(text.parse().map_err(|_| wrong())?),
        Range::Any => Value::from(text.parse::<u64>().map_err(|_| wrong())?),
        Range::Mixed { words, .. } if words.contains(&text) => Value::String(text.to_owned()),
        // The name of a column may be any text.
        Range::Mixed { or, .. } if or.contains("`column:") && text.starts_with("column:") => {
            Value::String(text.to_owned())
        }
        Range::Mixed { words, or }
            if or.contains("separated by commas")
                && text.split(',').all(|word| words.contains(&word)) =>
        {
            Value::String(text.to_owned())
        }
        Range::Mixed { .. } => inline_value(text).ok_or_else(wrong)?,
        Range::Number { .. } => number(text).ok_or_else(|| PlanError::Text {
            flag: flag(setting.name),
            range: number_words(setting),
            found: text.to_owned(),
        })?,
        Range::Edges => number(text).ok_or_else(wrong)?,
    })
}

/// What number a setting takes, and what it counts where people write units.
fn number_words(setting: &Setting) -> String {
    let unit = match setting.name {
        "step_size" => {
            " in the unit that `driftgraph check` names, such as 7 for a week of data in days"
        }
        _ => "",
    };
    let range = setting.range.to_string().replacen("at least", "of at least", 1);
    format!("a number {range}{unit}")
}

/// A value as a settings file would have it: a number or a table in braces.
fn inline_value(text: &str) -> Option<Value> {
    let table: toml::Table = toml::from_str(&format!("value = {text}")).ok()?;
    serde_json::to_value(table.get("value")?).ok()
}

/// The text that stands for a value, the inverse of [`value_of`].
pub fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(word) => word.clone(),
        Value::Object(entries) => {
            let inner = |value: &Value| match value {
                Value::String(word) => format!("\"{word}\""),
                other => text_of(other),
            };
            let entries: Vec<String> = entries
                .iter()
                .map(|(name, value)| format!("{} = {}", key(name), inner(value)))
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        other => other.to_string(),
    }
}

/// A key of a table, in quotes where TOML wants them.
fn key(name: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !name.is_empty() && name.chars().all(is_bare) {
        name.to_owned()
    } else {
        format!("{name:?}")
    }
}

/// The flags that give a setting a value.
pub fn flag_words(name: &str, value: &Value) -> Vec<String> {
    match value {
        Value::Bool(yes) => vec![format!("--{}={yes}", flag(name))],
        value => vec![format!("--{}", flag(name)), text_of(value)],
    }
}

/// All settings of a table: its defaults, what a preset says, and what was asked for, each within its range.
pub fn checked_by_table(
    method: &'static str,
    table: &[Setting],
    preset: Map<String, Value>,
    asked: &Map<String, Value>,
) -> Result<Map<String, Value>, PlanError> {
    let mut settings = Map::new();
    for setting in table {
        settings.insert(setting.name.to_owned(), value_of(setting, setting.default)?);
    }
    settings.extend(preset);
    for (name, value) in asked {
        let Some(setting) = table.iter().find(|setting| setting.name == name) else {
            return Err(PlanError::OtherSetting { name: name.clone(), method });
        };
        if !is_inside(setting, value) {
            let (range, found) = (setting.range.to_string(), text_of(value));
            return Err(PlanError::OutOfRange { name: name.clone(), range, found });
        }
        settings.insert(name.clone(), value.clone());
    }
    Ok(settings)
}

fn is_inside(setting: &Setting, value: &Value) -> bool {
    if value.is_null() {
        return setting.default == "none";
    }
    match setting.range {
        Range::Number { .. } => value.as_f64().is_some_and(|found| setting.range.holds(found)),
        Range::Choice(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Range::YesNo => value.is_boolean(),
        Range::Any => value.is_u64(),
        Range::Edges => value.is_array(),
        Range::Mixed { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_value_are_each_others_inverse() {
        let mixed = Range::Mixed { words: &["auto"], or: "a number or a table" };
        for (range, value) in [
            (Range::YesNo, json!(false)),
            (Range::Any, json!(7)),
            (Range::Number { min: 0.0, max: 1.0, above: true }, json!(0.25)),
            (Range::Choice(&["gaussian", "laplace"]), json!("laplace")),
            (mixed, json!("auto")),
            (mixed, json!(0.5)),
            (Range::Mixed { words: &["a", "b"], or: "some separated by commas" }, json!("b,a")),
            (mixed, json!({"kind": "per-source", "alpha": 0.5, "beta": 5.0})),
            (mixed, json!({"control run": ["s 1", "s\"2"], "drug": ["s3"]})),
        ] {
            let setting = Setting { name: "x", default: "none", range, meaning: "", source: "" };
            assert_eq!(value_of(&setting, &text_of(&value)).unwrap(), value);
        }
        let setting =
            Setting { name: "x", default: "none", range: Range::Any, meaning: "", source: "" };
        assert_eq!(value_of(&setting, "none").unwrap(), Value::Null);
        assert!(value_of(&setting, "many").is_err());
    }
}
