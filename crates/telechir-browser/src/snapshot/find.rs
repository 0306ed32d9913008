//! Elements that some words fit.

use super::node::{Node, Tree};

/// The most that are told.
const HITS: usize = 20;

/// The nodes that the words fit best, the best first: all words where any node has all of them.
pub(crate) fn search<'a>(tree: &'a Tree, query: &str) -> Vec<&'a Node> {
    let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
    let mut hits: Vec<(usize, bool, &Node)> = tree
        .nodes
        .iter()
        .filter(|node| !node.is_words())
        .map(|node| (score(node, &words), node.acts(), node))
        .filter(|(score, ..)| *score > 0)
        .collect();
    if hits.iter().any(|(score, ..)| *score == words.len()) {
        hits.retain(|(score, ..)| *score == words.len());
    }
    hits.sort_by_key(|(score, acts, _)| (std::cmp::Reverse(*score), !acts));
    hits.into_iter().take(HITS).map(|(.., node)| node).collect()
}

/// How many of the words the node says of itself.
fn score(node: &Node, words: &[String]) -> usize {
    let said = format!("{} {} {} {}", node.role, node.name, node.value, node.more).to_lowercase();
    words.iter().filter(|word| said.contains(*word)).count()
}
