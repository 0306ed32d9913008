//! The editor on real files: its operations, and that it cannot access other folders.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt, chown, symlink};
use std::path::Path;

use serde_json::{Value, json};
use telechir_device::{DeviceError, Edited, Editor};
use telechir_process::{Identity, is_root};
use telechir_protocol::{EditOperation, EditStep, EditTool};
use telechir_shell::FileEditor;
use tempfile::TempDir;

pub(crate) struct EditorFixture {
    pub(crate) editor: FileEditor,
    pub(crate) workspace: TempDir,
    pub(crate) memory: TempDir,
    /// A folder with one file that the editor must not access.
    pub(crate) outside: TempDir,
}

pub(crate) fn own(path: &Path) {
    if let Some(identity) = identity() {
        chown(path, Some(identity.uid), Some(identity.gid)).unwrap();
    }
}

fn identity() -> Option<Identity> {
    is_root().then(|| Identity::unprivileged(3_851)).flatten()
}

pub(crate) fn fixture() -> EditorFixture {
    let [workspace, memory, outside] = [(); 3].map(|()| super::workspace());
    own(workspace.path());
    own(memory.path());
    fs::write(outside.path().join("secret"), "secret").unwrap();
    fs::set_permissions(outside.path(), PermissionsExt::from_mode(0o777)).unwrap();
    let editor = FileEditor::new(workspace.path(), identity())
        .unwrap()
        .with_memory(memory.path())
        .unwrap();
    EditorFixture {
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

impl EditorFixture {
    pub(crate) async fn edit_with(
        &mut self,
        tool: EditTool,
        json: Value,
    ) -> Result<Edited, DeviceError> {
        let located = self.editor.locate(tool, &step(json)).await?;
        self.editor.edit(tool, &located).await
    }

    async fn edit(&mut self, json: Value) -> Result<Edited, DeviceError> {
        self.edit_with(EditTool::Editor, json).await
    }

    async fn refusal(&mut self, json: Value) -> String {
        match self.edit(json.clone()).await {
            Err(error) => error.to_failure().message,
            Ok(edited) => panic!("{json} was not refused: {edited:?}"),
        }
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.workspace.path().join(name)).unwrap()
    }

    pub(crate) fn put(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.workspace.path().join(name);
        fs::write(&path, text).unwrap();
        own(&path);
    }
}

#[tokio::test]
async fn a_file_is_created_changed_viewed_and_restored() {
    let mut fixture = fixture();
    let made = fixture
        .edit(json!({"name": "create", "path": "a/b/c.txt", "file_text": "one\ntwo\n"}))
        .await
        .unwrap();
    assert!(made.changed);
    let path = fixture.workspace.path().join("a/b/c.txt");
    if let Some(identity) = identity() {
        assert_eq!(fs::metadata(&path).unwrap().uid(), identity.uid);
    }
    let path = path.to_str().unwrap().to_owned();
    let changed = fixture
        .edit(json!({"name": "str_replace", "path": path, "old_str": "two", "new_str": "2"}))
        .await
        .unwrap();
    assert!(changed.text.contains("     2\t2"), "{}", changed.text);
    fixture
        .edit(json!({"name": "insert", "path": path, "insert_line": 1, "insert_text": "1.5"}))
        .await
        .unwrap();
    assert_eq!(fixture.file("a/b/c.txt"), "one\n1.5\n2\n");
    let view = fixture
        .edit(json!({"name": "view", "path": path, "view_range": [2, 2]}))
        .await
        .unwrap();
    assert!(view.text.ends_with(":\n     2\t1.5") && !view.changed);
    for expected in ["one\n2\n", "one\ntwo\n"] {
        fixture
            .edit(json!({"name": "undo_edit", "path": path}))
            .await
            .unwrap();
        assert_eq!(fixture.file("a/b/c.txt"), expected);
    }
    fixture
        .edit(json!({"name": "undo_edit", "path": path}))
        .await
        .unwrap();
    assert!(!Path::new(&path).exists());
    let message = fixture
        .refusal(json!({"name": "undo_edit", "path": path}))
        .await;
    assert!(
        message.starts_with("No edit history found for "),
        "{message}"
    );
}

#[tokio::test]
async fn undoing_a_creation_leaves_a_folder_of_that_name() {
    let mut fixture = fixture();
    let create = json!({"name": "create", "path": "a", "file_text": "text"});
    fixture.edit(create).await.unwrap();
    let folder = fixture.workspace.path().join("a");
    fs::remove_file(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    fixture.put("a/notes", "kept");
    own(&folder);
    let message = fixture
        .refusal(json!({"name": "undo_edit", "path": "a"}))
        .await;
    assert!(message.ends_with("/a is not a file."), "{message}");
    assert_eq!(fixture.file("a/notes"), "kept");
}

#[tokio::test]
async fn patches_create_change_and_delete_files() {
    let mut fixture = fixture();
    fixture.put("old.rs", "fn a() {\r\n    1\r\n}\r\n");
    let file = fixture.workspace.path().join("old.rs");
    fs::set_permissions(&file, PermissionsExt::from_mode(0o750)).unwrap();
    let patch = EditTool::Patch;
    let diff = "@@ fn a() {\n-    1\n+    2\n+    // two\n";
    let changed = fixture
        .edit_with(
            patch,
            json!({"name": "update_file", "path": "old.rs", "diff": diff}),
        )
        .await
        .unwrap();
    assert!(changed.text.contains("2 lines added, 1 removed"));
    assert_eq!(
        fixture.file("old.rs"),
        "fn a() {\r\n    2\r\n    // two\r\n}\r\n"
    );
    assert_eq!(fs::metadata(&file).unwrap().mode() & 0o777, 0o750);
    let add = json!({"name": "create_file", "path": "new.rs", "diff": "+a\n"});
    fixture.edit_with(patch, add.clone()).await.unwrap();
    let again = fixture.edit_with(patch, add).await.unwrap_err();
    assert!(again.to_failure().message.contains("already exists"));
    fixture
        .edit_with(patch, json!({"name": "delete_file", "path": "new.rs"}))
        .await
        .unwrap();
    assert!(!fixture.workspace.path().join("new.rs").exists());
    let left: Vec<_> = fs::read_dir(fixture.workspace.path()).unwrap().collect();
    assert_eq!(left.len(), 1, "a temporary file was left: {left:?}");
}

#[tokio::test]
async fn paths_outside_the_workspace_are_refused() {
    let mut fixture = fixture();
    let outside = fixture.outside.path().to_owned();
    let secret = outside.join("secret");
    symlink(&outside, fixture.workspace.path().join("link")).unwrap();
    symlink(&secret, fixture.workspace.path().join("file")).unwrap();
    symlink("/proc/self/root", fixture.workspace.path().join("magic")).unwrap();
    let up = format!(
        "../{}/secret",
        outside.file_name().unwrap().to_str().unwrap()
    );
    let inside_up = format!("{}/../{up}", fixture.workspace.path().display());
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
            fixture.refusal(json!({"name": name, "path": path})).await;
        }
        fixture
            .refusal(json!({"name": "create", "path": path, "file_text": "x"}))
            .await;
        fixture
            .refusal(
                json!({"name": "str_replace", "path": path, "old_str": "secret", "new_str": "x"}),
            )
            .await;
        fixture
            .refusal(json!({"name": "rename", "old_path": "link", "new_path": path}))
            .await;
    }
    fixture
        .refusal(json!({"name": "create", "path": "link/new", "file_text": "x"}))
        .await;
    assert_eq!(fs::read_to_string(&secret).unwrap(), "secret");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
}

#[tokio::test]
async fn a_link_inside_is_resolved_to_its_target() {
    let mut fixture = fixture();
    fixture.put("real", "a\n");
    symlink("real", fixture.workspace.path().join("name")).unwrap();
    let replace =
        step(json!({"name": "str_replace", "path": "name", "old_str": "a", "new_str": "b"}));
    let located = fixture
        .editor
        .locate(EditTool::Editor, &replace)
        .await
        .unwrap();
    assert!(located.path().ends_with("/real"), "{}", located.path());
    fixture
        .editor
        .edit(EditTool::Editor, &located)
        .await
        .unwrap();
    assert_eq!(fixture.file("real"), "b\n");
    assert!(fixture.workspace.path().join("name").is_symlink());
}

#[tokio::test]
async fn a_folder_replaced_by_a_link_is_refused() {
    let mut fixture = fixture();
    fs::create_dir(fixture.workspace.path().join("sub")).unwrap();
    own(&fixture.workspace.path().join("sub"));
    let create = step(json!({"name": "create", "path": "sub/secret", "file_text": "x"}));
    let located = fixture
        .editor
        .locate(EditTool::Editor, &create)
        .await
        .unwrap();
    fs::remove_dir(fixture.workspace.path().join("sub")).unwrap();
    symlink(fixture.outside.path(), fixture.workspace.path().join("sub")).unwrap();
    let error = fixture
        .editor
        .edit(EditTool::Editor, &located)
        .await
        .unwrap_err();
    assert!(error.to_failure().message.contains("link"), "{error}");
    let secret = fs::read_to_string(fixture.outside.path().join("secret")).unwrap();
    assert_eq!(secret, "secret");
}

#[tokio::test]
async fn a_link_that_appears_after_approval_is_not_followed() {
    let mut fixture = fixture();
    let target = fixture.outside.path().join("secret");
    for (tool, call, left) in [
        (
            EditTool::Editor,
            json!({"name": "create", "path": "new", "file_text": "x"}),
            "new",
        ),
        (
            EditTool::Patch,
            json!({"name": "create_file", "path": "new", "diff": "+x"}),
            "new",
        ),
        (
            EditTool::Editor,
            json!({"name": "insert", "path": "old", "insert_line": 0, "insert_text": "x"}),
            "old",
        ),
        (
            EditTool::Editor,
            json!({"name": "rename", "old_path": "old", "new_path": "new"}),
            "new",
        ),
    ] {
        fixture.put("old", "text\n");
        let located = fixture.editor.locate(tool, &step(call.clone())).await;
        let link = fixture.workspace.path().join(left);
        // A missing file is what a link can appear at.
        fs::remove_file(&link).ok();
        symlink(&target, &link).unwrap();
        let edited = fixture.editor.edit(tool, &located.unwrap()).await;
        let message = edited.unwrap_err().to_failure().message;
        assert!(message.contains("has become a link"), "{call}: {message}");
        fs::remove_file(&link).unwrap();
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "secret");
}

#[tokio::test]
async fn files_that_are_not_text_are_refused_with_the_reason() {
    let mut fixture = fixture();
    fixture.put("binary", [0xff, 0xfe, 0]);
    fs::create_dir(fixture.workspace.path().join("folder")).unwrap();
    symlink("nowhere", fixture.workspace.path().join("dangling")).unwrap();
    let pipe = fixture.workspace.path().join("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
    own(&pipe);
    fs::File::create(fixture.workspace.path().join("huge"))
        .unwrap()
        .set_len(1 << 33)
        .unwrap();
    for (path, expected) in [
        ("binary", "not a valid UTF-8 text file"),
        ("pipe", "Unsupported file type for"),
        ("huge", "larger than"),
        ("missing", "does not exist"),
        ("dangling", "dangling link"),
        ("binary/x", "uses a file as a directory"),
    ] {
        let message = fixture.refusal(json!({"name": "view", "path": path})).await;
        assert!(message.contains(expected), "{path}: {message}");
    }
    let create = json!({"name": "create", "path": "folder", "file_text": ""});
    assert!(fixture.refusal(create).await.contains("already exists"));
}

#[tokio::test]
async fn a_memory_is_a_separate_folder() {
    let mut fixture = fixture();
    let memory = EditTool::Memory;
    let note =
        json!({"name": "create", "path": "/memories/people/ann.md", "file_text": "likes tea\n"});
    fixture.edit_with(memory, note).await.unwrap();
    let file = fixture.memory.path().join("people/ann.md");
    assert_eq!(fs::read_to_string(&file).unwrap(), "likes tea\n");
    let view = json!({"name": "view", "path": "/memories"});
    let view = fixture.edit_with(memory, view).await.unwrap();
    assert!(view.text.contains("people/ann.md"), "{}", view.text);
    for (path, mode) in [("people", 0o700), ("people/ann.md", 0o600)] {
        let metadata = fs::metadata(fixture.memory.path().join(path)).unwrap();
        assert_eq!(metadata.mode() & 0o777, mode, "{path}");
    }
    let rename =
        json!({"name": "rename", "old_path": "/memories/people", "new_path": "/memories/friends"});
    fixture.edit_with(memory, rename).await.unwrap();
    let delete = json!({"name": "delete", "path": "/memories/friends"});
    fixture.edit_with(memory, delete).await.unwrap();
    assert_eq!(fs::read_dir(fixture.memory.path()).unwrap().count(), 0);
    for path in ["/memories/../x", "/etc/passwd", "/memories"] {
        let delete = json!({"name": "delete", "path": path});
        let refused = fixture.edit_with(memory, delete).await;
        assert!(refused.is_err(), "{path}: {refused:?}");
    }
}

#[tokio::test]
async fn a_folder_is_listed_two_levels_deep() {
    let mut fixture = fixture();
    for folder in ["a", "a/b", "a/b/c"] {
        fs::create_dir(fixture.workspace.path().join(folder)).unwrap();
        own(&fixture.workspace.path().join(folder));
    }
    for (name, size) in [
        ("a.txt", 0),
        ("a/two", 1_536),
        ("a/b/three", 7),
        ("z", 3 << 20),
        (".hidden", 1),
    ] {
        fixture.put(name, "x".repeat(size));
    }
    symlink(
        fixture.outside.path(),
        fixture.workspace.path().join("link"),
    )
    .unwrap();
    let root = fixture.workspace.path().to_str().unwrap().to_owned();
    let view = json!({"name": "view", "path": root, "view_range": [1, 2]});
    let view = fixture.edit(view).await;
    let view = view.unwrap().text;
    let sizeless = |line: &str| match line.split_once('\t') {
        // The sizes of folders and links depend on the file system.
        Some((_, path)) if path.ends_with('/') || path.ends_with("/link") => path.to_owned(),
        _ => line.replace(&root, ""),
    };
    let lines: Vec<String> = view.lines().skip(2).map(sizeless).collect();
    let expected = [
        "/a/",
        "/a/b/",
        "1.5K\t/a/two",
        "0B\t/a.txt",
        "/link",
        "3M\t/z",
    ];
    let lines: Vec<&str> = lines
        .iter()
        .map(|line| line.strip_prefix(&root).unwrap_or(line))
        .collect();
    assert_eq!(lines, expected);
    let header = format!(
        "Here're the files and directories up to 2 levels deep in {root}, excluding hidden items:\n"
    );
    assert!(view.starts_with(&header), "{view}");
    assert!(
        view.lines().nth(1).unwrap().ends_with(&format!("\t{root}")),
        "{view}"
    );
}

#[tokio::test]
async fn a_long_listing_is_cut_with_a_note() {
    let mut fixture = fixture();
    for at in 0..1_002 {
        fixture.put(&format!("{at:04}"), "");
    }
    let view = fixture.edit(json!({"name": "view", "path": "."})).await;
    let view = view.unwrap().text;
    assert!(view.contains("/0999\n[cut after 1000 entries;"), "{view}");
}

#[tokio::test]
async fn a_file_with_too_many_lines_is_viewed_in_parts() {
    let mut fixture = fixture();
    fixture.put("long", "line\n".repeat(1_000_000));
    let message = fixture
        .refusal(json!({"name": "view", "path": "long"}))
        .await;
    assert!(
        message.contains("exceeds maximum line limit of 999,999 lines"),
        "{message}"
    );
    let part = fixture
        .edit(json!({"name": "view", "path": "long", "view_range": [999_999, 1_000_000]}))
        .await;
    assert!(
        part.unwrap()
            .text
            .ends_with(":\n999999\tline\n1000000\tline")
    );
}
