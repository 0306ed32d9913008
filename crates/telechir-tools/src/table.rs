//! The table of tools: names, descriptions, arguments, hints.

use serde_json::{Map, Value, json};
use telechir_providers::PAGE_ACTIONS;

use crate::catalog::{Capabilities, ToolDefinition, ToolHints};
use crate::schema::{Argument, Kind, accepted, object, optional, required};

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

#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    pub(crate) hints: ToolHints,
    pub(crate) needs: fn(Capabilities) -> bool,
    pub(crate) answer: AnswerForm,
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

/// The argument of all tools that names a session by its handle.
pub(crate) const SESSION: &str = "session";

/// The argument that says what a tool with several actions does.
pub(crate) const ACTION: &str = "action";

const X: Argument = optional(
    "x",
    Kind::Number(0.0, 100_000.0),
    "pixels of the last screenshot",
);
const Y: Argument = optional("y", Kind::Number(0.0, 100_000.0), "");
const LABEL: Argument = optional(
    "label",
    Kind::Integer(0, 100_000),
    "number of an element in a labelled screenshot",
);
const REF: Argument = optional("ref", Kind::Text, "from a snapshot");

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
/// What `execute_browser` has beside the actions of the page function.
const MORE_BROWSER_ACTIONS: &[&str] = &["select", "scroll_to", "screenshot"];
pub(crate) const BROWSER_ACTIONS: &[&str] = &{
    let mut all = [""; PAGE_ACTIONS.len() + MORE_BROWSER_ACTIONS.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = match at < PAGE_ACTIONS.len() {
            true => PAGE_ACTIONS[at],
            false => MORE_BROWSER_ACTIONS[at - PAGE_ACTIONS.len()],
        };
        at += 1;
    }
    all
};
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
const SESSION_VERBS: &[&str] = &[
    "open",
    "status",
    "extend",
    "resume",
    "close",
    "emulate",
    "list_cookies",
    "set_cookies",
    "clear_cookies",
    "save_storage_state",
    "load_storage_state",
    "save_pdf",
];
/// Most clients end a call after 60 seconds.
const MAX_COMMAND_SECONDS: f64 = 50.0;
/// A longer wait than the devices have would end early.
const MAX_WAIT_SECONDS: f64 = 30.0;
/// What a snapshot has, as in the page function.
const SNAPSHOT_FILTERS: &[&str] = &["brief", "interactive", "full", "changes", "json"];
const DIRECTIONS: &[&str] = &["up", "down", "left", "right"];

pub(crate) const TOOLS: &[Entry] = &[
    Entry {
        name: "execute_cli",
        title: "Run a command",
        description: "Runs a bash command in a lasting shell: directory, variables and jobs stay. \
            A command that waits for input returns with outcome awaiting_input: answer with stdin \
            or key in a call without a command. What takes longer than 50 seconds needs \
            background; read its job. Some commands ask the user first.",
        arguments: &[
            optional("command", Kind::Text, "omit to send input or read a job"),
            optional("cwd", Kind::Text, "for this command only"),
            optional(
                "timeout",
                Kind::Number(0.1, MAX_COMMAND_SECONDS),
                "seconds [30]",
            ),
            optional("stdin", Kind::Text, "text to type; end lines with \\n"),
            optional("key", Kind::Text, "such as ctrl+c"),
            optional("close_stdin", Kind::Flag, ""),
            optional("background", Kind::Flag, "return at once with a job"),
            optional(
                "job",
                Kind::Text,
                "read its new output, or send input to it",
            ),
            optional("stop", Kind::Flag, "end the job"),
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
            optional("duration", Kind::Number(0.0, 30.0), "seconds"),
            optional("window", Kind::Text, "id or a part of the title"),
            optional("name", Kind::Text, "of the application"),
            optional("region", Kind::Region, "[left, top, right, bottom]"),
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
            returns a picture, of one element with ref. fill replaces the value of a field, press \
            sends a key, wait waits for text, ref, url or idle.",
        arguments: &[
            required("action", Kind::OneOf(BROWSER_ACTIONS), ""),
            optional("url", Kind::Text, "http or https; for wait a part of it"),
            REF,
            optional("to", Kind::Text, "ref, for drag"),
            optional(
                "value",
                Kind::FieldValue,
                "for fill and select; of several options a list",
            ),
            optional(
                "fields",
                Kind::Objects,
                "[{\"ref\", \"value\"}] for fill_form",
            ),
            optional("key", Kind::Text, "for press"),
            optional("query", Kind::Text, "for find"),
            optional("direction", Kind::OneOf(DIRECTIONS), ""),
            optional("amount", Kind::Number(0.0, 100.0), "wheel notches [3]"),
            optional("paths", Kind::Texts, "files, for upload"),
            optional("text", Kind::Text, "for wait"),
            optional("gone", Kind::Flag, "for wait"),
            optional("idle", Kind::Flag, "for wait"),
            optional("seconds", Kind::Number(0.0, MAX_WAIT_SECONDS), ""),
            optional("accept", Kind::Flag, "for dialog"),
            optional("request", Kind::Integer(1, 1_000_000), "number in network"),
            optional("tab", Kind::Text, "id from list_tabs"),
            optional("filter", Kind::OneOf(SNAPSHOT_FILTERS), "for snapshot"),
            accepted("interactive_only", Kind::Flag),
            accepted("visible", Kind::Flag),
            accepted("params", Kind::Object),
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
        needs: |has| has.desktop,
        answer: AnswerForm::Members,
    },
    Entry {
        name: "maximize_active_window",
        title: "Maximize the active window",
        description: "Maximizes the active window.",
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
        arguments: &[required("seconds", Kind::Number(0.0, MAX_WAIT_SECONDS), "")],
        hints: READS,
        needs: |_| true,
        answer: AnswerForm::Members,
    },
    Entry {
        name: "get_action_history",
        title: "List past calls",
        description: "Returns the last calls with their results.",
        arguments: &[optional("last_n", Kind::Integer(1, 50), "[10]")],
        hints: READS,
        needs: |_| true,
        answer: AnswerForm::Schema,
    },
    Entry {
        name: "computer_use",
        title: "Use the computer",
        description: "One action by coordinates of the last screenshot (\"x,y\") or by label; \
            returns a screenshot.",
        arguments: &[
            required("action", Kind::Action(COMPUTER_ACTIONS), ""),
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
            extend keeps it for timeout seconds without a call; close ends it with its programs; \
            emulate changes what pages see. \
            Returns a handle, which the other tools take as session; without it they use this \
            server's.",
        arguments: &[
            required("action", Kind::OneOf(SESSION_VERBS), ""),
            optional("url", Kind::Text, "for open"),
            optional(
                "settings",
                Kind::Object,
                "such as {\"timezone\": \"Asia/Tokyo\"}; {} lists them",
            ),
            optional("cookies", Kind::Objects, "name, value, url"),
            optional("path", Kind::Text, ""),
            optional("timeout", Kind::Integer(1, 86_400), "seconds"),
            optional("session_id", Kind::Text, "attach to it"),
            optional("context_id", Kind::Text, "persistent page data"),
            optional("persist", Kind::Flag, "save the page data [true]"),
            optional("proxy", Kind::Flag, ""),
            optional("proxy_country", Kind::Text, ""),
        ],
        hints: ACTS,
        needs: |has| has.browser,
        answer: AnswerForm::Schema,
    },
    Entry {
        name: "execute_computer_use",
        title: "Give a task to another model",
        description: "Another model uses the screen. plan returns its next steps and acts on \
            nothing; execute lets it work, each action judged. A task that takes longer returns \
            status running: call again with task to follow it.",
        arguments: &[
            optional("instruction", Kind::Text, "what to accomplish"),
            optional("mode", Kind::OneOf(&["plan", "execute"]), "[execute]"),
            optional("max_steps", Kind::Integer(1, 200), "[15]"),
            optional("task", Kind::Text, "follow this task"),
            optional("stop", Kind::Flag, "stop it"),
        ],
        hints: ACTS,
        needs: |has| has.model && has.has_screen(),
        answer: AnswerForm::OnRequest,
    },
];

impl Entry {
    /// The arguments, those that all tools take included.
    pub(crate) fn arguments(&self) -> Vec<Argument> {
        let session = optional(SESSION, Kind::Text, "");
        self.arguments.iter().copied().chain([session]).collect()
    }

    pub(crate) fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: self.name,
            title: self.title,
            description: self.description,
            input_schema: object(&self.arguments()),
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
    match tool {
        "execute_cli" => {
            properties.insert("stdout".to_owned(), text());
            properties.insert("stderr".to_owned(), text());
            properties.insert(
                "exit_code".to_owned(),
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}]}),
            );
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
