//! Tables as people have them: every guess is told, and every guess can be overruled.

use insta::assert_snapshot;

use crate::{Sandbox, benchmark_data, loader_fixture};

/// What `check` says about times, guesses and errors; the rest of its answer is tested elsewhere.
fn told(sandbox: &Sandbox, line: &str) -> String {
    let text = sandbox.run(line);
    let is_told = |line: &&str| {
        let starts = ["exit", "time", "note:", "error:", "  in", "hint:"];
        starts.iter().any(|start| line.starts_with(start))
    };
    text.lines().filter(is_told).collect::<Vec<_>>().join("\n")
}

/// The same of one table.
fn check(name: &str, content: impl AsRef<[u8]>, options: &str) -> String {
    told(&Sandbox::with(name, content), &format!("check {name} {options}"))
}

#[test]
fn columns_named_after_units_are_times_and_keep_their_unit() {
    assert_snapshot!(check("pelts.csv", "Year,Hare,Lynx\n1845,19.6,30.1\n1846,19.6,45.2\n1847,19.6,49.2\n", ""), @r"
    exit 0
    time in column `Year`, no series column
    time 1845 to 1847, median gap 1 (unit years)
    note: `Year` was taken as time, by its name; `--time` overrules
    ");
    assert_snapshot!(check("tank.csv", "time (days), algae, rotifers\n0,1.5,NaN\n0.95,0.8,5.4\n2,0.7,6.1\n", ""), @r"
    exit 0
    time in column `time (days)`, no series column
    time 0 to 2, median gap 1.05 (unit days)
    ");
    assert_snapshot!(check("cells.csv", "hour [h],x\n0,1\n1,3\n2,2\n", ""), @r"
    exit 0
    time in column `hour [h]`, no series column
    time 0 to 2, median gap 1 (unit h)
    note: `hour [h]` was taken as time, by its name; `--time` overrules
    ");
    for name in ["minutes", "age", "day", "week", "month", "quarter", "datetime_utc"] {
        let found = check("a.csv", format!("x,{name}\n1,0\n3,1\n2,2\n"), "");
        assert!(found.starts_with(&format!("exit 0\ntime in column `{name}`")), "{found}");
    }
}

#[test]
fn a_first_column_that_only_grows_is_taken_as_time() {
    let text = "depth,x,y\n0,1,4\n2,3,2\n5,2,2\n6,5,1\n";
    assert_snapshot!(check("core.csv", text, ""), @r"
    exit 0
    time in column `depth`, no series column
    time 0 to 6, median gap 2 (unit as in the file)
    note: `depth` was taken as time, because it comes first and only grows; `--time` overrules
    ");
    assert_snapshot!(check("core.csv", text, "--time x --duplicates mean"), @r"
    exit 0
    time in column `x`, no series column
    time 1 to 5, median gap 1 (unit as in the file)
    note: `core.csv` has no series column and no time twice, so it was read as one series; `--series` overrules
    note: sorted the rows of 1 series by time
    ");
    assert_snapshot!(check("core.csv", ",x,y\n2020-01-01,1,4\n2020-01-02,3,2\n2020-01-03,2,2\n", ""), @r"
    exit 0
    time in column `column 1`, no series column
    time 2020-01-01 to 2020-01-03, median gap 1 (days)
    note: `column 1` was taken as time, because it holds dates; `--time` overrules
    ");
    assert_snapshot!(check("core.csv", ",time,y\n0,1,4\n1,2,2\n2,3,2\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 1 to 3, median gap 1 (unit as in the file)
    note: the first column has no name, so it was left out; `--variables` overrules
    ");
    assert_snapshot!(check("core.csv", "x,y\n1,4\n3,2\n2,2\n5,1\n", ""), @r"
    exit 2
    error: no column holds the time; the columns are `x`, `y`
      in `core.csv`
    hint: name the column with `--time COLUMN`, or pass `--even-steps` if the rows are equally spaced in time
    ");
}

#[test]
fn rows_without_times_are_counted_where_they_are_said_to_be_even() {
    assert_snapshot!(check("a.csv", "id,x,y\na,1,4\na,3,2\na,2,2\nb,5,1\nb,2,3\n", "--even-steps"), @r"
    exit 0
    time is the number of the row, series in `id`
    time 0 to 2, median gap 1 (unit as in the file)
    note: rows were taken as equally spaced in time, and counted: 0, 1, 2, ...
    ");
    assert_snapshot!(check("a.csv", "time,x\n0,4\n1,2\n2,2\n", "--even-steps"), @r"
    exit 2
    error: `time` seems to hold the time, but equal steps were asked for
      in `a.csv`
    hint: leave out `--even-steps`, or the column with `--ignore time`
    ");
}

#[test]
fn dates_are_read_as_the_whole_column_says() {
    let dates = |rows: [&str; 4], options: &str| {
        let rows: String = rows
            .iter()
            .enumerate()
            .map(|(n, date)| format!("{date},{}\n", n * n % 3))
            .collect::<Vec<_>>()
            .concat();
        check("a.csv", format!("date,x\n{rows}"), options)
    };
    assert_snapshot!(dates(["31.01.2020", "01.02.2020", "02.02.2020", "03.02.2020"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-31 to 2020-02-03, median gap 1 (days)
    note: times such as 31.01.2020 were read as 2020-01-31, because there are twelve months; `--date-order` overrules
    ");
    assert_snapshot!(dates(["1/31/2020", "2/1/2020", "2/2/2020", "2/4/2020"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-31 to 2020-02-04, median gap 1 (days)
    note: times such as 1/31/2020 were read as 2020-01-31, because there are twelve months; `--date-order` overrules
    ");
    assert_snapshot!(dates(["1959Q1", "1959Q2", "1959Q3", "1959Q4"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 1959-01-01 to 1959-10-01, median gap 91 (days)
    note: times such as 1959Q1 were read as 1959-01-01
    ");
    assert_snapshot!(dates(["2020-01", "2020-02", "2020-03", "2020-04"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-01 to 2020-04-01, median gap 31 (days)
    note: times such as 2020-01 were read as 2020-01-01
    ");
    assert_snapshot!(dates(["Jan 2020", "Feb 2020", "Mar 2020", "Apr 2020"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-01 to 2020-04-01, median gap 31 (days)
    note: times such as Jan 2020 were read as 2020-01-01
    ");
    assert_snapshot!(dates(["Q1 1959", "Q2 1959", "Q3 1959", "Q4 1959"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 1959-01-01 to 1959-10-01, median gap 91 (days)
    note: times such as Q1 1959 were read as 1959-01-01
    ");
    assert_snapshot!(dates(["31 Jan 2020", "1 Feb 2020", "2 Feb 2020", "3 Feb 2020"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-31 to 2020-02-03, median gap 1 (days)
    note: times such as 31 Jan 2020 were read as 2020-01-31
    ");
    assert_snapshot!(dates(["2020/01/31", "2020/02/01", "2020/02/02", "2020/02/03"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-31 to 2020-02-03, median gap 1 (days)
    note: times such as 2020/01/31 were read as 2020-01-31
    ");
    assert_snapshot!(dates(["2020-W52", "2020-W53", "2021-W01", "2021-W02"], ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-12-21 to 2021-01-11, median gap 7 (days)
    note: times such as 2020-W52 were read as 2020-12-21
    ");
    let months: String = (0..14)
        .map(|n| format!("{}/1/{},{}\n", n % 12 + 1, 2020 + n / 12, n * n % 3))
        .collect::<Vec<_>>()
        .concat();
    assert_snapshot!(check("a.csv", format!("date,x\n{months}"), ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-01 to 2021-02-01, median gap 31 (days)
    note: times such as 1/1/2020 were read as 2020-01-01, because their gaps are even then; `--date-order` overrules
    ");
    let undecided = ["01/02/2020", "05/02/2020", "09/03/2020", "10/03/2020"];
    assert_snapshot!(dates(undecided, ""), @r"
    exit 2
    error: `01/02/2020` may be 2020-02-01 or 2020-01-02, and no other date in the column decides
      in `a.csv`, row 2, column `date`
    hint: pass `--date-order day-first` or `--date-order month-first`
    ");
    assert_snapshot!(dates(undecided, "--date-order day-first"), @r"
    exit 0
    time in column `date`, no series column
    time 2020-02-01 to 2020-03-10, median gap 4 (days)
    note: times such as 01/02/2020 were read as 2020-02-01
    ");
}

#[test]
fn numbers_that_are_dates_are_numbers_where_the_user_says_so() {
    let text = "date,x\n20200130,1\n20200131,3\n20200201,2\n";
    assert_snapshot!(check("a.csv", text, ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-30 to 2020-02-01, median gap 1 (days)
    note: times such as 20200130 were read as dates; `--date-order none` overrules
    ");
    assert_snapshot!(check("a.csv", text, "--date-order none"), @r"
    exit 0
    time in column `date`, no series column
    time 20200130 to 20200201, median gap 70 (unit as in the file)
    ");
    let months = "month,x\n202011,1\n202012,3\n202101,2\n202102,2\n";
    assert_snapshot!(check("a.csv", months, ""), @r"
    exit 0
    time in column `month`, no series column
    time 2020-11-01 to 2021-02-01, median gap 31 (days)
    note: times such as 202011 were read as dates; `--date-order none` overrules
    note: `month` was taken as time, by its name; `--time` overrules
    ");
    let times = ["1/30/2020 11:30 PM", "1/31/2020 12:30 AM", "1/31/2020 1:30 AM"];
    let rows = times.map(|time| format!("{time},{}", time.len() % 2)).join("\n");
    assert_snapshot!(check("us.csv", format!("date,x\n{rows}"), ""), @r"
    exit 0
    time in column `date`, no series column
    time 2020-01-30T23:30:00Z to 2020-01-31T01:30:00Z, median gap 1 (hours)
    note: times such as 1/30/2020 11:30 PM were read as 2020-01-30T23:30:00Z, because there are twelve months; `--date-order` overrules
    ");
}

#[test]
fn files_are_series_and_row_numbers_are_left_out() {
    let sandbox = Sandbox::with("a.csv", "time,x\n0,1\n1,3\n2,2\n");
    sandbox.write("b.csv", "time,x\n0,2\n1,1\n2,2\n");
    assert_snapshot!(told(&sandbox, "check a.csv b.csv"), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: each of the 2 files was read as a series of its own, named after the file; `--series` overrules
    ");
    assert_snapshot!(check("c.csv", "id,time,x\n1,0,1\n2,1,3\n3,2,2\n4,3,2\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 3, median gap 1 (unit as in the file)
    note: `id` of `c.csv` has another number in every row, so it was left out as a row number; `--series` overrules
    ");
}

#[test]
fn decimal_commas_and_thousands_are_understood() {
    assert_snapshot!(check("de.csv", "Zeit;time;a;b\n1;0,5;1.234,5;2\n2;1,0;1,25;3\n3;1,5;0,5;1\n", "--ignore Zeit"), @r"
    exit 0
    time in column `time`, no series column
    time 0.5 to 1.5, median gap 0.5 (unit as in the file)
    note: numbers such as 0,5 were read as 0.5; `--decimal` overrules
    ");
    assert_snapshot!(check("us.csv", "time,a\n0,\"1,234\"\n1,\"12,345.5\"\n2,7\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: numbers such as 12,345.5 were read as 12345.5; `--decimal` overrules
    ");
    assert_snapshot!(check("si.csv", "time,a\n0,1 234\n1,12 345.5\n2,7\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: numbers such as 1 234 were read as 1234; `--decimal` overrules
    ");
    assert_snapshot!(check("ch.csv", "time,a\n0,1'234\n1,12'345.5\n2,−7\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: numbers such as 1'234 were read as 1234; `--decimal` overrules
    ");
    assert_snapshot!(check("open.tsv", "time\ta\n0\t1,234\n1\t12,345\n2\t7\n", ""), @r"
    exit 2
    error: `1,234` may be 1234 or 1.234, and no other number in the table decides
      in `open.tsv`
    hint: pass `--decimal point` or `--decimal comma`
    ");
    assert_snapshot!(check("open.tsv", "time\ta\n0\t1,234\n1\t12,345\n2\t7\n", "--decimal comma"), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    ");
    assert_snapshot!(check("both.csv", "time;a\n0;1,5\n1;1.5\n2;7\n", ""), @r"
    exit 2
    error: `1,5` is not a number
      in `both.csv`, row 2, column `a`
    hint: write all decimals with a point, or all with a comma; `--decimal comma` or `--decimal point` says which
    ");
}

#[test]
fn usual_words_for_not_measured_are_holes() {
    let text = "time,a,b\n0,1,<LOD\n1,?,2\n2,-,n.a.\n3,4,5\n";
    assert_snapshot!(check("lab.csv", text, ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 3, median gap 2 (unit as in the file)
    note: 4 cells with `-`, `<LOD`, `?`, `n.a.` were read as not measured; `--missing` overrules
    note: left out 1 row without any value
    ");
    assert_snapshot!(check("lab.csv", text, "--missing ?,-"), @r"
    exit 2
    error: `<LOD` is not a number
      in `lab.csv`, row 2, column `b`
    error: `n.a.` is not a number
      in `lab.csv`, row 4, column `b`
    hint: leave missing cells empty, or say which words mean that with `--missing WORD`; drop a column of text with `--ignore COLUMN`, or make it the series with `--series COLUMN`
    ");
    assert_snapshot!(check("lab.csv", "time,a\n0,1\n1,<0.05\n2,<LLOQ\n3,#NUM!\n4,2\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 4, median gap 4 (unit as in the file)
    note: 3 cells with `#NUM!`, `<0.05`, `<LLOQ` were read as not measured; `--missing` overrules
    note: left out 3 rows without any value
    ");
    assert_snapshot!(check("lab.csv", "time,a\n0,1\n1,-999\n2,3\n", "--missing -999"), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 2 (unit as in the file)
    note: left out 1 row without any value
    ");
}

#[test]
fn other_encodings_are_read_and_told() {
    let text = "time;température\n0;1,5\n1;2,5\n2;1\n";
    let utf16: Vec<u8> =
        std::iter::once(0xfeff).chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    assert_snapshot!(check("excel.txt", utf16, ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: numbers such as 1,5 were read as 1.5; `--decimal` overrules
    note: the text is UTF-16, which its first bytes say; `--encoding` overrules
    ");
    let unmarked: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
    assert_snapshot!(check("plain.txt", unmarked, ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: numbers such as 1,5 were read as 1.5; `--decimal` overrules
    note: the text is UTF-16, which its first bytes say; `--encoding` overrules
    ");
    let latin1: Vec<u8> = text.chars().map(|letter| letter as u8).collect();
    assert_snapshot!(check("old.csv", &latin1, ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    note: the text is not UTF-8, so it was read as Latin-1; `--encoding` overrules
    note: numbers such as 1,5 were read as 1.5; `--decimal` overrules
    ");
    assert_snapshot!(check("old.csv", &latin1, "--encoding utf-8"), @r"
    exit 2
    error: the file is not UTF-8 text
      in `old.csv`, row 1
    hint: name the encoding with `--encoding utf-16` or `latin-1`, or save the table as UTF-8
    ");
    assert_snapshot!(check("mark.csv", "\u{feff}time,a\n0,1\n1,2\n2,1\n", ""), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 2, median gap 1 (unit as in the file)
    ");
}

#[test]
fn spreadsheets_are_read_sheet_by_sheet() {
    assert_snapshot!(check("sheets.xlsx", loader_fixture("sheets.xlsx"), ""), @r"
    exit 0
    time in column `date`, no series column
    time 2026-01-01 to 2026-01-05, median gap 1 (days)
    note: the first sheet, `days`, was read; `--sheet` reads another: `hours`
    ");
    assert_snapshot!(check("sheets.xlsx", loader_fixture("sheets.xlsx"), "--sheet hours"), @r"
    exit 0
    time in column `hour [h]`, no series column
    time 0 to 4, median gap 1.5 (unit h)
    note: `hour [h]` was taken as time, by its name; `--time` overrules
    ");
    assert_snapshot!(check("sheets.xlsx", loader_fixture("sheets.xlsx"), "--sheet weeks"), @r"
    exit 2
    error: there is no sheet `weeks`; the sheets are `days`, `hours`
      in `sheets.xlsx`
    hint: name one of them with `--sheet NAME`
    ");
    assert_snapshot!(check("sheet.ods", loader_fixture("sheet.ods"), ""), @r"
    exit 0
    time in column `hour [h]`, no series column
    time 0 to 4, median gap 1.5 (unit h)
    note: `hour [h]` was taken as time, by its name; `--time` overrules
    ");
}

#[test]
fn a_table_on_its_side_is_recognised_and_turned() {
    let text = ",Glc,Gal0,C20,C40,C60\nCBF1,3,4,7,8,5\nGAL4,12,32,27,15,13\n";
    assert_snapshot!(check("genes.csv", text, ""), @r"
    exit 2
    error: the names of the columns look like times (`Glc`, `Gal0`, `C20`, `C40`, `C60`), and the first column holds names such as `CBF1`, `GAL4`
      in `genes.csv`
    hint: pass `--transpose` if the times are in the header and the variables in rows
    ");
    assert_snapshot!(check("genes.csv", text, "--transpose"), @r"
    exit 0
    time in column `time`, no series column
    time 0 to 60, median gap 20 (unit as in the file)
    note: column names such as `Gal0` were read as times such as 0
    note: `Glc` holds no time in the header, left out
    ");
    let text = "gene\tt=0 min\tt=20 min\tt=40 min\na\t1\t2\t1\nb\t3\t1\t2\n";
    assert_snapshot!(check("genes.txt", text, "--transpose"), @r"
    exit 0
    time in column `time (min)`, no series column
    time 0 to 40, median gap 20 (unit min)
    note: column names such as `t=0 min` were read as times such as 0
    ");
    let text = "gene,2020-01-01,2020-01-08,2020-01-15\na,1,2,1\nb,3,1,2\n";
    assert_snapshot!(check("genes.csv", text, "--transpose"), @r"
    exit 0
    time in column `time`, no series column
    time 2020-01-01 to 2020-01-15, median gap 7 (days)
    ");
    assert_snapshot!(check("a.csv", "time,a,b\n0,1,2\n1,2,1\n", "--transpose"), @r"
    exit 2
    error: the header does not hold times that grow; it holds `a`, `b`
      in `a.csv`
    hint: the first row of a transposed table is, for example, `gene,0,10,20` or `gene,t=0,t=10,t=20`
    ");
}

#[test]
fn every_real_table_is_read_and_fitted_as_found_with_at_most_one_flag() {
    let Some(folder) = benchmark_data().map(|data| data.join("real")) else { return };
    let flags = [
        ("hare-lynx/data.csv", ""),
        ("hare-lynx-blasius/data.csv", ""),
        ("chemostat/original", ""),
        ("irma-on/ExpressionData_IRMA_1.csv", "--transpose"),
        ("irma-on/data.csv", ""),
        ("sos/Exp1.txt", "--transpose"),
        ("sos/Exp2.txt", "--transpose"),
        ("sos/Exp3.txt", "--transpose"),
        ("sos/Exp4.txt", "--transpose"),
        ("macro/data.csv", ""),
        ("climate-season/data.csv", ""),
    ];
    let sandbox = Sandbox::new();
    for (file, flag) in flags {
        let found = told(&sandbox, &format!("check {} {flag}", folder.join(file).display()));
        assert!(found.starts_with("exit 0"), "{file} {flag}: {found}");
        let file = folder.join(file);
        let line =
            format!("fit {} {flag} --select none --steps 40 --out run --force", file.display());
        let found = told(&sandbox, &line);
        assert!(found.starts_with("exit 0"), "{line}: {found}");
        assert!(!sandbox.read("run/edges.csv").contains("NaN"), "{line}");
    }
}

#[test]
fn a_date_in_several_columns_is_read_as_one() {
    let quarters: String = (0..16)
        .map(|row| format!("{}.0,{}.0,{}\n", 1959 + row / 4, row % 4 + 1, row * row % 7))
        .collect::<Vec<_>>()
        .concat();
    let quarters = format!("year,quarter,a\n{quarters}");
    assert_snapshot!(check("quarters.csv", &quarters, ""), @r"
    exit 0
    time in column `date`, no series column
    time 1959-01-01 to 1962-10-01, median gap 91 (days)
    note: `year`, `quarter` were read together as the date; `--time` overrules
    note: times such as 1959Q1 were read as 1959-01-01
    ");
    // Where the user says that the year is the time, the quarter is not offered as a series.
    assert_snapshot!(check("quarters.csv", &quarters, "--time year"), @r"
    exit 2
    error: series `quarters` has two rows at time 1959; the other is row 2
      in `quarters.csv`, row 3
    hint: `quarter` seems to be the rest of the date: write both into one column, such as 1959Q1, 2020-W05 or 2020-01-31, and pass it as `--time`
    ");
    let hours: String = (0..30)
        .map(|row| format!("{row},2013,3,{},{},{}\n", row / 24 + 1, row % 24, row * row % 7))
        .collect::<Vec<_>>()
        .concat();
    assert_snapshot!(check("air.csv", format!("No,year,month,day,hour,pm25\n{hours}"), "--ignore No"), @r"
    exit 0
    time in column `date`, no series column
    time 2013-03-01T00:00:00Z to 2013-03-02T05:00:00Z, median gap 1 (hours)
    note: `year`, `month`, `day`, `hour` were read together as the date; `--time` overrules
    ");
    let weeks: String = (0..60)
        .map(|row| format!("{},{},{}\n", 2019 + row / 52, row % 52 + 1, row * row % 7))
        .collect::<Vec<_>>()
        .concat();
    assert_snapshot!(check("weeks.csv", format!("year,week,flu\n{weeks}"), ""), @r"
    exit 0
    time in column `date`, no series column
    time 2018-12-31 to 2020-02-17, median gap 7 (days)
    note: `year`, `week` were read together as the date; `--time` overrules
    note: times such as 2019-W01 were read as 2018-12-31
    ");
    assert_snapshot!(check("clock.csv", "date,time,x\n2020-01-01,00:30,1\n2020-01-01,01:30,2\n", "--ignore date"), @r"
    exit 2
    error: `00:30` is neither a number nor a date
      in `clock.csv`, row 2, column `time`
    error: `01:30` is neither a number nor a date
      in `clock.csv`, row 3, column `time`
    hint: a time of the day needs its date: write both into one column, such as 2026-01-31 12:30, and pass it as `--time`
    ");
}
