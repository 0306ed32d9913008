//! Search for elements and text by words.

use telechir_device::normalized;

use super::bounded_text::cut;
use super::node::{PageNode, PageTree, end_of, parents};
use super::refs::ElementRefs;
use super::{distinct, outline};

/// Maximum number of results, and of those that have only some of the words.
const MAX_MATCHES: usize = 20;
const MAX_PARTIAL_MATCHES: usize = 5;
/// Maximum length of an element's content, in characters.
const MAX_CONTENT_CHARS: usize = 300;
/// Words without meaning of their own.
const STOP_WORDS: [&str; 10] = [
    "a", "an", "and", "for", "in", "of", "on", "the", "to", "with",
];

/// A node that has some of the words.
#[derive(Debug)]
struct Hit {
    index: usize,
    /// How many of the words it has.
    score: usize,
    /// Its content, if it has no name.
    content: Option<String>,
}

/// The nodes that match the words best, best first, one per line with their refs.
pub(super) fn search(tree: &PageTree, query: &str, refs: &mut ElementRefs) -> String {
    let words = words_of(query);
    let (hits, found) = hits(&tree.nodes, &words);
    let best = hits.first().map_or(0, |hit| hit.score);
    let is_complete = best == words.len();
    let enough = if is_complete {
        best
    } else {
        words.len().div_ceil(2)
    };
    let limit = if is_complete {
        MAX_MATCHES
    } else {
        MAX_PARTIAL_MATCHES
    };
    let mut lines = Vec::new();
    if !is_complete || best == 0 {
        lines.push(format!(
            "No element matches {}.",
            outline::quoted_words(&words)
        ));
        let (some, none): (Vec<_>, Vec<_>) =
            words.iter().zip(&found).partition(|(_, found)| **found);
        if !some.is_empty() {
            let list = |words: Vec<(&String, &bool)>| {
                let words: Vec<String> = words.into_iter().map(|(word, _)| word.clone()).collect();
                outline::quoted_words(&words)
            };
            lines.push(match none.is_empty() {
                true => "Each word occurs, but not in one element.".to_owned(),
                false => format!("Found {}, but not {}.", list(some), list(none)),
            });
        }
    }
    let shown = hits.iter().filter(|hit| best > 0 && hit.score >= enough);
    let contexts = distinct::contexts(&tree.nodes);
    lines.extend(shown.take(limit).map(|hit| {
        let line = outline::found_line(&tree.nodes[hit.index], refs, hit.content.as_deref());
        match contexts.get(&hit.index) {
            Some(context) => format!("{line} {context}"),
            None => line,
        }
    }));
    lines.join("\n")
}

/// The words of a query, normalized.
fn words_of(query: &str) -> Vec<String> {
    let query = normalized(query);
    let all: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
    let meant: Vec<String> = all
        .iter()
        .filter(|word| !STOP_WORDS.contains(&word.as_str()))
        .cloned()
        .collect();
    if meant.is_empty() { all } else { meant }
}

/// The nodes with any of the words, best first, and which words occur at all.
fn hits(nodes: &[PageNode], words: &[String]) -> (Vec<Hit>, Vec<bool>) {
    let mut found = vec![false; words.len()];
    let mut scores = vec![0; nodes.len()];
    let mut hits = Vec::new();
    let parents = parents(nodes);
    for (index, node) in nodes.iter().enumerate() {
        let content = content_of(nodes, index);
        let own = [&node.role, &node.name, &node.value, &node.detail];
        let own = if node.is_text() { &own[1..2] } else { &own[..] };
        let mut text = own.iter().map(|text| normalized(text)).collect::<Vec<_>>();
        text.extend(content.as_deref().map(normalized));
        let mut score = 0;
        for (word, found) in words.iter().zip(&mut found) {
            if text.iter().any(|text| text.contains(word)) {
                (score, *found) = (score + 1, true);
            }
        }
        scores[index] = score;
        // Text is reported as the content of its element.
        let is_reported = node.is_text()
            && parents[index].is_some_and(|parent| {
                scores[parent] == score && content_of(nodes, parent).is_some()
            });
        if score > 0 && !is_reported {
            hits.push(Hit {
                index,
                score,
                content,
            });
        }
    }
    let length = |hit: &Hit| hit.content.as_ref().map_or(0, String::len);
    hits.sort_by_key(|hit| {
        let is_interactive = nodes[hit.index].is_interactive();
        (std::cmp::Reverse(hit.score), !is_interactive, length(hit))
    });
    (hits, found)
}

/// The text in an element that is known by its content; `None` for other elements.
fn content_of(nodes: &[PageNode], index: usize) -> Option<String> {
    let node = &nodes[index];
    let is_known_by_content = matches!(
        node.role.as_str(),
        "row"
            | "cell"
            | "gridcell"
            | "listitem"
            | "paragraph"
            | "term"
            | "definition"
            | "article"
            | "caption"
    );
    if !is_known_by_content || !node.name.is_empty() || node.is_text() {
        return None;
    }
    let mut content = String::new();
    for below in &nodes[index + 1..end_of(nodes, index)] {
        for text in [&below.name, &below.value] {
            if !text.is_empty() && !content.ends_with(text.as_str()) {
                content.push_str(if content.is_empty() { "" } else { " " });
                content.push_str(text);
            }
        }
        if content.chars().count() > MAX_CONTENT_CHARS {
            break;
        }
    }
    Some(cut(&content, MAX_CONTENT_CHARS))
}
