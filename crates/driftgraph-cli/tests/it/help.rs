//! Help: every command shows an example and its options.

use insta::assert_snapshot;

use crate::Sandbox;

#[test]
fn the_first_page_lists_every_command() {
    let help = Sandbox::new().stdout("--help");
    for command in ["demo", "check", "score", "generate", "baseline"] {
        assert!(help.lines().any(|line| line.trim_start().starts_with(command)), "{help}");
    }
    assert!(help.contains("Start with:\n  driftgraph demo"), "{help}");
}

#[test]
fn help_of_check() {
    assert_snapshot!(Sandbox::new().stdout("check --help"), @"");
}

#[test]
fn help_of_score() {
    assert_snapshot!(Sandbox::new().stdout("score --help"), @"");
}

#[test]
fn help_of_generate() {
    assert_snapshot!(Sandbox::new().stdout("generate --help"), @"");
}

#[test]
fn help_of_baseline() {
    assert_snapshot!(Sandbox::new().stdout("baseline --help"), @"");
}

#[test]
fn help_of_demo() {
    assert_snapshot!(Sandbox::new().stdout("demo --help"), @"");
}

#[test]
fn a_wrong_option_exits_with_2() {
    assert_snapshot!(Sandbox::new().run("check data.csv --tiem t"), @"");
}
