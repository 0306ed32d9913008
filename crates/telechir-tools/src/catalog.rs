//! The tools, their descriptions and arguments, and which of them a session can offer.

use serde_json::{Map, Value, json};

use crate::arguments::{ArgumentError, checked, shortened};
use crate::request::{self, ToolRequest};
use crate::schema::{Argument, Kind, object, optional, required};

/// What the session behind the tools has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// A desktop with windows, mouse and keyboard.
    pub desktop: bool,
    /// A browser, with or without a window.
    pub browser: bool,
    /// A shell whose state lasts from call to call.
    pub shell: bool,
}

impl Capabilities {
    fn has_screen(self) -> bool {
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

const READS: ToolHints = ToolHints {
    read_only: true,
    destructive: false,
    idempotent: true,
    open_world: false,
};

const ACTS: ToolHints = ToolHints {
    read_only: false,
    destructive: true,
    idempotent: false,
    open_world: true,
};

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

#[derive(Debug)]
struct Entry {
    name: &'static str,
    title: &'static str,
    description: &'static str,
    arguments: &'static [Argument],
    hints: ToolHints,
    needs: fn(Capabilities) -> bool,
    answer: AnswerForm,
}

/// What an answer consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// Members; with a schema of them.
    Schema,
    /// Members.
    Members,
    /// Members, and a screenshot of the screen afterwards.
    Screenshot,
    /// Members, and a screenshot if the action takes one.
    OnRequest,
}

const X: Argument = optional(
    "x",
    Kind::Number(0.0, 100_000.0),
    "pixels of the last screenshot",
);
const Y: Argument = optional("y", Kind::Number(0.0, 100_000.0), "");
const LABEL: Argument = optional(
    "label",
    Kind::Integer(0, 100_000),
    "number of an element in the last labelled screenshot",
);
const REF: Argument = optional("ref", Kind::Text, "ref of an element from a snapshot");

/// The actions of `execute_gui`, with the names of seed vocabularies as they are.
pub(crate) const GUI_ACTIONS: &[&str] = &[
    "click",
    "double_click",
    "triple_click",
    "right_click",
    "middle_click",
    "move_mouse",
    "drag",
    "scroll",
    "type",
    "press_key",
    "hotkey",
    "hold_key",
    "mouse_down",
    "mouse_up",
    "screenshot",
    "zoom",
    "cursor_position",
    "list_windows",
    "focus_window",
    "close_window",
    "open_app",
    "read_clipboard",
    "write_clipboard",
];
pub(crate) const BROWSER_ACTIONS: &[&str] = &[
    "navigate",
    "click",
    "fill",
    "press",
    "extract_text",
    "snapshot",
    "find",
    "open_tab",
    "close_tab",
    "switch_tab",
    "list_tabs",
    "back",
    "forward",
    "reload",
    "select",
    "hover",
    "scroll_to",
    "screenshot",
];
pub(crate) const ELEMENT_ACTIONS: &[&str] = &[
    "click",
    "set_value",
    "type",
    "toggle",
    "select",
    "expand",
    "collapse",
    "focus",
    "invoke",
];
pub(crate) const COMPUTER_ACTIONS: &[&str] = &[
    "screenshot",
    "click",
    "double_click",
    "triple_click",
    "right_click",
    "middle_click",
    "type",
    "key",
    "scroll",
    "mouse_move",
    "drag",
    "wait",
];
const DIRECTIONS: &[&str] = &["up", "down", "left", "right"];

const TOOLS: &[Entry] = &[
    Entry {
        name: "execute_cli",
        title: "Run a command",
        description: "Runs a bash command in a lasting shell: directory, variables and jobs stay. \
            A command that waits for input returns with outcome awaiting_input and goes on: answer \
            with `stdin`. Some commands ask the user first.",
        arguments: &[
            required("command", Kind::Text, "empty if only stdin is sent"),
            optional("cwd", Kind::Text, "for this command only"),
            optional("timeout", Kind::Number(0.1, 3600.0), "seconds [30]"),
            optional(
                "stdin",
                Kind::Text,
                "text for the command that waits for input",
            ),
        ],
        hints: ToolHints {
            open_world: false,
            ..ACTS
        },
        needs: |has| has.shell,
        answer: AnswerForm::Schema,
    },
    Entry {
        name: "execute_gui",
        title: "Use mouse and keyboard",
        description: "Acts on the screen, waits until it is still and returns a screenshot. A \
            target is x and y in the last screenshot, or the label or ref of an element.",
        arguments: &[
            required("action", Kind::OneOf(GUI_ACTIONS), ""),
            X,
            Y,
            LABEL,
            REF,
            optional("text", Kind::Text, ""),
            optional("key", Kind::Text, "such as ctrl+s or Return"),
            optional("keys", Kind::Texts, ""),
            optional("direction", Kind::OneOf(DIRECTIONS), ""),
            optional("clicks", Kind::Integer(1, 100), "wheel notches [5]"),
            optional("end_x", Kind::Number(0.0, 100_000.0), "end of a drag"),
            optional("end_y", Kind::Number(0.0, 100_000.0), ""),
            optional("duration", Kind::Number(0.0, 60.0), "seconds"),
            optional("window", Kind::Text, "id or a part of the title"),
            optional("name", Kind::Text, "of the application"),
            optional("region", Kind::Any, "[left, top, right, bottom]"),
        ],
        hints: ACTS,
        needs: Capabilities::has_screen,
        answer: AnswerForm::Screenshot,
    },
    Entry {
        name: "observe_screen",
        title: "Look at the screen",
        description: "Returns a screenshot. Mode grounding numbers the elements in it and lists \
            them; understanding returns the screen's text.",
        arguments: &[
            optional("mode", Kind::OneOf(&["grounding", "understanding"]), ""),
            optional("intent", Kind::Text, "what is looked for"),
        ],
        hints: READS,
        needs: Capabilities::has_screen,
        answer: AnswerForm::Screenshot,
    },
    Entry {
        name: "get_ui_context",
        title: "Read the elements",
        description: "Returns the elements of the page or active window as text, with refs; \
            cheaper than a screenshot.",
        arguments: &[
            optional("max_depth", Kind::Integer(1, 100), ""),
            optional("interactive_only", Kind::Flag, ""),
        ],
        hints: READS,
        needs: Capabilities::has_screen,
        answer: AnswerForm::Members,
    },
    Entry {
        name: "execute_browser",
        title: "Use the browser",
        description: "Acts on the page by refs from snapshot or find. Returns text; screenshot \
            returns a picture. fill replaces the value of a field, press sends a key.",
        arguments: &[
            required("action", Kind::OneOf(BROWSER_ACTIONS), ""),
            optional("url", Kind::Text, "http or https"),
            REF,
            optional("value", Kind::Text, "for fill and select"),
            optional("key", Kind::Text, "for press"),
            optional("query", Kind::Text, "for find"),
            optional("tab", Kind::Text, "id from list_tabs"),
            optional("interactive_only", Kind::Flag, ""),
        ],
        hints: ACTS,
        needs: |has| has.browser,
        answer: AnswerForm::OnRequest,
    },
    Entry {
        name: "execute_accessible",
        title: "Act on an element by its name",
        description: "Acts on an element by its accessible name, without coordinates. If several \
            fit, the error lists them.",
        arguments: &[
            optional("element_name", Kind::Text, ""),
            required("action", Kind::OneOf(ELEMENT_ACTIONS), ""),
            optional("value", Kind::Text, "for set_value and type"),
            optional("automation_id", Kind::Text, ""),
            optional("control_type", Kind::Text, "role, such as button"),
            optional("window_title", Kind::Text, ""),
            REF,
        ],
        hints: ACTS,
        needs: Capabilities::has_screen,
        answer: AnswerForm::Members,
    },
    Entry {
        name: "maximize_active_window",
        title: "Maximize the active window",
        description: "Maximizes the active window; reports if it was so before.",
        arguments: &[],
        hints: ToolHints {
            destructive: false,
            idempotent: true,
            open_world: false,
            ..ACTS
        },
        needs: |has| has.desktop,
        answer: AnswerForm::Members,
    },
    Entry {
        name: "wait",
        title: "Wait",
        description: "Waits; at most 30 seconds a call. Actions wait by themselves until the \
            screen is still.",
        arguments: &[required("seconds", Kind::Number(0.0, 30.0), "")],
        hints: READS,
        needs: |_| true,
        answer: AnswerForm::Members,
    },
    Entry {
        name: "get_action_history",
        title: "List past calls",
        description: "Returns the last calls with their results, failed and refused ones, too.",
        arguments: &[optional("last_n", Kind::Integer(1, 50), "[10]")],
        hints: READS,
        needs: |_| true,
        answer: AnswerForm::Schema,
    },
    Entry {
        name: "computer_use",
        title: "Use the computer",
        description: "One action by coordinates of the last screenshot (\"x,y\") or by label; \
            returns a screenshot. Addresses are opened with browser_session.",
        arguments: &[
            required("action", Kind::OneOf(COMPUTER_ACTIONS), ""),
            optional("coordinate", Kind::Point, ""),
            optional("end_coordinate", Kind::Point, "end of a drag"),
            LABEL,
            optional("text", Kind::Text, ""),
            optional("key", Kind::Text, ""),
            optional("direction", Kind::OneOf(DIRECTIONS), ""),
            optional("amount", Kind::Integer(1, 100), "wheel notches [3]"),
            optional("duration", Kind::Integer(0, 30_000), "milliseconds [1000]"),
        ],
        hints: ACTS,
        needs: Capabilities::has_screen,
        answer: AnswerForm::Screenshot,
    },
    Entry {
        name: "browser_session",
        title: "Open or close the session",
        description: "open starts the session if necessary and opens url; status describes it; \
            close ends it with its programs. Other tools start the session by themselves.",
        arguments: &[
            required("action", Kind::OneOf(&["open", "status", "close"]), ""),
            optional("url", Kind::Text, "for open"),
        ],
        hints: ACTS,
        needs: |has| has.browser,
        answer: AnswerForm::Schema,
    },
];

/// The tools that a session can offer and that were selected.
#[derive(Clone, Debug)]
pub struct ToolCatalog {
    entries: Vec<&'static Entry>,
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
        Ok(Self { entries })
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
                "no tool is named `{}`; there are {}",
                shortened(tool),
                names.join(", ")
            )));
        };
        let arguments = checked(entry.name, entry.arguments, arguments)?;
        request::read(entry.name, arguments)
    }

    /// Whether the answers of a tool are structured, without a screenshot.
    pub fn is_structured(&self, tool: &str) -> bool {
        let form = self.answer_form(tool);
        matches!(form, Some(AnswerForm::Schema | AnswerForm::Members))
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

impl Entry {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name,
            title: self.title,
            description: self.description,
            input_schema: object(self.arguments),
            output_schema: (self.answer == AnswerForm::Schema).then(|| output_schema(self.name)),
            hints: self.hints,
        }
    }
}

/// The schema of a structured answer. Further members are allowed.
fn output_schema(tool: &str) -> Map<String, Value> {
    let text = || json!({"type": "string"});
    let mut properties = Map::new();
    properties.insert("status".to_owned(), text());
    properties.insert("voice_message".to_owned(), text());
    properties.insert("duration_ms".to_owned(), json!({"type": "integer"}));
    match tool {
        "execute_cli" => {
            properties.insert("stdout".to_owned(), text());
            properties.insert("stderr".to_owned(), text());
            properties.insert("exit_code".to_owned(), json!({"type": ["integer", "null"]}));
        }
        "get_action_history" => {
            properties.insert("actions".to_owned(), json!({"type": "array"}));
        }
        _ => {}
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), json!(["status"]));
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: Capabilities = Capabilities {
        desktop: true,
        browser: true,
        shell: true,
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
