//! The view `brief`: all interactive elements, and as much of the rest as fits.
//!
//! ```text
//! navigation "Main": l1 "Home" l2 "Orders"
//! # "Orders"
//! c3 "Select 1" l4 "Order 1001" "Ada Miller" b5 "Edit 1"
//! ```

use std::collections::HashMap;

use super::bounded_text::{cut, quoted};
use super::distinct;
use super::node::{PageNode, parents};
use super::outline::only_text;
use super::refs::{ElementRefs, LETTERS, letter};
use super::render_context::RenderContext;

/// Maximum length, in characters.
pub(super) const MAX_CHARS: usize = 12_000;
/// Reserved for the line about omissions.
const RESERVED_CHARS: usize = 200;
/// Lengths to which names are truncated, tried in order until all interactive elements fit.
const NAME_LENGTHS: [usize; 4] = [80, 40, 24, 12];
/// Levels between an element and the one of whose name it is part.
const MAX_NAMED_LEVELS: usize = 4;
/// Nodes before and after one that are searched for its name.
const NEARBY_NODES: usize = 20;
/// Maximum length of a line with several items.
const MAX_LINE_CHARS: usize = 160;
/// The options of a select are listed if they are this short together.
const MAX_OPTIONS_CHARS: usize = 40;

/// The order in which items are selected if not all fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CompactRank {
    Interactive,
    InteractiveOutOfView,
    Structure,
    InView,
    Remainder,
}

/// The compact view of a page or a part of it.
pub(super) fn render(
    context: &RenderContext<'_>,
    nodes: &[PageNode],
    refs: &mut ElementRefs,
) -> String {
    let mut lines = vec![context.header()];
    lines.extend(legend(nodes));
    let head: usize = lines.iter().map(|line| line.chars().count() + 1).sum();
    let room = MAX_CHARS.saturating_sub(RESERVED_CHARS + head);
    let (items, names) = items(nodes, room, refs);
    let chosen = select_items(&items, room);
    lines.extend(lay_out(nodes, &items, &chosen));
    lines.extend(omissions(&items, &chosen, names, context.tree.omitted));
    lines.join("\n")
}

/// A node as text.
#[derive(Debug)]
struct CompactItem {
    rank: CompactRank,
    text: String,
    length: usize,
    /// Whether it contains the items after it.
    is_container: bool,
}

impl CompactItem {
    fn new(rank: CompactRank, text: String, is_container: bool) -> Self {
        Self {
            rank,
            length: text.chars().count(),
            text,
            is_container,
        }
    }
}

/// The items of all nodes, and the length to which names are truncated.
fn items(
    nodes: &[PageNode],
    room: usize,
    refs: &mut ElementRefs,
) -> (Vec<Option<CompactItem>>, usize) {
    let length_of = |items: &[Option<CompactItem>], last: CompactRank| {
        let items = items.iter().flatten().filter(|item| item.rank <= last);
        items.map(|item| item.length + 1).sum::<usize>()
    };
    let mut labels = Labels::new(nodes, NAME_LENGTHS[0]);
    let mut all = labels.items(nodes, refs);
    if length_of(&all, CompactRank::Remainder) <= room {
        return (all, NAME_LENGTHS[0]);
    }
    // Texts are going to be omitted, and with them what equal elements belong to.
    let contexts = distinct::contexts(nodes);
    for names in NAME_LENGTHS {
        labels = Labels::new(nodes, names);
        labels.contexts.clone_from(&contexts);
        // They alone decide about the length, so the rest is written once it is known.
        all = labels.interactive_items(nodes, refs);
        if length_of(&all, CompactRank::InteractiveOutOfView) <= room {
            break;
        }
    }
    for (index, item) in all.iter_mut().enumerate() {
        if item.is_none() {
            *item = other_item(nodes, index, labels.max_chars, refs);
        }
    }
    (all, labels.max_chars)
}

/// How the names of interactive elements are written.
#[derive(Debug)]
struct Labels {
    /// The length to which names are truncated.
    max_chars: usize,
    /// Names that are truncated in another way, by index.
    shortened: HashMap<usize, String>,
    /// What equal elements belong to, by index.
    contexts: HashMap<usize, String>,
}

impl Labels {
    fn new(nodes: &[PageNode], max_chars: usize) -> Self {
        Self {
            max_chars,
            shortened: distinct::shortened(nodes, max_chars),
            contexts: HashMap::new(),
        }
    }

    fn interactive_items(
        &self,
        nodes: &[PageNode],
        refs: &mut ElementRefs,
    ) -> Vec<Option<CompactItem>> {
        let item = |index| interactive_item(nodes, index, self, refs);
        (0..nodes.len()).map(item).collect()
    }

    fn items(&self, nodes: &[PageNode], refs: &mut ElementRefs) -> Vec<Option<CompactItem>> {
        let mut item = |index| {
            interactive_item(nodes, index, self, refs)
                .or_else(|| other_item(nodes, index, self.max_chars, refs))
        };
        (0..nodes.len()).map(&mut item).collect()
    }
}

fn interactive_item(
    nodes: &[PageNode],
    index: usize,
    labels: &Labels,
    refs: &mut ElementRefs,
) -> Option<CompactItem> {
    let node = &nodes[index];
    let rank = if node.is_in_view() {
        CompactRank::Interactive
    } else {
        CompactRank::InteractiveOutOfView
    };
    node.is_interactive()
        .then(|| CompactItem::new(rank, interactive_text(nodes, index, labels, refs), false))
}

/// The item of a node that is not interactive; `None` if it adds nothing.
fn other_item(
    nodes: &[PageNode],
    index: usize,
    names: usize,
    refs: &mut ElementRefs,
) -> Option<CompactItem> {
    let node = &nodes[index];
    let (rank, text, is_container) = if node.is_text() {
        if is_repeated_by_neighbour(nodes, index) || is_name_of_parent(nodes, index) {
            return None;
        }
        let rank = if node.is_in_view() {
            CompactRank::InView
        } else {
            CompactRank::Remainder
        };
        (rank, quoted(&cut(&node.name, names * 2)), false)
    } else {
        if matches!(node.role.as_str(), "canvas" | "video") {
            let text = media_text(node, names, refs);
            return Some(CompactItem::new(CompactRank::Structure, text, false));
        }
        if matches!(node.role.as_str(), "heading" | "image") && is_in_name_above(nodes, index) {
            return None;
        }
        // Wrappers often repeat the name of the control that opens them.
        if node.role == "generic" && is_repeated_nearby(nodes, index) {
            return None;
        }
        let (text, is_container) = structure_text(node, names)?;
        let is_repeated = is_repeated_by_child(nodes, index);
        let text = if is_repeated && node.role != "heading" {
            format!("{}:", order_of(node)?)
        } else if is_repeated {
            text.split(' ').next().unwrap_or_default().to_owned()
        } else {
            text
        };
        let rank = match node.role.as_str() {
            "heading" | "dialog" | "alertdialog" | "alert" => CompactRank::Structure,
            _ if is_container && !node.name.is_empty() => CompactRank::Structure,
            _ if node.is_in_view() => CompactRank::InView,
            _ => CompactRank::Remainder,
        };
        (rank, text, is_container)
    };
    Some(CompactItem::new(rank, text, is_container))
}

/// Whether the text repeats the name of the control or group beside it, which is listed.
fn is_repeated_by_neighbour(nodes: &[PageNode], index: usize) -> bool {
    let text = &nodes[index].name;
    let beside = [index.checked_sub(1), Some(index + 1)];
    let mut beside = beside.into_iter().flatten().filter_map(|at| nodes.get(at));
    beside.any(|node| node.name == *text && !node.is_text() && is_element_listed(node))
}

/// Whether one of the nodes around it has the name of this element and is listed.
fn is_repeated_nearby(nodes: &[PageNode], index: usize) -> bool {
    let around = index.saturating_sub(NEARBY_NODES)..nodes.len().min(index + NEARBY_NODES);
    let mut others = around.filter(|at| *at != index);
    others.any(|at| {
        let node = &nodes[at];
        node.name == nodes[index].name && (node.is_text() || is_element_listed(node))
    })
}

/// Whether an element has an item of its own, other than a `generic` one that may be a repetition.
fn is_element_listed(node: &PageNode) -> bool {
    let is_structure = || node.role != "generic" && structure_text(node, 0).is_some();
    node.is_interactive() || is_structure()
}

/// Whether the text stands for the name of the interactive element that contains nothing else.
fn is_name_of_parent(nodes: &[PageNode], index: usize) -> bool {
    let parent = index.checked_sub(1).map(|parent| (parent, &nodes[parent]));
    parent.is_some_and(|(at, parent)| {
        parent.is_interactive() && parent.name.is_empty() && only_text(nodes, at).is_some()
    })
}

/// Whether a heading or image is part of the name of the interactive element around it.
fn is_in_name_above(nodes: &[PageNode], index: usize) -> bool {
    let node = &nodes[index];
    let (mut depth, mut levels) = (node.depth, 0);
    for above in nodes[..index].iter().rev() {
        if depth == 0 || levels == MAX_NAMED_LEVELS || node.name.is_empty() {
            break;
        }
        if above.depth >= depth {
            continue;
        }
        (depth, levels) = (above.depth, levels + 1);
        let is_named_by_content = above.is_interactive() && above.is_named_by_content();
        if is_named_by_content && above.name.contains(node.name.as_str()) {
            return true;
        }
    }
    false
}

/// A canvas or video that is not interactive: it has a ref, because it is acted on by position.
fn media_text(node: &PageNode, names: usize, refs: &mut ElementRefs) -> String {
    let name = match node.name.as_str() {
        "" => String::new(),
        name => format!(" {}", quoted(&cut(name, names))),
    };
    format!("{} {}{name} {}", refs.of(node), node.role, node.detail)
}

/// How a table is sorted by the column or row of a header cell.
fn order_of(node: &PageNode) -> Option<&str> {
    let mut states = node.states.split(' ');
    states.find(|state| matches!(*state, "ascending" | "descending" | "sorted"))
}

/// Whether a heading or a header cell contains a link or button with the same name.
fn is_repeated_by_child(nodes: &[PageNode], index: usize) -> bool {
    let (node, below) = (&nodes[index], nodes.get(index + 1));
    matches!(node.role.as_str(), "heading" | "columnheader" | "rowheader")
        && below.is_some_and(|below| {
            below.is_interactive() && below.depth > node.depth && below.name == node.name
        })
}

/// An interactive element: `b12 "Save" disabled`.
fn interactive_text(
    nodes: &[PageNode],
    index: usize,
    labels: &Labels,
    refs: &mut ElementRefs,
) -> String {
    let (node, names) = (&nodes[index], labels.max_chars);
    let mut text = refs.of(node);
    if letter(&node.role).is_none() && node.role != "generic" {
        text.push(' ');
        text.push_str(&node.role);
    }
    let only = only_text(nodes, index).filter(|_| node.name.is_empty());
    let name = only.unwrap_or(&node.name);
    if !name.is_empty() {
        text.push(' ');
        match labels.shortened.get(&index) {
            Some(shortened) => text.push_str(&quoted(shortened)),
            None => text.push_str(&quoted(&cut(name, names))),
        }
    } else if node.role == "link" && !node.detail.is_empty() {
        text.push_str(&format!(
            " to {}",
            quoted(&cut(last_segment(&node.detail), names))
        ));
    }
    if !node.value.is_empty() {
        text.push('=');
        text.push_str(&quoted(&cut(&node.value, names)));
    }
    let has_short_detail =
        !node.detail.is_empty() && node.detail.chars().count() <= MAX_OPTIONS_CHARS;
    match node.role.as_str() {
        "link" | "iframe" => {}
        "canvas" | "video" => text.push_str(&format!(" {}", node.detail)),
        "combobox" | "listbox" if has_short_detail => {
            text.push_str(&format!(" of {}", quoted(&node.detail)));
        }
        "combobox" | "listbox" => {}
        _ if node.detail.is_empty() => {}
        _ => text.push_str(&format!(" wants {}", quoted(&cut(&node.detail, names)))),
    }
    for state in node
        .states
        .split(' ')
        .filter(|state| is_notable_state(state))
    {
        text.push(' ');
        text.push_str(state);
    }
    if let Some(context) = labels.contexts.get(&index) {
        text.push_str(&format!(" {context}"));
    }
    text
}

/// The last segment of a URL, which is the most specific.
fn last_segment(url: &str) -> &str {
    let path = url.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, end)| end)
}

/// Whether a state is mentioned; defaults are not.
fn is_notable_state(state: &str) -> bool {
    !state.is_empty() && !matches!(state, "unchecked" | "unpressed")
}

/// The text of containers and other structure, and whether it contains what follows.
fn structure_text(node: &PageNode, names: usize) -> Option<(String, bool)> {
    let name = || quoted(&cut(&node.name, names));
    Some(match node.role.as_str() {
        "heading" => {
            let level = node
                .states
                .split(' ')
                .find_map(|s| s.strip_prefix("level="));
            let level = level.and_then(|level| level.parse().ok()).unwrap_or(2);
            (format!("{} {}", "#".repeat(level.min(6)), name()), false)
        }
        "dialog" | "alertdialog" | "iframe" | "main" | "navigation" | "search" | "form"
        | "region" | "banner" | "contentinfo" | "complementary" | "menu" | "tablist"
        | "toolbar" | "tree" | "radiogroup" | "alert" | "group" => {
            let named = if node.name.is_empty() {
                String::new()
            } else {
                format!(" {}", name())
            };
            (format!("{}{named}:", node.role), true)
        }
        "table" | "grid" | "treegrid" if !node.detail.is_empty() => {
            let named = if node.name.is_empty() {
                String::new()
            } else {
                format!(" {}", name())
            };
            (format!("{}{named} of {}:", node.role, node.detail), true)
        }
        "image" if !node.name.is_empty() => (format!("image {}", name()), false),
        "generic" | "graphics-symbol" if !node.name.is_empty() => (name(), false),
        "columnheader" | "rowheader" if !node.name.is_empty() => match order_of(node) {
            Some(order) => (format!("{} {order}", name()), false),
            None => (name(), false),
        },
        "progressbar" | "meter" | "status" if !node.value.is_empty() || !node.name.is_empty() => {
            let value = quoted(&cut(&node.value, names));
            (format!("{} {}={value}", node.role, name()), false)
        }
        _ => return None,
    })
}

/// Whether a node starts a line: a row, a paragraph, a heading.
fn begins_line(nodes: &[PageNode], holder: Option<usize>, index: usize) -> bool {
    let node = &nodes[index];
    match node.role.as_str() {
        "row" | "article" | "heading" | "paragraph" => true,
        _ if !node.is_text() => {
            structure_text(node, 0).is_some_and(|(_, is_container)| is_container)
        }
        // In a list or a row, text continues the line.
        _ => {
            let holder = holder.map(|holder| nodes[holder].role.as_str());
            let continues_line = matches!(
                holder,
                Some("listitem" | "cell" | "gridcell" | "columnheader" | "rowheader" | "paragraph")
            );
            node.starts_line() && !continues_line
        }
    }
}

/// Selects the items that fit, by rank.
fn select_items(items: &[Option<CompactItem>], room: usize) -> Vec<bool> {
    let mut chosen = vec![false; items.len()];
    let mut used = 0;
    for rank in [
        CompactRank::Interactive,
        CompactRank::InteractiveOutOfView,
        CompactRank::Structure,
        CompactRank::InView,
        CompactRank::Remainder,
    ] {
        for (index, item) in items.iter().enumerate() {
            let Some(item) = item.as_ref().filter(|item| item.rank == rank) else {
                continue;
            };
            if used + item.length < room {
                used += item.length + 1;
                chosen[index] = true;
            } else if rank <= CompactRank::InteractiveOutOfView {
                // Items are omitted from here on, and counted.
                used = room;
            }
        }
    }
    chosen
}

fn lay_out(nodes: &[PageNode], items: &[Option<CompactItem>], chosen: &[bool]) -> Vec<String> {
    let mut lines: Vec<(String, usize)> = Vec::new();
    let mut is_new = true;
    for (index, holder) in parents(nodes).into_iter().enumerate() {
        is_new |= begins_line(nodes, holder, index);
        let Some(item) = items[index].as_ref().filter(|_| chosen[index]) else {
            continue;
        };
        match lines.last_mut() {
            Some((line, length)) if !is_new && *length + item.length < MAX_LINE_CHARS => {
                line.push(' ');
                line.push_str(&item.text);
                *length += item.length + 1;
            }
            Some(_) | None => lines.push((item.text.clone(), item.length)),
        }
        is_new = nodes[index].role == "heading" && !is_repeated_by_child(nodes, index);
    }
    lines.into_iter().map(|(line, _)| line).collect()
}

/// Explains the letters of the refs.
fn legend(nodes: &[PageNode]) -> Option<String> {
    let is_used = |role: &str| {
        nodes
            .iter()
            .any(|node| node.is_interactive() && node.role == role)
    };
    let used: Vec<String> = LETTERS
        .iter()
        .filter(|(role, ..)| is_used(role))
        .map(|(_, letter, what)| format!("{letter} {what}"))
        .collect();
    let others = nodes
        .iter()
        .any(|node| node.is_interactive() && letter(&node.role).is_none());
    let others = others.then(|| "e another element".to_owned());
    let all: Vec<String> = used.into_iter().chain(others).collect();
    (!all.is_empty()).then(|| format!("Refs: {}.", all.join(", ")))
}

/// The line about omissions, if any.
fn omissions(
    items: &[Option<CompactItem>],
    chosen: &[bool],
    names: usize,
    unread: u64,
) -> Option<String> {
    let left = |is_interactive: bool| {
        let left = items.iter().zip(chosen).filter(|(_, chosen)| !**chosen);
        left.filter_map(|(item, _)| item.as_ref())
            .filter(|item| {
                (item.rank <= CompactRank::InteractiveOutOfView) == is_interactive
                    && !item.is_container
            })
            .count()
    };
    let (acting, others) = (left(true), left(false));
    let mut parts = Vec::new();
    if acting > 0 {
        parts.push(format!("{acting} more interactive elements"));
    }
    if others > 0 {
        parts.push(format!("{others} other texts"));
    }
    if unread > 0 {
        parts.push(format!("{unread} unread elements"));
    }
    if parts.is_empty() && names == NAME_LENGTHS[0] {
        return None;
    }
    let cut = if names < NAME_LENGTHS[0] {
        format!(" Names are truncated to {names} characters.")
    } else {
        String::new()
    };
    if parts.is_empty() {
        return Some(format!("[{}]", cut.trim_start()));
    }
    Some(format!(
        "[{} omitted: read a part by its ref, only interactive elements, or the full page, or search it.{cut}]",
        parts.join(" and ")
    ))
}

#[cfg(test)]
mod tests {
    use super::super::node::tests::nodes;
    use super::*;

    const INTERACTIVE: u8 = 1;
    const TEXT: u8 = 4;

    /// The texts of the items of a page.
    fn texts(lines: &[(usize, u8, &str, &str)]) -> Vec<String> {
        let (page, mut refs) = (nodes(lines), ElementRefs::default());
        let items = Labels::new(&page, NAME_LENGTHS[0]).items(&page, &mut refs);
        items.into_iter().flatten().map(|item| item.text).collect()
    }

    #[test]
    fn text_and_an_element_with_the_same_name_are_one_item() {
        let label_first = texts(&[
            (0, TEXT, "text", "Status"),
            (0, 0, "generic", "Active"),
            (1, TEXT, "text", "Active"),
        ]);
        assert_eq!(label_first, ["\"Status\"", "\"Active\""]);
        let icon_after = texts(&[(0, TEXT, "text", "Paid"), (0, 0, "generic", "Paid")]);
        assert_eq!(icon_after, ["\"Paid\""]);
        let control = texts(&[
            (0, INTERACTIVE, "checkbox", "Agree"),
            (0, TEXT, "text", "Agree"),
        ]);
        assert_eq!(control, ["c1 \"Agree\""]);
        // A list item has no item of its own.
        let of_list = texts(&[(0, 0, "listitem", "Tea"), (1, TEXT, "text", "Tea")]);
        assert_eq!(of_list, ["\"Tea\""]);
    }

    #[test]
    fn equal_labels_of_cards_are_all_listed() {
        let cards = texts(&[
            (0, TEXT, "text", "Boats"),
            (0, 0, "generic", "4 of 5"),
            (0, TEXT, "text", "Trains"),
            (0, 0, "generic", "4 of 5"),
            (0, INTERACTIVE, "button", "Options"),
            (0, 0, "generic", "Options"),
        ]);
        let expected = [
            "\"Boats\"",
            "\"4 of 5\"",
            "\"Trains\"",
            "\"4 of 5\"",
            "b1 \"Options\"",
        ];
        assert_eq!(cards, expected);
    }
}
