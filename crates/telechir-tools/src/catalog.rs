//! The tools, their descriptions and arguments, and which of them a session can offer.

use std::time::Duration;

use serde_json::{Map, Value};
use telechir_protocol::{Content, FailureKind, Size, ToolResult};

use crate::answer::ToolAnswer;
use crate::arguments::{ArgumentError, checked, shortened};
use crate::elements::ElementList;
use crate::foreign_arguments;
use crate::request::{self, ToolRequest};
use crate::table::{AnswerForm, Entry, SESSION, TOOLS};

/// What the session behind the tools has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A desktop with windows, mouse and keyboard.
    pub desktop: bool,
    /// A browser, with or without a window.
    pub browser: bool,
    /// A shell whose state lasts from call to call.
    pub shell: bool,
    /// Another model that can be given a task on the screen.
    pub model: bool,
    /// Size of the screen, if known before the session starts.
    pub screen: Option<Size>,
}

impl Capabilities {
    pub(crate) fn has_screen(self) -> bool {
        self.desktop || self.browser
    }
}

/// Which tools to offer, of those that the session can.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolSelection {
    /// Only these, by name; empty for all.
    pub only: Vec<String>,
    /// Not these, by name.
    pub excluded: Vec<String>,
    /// Only tools that change nothing.
    pub read_only: bool,
}

/// What a tool does to its environment, as the hints of MCP's tool annotations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolHints {
    /// It only observes: neither the screen nor a file changes.
    pub read_only: bool,
    /// It may change or delete what exists.
    pub destructive: bool,
    /// A second call with the same arguments changes nothing more.
    pub idempotent: bool,
    /// It may reach the network.
    pub open_world: bool,
}

/// A tool as a client lists it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDefinition {
    /// Its name, which calls have.
    pub name: &'static str,
    /// A title for people.
    pub title: &'static str,
    /// What the model reads.
    pub description: &'static str,
    /// JSON Schema of the arguments.
    pub input_schema: Map<String, Value>,
    /// JSON Schema of the answer; absent for a tool whose answers may have a screenshot: some
    /// clients drop it beside a structured answer.
    pub output_schema: Option<Map<String, Value>>,
    /// What it does to its environment.
    pub hints: ToolHints,
}

/// The tools that a session can offer and that were selected.
#[derive(Clone, Debug)]
pub struct ToolCatalog {
    entries: Vec<&'static Entry>,
    screen: Option<Size>,
}

impl ToolCatalog {
    /// Selects tools.
    ///
    /// # Errors
    /// For a selected or excluded name that no tool has; the message lists all names.
    pub fn new(has: Capabilities, selection: &ToolSelection) -> Result<Self, String> {
        let named = selection.only.iter().chain(&selection.excluded);
        for name in named {
            if !TOOLS.iter().any(|tool| tool.name == name) {
                let names: Vec<&str> = TOOLS.iter().map(|tool| tool.name).collect();
                return Err(format!(
                    "no tool is named `{name}`; there are {}",
                    names.join(", ")
                ));
            }
        }
        let is_selected = |tool: &&Entry| {
            (tool.needs)(has)
                && (selection.only.is_empty() || selection.only.iter().any(|n| n == tool.name))
                && !selection.excluded.iter().any(|name| name == tool.name)
                && (!selection.read_only || tool.hints.read_only)
        };
        let entries = TOOLS.iter().filter(is_selected).collect();
        let screen = has.screen;
        Ok(Self { entries, screen })
    }

    /// The tools in a fixed order.
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.entries
            .iter()
            .map(|entry| entry.definition())
            .collect()
    }

    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// When no such tool is offered, or an argument is wrong.
    pub fn read(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Result<ToolRequest, ArgumentError> {
        let Some(entry) = self.entries.iter().find(|entry| entry.name == tool) else {
            let names: Vec<&str> = self.entries.iter().map(|entry| entry.name).collect();
            return Err(ArgumentError::of_call(format!(
                "No tool is named `{}`; use one of {}.",
                shortened(tool),
                names.join(", ")
            )));
        };
        if entry.name == "computer_use" && arguments.get("action") == Some(&"navigate".into()) {
            let message = "open addresses with browser_session: action open, and url";
            return Err(ArgumentError::at("action", message));
        }
        let table = entry.arguments();
        let arguments = foreign_arguments::listed(entry.name, arguments);
        let mut arguments = checked(entry.name, &table, &arguments)?;
        arguments.shift_remove(SESSION);
        request::read(entry.name, &table, arguments)
    }

    /// The answer of a tool to its call, which took `elapsed`.
    pub fn answer(
        &self,
        tool: &str,
        call: &Content,
        result: &ToolResult,
        elapsed: Duration,
    ) -> ToolAnswer {
        let mut answer = ToolAnswer::of(call, result, elapsed);
        if let Some(Value::String(message)) = answer.members.get("message") {
            let message = in_words_of_tools(message, self.has("execute_browser"));
            answer.insert("message", message.into());
        }
        match tool {
            "get_ui_context" => list_elements(&mut answer),
            "observe_screen" => add_elements(&mut answer),
            "maximize_active_window" => {
                let text = answer.members.get("stdout").and_then(Value::as_str);
                let was = text.is_some_and(|text| text.contains("already maximized"));
                if !answer.is_error {
                    answer.insert("was_maximized", was.into());
                }
            }
            "wait" => answer.insert("waited_seconds", elapsed.as_secs_f64().into()),
            _ => {}
        }
        if let Some(instead) = self.fallback(tool, result) {
            answer.insert("fallback", instead.into());
        }
        self.explain_scale(&mut answer);
        answer
    }

    /// Another offered tool with the same purpose, for a call that its device failed.
    fn fallback(&self, tool: &str, result: &ToolResult) -> Option<&'static str> {
        let ToolResult::Computer(result) = result else {
            return None;
        };
        let kind = result.error.as_ref()?.kind;
        let is_device = matches!(
            kind,
            FailureKind::Device | FailureKind::Unsupported | FailureKind::Timeout
        );
        let other = match tool {
            "execute_browser" | "execute_accessible" => "execute_gui",
            "get_ui_context" => "observe_screen",
            _ => return None,
        };
        (is_device && self.answer_form(other).is_some()).then_some(other)
    }

    /// Adds how much a screenshot was scaled down, because its coordinates are not the screen's.
    fn explain_scale(&self, answer: &mut ToolAnswer) {
        let member = |name| answer.members.get(name).and_then(Value::as_u64);
        let (Some(screen), Some(width), Some(height)) =
            (self.screen, member("width"), member("height"))
        else {
            return;
        };
        let is_complete = u64::from(screen.width) * height == u64::from(screen.height) * width;
        if is_complete && width < u64::from(screen.width) {
            let (screen_width, screen_height) = (screen.width, screen.height);
            let note = format!(
                "The screenshot is scaled down from {screen_width}x{screen_height}; use its own \
                 coordinates."
            );
            answer.insert("scaled", note.into());
        }
    }

    /// Whether a tool is offered.
    pub fn has(&self, tool: &str) -> bool {
        self.answer_form(tool).is_some()
    }

    /// Whether the answers of a tool may have a screenshot. Others are structured, even if the
    /// session took one.
    pub fn may_have_screenshot(&self, tool: &str) -> bool {
        let form = self.answer_form(tool);
        matches!(form, Some(AnswerForm::Screenshot | AnswerForm::OnRequest))
    }

    /// Whether the answers of a tool have a screenshot of the screen afterwards.
    pub fn shows_screen(&self, tool: &str) -> bool {
        self.answer_form(tool) == Some(AnswerForm::Screenshot)
    }

    fn answer_form(&self, tool: &str) -> Option<AnswerForm> {
        let entry = self.entries.iter().find(|entry| entry.name == tool);
        entry.map(|entry| entry.answer)
    }
}

/// The handle of the session that a call names, if it does.
pub fn session_handle(arguments: &Map<String, Value>) -> Option<&str> {
    arguments.get(SESSION).and_then(Value::as_str)
}

/// A device's message with the names that the tools have for neutral actions.
fn in_words_of_tools(message: &str, has_browser: bool) -> String {
    const IN_BROWSER: [(&str, &str); 7] = [
        ("read_page", "get_ui_context"),
        ("page_text", "execute_browser extract_text"),
        ("find", "execute_browser find"),
        ("form_input", "execute_browser fill"),
        ("list_tabs", "execute_browser list_tabs"),
        ("new_tab", "execute_browser open_tab"),
        ("maximize_window", "maximize_active_window"),
    ];
    const ON_DESKTOP: [(&str, &str); 4] = [
        ("read_page", "get_ui_context"),
        ("find", "get_ui_context"),
        ("form_input", "execute_accessible set_value"),
        ("maximize_window", "maximize_active_window"),
    ];
    let names: &[_] = match has_browser {
        true => &IN_BROWSER,
        false => &ON_DESKTOP,
    };
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let mut text = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(start) = rest.find(is_part) {
        text.push_str(&rest[..start]);
        rest = &rest[start..];
        let end = rest.find(|c: char| !is_part(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        // "find" is also a verb: it is an action only where it is offered as one.
        let is_offered = word != "find" || text.ends_with("use ") || text.ends_with("or ");
        let name = names
            .iter()
            .find(|(neutral, _)| *neutral == word && is_offered);
        text.push_str(name.map_or(word, |(_, name)| name));
        rest = after;
    }
    text + rest
}

/// Puts the elements of the text into members, and leaves its other lines.
fn list_elements(answer: &mut ToolAnswer) {
    let Some(Value::String(text)) = answer.members.get("stdout").filter(|_| !answer.is_error)
    else {
        return;
    };
    let list = ElementList::of(text);
    let state = |state| list.with_state(state).cloned().unwrap_or_default();
    let (window, focused) = (state("active"), state("focused"));
    answer.insert("stdout", list.rest.into());
    answer.insert("foreground_window", window);
    answer.insert("focused_element", focused);
    answer.insert("interactive_elements", list.elements.into());
    answer.insert("element_count", list.count.into());
}

/// Adds the labelled elements of the text, which stays as it is.
fn add_elements(answer: &mut ToolAnswer) {
    let text = answer.members.get("stdout").and_then(Value::as_str);
    let Some(text) = text.filter(|_| !answer.is_error) else {
        return;
    };
    let mut list = ElementList::of(text);
    list.elements
        .retain(|element| element.get("label").is_some());
    if !list.elements.is_empty() {
        answer.insert("ui_elements", list.elements.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Capabilities = Capabilities {
        desktop: true,
        browser: true,
        shell: true,
        model: true,
        screen: None,
    };

    fn names(has: Capabilities, selection: &ToolSelection) -> Vec<&'static str> {
        let catalog = ToolCatalog::new(has, selection).expect("known names");
        catalog.definitions().iter().map(|tool| tool.name).collect()
    }

    #[test]
    fn tools_of_absent_devices_are_not_listed() {
        let shell = Capabilities {
            shell: true,
            ..Capabilities::default()
        };
        let listed = names(shell, &ToolSelection::default());
        assert_eq!(listed, ["execute_cli", "wait", "get_action_history"]);
        assert_eq!(names(ALL, &ToolSelection::default()).len(), TOOLS.len());
    }

    #[test]
    fn a_selection_names_known_tools_and_read_only_wins() {
        let selection = ToolSelection {
            only: vec!["wait".to_owned(), "execute_cli".to_owned()],
            read_only: true,
            ..ToolSelection::default()
        };
        assert_eq!(names(ALL, &selection), ["wait"]);
        let unknown = ToolSelection {
            excluded: vec!["x".to_owned()],
            ..ToolSelection::default()
        };
        let error = ToolCatalog::new(ALL, &unknown).expect_err("an unknown name");
        assert!(
            error.contains("`x`") && error.contains("execute_cli"),
            "{error}"
        );
    }

    #[test]
    fn messages_have_the_names_of_tools() {
        for (message, expected) in [
            (
                "There is no ref \"ref_9\"; use read_page to get refs.",
                "There is no ref \"ref_9\"; use get_ui_context to get refs.",
            ),
            (
                "use find or read_page",
                "use execute_browser find or get_ui_context",
            ),
            (
                "failed to find the button \"read_pages\"",
                "failed to find the button \"read_pages\"",
            ),
            ("é", "é"),
        ] {
            assert_eq!(in_words_of_tools(message, true), expected);
        }
    }

    #[test]
    fn no_schema_has_a_list_of_types() {
        let catalog = ToolCatalog::new(ALL, &ToolSelection::default()).expect("no names");
        for tool in catalog.definitions() {
            let schemas = [Some(tool.input_schema), tool.output_schema];
            for schema in schemas.into_iter().flatten() {
                let text = Value::Object(schema).to_string();
                assert!(!text.contains("\"type\":["), "{}: {text}", tool.name);
            }
        }
    }

    #[test]
    fn all_definitions_are_small() {
        let catalog = ToolCatalog::new(ALL, &ToolSelection::default()).expect("no names");
        let bytes: usize = catalog
            .definitions()
            .iter()
            .map(|tool| {
                tool.description.len()
                    + tool.title.len()
                    + Value::Object(tool.input_schema.clone()).to_string().len()
                    + Value::from(tool.output_schema.clone().map(Value::Object))
                        .to_string()
                        .len()
                    + 150
            })
            .sum();
        assert!(bytes <= 12_000, "{bytes} bytes");
    }
}
