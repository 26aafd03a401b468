//! Several files, folders, compressed files, and limits of size.

mod support;

use driftgraph_data::{Problem, ReadOptions, load, load_in_memory};
use support::{Folder, content, fixture, gzip, load_text, load_text_with, only_problem, series};

fn load_folder(folder: &Folder) -> driftgraph_data::Loaded {
    load(&[folder.path().to_owned()], &ReadOptions::default()).unwrap()
}

#[test]
fn a_folder_gives_one_series_per_file_in_natural_order() {
    let folder = Folder::new();
    folder.file("run10.csv", "time,x,y\n0,5,6\n");
    folder.file("run2.csv", "time,x,y\n0,1,2\n");
    folder.file("patient.1.csv", "time,x,y\n0,3,4\n");
    folder.file("patient.2.csv", "time,x,y\n0,7,8\n");
    folder.file("README.md", "not a table");
    folder.file(".hidden.csv", "not a table");
    folder.file("truth.csv", "cause,effect\nx,y\n");
    let loaded = load_folder(&folder);
    let expected = [
        series("patient.1", &[0.0], &[3.0, 4.0]),
        series("patient.2", &[0.0], &[7.0, 8.0]),
        series("run2", &[0.0], &[1.0, 2.0]),
        series("run10", &[0.0], &[5.0, 6.0]),
    ];
    assert_eq!(content(&loaded), expected);
    let [truth, series] = &loaded.notices[..] else { panic!("{:?}", loaded.notices) };
    assert!(truth.ends_with("is a list of true edges, not read as data"));
    assert!(series.starts_with("each of the 4 files was read as a series of its own"), "{series}");
}

#[test]
fn columns_may_stand_in_another_order_in_every_file() {
    let folder = Folder::new();
    folder.file("a.csv", "time,x,y\n0,1,2\n");
    folder.file("b.csv", "y,x,time\n4,3,0\n");
    let loaded = load_folder(&folder);
    assert_eq!(loaded.data.variables(), ["x", "y"]);
    assert_eq!(content(&loaded)[1], series("b", &[0.0], &[3.0, 4.0]));
}

#[test]
fn a_series_that_goes_on_in_another_file_is_joined_and_this_is_told() {
    let folder = Folder::new();
    folder.file("week1.csv", "id,time,x\na,0,1\nb,0,2\n");
    folder.file("week2.csv", "id,time,x\na,7,3\nc,7,4\n");
    let loaded = load_folder(&folder);
    let expected = [
        series("a", &[0.0, 7.0], &[1.0, 3.0]),
        series("b", &[0.0], &[2.0]),
        series("c", &[7.0], &[4.0]),
    ];
    assert_eq!(content(&loaded), expected);
    assert_eq!(loaded.notices, ["1 series has rows in more than one file, which were joined"]);
}

#[test]
fn a_time_found_in_two_files_names_both() {
    let folder = Folder::new();
    let first = folder.file("week1.csv", "id,time,x\na,0,1\n");
    folder.file("week2.csv", "id,time,x\nb,0,2\na,0,3\n");
    let errors = load(&[folder.path().to_owned()], &ReadOptions::default()).unwrap_err();
    let (problem, row, _) = only_problem(&errors);
    let expected = Problem::DuplicateTime {
        series: "a".into(),
        what: "rows".into(),
        time: "0".into(),
        other: format!("row 2 of `{}`", first.display()),
        label: None,
    };
    assert_eq!((problem, row), (expected, Some(3)));
}

#[test]
fn files_of_one_name_in_two_folders_stay_two_series() {
    let folder = Folder::new();
    let paths = [
        folder.file("mouse1/run.csv", "time,x\n0,1\n"),
        folder.file("mouse2/run.csv", "time,x\n0,2\n"),
    ];
    let loaded = load(&paths, &ReadOptions::default()).unwrap();
    assert_eq!(loaded.data.n_series(), 2);
    assert_eq!(loaded.data.series()[1].name(), paths[1].display().to_string());
}

#[test]
fn restarts_in_several_files_are_named_after_their_file() {
    let folder = Folder::new();
    folder.file("a.csv", "time,x\n0,1\n1,2\n0,3\n1,4\n");
    folder.file("b.csv", "time,x\n0,5\n1,6\n");
    let names: Vec<_> =
        load_folder(&folder).data.series().iter().map(|s| s.name().to_owned()).collect();
    assert_eq!(names, ["a:1", "a:2", "b"]);
}

#[test]
fn files_that_do_not_match_are_refused() {
    let refused = |second: &str| {
        let folder = Folder::new();
        folder.file("a.csv", "time,x\n0,1\n");
        folder.file("b.csv", second);
        let errors = load(&[folder.path().to_owned()], &ReadOptions::default()).unwrap_err();
        only_problem(&errors).0
    };
    let other = refused("time,y\n0,1\n");
    assert!(matches!(other, Problem::OtherVariables { missing, extra, .. }
        if missing == ["x"] && extra == ["y"]));
    assert!(matches!(refused("id,time,x\n1,0,1\n"), Problem::OtherLayout { .. }));
    assert!(matches!(refused("time,x\n2026-01-01,1\n"), Problem::OtherLayout { .. }));
}

#[test]
fn problems_of_all_files_are_told_together() {
    let folder = Folder::new();
    folder.file("a.csv", "time,x\n0,one\n");
    folder.file("b.csv", "time,x\n0,two\n");
    let paths = [folder.path().to_owned(), folder.path().join("c.csv")];
    let errors = load(&paths, &ReadOptions::default()).unwrap_err();
    assert_eq!(errors.errors().len(), 3);
    assert_eq!(errors.errors()[2].problem, Problem::NotFound);
}

#[test]
fn missing_and_unknown_files_are_refused() {
    let folder = Folder::new();
    let problem = |path: &std::path::Path| {
        only_problem(&load(&[path.to_owned()], &ReadOptions::default()).unwrap_err()).0
    };
    assert_eq!(problem(&folder.path().join("absent.csv")), Problem::NotFound);
    assert_eq!(problem(folder.path()), Problem::EmptyFolder);
    assert_eq!(problem(&folder.file("table.docx", "PK")), Problem::UnknownFormat);
    assert_eq!(problem(&folder.file("table.npz.gz", "PK")), Problem::UnknownFormat);
    assert_eq!(only_problem(&load(&[], &ReadOptions::default()).unwrap_err()).0, Problem::NoFiles);
}

#[test]
fn gzip_is_read_whatever_the_name_and_in_several_members() {
    let expected = [series("a", &[0.0, 1.0], &[1.0, 2.0])];
    let whole = gzip(b"time,x\n0,1\n1,2\n");
    assert_eq!(content(&load_text("a.csv.gz", &whole).unwrap()), expected);
    assert_eq!(content(&load_text("a.csv", &whole).unwrap()), expected);
    let members = [gzip(b"time,x\n0,1\n"), gzip(b"1,2\n")].concat();
    assert_eq!(content(&load_text("a.tsv.gz", gzip(b"time\tx\n0\t1\n1\t2\n")).unwrap()), expected);
    assert_eq!(content(&load_text("a.csv.gz", members).unwrap()), expected);
}

#[test]
fn a_cut_gzip_is_damaged_wherever_it_ends() {
    let whole = gzip(b"time,x\n0,1\n1,2\n");
    for length in 2..whole.len() {
        let errors = load_text("a.csv.gz", &whole[..length]).unwrap_err();
        assert!(matches!(only_problem(&errors).0, Problem::Damaged { .. }), "{length}: {errors}");
    }
}

#[test]
fn no_file_is_read_beyond_the_limit() {
    let limited = |max_bytes: u64| ReadOptions { max_bytes, ..ReadOptions::default() };
    let text = format!("time,x\n{}", "0,1\n".repeat(10_000));
    let too_large = |name: &str, bytes: &[u8], limit: u64| {
        let errors = load_text_with(name, bytes, &limited(limit)).unwrap_err();
        assert_eq!(only_problem(&errors).0, Problem::TooLarge { limit }, "{name}");
    };
    too_large("a.csv", text.as_bytes(), 40_006);
    // The compressed file is far below the limit, what it unpacks to is not.
    let bomb = gzip(text.as_bytes());
    assert!(bomb.len() < 1_000);
    too_large("a.csv.gz", &bomb, 10_000);
    // plain.npz: x takes 2 * 3 * 2 * 8 = 96 bytes, and the file itself more.
    too_large("plain.npz", &std::fs::read(fixture("plain.npz")).unwrap(), 95);
    let exact = load_text_with("a.csv", "time,x\n0,1\n", &limited(11));
    assert!(exact.is_ok());
}

#[test]
fn what_is_in_memory_is_read_like_what_is_on_disk() {
    let names = ["plain.npz", "pandas_wide.parquet", "sheet.ods", "sheets.xlsx"];
    let folder = Folder::new();
    let packed = folder.file("packed.csv.gz", gzip(b"series,time,x\na,0,1.5\nb,2020-01-01,2\n"));
    for path in names.map(fixture).into_iter().chain([packed]) {
        let bytes = std::fs::read(&path).unwrap().into();
        let on_disk = load(std::slice::from_ref(&path), &ReadOptions::default());
        let in_memory = load_in_memory(&path, &bytes, &ReadOptions::default());
        match (on_disk, in_memory) {
            (Ok(on_disk), Ok(in_memory)) => {
                assert_eq!(content(&on_disk), content(&in_memory));
                assert_eq!((on_disk.files, on_disk.notices), (in_memory.files, in_memory.notices));
            }
            (Err(on_disk), Err(in_memory)) => {
                assert_eq!(on_disk.to_string(), in_memory.to_string());
            }
            (on_disk, _) => panic!("only one of them can be read: {on_disk:?}"),
        }
        let options = ReadOptions { max_bytes: 10, ..ReadOptions::default() };
        let refused = load_in_memory(&path, &bytes, &options).unwrap_err();
        assert!(matches!(only_problem(&refused).0, Problem::TooLarge { limit: 10 }));
    }
}
