//! Dated data: dates are times wherever a time can be given, and come out as dates.

use std::fmt::Write as _;
use std::sync::OnceLock;

use insta::assert_snapshot;

use crate::Sandbox;

/// Two variables, the first of each month from 2000 on.
fn sandbox() -> &'static Sandbox {
    static SANDBOX: OnceLock<Sandbox> = OnceLock::new();
    SANDBOX.get_or_init(|| {
        let (mut text, mut numbers) = ("date,x,y\n".to_owned(), "time,x,y\n".to_owned());
        let (mut x, mut y) = (1.0_f64, 0.0_f64);
        for month in 0..72 {
            let _ = writeln!(text, "{}-{:02}-01,{x},{y}", 2000 + month / 12, month % 12 + 1);
            let _ = writeln!(numbers, "{},{x},{y}", f64::from(month) / 12.0);
            (x, y) = (0.9 * x - 0.3 * y + 0.1 * f64::from(month % 5), 0.3 * x + 0.9 * y);
        }
        let sandbox = Sandbox::with("data.csv", &text);
        sandbox.stdout("fit data.csv --select none --steps 60 --ensemble 1 --out run");
        sandbox.write("numbers.csv", &numbers);
        sandbox.stdout("fit numbers.csv --select none --steps 20 --ensemble 1 --out plain");
        sandbox
    })
}

/// Runs a command whose last words are one argument.
fn ask(line: &str, last: &str) -> (bool, String, String) {
    let output = sandbox().command(line).arg(last).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_window_of_dates_holds_between_them_and_nowhere_else() {
    let line =
        "intervene run --from 2001-01-01 --horizon 2y --every 1mo --paths 20 --out effect.csv --do";
    let (fine, shown, notes) = ask(line, "x = 10 @ 2001-06-01..2002-01-01");
    assert!(fine, "{notes}");
    assert!(shown.contains("2001-") || shown.contains("2002-"), "{shown}");
    let file = sandbox().read("effect.csv");
    let held = |row: &str| {
        let cells: Vec<&str> = row.split(',').collect();
        (cells[1] == "x").then(|| (cells[0].to_owned(), cells[9] == "10"))
    };
    let rows: Vec<(String, bool)> = file.lines().skip(1).filter_map(held).collect();
    assert!(rows.iter().any(|(_, held)| *held));
    for (date, held) in rows {
        assert_eq!(held, ("2001-06-01".."2002-01-02").contains(&date.as_str()), "{date}");
    }
}

#[test]
fn arithmetic_on_dates_is_refused() {
    let (fine, _, refused) =
        ask("intervene plain --paths 5 --do", "x = 10 @ 2000-01-01..2002-01-01");
    assert!(!fine);
    assert_snapshot!(refused, @r#"error: `2000-01-01` looks like a date, but the times of the data are plain numbers, in column 10 of `x = 10 @ 2000-01-01..2002-01-01`"#);
    let (fine, _, refused) = ask("intervene run --paths 5 --do", "x = 10 @ 2000..2002");
    assert!(!fine);
    assert_snapshot!(refused, @r#"error: `2000` may be a year or a number of days since 2000-01-01: write 2000-01-01, or 2000.0, in column 10 of `x = 10 @ 2000..2002`"#);
    let (fine, _, refused) = ask("intervene run --paths 5 --do", "x = 2000-01-01");
    assert!(!fine);
    assert_snapshot!(refused, @"error: `2000-01-01` is a date, and a value is a number; a difference has blanks around its signs, in column 5 of `x = 2000-01-01`");
    for line in [
        "forecast plain --horizon 90d",
        "forecast run --horizon soon",
        "forecast run --times 2006-13-01",
        "simulate plain --from 2001-01-01",
        "simulate run --start series:data@yesterday",
    ] {
        assert!(!sandbox().output(line).status.success(), "{line}");
    }
    assert_snapshot!(sandbox().run("forecast plain --horizon 90d"), @r#"
    exit 2
    --- stderr
    error: `--horizon` needs a length of time
      caused by: `90d` has a unit, but the times of the data are plain numbers: give a number in their unit
    "#);
    assert_snapshot!(sandbox().run("simulate run --from yesterday"), @r#"
    exit 2
    --- stderr
    error: `--from` needs a time of the data
      caused by: `yesterday` is no date such as 2000-01-01, which is what the times of the data are, and no number of days since then
    "#);
}

#[test]
fn times_that_nobody_asked_for_are_whole_days() {
    let (fine, shown, notes) = ask("intervene run --paths 5 --out usual.csv --do", "x = 1");
    assert!(fine, "{notes}");
    sandbox().stdout("forecast run --paths 5 --out ahead.csv");
    let dates = |file: &str, column: usize| -> Vec<String> {
        let rows = sandbox().read(file);
        rows.lines().skip(1).map(|row| row.split(',').nth(column).unwrap().to_owned()).collect()
    };
    for date in dates("usual.csv", 0).into_iter().chain(dates("ahead.csv", 1)) {
        assert_eq!(date.len(), "2001-01-01".len(), "{date}");
    }
    assert!(!shown.contains("Z "), "{shown}");
}

#[test]
fn the_unit_of_the_table_stands_at_the_axes() {
    let rows: Vec<String> =
        (0..60).map(|row| format!("{row},{},{}", row * row % 7, row % 5)).collect();
    let rows = rows.join("\n");
    let sandbox = Sandbox::with("tank.csv", format!("time (days),algae,rotifers\n{rows}"));
    sandbox.stdout("fit tank.csv --select none --steps 20 --ensemble 1 --out run");
    sandbox.stdout("forecast run --paths 5 --svg forecast.svg");
    assert!(sandbox.read("forecast.svg").contains(">time (days)<"));
    assert!(sandbox.read("run/report.html").contains("\"time_label\":\"time (days)\""));
}

#[test]
fn tables_and_pictures_of_dated_data_have_dates() {
    let sandbox = sandbox();
    sandbox.stdout(
        "forecast run --horizon 90d --every 30d --paths 20 --out forecast.csv --svg forecast.svg",
    );
    let rows = sandbox.read("forecast.csv");
    // The last row is 2005-12-01.
    assert!(rows.contains(",2005-12-31,x,") && rows.contains(",2006-03-01,y,"), "{rows}");
    assert!(sandbox.read("forecast.svg").contains(">2006"), "years stand at the axis");
    let answer = sandbox.json("forecast run --times 2006-02-01 --paths 5 --json");
    assert_eq!(answer["series"]["data"]["times"][0], "2006-02-01");
    assert_eq!(answer["series"]["data"]["from"], "2005-12-01");
    sandbox.stdout("impute run --times 2001-01-15,2001-02-15 --out between.csv");
    assert!(sandbox.read("between.csv").contains(",2001-02-15,"));
    sandbox.stdout(
        "simulate run --paths 3 --from 2001-01-01 --horizon 60d --every 1w --out paths.csv",
    );
    assert!(sandbox.read("paths.csv").contains("path-1,2001-01-08,"));
    // What was written is read again, with the same unit and its own first date.
    let checked = sandbox.stdout("check paths.csv");
    assert!(checked.contains("2001-01-01"), "{checked}");
    let page = sandbox.read("run/report.html");
    assert!(
        page.contains("\"calendar\":{\"origin\":946684800.0,\"unit\":86400.0}"),
        "scripts know the calendar"
    );
    assert!(page.contains(">2002</text>"), "years stand at the axes of the report");
}

#[test]
fn paths_that_begin_late_say_with_whose_values() {
    let noted = |line: &str| {
        let (fine, _, notes) = ask(line, "x = 1");
        assert!(fine, "{notes}");
        let is_about_start = |note: &&str| note.contains("paths begin at");
        notes.lines().filter(is_about_start).collect::<Vec<_>>().join("\n")
    };
    let line = "intervene run --paths 5 --horizon 60d";
    assert_snapshot!(noted(&format!("{line} --from 2003-06-15 --do")), @"note: paths begin at 2003-06-15 with values that are usual at the beginning of a series, as at 2000-01-01; `--start series:data@2003-06-15` begins with the state of that time");
    assert_snapshot!(noted(&format!("{line} --from 2016-01-01 --do")), @"note: paths begin at 2016-01-01 with values that are usual at the beginning of a series, as at 2000-01-01; `--start series:NAME@TIME` begins with the state of a series, `driftgraph forecast` goes on from its end");
    for line in [
        format!("{line} --do"),
        format!("{line} --from 2000-01-01 --do"),
        format!("{line} --from 2003-06-15 --start series:data@2003-06-15 --do"),
    ] {
        assert_eq!(noted(&line), "", "{line}");
    }
}
