//! Documentation of public items that says no more than their names.

use std::path::Path;

use syn::{Attribute, Expr, Fields, ImplItem, Item, Lit, Meta, TraitItem, Visibility};

use crate::source::{SourceFile, read_files};

/// Fewer words cannot say what a name does not: a unit, a range, when it fails, what surprises.
const MIN_WORDS: usize = 4;

/// Every public item of a crate whose documentation is too short.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let files = read_files(root, &["rs"])?;
    let mut findings = Vec::new();
    for file in files.iter().filter(|file| file.is_production()) {
        findings.extend(findings_in(file)?);
    }
    Ok(findings)
}

fn findings_in(file: &SourceFile) -> Result<Vec<String>, String> {
    let name = file.path.display();
    let parsed = syn::parse_file(&file.text).map_err(|e| format!("read {name}: {e}"))?;
    let mut documented = Vec::new();
    visit(&parsed.items, &mut documented);
    let is_short = |text: &&(usize, String)| {
        !text.1.is_empty() && text.1.split_whitespace().count() < MIN_WORDS
    };
    let found = documented.iter().filter(is_short);
    Ok(found
        .map(|(line, text)| {
            format!("{name}:{line}: `{text}` says no more than the name; say what it means, in which unit, when it is absent")
        })
        .collect())
}

type Documented = Vec<(usize, String)>;

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "items of a later Rust have no name that we know"
)]
fn visit(items: &[Item], documented: &mut Documented) {
    for item in items {
        match item {
            Item::Struct(item) if is_public(&item.vis) => {
                add(&item.attrs, documented);
                visit_fields(&item.fields, false, documented);
            }
            Item::Enum(item) if is_public(&item.vis) => {
                add(&item.attrs, documented);
                for variant in &item.variants {
                    add(&variant.attrs, documented);
                    visit_fields(&variant.fields, true, documented);
                }
            }
            Item::Trait(item) if is_public(&item.vis) => {
                add(&item.attrs, documented);
                for item in &item.items {
                    match item {
                        TraitItem::Fn(item) => add(&item.attrs, documented),
                        TraitItem::Type(item) => add(&item.attrs, documented),
                        TraitItem::Const(item) => add(&item.attrs, documented),
                        _ => {}
                    }
                }
            }
            Item::Impl(item) if item.trait_.is_none() => {
                for item in &item.items {
                    match item {
                        ImplItem::Fn(item) if is_public(&item.vis) => add(&item.attrs, documented),
                        ImplItem::Const(item) if is_public(&item.vis) => {
                            add(&item.attrs, documented);
                        }
                        _ => {}
                    }
                }
            }
            Item::Fn(item) if is_public(&item.vis) => add(&item.attrs, documented),
            Item::Const(item) if is_public(&item.vis) => add(&item.attrs, documented),
            Item::Static(item) if is_public(&item.vis) => add(&item.attrs, documented),
            Item::Type(item) if is_public(&item.vis) => add(&item.attrs, documented),
            Item::Mod(item) => {
                if is_public(&item.vis) {
                    add(&item.attrs, documented);
                }
                let inner = item.content.as_ref().map(|(_, items)| items.as_slice());
                visit(inner.unwrap_or_default(), documented);
            }
            _ => {}
        }
    }
}

fn visit_fields(fields: &Fields, of_variant: bool, documented: &mut Documented) {
    for field in fields {
        if of_variant || is_public(&field.vis) {
            add(&field.attrs, documented);
        }
    }
}

const fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// The documentation of an item and the line it begins on; `missing_docs` finds items without any.
fn add(attributes: &[Attribute], documented: &mut Documented) {
    let mut lines = Vec::new();
    let mut first = 0;
    for attribute in attributes {
        let Meta::NameValue(meta) = &attribute.meta else {
            continue;
        };
        let Expr::Lit(value) = &meta.value else {
            continue;
        };
        if let (true, Lit::Str(text)) = (meta.path.is_ident("doc"), &value.lit) {
            if lines.is_empty() {
                first = text.span().start().line;
            }
            lines.push(text.value().trim().to_owned());
        }
    }
    documented.push((first, lines.join(" ").trim().to_owned()));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> usize {
        let file = SourceFile {
            path: "crates/a/src/lib.rs".into(),
            text: text.to_owned(),
        };
        findings_in(&file).expect("items").len()
    }

    #[test]
    fn short_documentation_of_public_items_is_found() {
        let text = "/// Its size.\npub struct A { /// How.\n pub b: u8, /// Not.\n c: u8 }\n\
                    pub enum E { /// No.\n V { /// It.\n f: u8 } }\n\
                    impl A { /// Does it.\n pub fn d() {} }\n\
                    pub trait T { /// Runs.\n fn run(&self); }";
        assert_eq!(found(text), 6);
    }

    #[test]
    fn private_items_trait_implementations_and_four_words_pass() {
        let text = "/// Its size.\nstruct A;\n/// Bytes of one response.\npub const B: u8 = 1;\n\
                    impl Clone for A { /// Copies.\n fn clone(&self) -> A { A } }\n\
                    /// Two\n/// lines, four words.\npub fn c() {}\npub fn none() {}";
        assert_eq!(found(text), 0);
    }
}
