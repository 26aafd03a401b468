//! Columns that tell nothing, edges that contradict each other, and clocks that do not start at 0.

use std::fmt::Write;

use crate::Sandbox;

/// The cell of one more column in a row.
type Cell = fn(usize) -> String;

/// Three coupled variables over 60 rows, and one more column where asked.
fn table(first_time: usize, extra: Option<Cell>) -> String {
    let mut text = if extra.is_some() { "time,a,b,c,m\n" } else { "time,a,b,c\n" }.to_owned();
    let (mut a, mut b, mut c) = (1.0_f64, 0.3_f64, -0.2_f64);
    for row in 0..60 {
        let push = ((row * 37 % 11) as f64 - 5.0) / 10.0;
        (a, b, c) = (0.8 * a + push, 0.6 * b + 0.5 * a, 0.7 * c - 0.4 * b + 0.3 * push);
        let _ = write!(text, "{},{a:.4},{b:.4},{c:.4}", first_time + row);
        if let Some(extra) = extra {
            let _ = write!(text, ",{}", extra(row));
        }
        text.push('\n');
    }
    text
}

/// Edges between a, b and c, as printed.
fn known_edges(sandbox: &Sandbox, run: &str) -> Vec<String> {
    let edges = sandbox.read(&format!("{run}/edges.csv"));
    let names = ["a", "b", "c"];
    let own = |line: &&str| {
        let mut cells = line.split(',');
        names.contains(&cells.next().unwrap()) && names.contains(&cells.next().unwrap())
    };
    let mut kept: Vec<String> = (edges.lines().filter(own))
        .map(|line| line.split(',').take(3).collect::<Vec<_>>().join(","))
        .collect();
    kept.sort();
    kept
}

#[test]
fn a_column_that_tells_nothing_does_not_change_the_edges_of_the_others() {
    let sandbox = Sandbox::with("plain.csv", table(0, None));
    sandbox.stdout("fit plain.csv --select none --out plain");
    let expected = known_edges(&sandbox, "plain");
    assert_eq!(expected.len(), 9);
    let rare = |row: usize| if row.is_multiple_of(20) { row.to_string() } else { "NA".to_owned() };
    let cases: [(&str, Cell, &str); 3] = [
        ("empty", |_| "NA".to_owned(), "`m` was never observed: its edges are not learned"),
        ("constant", |_| "7.4".to_owned(), "`m` is constant: its edges are not learned"),
        ("rare", rare, "`m` has 3 values in 60 rows: its edges are not learned"),
    ];
    for (name, extra, sentence) in cases {
        sandbox.write(&format!("{name}.csv"), table(0, Some(extra)));
        let told = sandbox.run(&format!("fit {name}.csv --select none --out {name}"));
        assert!(told.starts_with("exit 0") && told.contains(sentence), "{told}");
        assert!(sandbox.read(&format!("{name}/report.html")).contains("its edges are not learned"));
        for (found, expected) in known_edges(&sandbox, name).iter().zip(&expected) {
            let split = |line: &str| -> (String, f64) {
                let (edge, probability) = line.rsplit_once(',').unwrap();
                (edge.to_owned(), probability.parse().unwrap())
            };
            let ((edge, found), (same, expected)) = (split(found), split(expected));
            assert_eq!(edge, same);
            // Two ends of training: the path of the extra column is learned beside the others.
            assert!((found - expected).abs() < 0.02, "{name}: {edge} {found} {expected}");
        }
        let text = sandbox.read(&format!("{name}/edges.csv"));
        let left_out = text.lines().filter(|line| line.starts_with("m,") || line.contains(",m,"));
        let probability = |line: &str| line.split(',').nth(2).unwrap().parse::<f64>().unwrap();
        assert!(left_out.clone().count() == 7 && left_out.map(probability).all(|p| p == 0.0));
    }
}

#[test]
fn edges_that_contradict_each_other_are_refused() {
    let sandbox = Sandbox::with("data.csv", table(0, None));
    sandbox.write("known.csv", "source,target,probability\na,b,0\n");
    for (options, complaint) in [
        ("--require a->b --forbid a->b", "the edge `a -> b` is"),
        ("--no-self-loops --require a->a", "forbidden by `--no-self-loops` and also required"),
        ("--edge-prior known.csv --require a->b", "the edge `a -> b` is"),
    ] {
        let told = sandbox.run(&format!("fit data.csv {options} --out run"));
        assert!(told.starts_with("exit 2") && told.contains(complaint), "{told}");
        assert!(!sandbox.path("run").exists());
    }
}

#[test]
fn a_settings_file_takes_the_words_of_the_command_line() {
    let sandbox = Sandbox::with("data.csv", table(0, None));
    let settings = "select = \"none\"\nensemble = 1\nsteps = 40\ndensity = \"common\"\n";
    sandbox.write("beside.toml", settings);
    sandbox.write("own.toml", format!("[bridge]\n{settings}"));
    sandbox
        .stdout("fit data.csv --select none --ensemble 1 --steps 40 --density common --out flags");
    for file in ["beside", "own"] {
        sandbox.stdout(&format!("fit data.csv --config {file}.toml --out {file}"));
        let edges = |run: &str| sandbox.read(&format!("{run}/edges.csv"));
        assert_eq!(edges(file), edges("flags"));
    }
}

#[test]
fn paths_start_at_the_first_time_of_the_data() {
    let sandbox = Sandbox::with("data.csv", table(1990, None));
    sandbox.stdout("fit data.csv --select none --ensemble 1 --steps 40 --out run");
    let paths = sandbox.stdout("simulate run --paths 2 --horizon 3 --every 1");
    assert!(paths.contains("at time 1993"), "{paths}");
    let mut within = sandbox.command("intervene run --paths 20");
    let within = within.args(["--do", "a = 1 @ 2000..2005"]).output().unwrap();
    assert!(!String::from_utf8_lossy(&within.stderr).contains("outside"));
    let mut outside = sandbox.command("report run");
    let outside = outside.args(["--do", "a = 1 @ 100..200"]).output().unwrap();
    assert!(outside.status.success());
    let page = sandbox.read("run/report.html");
    assert!(page.contains("its times lie outside the simulated ones, 1990 to 2049"));
}

#[test]
fn the_report_tells_how_repeated_rows_were_read() {
    let mut text = table(0, None);
    text.push_str("59,1,1,1\n");
    let sandbox = Sandbox::with("data.csv", text);
    sandbox
        .stdout("fit data.csv --duplicates mean --select none --ensemble 1 --steps 40 --out run");
    assert!(sandbox.read("run/report.html").contains("--duplicates mean"));
}
