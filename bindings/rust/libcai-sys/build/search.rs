// SPDX-License-Identifier: BSD-3-Clause
//! Asks the places that may know where a libcai is.

use std::path::PathBuf;
use std::process::Command;

use crate::{Library, installed};

/// Who has memory has the exchange.
const PACKAGE: &str = if cfg!(feature = "memory") { "libcai-memory" } else { "libcai" };

/// By libcai.pc, or libcai-memory.pc, which pkg-config looks for where PKG_CONFIG_PATH says, too.
pub fn by_pkg_config() -> Result<Library, String> {
    pkg_config::Config::new().cargo_metadata(false).probe(PACKAGE).map_err(
        |error| match error {
            pkg_config::Error::ProbeFailure { output, .. } => first_line(&output.stderr),
            other => other.to_string(),
        },
    )?;
    // The flags leave out the system's own folders.
    let folder = |name| pkg_config::get_variable("libcai", name).map(PathBuf::from);
    let variable = |name| folder(name).map_err(|error| error.to_string());
    installed::link(variable("includedir")?, variable("libdir")?)
}

/// In the Python package, which the environment's `libcai` or else its python3 names.
pub fn in_wheel() -> Result<Library, String> {
    println!("cargo::rerun-if-env-changed=VIRTUAL_ENV");
    let ask = |program: &str, arguments: &[&str]| -> Result<Library, String> {
        let mut command = Command::new(program);
        // Not in the crate's own folder, where Python takes libcai/ for a package.
        command.args(arguments).args(["config", "--includedir", "--libdir"]).current_dir("/");
        let output = command.output().map_err(|error| format!("{program}: {error}"))?;
        let answer = String::from_utf8_lossy(&output.stdout);
        match answer.lines().collect::<Vec<_>>()[..] {
            [include, lib] if output.status.success() => {
                installed::link(include.into(), lib.into())
            }
            _ => Err(format!("{program}: {}", first_line(&output.stderr))),
        }
    };
    ask("libcai", &[]).or_else(|no_command| {
        ask("python3", &["-m", "libcai"]).map_err(|no_module| format!("{no_command}; {no_module}"))
    })
}

fn first_line(errors: &[u8]) -> String {
    let text = String::from_utf8_lossy(errors);
    text.lines().next().unwrap_or("it says nothing").to_owned()
}
