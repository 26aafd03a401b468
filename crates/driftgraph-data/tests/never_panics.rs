//! Whatever the bytes, the answer is data or an error.

mod support;

use driftgraph_data::edges::{Orientation, read_edges};
use driftgraph_data::{DecimalMark, Duplicates, Encoding, ReadOptions, load};
use proptest::prelude::*;
use support::{Folder, fixture, gzip};

const TEXTS: [&str; 10] = [
    "series,time,x,y\na,0,1,2\na,1.5,,3\nb,0,4,5\n",
    "series,time,variable,value\na,0,x,1\na,1,y,2\nb,0,x,NA\n",
    "\"Time\"\t\"G1\"\t\"G2\"\n0\t.1\t.2\n10\t.3\t.4\n0\t.5\t.6\n",
    "date,x\n2026-01-01,1\n2026-01-02T10:00:00+02:00,2\n",
    "source,target,probability\na,b,0.5\nb,c,0.1\n",
    ",a,b\na,0,0.5\nb,0.25,1\n",
    "gene,t=0 min,t=20 min,t=40 min\nG1,1,2,?\nG2,4,-,6\n",
    "date;x\n31.01.2020;1,5\n1.2.2020;1.234,5\nJan 2020;<LOD\n",
    ",x\n1959Q1,1 234\n1959Q2,12 345.5\n1960Q1,7\n1960Q2,8\n",
    "\u{feff}depth,x\n0,1\n1,2\n2,4\n3,\u{b0}\n",
];

/// Reads the bytes under every name that decides a format, as data and as edges.
fn read_in_every_way(bytes: &[u8]) {
    let folder = Folder::new();
    let strict = ReadOptions { max_bytes: 1 << 20, ..ReadOptions::default() };
    let lenient = ReadOptions { duplicates: Duplicates::Mean, ..strict.clone() };
    let turned = ReadOptions { transpose: true, ..lenient.clone() };
    let uneven = ReadOptions {
        even_steps: true,
        decimal: Some(DecimalMark::Comma),
        encoding: Some(Encoding::Utf16),
        ..lenient.clone()
    };
    for name in ["a.csv", "a.tsv", "a.csv.gz", "a.npz", "a.parquet", "a.xlsx", "a.ods"] {
        let path = folder.file(name, bytes);
        for options in [&strict, &lenient, &turned, &uneven] {
            if let Ok(loaded) = load(std::slice::from_ref(&path), options) {
                assert!(loaded.data.n_rows() > 0);
            }
        }
    }
    let path = folder.path().join("a.csv");
    for orientation in [None, Some(Orientation::SourceRows)] {
        if let Ok(edges) = read_edges(&path, orientation) {
            let _ = edges.scores(&edges.variables).map(|scores| scores.ranked());
            let _ = edges.graph(&edges.variables);
        }
    }
}

/// A valid file of some format.
fn valid_file() -> impl Strategy<Value = Vec<u8>> {
    let archives = [
        "plain.npz",
        "full.npz",
        "integers.npz",
        "pandas_wide.parquet",
        "pandas_dates_index.parquet",
        "sheets.xlsx",
        "sheet.ods",
    ];
    let texts = prop::sample::select(TEXTS.to_vec()).prop_map(|text| text.as_bytes().to_vec());
    let zipped = prop::sample::select(TEXTS.to_vec()).prop_map(|text| gzip(text.as_bytes()));
    let archives = prop::sample::select(archives.to_vec())
        .prop_map(|name| std::fs::read(fixture(name)).unwrap());
    prop_oneof![2 => texts, 1 => zipped, 3 => archives]
}

/// Bytes set, left out, or put in at places given as shares of the length.
fn mutated_file() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(b",;\t\n\r\"-.e0179NaninfA\x00\xff\x80".to_vec())
    ];
    let change = (0_usize..3, 0.0..1.0, byte);
    (valid_file(), prop::collection::vec(change, 1..6)).prop_map(|(mut bytes, changes)| {
        for (kind, share, byte) in changes {
            let place = ((bytes.len() as f64 * share) as usize).min(bytes.len().saturating_sub(1));
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[place] = byte,
                1 => {
                    bytes.remove(place);
                }
                _ => bytes.insert(place, byte),
            }
        }
        bytes
    })
}

proptest! {
    #[test]
    fn random_bytes_give_data_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_in_every_way(&bytes);
    }

    #[test]
    fn random_text_gives_data_or_an_error(text in "(time|x|id)[,;\t]x[,;\t]?[a-z]?\n([0-9a-zN.,;\t\"\r\n-]{0,12}\n){0,6}") {
        read_in_every_way(text.as_bytes());
    }

    #[test]
    fn changed_files_give_data_or_an_error(bytes in mutated_file()) {
        read_in_every_way(&bytes);
    }
}
