//! Messages in the words of the tools that a client has.
//!
//! A device names an action by its neutral name, which is a tool or an action of another name here.

use telechir_protocol::ActionKind;

use crate::schema::Kind;
use crate::table::{ACTION, Entry};

/// Neutral actions that the tools call otherwise: the tool, and its action if it has several. The
/// first tool that the client has is named.
const OTHER_NAMES: &[(ActionKind, &[(&str, &str)])] = &[
    (
        ActionKind::ReadPage,
        &[("get_ui_context", ""), ("execute_browser", "snapshot")],
    ),
    (ActionKind::PageText, &[("execute_browser", "extract_text")]),
    (
        ActionKind::FormInput,
        &[
            ("execute_browser", "fill"),
            ("execute_accessible", "set_value"),
        ],
    ),
    (ActionKind::FileUpload, &[("execute_browser", "upload")]),
    (ActionKind::NewTab, &[("execute_browser", "open_tab")]),
    (ActionKind::WaitFor, &[("execute_browser", "wait")]),
    (ActionKind::ReadConsole, &[("execute_browser", "console")]),
    (ActionKind::ReadNetwork, &[("execute_browser", "network")]),
    (
        ActionKind::CaptureElement,
        &[("execute_browser", "screenshot")],
    ),
    (
        ActionKind::MaximizeWindow,
        &[("maximize_active_window", "")],
    ),
];

/// A message with the names that these tools have for neutral actions; first that of `called`. What
/// none of them can do is named in plain words.
pub(crate) fn in_words_of(entries: &[&Entry], called: &str, message: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(is_part) {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        match name_of(entries, called, word) {
            Some(name) => text.push_str(&name),
            None => text.push_str(word),
        }
        rest = after;
    }
    text + rest
}

/// The name for a neutral action, unless the word is none or is its name here, too. Names of one word
/// are not distinguished from plain English.
fn name_of(entries: &[&Entry], called: &str, word: &str) -> Option<String> {
    let is_name = |kind: &&ActionKind| kind.name() == word && word.contains('_');
    let kind = ActionKind::ALL.iter().find(is_name)?;
    let names = OTHER_NAMES.iter().find(|(other, _)| other == kind);
    let names = names.map_or(&[][..], |(_, names)| names);
    let is_offered = |tool: &str| entries.iter().any(|entry| entry.name == tool);
    let own = names.iter().find(|(tool, _)| *tool == called);
    if let Some((tool, action)) = own.or_else(|| names.iter().find(|(tool, _)| is_offered(tool))) {
        return Some(match *action {
            "" => (*tool).to_owned(),
            action => format!("{tool} {action}"),
        });
    }
    let is_known = entries
        .iter()
        .any(|entry| entry.name == word || actions(entry).contains(&word));
    (!is_known).then(|| word.replace('_', " "))
}

/// The actions of a tool; none if it has one purpose.
pub(crate) fn actions(entry: &Entry) -> &'static [&'static str] {
    let action = entry
        .arguments
        .iter()
        .find(|argument| argument.name == ACTION);
    match action.map(|argument| argument.kind) {
        Some(Kind::OneOf(names) | Kind::Action(names)) => names,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TOOLS;

    fn only(tools: &[&str]) -> Vec<&'static Entry> {
        let is_selected = |entry: &&Entry| tools.is_empty() || tools.contains(&entry.name);
        TOOLS.iter().filter(is_selected).collect()
    }

    #[test]
    fn messages_have_the_names_of_the_tools_of_the_client() {
        for (tools, called, message, expected) in [
            (&[][..], "wait", "use read_page.", "use get_ui_context."),
            (
                &[],
                "execute_browser",
                "use `read_page`.",
                "use `execute_browser snapshot`.",
            ),
            (
                &["execute_accessible"],
                "execute_accessible",
                "perform `form_input`",
                "perform `execute_accessible set_value`",
            ),
            (
                &["execute_cli"],
                "execute_cli",
                "use read_page to get refs",
                "use read page to get refs",
            ),
            (&[], "wait", "focus_window é", "focus_window é"),
            (&[], "wait", "find \"read_pages\"", "find \"read_pages\""),
        ] {
            assert_eq!(in_words_of(&only(tools), called, message), expected);
        }
    }

    #[test]
    fn every_neutral_action_is_named_by_what_is_listed() {
        let mut selections: Vec<Vec<&Entry>> = TOOLS.iter().map(|tool| vec![tool]).collect();
        selections.push(only(&[]));
        for entries in selections {
            for kind in ActionKind::ALL {
                for called in &entries {
                    let named = in_words_of(&entries, called.name, kind.name());
                    let words = named.split(' ').filter(|word| word.contains('_'));
                    for word in words {
                        let is_listed = entries
                            .iter()
                            .any(|entry| entry.name == word || actions(entry).contains(&word));
                        assert!(is_listed, "{}: {kind} is {named}", called.name);
                    }
                }
            }
        }
    }

    #[test]
    fn every_other_name_is_a_tool_with_this_action() {
        for (tool, action) in OTHER_NAMES.iter().flat_map(|(_, names)| *names) {
            let entry = TOOLS.iter().find(|entry| entry.name == *tool);
            let entry = entry.unwrap_or_else(|| panic!("no tool {tool}"));
            let is_action = actions(entry).contains(action);
            assert!(is_action || action.is_empty(), "{tool} {action}");
        }
    }
}
