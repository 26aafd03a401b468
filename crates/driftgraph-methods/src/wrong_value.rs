//! Which setting has a value that it cannot have, in the words of its table.

use driftgraph_data::record::MethodRequest;
use serde_json::Map;

use crate::method::Method;
use crate::plan::PlanError;
use crate::settings::text_of;

/// What a reader of typed settings calls whole numbers.
const WHOLE: [&str; 4] = ["expected u64", "expected u32", "expected usize", "expected i64"];

/// An error that names the setting and what it may be, where one value alone makes the settings unreadable.
pub(crate) fn named(method: &dyn Method, asked: &MethodRequest, error: PlanError) -> PlanError {
    if !matches!(error, PlanError::Value { .. }) {
        return error;
    }
    let table = method.settings();
    let named = table.iter().find_map(|setting| {
        let value = asked.settings.get(setting.name)?;
        let settings = Map::from_iter([(setting.name.to_owned(), value.clone())]);
        let (preset, own) = (asked.preset.clone(), Some(method.name().to_owned()));
        let alone = MethodRequest { method: own, preset, settings, ..MethodRequest::default() };
        let Err(PlanError::Value { reason, .. }) = method.resolve(&alone) else { return None };
        let is_whole = WHOLE.iter().any(|words| reason.contains(words));
        let whole = if is_whole { "a whole number, " } else { "" };
        let (name, range) = (setting.name.to_owned(), format!("{whole}{}", setting.range));
        Some(PlanError::OutOfRange { name, range, found: text_of(value) })
    });
    named.unwrap_or(error)
}

#[cfg(test)]
mod tests {
    use crate::{FitPlan, asked_in_toml};

    fn refused(text: &str) -> String {
        FitPlan::new(asked_in_toml(text).unwrap()).unwrap_err().to_string()
    }

    #[test]
    fn a_value_that_cannot_be_read_is_told_with_its_setting_and_what_it_may_be() {
        let steps = "`steps` must be a whole number, at least 1 and at most 1000000000";
        assert_eq!(refused("steps = -3"), format!("{steps}, found -3"));
        assert_eq!(refused("steps = 2.5\nensemble = 2"), format!("{steps}, found 2.5"));
        assert_eq!(refused("steps = 'many'"), format!("{steps}, found many"));
        let select = refused("select = 'foo'");
        assert!(
            select.starts_with("`select` must be ") && select.ends_with("found foo"),
            "{select}"
        );
        let simulated = refused("preset = 'simulated'\nbatch_size = -1");
        assert!(simulated.starts_with("`batch_size` must be a whole number"), "{simulated}");
        let density = refused("density = 'foo'");
        assert!(density.starts_with("`density` must be one of per-source"), "{density}");
    }
}
