//! Hosted tools that both of Google's APIs have, under names of either spelling.

use serde_json::{Map, Value, json};

use super::api::Api;

/// A tool with the name that each API gives it, and its members that both have.
const TOOLS: [(&str, &str, &[&str]); 2] = [
    (
        "fileSearch",
        "file_search",
        &["file_search_store_names", "top_k", "metadata_filter"],
    ),
    ("googleMaps", "google_maps", &["enable_widget"]),
];

/// A tool as Google's other API declares it.
pub(super) struct OtherForm {
    /// The API that declares it so.
    pub(super) api: Api,
    pub(super) json: Value,
    /// Its members that the other API does not have.
    pub(super) left: Vec<String>,
}

/// The tool as Google's other API declares it; none if it is not Google's or only one API has it.
pub(super) fn other_form(kind: &str, members: &Map<String, Value>) -> Option<OtherForm> {
    if let Some((_, name, common)) = TOOLS.iter().find(|(camel, ..)| *camel == kind) {
        let (mut json, left) = renamed(members, common, snake);
        json.insert("type".to_owned(), (*name).into());
        return Some(OtherForm {
            api: Api::Interactions,
            json: json.into(),
            left,
        });
    }
    let (name, _, common) = TOOLS.iter().find(|(_, snake, _)| *snake == kind)?;
    // OpenAI has a tool of this name with other members.
    if members.contains_key("vector_store_ids") {
        return None;
    }
    let (json, left) = renamed(members, common, camel);
    Some(OtherForm {
        api: Api::Generate,
        json: json!({ *name: json }),
        left,
    })
}

/// The members of both APIs under other names, and the names of the others.
fn renamed(
    members: &Map<String, Value>,
    common: &[&str],
    name_of: fn(&str) -> String,
) -> (Map<String, Value>, Vec<String>) {
    let (mut json, mut left) = (Map::new(), Vec::new());
    for (name, value) in members.iter().filter(|(_, value)| !value.is_null()) {
        match common.contains(&snake(name).as_str()) {
            true => {
                json.insert(name_of(name), value.clone());
            }
            false => left.push(name.clone()),
        }
    }
    (json, left)
}

fn snake(name: &str) -> String {
    let mut snake = String::new();
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(c.to_ascii_lowercase());
    }
    snake
}

fn camel(name: &str) -> String {
    let mut camel = String::new();
    let mut is_start = false;
    for c in name.chars() {
        if c == '_' {
            is_start = true;
        } else if is_start {
            camel.push(c.to_ascii_uppercase());
            is_start = false;
        } else {
            camel.push(c);
        }
    }
    camel
}
