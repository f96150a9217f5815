// SPDX-License-Identifier: BSD-3-Clause
//! What the compiler must refuse. Its words are compared where they are those of the compiler that
//! wrote them; any other one must refuse as well.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const WORDS_OF: &str = "rustc 1.95.";

#[test]
fn the_compiler_refuses() {
    let version = Command::new(env::var_os("RUSTC").unwrap_or("rustc".into()))
        .arg("--version")
        .output()
        .expect("rustc runs");
    let mut cases = PathBuf::from("tests/ui");
    if !version.stdout.starts_with(WORDS_OF.as_bytes()) {
        cases = without_words(&cases);
        // SAFETY: the only test of this program, and trybuild has begun no thread yet.
        unsafe { env::set_var("TRYBUILD", "overwrite") };
    }
    trybuild::TestCases::new().compile_fail(cases.join("*.rs"));
}

/// A copy of the cases that says nothing of the compiler's messages.
fn without_words(cases: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("ui");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("the folder for temporary files can be written");
    for case in fs::read_dir(cases).expect("the cases are there") {
        let case = case.expect("the folder can be read").path();
        if case.extension().is_some_and(|extension| extension == "rs") {
            fs::copy(&case, folder.join(case.file_name().expect("a file"))).expect("it is copied");
        }
    }
    folder
}
