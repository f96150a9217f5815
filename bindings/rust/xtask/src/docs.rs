// SPDX-License-Identifier: BSD-3-Clause
//! Doxygen's comments as rustdoc's.

use std::collections::BTreeSet;

/// Those of the API that are written by hand: they need no library, nor that one is loaded.
pub const INLINE: [&str; 4] =
    ["cai_array_retain", "cai_array_release", "cai_array_refuses", "cai_array_contiguous_nbytes"];

/// Translates a comment. Parameters become a list; what is in `names` becomes a link.
pub fn to_rust(comment: &str, names: &BTreeSet<String>) -> String {
    let mut out = String::new();
    // Continuations of a list item are indented; otherwise they would end it.
    let mut indent = "";
    let mut in_block = false;
    for line in comment.trim_start_matches('<').lines().map(str::trim) {
        let line = if let Some(rest) = line.strip_prefix("@param ") {
            if !out.contains("# Arguments") {
                out += if out.is_empty() || out.ends_with("\n\n") { "" } else { "\n" };
                out += "# Arguments\n\n";
            }
            let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
            (indent, in_block) = ("  ", true);
            out += &format!("- `{name}`: ");
            text.trim_start()
        } else if let Some(rest) = line.strip_prefix("@return ") {
            out += if out.is_empty() || out.ends_with("\n\n") { "" } else { "\n" };
            out += "# Returns\n\n";
            (indent, in_block) = ("", true);
            rest
        } else {
            if in_block && (line.starts_with("The text, ") || line.starts_with("Since ")) {
                out += "\n";
                (indent, in_block) = ("", false);
            }
            if !line.is_empty() {
                out += indent;
            }
            line
        };
        out += &link(line, names);
        out += "\n";
    }
    out
}

/// One line with its names as links, and with nothing that Markdown takes for its own.
fn link(line: &str, names: &BTreeSet<String>) -> String {
    let mut out = String::new();
    // Every other piece is code.
    for (i, piece) in line.split('`').enumerate() {
        if i % 2 == 1 {
            out += &format!("`{piece}`");
            continue;
        }
        let mut rest = piece;
        while let Some(first) = rest.chars().next() {
            let length =
                rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
            if length == 0 {
                rest = &rest[first.len_utf8()..];
                match first {
                    '#' if rest.starts_with(|c: char| c.is_alphabetic()) => {}
                    '<' | '[' | '*' => out.extend(['\\', first]),
                    _ => out.push(first),
                }
                continue;
            }
            let (word, after) = rest.split_at(length);
            rest = after;
            out += &link_word(word, &mut rest, names);
        }
    }
    out
}

/// A word, and what of `rest` belongs to it: the arguments of a call, `.member`, `*`.
fn link_word(word: &str, rest: &mut &str, names: &BTreeSet<String>) -> String {
    let ours = word.starts_with("cai_") || word.starts_with("CAI_");
    if !ours && !names.contains(word) {
        return word.to_owned();
    }
    if let Some(after) = rest.strip_prefix('*') {
        *rest = after;
        return format!("`{word}*`");
    }
    if let Some(after) = rest.strip_prefix('.') {
        let end = after.find(|c: char| !(c.is_alphanumeric() || c == '_'));
        let (member, after) = after.split_at(end.unwrap_or(after.len()));
        if names.contains(&format!("{word}.{member}")) {
            *rest = after;
            return format!("[`{word}.{member}`]({word}::{member})");
        }
    }
    let end = if rest.starts_with('(') { rest.find(')').map_or(0, |end| end + 1) } else { 0 };
    let (call, after) = rest.split_at(end);
    *rest = after;
    if INLINE.contains(&word) {
        format!("[`{word}{call}`](crate::{word})")
    } else if !names.contains(word) {
        format!("`{word}{call}`")
    } else if matches!(call, "" | "()") {
        format!("[`{word}{call}`]")
    } else {
        format!("[`{word}{call}`]({word})")
    }
}
