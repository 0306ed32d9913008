//! Names that tell elements apart: shortened names stay different, and equal ones get the heading or
//! text that they belong to.

use std::collections::{HashMap, HashSet};

use unicode_segmentation::UnicodeSegmentation as _;

use super::bounded_text::{cut, quoted};
use super::node::PageNode;
use super::outline::only_text;

/// Maximum length of the text that an element belongs to, in characters.
const MAX_CONTEXT_CHARS: usize = 60;

/// The role and the name of an interactive element, by its content if it has no name of its own.
fn known_as(nodes: &[PageNode], index: usize) -> (&str, &str) {
    let node = &nodes[index];
    let name = match node.name.as_str() {
        "" => only_text(nodes, index).unwrap_or_default(),
        name => name,
    };
    (node.role.as_str(), name)
}

fn interactive(nodes: &[PageNode]) -> impl Iterator<Item = usize> {
    (0..nodes.len()).filter(|index| nodes[*index].is_interactive())
}

/// The names of interactive elements that would be equal if all were cut to `max_chars`, although
/// they differ, by the index of the element.
pub(super) fn shortened(nodes: &[PageNode], max_chars: usize) -> HashMap<usize, String> {
    let mut by_start: HashMap<(&str, String), Vec<usize>> = HashMap::new();
    for index in interactive(nodes) {
        let (role, name) = known_as(nodes, index);
        by_start
            .entry((role, cut(name, max_chars)))
            .or_default()
            .push(index);
    }
    let name = |index: &usize| known_as(nodes, *index).1;
    let mut names = HashMap::new();
    for group in by_start.into_values() {
        let full: HashSet<&str> = group.iter().map(name).collect();
        if full.len() < 2 {
            continue;
        }
        let short: HashSet<String> = full
            .iter()
            .map(|name| cut_inside(name, max_chars))
            .collect();
        let is_enough = short.len() == full.len();
        names.extend(group.iter().map(|index| match is_enough {
            true => (*index, cut_inside(name(index), max_chars)),
            false => (*index, name(index).to_owned()),
        }));
    }
    names
}

/// Start and end of a text, joined by an ellipsis.
fn cut_inside(text: &str, max_chars: usize) -> String {
    let parts: Vec<&str> = text.graphemes(true).collect();
    if parts.len() <= max_chars {
        return text.to_owned();
    }
    let (start, end) = (max_chars / 2, max_chars - max_chars / 2);
    format!(
        "{}…{}",
        parts[..start].concat(),
        parts[parts.len() - end..].concat()
    )
}

/// The heading or text that each of several elements with the same role and name belongs to, by the
/// index of the element.
pub(super) fn contexts(nodes: &[PageNode]) -> HashMap<usize, String> {
    let mut equal: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for index in interactive(nodes) {
        equal.entry(known_as(nodes, index)).or_default().push(index);
    }
    let mut contexts = HashMap::new();
    for group in equal.values().filter(|group| group.len() > 1) {
        let mut from = 0;
        for (at, index) in group.iter().enumerate() {
            let next = group.get(at + 1).copied().unwrap_or(nodes.len());
            let own = known_as(nodes, *index).1;
            let before = title(&nodes[from..*index], own);
            let title = before.or_else(|| title(&nodes[index + 1..next], own));
            if let Some(title) = title {
                contexts.insert(*index, quoted(&cut(title, MAX_CONTEXT_CHARS)));
            }
            from = index + 1;
        }
    }
    contexts
}

/// The first heading of a part of a page, else its first text, other than `own`.
fn title<'a>(nodes: &'a [PageNode], own: &str) -> Option<&'a str> {
    let has_text = |node: &&PageNode| !node.name.is_empty() && node.name != own;
    let heading = nodes
        .iter()
        .filter(has_text)
        .rev()
        .find(|node| node.role == "heading");
    let text = || {
        let is_text =
            |node: &&PageNode| node.is_text() || matches!(node.role.as_str(), "link" | "image");
        nodes.iter().filter(has_text).find(is_text)
    };
    heading.or_else(text).map(|node| node.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::super::node::tests::nodes;
    use super::*;

    #[test]
    fn shortened_names_stay_different() {
        let page = nodes(&[
            (0, 1, "button", "Delete the invoice 2031-0001"),
            (0, 1, "button", "Delete the invoice 2031-0002"),
            (0, 1, "link", "Delete the invoice 2031-0002"),
            (0, 1, "button", "Close"),
        ]);
        let names = shortened(&page, 12);
        assert_eq!(names[&0], "Delete…1-0001");
        assert_eq!(names[&1], "Delete…1-0002");
        assert_eq!(names.len(), 2);
        let page = nodes(&[
            (0, 1, "button", "Archive box A of the cellar today"),
            (0, 1, "button", "Archive box B of the cellar today"),
        ]);
        assert_eq!(
            shortened(&page, 12)[&1],
            "Archive box B of the cellar today"
        );
    }

    #[test]
    fn equal_elements_have_the_title_of_their_part() {
        let page = nodes(&[
            (0, 0, "heading", "Feed"),
            (0, 0, "article", ""),
            (1, 0, "heading", "Boats"),
            (1, 4, "text", "Sold."),
            (1, 1, "button", "Like"),
            (0, 4, "text", "Trains"),
            (0, 1, "button", "Like"),
            (0, 1, "button", "Top"),
        ]);
        let contexts = contexts(&page);
        assert_eq!(contexts[&4], "\"Boats\"");
        assert_eq!(contexts[&6], "\"Trains\"");
        assert_eq!(contexts.len(), 2);
    }
}
