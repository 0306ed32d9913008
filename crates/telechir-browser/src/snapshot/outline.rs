//! A page as an outline: a line for each element, below what holds it.

use super::node::Node;
use super::refs::Refs;
use super::history::About;
use super::bounded_text::{Page, cut, quoted};

/// How long an outline may be, in characters.
const LONGEST: usize = 50_000;
/// How deep it goes unless it is said.
const DEPTH: u32 = 15;
/// How long a name and a value may be.
const NAME: usize = 200;
const LINK: usize = 100;

/// An element as one line: `button "Save" [b12] disabled`. `words` are those it holds and nothing
/// else.
pub(super) fn line(node: &Node, refs: &mut Refs, words: Option<&str>) -> String {
    if node.is_words() {
        return quoted(&cut(&node.name, NAME));
    }
    let mut line = node.role.clone();
    let name = if node.name.is_empty() { words } else { None };
    let name = name.unwrap_or(&node.name);
    if !name.is_empty() {
        line.push(' ');
        line.push_str(&quoted(&cut(name, NAME)));
    }
    if node.acts() || !is_plain(&node.role) {
        line.push_str(&format!(" [{}]", refs.of(node)));
    }
    if !node.value.is_empty() {
        line.push_str(&format!(" value={}", quoted(&cut(&node.value, NAME))));
    }
    if !node.states.is_empty() {
        line.push(' ');
        line.push_str(&node.states);
    }
    match node.role.as_str() {
        _ if node.more.is_empty() => {}
        "combobox" | "listbox" => {
            let options: Vec<String> = node.more.split('|').map(quoted).collect();
            line.push_str(&format!(" options=[{}]", options.join(", ")));
        }
        _ => line.push_str(&format!(" href={}", quoted(&cut(&node.more, LINK)))),
    }
    line
}

/// Nobody needs to name these.
fn is_plain(role: &str) -> bool {
    matches!(
        role,
        "paragraph" | "listitem" | "cell" | "gridcell" | "row" | "rowgroup" | "term" | "definition"
    )
}

/// The outline of a page or a part of it.
pub(super) fn tell(
    about: &About<'_>,
    nodes: &[Node],
    depth: Option<u32>,
    is_interactive_only: bool,
    refs: &mut Refs,
) -> String {
    let depth = usize::try_from(depth.unwrap_or(DEPTH)).unwrap_or(usize::MAX);
    let mut page = Page::of(LONGEST);
    page.line(&about.line());
    let base = nodes.first().map_or(0, |node| node.depth);
    let (mut too_deep, mut place) = (0, 0);
    while let Some(node) = nodes.get(place) {
        place += 1;
        let level = node.depth.saturating_sub(base);
        let words = only_words(nodes, place - 1);
        if is_interactive_only {
            if node.acts() {
                page.line(&line(node, refs, words));
            }
            continue;
        }
        if level >= depth {
            too_deep += 1;
            continue;
        }
        let words = words.filter(|_| node.name.is_empty());
        page.line(&format!(
            "{}{}",
            "  ".repeat(level),
            line(node, refs, words)
        ));
        // They stand in its line.
        place += usize::from(words.is_some());
    }
    let left = u64::try_from(page.left + too_deep).unwrap_or(u64::MAX) + about.tree.left;
    let mut text = page.text();
    if left > 0 {
        text.push_str(&format!(
            "\n[{left} more are left out; ask for a part by its ref, for fewer levels, or only for what is interactive]"
        ));
    }
    text
}

/// The words that are all a node holds.
pub(super) fn only_words(nodes: &[Node], place: usize) -> Option<&str> {
    let (node, next) = (nodes.get(place)?, nodes.get(place + 1)?);
    let is_only = !node.is_words()
        && next.is_words()
        && next.depth == node.depth + 1
        && nodes
            .get(place + 2)
            .is_none_or(|after| after.depth <= node.depth);
    is_only.then_some(next.name.as_str())
}
