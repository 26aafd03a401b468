//! `example`: real data that come with the program.

use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn hare_and_lynx_are_written_and_can_be_checked() {
    let sandbox = Sandbox::new();
    assert_snapshot!(sandbox.run("example hare-lynx --out pelts"), @r"
    exit 0
    --- stderr
    pelts: pelts of snowshoe hares and lynx, in thousands, that trappers sold to the Hudson's Bay Company in the years 1845 to 1935
    next: driftgraph fit pelts/data.csv --truth pelts/truth.csv --out pelts/run
    ");
    let understood = sandbox.stdout("check pelts/data.csv");
    assert!(understood.contains("1 series of 91 rows, 2 variables"), "{understood}");
    // The truth names the columns of the data.
    let scored = sandbox.stdout("score pelts/truth.csv --truth pelts/truth.csv --json");
    assert!(scored.contains("\"n_edges\": 4"), "{scored}");
}

#[test]
fn somebody_elses_table_is_not_replaced() {
    let sandbox = Sandbox::with("data.csv", "time,x\n1,2\n");
    assert_snapshot!(sandbox.run("example hare-lynx --out ."), @r"
    exit 2
    --- stderr
    error: `./data.csv` exists and is another file; use another folder or `--force`
    ");
    assert_eq!(sandbox.read("data.csv"), "time,x\n1,2\n");
    assert!(!sandbox.path("truth.csv").exists());
    sandbox.run("example hare-lynx --out . --force");
    assert!(sandbox.read("data.csv").starts_with("Year,Hare,Lynx\n1845,"));
    // What is there already is no obstacle.
    assert!(sandbox.run("example hare-lynx --out .").starts_with("exit 0"));
}
