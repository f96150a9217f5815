// SPDX-License-Identifier: BSD-3-Clause
//! What bindgen makes of the headers, with the constants' types and the documentation fixed.

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;

use quote::quote;
use syn::visit_mut::VisitMut;
use syn::{Attribute, File, ForeignItem, Item, ItemConst, parse_quote};

use crate::docs;

const HEAD: &str = "\
// SPDX-License-Identifier: BSD-3-Clause
// Written by `cargo run -p xtask -- bindings` from the headers named in headers/.

";

/// What the crate has of the headers: of the exchange, and, with the feature `memory`, of the rest.
pub struct Bindings {
    pub exchange: File,
    pub memory: File,
}

/// Reads the headers; needs libclang, which is looked for in LIBCLANG_PATH and the usual places.
pub fn generate(crate_dir: &Path) -> Result<Bindings, Box<dyn Error>> {
    let exchange = read(crate_dir, "exchange.h")?;
    let mut memory = read(crate_dir, "memory.h")?;
    let has: BTreeSet<String> = exchange.items.iter().flat_map(keys).collect();
    memory.items.retain_mut(|item| {
        if let Item::ForeignMod(block) = item {
            block.items.retain(|function| !has.contains(&quote!(#function).to_string()));
            return true;
        }
        !keys(item).iter().any(|key| has.contains(key))
    });
    memory.items.insert(
        0,
        parse_quote!(
            use crate::bindings::*;
        ),
    );
    // The exchange is documented without the feature, too.
    let of_exchange = names(&exchange);
    let of_both = &of_exchange | &names(&memory);
    let mut made = Bindings { exchange, memory };
    Rustdoc { names: of_exchange }.visit_file_mut(&mut made.exchange);
    Rustdoc { names: of_both }.visit_file_mut(&mut made.memory);
    Ok(made)
}

/// What tells an item from others: its text, or of a block the text of each function.
fn keys(item: &Item) -> Vec<String> {
    match item {
        Item::ForeignMod(block) => block.items.iter().map(|it| quote!(#it).to_string()).collect(),
        item => vec![quote!(#item).to_string()],
    }
}

fn read(crate_dir: &Path, wrapper: &str) -> Result<File, Box<dyn Error>> {
    let include = crate_dir.join("../../../include");
    let text = bindgen::builder()
        .header(crate_dir.join("headers").join(wrapper).display().to_string())
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_item("(cai|CAI|DL|DLPACK|ARROW)_.*|(DL|kDL|Arrow).*")
        // They are macros in C, too, which need no library; lib.rs has them likewise.
        .blocklist_function(docs::INLINE.join("|"))
        .rust_target("1.85".parse()?)
        .rust_edition("2024".parse()?)
        .use_core()
        // A Rust enum must not hold a value that it does not name, and C may pass any.
        .default_enum_style(bindgen::EnumVariation::Consts)
        .prepend_enum_name(false)
        .merge_extern_blocks(true)
        .formatter(bindgen::Formatter::None)
        .disable_header_comment()
        .generate()?
        .to_string();
    let mut file = syn::parse_file(&text)?;
    let anonymous = |name: &syn::Ident| name.to_string().starts_with("_bindgen_ty_");
    file.items.retain(|item| !matches!(item, Item::Type(alias) if anonymous(&alias.ident)));
    for item in &mut file.items {
        if let Item::Const(constant) = item {
            retype(constant);
        }
    }
    Ok(file)
}

pub fn to_text(file: &File) -> String {
    HEAD.to_owned() + &prettyplease::unparse(file)
}

/// Leaves it to the crate whether the functions are linked or loaded: lib.rs has the macro.
pub fn as_macro(formatted: &str, table: &str) -> String {
    formatted.replace("unsafe extern \"C\" {", &format!("functions! {{\n    {table}:"))
}

/// Gives a value of one of the headers' enums, which in C are ints, the type of the fields and
/// arguments that take it.
fn retype(constant: &mut ItemConst) {
    let name = constant.ident.to_string();
    let Some(rest) = name.strip_prefix("CAI_") else {
        return;
    };
    let begins = |words: &[&str]| words.iter().any(|word| rest.starts_with(word));
    let is = |words: &[&str]| words.contains(&rest);
    *constant.ty = if begins(&["EXCHANGE_"]) {
        return; // text
    } else if begins(&["OK", "ERR_"]) {
        parse_quote!(cai_status)
    } else if begins(&["ABI_"]) {
        parse_quote!(u16)
    } else if begins(&["EXT_", "FORM_", "RANGE_", "TIME_"]) {
        parse_quote!(u8)
    } else if begins(&["ENTRY_", "SEVERITY_", "SLICE_"])
        || is(&["MAX_NDIM", "DEVICE_CPU", "DEVICE_CUDA", "DEVICE_CUDA_HOST"])
        || is(&["DEVICE_CUDA_MANAGED", "DEVICE_ROCM"])
    {
        parse_quote!(i32)
    } else if begins(&["MAX_DESCR_"]) || is(&["TYPESTR_SIZE", "DEVICE_TEXT_SIZE"]) {
        parse_quote!(usize)
    } else {
        parse_quote!(u32)
    };
}

/// What the documentation may link to: structs with their members, functions and so on.
fn names(file: &File) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for item in &file.items {
        match item {
            Item::Const(item) if item.ident != "_" => drop(names.insert(item.ident.to_string())),
            Item::Type(item) => drop(names.insert(item.ident.to_string())),
            Item::Struct(item) => {
                names.insert(item.ident.to_string());
                for member in item.fields.iter().filter_map(|field| field.ident.as_ref()) {
                    names.insert(format!("{}.{member}", item.ident));
                }
            }
            Item::ForeignMod(block) => {
                for item in &block.items {
                    if let ForeignItem::Fn(function) = item {
                        names.insert(function.sig.ident.to_string());
                    }
                }
            }
            _ => {}
        }
    }
    names
}

/// Turns every doc comment from Doxygen's language into Rust's.
struct Rustdoc {
    names: BTreeSet<String>,
}

impl VisitMut for Rustdoc {
    fn visit_attributes_mut(&mut self, attributes: &mut Vec<Attribute>) {
        let given = std::mem::take(attributes);
        for attribute in given {
            match documentation(&attribute) {
                // One attribute a line is printed as `///`.
                Some(text) => {
                    attributes.extend(docs::to_rust(&text, &self.names).lines().map(|line| {
                        let line = if line.is_empty() { String::new() } else { format!(" {line}") };
                        let attribute: Attribute = parse_quote!(#[doc = #line]);
                        attribute
                    }))
                }
                None => attributes.push(attribute),
            }
        }
    }
}

fn documentation(attribute: &Attribute) -> Option<String> {
    let syn::Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        syn::Expr::Lit(value) if pair.path.is_ident("doc") => match &value.lit {
            syn::Lit::Str(text) => Some(text.value()),
            other => panic!("documentation that is no text: {}", quote!(#other)),
        },
        _ => None,
    }
}
