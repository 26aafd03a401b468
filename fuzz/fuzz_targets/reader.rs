//! The reader named by `DRIFTGRAPH_FUZZ_TARGET`, for libFuzzer.

#![no_main]

use std::sync::LazyLock;

use driftgraph_fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("DRIFTGRAPH_FUZZ_TARGET").unwrap_or_default();
    let known = TARGETS.iter().find(|target| target.name == name);
    known.unwrap_or_else(|| panic!("DRIFTGRAPH_FUZZ_TARGET names no reader: `{name}`"))
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| (TARGET.run)(bytes));
