//! `mcp install`: what is printed and written for each client.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use serde_json::{Value, json};

use crate::telechir::Telechir;

/// Clients with files of JSON: the file below the home folder, and the member of the servers.
const JSON_CLIENTS: [(&str, &str, &str); 8] = [
    ("claude", ".claude.json", "mcpServers"),
    (
        "claude-desktop",
        ".config/Claude/claude_desktop_config.json",
        "mcpServers",
    ),
    ("cursor", ".cursor/mcp.json", "mcpServers"),
    ("vscode", ".config/Code/User/mcp.json", "servers"),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "mcpServers",
    ),
    ("zed", ".config/zed/settings.json", "context_servers"),
    ("gemini", ".gemini/settings.json", "mcpServers"),
    ("opencode", ".config/opencode/opencode.json", "mcp"),
];

#[test]
fn each_client_gets_an_entry_in_its_own_form() {
    for (client, file, servers) in JSON_CLIENTS {
        let telechir = Telechir::new();
        let path = telechir.folder().join(file);
        let printed = telechir.run(&["mcp", "install", client, "--shell"], "");
        assert_eq!(printed.code, Some(0), "{}", printed.stderr);
        assert!(
            printed.stdout.contains(&path.display().to_string()),
            "{}",
            printed.stdout
        );
        assert!(!path.exists(), "nothing is written without --write");
        let written = telechir.run(&["mcp", "install", "--write", client, "--shell"], "");
        assert_eq!(written.code, Some(0), "{}", written.stderr);
        assert!(
            written.stdout.contains(&format!("+  \"{servers}\"")),
            "{}",
            written.stdout
        );
        let text = fs::read_to_string(&path).expect("a file");
        let config: Value = serde_json::from_str(&text).expect("JSON");
        let entry = &config[servers]["telechir"];
        let (program, arguments) = match client {
            "opencode" => (
                &entry["command"][0],
                json!(entry["command"].as_array().expect("a list")[1..]),
            ),
            _ => (&entry["command"], entry["args"].clone()),
        };
        let program = program.as_str().expect("a program");
        assert!(
            program.starts_with('/') && program.ends_with("/telechir"),
            "{program}"
        );
        assert_eq!(arguments, json!(["mcp", "--shell"]));
        let again = telechir.run(&["mcp", "install", "--write", client, "--shell"], "");
        assert!(
            again.stdout.contains("has this server already"),
            "{}",
            again.stdout
        );
        assert_eq!(fs::read_to_string(&path).expect("a file"), text);
    }
}

#[test]
fn codex_gets_a_table_beside_what_is_there() {
    let telechir = Telechir::new();
    let folder = telechir.folder().join(".codex");
    fs::create_dir(&folder).expect("a folder");
    let file = folder.join("config.toml");
    let before = "# mine\nmodel = \"m\"   # fast\n\n[mcp_servers.other]\ncommand = 'x'\n";
    fs::write(&file, before).expect("a file");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).expect("permissions");
    let flags = ["mcp", "install", "codex", "--desktop", "--write"];
    let written = telechir.run(&flags, "");
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(
        written.stdout.contains("+[mcp_servers.telechir]"),
        "{}",
        written.stdout
    );
    let text = fs::read_to_string(&file).expect("a file");
    assert!(text.starts_with(before), "{text}");
    assert!(text.contains("args = [\"mcp\", \"--desktop\"]"), "{text}");
    let mode = fs::metadata(&file).expect("a file").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_link_stays_a_link_and_paths_become_absolute() {
    let telechir = Telechir::new();
    for folder in ["dotfiles", ".cursor", "work"] {
        fs::create_dir(telechir.folder().join(folder)).expect("a folder");
    }
    let target = telechir.folder().join("dotfiles/mcp.json");
    fs::write(&target, "{\n  // mine\n  \"mcpServers\": {}\n}\n").expect("a file");
    let link = telechir.folder().join(".cursor/mcp.json");
    symlink(&target, &link).expect("a link");
    let flags = [
        "mcp",
        "install",
        "cursor",
        "--write",
        "--name",
        "desk-1",
        "--shell",
        "--workspace",
        "work",
    ];
    let mut command = telechir.command(&flags);
    command.current_dir(telechir.folder());
    let written = crate::telechir::Ran::of(&mut command, "");
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    let text = fs::read_to_string(&target).expect("a file");
    let work = fs::canonicalize(telechir.folder().join("work")).expect("a path");
    assert!(
        text.contains("// mine") && text.contains("\"desk-1\""),
        "{text}"
    );
    assert!(text.contains(&work.display().to_string()), "{text}");
}

#[test]
fn what_is_not_understood_is_refused_and_stays() {
    let telechir = Telechir::new();
    fs::create_dir(telechir.folder().join(".gemini")).expect("a folder");
    let file = telechir.folder().join(".gemini/settings.json");
    for text in ["{\"mcpServers\": [", "[1]", "{\"mcpServers\": 5}"] {
        fs::write(&file, text).expect("a file");
        let refused = telechir.run(&["mcp", "install", "gemini", "--write", "--shell"], "");
        refused.fails(1, &["settings.json", "nothing was written"]);
        assert_eq!(fs::read_to_string(&file).expect("a file"), text);
    }
    for (flags, fragment) in [
        (
            &["mcp", "install", "gemini", "--write", "--read-only"][..],
            "no device",
        ),
        (&["mcp", "install", "gemini", "--shel"][..], "--shel"),
        (
            &["mcp", "install", "gemini", "--shell", "--tools", "fly"][..],
            "`fly`",
        ),
    ] {
        let refused = telechir.run(flags, "");
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(fragment), "{}", refused.stderr);
    }
}
