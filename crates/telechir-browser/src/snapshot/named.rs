//! Finds the element of a page that a name means, or lists those that it could mean.

use telechir_device::{
    AmbiguousMatch, NameMatch, choose_ranked, name_match, normalized, role_name,
};
use telechir_protocol::NamedElement;

use super::node::{PageNode, PageTree};
use super::refs::ElementRefs;
use super::{distinct, outline};

/// The ref of the matching element: an exact name before one that differs in case before one that
/// only contains it; then interactive before others, as on a desktop.
pub(super) fn choose(
    tree: &PageTree,
    named: &NamedElement,
    refs: &mut ElementRefs,
) -> Result<String, AmbiguousMatch> {
    let nodes = tree.nodes.iter().enumerate();
    let ranked: Vec<_> = nodes
        .filter_map(|(index, node)| Some((rank(node, named)?, index)))
        .collect();
    let lines = |indexes: &[usize]| {
        let contexts = distinct::contexts(&tree.nodes);
        let line = |index: &usize| {
            let line = outline::found_line(&tree.nodes[*index], refs, None);
            match contexts.get(index) {
                Some(context) => format!("{line} {context}"),
                None => line,
            }
        };
        indexes.iter().map(line).collect()
    };
    let index = choose_ranked(named, &ranked, || alternatives(tree, named), lines)?;
    Ok(refs.of(&tree.nodes[index]))
}

fn rank(node: &PageNode, named: &NamedElement) -> Option<(NameMatch, bool)> {
    if node.is_text() {
        return None;
    }
    if let Some(role) = &named.role
        && role_name(role) != node.role
    {
        return None;
    }
    let name_match = match &named.name {
        Some(name) if name.trim().is_empty() => return None,
        Some(name) => name_match(name, &node.name)?,
        None => NameMatch::Exact,
    };
    Some((name_match, !node.is_interactive()))
}

/// Elements that could be meant instead: those that share a word, then other interactive ones.
fn alternatives(tree: &PageTree, named: &NamedElement) -> Vec<usize> {
    let wanted = normalized(named.name.as_deref().unwrap_or_default());
    let shares_word = |node: &PageNode| {
        let name = normalized(&node.name);
        wanted.split_whitespace().any(|word| name.contains(word))
    };
    let candidates = tree.nodes.iter().enumerate();
    let candidates = candidates.filter(|(_, node)| node.is_interactive() && !node.is_text());
    let (mut close, others): (Vec<_>, Vec<_>) = candidates.partition(|(_, node)| shares_word(node));
    close.extend(others);
    close.into_iter().map(|(index, _)| index).collect()
}
