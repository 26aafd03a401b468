//! The reader named by `DRIFTGRAPH_FUZZ_TARGET`, for libFuzzer.

#![no_main]

use std::panic::{catch_unwind, set_hook};
use std::sync::LazyLock;

use driftgraph_fuzz::{TARGETS, Target};

static TARGET: LazyLock<&Target> = LazyLock::new(|| {
    let name = std::env::var("DRIFTGRAPH_FUZZ_TARGET").unwrap_or_default();
    let known = TARGETS.iter().find(|target| target.name == name);
    let target = known.unwrap_or_else(|| panic!("DRIFTGRAPH_FUZZ_TARGET names no reader: `{name}`"));
    // libFuzzer's own hook ends the process at every panic, also at those of a dependency that a reader
    // catches and reports as damage of the file.
    set_hook(Box::new(|_| ()));
    target
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if catch_unwind(|| TARGET.run_one_way(bytes)).is_err() {
        std::process::abort();
    }
});
