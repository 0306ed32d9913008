//! The tools as texts, for models that get them in their instructions instead of as declarations.

use serde_json::{Map, Value};
use telechir_protocol::Size;

use crate::catalog::{Capabilities, ToolCatalog, ToolSelection};

/// A tool with texts that explain how it is called.
#[derive(Clone, Debug, PartialEq)]
pub struct PromptTool {
    /// Its name, which calls have.
    pub name: &'static str,
    /// What the tool does, for the model.
    pub description: String,
    /// Example calls, one per line.
    pub syntax: &'static str,
    /// What a model should know before it uses the tool.
    pub rules: &'static str,
    /// JSON Schema of the arguments.
    pub parameters: Map<String, Value>,
}

const COMPUTER_SYNTAX: &str = "\
{\"action\": \"screenshot\"}
{\"action\": \"click\", \"coordinate\": [640, 400]}
{\"action\": \"double_click\", \"label\": 7}
{\"action\": \"type\", \"text\": \"hello\"}
{\"action\": \"key\", \"key\": \"ctrl+s\"}
{\"action\": \"scroll\", \"coordinate\": [640, 400], \"direction\": \"down\", \"amount\": 3}
{\"action\": \"drag\", \"coordinate\": [10, 10], \"end_coordinate\": [200, 10]}
{\"action\": \"wait\", \"duration\": 1000}";

const COMPUTER_RULES: &str = "\
Take a screenshot first; every action returns a new one.
Coordinates are pixels of the last screenshot, from its top left corner.
A label is the number beside an element in the last labelled screenshot and takes precedence over a \
coordinate. Links have blue numbers, buttons green, fields orange, choices purple, other texts grey.
Click a field before you type into it.
Open addresses with browser_session.";

const SESSION_SYNTAX: &str = "\
{\"action\": \"open\", \"url\": \"https://example.com\"}
{\"action\": \"open\", \"context_id\": \"shop\", \"persist\": false}
{\"action\": \"status\"}
{\"action\": \"extend\", \"timeout\": 3600}
{\"action\": \"close\"}";

const SESSION_RULES: &str = "\
Open a session before you use computer_use; open again to go to another address.
Use either context_id, for persistent page data, or session_id, for an existing session.
Close the session when the task is done.";

/// The tool `computer_use` for a screen of this size.
///
/// ```
/// use telechir_protocol::Size;
/// let tool = telechir_tools::computer_tool(Size::new(1280, 800));
/// assert_eq!(tool.name, "computer_use");
/// assert!(tool.description.contains("1280x800"));
/// assert_eq!(tool.parameters["properties"]["amount"]["type"], "integer");
/// ```
pub fn computer_tool(display: Size) -> PromptTool {
    let screen = format!(
        " The screen has {}x{} pixels.",
        display.width, display.height
    );
    prompt_tool("computer_use", &screen, COMPUTER_SYNTAX, COMPUTER_RULES)
}

/// The tool `browser_session`, with which a model opens and closes its session.
pub fn session_tool() -> PromptTool {
    prompt_tool("browser_session", "", SESSION_SYNTAX, SESSION_RULES)
}

fn prompt_tool(
    name: &'static str,
    more: &str,
    syntax: &'static str,
    rules: &'static str,
) -> PromptTool {
    let has = Capabilities {
        browser: true,
        ..Capabilities::default()
    };
    let catalog = ToolCatalog::new(has, &ToolSelection::default());
    let definitions = catalog.map(|catalog| catalog.definitions());
    let found = definitions
        .unwrap_or_default()
        .into_iter()
        .find(|tool| tool.name == name);
    let (description, parameters) = found.map_or_else(
        || (String::new(), Map::new()),
        |tool| (tool.description.to_owned(), tool.input_schema),
    );
    PromptTool {
        name,
        description: description + more,
        syntax,
        rules,
        parameters,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ToolRequest, computer_action};

    #[test]
    fn every_example_is_a_valid_call() {
        for example in COMPUTER_SYNTAX.lines() {
            let arguments = serde_json::from_str(example).expect("JSON");
            computer_action(&arguments).expect(example);
        }
        let has = Capabilities {
            browser: true,
            ..Capabilities::default()
        };
        let catalog = ToolCatalog::new(has, &ToolSelection::default()).expect("tools");
        for example in SESSION_SYNTAX.lines() {
            let arguments = serde_json::from_str(example).expect("JSON");
            let read = catalog.read("browser_session", &arguments).expect(example);
            assert!(matches!(read, ToolRequest::Session(_)));
        }
    }
}
