//! One picture per file; what they share is in `element`, `text`, `colour`, `legend` and `page`.

pub(crate) mod bands;
mod colour;
mod element;
pub(crate) mod graph;
pub(crate) mod heatmap;
mod legend;
mod page;
pub(crate) mod reliability;
mod text;
