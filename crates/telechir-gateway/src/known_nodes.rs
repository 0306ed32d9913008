//! The nodes of one session that the program got. It gets none that the browser itself has put into an
//! element (a user-agent shadow root): what a person typed into a password field stands there as text.

use std::collections::HashSet;
use std::mem;

use serde_json::{Map, Value};

/// Nodes after which the oldest are forgotten.
const MAX_NODES: usize = 1 << 20;
/// Members that name a node which an event is about.
const EVENT_MEMBERS: [&str; 5] = ["nodeId", "parentId", "parentNodeId", "hostId", "rootId"];

/// The numbers of the nodes. Numbers follow one another, so those that were not given out are easily
/// guessed, also before the answer that has their neighbours.
#[derive(Debug, Default)]
pub(crate) struct KnownNodes {
    shown: HashSet<i64>,
    /// Those of the document that the program asked for before.
    earlier: HashSet<i64>,
}

impl KnownNodes {
    /// Whether a command names a node that the program did not get.
    pub(crate) fn is_foreign(&self, params: &Map<String, Value>) -> bool {
        let node = params.get("nodeId").filter(|id| !id.is_null());
        node.is_some_and(|id| !self.is_shown(id))
    }

    /// All nodes get new numbers with the next answer.
    pub(crate) fn begin(&mut self) {
        self.earlier = mem::take(&mut self.shown);
    }

    /// Leaves the browser's own nodes out of a result, and remembers the others. Nodes that are listed
    /// flat are told by their parents.
    pub(crate) fn strip_result(&mut self, result: &mut Value) {
        for name in ["node", "root"] {
            if let Some(node) = result.get_mut(name)
                && is_own_root(node)
            {
                *node = Value::Null;
            }
        }
        let mut hidden = HashSet::new();
        strip(result, &mut hidden);
        if let Some(nodes) = result.get_mut("nodes").and_then(Value::as_array_mut) {
            // Children may stand before their parents.
            let mut length = usize::MAX;
            while nodes.len() < length {
                length = nodes.len();
                nodes.retain(|node| {
                    let parent = node["parentId"].as_i64();
                    let is_hidden =
                        is_own_root(node) || parent.is_some_and(|id| hidden.contains(&id));
                    if is_hidden {
                        collect(node, &mut hidden);
                    }
                    !is_hidden
                });
            }
        }
        self.note(result, &hidden);
    }

    /// Leaves the browser's own nodes out of an event, and remembers the others. False if the event is
    /// about a node that the program does not know.
    pub(crate) fn strip_event(&mut self, params: &mut Value) -> bool {
        let mut named = EVENT_MEMBERS.iter().filter_map(|name| params.get(*name));
        // Nodes outside of the document have no parent.
        if named.any(|id| *id != 0 && !self.is_shown(id)) || is_own_root(&params["root"]) {
            return false;
        }
        let mut hidden = HashSet::new();
        strip(params, &mut hidden);
        self.note(params, &hidden);
        true
    }

    fn is_shown(&self, id: &Value) -> bool {
        let id = id.as_i64();
        id.is_some_and(|id| self.shown.contains(&id) || self.earlier.contains(&id))
    }

    fn note(&mut self, value: &Value, hidden: &HashSet<i64>) {
        if self.shown.len() > MAX_NODES {
            self.begin();
        }
        collect(value, &mut self.shown);
        for id in hidden {
            self.shown.remove(id);
            self.earlier.remove(id);
        }
    }
}

/// Removes the browser's own nodes, and collects their numbers.
fn strip(value: &mut Value, hidden: &mut HashSet<i64>) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| strip(item, hidden)),
        Value::Object(members) => {
            if let Some(roots) = members.get_mut("shadowRoots").and_then(Value::as_array_mut) {
                roots.retain(|root| {
                    let is_own = is_own_root(root);
                    if is_own {
                        collect(root, hidden);
                    }
                    !is_own
                });
            }
            members
                .values_mut()
                .for_each(|member| strip(member, hidden));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The numbers of all nodes. Zero is a node without one.
fn collect(value: &Value, ids: &mut HashSet<i64>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| collect(item, ids)),
        Value::Object(members) => {
            let listed = members.get("nodeIds").and_then(Value::as_array);
            let listed = listed.into_iter().flatten();
            let numbers = listed.chain(members.get("nodeId"));
            let numbers = numbers.filter_map(Value::as_i64);
            ids.extend(numbers.filter(|id| *id != 0));
            members.values().for_each(|member| collect(member, ids));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn is_own_root(node: &Value) -> bool {
    node["shadowRootType"] == "user-agent"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn field() -> Value {
        json!({
            "nodeId": 4, "nodeName": "INPUT", "shadowRoots": [
                { "nodeId": 5, "shadowRootType": "user-agent", "children": [
                    { "nodeId": 6, "nodeName": "DIV", "children": [
                        { "nodeId": 7, "nodeName": "#text", "nodeValue": "s3cret" }] }] },
                { "nodeId": 8, "shadowRootType": "open", "children": [{ "nodeId": 9 }] },
            ],
        })
    }

    fn document() -> Value {
        json!({ "root": { "nodeId": 1, "children": [
            { "nodeId": 2, "contentDocument": { "nodeId": 3, "children": [field()] } }] } })
    }

    #[track_caller]
    fn check(nodes: &KnownNodes, ids: &[(i64, bool)]) {
        for (id, is_foreign) in ids {
            let named = json!({ "nodeId": id });
            let named = named.as_object().unwrap();
            assert_eq!(nodes.is_foreign(named), *is_foreign, "{id}");
        }
    }

    #[test]
    fn trees_have_no_nodes_of_the_browser_itself() {
        let mut nodes = KnownNodes::default();
        check(&nodes, &[(1, true), (7, true)]);
        let mut document = document();
        nodes.strip_result(&mut document);
        let shown = document.to_string();
        assert!(!shown.contains("s3cret"), "{shown}");
        assert!(shown.contains("\"open\"") && shown.contains("\"nodeId\":9"));
        check(
            &nodes,
            &[
                (1, false),
                (4, false),
                (5, true),
                (6, true),
                (7, true),
                (9, false),
            ],
        );
        // A root that is described itself.
        let mut root = json!({ "node": field()["shadowRoots"][0] });
        nodes.strip_result(&mut root);
        assert_eq!(root, json!({ "node": null }));
        check(&nodes, &[(5, true)]);
    }

    #[test]
    fn flat_lists_have_no_nodes_of_the_browser_itself() {
        let mut nodes = KnownNodes::default();
        let mut flat = json!({ "nodes": [
            { "nodeId": 7, "parentId": 6, "nodeValue": "s3cret" },
            { "nodeId": 6, "parentId": 5 },
            { "nodeId": 4, "parentId": 1, "shadowRoots": [
                { "nodeId": 5, "shadowRootType": "user-agent" }] },
            { "nodeId": 10, "parentId": 4 },
        ] });
        nodes.strip_result(&mut flat);
        assert_eq!(
            flat,
            json!({ "nodes": [
                { "nodeId": 4, "parentId": 1, "shadowRoots": [] },
                { "nodeId": 10, "parentId": 4 },
            ] })
        );
        check(&nodes, &[(4, false), (10, false), (5, true), (7, true)]);
    }

    #[test]
    fn events_about_nodes_that_a_program_did_not_get_are_not_shown() {
        let mut nodes = KnownNodes::default();
        nodes.strip_result(&mut document());
        for mut event in [
            json!({ "hostId": 4, "root": field()["shadowRoots"][0] }),
            json!({ "parentId": 6, "nodes": [{ "nodeId": 20, "nodeValue": "s3cret" }] }),
            json!({ "parentNodeId": 5, "previousNodeId": 0, "node": { "nodeId": 21 } }),
            json!({ "nodeId": 7, "characterData": "s3cret" }),
            json!({ "nodeId": 20, "characterData": "s3cret" }),
            json!({ "parentId": 21, "nodes": [] }),
        ] {
            assert!(!nodes.strip_event(&mut event), "{event}");
        }
        let mut inserted = json!({ "parentNodeId": 1, "previousNodeId": 0, "node": field() });
        inserted["node"]["nodeId"] = 30.into();
        assert!(nodes.strip_event(&mut inserted));
        assert!(!inserted.to_string().contains("s3cret"), "{inserted}");
        let mut detached = json!({ "parentId": 0, "nodes": [{ "nodeId": 31 }] });
        assert!(nodes.strip_event(&mut detached));
        check(&nodes, &[(30, false), (31, false), (20, true), (21, true)]);
    }

    #[test]
    fn numbers_of_a_document_count_until_the_one_after_the_next() {
        let mut nodes = KnownNodes::default();
        nodes.strip_result(&mut json!({ "root": { "nodeId": 1 }, "nodeIds": [2] }));
        nodes.begin();
        nodes.strip_result(&mut json!({ "root": { "nodeId": 3 } }));
        check(&nodes, &[(1, false), (2, false), (3, false)]);
        nodes.begin();
        check(&nodes, &[(1, true), (2, true), (3, false)]);
    }
}
