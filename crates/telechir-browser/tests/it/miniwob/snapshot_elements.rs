//! What a solution sees of a page: the elements that the session's own snapshot tells.

use serde_json::Value;

/// One element of a snapshot.
#[derive(Clone, Debug, Default)]
pub(super) struct Element {
    /// Its ref.
    pub(super) id: String,
    pub(super) role: String,
    /// Its name, or else the words inside it.
    pub(super) name: String,
    /// Whether it can be acted on.
    pub(super) acts: bool,
}

/// All elements of a snapshot, in the page's order.
pub(super) fn elements(snapshot: &Value) -> Vec<Element> {
    let mut all = Vec::new();
    for node in list(snapshot, "nodes") {
        gather(node, &mut all);
    }
    all
}

/// Adds a node and those below it; gives the words in it.
fn gather(node: &Value, all: &mut Vec<Element>) -> String {
    if let Some(text) = node["text"].as_str() {
        return text.trim().to_owned();
    }
    let place = all.len();
    all.push(Element::default());
    let words: Vec<String> = list(node, "children")
        .map(|child| gather(child, all))
        .filter(|words| !words.is_empty())
        .collect();
    let said = text(node, "name").trim().to_owned();
    let name = if said.is_empty() {
        words.join(" ")
    } else {
        said
    };
    all[place] = Element {
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
