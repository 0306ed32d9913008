//! The editor changes a folder, and with it a file that a program outside executes or obeys.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use telechir_protocol::{EditTool, PROTECTED_PATHS};

use crate::editor::{EditorFixture, fixture, own};

/// Creates a folder with everything above it.
fn folder(fixture: &EditorFixture, path: &str) {
    let mut above = fixture.workspace.path().to_owned();
    for name in path.split('/') {
        above.push(name);
        if !above.exists() {
            fs::create_dir(&above).unwrap();
            own(&above);
        }
    }
}

#[tokio::test]
async fn a_folder_with_protected_files_is_not_renamed() {
    let mut fixture = fixture();
    for (number, (path, _)) in PROTECTED_PATHS.iter().enumerate() {
        let (from, to) = (format!("n{number}"), format!("sub{number}"));
        let inside = format!("{from}/deep/{path}");
        folder(&fixture, inside.rsplit_once('/').unwrap().0);
        fixture.put(&inside, "evil");
        let rename = json!({"name": "rename", "old_path": from, "new_path": to});
        for tool in [EditTool::Editor, EditTool::Patch] {
            let refused = fixture.edit_with(tool, rename.clone()).await.unwrap_err();
            let message = refused.to_failure().message;
            assert!(message.contains(&format!("deep/{path}")), "{message}");
        }
        assert!(!fixture.workspace.path().join(to).exists());
    }
}

#[tokio::test]
async fn a_folder_whose_new_name_makes_its_files_protected_is_not_renamed() {
    let mut fixture = fixture();
    let long = PROTECTED_PATHS.iter().map(|(path, _)| *path);
    for (number, path) in long.filter(|path| path.contains('/')).enumerate() {
        let (first, rest) = path.split_once('/').unwrap();
        let from = format!("n{number}");
        let inside = format!("{from}/{rest}");
        folder(&fixture, inside.rsplit_once('/').unwrap().0);
        fixture.put(&inside, "evil");
        let to = format!("sub{number}/{first}");
        let rename = json!({"name": "rename", "old_path": from, "new_path": to});
        let refused = fixture.edit_with(EditTool::Editor, rename).await;
        assert!(refused.is_err(), "{path}: {refused:?}");
    }
    // A link that only the new name completes.
    for name in ["target", "n"] {
        folder(&fixture, name);
    }
    fixture.put("target/config.toml", "evil");
    symlink("../target", fixture.workspace.path().join("n/.cargo")).unwrap();
    let rename = json!({"name": "rename", "old_path": "n", "new_path": "sub"});
    let refused = fixture.edit_with(EditTool::Editor, rename).await;
    assert!(refused.is_err(), "{refused:?}");
}

#[tokio::test]
async fn a_folder_with_protected_files_is_not_deleted_from_a_memory() {
    let mut fixture = fixture();
    let memory = EditTool::Memory;
    for path in ["/memories/people/ann.md", "/memories/work/CLAUDE.md"] {
        let note = json!({"name": "create", "path": path, "file_text": "own\n"});
        fixture.edit_with(memory, note).await.unwrap();
    }
    let delete = |path: &str| json!({"name": "delete", "path": path});
    let refused = fixture.edit_with(memory, delete("/memories/work")).await;
    assert!(refused.is_err(), "{refused:?}");
    for path in [
        "/memories/people",
        "/memories/work/CLAUDE.md",
        "/memories/work",
    ] {
        fixture.edit_with(memory, delete(path)).await.unwrap();
    }
}

#[tokio::test]
async fn a_folder_of_ordinary_files_is_renamed() {
    let mut fixture = fixture();
    folder(&fixture, "a/b");
    fixture.put("a/b/.gitignore", "x");
    symlink("b", fixture.workspace.path().join("a/link")).unwrap();
    let rename = json!({"name": "rename", "old_path": "a", "new_path": "c/d"});
    fixture.edit_with(EditTool::Editor, rename).await.unwrap();
    assert!(fixture.workspace.path().join("c/d/b/.gitignore").exists());
}
