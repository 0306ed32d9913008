//! Encodes a browser's tabs as a `browser_state` block within the provider's limits.

use serde_json::{Map, Value, json};
use telechir_protocol::{ComputerResult, StateChange, TabState};

use super::PROVIDER;
use super::encode_call::ToolUsePart;
use crate::Report;

const MAX_TABS: usize = 100;
const MAX_CHANGES: usize = 200;
const MAX_TEXT_CHARS: usize = 4096;

/// Whether a member's result must be the browser state and nothing else.
pub(super) fn is_tab_member(name: &str) -> bool {
    matches!(name, "list_tabs" | "new_tab" | "switch_tab" | "close_tab")
}

/// The browser state after a call; none if the tabs are unknown or inconsistent.
pub(super) fn state(
    part: &ToolUsePart,
    result: &ComputerResult,
    report: &mut Report,
) -> Option<Value> {
    let active = result.tabs.iter().filter(|tab| tab.active).count();
    if result.tabs.is_empty() && part.name != "close_tab" {
        return None;
    }
    let location = format!("result {}", result.call_id);
    if active != 1 && !result.tabs.is_empty() {
        report.lost(
            "tabs",
            &location,
            format!("expected one active tab, found {active}"),
        );
        return None;
    }
    if result.tabs.len() > MAX_TABS {
        report.lost(
            format!("{} tabs", result.tabs.len() - MAX_TABS),
            &location,
            "a state has at most 100 tabs",
        );
    }
    // The active tab is always included.
    let mut room = MAX_TABS - active;
    let mut tabs = Vec::new();
    for tab in &result.tabs {
        if tab.active || room > 0 {
            room = if tab.active { room } else { room - 1 };
            tabs.push(tab_json(tab, &location, report));
        }
    }
    let mut state = Map::from_iter([
        ("type".to_owned(), json!("browser_state")),
        ("tabs".to_owned(), tabs.into()),
    ]);
    if let Some(changes) = changes(part, result).filter(|changes| !changes.is_empty()) {
        state.insert("state_changes".to_owned(), changes.into());
    }
    Some(Value::Object(state))
}

/// The changes since the last state; a new tab counts as one.
fn changes(part: &ToolUsePart, result: &ComputerResult) -> Option<Vec<Value>> {
    let known = result
        .meta
        .property(PROVIDER, "state_changes")
        .and_then(Value::as_array)
        .cloned();
    let known = known.or_else(|| {
        let changes = result.state_changes.iter().map(change_json);
        let changes: Vec<Value> = changes.take(MAX_CHANGES).collect();
        (!changes.is_empty()).then_some(changes)
    });
    if known.is_some() || part.name != "new_tab" {
        return known.map(|changes| changes.into_iter().take(MAX_CHANGES).collect());
    }
    let active = result.tabs.iter().find(|tab| tab.active)?;
    Some(vec![json!({"type": "tab_opened", "tab_id": active.tab_id})])
}

/// Encodes a change, with texts in the allowed length and without control characters.
fn change_json(change: &StateChange) -> Value {
    let mut json = serde_json::to_value(change).unwrap_or_default();
    for member in json.as_object_mut().into_iter().flatten() {
        if let Value::String(text) = member.1 {
            *text = cleaned(text);
        }
    }
    json
}

fn cleaned(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_TEXT_CHARS)
        .collect()
}

fn tab_json(tab: &TabState, location: &str, report: &mut Report) -> Value {
    let mut clean = |what: &str, text: &str| {
        let cleaned = cleaned(text);
        if cleaned != text {
            let why = "texts have at most 4096 characters, and no control characters";
            report.preserved(
                format!("{what} of tab {}", tab.tab_id),
                location,
                why,
                "shortened, without control characters",
            );
        }
        cleaned
    };
    let mut json = json!({"tab_id": tab.tab_id, "title": clean("title", &tab.title), "url": clean("URL", &tab.url)});
    if tab.active {
        json["active"] = true.into();
    }
    json
}

/// The tabs as text, for tools without a `browser_state`.
pub(super) fn as_text(tabs: &[TabState]) -> String {
    let line = |tab: &TabState| {
        let mark = if tab.active { " (active)" } else { "" };
        format!("{}{mark}: {} {}", tab.tab_id, tab.title, tab.url)
    };
    let lines: Vec<String> = tabs.iter().map(line).collect();
    format!("Tabs:\n{}", lines.join("\n"))
}
