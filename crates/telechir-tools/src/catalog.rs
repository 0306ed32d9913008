//! The tools, their descriptions and arguments, and which of them a session can offer.

use std::time::Duration;

use serde_json::{Map, Value};
use telechir_protocol::{Action, Content, FailureKind, Size, ToolResult};

use crate::answer::ToolAnswer;
use crate::arguments::{ArgumentError, checked, shortened};
use crate::elements::ElementList;
use crate::foreign_arguments;
use crate::request::{self, ToolRequest};
use crate::table::{ACTION, AnswerForm, Entry, SESSION, TOOLS};
use crate::words;

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
    has_screen: bool,
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
        Ok(Self {
            entries,
            has_screen: has.has_screen(),
            screen: has.screen,
        })
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
        let opens_address = arguments.get(ACTION) == Some(&"navigate".into());
        if entry.name == "computer_use" && opens_address && self.has("browser_session") {
            let message = "open addresses with browser_session: action open, and url";
            return Err(ArgumentError::at(ACTION, message));
        }
        let table = entry.arguments();
        let arguments = foreign_arguments::listed(entry.name, arguments);
        let checked = checked(entry.name, &table, &arguments);
        let mut arguments = checked.map_err(|error| self.with_other_tool(error, &arguments))?;
        arguments.shift_remove(SESSION);
        let read = request::read(entry.name, &table, arguments)?;
        if let ToolRequest::Call(call) = &read
            && entry.name == "wait"
            && !self.has_screen
        {
            return Ok(ToolRequest::Wait(waits(call)));
        }
        Ok(read)
    }

    /// The error, which for an unknown action names the offered tool that has it.
    fn with_other_tool(
        &self,
        mut error: ArgumentError,
        arguments: &Map<String, Value>,
    ) -> ArgumentError {
        let action = arguments.get(ACTION).and_then(Value::as_str);
        let has =
            |entry: &&&Entry| action.is_some_and(|name| words::actions(entry).contains(&name));
        if error.pointer == format!("/{ACTION}")
            && let Some(other) = self.entries.iter().find(has)
        {
            error.message += &format!("; {} has it", other.name);
        }
        error
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
            let message = words::in_words_of(&self.entries, tool, message);
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

/// How long a call waits.
fn waits(call: &Content) -> Duration {
    let Content::ComputerCall(call) = call else {
        return Duration::ZERO;
    };
    let waits = call.actions.iter().map(|action| {
        if let Action::Wait { duration } = action {
            duration.unwrap_or_default()
        } else {
            Duration::ZERO
        }
    });
    waits.sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use telechir_protocol::{Action, Tool};
    use telechir_providers::{page_actions, page_tool};

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
    fn each_argument_has_one_type() {
        let catalog = ToolCatalog::new(ALL, &ToolSelection::default()).expect("no names");
        for tool in catalog.definitions() {
            let schemas = [Some(tool.input_schema.clone()), tool.output_schema];
            for schema in schemas.into_iter().flatten() {
                let text = Value::Object(schema).to_string();
                assert!(!text.contains("\"type\":["), "{}: {text}", tool.name);
            }
            for (name, schema) in tool.input_schema["properties"]
                .as_object()
                .expect("members")
            {
                assert!(schema["type"].is_string(), "{}: {name}", tool.name);
            }
        }
    }

    /// Arguments with which each action of the page function can be read.
    fn example(action: &str) -> Value {
        match action {
            "navigate" | "open_tab" => json!({"url": "https://example.com/"}),
            "find" => json!({"query": "price"}),
            "fill" => json!({"ref": "t1", "value": true}),
            "fill_form" => {
                json!({"fields": [{"ref": "t1", "value": "Ada"}, {"ref": "c2", "value": true}]})
            }
            "press" => json!({"key": "Enter"}),
            "drag" => json!({"ref": "e1", "to": "e2"}),
            "scroll" => json!({"ref": "e1", "direction": "down", "amount": 2}),
            "upload" => json!({"ref": "b1", "paths": ["a.txt"]}),
            "wait" => json!({"text": "done", "gone": true, "seconds": 5}),
            "click" | "double_click" | "right_click" | "hover" => json!({"ref": "b1"}),
            "switch_tab" | "close_tab" => json!({"tab": "tab_1"}),
            "dialog" => json!({"accept": true, "value": "Ada"}),
            _ => json!({}),
        }
    }

    #[test]
    fn several_options_are_a_list() {
        let catalog = ToolCatalog::new(ALL, &ToolSelection::default()).expect("no names");
        for action in ["fill", "select"] {
            let arguments = json!({"action": action, "ref": "e1", "value": ["S", "L"]});
            let read = catalog.read("execute_browser", arguments.as_object().expect("members"));
            let Ok(ToolRequest::Call(Content::ComputerCall(read))) = read else {
                panic!("{arguments}: {read:?}")
            };
            assert!(
                matches!(&read.actions[..], [Action::FormInput { value, .. }] if *value == json!(["S", "L"])),
                "{read:?}"
            );
        }
    }

    #[test]
    fn the_browser_tool_has_all_that_the_page_function_has() {
        let Tool::Function(page) = page_tool() else {
            panic!("no function")
        };
        let catalog = ToolCatalog::new(ALL, &ToolSelection::default()).expect("no names");
        let definitions = catalog.definitions();
        let browser = definitions.iter().find(|tool| tool.name == page.name);
        let browser = &browser.expect("the same name").input_schema["properties"];
        let names = |schema: &Value| -> Vec<String> {
            let members = schema["properties"].as_object().expect("members");
            members.keys().cloned().collect()
        };
        let nested = names(&page.parameters["properties"]["params"]);
        let beside = names(&page.parameters);
        let beside = beside.iter().filter(|name| *name != "params");
        for name in beside.chain(&nested) {
            assert!(browser.get(name).is_some(), "no argument {name}");
        }
        // Nothing is offered that the page refuses.
        for name in ["filter", "direction"] {
            let offered = &page.parameters["properties"]["params"]["properties"][name]["enum"];
            assert_eq!(browser[name]["enum"], *offered, "{name}");
        }
        let call = |arguments: &Value| {
            let arguments = arguments.as_object().expect("members");
            catalog.read("execute_browser", arguments)
        };
        for action in page.parameters["properties"]["action"]["enum"]
            .as_array()
            .expect("a list")
        {
            let mut arguments = example(action.as_str().expect("a name"));
            let nested = json!({"action": action, "params": arguments});
            arguments["action"] = action.clone();
            let read = call(&arguments).unwrap_or_else(|error| panic!("{arguments}: {error}"));
            assert_eq!(call(&nested), Ok(read.clone()), "{arguments}");
            let ToolRequest::Call(Content::ComputerCall(read)) = read else {
                panic!("{arguments}: {read:?}")
            };
            let steps = page_actions(arguments.as_object().expect("members").clone());
            let steps: Vec<Action> = steps
                .expect("steps")
                .into_iter()
                .map(|step| Action::from_json(step).expect("an action").0)
                .collect();
            assert_eq!(read.actions, steps, "{arguments}");
            assert!(
                !steps
                    .iter()
                    .any(|step| matches!(step, Action::Other { .. }))
            );
        }
    }

    #[test]
    fn wrong_page_actions_are_named_in_the_words_of_the_tool() {
        for (arguments, expected) in [
            (
                json!({"action": "snapshot", "visible": false}),
                "/visible: expected true, found false",
            ),
            (
                json!({"action": "snapshot", "filter": "hidden"}),
                "/filter: expected one of brief",
            ),
            (
                json!({"action": "wait", "text": "done", "seconds": 45}),
                "/seconds: expected a number from 0 to 30",
            ),
            (
                json!({"action": "drag", "ref": "e1"}),
                "/to: missing; drag needs it",
            ),
            (
                json!({"action": "select", "ref": "e1"}),
                "/value: missing; select needs it",
            ),
            (
                json!({"action": "fill_form", "fields": [{"ref": "t1"}]}),
                "/fields: a field has no",
            ),
            (
                json!({"action": "fill_form"}),
                "/fields: missing; fill_form needs it",
            ),
            (
                json!({"action": "fill", "ref": "t1", "value": [1]}),
                "/value: expected a string",
            ),
            (json!({"action": "press", "key": ""}), "/key: press: "),
            (
                json!({"action": "scroll_to"}),
                "/ref: missing; scroll_to needs it",
            ),
            (json!({"action": "save_pdf"}), "; browser_session has it"),
            (
                json!({"action": "fly"}),
                "/action: expected one of navigate, back,",
            ),
        ] {
            let catalog = ToolCatalog::new(ALL, &ToolSelection::default()).expect("no names");
            let read = catalog.read("execute_browser", arguments.as_object().expect("members"));
            let error = read.expect_err("a wrong call").to_string();
            assert!(error.contains(expected), "{arguments}: {error}");
        }
    }

    /// Every set of devices, and every tool alone.
    fn catalogs() -> Vec<ToolCatalog> {
        let with = |only: Vec<String>, has| {
            let selection = ToolSelection {
                only,
                ..ToolSelection::default()
            };
            ToolCatalog::new(has, &selection).expect("known names")
        };
        let sets = (0..16_u8).map(|bits| {
            let has = Capabilities {
                desktop: bits & 1 != 0,
                browser: bits & 2 != 0,
                shell: bits & 4 != 0,
                model: bits & 8 != 0,
                screen: None,
            };
            with(Vec::new(), has)
        });
        let single = TOOLS
            .iter()
            .map(|tool| with(vec![tool.name.to_owned()], ALL));
        sets.chain(single).collect()
    }

    #[test]
    fn texts_name_no_tool_or_action_that_the_client_does_not_have() {
        for catalog in catalogs() {
            let definitions = catalog.definitions();
            let mut known: Vec<&str> = definitions.iter().map(|tool| tool.name).collect();
            for entry in &catalog.entries {
                known.extend(words::actions(entry));
                known.extend(entry.arguments().iter().map(|argument| argument.name));
            }
            let mut texts: Vec<(String, &str)> = Vec::new();
            for tool in &definitions {
                texts.push((tool.description.to_owned(), tool.name));
                for argument in tool.input_schema["properties"]
                    .as_object()
                    .expect("members")
                    .values()
                {
                    let text = argument["description"].as_str().unwrap_or_default();
                    texts.push((text.to_owned(), tool.name));
                }
                for wrong in [
                    json!({"action": "navigate"}),
                    json!({"action": "save_pdf"}),
                    json!({"action": "set_value"}),
                    json!({"nothing": 1}),
                ] {
                    let read = catalog.read(tool.name, wrong.as_object().expect("members"));
                    texts.extend(read.err().map(|error| (error.to_string(), tool.name)));
                }
            }
            for (text, tool) in texts {
                let is_part = |c: char| c.is_alphanumeric() || c == '_';
                let names = text
                    .split(|c| !is_part(c))
                    .filter(|word| word.contains('_'));
                for name in names.filter(|name| *name != "awaiting_input") {
                    let is_echo = text.ends_with(&format!("found \"{name}\""));
                    assert!(
                        is_echo || known.contains(&name),
                        "{tool}: {name} in {text:?}"
                    );
                }
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
