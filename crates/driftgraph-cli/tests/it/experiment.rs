//! `experiment`: tables made cell by cell, kept, and never computed twice.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::Sandbox;

impl Sandbox {
    /// Names of the cells in a folder.
    fn cells(&self, folder: &str) -> BTreeSet<String> {
        let files = std::fs::read_dir(self.path(folder).join("cells")).unwrap();
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect()
    }

    /// One of the JSON files of a cell.
    fn cell(&self, folder: &str, cell: &str, file: &str) -> serde_json::Value {
        let text = self.read(&format!("{folder}/cells/{cell}/{file}.json"));
        serde_json::from_str(&text).unwrap()
    }

    /// Standard error of a command that must succeed.
    fn progress(&self, line: &str) -> String {
        let output = self.output(line);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.success(), "{line}: {text}");
        text
    }
}

/// The cells of a Markdown table's rows that begin as said.
fn rows(table: &str, start: &str) -> Vec<Vec<String>> {
    let cells = |line: &str| -> Vec<String> {
        line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    table.lines().filter(|line| line.starts_with(start)).map(cells).collect()
}

/// Values of a column of a CSV table.
fn column(table: &str, name: &str) -> Vec<String> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let idx = reader.headers().unwrap().iter().position(|column| column == name).unwrap();
    reader.records().map(|record| record.unwrap()[idx].to_owned()).collect()
}

/// How many cells were computed, as progress tells.
fn n_computed(progress: &str) -> usize {
    progress.lines().filter(|line| line.starts_with("cell ")).count()
}

/// A small table of three variables that move, and its truth.
fn small_data(shift: usize) -> (String, String) {
    let mut table = "series,time,A,B,C\n".to_owned();
    for series in 0..4 {
        for time in 0..21 {
            let phase = 0.7 * f64::from(time) + f64::from(series) + shift as f64;
            let values =
                [phase.sin(), (phase - 0.5).sin() + 0.1 * phase.cos(), (1.7 * phase).cos()];
            let [a, b, c] = values;
            let _ = writeln!(table, "{series},{time},{a},{b},{c}");
        }
    }
    (table, "cause,effect\nA,B\nB,C\n".to_owned())
}

#[test]
fn a_table_has_every_variant_and_method_with_both_conventions() {
    let sandbox = Sandbox::new();
    let line = "experiment lorenz --quick --seeds 2 --methods bridge,ridge --oracle --out out";
    let shown = sandbox.stdout(line);
    let table = sandbox.read("out/table.md");
    assert_eq!(shown, table);
    assert!(table.starts_with(&format!("`driftgraph {line}`\n")), "{table}");
    assert!(table.contains("these figures mean nothing"));
    let all = rows(&table, "| p = ");
    let labels: Vec<String> = all.iter().map(|cells| cells[..3].join("/")).collect();
    let expected = ["0", "0.3", "0.6"].into_iter().flat_map(|p| {
        ["bridge", "bridge-oracle", "ridge"].map(|method| format!("p = {p}/{method}/2"))
    });
    assert_eq!(labels, expected.collect::<Vec<_>>());
    assert!(all[1][12].contains("by the truth, for information only"), "{table}");
    // Simple scores have no threshold.
    assert_eq!(all[2][7..10], ["-", "-", "-"]);
    let csv = sandbox.read("out/table.csv");
    assert_eq!(column(&csv, "self_edges"), ["kept", "dropped"].repeat(9));
    assert_eq!(column(&csv, "as_in_the_paper"), ["true", "false"].repeat(9));

    let cells = sandbox.cells("out");
    let n_cells = |method: &str| cells.iter().filter(|name| name.contains(method)).count();
    assert_eq!((n_cells("_bridge_"), n_cells("_ridge_")), (6, 6));
    for name in &cells {
        let edges = sandbox.read(&format!("out/cells/{name}/edges.csv"));
        assert_eq!(edges.lines().count(), 1 + 100, "{name}");
        let command = sandbox.cell("out", name, "cost")["command"].as_str().unwrap().to_owned();
        assert!(command.starts_with("driftgraph fit "), "{command}");
        if name.contains("_bridge_") {
            let run = sandbox.cell("out", name, "run");
            // Each of them is a cell of the best by the truth.
            let n_candidates = run["selection"]["candidates"].as_array().unwrap().len();
            let start = name.rsplit_once('_').unwrap().0.replace("_bridge_seed", "_bridge-oracle");
            let (start, seed) = start.split_at(start.len() - 1);
            let tried = cells
                .iter()
                .filter(|one| one.starts_with(start) && one.contains(&format!("_seed{seed}_")));
            assert!(n_candidates > 1);
            assert_eq!(tried.count(), n_candidates, "{name}");
        }
    }
}

#[test]
fn a_cell_is_the_run_of_its_command() {
    let sandbox = Sandbox::new();
    let line = "experiment lorenz --quick --seeds 1 --only 0.3 --methods bridge,paper-lorenz,var";
    sandbox.stdout(&format!("{line} --out out"));
    for name in sandbox.cells("out") {
        let cost = sandbox.cell("out", &name, "cost");
        let command = cost["command"].as_str().unwrap().strip_prefix("driftgraph ").unwrap();
        sandbox.stdout(&format!("{command} --out by-hand --force"));
        let cell = format!("out/cells/{name}");
        assert_eq!(
            sandbox.read(&format!("{cell}/edges.csv")),
            sandbox.read("by-hand/edges.csv"),
            "{command}"
        );
        sandbox.stdout(&format!("graph {cell}"));
    }
}

#[test]
fn the_best_candidate_by_the_truth_is_never_worse_than_the_chosen_one() {
    let sandbox = Sandbox::new();
    sandbox.stdout("experiment glycolysis --quick --seeds 1 --methods bridge --oracle --out out");
    let table = sandbox.read("out/table.md");
    for pair in rows(&table, "| ").chunks(2).skip(1) {
        let auroc = |row: &[String]| row[3].parse::<f64>().unwrap();
        assert!(auroc(&pair[1]) >= auroc(&pair[0]), "{table}");
    }
}

#[test]
fn a_restart_computes_only_what_is_missing() {
    let sandbox = Sandbox::new();
    let line = "experiment lorenz --quick --seeds 1 --methods ridge,var --out out";
    assert_eq!(n_computed(&sandbox.progress(line)), 6);
    let before = sandbox.cells("out");
    let table = sandbox.read("out/table.md");
    assert_eq!(n_computed(&sandbox.progress(line)), 0);
    assert_eq!(sandbox.read("out/table.md"), table);

    let lost = before.iter().find(|name| name.starts_with("lorenz_p0.3_var_seed0")).unwrap();
    std::fs::remove_dir_all(sandbox.path(&format!("out/cells/{lost}"))).unwrap();
    let progress = sandbox.progress(line);
    assert!(progress.starts_with("cell 4 of 6: p = 0.3, var, seed 0: "), "{progress}");
    assert_eq!(n_computed(&progress), 1, "{progress}");
    assert_eq!(sandbox.cells("out"), before);
}

#[test]
fn a_larger_budget_goes_on_where_the_training_was_left() {
    let sandbox = Sandbox::new();
    let line = "experiment glycolysis --quick --only normalised --seeds 1 --methods scotch-paper";
    // Used up after the first epoch.
    sandbox.stdout(&format!("{line} --budget 0s --out parts"));
    assert!(sandbox.read("parts/table.md").contains("epochs 1 of 3"));
    let cells = sandbox.cells("parts");
    // The same budget again leaves the cell as it is.
    assert_eq!(n_computed(&sandbox.progress(&format!("{line} --budget 0s --out parts"))), 0);
    sandbox.stdout(&format!("{line} --budget 10m --out parts"));
    assert!(sandbox.read("parts/table.md").contains("epochs 3 of 3"));
    assert_eq!(sandbox.cells("parts"), cells, "more training makes no other cell");

    sandbox.stdout(&format!("{line} --budget 10m --out whole"));
    let name = cells.first().unwrap();
    let edges = |folder: &str| sandbox.read(&format!("{folder}/cells/{name}/edges.csv"));
    assert_eq!(edges("parts"), edges("whole"));
    let history = |folder: &str| -> Vec<serde_json::Value> {
        let log = sandbox.read(&format!("{folder}/cells/{name}/log.jsonl"));
        let lines =
            log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        lines.map(|line| serde_json::json!([line["step"], line["elbo"], line["auroc"]])).collect()
    };
    assert_eq!(history("parts"), history("whole"));
    assert_eq!(history("whole").len(), 2, "the first epoch and the last");
}

#[test]
fn training_cut_after_some_steps_is_the_same_however_it_came_there() {
    let sandbox = Sandbox::new();
    let line = "experiment glycolysis --quick --only normalised --seeds 1 --methods scotch-paper";
    sandbox.stdout(&format!("{line} --most-steps 2 --out cut"));
    assert!(sandbox.read("cut/table.md").contains("epochs 2 of 3"));
    assert_eq!(n_computed(&sandbox.progress(&format!("{line} --most-steps 2 --out cut"))), 0);
    // One epoch before.
    sandbox.stdout(&format!("{line} --budget 0s --out parts"));
    sandbox.stdout(&format!("{line} --most-steps 2 --out parts"));
    let name = sandbox.cells("cut").first().unwrap().clone();
    let edges = |folder: &str| sandbox.read(&format!("{folder}/cells/{name}/edges.csv"));
    assert_eq!(edges("cut"), edges("parts"));
    sandbox.stdout(&format!("{line} --out cut"));
    assert!(sandbox.read("cut/table.md").contains("epochs 3 of 3"));
}

#[test]
fn checkpoints_that_cannot_be_written_do_not_end_an_experiment() {
    let sandbox = Sandbox::new();
    let line =
        "experiment glycolysis --quick --only normalised --seeds 1 --methods scotch-paper,var";
    sandbox.stdout(&format!("{line} --budget 0s --out out"));
    let cells = sandbox.cells("out");
    let paper = cells.iter().find(|name| name.contains("_scotch-paper_")).unwrap();
    let checkpoints = sandbox.path(&format!("out/cells/{paper}/checkpoint"));
    std::fs::remove_dir_all(&checkpoints).unwrap();
    std::fs::write(&checkpoints, "in the way").unwrap();
    let progress = sandbox.progress(&format!("{line} --budget 10m --out out"));
    assert!(progress.contains("warning: cannot write a checkpoint"), "{progress}");
    let table = sandbox.read("out/table.md");
    assert!(table.contains("epochs 3 of 3"), "{table}");
    assert_eq!(rows(&table, "| normalised").len(), 2, "{table}");
}

#[test]
fn a_method_that_cannot_use_the_data_has_a_dash_and_the_reason() {
    let truth = small_data(0).1;
    let few = "series,time,A,B,C\n0,0,1,2,3\n0,1,2,1,4\n";
    let sandbox = Sandbox::with("mine/dream3/size10/Yeast1.csv", few);
    sandbox.write("mine/dream3/size10/Yeast1.truth.csv", truth);
    let line = "experiment dream3 --data mine --quick --seeds 1 --only Yeast1 --out out";
    let table = sandbox.stdout(&format!("{line} --methods var,ode-mean"));
    let row = &rows(&table, "| Yeast1, 10 genes | var")[0];
    assert_eq!((row[2].as_str(), row[3].as_str()), ("0 of 1", "-"), "{table}");
    assert!(row[12].contains("at least"), "{table}");
    assert_eq!(rows(&table, "| Yeast1, 10 genes | ode-mean")[0][2], "1", "{table}");
}

#[test]
fn training_is_drawn_for_methods_that_train() {
    let sandbox = Sandbox::new();
    let line = "experiment lorenz --quick --seeds 2 --only 0.3 --only 0.6 --methods bridge,var";
    let table = sandbox.stdout(&format!("{line} --out out"));
    assert_eq!(rows(&table, "| p = ").len(), 4, "{table}");
    let picture = sandbox.read("out/curves-bridge.svg");
    for text in ["AUROC", "F1", "TPR", "FDR", "p = 0.3", "p = 0.6", "95 % band"] {
        assert!(picture.contains(text), "{text}");
    }
    assert!(!picture.contains("p = 0<") && !sandbox.path("out/curves-var.svg").exists());
}

#[test]
fn tables_are_put_together_in_one() {
    let sandbox = Sandbox::new();
    let failed = sandbox.output("experiment overview --out out");
    let text = String::from_utf8(failed.stderr).unwrap();
    assert!(text.contains("has no folder with a table, e.g. `out/lorenz`"), "{text}");

    let line = "experiment lorenz --quick --seeds 2 --only 0.3 --methods";
    sandbox.stdout(&format!("{line} bridge,ridge,var --out out/lorenz"));
    sandbox.stdout(&format!("{line} scotch-paper --out out/lorenz-paper"));
    let overview = sandbox.stdout("experiment overview --out out");
    assert!(!overview.contains("by the truth"), "nobody asked for it: {overview}");
    let row = &rows(&overview, "| Lorenz-96, p = 0.3")[0];
    let csv = sandbox.read("out/lorenz/table.csv");
    let auroc: Vec<f64> =
        column(&csv, "auroc_mean").iter().map(|value| value.parse().unwrap()).collect();
    // Every other line drops self edges, which the paper keeps.
    assert!(row[1].starts_with(&format!("{:.3} ±", auroc[0])), "{overview}");
    assert!(row[5].starts_with(&format!("{:.3} (", auroc[2].max(auroc[4]))), "{overview}");
    assert!(row[4].ends_with("(epochs 3 of 3)"), "{overview}");
    assert!(sandbox.read("out/overview.svg").contains("Lorenz-96, p = 0.3"));
}

#[test]
fn a_shorter_solver_step_is_a_row_of_its_own() {
    let (table, truth) = small_data(0);
    let sandbox = Sandbox::with("mine/dream3/size100/Ecoli1.csv", table);
    sandbox.write("mine/dream3/size100/Ecoli1.truth.csv", truth);
    let table = sandbox.stdout("experiment step-size --data mine --quick --seeds 1 --out out");
    let labels: Vec<String> =
        rows(&table, "| Ecoli1").iter().map(|cells| cells[..2].join("/")).collect();
    let expected = ["0.05", "0.025"].map(|step| format!("Ecoli1, 100 genes, step {step}/bridge"));
    assert_eq!(labels, expected);
    let cells = sandbox.cells("out");
    let steps: Vec<f64> = cells
        .iter()
        .map(|name| sandbox.cell("out", name, "run")["settings"]["step_size"].as_f64().unwrap())
        .collect();
    // In the order of the names of the cells.
    assert_eq!(steps, [5.0, 10.0]);
}

#[test]
fn the_bimodal_example_is_drawn_and_kept() {
    let sandbox = Sandbox::new();
    let line = "experiment bimodal --quick --out out";
    let table = sandbox.stdout(line);
    assert_eq!(table, sandbox.read("out/table.md"));
    let methods: Vec<String> = ["ode-mean", "simulated", "bridge"]
        .iter()
        .flat_map(|name| rows(&table, &format!("| {name}")))
        .map(|cells| cells[1].clone())
        .collect();
    assert_eq!(methods, ["1", "1", "1"], "{table}");
    let picture = sandbox.read("out/bimodal.svg");
    assert_eq!(picture.matches("class=\"panel\"").count(), 4);
    // Twelve series, and sixty new paths of each method.
    assert_eq!(picture.matches("stroke-width=\"0.8\"").count(), 12 + 3 * 60, "{picture}");
    assert_eq!(sandbox.cells("out").len(), 3);
    let progress = sandbox.progress(line);
    assert!(!progress.contains("seed 0"), "nothing is computed again: {progress}");
}

#[test]
fn costs_are_measured_in_processes_of_their_own() {
    let sandbox = Sandbox::new();
    let line = "experiment scaling --quick --jobs 1 --out out";
    sandbox.stdout(line);
    let csv = sandbox.read("out/table.csv");
    let numbers = |name: &str| -> Vec<f64> {
        column(&csv, name).iter().map(|value| value.parse().unwrap()).collect()
    };
    assert_eq!(column(&csv, "grows").len(), 3 * 3 * 2);
    assert!(numbers("cpu_seconds").iter().all(|seconds| *seconds > 0.0), "{csv}");
    if cfg!(target_os = "linux") {
        // Each process holds the program itself at least; a shared one would show growing peaks only.
        let peaks = numbers("peak_bytes");
        assert!(peaks.iter().all(|bytes| *bytes > 1e6), "{csv}");
        assert!(peaks.windows(2).any(|pair| pair[1] < pair[0]), "{csv}");
        for name in ["variables", "series", "times"] {
            let picture = sandbox.read(&format!("out/scaling-{name}.svg"));
            assert!(picture.contains("Peak memory, MB"), "{name}");
        }
    }
    let progress = sandbox.progress(line);
    assert!(!progress.contains("variables,"), "nothing is measured again: {progress}");
}

#[cfg(unix)]
#[test]
fn an_interrupt_keeps_what_is_finished_and_says_how_to_go_on() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command("experiment calibration --quick --seeds 100000 --out out");
    command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut child = command.spawn().unwrap();
    let finished = || {
        let folder = std::fs::read_dir(sandbox.path("out/cells"));
        folder.is_ok_and(|mut cells| {
            cells.any(|cell| cell.unwrap().path().join("cost.json").is_file())
        })
    };
    while !finished() {
        assert!(child.try_wait().unwrap().is_none(), "it must run until it is stopped");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let killed =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(
        text.contains("of 100000 cells finished; the same command goes on from there"),
        "{text}"
    );
    assert!(sandbox.read("out/table.md").starts_with("`driftgraph experiment calibration"));
    // Whatever was written is whole.
    for name in sandbox.cells("out") {
        sandbox.cell("out", &name, "job");
        if sandbox.path(&format!("out/cells/{name}/run.json")).exists() {
            sandbox.cell("out", &name, "run");
        }
    }
}

#[test]
fn calibration_adds_up_over_systems() {
    let sandbox = Sandbox::new();
    let table = sandbox.stdout("experiment calibration --quick --seeds 3 --out out");
    assert!(sandbox.read("out/reliability.svg").starts_with("<svg"));
    let csv = sandbox.read("out/table.csv");
    let numbers = |name: &str| -> Vec<f64> {
        let text = column(&csv, name);
        text.iter().map(|value| value.parse().unwrap_or(0.0)).collect()
    };
    let (pairs, edges, predicted, ece) =
        (numbers("pairs"), numbers("edges"), numbers("predicted"), numbers("ece"));
    let (mut n_pairs, mut n_edges) = ([0.0; 2], [0.0; 2]);
    for name in sandbox.cells("out") {
        let job = sandbox.cell("out", &name, "job");
        let n_variables = job["data"]["variables"].as_f64().unwrap();
        let truth = job["truth"]["edges"].as_array().unwrap();
        let others = truth.iter().filter(|edge| edge[0] != edge[1]).count();
        // Self edges dropped, then kept.
        n_pairs[0] += n_variables * (n_variables - 1.0);
        n_pairs[1] += n_variables * n_variables;
        n_edges[0] += others as f64;
        n_edges[1] += truth.len() as f64;
    }
    // Ten bins and their sum, for each convention.
    for (idx, first) in [0, 11].into_iter().enumerate() {
        let (bins, all) = (first..first + 10, first + 10);
        assert_eq!(bins.clone().map(|bin| pairs[bin]).sum::<f64>(), pairs[all]);
        assert_eq!((pairs[all], edges[all]), (n_pairs[idx], n_edges[idx]));
        let gaps = bins.map(|bin| (edges[bin] - predicted[bin] * pairs[bin]).abs());
        // Products and quotients of a few thousand, rounded once each.
        assert!((gaps.sum::<f64>() / pairs[all] - ece[all]).abs() < 1e-9, "{csv}");
        let name = ["dropped", "kept"][idx];
        let row = &rows(&table, &format!("| {name}"))[0];
        assert_eq!(row[4], format!("{:.3}", ece[all]));
    }
}

#[test]
fn fixed_data_are_read_from_a_folder_and_simple_methods_run_once() {
    let (table, truth) = small_data(0);
    let sandbox = Sandbox::with("mine/netsim/sim3_subjects2-6.csv", table);
    sandbox.write("mine/netsim/sim3.truth.csv", truth);
    let line = "experiment netsim --data mine --quick --seeds 2 --methods var,bridge --out out";
    let table = sandbox.stdout(line);
    let counts: Vec<String> =
        rows(&table, "| p = ").iter().map(|cells| cells[..3].join("/")).collect();
    assert_eq!(
        counts,
        [
            "p = 0/var/1",
            "p = 0/bridge/2",
            "p = 0.1/var/2",
            "p = 0.1/bridge/2",
            "p = 0.2/var/2",
            "p = 0.2/bridge/2"
        ]
    );
    let rows_left = |name: &str| -> u64 {
        let cells = sandbox.cells("out");
        let found = cells.iter().find(|cell| cell.starts_with(name)).unwrap();
        sandbox.cell("out", found, "run")["data"]["rows"].as_u64().unwrap()
    };
    assert_eq!(rows_left("netsim_p0_var_seed0"), 84);
    // Of 21 times none is dropped at p = 0.2 in one of a hundred patterns; these are two.
    let left = [0, 1].map(|seed| rows_left(&format!("netsim_p0.2_var_seed{seed}")));
    assert!(left.iter().any(|&n_rows| n_rows < 84) && left[0] != left[1], "{left:?}");
}

#[test]
fn networks_are_averaged_seed_by_seed() {
    let sandbox = Sandbox::new();
    for (idx, name) in ["Ecoli1", "Ecoli2", "Yeast1", "Yeast2", "Yeast3"].iter().enumerate() {
        let (table, truth) = small_data(idx);
        sandbox.write(&format!("mine/dream3/size10/{name}.csv"), table);
        sandbox.write(&format!("mine/dream3/size10/{name}.truth.csv"), truth);
    }
    sandbox.stdout("experiment dream3 --data mine --quick --methods ridge --out out");
    let csv = sandbox.read("out/table.csv");
    let auroc: Vec<f64> =
        column(&csv, "auroc_mean").iter().map(|value| value.parse().unwrap()).collect();
    // Two conventions for each of five networks, then for their mean.
    for convention in 0..2 {
        let networks = (0..5).map(|idx| auroc[2 * idx + convention]);
        // Five sums of numbers below 1.
        assert!((networks.sum::<f64>() / 5.0 - auroc[10 + convention]).abs() < 1e-12, "{csv}");
    }
    assert_eq!(column(&csv, "self_edges")[0], "dropped");
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_computed() {
    let sandbox = Sandbox::new();
    let run = |line: &str| {
        let mut command = sandbox.command(line);
        let output = command.env_remove("DRIFTGRAPH_DATA").output().unwrap();
        format!(
            "exit {}\n{}",
            output.status.code().unwrap(),
            String::from_utf8_lossy(&output.stderr)
        )
    };
    assert_snapshot!(run("experiment netsim --out out"), @r"
    exit 2
    error: `netsim` needs data that are not part of this program; name their folder with `--data DIR`
    ");
    assert_snapshot!(run("experiment netsim --data . --out out"), @r"
    exit 2
    error: the data folder `.` has no folder `netsim`
    ");
    assert_snapshot!(run("experiment lorenz --methods var --oracle --out out"), @r"
    exit 2
    error: `--oracle` needs the method `bridge`, whose candidates it judges
    ");
    assert_snapshot!(run("experiment lorenz --only 0.9 --out out"), @r"
    exit 2
    error: `--only 0.9` fits none of the data: p = 0; p = 0.3; p = 0.6
    ");
    assert_snapshot!(run("experiment bimodal --oracle --out out"), @r"
    exit 2
    error: `bimodal` has no `--oracle`
    ");
    assert_snapshot!(run("experiment calibration --methods ridge --out out"), @r"
    exit 2
    error: `calibration` looks at the probabilities of `bridge`, not at `ridge`
    ");
    assert!(!sandbox.path("out/table.md").exists());
}
