//! Colours that most colour-blind readers can tell apart.

/// Text and lines that must be read.
pub(crate) const TEXT: &str = "#24292f";
/// Text that explains other text.
pub(crate) const FAINT_TEXT: &str = "#57606a";
/// Lines that only guide the eye.
pub(crate) const GUIDE: &str = "#afb8c1";
/// Effects of positive sign (blue of Okabe and Ito 2008).
pub(crate) const POSITIVE: &str = "#0072b2";
/// Effects of negative sign, and outlines that must stand out from blue (vermilion, same palette).
pub(crate) const NEGATIVE: &str = "#d55e00";
/// Effects of unknown sign.
pub(crate) const UNKNOWN: &str = "#4c566a";
