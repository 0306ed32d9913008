//! What is otherwise on a page than when it was told last.

use std::collections::HashMap;

use super::node::{ElementId, Node};
use super::outline::line;
use super::refs::Refs;
use super::history::About;
use super::bounded_text::{Page, cut, quoted};

/// How long it may be, in characters.
const LONGEST: usize = 6_000;

/// The differences between `old`, which was told as `before`, and the page now.
pub(super) fn tell(about: &About<'_>, before: &str, old: &[Node], refs: &mut Refs) -> String {
    let (old, new) = trimmed(old, &about.tree.nodes);
    let mut page = Page::of(LONGEST);
    page.line(&format!("{}; since {before}:", about.line()));
    let (gone, come) = (Kinds::of(old), Kinds::of(new));
    let mut count = 0;
    let mut say = |page: &mut Page, sign: char, text: &str| {
        count += 1;
        page.line(&format!("{sign} {text}"));
    };
    for node in old.iter().filter(|node| !come.has(node)) {
        say(&mut page, '-', &line(node, refs, None));
    }
    for node in new {
        match gone.find(node) {
            None => say(&mut page, '+', &line(node, refs, None)),
            Some(was) if was.says_the_same(node) => {}
            Some(was) => say(&mut page, '~', &changed(was, node, refs)),
        }
    }
    let left = page.left;
    let mut text = page.text();
    if count == 0 {
        text.push_str(" nothing that is told.");
    }
    if left > 0 {
        text.push_str(&format!("\n[{left} more changes; read the page again]"));
    }
    text
}

/// The nodes of a page, by what makes them the same as another time.
struct Kinds<'a> {
    elements: HashMap<ElementId, &'a Node>,
    words: HashMap<(ElementId, &'a str), ()>,
}

impl<'a> Kinds<'a> {
    fn of(nodes: &'a [Node]) -> Self {
        let mut kinds = Self {
            elements: HashMap::new(),
            words: HashMap::new(),
        };
        for node in nodes {
            if node.is_words() {
                kinds.words.insert((node.element, node.name.as_str()), ());
            } else {
                kinds.elements.insert(node.element, node);
            }
        }
        kinds
    }

    fn has(&self, node: &Node) -> bool {
        if node.is_words() {
            self.words.contains_key(&(node.element, node.name.as_str()))
        } else {
            self.elements.contains_key(&node.element)
        }
    }

    /// The node that this one was.
    fn find<'b>(&self, node: &'b Node) -> Option<&'b Node>
    where
        'a: 'b,
    {
        if node.is_words() {
            self.has(node).then_some(node)
        } else {
            self.elements.get(&node.element).copied()
        }
    }
}

/// The element as it is now, and what of it was otherwise.
fn changed(was: &Node, node: &Node, refs: &mut Refs) -> String {
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
    if was.more != node.more {
        before.push(quoted(&cut(&was.more, 100)));
    }
    text.push_str(&format!(" (was {})", before.join(", ")));
    text
}

/// Both without what they begin and end with alike, which is most of a page.
fn trimmed<'a, 'b>(old: &'a [Node], new: &'b [Node]) -> (&'a [Node], &'b [Node]) {
    let is_same =
        |(was, node): &(&Node, &Node)| was.element == node.element && was.says_the_same(node);
    let first = old.iter().zip(new).take_while(is_same).count();
    let (old, new) = (&old[first..], &new[first..]);
    let pairs = old.iter().rev().zip(new.iter().rev());
    let last = pairs.take_while(is_same).count();
    (&old[..old.len() - last], &new[..new.len() - last])
}
