//! Methods of structure learning: series in, edges out, each one file or folder behind one trait.
//!
//! [`METHODS`] lists them all; command line, settings files, Python, page, experiments and documentation are made from
//! it. To add a method, write its file, implement [`Method`], and add a line to the list.
//!
//! ```
//! use driftgraph_core::train::progress::Silent;
//! use driftgraph_core::{ObservedSeries, SeriesSet};
//! use driftgraph_methods::FitPlan;
//!
//! let values = vec![0.0, 1.0, 0.5, 0.8, 0.9, 0.3, 0.7, -0.2, 0.1, -0.4];
//! let series = ObservedSeries::new("run", 2, vec![0.0, 1.0, 2.0, 3.0, 4.5], values)?;
//! let data = SeriesSet::new(vec!["x".into(), "y".into()], vec![series])?;
//! let learned = FitPlan::named("ridge")?.learn(&data, &Silent)?;
//! assert_eq!(learned.edges.len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::unwrap_used)]

mod beside_bridge;
mod bridge;
mod command;
mod constants;
mod cuts;
mod doubts;
mod drifting;
mod dyngenie3;
mod halves;
mod lagged_edges;
mod level_form;
mod levels;
mod limited;
mod limits;
mod linear_algebra;
mod lsde;
mod memory;
mod method;
mod ngm;
mod ode_mean;
mod partial_correlation;
mod pcmci;
mod plan;
mod polynomial;
mod regimes;
mod regression;
mod regular;
mod rhino;
mod ridge;
mod score_matching;
pub mod settings;
mod settled;
mod simulated;
#[cfg(feature = "testing")]
mod toy;
mod trained;
mod var;
mod varlingam;
mod wrong_value;

use driftgraph_core::train::settings::Setting;
use driftgraph_data::record::MethodRequest;

pub use bridge::candidate_plan;
pub use method::{
    Handling, Learned, Method, MethodError, MethodTask, Preset, Takes, directed_probabilities,
    edge_probabilities, edge_scores,
};
pub use plan::{FitPlan, PlanError, asked_in_toml};

/// All methods, the default first.
pub static METHODS: &[&dyn Method] = &[
    &bridge::Bridge,
    &regimes::Regimes,
    &drifting::Drifting,
    &simulated::Simulated,
    &partial_correlation::PartialCorrelation,
    &score_matching::ScoreMatching,
    &level_form::LevelForm,
    &ridge::Ridge,
    &var::Var,
    &ode_mean::OdeMean,
    &polynomial::Polynomial,
    &pcmci::Pcmci,
    &pcmci::PcmciPlus,
    &varlingam::VarLingam,
    &dyngenie3::DynGenie3,
    &ngm::Ngm,
    &cuts::Cuts,
    &rhino::WITH_EDGES_WITHIN,
    &rhino::WITHOUT_EDGES_WITHIN,
    &lsde::Lsde,
    #[cfg(feature = "testing")]
    &toy::Toy,
];

/// The method of a name.
pub fn find(name: &str) -> Option<&'static dyn Method> {
    METHODS.iter().copied().find(|method| method.name() == name)
}

/// The method that has a preset of this name; the first where several have.
fn owner_of(preset: &str) -> Option<&'static dyn Method> {
    let has = |method: &&dyn Method| method.presets().iter().any(|known| known.name == preset);
    METHODS.iter().copied().find(has)
}

/// The method that was asked for, by its name or by that of a preset.
fn method_of(asked: &MethodRequest) -> Result<&'static dyn Method, PlanError> {
    let unknown = |what: &'static str, name: &str, known: Vec<&'static str>| {
        PlanError::UnknownName { what, name: name.to_owned(), known }
    };
    let owner = |preset: &str| {
        let all = METHODS.iter().flat_map(|method| method.presets());
        owner_of(preset)
            .ok_or_else(|| unknown("preset", preset, all.map(|preset| preset.name).collect()))
    };
    let Some(name) = asked.method.as_deref() else {
        // A setting that is called like its method asks for it.
        let is_named = |method: &&&dyn Method| {
            let is_own = |setting: Setting| setting.name == method.name();
            asked.settings.contains_key(method.name()) && method.settings().into_iter().any(is_own)
        };
        let usual = *METHODS.iter().find(is_named).unwrap_or(&METHODS[0]);
        return asked.preset.as_deref().map_or(Ok(usual), owner);
    };
    let all = || METHODS.iter().map(|method| method.name()).collect();
    let method = find(name).ok_or_else(|| unknown("method", name, all()))?;
    let Some(preset) = asked.preset.as_deref() else { return Ok(method) };
    if method.presets().iter().any(|known| known.name == preset) {
        return Ok(method);
    }
    let (owner, preset) = (owner(preset)?.name(), preset.to_owned());
    Err(PlanError::OtherPreset { preset, owner, method: method.name() })
}

/// A setting, and the methods that have it.
#[derive(Debug, Clone)]
pub struct SharedSetting {
    /// As the first of the methods has it.
    pub setting: Setting,
    /// Names of the methods.
    pub methods: Vec<&'static str>,
}

/// Every setting of any method, once, in the order of the methods.
pub fn all_settings() -> Vec<SharedSetting> {
    let mut all: Vec<SharedSetting> = Vec::new();
    for method in METHODS {
        for setting in method.settings() {
            match all.iter_mut().find(|known| known.setting.name == setting.name) {
                Some(known) => known.methods.push(method.name()),
                None => all.push(SharedSetting { setting, methods: vec![method.name()] }),
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_method_is_found_by_its_name_and_no_two_share_one() {
        for method in METHODS {
            assert_eq!(find(method.name()).map(Method::name), Some(method.name()));
            assert_eq!(METHODS.iter().filter(|other| other.name() == method.name()).count(), 1);
        }
        let refusal = |name| FitPlan::named(name).unwrap_err().to_string();
        assert_eq!(refusal("Ridge"), "there is no method or preset `Ridge`; did you mean `ridge`?");
        let plus = "there is no method or preset `PCMCI+`; did you mean `pcmci-plus`?";
        assert_eq!(refusal("PCMCI+"), plus);
        let lasso = "there is no method or preset `lasso`; there are `bridge`";
        assert!(refusal("lasso").starts_with(lasso));
    }

    #[test]
    fn defaults_of_every_method_pass_its_own_check_and_every_preset_is_a_plan() {
        for method in METHODS {
            FitPlan::named(method.name()).unwrap();
            for preset in method.presets() {
                let (method, preset) = (Some(method.name().into()), Some(preset.name.into()));
                FitPlan::new(MethodRequest { method, preset, ..MethodRequest::default() }).unwrap();
            }
        }
    }

    #[test]
    fn defaults_in_effect_are_the_words_of_the_table() {
        for method in METHODS {
            let plan = FitPlan::named(method.name()).unwrap();
            for setting in method.settings().iter().filter(|setting| setting.default != "none") {
                let (found, expected) = (&plan.settings()[setting.name], setting.default);
                let expected = settings::value_of(setting, expected).unwrap();
                // 1 and 1.0 are the same number.
                let same =
                    found == &expected || found.as_f64() == expected.as_f64().or(Some(f64::NAN));
                assert!(same, "{} {}: {found} {expected}", method.name(), setting.name);
            }
        }
        let asked = json!({"noise_scale": 0.1, "density": "common", "instant_density": {"kind": "fixed", "sparsity": 2.0}});
        let plan = FitPlan::named("bridge").unwrap().with(plan::to_object(&asked)).unwrap();
        for (name, value) in plan::to_object(&asked) {
            assert_eq!(plan.settings()[&name], value);
        }
    }

    #[test]
    fn a_setting_with_the_name_of_a_method_asks_for_it() {
        let method = |settings| {
            let settings = plan::to_object(&settings);
            let asked = MethodRequest { settings, ..MethodRequest::default() };
            FitPlan::new(asked).unwrap().method().name()
        };
        assert_eq!(method(json!({"regimes": 2})), "regimes");
        assert_eq!(method(json!({"drifting": true})), "drifting");
        // The settings of the default may stand in a table of that name.
        assert_eq!(method(json!({"bridge": {"ensemble": 1}})), "bridge");
    }

    #[test]
    fn a_preset_of_another_method_is_told_as_such() {
        let asked = MethodRequest {
            method: Some("bridge".into()),
            preset: Some("paper".into()),
            ..MethodRequest::default()
        };
        let error = FitPlan::new(asked).unwrap_err().to_string();
        assert_eq!(error, "`paper` is a preset of the method `simulated`, not of `bridge`");
    }
}
