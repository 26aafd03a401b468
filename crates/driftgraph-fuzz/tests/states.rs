//! The states inside checkpoints of the corpus are reached, whatever their hash.

use std::fs;

use driftgraph_core::train::bridge::BridgeState;
use driftgraph_core::train::levels::LevelRun;
use driftgraph_core::train::linear::LinearState;
use driftgraph_fuzz::checkpoint;
use driftgraph_run::checkpoint::unsealed;
use serde::de::DeserializeOwned;

fn is_read_behind_its_hash<T: DeserializeOwned>(name: &str) {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/corpus/checkpoint");
    let mut bytes = fs::read(format!("{folder}/{name}.state")).unwrap();
    for hash in ["right", "wrong"] {
        let state = unsealed(&bytes).unwrap();
        assert!(postcard::from_bytes::<T>(state).is_ok(), "{name}, hash {hash}");
        checkpoint(&bytes, 0);
        *bytes.last_mut().unwrap() ^= 1;
    }
}

#[test]
fn states_of_the_corpus_are_read_whether_their_hash_is_right_or_wrong() {
    is_read_behind_its_hash::<LinearState>("linear");
    is_read_behind_its_hash::<BridgeState>("bridge");
    is_read_behind_its_hash::<LevelRun>("levels");
}
