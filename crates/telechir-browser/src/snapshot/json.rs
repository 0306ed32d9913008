//! The view `json`: all nodes with roles, names, states and positions.

use serde_json::{Map, Value, json};

use super::bounded_text::cut;
use super::node::PageNode;
use super::refs::ElementRefs;
use super::render_context::RenderContext;

/// Maximum number of nodes.
const MAX_NODES: usize = 20_000;
/// URLs are truncated to this length, in characters.
const MAX_URL_CHARS: usize = 2_000;

/// The tree of a page or a part of it.
pub(super) fn render(
    context: &RenderContext<'_>,
    nodes: &[PageNode],
    refs: &mut ElementRefs,
) -> String {
    let tree = context.tree;
    let rendered = &nodes[..nodes.len().min(MAX_NODES)];
    let mut index = 0;
    let depth = rendered.first().map_or(0, |node| node.depth);
    let page = json!({
        "snapshot": context.name, "epoch": tree.epoch,
        "title": tree.head.title, "url": cut(&tree.head.url, MAX_URL_CHARS),
        "view": tree.head.to_json(),
        "left_out": tree.omitted + u64::try_from(nodes.len() - rendered.len()).unwrap_or(u64::MAX),
        "nodes": level(rendered, &mut index, depth, refs),
    });
    page.to_string()
}

/// The nodes of one level from `index` on, each with its children.
fn level(
    nodes: &[PageNode],
    index: &mut usize,
    depth: usize,
    refs: &mut ElementRefs,
) -> Vec<Value> {
    let mut rendered = Vec::new();
    while let Some(node) = nodes.get(*index).filter(|node| node.depth >= depth) {
        *index += 1;
        let mut members = node_members(node, refs);
        let children = level(nodes, index, node.depth + 1, refs);
        if !children.is_empty() {
            members.insert("children".to_owned(), children.into());
        }
        rendered.push(Value::Object(members));
    }
    rendered
}

fn node_members(node: &PageNode, refs: &mut ElementRefs) -> Map<String, Value> {
    let mut members = Map::new();
    if node.is_text() {
        members.insert("text".to_owned(), node.name.as_str().into());
        return members;
    }
    let mut insert = |name: &str, value: Value| {
        members.insert(name.to_owned(), value);
    };
    insert("ref", refs.of(node).into());
    insert("role", node.role.as_str().into());
    for (name, text) in [("name", &node.name), ("value", &node.value)] {
        if !text.is_empty() {
            insert(name, text.as_str().into());
        }
    }
    if node.is_interactive() {
        insert("actionable", true.into());
    }
    if node.is_in_view() {
        insert("in_view", true.into());
    }
    let states: Vec<&str> = node.states.split(' ').filter(|s| !s.is_empty()).collect();
    if !states.is_empty() {
        insert("states", json!(states));
    }
    match node.role.as_str() {
        _ if node.detail.is_empty() => {}
        "combobox" | "listbox" => insert("options", node.detail.split('|').collect()),
        "link" | "iframe" => insert("href", node.detail.as_str().into()),
        "canvas" | "video" => insert("size", node.detail.as_str().into()),
        "table" | "grid" | "treegrid" => insert("total", node.detail.as_str().into()),
        _ => insert("wants", node.detail.as_str().into()),
    }
    if let Some(bounds) = node.bounds {
        insert("box", json!(bounds));
    }
    members
}
