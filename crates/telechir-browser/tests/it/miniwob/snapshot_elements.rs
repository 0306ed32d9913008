//! The elements of a JSON snapshot, as a solution uses them.

use serde_json::Value;

/// An element of a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Element {
    /// The ref of the element.
    pub(super) id: String,
    pub(super) role: String,
    /// The accessible name, or else the text inside.
    pub(super) name: String,
    /// Whether it is interactive.
    pub(super) acts: bool,
}

/// All elements of a snapshot, in page order.
pub(super) fn elements(snapshot: &Value) -> Vec<Element> {
    let mut all = Vec::new();
    for node in list(snapshot, "nodes") {
        gather(node, &mut all);
    }
    all
}

/// Adds a node and its descendants; returns their text.
fn gather(node: &Value, all: &mut Vec<Element>) -> String {
    if let Some(text) = node["text"].as_str() {
        return text.trim().to_owned();
    }
    let index = all.len();
    all.push(Element::default());
    let texts: Vec<String> = list(node, "children")
        .map(|child| gather(child, all))
        .filter(|text| !text.is_empty())
        .collect();
    let own_name = text(node, "name").trim().to_owned();
    let name = if own_name.is_empty() {
        texts.join(" ")
    } else {
        own_name
    };
    all[index] = Element {
        id: text(node, "ref"),
        role: text(node, "role"),
        name: name.clone(),
        acts: node["actionable"] == true,
    };
    name
}

fn list<'a>(node: &'a Value, member: &str) -> impl Iterator<Item = &'a Value> {
    node[member].as_array().into_iter().flatten()
}

fn text(node: &Value, member: &str) -> String {
    node[member].as_str().unwrap_or_default().to_owned()
}
