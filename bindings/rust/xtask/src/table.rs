// SPDX-License-Identifier: BSD-3-Clause
//! What Rust makes of the bindings, as a table that a test compares with the frozen ABI.

use syn::{File, ForeignItem, Item};

use crate::docs;

pub fn generate(bindings: &File) -> String {
    let mut structs = String::new();
    let mut members = String::new();
    let mut values = String::new();
    let mut functions = String::new();
    for item in &bindings.items {
        match item {
            Item::Struct(item) => {
                let name = &item.ident;
                let public = |field: &&syn::Field| matches!(field.vis, syn::Visibility::Public(_));
                let fields: Vec<_> = item.fields.iter().filter(public).collect();
                if fields.is_empty() {
                    continue; // never seen from inside
                }
                structs += &format!("(\"{name}\", size_of::<{name}>(), align_of::<{name}>()),\n");
                for member in fields.iter().filter_map(|field| field.ident.as_ref()) {
                    members += &format!(
                        "(\"{name}\", \"{member}\", offset_of!({name}, {member}), \
                         size_of_member(|of: &{name}| &of.{member})),\n"
                    );
                }
            }
            Item::Const(item) => {
                let name = &item.ident;
                if name != "_" && !matches!(*item.ty, syn::Type::Reference(_)) {
                    values += &format!("(\"{name}\", {name} as i64),\n");
                }
            }
            Item::ForeignMod(block) => {
                for item in &block.items {
                    if let ForeignItem::Fn(function) = item {
                        let name = &function.sig.ident;
                        functions += &format!("(\"{name}\", {name} as *const ()),\n");
                    }
                }
            }
            _ => {}
        }
    }
    for name in docs::INLINE {
        functions += &format!("(\"{name}\", {name} as *const ()),\n");
    }
    format!(
        "// SPDX-License-Identifier: BSD-3-Clause
// Written by `cargo run -p xtask -- bindings`.

use core::mem::offset_of;
use libcai_sys::*;

fn size_of_member<S, M>(_: fn(&S) -> &M) -> usize {{
    size_of::<M>()
}}

/// Name, size, alignment.
pub fn structs() -> Vec<(&'static str, usize, usize)> {{
    vec![{structs}]
}}

/// Struct, name, offset, size.
pub fn members() -> Vec<(&'static str, &'static str, usize, usize)> {{
    vec![{members}]
}}

pub fn values() -> Vec<(&'static str, i64)> {{
    vec![{values}]
}}

pub fn functions() -> Vec<(&'static str, *const ())> {{
    vec![{functions}]
}}
"
    )
}
