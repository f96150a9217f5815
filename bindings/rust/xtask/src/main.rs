// SPDX-License-Identifier: BSD-3-Clause
//! The workspace's own chores; no crate depends on it.
//!
//! `cargo run -p xtask -- bindings` writes what libcai-sys has of the C headers, and `-- public-api`
//! what libcai offers, which is read where it changes. With `--check` either compares instead, and
//! fails if something differs.

mod bindings;
mod docs;
mod public_api;
mod sums;

use std::error::Error;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

const USAGE: &str = "usage: cargo run -p xtask -- (bindings | public-api) [--check]";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["bindings"] => bindings(false),
        ["bindings", "--check"] => bindings(true),
        ["public-api"] => public_api(false),
        ["public-api", "--check"] => public_api(true),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

const MEANT: &str = "what the headers say; write it anew: cargo run -p xtask -- bindings";

fn bindings(check: bool) -> Result<(), Box<dyn Error>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let crate_dir = workspace.join("libcai-sys");
    let made = bindings::generate(&crate_dir)?;
    for (path, file, table) in
        [("src/bindings.rs", &made.exchange, "exchange"), ("src/memory.rs", &made.memory, "memory")]
    {
        let text = rustfmt(&bindings::to_text(file))?;
        settle(&crate_dir.join(path), &bindings::as_macro(&text, table), check, MEANT)?;
    }
    settle(&crate_dir.join("bindings.sha256"), &sums::list(&workspace)?, check, MEANT)
}

fn public_api(check: bool) -> Result<(), Box<dyn Error>> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = public_api::list(&workspace)?;
    let meant = "what the crate offers; if that is meant: cargo run -p xtask -- public-api";
    settle(&workspace.join("libcai/public-api.txt"), &text, check, meant)
}

/// Writes the file, or fails unless it is the same.
fn settle(path: &Path, text: &str, check: bool, meant: &str) -> Result<(), Box<dyn Error>> {
    if check { compare(path, text, meant) } else { Ok(fs::write(path, text)?) }
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
fn compare(path: &Path, wanted: &str, meant: &str) -> Result<(), Box<dyn Error>> {
    let found = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    if found == wanted {
        return Ok(());
    }
    let pairs = found.lines().zip(wanted.lines());
    let line = pairs.take_while(|(found, wanted)| found == wanted).count();
    let nth = |text: &str| text.lines().nth(line).unwrap_or("(the end)").to_owned();
    Err(format!(
        "{} is not {meant}\nline {}, in the file:  {}\nline {}, anew:         {}",
        path.display(),
        line + 1,
        nth(&found),
        line + 1,
        nth(wanted),
    )
    .into())
}
