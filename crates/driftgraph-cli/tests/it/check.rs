//! `check`: what was understood, every warning, and the verdict.

use std::fmt::Write as _;
use std::io::Read;
use std::process::Stdio;

use insta::assert_snapshot;
use serde_json::json;

use crate::{Sandbox, keys, loader_fixture};

#[test]
fn good_data_are_described() {
    let sandbox = Sandbox::with(
        "mice.csv",
        "mouse,Time,glucose,insulin\nm1,0,5.1,40\nm1,30,9.8,\nm1,60,7.5,95\nm1,90,5.5,60\n\
         m2,0,4.9,38\nm2,45,8.8,110\nm2,90,5.2,55\n",
    );
    assert_snapshot!(sandbox.run("check mice.csv --series mouse"), @r"
    exit 0
    --- stdout
    2 series of 3 to 4 rows, 2 variables, 7 rows in all
    time in column `Time`, series in `mouse`
    time 0 to 90, median gap 30 (unit as in the file)
    1 of 14 cells missing (7.1 %)

     variable  observed  missing  min  mean   max
     glucose   7         0        4.9  6.686  9.8
     insulin   6         1        38   66.33  110

    usable, no warnings
    ");
}

#[test]
fn what_was_decided_while_reading_is_told() {
    let sandbox = Sandbox::with(
        "InSilico.tsv",
        "\"Time\"\t\"G1\"\t\"G2\"\n0\t.1\t.2\n10\t.3\t.4\n20\t.2\t.1\n0\t.5\t.6\n10\t.7\t.8\n20\t.1\t.1\n",
    );
    assert_snapshot!(sandbox.run("check InSilico.tsv"), @r"
    exit 0
    --- stdout
    2 series of 3 rows, 2 variables, 6 rows in all
    time in column `Time`, no series column
    time 0 to 20, median gap 10 (unit as in the file)
    0 of 12 cells missing (0.0 %)

     variable  observed  missing  min  mean    max
     G1        6         0        0.1  0.3167  0.7
     G2        6         0        0.1  0.3667  0.8

    note: `InSilico.tsv` has no series column and its time restarts, so it was read as 2 series; `--series` overrules
    usable, no warnings
    ");
}

#[test]
fn dates_are_counted_in_a_unit_that_is_told() {
    let sandbox = Sandbox::with(
        "lake.csv",
        "date,algae,phosphate\n2026-03-01,1.5,3\n2026-03-08,2.5,2\n2026-03-15,4,1\n",
    );
    assert_snapshot!(sandbox.run("check lake.csv"), @r"
    exit 0
    --- stdout
    1 series of 3 rows, 2 variables, 3 rows in all
    time in column `date`, no series column
    time 2026-03-01 to 2026-03-15, median gap 7 (days)
    0 of 6 cells missing (0.0 %)

     variable   observed  missing  min  mean   max
     algae      3         0        1.5  2.667  4
     phosphate  3         0        1    2      3

    usable, no warnings
    ");
}

#[test]
fn every_warning_is_given_at_once() {
    let sandbox = Sandbox::with(
        "wide.csv",
        "series,time,10,20,30,40,flat,unseen,huge\n\
         a,0,1,2,3,7,7,,1e6\na,1,2,1,5,6,7,,3e6\n\
         b,0,1,2,3,5,7,,2e6\nb,1,2,2,3,4,7,,1e6\n",
    );
    assert_snapshot!(sandbox.run("check wide.csv"), @r"
    exit 0
    --- stdout
    2 series of 2 rows, 7 variables, 4 rows in all
    time in column `time`, series in `series`
    time 0 to 1, median gap 1 (unit as in the file)
    4 of 28 cells missing (14.3 %)

     variable  observed  missing  min      mean     max
     10        4         0        1        1.5      2
     20        4         0        1        1.75     2
     30        4         0        3        3.5      5
     40        4         0        4        5.5      7
     flat      4         0        7        7        7
     unseen    0         4        -        -        -
     huge      4         0        1.000e6  1.750e6  3.000e6

    warning: the table looks transposed: most variables have numbers for names; variables belong in columns, times in rows
    warning: there are more variables (7) than rows (4)
    warning: never observed: `unseen`
    warning: constant, so nothing can be learned about what drives it or what it drives: `flat`
    warning: scales differ wildly: `huge` varies by 9.574e5, `20` by 5.000e-1; fits standardise by default
    warning: fewer than 3 rows in series `a`, `b`
    usable, 6 warnings
    ");
}

#[test]
fn a_table_that_lies_on_its_side_looks_transposed() {
    let mut text = "time".to_owned();
    for sample in 0..40 {
        let _ = write!(text, ",sample{sample}");
    }
    for time in 0..3 {
        let _ = write!(text, "\n{time}");
        for sample in 0..40 {
            let _ = write!(text, ",{}", time * sample);
        }
    }
    let sandbox = Sandbox::with("genes.csv", text);
    assert_snapshot!(sandbox.run("check genes.csv"), @r"
    exit 0
    --- stdout
    1 series of 3 rows, 40 variables, 3 rows in all
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    0 of 120 cells missing (0.0 %)

     variable  observed  missing  min  mean  max
     sample0   3         0        0    0     0
     sample1   3         0        0    1     2
     sample2   3         0        0    2     4
     sample3   3         0        0    3     6
     sample4   3         0        0    4     8
     sample5   3         0        0    5     10
     sample6   3         0        0    6     12
     sample7   3         0        0    7     14
     sample8   3         0        0    8     16
     sample9   3         0        0    9     18
     sample10  3         0        0    10    20
     sample11  3         0        0    11    22
     sample12  3         0        0    12    24
     sample13  3         0        0    13    26
     sample14  3         0        0    14    28
     sample15  3         0        0    15    30
     sample16  3         0        0    16    32
     sample17  3         0        0    17    34
     sample18  3         0        0    18    36
     sample19  3         0        0    19    38
     sample20  3         0        0    20    40
     sample21  3         0        0    21    42
     sample22  3         0        0    22    44
     sample23  3         0        0    23    46
     sample24  3         0        0    24    48
     sample25  3         0        0    25    50
     sample26  3         0        0    26    52
     sample27  3         0        0    27    54
     sample28  3         0        0    28    56
     sample29  3         0        0    29    58
     ... and 10 more variables (all of them with --json)

    warning: the table looks transposed: it has 40 variables and only 3 rows; variables belong in columns, times in rows
    warning: there are more variables (40) than rows (3)
    warning: constant, so nothing can be learned about what drives it or what it drives: `sample0`
    usable, 3 warnings
    ");
}

#[test]
fn labels_and_row_numbers_among_the_variables_are_warned_about() {
    let mut text = "time,x,mouse,row\n".to_owned();
    for row in 0..12 {
        let _ = writeln!(text, "{},{},{},{row}", row % 4, row * row % 7, 101 + row / 4);
    }
    let sandbox = Sandbox::with("mice.csv", text);
    let warnings = |command: &str| sandbox.json(command)["warnings"].to_string();
    let found = warnings("check mice.csv --json");
    assert!(found.contains("`mouse` never changes within a series"), "{found}");
    assert!(found.contains("`--series mouse`"), "{found}");
    assert!(found.contains("`row` counts the rows"), "{found}");
    assert_eq!(warnings("check mice.csv --series mouse --ignore row --json"), "[]");
}

#[test]
fn numbers_for_not_measured_and_equal_columns_are_warned_about() {
    let mut text = "time,a,b,copy\n".to_owned();
    for row in 0..10 {
        let a = if row % 3 == 0 { -999 } else { row };
        let _ = writeln!(text, "{row},{a},{0},{0}", row * row % 7);
    }
    let sandbox = Sandbox::with("a.csv", text);
    let found = &sandbox.json("check a.csv --json")["warnings"];
    let [sentinel, twins] = &found.as_array().unwrap()[..] else { panic!("{found}") };
    assert!(sentinel.as_str().unwrap().starts_with("`a` is -999 in 4 cells"), "{sentinel}");
    assert!(twins.as_str().unwrap().ends_with("`--ignore copy`"), "{twins}");
}

#[test]
fn data_in_which_nothing_changes_are_unusable() {
    let sandbox = Sandbox::with("flat.csv", "id,time,x\na,0,1\na,1,1\nb,0,2\nb,1,2\n");
    assert_snapshot!(sandbox.run("check flat.csv"), @r"
    exit 1
    --- stdout
    2 series of 2 rows, 1 variable, 4 rows in all
    time in column `time`, series in `id`
    time 0 to 1, median gap 1 (unit as in the file)
    0 of 4 cells missing (0.0 %)

     variable  observed  missing  min  mean  max
     x         4         0        1    1.5   2

    warning: `x` never changes within a series, as a label would: leave it out with `--ignore x`
    warning: fewer than 3 rows in series `a`, `b`
    not usable: no variable changes within a series
    ");
    assert_eq!(sandbox.output("check flat.csv --json").status.code(), Some(1));
}

#[test]
fn json_has_the_promised_keys() {
    let sandbox = Sandbox::with("a.csv", "id,time,x,y\na,0,1,2\na,1,,3\nb,0,2,4\n");
    let object = sandbox.json("check a.csv --json");
    let expected = [
        "median_gap",
        "missing_cells",
        "missing_share",
        "notices",
        "pace",
        "rows",
        "rows_per_series",
        "series",
        "series_column",
        "span",
        "time",
        "time_column",
        "usable",
        "variable_details",
        "variables",
        "warnings",
    ];
    let mut found = keys(&object);
    found.sort_unstable();
    assert_eq!(found, expected);
    let counts = ["series", "variables", "rows", "missing_cells"].map(|key| object[key].as_u64());
    assert_eq!(counts, [Some(2), Some(2), Some(3), Some(1)]);
    assert_eq!(object["warnings"].as_array().unwrap().len(), 1);
    assert_eq!((&object["time_column"], &object["series_column"]), (&json!("time"), &json!("id")));
    sandbox.write("b.csv", "Date,x\n2026-01-01,1\n2026-01-02,2\n");
    let object = sandbox.json("check b.csv --json");
    assert_eq!((&object["time_column"], &object["series_column"]), (&json!("Date"), &json!(null)));
}

#[test]
fn every_format_is_read() {
    let sandbox = Sandbox::new();
    for name in ["full.npz", "pandas_wide.parquet", "pandas_dates_index.parquet"] {
        sandbox.write(name, loader_fixture(name));
        let object = sandbox.json(&format!("check {name} --json"));
        let counts = ["series", "variables", "rows"].map(|key| object[key].as_u64());
        assert_eq!(counts, [Some(2), Some(2), Some(6)], "{name}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let mut text = "time,x\n".to_owned();
    for time in 0..1000 {
        let _ = writeln!(text, "{time},{}", time % 7);
    }
    let sandbox = Sandbox::with("a.csv", text);
    let mut child = sandbox
        .command("baseline var a.csv --json")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Closing the pipe before anything is written makes every write fail.
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(0), ""));
}

/// Warnings of a table, one per line.
fn warnings(header: &str, n_rows: usize, row: impl Fn(usize) -> String) -> String {
    let rows: String = (0..n_rows).map(|n| row(n) + "\n").collect();
    let text = Sandbox::with("a.csv", format!("{header}\n{rows}")).run("check a.csv");
    text.lines().filter(|line| line.starts_with("warning")).collect::<Vec<_>>().join("\n")
}

/// Numbers without a pattern, the same every time.
fn scatter(seed: usize, n: usize) -> f64 {
    let mixed = (n * 1000 + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 11) as f64 / 2_f64.powi(53)
}

/// Something that moves slowly, another for each seed.
fn slow(seed: usize, n: usize) -> f64 {
    (0..12).map(|back| 0.8_f64.powi(back) * scatter(seed, n + 20 - back as usize)).sum()
}

#[test]
fn data_that_cannot_carry_a_graph_are_warned_of() {
    let date = |n: usize| format!("{}-{:02}-01", 2000 + n / 12, n % 12 + 1);
    let season = |n: usize| (n as f64 * std::f64::consts::TAU / 12.0).sin();
    assert_snapshot!(warnings("date,sea,air", 120, |n| {
        format!("{},{},{}", date(n), 3.0 * season(n) + scatter(1, n), 2.0 * season(n + 3) + scatter(2, n))
    }), @r#"warning: `sea`, `air` share a season of 12 rows (year), which looks like one driving the other: `--season 12` keeps it out of the graph"#);
    assert_snapshot!(warnings("time,gdp,people", 60, |n| {
        format!("{n},{},{}", n as f64 + 3.0 * slow(1, n), 5.0 * n as f64 + 9.0 * slow(2, n))
    }), @r#"warning: `gdp`, `people` follow straight lines in time, so that each predicts the others whatever drives them: `--detrend` keeps the lines out of the graph"#);
    assert_snapshot!(warnings("time,a,a again", 60, |n| {
        format!("{n},{},{}", slow(1, n), 2.0 * slow(1, n) + 0.05 * scatter(2, n))
    }), @r#"warning: `a`, `a again` are nearly one variable (correlation 1.000), so that their effects cannot be told apart: leave one out with `--ignore 'a again'`"#);
    assert_snapshot!(warnings("time,nominal,inflation,real", 60, |n| {
        format!("{n},{},{},{}", slow(1, n), slow(2, n), slow(1, n) - slow(2, n))
    }), @r#"warning: `inflation` + `real` is `nominal` in nearly every row: an identity, which no method can tell from causes; leave one of the three out with `--ignore`"#);
    assert_snapshot!(warnings("time,animals,eggs,eggs per animal", 60, |n| {
        format!("{n},{},{},{}", slow(1, n), slow(1, n) * slow(2, n), slow(2, n))
    }), @r#"warning: `animals` x `eggs per animal` is `eggs` in nearly every row: an identity, which no method can tell from causes; leave one of the three out with `--ignore`"#);
    assert_snapshot!(warnings("time,x,feed", 60, |n| {
        format!("{n},{},{}", slow(1, n), if n < 30 { 80 } else { 160 })
    }), @r#"warning: `feed` stays the same for long and then jumps, as what an experimenter sets does: if it was set, `--inputs feed` says that nothing in the table drives it"#);
    assert_snapshot!(warnings("time,x,cells", 60, |n| {
        format!("{n},{},{}", slow(1, n), (2.5 * slow(2, n)).exp())
    }), @r#"warning: `cells` is positive and has a few values far above the others: noise that grows with the level misleads every method here; `--log cells` learns on a logarithmic scale, on which predictions stay positive"#);
    assert_snapshot!(warnings("time,x,y", 100, |n| format!("{n},{},{}", scatter(1, n), scatter(2, n))), @r#"warning: no row says anything about the next one, of its own variable or of another: the samples are too far apart for what moves here, and no method can see direction; sample faster, or at irregular times"#);
    assert_snapshot!(warnings("time,x,y", 100, |n| {
        let sign = if n % 2 == 0 { 1.0 } else { -1.0 };
        format!("{n},{},{}", slow(1, n), 2.0 * sign + scatter(2, n))
    }), @r#"warning: `y` jumps to and fro from row to row, as an oscillation does that is faster than the samples, or as differences of levels do: no method can see direction there; sample faster or at irregular times, and give levels, not differences"#);
    assert_snapshot!(warnings("time,north,south,west,total", 60, |n| {
        format!("{n},{},{},{},{}", slow(1, n), slow(2, n), slow(3, n), slow(1, n) + slow(2, n) + slow(3, n))
    }), @r#"warning: `north` + `south` + `west` is `total` in nearly every row: an identity, which no method can tell from causes; leave one of them out with `--ignore`"#);
    assert_snapshot!(warnings("time,grass,shrub,tree,stone", 60, |n| {
        let [a, b, c, d] = [1, 2, 3, 4].map(|seed| slow(seed, n));
        let share = |part: f64| format!("{:.1}", 100.0 * part / (a + b + c + d));
        format!("{n},{},{},{},{}", share(a), share(b), share(c), share(d))
    }), @r#"warning: `grass` + `shrub` + `tree` + `stone` is 100 in nearly every row: parts of a whole, of which some rise because others fall; leave one of them out with `--ignore`, or give amounts instead of shares"#);
    assert_snapshot!(warnings("time,sick,well,share sick", 60, |n| {
        let (sick, well) = (40.0 + slow(1, n), 90.0 + slow(2, n));
        format!("{n},{sick},{well},{}", sick / (sick + well))
    }), @r#"warning: `sick` / (`sick` + `well`) is `share sick`, up to its unit, in nearly every row: an identity, which no method can tell from causes; leave one of the three out with `--ignore`"#);
    assert_snapshot!(warnings("time,a,b,mix", 60, |n| {
        format!("{n},{},{},{}", slow(1, n), slow(2, n), 2.0 * slow(1, n) - 3.0 * slow(2, n))
    }), @r#"warning: `mix` is 2 x `a` - 3 x `b`, up to a constant, in nearly every row: an identity, which no method can tell from causes; leave one of them out with `--ignore`"#);
    assert_snapshot!(warnings("time,a,b,c,weighed", 60, |n| {
        let sum = 2.0 * slow(1, n) - 3.0 * slow(2, n) + 1.5 * slow(3, n);
        format!("{n},{},{},{},{}", slow(1, n), slow(2, n), slow(3, n), sum + 0.05 * scatter(9, n))
    }), @r#"warning: each of `a`, `b`, `c`, `weighed` is nearly a weighted sum of others in the same row, which explain 99 % of it or more, so that their effects cannot be told apart: leave one out with `--ignore`"#);
    assert_eq!(warnings("time,x,y", 100, |n| format!("{n},{},{}", slow(1, n), slow(2, n))), "");
}

/// What the pace is said to allow.
fn pace(header: &str, n_rows: usize, row: impl Fn(usize) -> String) -> String {
    let rows: String = (0..n_rows).map(|n| row(n) + "\n").collect();
    let text = Sandbox::with("a.csv", format!("{header}\n{rows}")).run("check a.csv");
    text.lines().filter(|line| line.starts_with("your variables")).collect()
}

#[test]
fn the_pace_promises_nothing_that_a_warning_takes_back() {
    assert_snapshot!(pace("time,x,y", 200, |n| format!("{n},{},{}", slow(1, n), slow(2, n))), @"your variables change by one deviation in about 3 rows: rows are close enough to see directions");
    let season = |n: usize| 4.0 * (n as f64 * std::f64::consts::TAU / 12.0).sin();
    assert_snapshot!(pace("month,x,y", 200, |n| {
        format!("{n},{},{}", season(n) + slow(1, n), season(n + 2) + slow(2, n))
    }), @"your variables change by one deviation in about 3 rows, once the season is taken out: rows are close enough to see directions; mind the warnings");
    assert_snapshot!(pace("time,x,y", 200, |n| {
        format!("{n},{},{}", n as f64 + slow(1, n), 2.0 * n as f64 + slow(2, n))
    }), @"your variables change by one deviation in about 2 rows, once straight lines are taken out: rows are close enough to see directions; mind the warnings");
    let sign = |n: usize| if n.is_multiple_of(2) { 2.0 } else { -2.0 };
    assert_snapshot!(pace("time,x,y", 200, |n| {
        format!("{n},{},{}", slow(1, n), sign(n) + scatter(2, n))
    }), @"your variables change by one deviation in half a row: rows are too far apart to see directions, as the warning about them says");
    assert_snapshot!(pace("time,x,y", 100, |n| format!("{n},{},{}", scatter(1, n), scatter(2, n))), @"your variables change by one deviation in half a row: rows are too far apart to see directions, as the warning about them says");
    // What both have in common comes in the same row.
    assert_snapshot!(pace("time,x,y", 200, |n| {
        format!("{n},{},{}", slow(1, n) + slow(3, n), slow(2, n) + slow(3, n))
    }), @"your variables change by one deviation in about 2 rows: rows are close enough to see directions, but 24 % of what the row before leaves open is shared with other variables of the same row, in which no direction can be seen unless products of variables explain it (a fit looks for them)");
}

#[test]
fn seasons_are_found_whatever_the_unit_is_called() {
    let wave = |period: f64, n: usize| 3.0 * (n as f64 * std::f64::consts::TAU / period).sin();
    let units = [
        ("time (hour)", 24.0, 1.0),
        ("time [hrs]", 24.0, 1.0),
        ("time (minute)", 24.0, 60.0),
        ("time (day)", 7.0, 1.0),
        ("time (wk)", 52.0, 365.25 / 7.0 / 52.0),
        ("time (month)", 12.0, 1.0),
        ("quarter", 4.0, 1.0),
        ("Year", 12.0, 1.0 / 12.0),
    ];
    for (name, period, gap) in units {
        let found = warnings(&format!("{name},a,b"), 400, |n| {
            let (a, b) = (wave(period, n) + scatter(1, n), wave(period, n + 2) + scatter(2, n));
            format!("{:.5},{a},{b}", n as f64 * gap)
        });
        let expected = format!("warning: `a`, `b` share a season of {period} rows");
        assert!(found.starts_with(&expected), "{name}: {found}");
    }
}

#[test]
fn names_in_advice_are_those_that_a_shell_leaves_whole() {
    let rows = |n: usize| format!("{},{},{},{n}", n % 10, slow(1, n), n / 10);
    let found = warnings("time,x,my label,row number", 40, rows);
    assert!(found.contains("name the series with `--series 'my label'`, or"), "{found}");
    assert!(found.contains("leave it out with `--ignore 'my label'`"), "{found}");
    assert!(found.contains("`--ignore 'row number'` if it is"), "{found}");
    let twins = |n: usize| format!("{n},{0},{0}", slow(1, n));
    assert!(warnings("time,x,x too", 40, twins).ends_with("`--ignore 'x too'`"));
    let sandbox = Sandbox::with("a.csv", "time (month),x\n0,1\n1,2\n2,1\n");
    let refused = sandbox.run("check a.csv --even-steps");
    assert!(refused.contains("`--ignore 'time (month)'`"), "{refused}");
}
