//! The view `changes`: differences between two snapshots of a page.

use std::collections::HashMap;

use super::bounded_text::{BoundedText, cut, quoted};
use super::node::{ElementId, PageNode};
use super::outline::line;
use super::refs::ElementRefs;
use super::render_context::RenderContext;

/// Maximum length, in characters.
const MAX_CHARS: usize = 6_000;

/// The differences between `old`, the nodes of the snapshot `before`, and the page now.
pub(super) fn render(
    context: &RenderContext<'_>,
    before: &str,
    old: &[PageNode],
    refs: &mut ElementRefs,
) -> String {
    let (old, new) = trimmed(old, &context.tree.nodes);
    let mut output = BoundedText::with_limit(MAX_CHARS);
    output.line(&format!("{}; since {before}:", context.header()));
    let (old_index, new_index) = (NodeIndex::of(old), NodeIndex::of(new));
    let mut count = 0;
    let mut report = |output: &mut BoundedText, sign: char, text: &str| {
        count += 1;
        output.line(&format!("{sign} {text}"));
    };
    for node in old.iter().filter(|node| !new_index.has(node)) {
        report(&mut output, '-', &line(node, refs, None));
    }
    for node in new {
        match old_index.find(node) {
            None => report(&mut output, '+', &line(node, refs, None)),
            Some(was) if was.same_text(node) => {}
            Some(was) => report(&mut output, '~', &changed(was, node, refs)),
        }
    }
    let omitted = output.omitted;
    let mut text = output.text();
    if count == 0 {
        text.push_str(" no changes.");
    }
    if omitted > 0 {
        text.push_str(&format!("\n[{omitted} more changes; read the page again]"));
    }
    text
}

/// The nodes of a page by identity: element, or element and text.
struct NodeIndex<'a> {
    elements: HashMap<ElementId, &'a PageNode>,
    texts: HashMap<(ElementId, &'a str), ()>,
}

impl<'a> NodeIndex<'a> {
    fn of(nodes: &'a [PageNode]) -> Self {
        let mut index = Self {
            elements: HashMap::new(),
            texts: HashMap::new(),
        };
        for node in nodes {
            if node.is_text() {
                index.texts.insert((node.element, node.name.as_str()), ());
            } else {
                index.elements.insert(node.element, node);
            }
        }
        index
    }

    fn has(&self, node: &PageNode) -> bool {
        if node.is_text() {
            self.texts.contains_key(&(node.element, node.name.as_str()))
        } else {
            self.elements.contains_key(&node.element)
        }
    }

    /// The node with the same identity.
    fn find<'b>(&self, node: &'b PageNode) -> Option<&'b PageNode>
    where
        'a: 'b,
    {
        if node.is_text() {
            self.has(node).then_some(node)
        } else {
            self.elements.get(&node.element).copied()
        }
    }
}

/// The element as it is now, and its previous properties where they differ.
fn changed(was: &PageNode, node: &PageNode, refs: &mut ElementRefs) -> String {
    let mut text = line(node, refs, None);
    let mut before = Vec::new();
    if was.role != node.role {
        before.push(was.role.clone());
    }
    if was.name != node.name {
        before.push(quoted(&cut(&was.name, 100)));
    }
    if was.value != node.value {
        before.push(format!("value={}", quoted(&cut(&was.value, 100))));
    }
    if was.states != node.states {
        let states = if was.states.is_empty() {
            "no state"
        } else {
            &was.states
        };
        before.push(states.to_owned());
    }
    if was.detail != node.detail {
        before.push(quoted(&cut(&was.detail, 100)));
    }
    text.push_str(&format!(" (was {})", before.join(", ")));
    text
}

/// Both lists without their common start and end, which are most of a page.
fn trimmed<'a, 'b>(old: &'a [PageNode], new: &'b [PageNode]) -> (&'a [PageNode], &'b [PageNode]) {
    let is_same =
        |(was, node): &(&PageNode, &PageNode)| was.element == node.element && was.same_text(node);
    let first = old.iter().zip(new).take_while(is_same).count();
    let (old, new) = (&old[first..], &new[first..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let last = pairs.take_while(is_same).count();
    (&old[..old.len() - last], &new[..new.len() - last])
}
