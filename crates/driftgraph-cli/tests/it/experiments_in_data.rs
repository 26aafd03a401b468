//! Inputs, interventions in the data and regulators on the command line.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::Sandbox;

const QUICK: &str = "--select none --ensemble 1 --steps 60";

/// Plants `a` and `b` in four pots; light drives `a`, which drives `b`; in pot 1 somebody holds `a` at 0.
fn sandbox() -> Sandbox {
    let mut text = "series,time,light,a,b\n".to_owned();
    let mut noise = 3_u64;
    let mut scatter = move || {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (noise >> 33) as f64 / f64::from(u32::MAX) - 0.25
    };
    for pot in 1..=4 {
        let (mut a, mut b) = (scatter(), scatter());
        for time in 0..30_u32 {
            let light = f64::from((time / (4 + pot)) % 2);
            if pot == 1 {
                a = 0.0;
            }
            let shown = if time % 7 == 3 { String::new() } else { light.to_string() };
            let _ = writeln!(text, "pot{pot},{time},{shown},{a},{b}");
            let old = a;
            a += 0.8 * light - 0.5 * a + 0.2 * scatter();
            b += 0.7 * old - 0.5 * b + 0.2 * scatter();
        }
    }
    let sandbox = Sandbox::with("pots.csv", text);
    sandbox.write("done.csv", "series,variable,kind,value,from,to\npot1,a,knockout,0,,\n");
    sandbox.write("idle.csv", "series,variable,kind,value,from,to\n*,a,hold,,0,0\n");
    sandbox
}

#[test]
fn inputs_and_what_was_set_are_kept_by_the_run_and_by_its_answers() {
    let sandbox = sandbox();
    let told = sandbox
        .run(&format!("fit pots.csv --inputs light --interventions done.csv {QUICK} --out run"));
    assert!(
        told.contains(
            "input: `light` drives and is not driven; it keeps its value until the next row"
        ),
        "{told}"
    );
    assert!(told.contains("interventions: a variable was set in 1 window"), "{told}");
    let edges = sandbox.read("run/edges.csv");
    let into = |pair: &str| {
        let line = edges.lines().find(|line| line.starts_with(pair)).unwrap();
        line.split(',').nth(2).unwrap().parse::<f64>().unwrap()
    };
    assert_eq!([into("a,light,"), into("b,light,"), into("light,light,")], [0.0; 3]);
    assert!(into("light,a,") > 0.9 && into("a,b,") > 0.9, "{edges}");
    assert!(sandbox.read("run/graph.svg").contains("input: set from outside"));
    let report = sandbox.read("run/report.html");
    assert!(report.contains("--inputs light") && report.contains("--interventions "));

    // What is still set stays so, and is told where nothing is said of it.
    let told = sandbox.run("forecast run --horizon 5 --every 5 --paths 40 --out held.csv");
    assert!(told.contains("nothing is said of `light`"), "{told}");
    assert!(told.contains("held at the last value of each series"), "{told}");
    let mean = |file: &str, series: &str, variable: &str| {
        let text = sandbox.read(file);
        let rows = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let mut own = rows.filter(|row| row[0] == series && row[2] == variable);
        own.next().unwrap()[3].parse::<f64>().unwrap()
    };
    assert!(mean("held.csv", "pot1", "a").abs() < 0.2, "the knock-out goes on");
    sandbox.stdout("forecast run --horizon 5 --every 5 --paths 40 --input light=3 --out lit.csv");
    assert!(mean("lit.csv", "pot2", "a") > mean("held.csv", "pot2", "a") + 1.0);
    sandbox.write("future.csv", "time,light\n0,3\n");
    sandbox.stdout(
        "forecast run --horizon 5 --every 5 --paths 40 --input-file future.csv --out same.csv",
    );
    assert_eq!(sandbox.read("same.csv"), sandbox.read("lit.csv"));
    let told = sandbox.run("simulate run --horizon 4 --paths 5 --start series:pot1");
    assert!(told.contains("as in the series, and held at the last value after its end"), "{told}");
    assert_snapshot!(sandbox.run("simulate run --paths 5 --input a=1"), @r"
    exit 2
    --- stderr
    error: `a` is not an input of the run: `driftgraph intervene` changes other variables
    ");
}

#[test]
fn a_window_without_a_step_and_the_order_of_lines_change_no_byte() {
    let sandbox = sandbox();
    let fit = |flags: &str, out: &str| {
        sandbox.stdout(&format!("fit pots.csv {flags} {QUICK} --out {out}"));
        let model = std::fs::read(sandbox.path(&format!("{out}/model.safetensors"))).unwrap();
        (sandbox.read(&format!("{out}/edges.csv")), model)
    };
    assert_eq!(fit("", "plain"), fit("--interventions idle.csv", "idle"));
    let lines = ["pot1,a,knockout,0,,", "pot2,b,knockdown,0.5,3,9", "pot3,b,shift,,5,12"];
    let head = "series,variable,kind,value,from,to";
    sandbox.write("one.csv", format!("{head}\n{}\n", lines.join("\n")));
    let turned: Vec<&str> = lines.iter().rev().copied().collect();
    sandbox.write("two.csv", format!("{head}\n{}\n", turned.join("\n")));
    let one = fit("--inputs light --interventions one.csv --threads 1", "one");
    assert_eq!(one, fit("--inputs light --interventions two.csv --threads 2", "two"));
}

#[test]
fn only_sources_drive_and_only_targets_are_driven() {
    let sandbox = sandbox();
    sandbox.write("sources.txt", "a\nlight\n");
    sandbox.stdout(&format!("fit pots.csv --sources sources.txt --targets b {QUICK} --out run"));
    let edges = sandbox.read("run/edges.csv");
    for line in edges.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let may = cells[0] == cells[1] || (cells[1] == "b" && cells[0] != "b");
        assert!(may || cells[2] == "0", "{line}");
    }
    let record: serde_json::Value = serde_json::from_str(&sandbox.read("run/run.json")).unwrap();
    assert_eq!(record["asked"]["limits"]["sources"], serde_json::json!(["a", "light"]));
    assert!(sandbox.read("run/report.html").contains("--sources a,light --targets b"));
}

#[test]
fn combinations_that_make_no_sense_are_refused() {
    let sandbox = sandbox();
    let refused = |flags: &str| sandbox.run(&format!("fit pots.csv {flags} {QUICK} --out other"));
    assert_snapshot!(refused("--inputs light --targets light"), @r"
    exit 2
    --- stderr
    note: input: `light` drives and is not driven; it keeps its value until the next row (`--input-hold`)
    error: `light` is an input and also one of the `--targets`: inputs are driven by nothing
    ");
    assert_snapshot!(refused("--sources c"), @r"
    exit 2
    --- stderr
    error: `--sources` names `c`, which the data do not have
    ");
    assert_snapshot!(refused("--inputs a --interventions done.csv"), @r"
    exit 2
    --- stderr
    error: `a` is an input: its values are those in its column, and no window can set them
      in `done.csv`, row 2

    hint: take it out of `--inputs`, or take the line out of the table
    ");
    assert_snapshot!(refused("--inputs light,a,b"), @r"
    exit 2
    --- stderr
    error: every variable is an input, so there is nothing to learn

    hint: leave out of `--inputs` what is driven
    ");
    let told = sandbox
        .run("fit pots.csv --method ridge --inputs light --interventions done.csv --out ridge");
    assert!(told.contains("`ridge` takes them as variables like others"), "{told}");
    assert!(told.contains("`ridge` does not know of them"), "{told}");
}

#[test]
fn every_bad_line_of_a_table_is_one_clear_error() {
    let sandbox = sandbox();
    let head = "series,variable,kind,value,from,to";
    let refused = |line: &str| {
        sandbox.write("bad.csv", format!("{head}\n{line}\n"));
        sandbox.run(&format!("fit pots.csv --interventions bad.csv {QUICK} --out other"))
    };
    for (line, expected) in [
        (",c,knockout,,,", "error: there is no variable `c`\n  in `bad.csv`, row 2"),
        ("nowhere,a,knockout,,,", "error: there is no series `nowhere`\n  in `bad.csv`, row 2"),
        (
            ",a,knockout,,500,600",
            "error: the window 500 to 600 lies outside the data of every series",
        ),
        (
            ",a,removed,,,",
            "error: `removed` is not one of knockout, hold, knockdown, overexpress, shift",
        ),
        (",a,hold,much,,", "error: `much` is not a number\n  in `bad.csv`, row 2, column `value`"),
        (",a,knockout,,3,1", "bad.csv`, row 2"),
    ] {
        let output = refused(line);
        assert!(output.starts_with("exit 2") && output.contains(expected), "{line}: {output}");
        assert_eq!(output.matches("error: ").count(), 1, "{output}");
        assert!(output.contains("\nhint: "), "{line}: {output}");
    }
}

#[test]
fn columns_say_what_was_done_as_a_table_does() {
    let sandbox = sandbox();
    let pots = sandbox.read("pots.csv");
    let mut lines = pots.lines();
    let mut columns = format!("{},knockout:a\n", lines.next().unwrap());
    for line in lines {
        let time: f64 = line.split(',').nth(1).unwrap().parse().unwrap();
        let is_out = u8::from((3.0..=6.0).contains(&time));
        writeln!(columns, "{line},{is_out}").unwrap();
    }
    sandbox.write("columns.csv", columns);
    sandbox.write("table.csv", "variable,kind,from,to\na,knockout,3,6\n");
    sandbox.stdout(&format!("fit columns.csv --interventions columns {QUICK} --out of-columns"));
    sandbox.stdout(&format!("fit pots.csv --interventions table.csv {QUICK} --out of-table"));
    assert_eq!(sandbox.read("of-columns/edges.csv"), sandbox.read("of-table/edges.csv"));
    // Answers know of them, too.
    for run in ["of-columns", "of-table"] {
        sandbox.stdout(&format!("forecast {run} --horizon 2 --every 2 --paths 20 --out {run}.csv"));
    }
    assert_eq!(sandbox.read("of-columns.csv"), sandbox.read("of-table.csv"));
    let none = sandbox.run(&format!("fit pots.csv --interventions columns {QUICK} --out other"));
    assert_snapshot!(none, @r"
    exit 2
    --- stderr
    error: no column is called like `knockout:NAME`, so none says what was done

    hint: call columns `knockout:NAME`, `hold:NAME`, `knockdown:NAME`, `overexpress:NAME` or `shift:NAME`; for a file called `columns` write `./columns`
    ");
}

#[test]
fn many_variables_with_few_sources_have_rows_for_what_may_be_alone() {
    let sandbox = Sandbox::new();
    sandbox.stdout("generate gene-network --set variables=410 --set regulators=10 --series 3 --points 8 --seed 1003 --out genes");
    let truth = sandbox.read("genes/truth.csv");
    let sources: std::collections::BTreeSet<&str> =
        truth.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    let own = |line: &&str| {
        line.split(',').take(2).collect::<Vec<_>>().windows(2).any(|ends| ends[0] == ends[1])
    };
    let drives: std::collections::BTreeSet<&str> = truth
        .lines()
        .skip(1)
        .filter(|line| !own(line))
        .filter_map(|line| line.split(',').next())
        .collect();
    assert!(drives.len() <= 10 && drives.is_subset(&sources));
    sandbox.write("sources.txt", drives.iter().copied().collect::<Vec<_>>().join("\n"));
    let fit = "fit genes/data.csv --sources sources.txt --steps 30";
    let told = sandbox.run(&format!("{fit} --threads 1 --out run"));
    let n = drives.len() * 410 + 410 - drives.len();
    assert!(told.contains(&format!("{n} of 168100 pairs may be edges")), "{told}");
    let edges = sandbox.read("run/edges.csv");
    assert_eq!(edges.lines().count(), 1 + n);
    sandbox.stdout(&format!("{fit} --threads 2 --out again"));
    assert_eq!(edges, sandbox.read("again/edges.csv"));
    assert!(sandbox.stdout("score run --truth genes/truth.csv").contains("AUROC"));
    assert!(sandbox.stdout("graph run --threshold 0.5 --format json").contains("edges"));
    assert!(sandbox.path("run/report.html").is_file());
    let refused = sandbox.run("simulate run --paths 2");
    assert!(refused.starts_with("exit 2"), "{refused}");
}

#[test]
fn effects_that_move_have_tables_a_picture_and_a_section() {
    let sandbox = Sandbox::new();
    let mut table = String::from("series,time,x,y\n");
    for series in 0..4_u32 {
        let mut state = [0.3 * f64::from(series), 0.1];
        for row in 0..60_u32 {
            let shock = f64::from((row * 37 + series * 11) % 17) / 17.0 - 0.5;
            let other = f64::from((row * 53 + series * 29) % 19) / 19.0 - 0.5;
            let [x, y] = state;
            writeln!(table, "s{series},{row},{x},{y}").unwrap();
            let effect = 1.2 - 2.4 * f64::from(row) / 60.0;
            state = [0.6 * x + shock, 0.6 * y + effect * x + 0.2 * other];
        }
    }
    sandbox.write("data.csv", table);
    sandbox.stdout("fit data.csv --drifting --steps 80 --noise-scale 0.01 --out run");
    let courses = sandbox.read("run/drifting.csv");
    assert!(courses.starts_with("time,source,target,effect,low,high\n"), "{courses}");
    let first = sandbox.read("run/drifting_edges.csv").lines().nth(1).unwrap().to_owned();
    assert!(first.starts_with("x,y,"), "{first}");
    assert!(sandbox.read("run/drifting.svg").starts_with("<svg"));
    let report = sandbox.read("run/report.html");
    assert!(report.contains("Effects over time") && report.contains("x → y"));
    let refused = |flags: &str| sandbox.run(&format!("fit data.csv {flags} --out other"));
    for (flags, expected) in [
        ("--drifting --ensemble 3", "`ensemble` is a setting of `bridge`, not of `drifting`"),
        ("--drifting=false", "effects that do not move are those of `bridge`"),
        ("--drifting --regimes 2", "of `regimes`"),
    ] {
        let output = refused(flags);
        assert!(output.starts_with("exit 2") && output.contains(expected), "{flags}: {output}");
    }
    // Without them the folder keeps nothing of them.
    sandbox.stdout("fit data.csv --select none --steps 30 --out run --force");
    assert!(!sandbox.path("run/drifting.csv").exists());
}

#[test]
fn what_is_told_of_the_table_holds_for_methods_that_know_nothing_of_it() {
    let sandbox = sandbox();
    let told = sandbox
        .run("fit pots.csv --ignore light --method ridge --interventions done.csv --out ridge");
    assert!(told.contains("`ridge` does not know of them"), "{told}");
    let of_methods = "a variable was set in 1 window: methods that know of them learn nothing there of what drives it";
    assert!(told.contains(of_methods), "{told}");
}

#[test]
fn conditions_keep_inputs_and_interventions() {
    let sandbox = sandbox();
    let with_condition = |line: &str, word: &str| {
        let pot: u32 = line[3..4].parse().unwrap();
        let name = if pot.is_multiple_of(2) { "fed" } else { "starved" };
        format!("{line},{}", if word == "number" { (pot % 2).to_string() } else { name.to_owned() })
    };
    let pots = sandbox.read("pots.csv");
    for word in ["number", "word"] {
        let mut lines = pots.lines();
        let mut table = format!("{},food\n", lines.next().unwrap());
        lines.for_each(|line| writeln!(table, "{}", with_condition(line, word)).unwrap());
        sandbox.write("food.csv", table);
        let told = sandbox.run(&format!(
            "fit food.csv --condition food --inputs light --interventions done.csv --steps 60 --out {word}"
        ));
        assert!(told.starts_with("exit 0"), "{told}");
        assert!(!told.contains("does not know of them"), "{told}");
        let names = if word == "number" { ["food 0", "food 1"] } else { ["fed", "starved"] };
        let regimes = sandbox.read(&format!("{word}/regime_edges.csv"));
        for name in names {
            assert!(regimes.contains(&format!("{name},a,b,")), "{regimes}");
        }
        assert!(!regimes.contains(",light,light,") && !regimes.contains(",a,light,"), "{regimes}");
        // The knock-out of `a` in one series is no difference of what drives `a`.
        let differences = sandbox.read(&format!("{word}/differences.csv"));
        let from_light = differences.lines().find(|line| line.starts_with("light,a,")).unwrap();
        let probability: f64 = from_light.split(',').nth(4).unwrap().parse().unwrap();
        assert!(probability < 0.5, "{differences}");
        let report = sandbox.read(&format!("{word}/report.html"));
        assert!(report.contains("Each of 2 conditions"));
    }
    let [number, word] = ["number", "word"].map(|run| sandbox.read(&format!("{run}/edges.csv")));
    let into_light = |edges: &str| {
        let own = edges.lines().filter(|line| line.split(',').nth(1) == Some("light"));
        own.map(|line| line.split(',').nth(2).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(into_light(&number), ["0", "0", "0"]);
    assert_eq!(into_light(&word), ["0", "0", "0"]);
}

#[test]
fn a_column_of_words_says_which_regime_holds() {
    let sandbox = sandbox();
    let mut lines = sandbox.read("pots.csv").lines().map(str::to_owned).collect::<Vec<_>>();
    for (at, line) in lines.iter_mut().enumerate() {
        let time = line.split(',').nth(1).unwrap().parse::<u32>();
        let word = if time.is_ok_and(|time| time < 15) { "day" } else { "night" };
        line.push_str(if at == 0 { ",phase" } else { "," });
        line.push_str(if at == 0 { "" } else { word });
    }
    sandbox.write("phases.csv", lines.join("\n"));
    let told =
        sandbox.run("fit phases.csv --regimes column:phase --inputs light --steps 40 --out run");
    assert!(told.starts_with("exit 0") && !told.contains("--inputs phase"), "{told}");
    let times = sandbox.read("run/regimes.csv");
    let head = "series,time,regime,probability day,probability night\npot1,0,day,1,0\n";
    assert!(times.starts_with(head), "{times}");
    assert!(!sandbox.read("run/differences.csv").contains("phase"));
    // What is read again is what was read.
    sandbox.stdout("report run");
    let mixed = lines.join("\n").replace(",b,phase", ",b_,phase").replace("pot1,0,", "pot1,x,");
    sandbox.write("mixed.csv", mixed);
    let told = sandbox.run("fit mixed.csv --regimes column:phase --steps 40 --out other");
    assert!(told.starts_with("exit 2") && told.contains("column `time`"), "{told}");
}

#[test]
fn a_contrast_takes_inputs_interventions_and_what_is_known_of_edges_with_it() {
    let sandbox = sandbox();
    let pots = sandbox.read("pots.csv");
    let half = |even: bool| {
        let is_own = |line: &&str| match line.strip_prefix("pot") {
            Some(rest) => (rest.as_bytes()[0] - b'0').is_multiple_of(2) == even,
            None => true,
        };
        pots.lines().filter(is_own).collect::<Vec<_>>().join("\n")
    };
    sandbox.write("one.csv", half(false));
    sandbox.write("two.csv", half(true));
    sandbox.write("two-done.csv", "variable,kind,value,from,to\nb,hold,,3,9\n");
    let fit = |flags: &str| sandbox.stdout(&format!("fit {flags} {QUICK}"));
    let known = "--inputs light --forbid b->a --noise-scale 0.05";
    fit(&format!("one.csv --interventions done.csv {known} --out one"));
    fit(&format!("two.csv --interventions two-done.csv {known} --out two"));
    let told = sandbox.run("contrast one two --out both");
    assert!(told.starts_with("exit 0"), "{told}");
    assert!(told.contains("`ensemble`, `select` of the runs says nothing"), "{told}");
    assert_eq!(
        sandbox.read("both/interventions.csv"),
        "series,variable,kind,value,from,to\none: pot1,a,knockout,0,,\ntwo: pot2,b,hold,,3,9\ntwo: pot4,b,hold,,3,9\n"
    );
    let record: serde_json::Value = serde_json::from_str(&sandbox.read("both/run.json")).unwrap();
    assert_eq!(record["data"]["options"]["inputs"], serde_json::json!(["light"]));
    assert_eq!(record["asked"]["edges"][0]["source"], "b");
    assert_eq!(record["asked"]["settings"]["noise_scale"], 0.05);
    let edges = sandbox.read("both/edges.csv");
    for line in edges.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        if cells[1] == "light" || cells[..2] == ["b", "a"] {
            assert!(cells[2].parse::<f64>().unwrap() < 1e-12, "{line}");
        }
    }
    assert!(!sandbox.read("both/differences.csv").contains(",light,one,"));
    // What the runs were told differently cannot be carried.
    fit("two.csv --out plain");
    fit("two.csv --inputs light --out knows-less");
    fit("two.csv --inputs light --forbid b->a --noise-scale 0.1 --out noisier");
    for (other, expected) in [
        ("plain", "was told of the edge b -> a (0), and the other run was not"),
        ("knows-less", "was told of the edge b -> a (0), and the other run was not"),
        ("noisier", "the runs have different settings `noise_scale` (0.05 and 0.1)"),
    ] {
        let refused = sandbox.run(&format!("contrast one {other} --out other"));
        assert!(refused.starts_with("exit 2") && refused.contains(expected), "{refused}");
    }
    let refused = sandbox.run("contrast knows-less plain --out other");
    assert!(
        refused.contains("`light` is an input of `knows-less` and not of the other run"),
        "{refused}"
    );
    std::fs::remove_file(sandbox.path("two.csv")).unwrap();
    let refused = sandbox.run("contrast one two --out other");
    assert!(refused.starts_with("exit 2") && !refused.contains("--data"), "{refused}");
}

#[test]
fn edges_that_must_be_and_may_not_are_refused() {
    let sandbox = sandbox();
    let refused = |flags: &str| sandbox.run(&format!("fit pots.csv {flags} {QUICK} --out other"));
    assert_snapshot!(refused("--targets b --require light->a"), @r"
    exit 2
    --- stderr
    error: the edge `light -> a` must or may be, and `a` is not among the `--targets`: say one of them
    ");
    assert_snapshot!(refused("--sources a --prior light->b=0.7"), @r"
    exit 2
    --- stderr
    error: the edge `light -> b` must or may be, and `light` is not among the `--sources`: say one of them
    ");
    sandbox.write("odd.csv", "variable,kind,form\na,knockout,3\n");
    assert_snapshot!(refused("--interventions odd.csv"), @r"
    exit 2
    --- stderr
    error: a table of interventions has no column `form`; did you mean `from`?
      in `odd.csv`

    hint: its columns are `series,variable,kind,value,from,to`; what it says besides can stand in a column `note`
    ");
}
