//! A checkpoint: first as it comes, then what it holds, as if its hash were right.

use driftgraph_core::train::bridge::BridgeState;
use driftgraph_core::train::levels::LevelRun;
use driftgraph_core::train::linear::LinearState;
use driftgraph_core::train::trainer::TrainingState;
use driftgraph_run::checkpoint::{Key, key, sealed, state_in, unsealed};
use driftgraph_sweep::ShardResult;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// A checkpoint of any part of any fit.
pub fn checkpoint(bytes: &[u8], _: u64) {
    let key = key("data", "settings");
    let as_it_comes = state_in(bytes, &key);
    // No change of the bytes meets their hash, so what is behind it is tried by itself.
    let state = unsealed(bytes).unwrap_or(bytes);
    if as_it_comes.is_err() {
        assert_eq!(through_a_file(state, &key), state, "a file changed what was kept");
    }
    unpacked::<BridgeState>(state);
    unpacked::<LevelRun>(state);
    unpacked::<LinearState>(state);
    unpacked::<TrainingState>(state);
    unpacked::<u64>(state);
    if let Some(result) = ShardResult::from_bytes(state) {
        assert!(ShardResult::from_bytes(&result.to_bytes()).is_some(), "a result is lost");
    }
}

fn through_a_file(state: &[u8], key: &Key) -> Vec<u8> {
    state_in(&sealed(key, state), key).expect("the hash is right").expect("the key is right")
}

/// Unpacks a state as a fit that goes on does, and packs it again as the fit's next checkpoint.
fn unpacked<T: Serialize + DeserializeOwned>(state: &[u8]) {
    if let Ok(value) = postcard::from_bytes::<T>(state) {
        postcard::to_stdvec(&value).expect("states are plain values");
    }
}
