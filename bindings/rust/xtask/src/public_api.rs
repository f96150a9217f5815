// SPDX-License-Identifier: BSD-3-Clause
//! The public API of libcai as text, of what rustdoc says of it.

use std::error::Error;
use std::path::Path;
use std::process::Command;

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
    let target = workspace.join("target/public-api"); // or all would be compiled anew after it
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--quiet", "--package=libcai", "--lib", "--all-features", "--"])
        .args(["-Zunstable-options", "--output-format=json"])
        .env("RUSTC_BOOTSTRAP", "1") // JSON is for nightly only, by name
        .env("CARGO_TARGET_DIR", &target)
        .current_dir(workspace)
        .status()?;
    if !status.success() {
        return Err(format!("cargo rustdoc: {status}").into());
    }
    let api = public_api::Builder::from_rustdoc_json(target.join("doc/libcai.json"))
        .omit_blanket_impls(true)
        .build()?;
    let lines = api.items().map(|item| format!("{item}\n"));
    Ok(lines.filter(|line| !is_of_compiler(line)).collect())
}

fn is_of_compiler(line: &str) -> bool {
    line.starts_with("impl")
        && COMPILERS_OWN.iter().any(|name| line.contains(&format!(" {name} for ")))
}
