// SPDX-License-Identifier: BSD-3-Clause
//! The bindings beside the frozen ABI: every size, offset and value of tests/abi/layout.def, and
//! every function of src/libcai.map.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// A file of the repository.
fn read(path: &str) -> String {
    let path = format!("{}/../../../{path}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The lines `KIND(a, b, ...)`: names, then numbers, keyed by the names.
fn frozen(layout: &str, kind: &str, names: usize) -> BTreeMap<String, Vec<i64>> {
    let arguments = |line: &str| -> Option<(String, Vec<i64>)> {
        let inner = line.strip_prefix(kind)?.strip_prefix('(')?.strip_suffix(')')?;
        let words: Vec<&str> = inner.split(", ").collect();
        let numbers = words[names..].iter().map(|word| word.parse().expect(line)).collect();
        Some((words[..names].join("."), numbers))
    };
    let lines = layout.lines().filter_map(arguments).collect::<Vec<_>>();
    let found = lines.len();
    let map: BTreeMap<_, _> = lines.into_iter().collect();
    assert_eq!(map.len(), found, "a {kind} stands there twice");
    map
}

/// Every frozen line must be Rust's as well; Rust may have more.
fn compare(frozen: &BTreeMap<String, Vec<i64>>, rust: &BTreeMap<String, Vec<i64>>) {
    assert!(!frozen.is_empty());
    for (name, numbers) in frozen {
        assert_eq!(rust.get(name), Some(numbers), "{name}, in Rust and as frozen");
    }
}

fn numbers(sizes: &[usize]) -> Vec<i64> {
    sizes.iter().map(|&size| i64::try_from(size).expect("a small size")).collect()
}

#[test]
fn no_line_of_the_table_is_of_another_kind() {
    let layout = read("tests/abi/layout.def");
    let of_kind = |kind, names| frozen(&layout, kind, names).len();
    let known = of_kind("STRUCT", 1) + of_kind("MEMBER", 2) + of_kind("VALUE", 1);
    // The comment at the head has one more of each, with no word of what follows.
    let lines = layout.lines().filter(|line| line.ends_with(')') && !line.starts_with(" *"));
    assert_eq!(known, lines.count());
}

#[test]
fn structs_are_as_large_as_frozen() {
    let rust = table::structs().into_iter();
    compare(
        &frozen(&read("tests/abi/layout.def"), "STRUCT", 1),
        &rust.map(|(name, size, align)| (name.to_owned(), numbers(&[size, align]))).collect(),
    );
}

#[test]
fn members_are_where_they_were_frozen() {
    // A member whose name is a word of Rust's has an underscore after it here.
    let plain = |name: &str| name.trim_end_matches('_').to_owned();
    let rust = table::members().into_iter();
    compare(
        &frozen(&read("tests/abi/layout.def"), "MEMBER", 2),
        &rust
            .map(|(of, member, offset, size)| {
                (format!("{of}.{}", plain(member)), numbers(&[offset, size]))
            })
            .collect(),
    );
}

#[test]
fn constants_are_worth_what_was_frozen() {
    let rust = table::values().into_iter();
    compare(
        &frozen(&read("tests/abi/layout.def"), "VALUE", 1),
        &rust.map(|(name, value)| (name.to_owned(), vec![value])).collect(),
    );
}

#[test]
fn every_function_that_the_library_exports_is_there() {
    let map = read("src/libcai.map");
    let exported: BTreeSet<&str> = map
        .lines()
        .filter_map(|line| line.trim().strip_suffix(';'))
        .filter(|name| name.starts_with("cai_"))
        .collect();
    let functions = table::functions();
    let declared: BTreeSet<&str> = functions.iter().map(|(name, _)| *name).collect();
    assert!(!exported.is_empty());
    assert_eq!(declared, exported);
    assert!(functions.iter().all(|(_, address)| !address.is_null()));
}
