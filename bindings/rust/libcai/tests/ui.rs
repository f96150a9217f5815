// SPDX-License-Identifier: BSD-3-Clause
//! What the compiler must refuse: each program of tests/ui but one. Its words are compared where they
//! are those of the compiler that wrote them; any other one must refuse as well.
//!
//! The compiler itself is called, with the crate that Cargo has: nothing is compiled but the programs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value as Json;

/// The program that must compile, or the others might be refused for anything.
const RIGHT: &str = "right.rs";
const WORDS_OF: &str = "rustc 1.95.";

fn rustc() -> Command {
    Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()))
}

fn output_of(mut command: Command) -> (String, String) {
    let output = command.output().expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    (text(output.stdout), text(output.stderr))
}

/// The lines that are JSON.
fn messages(text: &str) -> impl Iterator<Item = Json> {
    text.lines().filter_map(|line| serde_json::from_str(line).ok())
}

/// What a program is compiled with, of the crate: where Cargo has its metadata.
fn metadata() -> PathBuf {
    let mut check = Command::new(env!("CARGO"));
    check.args(["check", "--quiet", "--lib", "--message-format=json"]);
    let (said, errors) = output_of(check);
    messages(&said)
        .filter(|message| message["target"]["name"] == "libcai")
        .find_map(|message| message["filenames"][0].as_str().map(PathBuf::from))
        .unwrap_or_else(|| panic!("cargo check: {errors}"))
}

/// What the compiler says of a program, less the sums at the end, which are about no line of it.
fn diagnostics(program: &Path, metadata: &Path) -> Vec<Json> {
    let dependencies = metadata.parent().expect("it is in a folder").display();
    let mut compile = rustc();
    compile
        .args(["--edition=2024", "--emit=metadata", "--error-format=json", "-Adead_code"])
        .args(["--out-dir", env!("CARGO_TARGET_TMPDIR")])
        .arg(format!("--extern=libcai={}", metadata.display()))
        .arg(format!("-Ldependency={dependencies}"))
        .arg(program);
    let (_, said) = output_of(compile);
    messages(&said).filter(|one| one["spans"][0].is_object()).collect()
}

/// The part of its first line that a span marks.
fn marked(span: &Json) -> String {
    let line = &span["text"][0];
    let column = |name: &str| line[name].as_u64().expect("a column") as usize - 1;
    let (start, end) = (column("highlight_start"), column("highlight_end"));
    line["text"].as_str().expect("a line").chars().take(end).skip(start).collect()
}

/// A message, what of the program it marks, and the notes that belong to it: nothing that depends on
/// lines' numbers, on other files or on where the standard library is.
fn words(message: &Json, program: &Path, indent: usize) -> String {
    let text = |json: &Json| json.as_str().unwrap_or_default().to_owned();
    let items = |name: &str| message[name].as_array().into_iter().flatten();
    let code = message["code"]["code"].as_str().map(|code| format!("[{code}]")).unwrap_or_default();
    let (level, said) = (text(&message["level"]), text(&message["message"]));
    let mut words = format!("{:indent$}{level}{code}: {said}\n", "");
    for span in items("spans").filter(|span| span["file_name"].as_str() == program.to_str()) {
        let marked = marked(span);
        let about = match span["suggested_replacement"].as_str() {
            Some(better) => format!("better `{better}`"),
            None => text(&span["label"]),
        };
        words += &format!("{:indent$}  `{marked}` {about}", "");
        words.truncate(words.trim_end().len());
        words += "\n";
    }
    words.extend(items("children").map(|child| self::words(child, program, indent + 2)));
    words
}

#[test]
fn the_compiler_refuses() {
    let mut version = rustc();
    version.arg("--version");
    let compares = output_of(version).0.starts_with(WORDS_OF);
    let metadata = metadata();
    let mut programs = fs::read_dir("tests/ui")
        .expect("the programs are there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .collect::<Vec<_>>();
    programs.sort();
    assert!(programs.len() >= 20, "{programs:?}");
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut wrong = String::new();
    for program in programs {
        let said = diagnostics(&program, &metadata);
        let is_refused = said.iter().any(|one| one["level"] == "error");
        if is_refused == program.ends_with(RIGHT) {
            wrong += &format!("{}: is it refused? {is_refused}\n", program.display());
        }
        let said = said.iter().map(|one| words(one, &program, 0)).collect::<String>();
        let expected = program.with_extension("txt");
        if compares && fs::read_to_string(&expected).unwrap_or_default() != said {
            let found = tmp.join(expected.file_name().expect("a file"));
            fs::write(&found, &said).expect("the folder for temporary files can be written");
            wrong += &format!("{said}If that is right: cp {found:?} {expected:?}\n\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}
