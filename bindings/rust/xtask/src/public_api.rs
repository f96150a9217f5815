// SPDX-License-Identifier: BSD-3-Clause
//! The public API of libcai as text, by the program cargo-public-api.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};

/// Traits that the compiler alone has to do with; which ones there are depends on its version.
const COMPILERS_OWN: [&str; 5] = [
    "core::marker::Freeze",
    "core::marker::Unpin",
    "core::marker::UnsafeUnpin",
    "core::panic::unwind_safe::RefUnwindSafe",
    "core::panic::unwind_safe::UnwindSafe",
];

/// One line for each item, and for each trait that a type implements, `Send` and `Sync` too.
pub fn list(workspace: &Path) -> Result<String, Box<dyn Error>> {
    let output = Command::new("cargo-public-api")
        .args(["public-api", "--package=libcai", "--all-features", "--omit=blanket-impls"])
        .current_dir(workspace)
        .env("RUSTC_BOOTSTRAP", "1") // what it asks of rustdoc is for nightly only, by name
        .env("CARGO_TARGET_DIR", "target/public-api") // or all would be compiled anew after it
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo-public-api cannot be run: {error} (tools/setup long)"))?;
    if !output.status.success() {
        return Err(format!("cargo-public-api: {}", output.status).into());
    }
    let text = String::from_utf8(output.stdout)?;
    let lines = text.lines().filter(|line| !is_of_compiler(line));
    Ok(lines.flat_map(|line| [line, "\n"]).collect())
}

fn is_of_compiler(line: &str) -> bool {
    line.starts_with("impl")
        && COMPILERS_OWN.iter().any(|name| line.contains(&format!(" {name} for ")))
}
