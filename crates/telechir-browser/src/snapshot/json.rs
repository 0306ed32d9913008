//! A page as JSON: every node with its role, name, states and place.

use serde_json::{Map, Value, json};

use super::node::Node;
use super::refs::Refs;
use super::history::About;
use super::bounded_text::cut;

/// How many nodes are told.
const MOST: usize = 20_000;
/// An address is cut here, in characters.
const LONGEST_ADDRESS: usize = 2_000;

/// The tree of a page or a part of it.
pub(super) fn tell(about: &About<'_>, nodes: &[Node], refs: &mut Refs) -> String {
    let tree = about.tree;
    let told = &nodes[..nodes.len().min(MOST)];
    let mut place = 0;
    let depth = told.first().map_or(0, |node| node.depth);
    let page = json!({
        "snapshot": about.name, "epoch": tree.epoch,
        "title": tree.head.title, "url": cut(&tree.head.url, LONGEST_ADDRESS),
        "view": tree.head.to_json(),
        "left_out": tree.left + u64::try_from(nodes.len() - told.len()).unwrap_or(u64::MAX),
        "nodes": level(told, &mut place, depth, refs),
    });
    page.to_string()
}

/// The nodes from here on that are as deep as this, each with those it holds.
fn level(nodes: &[Node], place: &mut usize, depth: usize, refs: &mut Refs) -> Vec<Value> {
    let mut told = Vec::new();
    while let Some(node) = nodes.get(*place).filter(|node| node.depth >= depth) {
        *place += 1;
        let mut members = node_members(node, refs);
        let children = level(nodes, place, node.depth + 1, refs);
        if !children.is_empty() {
            members.insert("children".to_owned(), children.into());
        }
        told.push(Value::Object(members));
    }
    told
}

fn node_members(node: &Node, refs: &mut Refs) -> Map<String, Value> {
    let mut members = Map::new();
    if node.is_words() {
        members.insert("text".to_owned(), node.name.as_str().into());
        return members;
    }
    let mut say = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    say("ref", refs.of(node).into());
    say("role", node.role.as_str().into());
    for (name, text) in [("name", &node.name), ("value", &node.value)] {
        if !text.is_empty() {
            say(name, text.as_str().into());
        }
    }
    if node.acts() {
        say("actionable", true.into());
    }
    if node.is_in_view() {
        say("in_view", true.into());
    }
    let states: Vec<&str> = node.states.split(' ').filter(|s| !s.is_empty()).collect();
    if !states.is_empty() {
        say("states", json!(states));
    }
    match node.role.as_str() {
        _ if node.more.is_empty() => {}
        "combobox" | "listbox" => say("options", node.more.split('|').collect()),
        _ => say("href", node.more.as_str().into()),
    }
    if let Some(place) = node.place {
        say("box", json!(place));
    }
    members
}
