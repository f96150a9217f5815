// SPDX-License-Identifier: BSD-3-Clause
//! The sums of what the bindings are made of, and of what was made: they tell, without bindgen, that
//! both are as they were when that ran. `make test` looks at these alone, `make test-long` makes anew.

use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

const HEAD: &str = "\
# SPDX-License-Identifier: BSD-3-Clause
# Written by `cargo run -p xtask -- bindings`; read by `sha256sum --check`, in the workspace.
";
const OTHERS: [&str; 7] = [
    "libcai-sys/src/bindings.rs",
    "libcai-sys/src/memory.rs",
    "rustfmt.toml",
    "xtask/Cargo.toml",
    "xtask/src/bindings.rs",
    "xtask/src/docs.rs",
    "xtask/src/main.rs",
];

pub fn list(workspace: &Path) -> Result<String, Box<dyn Error>> {
    let mut files = BTreeSet::from(OTHERS.map(String::from));
    add(workspace, "libcai-sys/headers/exchange.h", &mut files)?;
    add(workspace, "libcai-sys/headers/memory.h", &mut files)?;
    let output = Command::new("sha256sum").args(files).current_dir(workspace).output()?;
    if !output.status.success() {
        return Err(format!("sha256sum: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(HEAD.to_owned() + &String::from_utf8(output.stdout)?)
}

/// Adds a header, and each of ours that it includes.
fn add(workspace: &Path, header: &str, files: &mut BTreeSet<String>) -> Result<(), Box<dyn Error>> {
    if !files.insert(header.to_owned()) {
        return Ok(());
    }
    let path = workspace.join(header);
    let text = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    for line in text.lines() {
        let included = line.strip_prefix("#include <").and_then(|rest| rest.strip_suffix('>'));
        if let Some(name) = included.filter(|name| name.starts_with("cai")) {
            add(workspace, &format!("../../include/{name}"), files)?;
        }
    }
    Ok(())
}
