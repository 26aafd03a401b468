//! Methods of the registry, from one file and one line to every command; and the command that repeats a run.

use std::process::{Command, Stdio};

use crate::Sandbox;

/// Data of a small linear system, and its edges.
fn system() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox
        .stdout("generate linear --set variables=3 --set parents=1 --series 4 --points 25 --seed 3 --out linear");
    sandbox
}

/// The command in the report of a run, run again by a shell.
fn repeated(sandbox: &Sandbox, run: &str) -> String {
    let command = sandbox.json(&format!("report {run} --json"))["provenance"]["command"]
        .as_str()
        .unwrap()
        .to_owned();
    let binary = env!("CARGO_BIN_EXE_driftgraph");
    let line = command.replacen("driftgraph", binary, 1);
    let output = Command::new("sh")
        .args(["-c", &format!("{line} --out again --force")])
        .current_dir(sandbox.path("."))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        sandbox.read("again/edges.csv"),
        sandbox.read(&format!("{run}/edges.csv")),
        "{command}"
    );
    command
}

#[test]
fn a_method_of_one_file_and_one_line_reaches_every_command() {
    let sandbox = system();
    assert!(sandbox.stdout("methods").contains("toy"));
    let described = sandbox.json("methods toy --json");
    assert_eq!((&described["name"], &described["fast"]), (&"toy".into(), &true.into()));
    sandbox.stdout("fit linear/data.csv --method toy --out run");
    for file in ["edges.csv", "run.json", "report.html", "graph.svg"] {
        assert!(sandbox.path("run").join(file).is_file(), "{file}");
    }
    assert!(!sandbox.path("run/model.safetensors").exists());
    assert!(sandbox.read("run/edges.csv").starts_with("source,target,score\nx1,x1,1\n"));
    assert!(sandbox.stdout("graph run --top 2").contains("x2"));
    assert!(
        sandbox.json("score run --truth linear/truth.csv --json")["auroc"].is_number()
            || sandbox.stdout("score run --truth linear/truth.csv").contains("AUROC")
    );
    let refused = sandbox.run("simulate run");
    assert!(refused.starts_with("exit 2") && refused.contains("which learns edges and no process"));
    assert!(sandbox.stdout("baseline toy linear/data.csv").starts_with("source,target,score"));
    assert!(
        sandbox
            .stdout("experiment lorenz --quick --seeds 1 --methods toy --out table")
            .contains("toy")
    );
}

#[test]
fn what_methods_make_of_inputs_and_interventions_is_listed() {
    let sandbox = Sandbox::new();
    let known = "inputs and interventions: taken as they are";
    assert!(sandbox.stdout("methods bridge").contains(known));
    let values = "takes inputs as variables like others, and does not know of interventions";
    assert!(sandbox.stdout("methods ridge").contains(values));
    let takes = |method: &str| sandbox.json(&format!("methods {method} --json"))["takes"].clone();
    assert_eq!(takes("drifting")["experiments"], true);
    assert_eq!(takes("var")["experiments"]["instead"], values);
}

#[test]
fn compare_puts_methods_beside_each_other_and_goes_on_where_it_was() {
    let sandbox = system();
    let line =
        "compare linear/data.csv --methods ridge,var,toy --truth linear/truth.csv --out compared";
    let told = sandbox.stdout(line);
    for words in ["ridge", "rank correlation / overlap", "what most agree on"] {
        assert!(told.contains(words), "{told}");
    }
    for file in ["compare.html", "methods.csv", "agreement.csv", "agreed-edges.csv"] {
        assert!(sandbox.path("compared").join(file).is_file(), "{file}");
    }
    let view = sandbox.json(&format!("{line} --json"));
    assert_eq!(view["runs"].as_array().unwrap().len(), 3);
    assert_eq!(view["rank_correlations"][0][0], 1.0);
    assert!(view["runs"][0]["metrics"]["auroc"].is_number());
    // What is there is found, not learned again.
    let before =
        std::fs::metadata(sandbox.path("compared/ridge/run.json")).unwrap().modified().unwrap();
    sandbox.stdout(line);
    let after =
        std::fs::metadata(sandbox.path("compared/ridge/run.json")).unwrap().modified().unwrap();
    assert_eq!(before, after);
}

#[test]
fn compare_tells_what_each_method_did_with_holes() {
    let sandbox = Sandbox::new();
    let row = |row: usize| {
        let b = if row == 7 { String::new() } else { (row * 5 % 11).to_string() };
        format!("{row},{},{b}\n", row * 7 % 13)
    };
    let table: String = (0..30).map(row).collect();
    let table = format!("time,a,b\n{table}");
    sandbox.write("holes.csv", &table);
    let line = "compare holes.csv --methods ridge,var --out compared";
    let told = sandbox.stdout(line);
    assert!(told.contains("remarks:") && told.contains("- var: "), "{told}");
    let page = std::fs::read_to_string(sandbox.path("compared/compare.html")).unwrap();
    assert!(page.contains("<li>var: "), "the page has them too");
    let view = sandbox.json(&format!("{line} --json"));
    assert!(!view["runs"][1]["remarks"].as_array().unwrap().is_empty());
}

#[test]
fn the_command_of_a_report_repeats_the_fit_of_every_method() {
    let sandbox = system();
    for method in driftgraph_methods::METHODS.iter().map(|method| method.name()) {
        // Settings that are short to run, some of them false, some of a preset.
        let small = match method {
            "bridge" => "--select none --ensemble 1 --steps 5",
            "simulated" => "--steps 3 --hidden-size 8 --node-width 8 --standardize=false",
            "ode-mean" => "--steps 3",
            "ngm" => "--steps 3 --standardize --clock given",
            "cuts" => "--fill-after 1 --masked-epochs 1 --last-epochs 1 --logits paper",
            "rhino" | "rhino-noinst" => "--rounds 1 --steps 2",
            "lsde" => "--steps 3 --standardize=false",
            "dyngenie3" => "--trees 5",
            "pcmci" => "--preset pcmci-paper",
            "pcmci-plus" => "--tau-max 2",
            "varlingam" => "--prune=false",
            "var" => "--season 12 --detrend",
            _ => "",
        };
        sandbox.stdout(&format!("fit linear/data.csv --method {method} {small} --out run --force"));
        repeated(&sandbox, "run");
        assert!(sandbox.path("run/log.jsonl").is_file(), "{method} has the files of every run");
    }
}

#[test]
fn the_command_of_a_report_has_every_kind_of_setting() {
    let sandbox = system();
    let small = "--steps 5 --ensemble 1";
    sandbox.stdout(&format!("fit linear/data.csv {small} --select none --density common --forbid x1->x2 --require x2->x3 --prior x3->x1=0.3 --out run"));
    let command = repeated(&sandbox, "run");
    assert!(command.contains("--prior 'x3->x1=0.3'"), "{command}");
    // Of a settings file, nested ones among them.
    sandbox.write("settings.toml", "steps = 5\n[bridge]\nselect = \"none\"\nensemble = 1\nrates = { graph = 0.01 }\nnoise_scale = 0.05\n");
    sandbox.stdout("fit linear/data.csv --config settings.toml --seed 4 --out file-run");
    assert!(repeated(&sandbox, "file-run").contains("--rates"));
    // Flags that are false.
    sandbox.stdout("fit linear/data.csv --preset simulated --standardize=false --steps 3 --hidden-size 8 --node-width 8 --out simulated-run");
    let command = repeated(&sandbox, "simulated-run");
    assert!(command.contains("--standardize=false"), "{command}");
    let view = sandbox.json("report simulated-run --json");
    let settings = view["provenance"]["settings"].as_array().unwrap();
    assert!(
        settings.iter().any(|row| row[0] == "sparsity"),
        "all settings of the simulated posterior"
    );
}

#[test]
fn settings_of_other_methods_and_known_edges_are_refused_by_name() {
    let sandbox = system();
    let other = sandbox.run("fit linear/data.csv --method ridge --ensemble 3");
    assert!(other.contains("`ensemble` is a setting of `bridge`, not of `ridge`"), "{other}");
    let known = sandbox.run("fit linear/data.csv --method var --forbid x1->x2");
    assert!(known.contains("`var` cannot take what is known of edges"), "{known}");
    let preset = sandbox.run("fit linear/data.csv --method bridge --preset paper");
    assert!(
        preset.contains("`paper` is a preset of the method `simulated`, not of `bridge`"),
        "{preset}"
    );
}

#[test]
fn a_run_of_the_version_before_is_still_read_and_a_newer_one_refused_by_name() {
    let sandbox = system();
    sandbox.stdout("fit linear/data.csv --steps 5 --ensemble 1 --select none --out run");
    let file = sandbox.path("run/run.json");
    let mut record: serde_json::Value =
        serde_json::from_str(&sandbox.read("run/run.json")).unwrap();
    record["format_version"] = 2.into();
    record["preset"] = "bridge".into();
    record
        .as_object_mut()
        .unwrap()
        .retain(|key, _| !["method", "variables", "remarks"].contains(&key.as_str()));
    std::fs::write(&file, record.to_string()).unwrap();
    assert!(sandbox.stdout("graph run --top 1").contains('x'));
    record["format_version"] = 9.into();
    std::fs::write(&file, record.to_string()).unwrap();
    let refused = sandbox.run("graph run");
    assert!(refused.contains("has format 9, which is newer than format 3"), "{refused}");
}
