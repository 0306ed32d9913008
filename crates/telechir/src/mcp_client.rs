//! The MCP clients that `mcp install` knows: their files and the forms of an entry.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::env;

/// A client of the Model Context Protocol, with the configuration that it reads on Linux.
#[derive(Debug)]
pub(crate) struct McpClient {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// Name in texts.
    pub(crate) title: &'static str,
    /// Format of the file.
    pub(crate) format: ConfigFormat,
    /// Member of the file that holds the servers by name.
    pub(crate) servers: &'static str,
    /// The user's file; none without a home folder.
    pub(crate) file: fn() -> Option<PathBuf>,
    entry: EntryForm,
    /// The client's own command that adds a server, up to its name.
    command: Option<&'static [&'static str]>,
    /// What a user should know; may be empty.
    pub(crate) note: &'static str,
}

/// Format of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConfigFormat {
    /// JSON, with comments and trailing commas.
    Json,
    /// TOML.
    Toml,
}

#[derive(Clone, Copy, Debug)]
enum EntryForm {
    /// `command` and `args`.
    Plain,
    /// The same with `"type": "stdio"`.
    Stdio,
    /// `"type": "local"`, and one list with the command and its arguments.
    Local,
}

/// All clients, in the order of help texts.
pub(crate) const CLIENTS: [McpClient; 9] = [
    McpClient {
        name: "claude",
        title: "Claude Code",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        file: || {
            let folder = env::named_folder("CLAUDE_CONFIG_DIR").or_else(env::home);
            Some(folder?.join(".claude.json"))
        },
        entry: EntryForm::Stdio,
        command: Some(&["claude", "mcp", "add", "--scope", "user"]),
        note: "",
    },
    McpClient {
        name: "claude-desktop",
        title: "Claude Desktop",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        file: || Some(env::config_folder()?.join("Claude/claude_desktop_config.json")),
        entry: EntryForm::Plain,
        command: None,
        note: "Quit and restart Claude Desktop afterwards.",
    },
    McpClient {
        name: "codex",
        title: "Codex",
        format: ConfigFormat::Toml,
        servers: "mcp_servers",
        file: || {
            let folder = env::named_folder("CODEX_HOME");
            let folder = folder.or_else(|| Some(env::home()?.join(".codex")));
            Some(folder?.join("config.toml"))
        },
        entry: EntryForm::Plain,
        command: Some(&["codex", "mcp", "add"]),
        note: "Codex asks before each tool that acts. With default_tools_approval_mode = \"approve\" in \
               this table, only telechir's policy decides what needs approval.",
    },
    McpClient {
        name: "cursor",
        title: "Cursor",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        file: || Some(env::home()?.join(".cursor/mcp.json")),
        entry: EntryForm::Plain,
        command: None,
        note: "",
    },
    McpClient {
        name: "vscode",
        title: "Visual Studio Code",
        format: ConfigFormat::Json,
        servers: "servers",
        file: || Some(env::config_folder()?.join("Code/User/mcp.json")),
        entry: EntryForm::Stdio,
        command: None,
        note: "",
    },
    McpClient {
        name: "windsurf",
        title: "Windsurf",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        file: || Some(env::home()?.join(".codeium/windsurf/mcp_config.json")),
        entry: EntryForm::Plain,
        command: None,
        note: "",
    },
    McpClient {
        name: "zed",
        title: "Zed",
        format: ConfigFormat::Json,
        servers: "context_servers",
        file: || Some(env::config_folder()?.join("zed/settings.json")),
        entry: EntryForm::Plain,
        command: None,
        note: "",
    },
    McpClient {
        name: "gemini",
        title: "Gemini CLI",
        format: ConfigFormat::Json,
        servers: "mcpServers",
        file: || Some(env::home()?.join(".gemini/settings.json")),
        entry: EntryForm::Plain,
        command: None,
        note: "",
    },
    McpClient {
        name: "opencode",
        title: "opencode",
        format: ConfigFormat::Json,
        servers: "mcp",
        file: || Some(env::config_folder()?.join("opencode/opencode.json")),
        entry: EntryForm::Local,
        command: None,
        note: "",
    },
];

/// The client with this name.
pub(crate) fn named(name: &str) -> Option<&'static McpClient> {
    CLIENTS.iter().find(|client| client.name == name)
}

impl McpClient {
    /// The entry of a server that is started with this program and these arguments.
    pub(crate) fn entry(&self, program: &str, arguments: &[String]) -> Map<String, Value> {
        let entry = match self.entry {
            EntryForm::Plain => json!({"command": program, "args": arguments}),
            EntryForm::Stdio => json!({"type": "stdio", "command": program, "args": arguments}),
            EntryForm::Local => {
                let mut command = vec![program.to_owned()];
                command.extend_from_slice(arguments);
                json!({"type": "local", "command": command, "enabled": true})
            }
        };
        if let Value::Object(members) = entry {
            members
        } else {
            Map::new()
        }
    }

    /// The client's own command that adds such a server, if it has one, for a shell.
    pub(crate) fn command_line(
        &self,
        name: &str,
        program: &str,
        arguments: &[String],
    ) -> Option<String> {
        let words = self.command?.iter().copied().chain([name, "--", program]);
        let words = words.chain(arguments.iter().map(String::as_str));
        Some(words.map(shell_word).collect::<Vec<_>>().join(" "))
    }
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./=:,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}
