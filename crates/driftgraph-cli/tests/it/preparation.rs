//! Seasons, lines, logarithms and inputs on the command line: taken out, told, and back in every answer.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::Sandbox;

/// Ten years of months: sales along a line with a season, a price that grows, a tax that was set twice.
fn sandbox() -> Sandbox {
    let mut text = "date,sales,price,tax\n".to_owned();
    let mut noise = 1_u64;
    for month in 0..120_u32 {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let scatter = (noise >> 33) as f64 / f64::from(u32::MAX) - 0.25;
        let season = (f64::from(month) * std::f64::consts::TAU / 12.0).sin();
        let sales = 10.0 + 0.1 * f64::from(month) + 3.0 * season + scatter;
        let price = (0.02 * f64::from(month) + 0.2 * scatter).exp();
        let tax = if month < 50 { 7 } else { 19 };
        let (year, month) = (2000 + month / 12, month % 12 + 1);
        let _ = writeln!(text, "{year}-{month:02}-01,{sales},{price},{tax}");
    }
    Sandbox::with("shop.csv", text)
}

const QUICK: &str = "--select none --ensemble 1 --steps 60";

#[test]
fn what_is_taken_out_is_in_every_answer_again() {
    let sandbox = sandbox();
    let asked = format!("--season 12 --detrend --log price --inputs tax {QUICK}");
    let told = sandbox.run(&format!("fit shop.csv {asked} --out run"));
    assert!(told.starts_with("exit 0"), "{told}");
    assert!(!told.contains("--season") && !told.contains("`--inputs "), "{told}");
    let record: serde_json::Value = serde_json::from_str(&sandbox.read("run/run.json")).unwrap();
    assert_eq!(record["asked"]["preparation"]["season"], 12);
    assert!(record["transform"]["slopes"][0].as_f64().unwrap() > 0.0);
    let edges = sandbox.read("run/edges.csv");
    let into_tax = edges.lines().filter(|line| line.starts_with("sales,tax,"));
    assert_eq!(into_tax.map(|line| line.split(',').nth(2).unwrap()).collect::<Vec<_>>(), ["0"]);
    let report = sandbox.read("run/report.html");
    assert!(report.contains("a season of 12 rows; straight lines in time; the logarithm of price"));
    assert!(report.contains("--season 12 --detrend --log price"), "the command repeats the fit");
    sandbox.stdout("forecast run --horizon 1y --every 1mo --paths 50 --out future.csv");
    let future = sandbox.read("future.csv");
    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
    for row in future.lines().skip(1).map(cells) {
        let [mean, low] = [3, 5].map(|column| row[column].parse::<f64>().unwrap());
        match row[2].as_str() {
            // The line has reached 22, and the season is 3.
            "sales" => assert!((17.0..28.0).contains(&mean), "{row:?}"),
            "price" => assert!(low > 0.0, "{row:?}"),
            _ => {}
        }
        // Whole days: months of a calendar have no hours.
        assert_eq!(row[1].len(), "2010-01-01".len(), "{row:?}");
    }
}

#[test]
fn a_report_says_why_the_data_cannot_carry_the_graph() {
    let sandbox = sandbox();
    let report = |flags: &str| {
        sandbox.stdout(&format!("fit shop.csv {flags} {QUICK} --out run --force"));
        sandbox.read("run/report.html")
    };
    let set = "stays the same for long and then jumps";
    let plain = report("");
    assert!(plain.contains("Read with care") && plain.contains(set), "the warnings of `check`");
    assert!(plain.contains("<code>tax</code>"), "names are told from words");
    assert!(!report("--inputs tax").contains(set), "what was set is known by now");
}

#[test]
fn paths_that_run_away_are_told() {
    let (mut walk, mut noise) = (0.0_f64, 7_u64);
    let mut text = "time,price,x\n".to_owned();
    for row in 0..80 {
        noise =
            noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        walk += 16.0 * ((noise >> 33) as f64 / f64::from(u32::MAX) - 0.25);
        let _ = writeln!(text, "{row},{},{}", walk.exp(), row % 7);
    }
    let sandbox = Sandbox::with("walk.csv", text);
    sandbox.stdout(&format!("fit walk.csv --log price {QUICK} --out run"));
    let told = sandbox.run("forecast run --horizon 300 --paths 200 --seed 1");
    let warning = told.lines().find(|line| line.starts_with("warning")).unwrap_or(&told);
    assert_snapshot!(warning, @"warning: some paths run far away from all others in `price`, as the learned process has no bounds there: means, deviations and differences say nothing; read medians (q50), or ask for a shorter time");
}

#[test]
fn what_cannot_be_taken_out_is_refused() {
    let sandbox = sandbox();
    let refused = |flags: &str| sandbox.run(&format!("fit shop.csv {flags} {QUICK} --out other"));
    assert_snapshot!(refused("--log cost"), @r"
    exit 2
    --- stderr
    note: times are counted in days since 2000-01-01T00:00:00Z
    error: there is no variable `cost` to take the logarithm of; there are `sales`, `price`, `tax`
    ");
    assert_snapshot!(refused("--season 100"), @r"
    exit 2
    --- stderr
    note: times are counted in days since 2000-01-01T00:00:00Z
    error: a season of 100 rows needs a series of at least 200, and the longest has 120
    ");
    assert_snapshot!(refused("--inputs cost"), @r"
    exit 2
    --- stderr
    error: `--inputs` names `cost`, but the variables are `sales`, `price`, `tax`

    hint: inputs are columns of the table
    ");
    sandbox.stdout(&format!("fit shop.csv --log price {QUICK} --out run"));
    let ask = |change: &str| {
        let output = sandbox.command("intervene run --paths 5 --do").arg(change).output().unwrap();
        String::from_utf8(output.stderr).unwrap()
    };
    assert_snapshot!(ask("price = 0"), @"error: `price` was fitted on a logarithmic scale and is always positive, so it cannot be 0");
    assert_snapshot!(ask("drift(sales) = 0"), @"error: drift and diffusion of this model are those of what is left without season, trend and logarithm, and cannot be changed in the units of the data: hold or clip `sales` instead");
}

#[test]
fn known_edges_of_ignored_columns_are_left_out() {
    let sandbox = sandbox();
    sandbox.write("truth.csv", "source,target\nprice,sales\ntax,price\n");
    let told =
        sandbox.run(&format!("fit shop.csv --ignore tax --truth truth.csv {QUICK} --out run"));
    assert!(told.contains("note: 1 known edge of columns that were ignored left out"), "{told}");
}
