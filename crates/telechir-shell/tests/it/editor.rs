//! The editor on real files: what it does, and that nothing outside can be reached.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::{Value, json};
use telechir_device::{DeviceError, Edited, Editor};
use telechir_process::{Identity, is_root};
use telechir_protocol::{EditOperation, EditStep, EditTool};
use telechir_shell::FileEditor;
use tempfile::TempDir;

struct Desk {
    editor: FileEditor,
    workspace: TempDir,
    memory: TempDir,
    outside: TempDir,
}

fn own(path: &Path) {
    if let Some(identity) = identity() {
        chown(path, Some(identity.uid), Some(identity.gid)).unwrap();
    }
}

fn identity() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_851)).flatten()
}

fn desk() -> Desk {
    let [workspace, memory, outside] = [(); 3].map(|()| super::workspace());
    own(workspace.path());
    own(memory.path());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::set_permissions(outside.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let editor = FileEditor::new(workspace.path(), identity())
        .unwrap()
        .with_memory(memory.path())
        .unwrap();
    Desk {
        editor,
        workspace,
        memory,
        outside,
    }
}

fn step(json: Value) -> EditStep {
    let operation: EditOperation = serde_json::from_value(json).unwrap();
    operation.step().unwrap()
}

impl Desk {
    async fn edit_with(&mut self, tool: EditTool, json: Value) -> Result<Edited, DeviceError> {
        let located = self.editor.locate(tool, &step(json)).await?;
        self.editor.edit(tool, &located).await
    }

    async fn edit(&mut self, json: Value) -> Result<Edited, DeviceError> {
        self.edit_with(EditTool::Editor, json).await
    }

    async fn refusal(&mut self, json: Value) -> String {
        let message = match self.edit(json.clone()).await {
            Err(error) => error.to_failure().message,
            Ok(edited) => panic!("{json} was carried out: {edited:?}"),
        };
        assert!(message.starts_with("Nothing was changed: "), "{message}");
        message
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.workspace.path().join(name)).unwrap()
    }

    fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.workspace.path().join(name);
        fs::write(&path, text).unwrap();
        own(&path);
    }
}

#[tokio::test]
async fn a_file_is_made_changed_shown_and_taken_back() {
    let mut desk = desk();
    let made = desk
        .edit(json!({"name": "create", "path": "a/b/c.txt", "file_text": "one\ntwo\n"}))
        .await
        .unwrap();
    assert!(made.changed && made.text.contains("created: 2 lines"));
    let path = desk.workspace.path().join("a/b/c.txt");
    if let Some(identity) = identity() {
        assert_eq!(fs::metadata(&path).unwrap().uid(), identity.uid);
    }
    let path = path.to_str().unwrap().to_owned();
    let changed = desk
        .edit(json!({"name": "str_replace", "path": path, "old_str": "two", "new_str": "2"}))
        .await
        .unwrap();
    assert!(changed.text.contains("     2\t2"), "{}", changed.text);
    desk.edit(json!({"name": "insert", "path": path, "insert_line": 1, "insert_text": "1.5"}))
        .await
        .unwrap();
    assert_eq!(desk.file("a/b/c.txt"), "one\n1.5\n2\n");
    let view = desk
        .edit(json!({"name": "view", "path": path, "view_range": [2, 2]}))
        .await
        .unwrap();
    assert_eq!((view.text.as_str(), view.changed), ("     2\t1.5\n", false));
    let folder = desk
        .edit(json!({"name": "view", "path": "."}))
        .await
        .unwrap();
    assert!(folder.text.contains("a/\na/b/"), "{}", folder.text);
    for expected in ["one\n2\n", "one\ntwo\n"] {
        desk.edit(json!({"name": "undo_edit", "path": path}))
            .await
            .unwrap();
        assert_eq!(desk.file("a/b/c.txt"), expected);
    }
    desk.edit(json!({"name": "undo_edit", "path": path}))
        .await
        .unwrap();
    assert!(!Path::new(&path).exists());
    let message = desk
        .refusal(json!({"name": "undo_edit", "path": path}))
        .await;
    assert!(message.contains("was not edited here"), "{message}");
}

#[tokio::test]
async fn a_diff_makes_changes_and_deletes() {
    let mut desk = desk();
    desk.put("old.rs", "fn a() {\r\n    1\r\n}\r\n");
    let file = desk.workspace.path().join("old.rs");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o750)).unwrap();
    let patch = EditTool::Patch;
    let diff = "@@ fn a() {\n-    1\n+    2\n+    // two\n";
    let changed = desk
        .edit_with(
            patch,
            json!({"name": "update_file", "path": "old.rs", "diff": diff}),
        )
        .await
        .unwrap();
    assert!(changed.text.contains("2 lines added, 1 removed"));
    assert_eq!(
        desk.file("old.rs"),
        "fn a() {\r\n    2\r\n    // two\r\n}\r\n"
    );
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o750);
    let add = json!({"name": "create_file", "path": "new.rs", "diff": "+a\n"});
    desk.edit_with(patch, add.clone()).await.unwrap();
    let again = desk.edit_with(patch, add).await.unwrap_err();
    assert!(again.to_failure().message.contains("is there already"));
    desk.edit_with(patch, json!({"name": "delete_file", "path": "new.rs"}))
        .await
        .unwrap();
    assert!(!desk.workspace.path().join("new.rs").exists());
    let left: Vec<_> = fs::read_dir(desk.workspace.path()).unwrap().collect();
    assert_eq!(
        left.len(),
        1,
        "something was left beside the file: {left:?}"
    );
}

#[tokio::test]
async fn no_path_leads_out() {
    let mut desk = desk();
    let outside = desk.outside.path().to_owned();
    let secret = outside.join("secret");
    symlink(&outside, desk.workspace.path().join("link")).unwrap();
    symlink(&secret, desk.workspace.path().join("file")).unwrap();
    symlink("/proc/self/root", desk.workspace.path().join("magic")).unwrap();
    let up = format!(
        "../{}/secret",
        outside.file_name().unwrap().to_str().unwrap()
    );
    let inside_up = format!("{}/../{up}", desk.workspace.path().display());
    for path in [
        secret.to_str().unwrap(),
        &up,
        &inside_up,
        "a/../../../etc/passwd",
        "link/secret",
        "file",
        "magic/etc/passwd",
        "/etc/passwd",
    ] {
        for name in ["view", "undo_edit", "delete"] {
            desk.refusal(json!({"name": name, "path": path})).await;
        }
        desk.refusal(json!({"name": "create", "path": path, "file_text": "x"}))
            .await;
        desk.refusal(
            json!({"name": "str_replace", "path": path, "old_str": "secret", "new_str": "x"}),
        )
        .await;
        desk.refusal(json!({"name": "rename", "old_path": "link", "new_path": path}))
            .await;
    }
    desk.refusal(json!({"name": "create", "path": "link/new", "file_text": "x"}))
        .await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_link_inside_is_followed_and_judged_by_where_it_leads() {
    let mut desk = desk();
    desk.put("real", "a\n");
    symlink("real", desk.workspace.path().join("name")).unwrap();
    let replace =
        step(json!({"name": "str_replace", "path": "name", "old_str": "a", "new_str": "b"}));
    let located = desk
        .editor
        .locate(EditTool::Editor, &replace)
        .await
        .unwrap();
    assert!(located.path().ends_with("/real"), "{}", located.path());
    desk.editor.edit(EditTool::Editor, &located).await.unwrap();
    assert_eq!(desk.file("real"), "b\n");
    assert!(desk.workspace.path().join("name").is_symlink());
}

#[tokio::test]
async fn a_folder_that_became_a_link_meanwhile_is_refused() {
    let mut desk = desk();
    fs::create_dir(desk.workspace.path().join("sub")).unwrap();
    own(&desk.workspace.path().join("sub"));
    let create = step(json!({"name": "create", "path": "sub/secret", "file_text": "x"}));
    let located = desk.editor.locate(EditTool::Editor, &create).await.unwrap();
    fs::remove_dir(desk.workspace.path().join("sub")).unwrap();
    symlink(desk.outside.path(), desk.workspace.path().join("sub")).unwrap();
    let error = desk
        .editor
        .edit(EditTool::Editor, &located)
        .await
        .unwrap_err();
    assert!(error.to_failure().message.contains("link"), "{error}");
    let secret = fs::read_to_string(desk.outside.path().join("secret")).unwrap();
    assert_eq!(secret, "secret");
}

#[tokio::test]
async fn what_is_no_text_is_named() {
    let mut desk = desk();
    desk.put("binary", [0xff, 0xfe, 0]);
    fs::create_dir(desk.workspace.path().join("folder")).unwrap();
    symlink("nowhere", desk.workspace.path().join("dangling")).unwrap();
    let pipe = desk.workspace.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    own(&pipe);
    fs::File::create(desk.workspace.path().join("huge"))
        .unwrap()
        .set_len(1 << 33)
        .unwrap();
    for (path, words) in [
        ("binary", "no text in UTF-8"),
        ("pipe", "device, pipe or socket"),
        ("huge", "larger than"),
        ("missing", "is not there"),
        ("dangling", "link to nothing"),
        ("binary/x", "as if it were a folder"),
    ] {
        let message = desk.refusal(json!({"name": "view", "path": path})).await;
        assert!(message.contains(words), "{path}: {message}");
    }
    let create = json!({"name": "create", "path": "folder", "file_text": ""});
    assert!(desk.refusal(create).await.contains("is no file"));
}

#[tokio::test]
async fn a_memory_is_a_folder_of_its_own() {
    let mut desk = desk();
    let memory = EditTool::Memory;
    let note =
        json!({"name": "create", "path": "/memories/people/ann.md", "file_text": "likes tea\n"});
    desk.edit_with(memory, note).await.unwrap();
    let file = desk.memory.path().join("people/ann.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), "likes tea\n");
    let view = json!({"name": "view", "path": "/memories"});
    let view = desk.edit_with(memory, view).await.unwrap();
    assert!(view.text.contains("people/ann.md"), "{}", view.text);
    let rename =
        json!({"name": "rename", "old_path": "/memories/people", "new_path": "/memories/friends"});
    desk.edit_with(memory, rename).await.unwrap();
    let delete = json!({"name": "delete", "path": "/memories/friends"});
    desk.edit_with(memory, delete).await.unwrap();
    assert_eq!(fs::read_dir(desk.memory.path()).unwrap().count(), 0);
    for path in ["/memories/../x", "/etc/passwd", "/memories"] {
        let delete = json!({"name": "delete", "path": path});
        let refused = desk.edit_with(memory, delete).await;
        assert!(refused.is_err(), "{path}: {refused:?}");
    }
}
