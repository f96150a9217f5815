// SPDX-License-Identifier: BSD-3-Clause
//! The workspace's own chores; no crate depends on it.
//!
//! `cargo run -p xtask -- bindings` writes what libcai-sys has of the C headers;
//! `-- bindings --check` compares it instead, and fails if it differs.

mod bindings;
mod docs;
mod table;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "usage: cargo run -p xtask -- bindings [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bindings"] => false,
        ["bindings", "--check"] => true,
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match bindings(check) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn bindings(check: bool) -> Result<(), Box<dyn Error>> {
    let crate_dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../libcai-sys");
    let bindings = bindings::generate(&crate_dir)?;
    let table = table::generate(&bindings);
    for (path, text) in
        [("src/bindings.rs", bindings::to_text(&bindings)), ("tests/abi/table.rs", table)]
    {
        let path = crate_dir.join(path);
        let text = bindings::as_macro(&rustfmt(&text)?);
        if check {
            compare(&path, &text)?;
        } else {
            fs::write(&path, text)?;
        }
    }
    Ok(())
}

fn rustfmt(text: &str) -> Result<String, Box<dyn Error>> {
    let mut child = Command::new("rustfmt")
        .current_dir(env!("CARGO_MANIFEST_DIR")) // whose rustfmt.toml is the workspace's
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| format!("rustfmt cannot be run: {error}"))?;
    // All of it is read before anything is printed.
    let mut input = child.stdin.take().ok_or("rustfmt has no standard input")?;
    input.write_all(text.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        return Err(format!("rustfmt: {}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// Fails, with the first line that differs, unless the file holds the text.
fn compare(path: &PathBuf, wanted: &str) -> Result<(), Box<dyn Error>> {
    let found = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if found == wanted {
        return Ok(());
    }
    let same = found.lines().zip(wanted.lines()).take_while(|(found, wanted)| found == wanted);
    let line = same.count();
    let nth = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    Err(format!(
        "{} is not what the headers say; write it anew: cargo run -p xtask -- bindings\n\
         line {}, in the file:     {}\nline {}, by the headers:  {}",
        path.display(),
        line + 1,
        nth(&found),
        line + 1,
        nth(wanted),
    )
    .into())
}
