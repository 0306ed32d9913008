//! The outline views: one line per element, indented below its parent.

use std::collections::HashMap;

use super::bounded_text::{BoundedText, cut, quoted};
use super::distinct;
use super::node::{PageNode, PageTree};
use super::refs::ElementRefs;
use super::render_context::{RenderContext, page_line};

/// Maximum length, in characters.
const MAX_CHARS: usize = 50_000;
/// The default number of levels.
const DEFAULT_DEPTH: u32 = 15;
/// Maximum lengths of names and values, and of URLs.
const MAX_NAME_CHARS: usize = 200;
const MAX_LINK_CHARS: usize = 100;

/// An element as one line: `button "Save" [b12] disabled`. `only` is its text, if that is its only
/// content.
pub(super) fn line(node: &PageNode, refs: &mut ElementRefs, only: Option<&str>) -> String {
    let has_ref = !node.is_text() && (node.is_interactive() || !is_plain(&node.role));
    let id = has_ref.then(|| refs.of(node));
    line_with(node, id.as_deref(), only)
}

/// The same with this ref, or without one.
fn line_with(node: &PageNode, id: Option<&str>, only: Option<&str>) -> String {
    if node.is_text() {
        return quoted(&cut(&node.name, MAX_NAME_CHARS));
    }
    let mut line = node.role.clone();
    let name = if node.name.is_empty() { only } else { None };
    let name = name.unwrap_or(&node.name);
    if !name.is_empty() {
        line.push(' ');
        line.push_str(&quoted(&cut(name, MAX_NAME_CHARS)));
    }
    if let Some(id) = id {
        line.push_str(&format!(" [{id}]"));
    }
    if !node.value.is_empty() {
        line.push_str(&format!(
            " value={}",
            quoted(&cut(&node.value, MAX_NAME_CHARS))
        ));
    }
    if !node.states.is_empty() {
        line.push(' ');
        line.push_str(&node.states);
    }
    match node.role.as_str() {
        _ if node.detail.is_empty() => {}
        "combobox" | "listbox" => {
            let options: Vec<String> = node.detail.split('|').map(quoted).collect();
            line.push_str(&format!(" options=[{}]", options.join(", ")));
        }
        "link" | "iframe" => line.push_str(&format!(
            " href={}",
            quoted(&cut(&node.detail, MAX_LINK_CHARS))
        )),
        "canvas" | "video" => line.push_str(&format!(" {}", node.detail)),
        "table" | "grid" | "treegrid" => line.push_str(&format!(" of {}", node.detail)),
        _ => line.push_str(&format!(" wants={}", quoted(&node.detail))),
    }
    line
}

/// A search result as one line, always with a ref: for text that of its parent element.
pub(super) fn found_line(node: &PageNode, refs: &mut ElementRefs, content: Option<&str>) -> String {
    let id = format!(" [{}]", refs.of(node));
    let line = line(node, refs, content);
    match node.is_text() {
        true => format!("text {line}{id}"),
        false if line.contains(&id) => line,
        false => line + &id,
    }
}

/// Words in quotation marks, separated by commas.
pub(super) fn quoted_words(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(&cut(word, 40))).collect();
    words.join(", ")
}

/// Roles that get a ref only if the element is interactive.
fn is_plain(role: &str) -> bool {
    matches!(
        role,
        "paragraph"
            | "listitem"
            | "cell"
            | "gridcell"
            | "row"
            | "rowgroup"
            | "term"
            | "definition"
            | "generic"
            | "graphics-symbol"
    )
}

/// The outline of a page or a part of it.
pub(super) fn render(
    context: &RenderContext<'_>,
    nodes: &[PageNode],
    depth: Option<u32>,
    is_interactive_only: bool,
    refs: &mut ElementRefs,
) -> String {
    let depth = usize::try_from(depth.unwrap_or(DEFAULT_DEPTH)).unwrap_or(usize::MAX);
    let mut page = BoundedText::with_limit(MAX_CHARS);
    page.line(&context.header());
    let base = nodes.first().map_or(0, |node| node.depth);
    let contexts = match is_interactive_only {
        true => distinct::contexts(nodes),
        false => HashMap::new(),
    };
    let (mut too_deep, mut index) = (0, 0);
    while let Some(node) = nodes.get(index) {
        index += 1;
        let level = node.depth.saturating_sub(base);
        let only = only_text(nodes, index - 1);
        if is_interactive_only {
            if node.is_interactive() {
                let line = line(node, refs, only);
                match contexts.get(&(index - 1)) {
                    Some(context) => page.line(&format!("{line} {context}")),
                    None => page.line(&line),
                }
            }
            continue;
        }
        if level >= depth {
            too_deep += 1;
            continue;
        }
        let only = only.filter(|_| node.name.is_empty());
        page.line(&format!("{}{}", "  ".repeat(level), line(node, refs, only)));
        // The text is part of the element's line.
        index += usize::from(only.is_some());
    }
    let left = u64::try_from(page.omitted + too_deep).unwrap_or(u64::MAX) + context.tree.omitted;
    let mut text = page.text();
    if left > 0 {
        text.push_str(&format!(
            "\n[{left} more omitted; read a part by its ref, fewer levels, or only interactive elements]"
        ));
    }
    text
}

/// The outline of a page for people: everything, without the refs, which are a model's.
pub(super) fn render_for_people(tree: &PageTree) -> String {
    let mut page = BoundedText::with_limit(MAX_CHARS);
    page.line(&page_line(tree));
    let mut index = 0;
    while let Some(node) = tree.nodes.get(index) {
        let only = only_text(&tree.nodes, index).filter(|_| node.name.is_empty());
        let line = line_with(node, None, only);
        page.line(&format!("{}{line}", "  ".repeat(node.depth)));
        // The text is part of the element's line.
        index += 1 + usize::from(only.is_some());
    }
    let left = u64::try_from(page.omitted).unwrap_or(u64::MAX) + tree.omitted;
    let mut text = page.text();
    if left > 0 {
        text.push_str(&format!("\n[{left} more omitted]"));
    }
    text
}

/// The text of a node whose only content is text.
pub(super) fn only_text(nodes: &[PageNode], index: usize) -> Option<&str> {
    let (node, next) = (nodes.get(index)?, nodes.get(index + 1)?);
    let is_only = !node.is_text()
        && next.is_text()
        && next.depth == node.depth + 1
        && nodes
            .get(index + 2)
            .is_none_or(|after| after.depth <= node.depth);
    is_only.then_some(next.name.as_str())
}
