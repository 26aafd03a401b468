//! How well a ranking of edges matches a known graph.
