//! Archives of NumPy arrays, as NumPy writes them (fixtures/make.py).

mod support;

use std::io::Write;

use driftgraph_data::{Problem, ReadOptions, load};
use support::{Folder, content, fixture, only_problem, series};

const HOLE: f64 = -999.0;
const FIRST: [f64; 6] = [0.0, 0.5, 1.0, 1.5, 2.0, HOLE];
const SECOND: [f64; 6] = [10.0, 10.5, 11.0, 11.5, 12.0, 12.5];

fn load_fixture(name: &str) -> driftgraph_data::Loaded {
    load(&[fixture(name)], &ReadOptions::default()).unwrap()
}

fn problem(path: std::path::PathBuf) -> (Problem, Option<u64>, Option<String>) {
    only_problem(&load(&[path], &ReadOptions::default()).unwrap_err())
}

#[test]
fn x_and_t_are_enough() {
    let loaded = load_fixture("plain.npz");
    assert_eq!(loaded.data.variables(), ["x1", "x2"]);
    let times = [0.0, 1.0, 2.5];
    assert_eq!(content(&loaded), [series("1", &times, &FIRST), series("2", &times, &SECOND)]);
    assert!(loaded.truth.is_none());
}

#[test]
fn mask_names_graph_and_times_per_series_are_understood() {
    let loaded = load_fixture("full.npz");
    assert_eq!(loaded.data.variables(), ["G1", "Gene 2"]);
    let expected = [series("1", &[0.0, 1.0, 2.5], &FIRST), series("2", &[1.0, 2.0, 3.5], &SECOND)];
    assert_eq!(content(&loaded), expected);
    let truth = loaded.truth.unwrap();
    let edges: Vec<_> = truth.edges().collect();
    // Row = source: the second row has both edges.
    assert_eq!(edges, [(0, 0), (1, 0), (1, 1)]);
}

#[test]
fn chosen_variables_are_kept_in_the_graph_too() {
    let options =
        ReadOptions { variables: vec!["gene 2".into(), "G1".into()], ..ReadOptions::default() };
    let loaded = load(&[fixture("full.npz")], &options).unwrap();
    assert_eq!(loaded.data.variables(), ["Gene 2", "G1"]);
    assert_eq!(loaded.data.series()[1].row(0), [10.5, 10.0]);
    assert_eq!(loaded.truth.unwrap().edges().collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 1)]);
}

#[test]
fn order_and_number_type_make_no_difference() {
    let times = [0.0, 1.0, 2.5];
    let expected = [series("1", &times, &FIRST), series("2", &times, &SECOND)];
    assert_eq!(content(&load_fixture("fortran_f4.npz")), expected);
    assert_eq!(content(&load_fixture("big_endian.npz")), expected);
    let doubled = load_fixture("integers.npz");
    assert_eq!(doubled.data.series()[1].values(), SECOND.map(|value| 2.0 * value));
    assert_eq!(doubled.data.series()[0].times(), [0.0, 1.0, 2.0]);
}

#[test]
fn two_axes_are_one_series() {
    let loaded = load_fixture("one_series.npz");
    assert_eq!(loaded.data.n_series(), 1);
    assert_eq!(loaded.data.n_rows(), 3);
}

#[test]
fn objects_and_text_are_refused() {
    let (found, ..) = problem(fixture("object.npz"));
    assert_eq!(found, Problem::ObjectArray { name: "x".into() });
    let (found, ..) = problem(fixture("text.npz"));
    assert!(matches!(found, Problem::ArrayType { name, .. } if name == "x"));
}

#[test]
fn an_archive_cut_anywhere_is_damaged() {
    let whole = std::fs::read(fixture("full.npz")).unwrap();
    let folder = Folder::new();
    for length in 0..whole.len() {
        let (found, ..) = problem(folder.file("cut.npz", &whole[..length]));
        assert!(matches!(found, Problem::Damaged { .. }), "{length}: {found}");
    }
}

/// An array file of version 1.0 with 8-byte floats.
fn array(shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    let padding = 63 - (10 + header.len()) % 64;
    let header = format!("{header}{}\n", " ".repeat(padding));
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((header.len() as u16).to_le_bytes());
    bytes.extend(header.as_bytes());
    bytes.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    bytes
}

fn archive(folder: &Folder, arrays: &[(&str, Vec<u8>)]) -> std::path::PathBuf {
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, bytes) in arrays {
        let options = zip::write::SimpleFileOptions::default()
            .compression_method(zip::CompressionMethod::Deflated);
        zip.start_file(format!("{name}.npy"), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    folder.file("made.npz", zip.finish().unwrap().into_inner())
}

#[test]
fn shapes_that_do_not_fit_are_told() {
    let folder = Folder::new();
    let x = || ("x", array("(1, 2, 1)", &[1.0, 2.0]));
    let refused = |arrays: &[(&str, Vec<u8>)]| problem(archive(&folder, arrays)).0;
    let missing = refused(&[x()]);
    assert!(matches!(missing, Problem::NoArray { name, found } if name == "t" && found == ["x"]));
    let flat = refused(&[("x", array("(2,)", &[1.0, 2.0])), ("t", array("(2,)", &[0.0, 1.0]))]);
    assert!(matches!(flat, Problem::ArrayShape { name, .. } if name == "x"));
    let times = refused(&[x(), ("t", array("(3,)", &[0.0, 1.0, 2.0]))]);
    assert!(matches!(times, Problem::ArrayShape { name, .. } if name == "t"));
    let empty = refused(&[("x", array("(0, 2, 1)", &[])), ("t", array("(2,)", &[0.0, 1.0]))]);
    assert_eq!(empty, Problem::NoRows);
}

#[test]
fn infinite_cells_and_times_are_told_by_their_index() {
    let folder = Folder::new();
    let x = array("(1, 2, 1)", &[1.0, f64::INFINITY]);
    let path = archive(&folder, &[("x", x), ("t", array("(2,)", &[0.0, 1.0]))]);
    let (found, _, column) = problem(path);
    assert_eq!(found, Problem::Infinite { text: "inf".into() });
    assert_eq!(column.as_deref(), Some("x[0, 1, 0]"));
    let x = array("(1, 2, 1)", &[1.0, 2.0]);
    let path = archive(&folder, &[("x", x), ("t", array("(2,)", &[0.0, f64::NAN]))]);
    let (found, _, column) = problem(path);
    assert_eq!(found, Problem::NotATime { text: "NaN".into() });
    assert_eq!(column.as_deref(), Some("t[0, 1]"));
}

#[test]
fn rows_of_padding_may_have_any_time() {
    let folder = Folder::new();
    // The second series has one row; the others are filled up with holes at time NaN and 0.
    let x = array("(2, 3, 1)", &[1.0, 2.0, 3.0, 4.0, f64::NAN, f64::NAN]);
    let t = array("(2, 3)", &[0.0, 1.0, 2.0, 0.0, f64::NAN, 0.0]);
    let path = archive(&folder, &[("x", x), ("t", t)]);
    let loaded = load(&[path], &ReadOptions::default()).unwrap();
    let expected = [series("1", &[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), series("2", &[0.0], &[4.0])];
    assert_eq!(content(&loaded), expected);
}

#[test]
fn a_header_that_promises_more_than_the_limit_is_refused_unread() {
    let folder = Folder::new();
    for shape in ["(1000000, 1000000, 1000000)", "(4000000000, 4000000000, 4000000000)"] {
        let path = archive(&folder, &[("x", array(shape, &[])), ("t", array("(1,)", &[0.0]))]);
        let (found, ..) = problem(path);
        assert_eq!(found, Problem::TooLarge { limit: ReadOptions::default().max_bytes });
    }
}

#[test]
fn an_archive_that_unpacks_beyond_the_limit_is_refused() {
    let folder = Folder::new();
    let x = array("(100000, 1)", &vec![0.0; 100_000]);
    let path = archive(&folder, &[("x", x), ("t", array("(1,)", &[0.0]))]);
    assert!(std::fs::metadata(&path).unwrap().len() < 10_000);
    let options = ReadOptions { max_bytes: 10_000, ..ReadOptions::default() };
    let (found, ..) = only_problem(&load(&[path], &options).unwrap_err());
    assert_eq!(found, Problem::TooLarge { limit: 10_000 });
}
