//! Search for elements by words.

use super::node::{PageNode, PageTree};

/// Maximum number of results.
const MAX_MATCHES: usize = 20;

/// The nodes that match the words best, best first; if any node matches all words, only such nodes.
pub(crate) fn search<'a>(tree: &'a PageTree, query: &str) -> Vec<&'a PageNode> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut hits: Vec<(usize, bool, &PageNode)> = tree
        .nodes
        .iter()
        .filter(|node| !node.is_text())
        .map(|node| (score(node, &words), node.is_interactive(), node))
        .filter(|(score, ..)| *score > 0)
        .collect();
    if hits.iter().any(|(score, ..)| *score == words.len()) {
        hits.retain(|(score, ..)| *score == words.len());
    }
    hits.sort_by_key(|(score, is_interactive, _)| (std::cmp::Reverse(*score), !is_interactive));
    hits.into_iter()
        .take(MAX_MATCHES)
        .map(|(.., node)| node)
        .collect()
}

/// How many of the words occur in the node's texts.
fn score(node: &PageNode, words: &[String]) -> usize {
    let text = format!("{} {} {} {}", node.role, node.name, node.value, node.detail).to_lowercase();
    words.iter().filter(|word| text.contains(*word)).count()
}
