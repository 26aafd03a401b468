//! Decoders of other crates, whose panics are told as damage of the file.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::path::Path;
use std::sync::Once;

use crate::error::{DataErrors, Place};
use crate::problem::Problem;

thread_local! {
    /// Whether this thread is in a decoder.
    static DECODING: Cell<bool> = const { Cell::new(false) };
}

/// The result of some work, or `None` if it panicked; the panic itself is not told.
pub(crate) fn without_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !DECODING.get() {
                usual(panic);
            }
        }));
    });
    DECODING.set(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    DECODING.set(false);
    result.ok()
}

/// The result of decoding a file; where the decoder panics, the file is damaged.
pub(crate) fn decoded<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, DataErrors>,
) -> Result<T, DataErrors> {
    without_panics(work).unwrap_or_else(|| {
        let reason = "the decoder gave up".to_owned();
        Err(Place::file(path).problem(Problem::Damaged { reason }).into())
    })
}
