//! `serve`: the whole tool as a page in the browser, for this user on this machine.

use std::process::{Command, ExitCode, Stdio};

use driftgraph_serve::{ServeOptions, serve};

use crate::args::ServeArgs;
use crate::printer;

pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let options = ServeOptions {
        folder: args.folder.clone(),
        port: args.port,
        max_upload: args.max_upload << 20,
    };
    serve(&options, |address| {
        // Scripts read the address, so it is data; nothing can be done about a closed output.
        let _ = printer::data(address);
        printer::note(&format!(
            "the page is open to this computer and this address alone; runs are kept in `{}`; Ctrl-C ends it",
            args.folder.display()
        ));
        if !args.no_open {
            open(address);
        }
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Shows the page; where that is not possible the user has its address.
fn open(address: &str) {
    let program = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(program);
    command.arg(address).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    if command.spawn().is_err() {
        printer::note("open the address above in a browser");
    }
}
