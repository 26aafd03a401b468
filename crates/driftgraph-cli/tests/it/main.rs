//! Runs the real binary in a folder of its own and compares all it says.

mod asking;
mod baseline;
mod check;
mod dates;
mod demo;
mod docs;
mod docs_outputs;
mod equations;
mod errors;
mod example;
mod experiment;
mod experiments_in_data;
mod faults;
mod fit;
mod generate;
mod help;
mod methods;
mod odd_tables;
mod preparation;
mod reading;
mod regimes;
mod report;
mod resume;
mod score;
mod short_data;
#[cfg(target_os = "linux")]
mod slurm;
mod sweep;
mod within_steps;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder in which the binary runs, so that messages show bare file names.
struct Sandbox {
    dir: TempDir,
}

impl Sandbox {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap() }
    }

    /// A sandbox with one file.
    fn with(name: &str, content: impl AsRef<[u8]>) -> Self {
        let sandbox = Self::new();
        sandbox.write(name, content);
        sandbox
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_driftgraph"));
        command.args(line.split_whitespace()).current_dir(self.dir.path());
        command.stdin(Stdio::null());
        command
    }

    fn output(&self, line: &str) -> Output {
        self.command(line).output().unwrap()
    }

    /// Exit code, standard output and standard error of a command, words split at blanks.
    fn run(&self, line: &str) -> String {
        let Output { status, stdout, stderr } = self.output(line);
        let code = status.code().expect("the binary is not killed by a signal");
        let mut text = format!("exit {code}\n");
        for (name, bytes) in [("stdout", stdout), ("stderr", stderr)] {
            if !bytes.is_empty() {
                let content = String::from_utf8(bytes).unwrap();
                let _ = writeln!(text, "--- {name}\n{}", content.trim_end_matches('\n'));
            }
        }
        text
    }

    /// Standard output of a command that must succeed.
    fn stdout(&self, line: &str) -> String {
        let output = self.output(line);
        let problem = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{line}: {problem}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The JSON object that a command prints.
    fn json(&self, line: &str) -> serde_json::Value {
        serde_json::from_str(&self.stdout(line)).unwrap()
    }
}

/// A file that the loader's own tests use.
fn loader_fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../driftgraph-data/tests/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

fn keys(object: &serde_json::Value) -> Vec<&str> {
    object.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The folder with the benchmark data; says so and gives `None` where it is missing.
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn benchmark_data() -> Option<PathBuf> {
    let fallback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let folder = std::env::var_os("DRIFTGRAPH_DATA").map_or(fallback, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no benchmark data in {}; set DRIFTGRAPH_DATA", folder.display());
    None
}
