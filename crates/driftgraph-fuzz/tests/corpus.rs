//! A short run of every reader: the corpus, and changed copies of it.

use std::alloc::System;
use std::fs;
use std::panic::catch_unwind;
use std::path::Path;

use cap::Cap;
use driftgraph_fuzz::{TARGETS, Target, changed, corpus, sound};

/// A file of some kilobytes must not ask for more than this, all readers together.
const MOST_MEMORY: usize = 1 << 30;
/// Changed copies per reader.
const N_CHANGED: u64 = 2000;

// Asking for more ends the process.
#[global_allocator]
static MEMORY: Cap<System> = Cap::new(System, MOST_MEMORY);

fn inputs(target: &Target) -> Vec<Vec<u8>> {
    // A sound model of today's layout, so that changes of it come far even when the corpus is older.
    let own = sound().into_iter().filter(|(name, _)| *name == target.name).map(|(_, bytes)| bytes);
    let folder = corpus(target);
    let entries =
        fs::read_dir(&folder).unwrap_or_else(|_| panic!("{} is missing", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "no inputs in {}", folder.display());
    own.chain(files.iter().map(|file| fs::read(file).unwrap())).collect()
}

/// Keeps the input of a panic where it can be found.
fn check(target: &Target, bytes: &[u8], what: &str) {
    let run = || (0..target.ways).for_each(|way| (target.run)(bytes, way));
    if catch_unwind(run).is_err() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("findings");
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join(format!("{}-{what}", target.name));
        fs::write(&file, bytes).unwrap();
        panic!("`{}` panics; the input is in {}", target.name, file.display());
    }
}

#[test]
fn no_input_of_the_corpus_and_no_changed_copy_makes_a_reader_panic() {
    std::thread::scope(|scope| {
        for target in &TARGETS {
            scope.spawn(move || {
                let inputs = inputs(target);
                for (idx, input) in inputs.iter().enumerate() {
                    check(target, input, &format!("corpus-{idx}"));
                }
                for number in 0..N_CHANGED {
                    let input = &inputs[number as usize % inputs.len()];
                    let other = &inputs[(number / 7) as usize % inputs.len()];
                    let bytes = changed(input, other, target.words, number);
                    check(target, &bytes, &format!("changed-{number}"));
                }
            });
        }
    });
}
