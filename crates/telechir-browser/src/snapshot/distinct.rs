//! Names that tell elements apart: shortened names stay different, and equal ones get the heading or
//! text that they belong to.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation as _;

use super::bounded_text::{cut, quoted};
use super::node::{PageNode, ends, parents};
use super::outline::only_text;

/// Maximum length of the text that an element belongs to, in characters.
const MAX_CONTEXT_CHARS: usize = 60;
/// Maximum number of texts that tell equal elements apart.
const MAX_CONTEXT_TEXTS: usize = 4;

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

/// What tells each of several elements with the same role and name apart, by the index of the
/// element: `in "Boats"`, the heading or text of the row, list item or card that it is in.
pub(super) fn contexts(nodes: &[PageNode]) -> HashMap<usize, String> {
    let mut equal: HashMap<(&str, &str), Vec<usize>> = HashMap::new();
    for index in interactive(nodes) {
        equal.entry(known_as(nodes, index)).or_default().push(index);
    }
    let (parents, ends) = (parents(nodes), ends(nodes));
    let mut contexts = HashMap::new();
    for ((_, own), group) in equal.iter().filter(|(_, group)| group.len() > 1) {
        let titles: Vec<Vec<&str>> = parts(nodes, &parents, &ends, group)
            .into_iter()
            .map(|part| titles(&nodes[part], own))
            .collect();
        // As few texts as tell all apart in what is shown of them.
        let joined = |count: usize| -> Vec<String> {
            let first = |titles: &Vec<&str>| {
                let first = titles[..count.min(titles.len())].join(", ");
                cut(&first, MAX_CONTEXT_CHARS)
            };
            titles.iter().map(first).collect()
        };
        let is_enough =
            |texts: &[String]| texts.iter().collect::<HashSet<_>>().len() == group.len();
        let texts = (1..=MAX_CONTEXT_TEXTS)
            .map(joined)
            .find(|texts| is_enough(texts));
        let is_distinct = texts.is_some();
        let texts = texts.unwrap_or_else(|| joined(1));
        for (at, (index, text)) in group.iter().zip(texts).enumerate() {
            let position = format!("{} of {}", at + 1, group.len());
            let context = match (text.is_empty(), is_distinct) {
                (true, _) => position,
                (false, true) => format!("in {}", quoted(&text)),
                (false, false) => format!("in {}, {position}", quoted(&text)),
            };
            contexts.insert(*index, context);
        }
    }
    contexts
}

/// The part of the page that each element of a group is in: the largest row, list item or other
/// container that holds no other of them, else what is between it and its neighbour.
fn parts(
    nodes: &[PageNode],
    parents: &[Option<usize>],
    ends: &[usize],
    group: &[usize],
) -> Vec<Range<usize>> {
    let is_only = |container: usize| {
        let end = ends[container];
        let first = group.partition_point(|index| *index < container);
        group.get(first + 1).is_none_or(|next| *next >= end)
    };
    let container_of = |index: usize| {
        let mut largest = None;
        let mut at = parents[index];
        while let Some(container) = at.filter(|container| is_only(*container)) {
            largest = Some(container..ends[container]);
            at = parents[container];
        }
        largest
    };
    // Without containers, a card is what one line begins, with the element or with its text.
    let is_first_in_card = group.iter().all(|index| {
        let after = nodes.get(index + 1);
        nodes[*index].starts_line()
            && after.is_some_and(|node| node.is_text() && !node.starts_line())
    });
    let beside = |at: usize| {
        let index = group[at];
        // What is around the first or last one is not longer than what is between two.
        let gap = |from: usize| group.get(from + 1).map_or(0, |next| next - group[from] - 1);
        if is_first_in_card {
            let end = group.get(at + 1).copied();
            index + 1..end.unwrap_or_else(|| nodes.len().min(index + 1 + gap(at.saturating_sub(1))))
        } else if let Some(before) = at.checked_sub(1) {
            group[before] + 1..index
        } else {
            index.saturating_sub(gap(0))..index
        }
    };
    let part = |(at, index): (usize, &usize)| container_of(*index).unwrap_or_else(|| beside(at));
    group.iter().enumerate().map(part).collect()
}

/// The name of a part of a page, the heading nearest to its end, then its texts, other than `own`.
fn titles<'a>(nodes: &'a [PageNode], own: &str) -> Vec<&'a str> {
    let has_text = |node: &&PageNode| !node.name.is_empty() && node.name != own;
    let heading = nodes
        .iter()
        .filter(has_text)
        .rev()
        .find(|node| node.role == "heading");
    let texts = nodes.iter().filter(has_text).filter(|node| {
        node.is_text() || matches!(node.role.as_str(), "link" | "image" | "rowheader")
    });
    let container = nodes.first().filter(has_text);
    let container = container.filter(|node| is_container(&node.role));
    let mut titles: Vec<&str> = Vec::new();
    for node in container.into_iter().chain(heading).chain(texts) {
        if titles.len() == MAX_CONTEXT_TEXTS {
            break;
        }
        if !titles.contains(&node.name.as_str()) {
            titles.push(&node.name);
        }
    }
    titles
}

fn is_container(role: &str) -> bool {
    !matches!(
        role,
        "text" | "heading" | "link" | "button" | "image" | "generic"
    )
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
        assert_eq!(contexts[&4], "in \"Boats\"");
        assert_eq!(contexts[&6], "in \"Trains\"");
        assert_eq!(contexts.len(), 2);
    }

    /// The contexts of the elements with one name, in order.
    fn contexts_of(page: &[PageNode], name: &str) -> Vec<String> {
        let mut contexts: Vec<_> = contexts(page).into_iter().collect();
        contexts.retain(|(index, _)| page[*index].name == name);
        contexts.sort();
        contexts.into_iter().map(|(_, context)| context).collect()
    }

    #[test]
    fn equal_elements_of_a_table_have_their_row() {
        let row = |number, state| {
            [
                (1, 0, "row", ""),
                (2, 0, "cell", ""),
                (3, 4, "text", state),
                (2, 0, "cell", ""),
                (3, 4, "text", number),
                (2, 0, "cell", ""),
                (3, 1, "button", "Edit"),
                (3, 1, "button", "Delete"),
            ]
        };
        let head = [(0, 0, "heading", "Orders"), (0, 0, "table", "")];
        let page = nodes(&[&head[..], &row("1001", "Open"), &row("1002", "Paid")].concat());
        assert_eq!(contexts_of(&page, "Edit"), ["in \"Open\"", "in \"Paid\""]);
        assert_eq!(contexts_of(&page, "Delete"), ["in \"Open\"", "in \"Paid\""]);
        // Equal first cells do not tell the rows apart.
        let page = nodes(&[&head[..], &row("1001", "Open"), &row("1002", "Open")].concat());
        assert_eq!(
            contexts_of(&page, "Edit"),
            ["in \"Open, 1001\"", "in \"Open, 1002\""]
        );
        let page = nodes(&[&head[..], &row("1001", "Open"), &row("1001", "Open")].concat());
        assert_eq!(
            contexts_of(&page, "Edit"),
            ["in \"Open\", 1 of 2", "in \"Open\", 2 of 2"]
        );
    }

    #[test]
    fn equal_elements_with_titles_that_differ_late_have_their_position() {
        let title = |end: char| format!("{}{end}", "A long title that begins alike ".repeat(3));
        let (first, second) = (title('1'), title('2'));
        let page = nodes(&[
            (0, 0, "article", ""),
            (1, 0, "heading", &first),
            (1, 1, "button", "Like"),
            (0, 0, "article", ""),
            (1, 0, "heading", &second),
            (1, 1, "button", "Like"),
        ]);
        let contexts = contexts_of(&page, "Like");
        assert!(contexts[0].ends_with("…\", 1 of 2"), "{contexts:?}");
        assert!(contexts[1].ends_with("…\", 2 of 2"), "{contexts:?}");
    }

    #[test]
    fn equal_elements_of_cards_without_a_container_have_the_text_of_their_card() {
        // LINE_START, TEXT_RUN and INTERACTIVE of the walker.
        let (line, text, control) = (16, 4, 1);
        let before = nodes(&[
            (0, line, "heading", "Feed"),
            (0, text | line, "text", "Boats"),
            (0, control, "button", "Like"),
            (0, text | line, "text", "Trains"),
            (0, control, "button", "Like"),
            (0, text | line, "text", "Imprint"),
        ]);
        assert_eq!(
            contexts_of(&before, "Like"),
            ["in \"Boats\"", "in \"Trains\""]
        );
        let after = nodes(&[
            (0, line, "heading", "Feed"),
            (0, control | line, "button", "Like"),
            (0, text, "text", "Boats"),
            (0, control | line, "button", "Like"),
            (0, text, "text", "Trains"),
            (0, text | line, "text", "Imprint"),
        ]);
        assert_eq!(
            contexts_of(&after, "Like"),
            ["in \"Boats\"", "in \"Trains\""]
        );
        let bare = nodes(&[
            (0, control | line, "button", "Like"),
            (0, control | line, "button", "Like"),
        ]);
        assert_eq!(contexts_of(&bare, "Like"), ["1 of 2", "2 of 2"]);
    }
}
