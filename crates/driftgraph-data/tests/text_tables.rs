//! Tables of text: wide and long, in every dialect that programs write.

mod support;

use driftgraph_data::{Duplicates, Problem, ReadOptions, TimeUnit};
use support::{content, load_text, load_text_with, only_problem, problem_of, series};

const HOLE: f64 = -999.0;

fn options(change: impl FnOnce(&mut ReadOptions)) -> ReadOptions {
    let mut options = ReadOptions::default();
    change(&mut options);
    options
}

#[test]
fn a_wide_table_is_split_by_its_series_column() {
    let loaded = load_text("a.csv", "series,time,x,y\na,0,1,2\na,1.5,,3\nb,0,4,5\n").unwrap();
    assert_eq!(loaded.data.variables(), ["x", "y"]);
    let expected =
        [series("a", &[0.0, 1.5], &[1.0, 2.0, HOLE, 3.0]), series("b", &[0.0], &[4.0, 5.0])];
    assert_eq!(content(&loaded), expected);
    assert_eq!(loaded.notices, Vec::<String>::new());
    assert_eq!(loaded.time_axis.unit, TimeUnit::Given);
}

#[test]
fn time_and_series_go_by_several_names_in_any_case() {
    for time in ["time", "Timestamp", "DATETIME", "date", "T"] {
        let names = ["Series", "series_id", "Trajectory", "SUBJECT", "unit", "ID", "Patient_ID"];
        for name in names.into_iter().chain(["patient", "subject_id", "ticker", "symbol", "run"]) {
            let loaded = load_text("a.csv", format!("{name},{time},x\np,0,1\np,1,2\n")).unwrap();
            assert_eq!(content(&loaded), [series("p", &[0.0, 1.0], &[1.0, 2.0])], "{name} {time}");
        }
    }
}

#[test]
fn the_user_names_columns_orders_variables_and_leaves_some_out() {
    let text = "mouse,hours,time,a,note,b\nm1,0,9,1,fine,2\nm1,1,9,3,ill,4\n";
    let chosen = options(|options| {
        options.time = Some("hours".into());
        options.series = Some("Mouse".into());
        options.variables = vec!["b".into(), "a".into()];
    });
    let loaded = load_text_with("a.csv", text, &chosen).unwrap();
    assert_eq!(loaded.data.variables(), ["b", "a"]);
    assert_eq!(content(&loaded), [series("m1", &[0.0, 1.0], &[2.0, 1.0, 4.0, 3.0])]);
    let rest = options(|options| {
        options.time = Some("hours".into());
        options.series = Some("mouse".into());
        options.ignore = vec!["note".into(), "time".into()];
    });
    let loaded = load_text_with("a.csv", text, &rest).unwrap();
    assert_eq!(loaded.data.variables(), ["a", "b"]);
}

#[test]
fn a_long_table_gives_the_same_series_as_a_wide_one() {
    let long = "series,time,variable,value\na,1.5,y,3\na,0,x,1\na,0,y,2\nb,0,x,4\nb,0,y,5\n";
    let loaded = load_text("a.csv", long).unwrap();
    // Variables stand in order of first appearance.
    assert_eq!(loaded.data.variables(), ["y", "x"]);
    let expected =
        [series("a", &[0.0, 1.5], &[2.0, 1.0, 3.0, HOLE]), series("b", &[0.0], &[5.0, 4.0])];
    assert_eq!(content(&loaded), expected);
    let chosen = options(|options| options.variables = vec!["x".into()]);
    let loaded = load_text_with("a.csv", long, &chosen).unwrap();
    assert_eq!(content(&loaded), [series("a", &[0.0], &[1.0]), series("b", &[0.0], &[4.0])]);
}

#[test]
fn a_long_table_may_carry_further_columns_that_are_ignored() {
    let long = "time,variable,value,comment\n0,x,1,ok\n1,x,2,late\n";
    let chosen = options(|options| options.ignore = vec!["comment".into()]);
    let loaded = load_text_with("plant.csv", long, &chosen).unwrap();
    assert_eq!(content(&loaded), [series("plant", &[0.0, 1.0], &[1.0, 2.0])]);
}

#[test]
fn the_dream_layout_is_split_where_time_restarts_and_this_is_told() {
    let text = "\"Time\"\t\"G1\"\t\"G2\"\n0\t.1\t.2\n10\t.3\t.4\n\n0\t.5\t.6\n10\t.7\t.8\n";
    let loaded = load_text("InSilico.tsv", text).unwrap();
    assert_eq!(loaded.data.variables(), ["G1", "G2"]);
    let expected = [
        series("1", &[0.0, 10.0], &[0.1, 0.2, 0.3, 0.4]),
        series("2", &[0.0, 10.0], &[0.5, 0.6, 0.7, 0.8]),
    ];
    assert_eq!(content(&loaded), expected);
    assert_eq!(loaded.notices.len(), 1);
    let notice = &loaded.notices[0];
    assert!(notice.ends_with(
        "no series column and its time restarts, so it was read as 2 series; `--series` overrules"
    ));
}

#[test]
fn rows_in_no_order_are_one_series_where_no_time_comes_twice() {
    for text in ["time,x\n2,3\n0,1\n3,4\n1,2\n", "time,x\n0,1\n2,3\n1,2\n3,4\n"] {
        let loaded = load_text("a.csv", text).unwrap();
        let expected = series("a", &[0.0, 1.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(content(&loaded), [expected]);
        let [why, sorted] = &loaded.notices[..] else { panic!("{:?}", loaded.notices) };
        assert!(why.ends_with(
            "no series column and no time twice, so it was read as one series; `--series` overrules"
        ));
        assert_eq!(sorted, "sorted the rows of 1 series by time");
    }
}

#[test]
fn time_that_goes_back_and_repeats_is_refused_unless_duplicates_are_resolved() {
    let text = "time,x\n0,1\n2,2\n1,3\n2,4\n";
    let (problem, row, _) = problem_of("a.csv", text);
    let (previous, next) = ("2".into(), "1".into());
    assert_eq!(problem, Problem::TimeGoesBack { previous, next, label: None });
    assert_eq!(row, Some(4));
    let hint = problem.hint().unwrap();
    assert!(hint.contains("--series") && hint.contains("--duplicates"), "{hint}");
    let chosen = options(|options| options.duplicates = Duplicates::Mean);
    let loaded = load_text_with("a.csv", text, &chosen).unwrap();
    assert_eq!(content(&loaded), [series("a", &[0.0, 1.0, 2.0], &[1.0, 3.0, 3.0])]);
    let dates = "date,x\n2026-01-01,1\n2026-01-05,2\n2026-01-03,3\n2026-01-03,3\n";
    let (problem, ..) = problem_of("a.csv", dates);
    let (previous, next) = ("2026-01-05T00:00:00Z".into(), "2026-01-03T00:00:00Z".into());
    assert_eq!(problem, Problem::TimeGoesBack { previous, next, label: None });
}

#[test]
fn unsorted_rows_are_sorted_within_their_series_and_this_is_told() {
    let loaded = load_text("a.csv", "id,t,x\na,2,3\nb,0,7\na,0,1\na,1,2\n").unwrap();
    let expected = [series("a", &[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), series("b", &[0.0], &[7.0])];
    assert_eq!(content(&loaded), expected);
    assert_eq!(loaded.notices, ["sorted the rows of 1 series by time"]);
    let newest_first = load_text("a.csv", "t,x\n2,3\n1,2\n0,1\n").unwrap();
    assert_eq!(content(&newest_first), [series("a", &[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0])]);
    assert_eq!(newest_first.notices, ["sorted the rows of 1 series by time"]);
}

#[test]
fn every_marker_of_a_missing_cell_is_understood() {
    for marker in ["", "NA", "na", "NaN", "nan", "null", "NULL", "  ", " NA "] {
        let loaded = load_text("a.csv", format!("time,x,y\n0,1,{marker}\n1,{marker},2\n")).unwrap();
        let expected = [series("a", &[0.0, 1.0], &[1.0, HOLE, HOLE, 2.0])];
        assert_eq!(content(&loaded), expected, "{marker:?}");
    }
}

#[test]
fn rows_and_series_without_any_value_are_left_out_and_this_is_told() {
    let loaded = load_text("a.csv", "id,time,x\na,0,1\na,1,NA\na,1,2\nb,0,\n").unwrap();
    assert_eq!(content(&loaded), [series("a", &[0.0, 1.0], &[1.0, 2.0])]);
    let expected = ["series `b` holds no value, left out", "left out 2 rows without any value"];
    assert_eq!(loaded.notices, expected);
    let (problem, ..) = problem_of("a.csv", "time,x\n0,\n1,NA\n");
    assert_eq!(problem, Problem::NothingObserved);
}

#[test]
fn duplicates_are_refused_or_resolved_cell_by_cell() {
    let text = "time,x,y\n0,1,\n0,3,5\n0,8,6\n1,0,0\n";
    let (problem, row, _) = problem_of("a.csv", text);
    let expected = Problem::DuplicateTime {
        series: "a".into(),
        what: "rows".into(),
        time: "0".into(),
        other: "row 2".into(),
        label: None,
    };
    assert_eq!((problem, row), (expected, Some(3)));
    // x: 1, 3, 8; y: missing, 5, 6.
    let cases = [
        (Duplicates::Mean, [4.0, 5.5]),
        (Duplicates::First, [1.0, 5.0]),
        (Duplicates::Last, [8.0, 6.0]),
    ];
    for (duplicates, [x, y]) in cases {
        let chosen = options(|options| options.duplicates = duplicates);
        let loaded = load_text_with("a.csv", text, &chosen).unwrap();
        assert_eq!(content(&loaded), [series("a", &[0.0, 1.0], &[x, y, 0.0, 0.0])]);
        assert_eq!(loaded.notices, ["merged 2 rows into others of the same series and time"]);
    }
}

#[test]
fn a_column_of_whole_numbers_that_tells_rows_of_one_time_apart_is_proposed_as_series() {
    let side_by_side = "mouse,time,x\n7,0,1\n9,0,2\n7,1,3\n9,1,4\n7,2,1\n9,2,2\n";
    let below = "mouse,time,x\n7,0,1\n7,1,2\n7,2,3\n9,1,4\n9,2,1\n9,3,2\n";
    for text in [side_by_side, below] {
        let (problem, ..) = problem_of("a.csv", text);
        let hint = problem.hint().unwrap();
        let (series, mean) = (hint.find("--series mouse"), hint.find("--duplicates mean"));
        assert!(series.is_some() && series < mean, "{hint}");
        let chosen = options(|options| options.series = Some("mouse".into()));
        assert_eq!(load_text_with("a.csv", text, &chosen).unwrap().data.n_series(), 2);
    }
}

#[test]
fn a_column_named_like_a_series_that_counts_rows_is_left_out_and_this_is_told() {
    let tables = [
        "id,time,x\n0,0,1\n1,1,2\n2,0,3\n3,1,4\n",
        "id,time,variable,value\n0,0,x,1\n1,1,x,2\n2,2,x,3\n3,3,x,4\n",
    ];
    for (text, n_series) in tables.into_iter().zip([2, 1]) {
        let loaded = load_text("a.csv", text).unwrap();
        assert_eq!(
            (loaded.data.n_series(), loaded.data.variables()),
            (n_series, &["x".into()][..])
        );
        assert!(loaded.notices[0].starts_with("`id` of "), "{:?}", loaded.notices);
        assert_eq!(loaded.series_column, None);
        let chosen = options(|options| options.series = Some("id".into()));
        assert_eq!(load_text_with("a.csv", text, &chosen).unwrap().data.n_series(), 4);
    }
}

#[test]
fn duplicates_in_a_long_table_are_those_of_one_variable() {
    let text = "time,variable,value\n0,x,1\n0,y,2\n0,x,4\n";
    let (problem, row, _) = problem_of("a.csv", text);
    assert!(matches!(problem, Problem::DuplicateTime { what, .. } if what == "values of `x`"));
    assert_eq!(row, Some(4));
    let chosen = options(|options| options.duplicates = Duplicates::Mean);
    let loaded = load_text_with("a.csv", text, &chosen).unwrap();
    assert_eq!(content(&loaded), [series("a", &[0.0], &[2.5, 2.0])]);
}

#[test]
fn dates_are_counted_from_the_earliest_in_the_unit_of_the_median_gap() {
    let text = "id,date,x\na,2026-03-01T12:00,1\na,2026-03-01T13:30,2\nb,2026-03-01 11:00:00Z,3\n";
    let loaded = load_text("a.csv", text).unwrap();
    assert_eq!(
        content(&loaded),
        [series("a", &[1.0, 2.5], &[1.0, 2.0]), series("b", &[0.0], &[3.0])]
    );
    assert_eq!(loaded.time_axis.to_string(), "hours since 2026-03-01T11:00:00Z");
}

#[test]
fn times_of_eight_digits_that_are_all_dates_are_read_as_dates_and_this_is_told() {
    let loaded = load_text("a.csv", "date,x\n20231229,1\n20240102,2\n20240103,3\n").unwrap();
    assert_eq!(content(&loaded), [series("a", &[0.0, 4.0, 5.0], &[1.0, 2.0, 3.0])]);
    assert_eq!(loaded.time_axis.to_string(), "days since 2023-12-29T00:00:00Z");
    assert_eq!(
        loaded.notices,
        ["times such as 20231229 were read as dates; `--date-order none` overrules"]
    );
    let numbers = load_text("a.csv", "time,x\n20231229,1\n20231299,2\n").unwrap();
    assert_eq!(content(&numbers), [series("a", &[20_231_229.0, 20_231_299.0], &[1.0, 2.0])]);
}

#[test]
fn dates_and_numbers_do_not_mix() {
    let (problem, row, column) = problem_of("a.csv", "date,x\n2026-03-01,1\n5,2\n");
    assert!(matches!(problem, Problem::MixedTimes { text, .. } if text == "5"));
    assert_eq!((row, column.as_deref()), (Some(3), Some("date")));
}

#[test]
fn dialects_of_separated_text_give_the_same_table() {
    let expected = [series("a", &[0.0, 1.0], &[1.0, 2.0, 3.0, 4.0])];
    let dialects = [
        "time,x,y\n0,1,2\n1,3,4\n",
        "time,x,y\n0,1,2\n1,3,4",
        "\u{feff}time,x,y\r\n0,1,2\r\n1,3,4\r\n",
        "time;x;y\n0;1;2\n1;3;4\n",
        "time\tx\ty\n0\t1\t2\n1\t3\t4\n",
        "time|x|y\n0|1|2\n1|3|4\n",
        "time,x,y\r0,1,2\r1,3,4\r",
        "\n\ntime , x,y\n\n0, 1 ,2\n   \n,,\n1,3,4\n\n",
        "\u{feff}\"time\",\"x\",\"y\"\n\"0\",\"1\",2\n1,3,\"4\"\n",
    ];
    for dialect in dialects {
        let loaded = load_text("a.csv", dialect).unwrap();
        assert_eq!(loaded.data.variables(), ["x", "y"], "{dialect:?}");
        assert_eq!(content(&loaded), expected, "{dialect:?}");
    }
}

#[test]
fn names_may_hold_separators_and_quotes() {
    let text = "time,\"NF-kB, nuclear\",\"say \"\"hi\"\"\"\n0,1,2\n";
    let loaded = load_text("a.csv", text).unwrap();
    assert_eq!(loaded.data.variables(), ["NF-kB, nuclear", "say \"hi\""]);
}

#[test]
fn rows_are_counted_as_an_editor_counts_lines() {
    let text = "time,x\r\n\r\n0,1\r\n\r\n1,abc\r\n2,3\r\n";
    let (problem, row, column) = problem_of("a.csv", text);
    assert_eq!(problem, Problem::NotANumber { text: "abc".into() });
    assert_eq!((row, column.as_deref()), (Some(5), Some("x")));
}

#[test]
fn all_faulty_cells_are_told_at_once_up_to_ten() {
    let errors = load_text("a.csv", "time,x\n0,a\n1,2\n,3\n3,inf\n").unwrap_err();
    let rows: Vec<_> = errors.errors().iter().map(|error| error.place.row.unwrap()).collect();
    assert_eq!(rows, [2, 4, 5]);
    let many = format!("time,x\n{}", "0,a\n".repeat(50));
    let errors = load_text("a.csv", many).unwrap_err();
    assert_eq!(errors.errors().len(), 10);
    assert!(errors.is_truncated());
}

#[test]
fn broken_tables_are_refused_with_their_place() {
    let place = |text: &[u8]| problem_of("a.csv", text);
    let ragged = Problem::Ragged { expected: 3, found: 2 };
    assert_eq!(place(b"time,x,y\n0,1\n"), (ragged, Some(2), None));
    assert_eq!(place(b"time,x\n0,\xff\x01\n"), (Problem::NotUtf8, Some(2), None));
    assert_eq!(place(b"time,x\n0,\"1\n1,2\n"), (Problem::OpenQuote, Some(2), None));
    assert_eq!(place(b""), (Problem::NoRows, None, None));
    assert_eq!(place(b"time,x\n"), (Problem::NoRows, None, None));
    assert_eq!(place(b"0,1\n1,2\n"), (Problem::NoHeader, None, None));
    assert_eq!(place(b"time,x,\n0,1,2\n"), (Problem::EmptyName { position: 3 }, None, None));
    let twice = Problem::DuplicateName { name: "x".into() };
    assert_eq!(place(b"time,x,x\n0,1,2\n"), (twice, None, None));
    assert_eq!(place(b"time,id\n0,1\n"), (Problem::NoVariables, None, None));
    let infinite = Problem::Infinite { text: "-inf".into() };
    assert_eq!(place(b"time,x\n0,-inf\n"), (infinite, Some(2), Some("x".into())));
    let no_time = Problem::NotATime { text: "1e999".into() };
    assert_eq!(place(b"time,x\n1e999,0\n"), (no_time, Some(2), Some("time".into())));
    let empty = Problem::EmptyCell { text: "NA".into() };
    assert_eq!(place(b"id,time,x\nNA,1,0\n"), (empty, Some(2), Some("id".into())));
    assert!(matches!(place(b"x,y\n0,1\n").0, Problem::NoTimeColumn { .. }));
}

#[test]
fn contradictory_wishes_are_refused() {
    let text = "time,x,y\n0,1,2\n";
    let refused = |change: fn(&mut ReadOptions)| {
        only_problem(&load_text_with("a.csv", text, &options(change)).unwrap_err()).0
    };
    let unknown = refused(|options| options.time = Some("hours".into()));
    assert!(matches!(unknown, Problem::NoSuchColumn { name, .. } if name == "hours"));
    let twice = refused(|options| options.variables = vec!["x".into(), "X".into()]);
    assert_eq!(twice, Problem::NamedTwice { name: "x".into() });
    let both = refused(|options| {
        options.time = Some("x".into());
        options.series = Some("x".into());
    });
    assert_eq!(both, Problem::NamedTwice { name: "x".into() });
}
