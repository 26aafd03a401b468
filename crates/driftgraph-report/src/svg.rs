//! One picture per file; what they share is in `element`, `text`, `colour`, `axis`, `legend` and `page`.

pub(crate) mod axis;
pub(crate) mod bands;
pub(crate) mod calendar;
mod colour;
pub(crate) mod dots;
pub(crate) mod element;
pub(crate) mod graph;
pub(crate) mod heatmap;
pub(crate) mod legend;
mod page;
pub(crate) mod regimes;
pub(crate) mod reliability;
pub(crate) mod text;
