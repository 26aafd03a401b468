//! Pictures and reports of learned graphs: numbers and names in, self-contained SVG and HTML out.
//!
//! Rendering never touches a model: [`LearnedEdges`] is all a picture knows, and [`view::ReportView`] all that a
//! report shows. The same input gives
//! the same text, byte for byte, and a picture needs neither scripts, fonts nor the network.
//!
//! ```
//! use driftgraph_report::{EdgeSelection, GraphOptions, LearnedEdges, graph_svg, heatmap_svg};
//!
//! let names = ["prey".to_owned(), "predator".to_owned()];
//! // Row = source, column = target.
//! let probabilities = [0.97, 0.91, 0.88, 0.62];
//! let truth = [true, true, true, true];
//! let edges = LearnedEdges {
//!     truth: Some(&truth),
//!     ..LearnedEdges::probabilities(&names, &probabilities)
//! };
//! let matrix = heatmap_svg(&edges, "Who drives whom")?;
//! let graph = graph_svg(
//!     &edges,
//!     &GraphOptions { title: "Who drives whom", selection: EdgeSelection::AtLeast(0.5) },
//! )?;
//! assert!(matrix.starts_with("<svg") && graph.contains("predator"));
//! # Ok::<(), driftgraph_report::ReportError>(())
//! ```

#![warn(clippy::unwrap_used)]

mod edges;
mod error;
mod html;
mod order;
mod prose;
mod svg;
pub mod view;

pub use edges::{EffectSign, LearnedEdges};
pub use error::ReportError;
pub use html::drifting::drifting_picture;
pub use html::regimes::{differences_picture, regimes_picture};
pub use html::{
    SCRIPTS, STYLES, agreement_html, agreement_sections, graph_picture, matrix_picture,
    nodes_picture, report_data, report_html, report_navigation, report_sections, sweep_html,
};
pub use order::matrix_orders;
pub use svg::bands::{Band, BandAxes, BandChart, BandMeaning, Panel, bands_svg};
pub use svg::calendar::Calendar;
pub use svg::dots::{DotChart, DotRow, dots_svg};
pub use svg::graph::layout::node_positions;
pub use svg::graph::{EdgeSelection, GraphOptions, graph_svg};
pub use svg::heatmap::heatmap_svg;
pub use svg::reliability::{ReliabilityCurve, ReliabilityPoint, reliability_svg};
