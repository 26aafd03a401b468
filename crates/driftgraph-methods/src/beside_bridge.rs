//! Methods that are the linear process of `bridge` with one setting of their own, which has the name of the method.

use driftgraph_core::SeriesSet;
use driftgraph_core::train::bridge::memory::BridgeShape;
use driftgraph_core::train::settings::Setting;
use driftgraph_data::record::MethodRequest;
use serde_json::{Map, Value};

use crate::bridge::{Bridge, BridgePlan};
use crate::{FitPlan, Method, PlanError};

/// Settings that are those of `bridge`.
const SHARED: [&str; 5] = ["seed", "steps", "step_size", "noise_scale", "no_self_loops"];

/// All settings of such a method.
pub(crate) fn settings(own: Setting) -> Vec<Setting> {
    let shared = Bridge.settings().into_iter().filter(|one| SHARED.contains(&one.name));
    std::iter::once(own).chain(shared).collect()
}

/// The same request without the setting of its own.
pub(crate) fn plain(asked: &MethodRequest, own: &str) -> MethodRequest {
    let mut plain = MethodRequest { method: None, ..asked.clone() };
    plain.settings.remove(own);
    plain
}

/// All settings in effect, with the value of its own; settings of other methods are refused.
pub(crate) fn in_effect(
    asked: &MethodRequest,
    method: &'static str,
    own: Value,
) -> Result<Map<String, Value>, PlanError> {
    let mut settings = Bridge.resolve(&plain(asked, method))?;
    settings.retain(|name, _| SHARED.contains(&name.as_str()));
    settings.insert(method.to_owned(), own);
    Ok(settings)
}

/// Refuses settings of other methods.
pub(crate) fn refuse_others(asked: &MethodRequest, method: &'static str) -> Result<(), PlanError> {
    let known = |name: &String| SHARED.contains(&name.as_str()) || name == method;
    let other = asked.settings.keys().find(|name| !known(name));
    other.map_or(Ok(()), |name| Err(PlanError::OtherSetting { name: name.clone(), method }))
}

/// Bytes of a plain fit, and of so many numbers beside it.
pub(crate) fn bytes_beside(
    plan: &FitPlan,
    data: &SeriesSet,
    numbers: impl Fn(&BridgeShape) -> usize,
) -> Option<u64> {
    let plain = plain(plan.asked(), plan.method().name());
    let shape = BridgeShape::new(data, BridgePlan::new(&plain).ok()?.base()).ok()?;
    let of_plain = FitPlan::new(plain).ok()?.predicted_bytes(data)?;
    Some(of_plain + (size_of::<f64>() * numbers(&shape)) as u64)
}
