//! Which file of a crate uses which: the paths in its code, followed through `use` and re-exports
//! to the file that defines the item.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Attribute, Item, UseTree, Visibility};

use crate::source::SourceFile;

/// The segments of a path from the root of the crate.
type ModulePath = Vec<String>;

/// Re-exports that lead to each other end here.
const MAX_REEXPORTS: usize = 8;

/// The modules of one crate that are files.
#[derive(Debug, Default)]
pub(crate) struct ModuleGraph {
    modules: BTreeMap<ModulePath, Module>,
}

#[derive(Debug, Default)]
struct Module {
    file: String,
    imports: Vec<Import>,
    /// Every path in the code, as written.
    paths: BTreeSet<Vec<String>>,
}

#[derive(Debug)]
struct Import {
    /// The name in this module; `*` for all names of the path's module.
    name: String,
    path: Vec<String>,
    /// A re-export is a use only if the code of this file names it, too.
    is_reexport: bool,
}

impl ModuleGraph {
    /// Reads the production code of a crate.
    pub(crate) fn new(files: &[SourceFile]) -> Result<Self, String> {
        let mut graph = Self::default();
        for file in files {
            let Some(path) = module_path(file) else {
                continue;
            };
            let parsed = syn::parse_file(&file.text)
                .map_err(|error| format!("read {}: {error}", file.path.display()))?;
            let module = graph.modules.entry(path).or_default();
            module.file = name_below_src(file);
            module.read(&parsed.items);
        }
        Ok(graph)
    }

    /// The files that each file uses, by their paths below `src`.
    pub(crate) fn edges(&self) -> BTreeMap<String, BTreeSet<String>> {
        let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, module) in &self.modules {
            let targets = edges.entry(module.file.clone()).or_default();
            for used in module.used_paths() {
                let definer = self.definer(path, &used, MAX_REEXPORTS);
                targets.extend(definer.filter(|file| *file != module.file));
            }
        }
        edges
    }

    /// The file that defines the item of this path, as written in the module `from`; none for items
    /// of other crates and for modules.
    fn definer(&self, from: &ModulePath, path: &[String], reexports: usize) -> Option<String> {
        let (first, rest) = path.split_first()?;
        match first.as_str() {
            "crate" => self.definer_below(&Vec::new(), rest, reexports),
            "self" => self.definer_below(from, rest, reexports),
            "super" => {
                let (_, parent) = from.split_last()?;
                let above = parent.to_vec();
                match rest.first().map(String::as_str) {
                    Some("super") => self.definer(&above, rest, reexports),
                    _ => self.definer_below(&above, rest, reexports),
                }
            }
            _ => self.definer_below_import_or_child(from, path, reexports),
        }
    }

    /// As [`definer`](Self::definer), for a path that starts with a name of the module.
    fn definer_below_import_or_child(
        &self,
        from: &ModulePath,
        path: &[String],
        reexports: usize,
    ) -> Option<String> {
        let (first, rest) = path.split_first()?;
        let child = joined(from, first);
        if self.modules.contains_key(&child) {
            return self.definer_below(&child, rest, reexports);
        }
        self.definer_of_import(from, first, rest, reexports)
    }

    fn definer_of_import(
        &self,
        module: &ModulePath,
        name: &str,
        rest: &[String],
        reexports: usize,
    ) -> Option<String> {
        let reexports = reexports.checked_sub(1)?;
        let imports = &self.modules.get(module)?.imports;
        let named = imports.iter().find(|import| import.name == name);
        if let Some(import) = named {
            let path = [&import.path, rest].concat();
            return self.definer(module, &path, reexports);
        }
        let globs = imports.iter().filter(|import| import.name == "*");
        let mut found = globs.filter_map(|import| {
            let path = [&import.path, &[name.to_owned()][..], rest].concat();
            let definer = self.definer(module, &path, reexports)?;
            (definer != self.modules.get(module)?.file).then_some(definer)
        });
        found.next()
    }

    /// The definer of a path from this module downwards.
    fn definer_below(
        &self,
        module: &ModulePath,
        path: &[String],
        reexports: usize,
    ) -> Option<String> {
        let (first, rest) = path.split_first()?;
        let child = joined(module, first);
        if self.modules.contains_key(&child) {
            return self.definer_below(&child, rest, reexports);
        }
        let here = self.modules.get(module)?;
        if here.imports.iter().any(|import| import.name == *first) {
            return self.definer_of_import(module, first, rest, reexports);
        }
        Some(here.file.clone())
    }
}

impl Module {
    fn read(&mut self, items: &[Item]) {
        for item in items {
            self.read_item(item);
        }
    }

    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the paths of all other items are read from their tokens"
    )]
    fn read_item(&mut self, item: &Item) {
        match item {
            Item::Use(item) if !is_test(&item.attrs) => {
                let is_reexport = !matches!(item.vis, Visibility::Inherited);
                self.read_use(&item.tree, &mut Vec::new(), is_reexport);
            }
            Item::Use(_) => {}
            Item::Mod(item) => {
                if let Some((_, items)) = item.content.as_ref().filter(|_| !is_test(&item.attrs)) {
                    self.read(items);
                }
            }
            item if is_test(attributes(item)) => {}
            item => paths_in(item.to_token_stream(), &[], &mut self.paths),
        }
    }

    fn read_use(&mut self, tree: &UseTree, before: &mut Vec<String>, is_reexport: bool) {
        let mut add = |name: String, path: Vec<String>| {
            let import = Import {
                name,
                path,
                is_reexport,
            };
            self.imports.push(import);
        };
        match tree {
            UseTree::Path(path) => {
                before.push(path.ident.to_string());
                self.read_use(&path.tree, before, is_reexport);
                before.pop();
            }
            UseTree::Name(name) if name.ident == "self" => {
                add(before.last().cloned().unwrap_or_default(), before.clone());
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                add(name.clone(), joined(before, &name));
            }
            UseTree::Rename(rename) => {
                let path = joined(before, &rename.ident.to_string());
                add(rename.rename.to_string(), path);
            }
            UseTree::Glob(_) => add("*".to_owned(), before.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.read_use(tree, before, is_reexport);
                }
            }
        }
    }

    /// Paths in the code, and imports that are not only re-exports.
    fn used_paths(&self) -> impl Iterator<Item = Vec<String>> + '_ {
        let imported = self.imports.iter().filter(|import| !import.is_reexport);
        let imported = imported.map(|import| import.path.clone());
        imported.chain(self.paths.iter().cloned())
    }
}

fn name_below_src(file: &SourceFile) -> String {
    let parts = file.path.iter().filter_map(|part| part.to_str());
    let below: Vec<&str> = parts.skip_while(|part| *part != "src").skip(1).collect();
    below.join("/")
}

/// The module that a file is; none for other targets of the crate, such as `src/bin`.
fn module_path(file: &SourceFile) -> Option<ModulePath> {
    let parts: Vec<&str> = file.path.iter().filter_map(|part| part.to_str()).collect();
    let below = parts.iter().position(|part| *part == "src")? + 1;
    let mut path: ModulePath = parts[below..]
        .iter()
        .map(|part| (*part).to_owned())
        .collect();
    let last = path.pop()?;
    let name = last.strip_suffix(".rs")?;
    match name {
        "lib" | "main" if path.is_empty() => {}
        _ if path.first().is_some_and(|folder| folder == "bin") => return None,
        "mod" => {}
        name => path.push(name.to_owned()),
    }
    Some(path)
}

fn joined(path: &[String], name: &str) -> ModulePath {
    [path, &[name.to_owned()][..]].concat()
}

/// Collects the paths in tokens, also those in macros and in `use a::{b, c}` of a function.
fn paths_in(tokens: TokenStream, before: &[String], paths: &mut BTreeSet<Vec<String>>) {
    let mut path = before.to_vec();
    // A name continues the path after `::`; anything else starts a new one.
    let mut continues = !before.is_empty();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if !continues {
                    finish(&mut path, before, paths);
                }
                path.push(name.to_string());
                continues = false;
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' => {
                colons += 1;
                continues = colons == 2 && path.len() > before.len();
            }
            TokenTree::Group(group) => {
                let is_list = continues && group.delimiter() == Delimiter::Brace;
                let inner = if is_list { path.clone() } else { Vec::new() };
                finish(&mut path, before, paths);
                paths_in(group.stream(), &inner, paths);
                continues = !before.is_empty();
                colons = 0;
            }
            TokenTree::Punct(_) | TokenTree::Literal(_) => {
                finish(&mut path, before, paths);
                continues = !before.is_empty();
                colons = 0;
            }
        }
    }
    finish(&mut path, before, paths);
}

fn finish(path: &mut Vec<String>, before: &[String], paths: &mut BTreeSet<Vec<String>>) {
    if path.len() > before.len() {
        paths.insert(std::mem::replace(path, before.to_vec()));
    } else {
        *path = before.to_vec();
    }
}

fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        text.replace(' ', "") == "cfg(test)"
    })
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "items without attributes that matter here"
)]
fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<SourceFile> = files
            .iter()
            .map(|(path, text)| SourceFile {
                path: format!("crates/x/src/{path}").into(),
                text: (*text).to_owned(),
            })
            .collect();
        let graph = ModuleGraph::new(&files).expect("files that parse");
        let mut found = Vec::new();
        for (from, targets) in graph.edges() {
            found.extend(targets.iter().map(|to| format!("{from} → {to}")));
        }
        found
    }

    #[test]
    fn a_use_of_a_reexport_leads_to_the_file_that_defines_it() {
        let files = [
            ("lib.rs", "mod a; mod b; pub use a::Inner as Outer;"),
            ("a.rs", "pub struct Inner;"),
            ("b.rs", "use crate::Outer; fn f(_: Outer) {}"),
        ];
        assert_eq!(edges(&files), ["b.rs → a.rs"]);
    }

    #[test]
    fn a_declaration_of_a_module_is_no_use_but_a_path_into_it_is() {
        let files = [
            ("lib.rs", "mod a; mod c;"),
            ("a.rs", "mod b; fn f() { b::g(); }"),
            ("a/b.rs", "pub(super) fn g() { super::super::c::h(); }"),
            ("c.rs", "mod d; pub fn h() {}"),
            ("c/d.rs", "use super::h; fn i() { h(); }"),
        ];
        assert_eq!(
            edges(&files),
            ["a.rs → a/b.rs", "a/b.rs → c.rs", "c/d.rs → c.rs"]
        );
    }

    #[test]
    fn paths_in_macros_and_in_lists_of_a_function_count() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            (
                "a.rs",
                "fn f() { use crate::{b::B, c}; println!(\"{}\", c::C); }",
            ),
            ("b.rs", "pub struct B;"),
            ("c.rs", "pub const C: u8 = 1;"),
        ];
        assert_eq!(edges(&files), ["a.rs → b.rs"]);
        let files = [
            ("lib.rs", "mod a; mod c;"),
            ("a.rs", "use crate::c; fn f() { println!(\"{}\", c::C); }"),
            ("c.rs", "pub const C: u8 = 1;"),
        ];
        assert_eq!(edges(&files), ["a.rs → c.rs"]);
    }

    #[test]
    fn tests_and_other_crates_do_not_count() {
        let files = [
            ("lib.rs", "mod a; pub struct L;"),
            (
                "a.rs",
                "use std::fmt; #[cfg(test)] mod tests { use crate::L; } #[cfg(test)] use crate::L;",
            ),
        ];
        assert_eq!(edges(&files), Vec::<String>::new());
    }
}
