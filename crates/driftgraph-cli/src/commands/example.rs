//! `example`: real measurements that come with the program.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;

use crate::args::{ExampleArgs, ExampleName};
use crate::output::write_file;
use crate::printer;

/// A built-in data set.
struct Example {
    data: &'static str,
    truth: &'static str,
    about: &'static str,
}

const HARE_LYNX: Example = Example {
    data: include_str!("../examples/hare-lynx.csv"),
    truth: include_str!("../examples/hare-lynx-truth.csv"),
    about: "pelts of snowshoe hares and lynx, in thousands, that trappers sold to the Hudson's Bay Company in the years 1845 to 1935",
};

pub(crate) fn run(args: &ExampleArgs) -> anyhow::Result<ExitCode> {
    let example = match args.name {
        ExampleName::HareLynx => HARE_LYNX,
    };
    let (data, truth) = (args.out.join("data.csv"), args.out.join("truth.csv"));
    let files = [(&data, example.data), (&truth, example.truth)];
    for (path, text) in files {
        refuse_other_content(path, text, args.force)?;
    }
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("cannot make the folder `{}`", args.out.display()))?;
    for (path, text) in files {
        write_file(path, |out| out.write_all(text.as_bytes()))?;
    }
    printer::note(&format!("{}: {}", args.out.display(), example.about));
    printer::note(&format!(
        "next: driftgraph fit {} --truth {} --out {}",
        data.display(),
        truth.display(),
        args.out.join("run").display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// A table that this command did not write may be somebody's only copy.
fn refuse_other_content(path: &Path, text: &str, force: bool) -> anyhow::Result<()> {
    let same = || std::fs::read(path).is_ok_and(|found| found == text.as_bytes());
    anyhow::ensure!(
        force || !path.exists() || same(),
        "`{}` exists and is another file; use another folder or `--force`",
        path.display()
    );
    Ok(())
}
