//! Edits files in a workspace and in a model's memory.
//!
//! `root` accesses files, `patch` applies diffs, `lines` finds the position of their hunks, and
//! `text` implements the commands of text editors. As root, every step runs in a thread that has
//! switched to the session's user.

mod hunks;
mod lines;
mod patch;
#[cfg(test)]
mod properties;
mod root;
mod text;

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use rustix::fs::FileType;
use rustix::process::{Gid, Uid};
use telechir_device::{DeviceError, Edited, Editor};
use telechir_process::{Identity, confinement};
use telechir_protocol::{EditStep, EditTool};
use tokio::sync::oneshot;

use root::{EditRefusal, WorkspaceRoot};

/// Path under which models see their memory.
const MEMORY_PATH: &str = "/memories";
/// Maximum number of changes that can be undone.
const UNDO_STEPS: usize = 50;
/// Maximum size of their earlier texts in total, in bytes.
const UNDO_BYTES: usize = 32 * 1024 * 1024;

/// An editor of real files, with an undo history for the session.
#[derive(Debug)]
pub struct FileEditor {
    workspace: Arc<WorkspaceRoot>,
    memory: Option<Arc<WorkspaceRoot>>,
    identity: Option<Identity>,
    before: UndoHistory,
}

/// Earlier texts of changed files, oldest first; `None` for files that did not exist.
#[derive(Debug, Default)]
struct UndoHistory {
    texts: VecDeque<(PathBuf, Option<String>)>,
    bytes: usize,
}

impl UndoHistory {
    fn push(&mut self, path: &Path, text: Option<String>) {
        self.bytes += text.as_ref().map_or(0, String::len);
        self.texts.push_back((path.to_owned(), text));
        while self.texts.len() > UNDO_STEPS || self.bytes > UNDO_BYTES {
            let Some((_, gone)) = self.texts.pop_front() else {
                break;
            };
            self.bytes -= gone.map_or(0, |text| text.len());
        }
    }

    fn newest(&self, path: &Path) -> Option<Option<String>> {
        let newest = self.texts.iter().rfind(|(other, _)| other == path)?;
        Some(newest.1.clone())
    }

    fn forget(&mut self, path: &Path) {
        let newest = self.texts.iter().rposition(|(other, _)| other == path);
        if let Some((_, text)) = newest.and_then(|at| self.texts.remove(at)) {
            self.bytes -= text.map_or(0, |text| text.len());
        }
    }
}

impl FileEditor {
    /// Creates an editor of this workspace; as root, edits run as `identity`.
    ///
    /// # Errors
    /// If the folder cannot be opened, or we are root and `identity` is not an unprivileged user.
    pub fn new(workspace: &Path, identity: Option<Identity>) -> Result<Self, DeviceError> {
        let unavailable = |message: String| DeviceError::Unavailable {
            what: "the editor",
            message,
        };
        if telechir_process::is_root() && identity.is_none_or(|identity| identity.uid == 0) {
            let message = "telechir runs as root; choose an unprivileged user for edits";
            return Err(unavailable(message.to_owned()));
        }
        let workspace = open_owned_folder(workspace, identity).map_err(unavailable)?;
        Ok(Self {
            workspace: Arc::new(workspace),
            memory: None,
            identity: identity.filter(|_| telechir_process::is_root()),
            before: UndoHistory::default(),
        })
    }

    /// Adds a memory in this folder; models see it as `/memories`.
    ///
    /// # Errors
    /// If the folder cannot be opened.
    pub fn with_memory(mut self, folder: &Path) -> Result<Self, DeviceError> {
        let memory = open_owned_folder(folder, self.identity).map_err(|message| {
            DeviceError::Unavailable {
                what: "the memory",
                message,
            }
        })?;
        self.memory = Some(Arc::new(memory));
        Ok(self)
    }

    fn root(&self, tool: EditTool) -> Result<Arc<WorkspaceRoot>, DeviceError> {
        match tool {
            EditTool::Patch | EditTool::Editor => Ok(self.workspace.clone()),
            EditTool::Memory => self.memory.clone().ok_or_else(|| {
                refuse("this session has no memory; the operator can add one with --memory-dir DIR")
            }),
        }
    }

    /// Runs file operations as the session's user.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, EditRefusal> + Send + 'static,
    ) -> Result<T, DeviceError> {
        let identity = self.identity;
        let (sender, receiver) = oneshot::channel();
        // A separate thread: its credentials change permanently, and it ends here.
        let spawned = std::thread::Builder::new()
            .name("telechir-edit".to_owned())
            .spawn(move || {
                let done = match become_user(identity) {
                    Ok(()) => work(),
                    Err(error) => Err(format!("failed to switch to the session's user: {error}")),
                };
                // The receiver is gone if the call was cancelled.
                sender.send(done).ok();
            });
        let failed = |message: String| DeviceError::Unavailable {
            what: "the editor",
            message,
        };
        spawned.map_err(|error| failed(error.to_string()))?;
        receiver
            .await
            .map_err(|_| failed("the editing thread panicked".to_owned()))?
            .map_err(|message| refuse(&message))
    }
}

/// Opens a folder that the operator chose, after giving it to the session's user.
fn open_owned_folder(folder: &Path, identity: Option<Identity>) -> Result<WorkspaceRoot, String> {
    let folder = confinement::workspace(folder, identity).map_err(|error| error.to_string())?;
    WorkspaceRoot::open(&folder)
        .map_err(|error| format!("cannot open {}: {error}", folder.display()))
}

/// Switches the calling thread permanently to another user, without any privilege.
fn become_user(identity: Option<Identity>) -> rustix::io::Result<()> {
    let Some(identity) = identity else {
        return Ok(());
    };
    let (uid, gid) = (Uid::from_raw(identity.uid), Gid::from_raw(identity.gid));
    rustix::thread::set_thread_groups(&[])?;
    rustix::thread::set_thread_res_gid(gid, gid, gid)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid)
}

fn refuse(message: &str) -> DeviceError {
    let message = format!("Nothing was changed: {message}.");
    DeviceError::Refused { message }
}

#[async_trait]
impl Editor for FileEditor {
    async fn locate(&mut self, tool: EditTool, step: &EditStep) -> Result<EditStep, DeviceError> {
        let root = self.root(tool)?;
        let step = step.clone();
        self.run(move || locate_step(&root, tool, step)).await
    }

    async fn edit(&mut self, tool: EditTool, located: &EditStep) -> Result<Edited, DeviceError> {
        let root = self.root(tool)?;
        let inside = relative_path(&root, tool, located.path()).map_err(|error| refuse(&error))?;
        let at = root.path().join(&inside);
        let undone = match (located, self.before.newest(&at)) {
            (EditStep::Undo { .. }, None) => {
                return Err(refuse(&format!(
                    "{} was not edited in this session",
                    located.path()
                )));
            }
            (EditStep::Undo { .. }, undone) => undone,
            _ => None,
        };
        let step = located.clone();
        let (folder, changed) = (root.path().to_owned(), changed_paths(&root, tool, located));
        let done = self
            .run(move || execute(&root, tool, &step, &inside, undone))
            .await?;
        for path in changed.iter().filter(|_| done.changed) {
            confinement::accept_edit(&folder, path);
        }
        match done.before {
            Some(before) => self.before.push(&at, before),
            None if matches!(located, EditStep::Undo { .. }) => self.before.forget(&at),
            None => {}
        }
        Ok(Edited {
            text: done.text,
            changed: done.changed,
        })
    }

    fn workspace(&self) -> String {
        self.workspace.path().to_string_lossy().into_owned()
    }

    fn memory(&self) -> Option<String> {
        self.memory.as_ref().map(|_| MEMORY_PATH.to_owned())
    }
}

/// The paths that a step creates or changes, relative to the folder.
fn changed_paths(root: &WorkspaceRoot, tool: EditTool, step: &EditStep) -> Vec<PathBuf> {
    let path = if let EditStep::Rename { to, .. } = step {
        to
    } else {
        step.path()
    };
    relative_path(root, tool, path).into_iter().collect()
}

/// Converts a model's path to one relative to its folder.
fn relative_path(root: &WorkspaceRoot, tool: EditTool, path: &str) -> Result<PathBuf, EditRefusal> {
    let path = Path::new(path);
    let base = match tool {
        EditTool::Memory => Path::new(MEMORY_PATH),
        EditTool::Patch | EditTool::Editor => root.path(),
    };
    match path.strip_prefix(base) {
        Ok(inside) => root.relative(inside),
        Err(_) if path.is_absolute() => Err(format!(
            "{} is outside {}, the only folder that this tool can access",
            path.display(),
            base.display()
        )),
        Err(_) => root.relative(path),
    }
}

fn locate_step(
    root: &WorkspaceRoot,
    tool: EditTool,
    mut step: EditStep,
) -> Result<EditStep, EditRefusal> {
    let real = |path: &mut String| -> Result<(), EditRefusal> {
        let inside = root.resolve(&relative_path(root, tool, path)?)?;
        let base = match tool {
            EditTool::Memory => Path::new(MEMORY_PATH),
            EditTool::Patch | EditTool::Editor => root.path(),
        };
        let real = if inside.as_os_str().is_empty() {
            base.to_owned()
        } else {
            base.join(inside)
        };
        *path = real
            .into_os_string()
            .into_string()
            .map_err(|_| "the real path is not UTF-8".to_owned())?;
        Ok(())
    };
    match &mut step {
        EditStep::View { path, .. }
        | EditStep::Create { path, .. }
        | EditStep::Replace { path, .. }
        | EditStep::Insert { path, .. }
        | EditStep::Undo { path }
        | EditStep::Delete { path }
        | EditStep::Add { path, .. }
        | EditStep::Patch { path, .. } => real(path)?,
        EditStep::Rename { path, to } => {
            real(path)?;
            real(to)?;
        }
    }
    Ok(step)
}

struct FileChange {
    text: String,
    changed: bool,
    /// The file's earlier text if it was changed; the inner `None` means that it did not exist.
    before: Option<Option<String>>,
}

impl FileChange {
    fn unchanged(text: String) -> Self {
        Self {
            text,
            changed: false,
            before: None,
        }
    }

    fn changed_file(text: String, before: Option<String>) -> Self {
        Self {
            text,
            changed: true,
            before: Some(before),
        }
    }
}

fn execute(
    root: &WorkspaceRoot,
    tool: EditTool,
    step: &EditStep,
    inside: &Path,
    undone: Option<Option<String>>,
) -> Result<FileChange, EditRefusal> {
    let name = step.path();
    match step {
        EditStep::View { lines, .. } => view(root, name, inside, *lines),
        EditStep::Create { text, .. } => {
            let before = existing(root, inside)?;
            root.write(inside, text)?;
            let what = if before.is_some() {
                "replaced"
            } else {
                "created"
            };
            let lines = text.lines().count();
            Ok(FileChange::changed_file(
                format!("{name} was {what}: {lines} lines."),
                before,
            ))
        }
        EditStep::Replace { old, new, .. } => {
            let before = root.read(inside)?;
            let (after, line) = text::replace(&before, old, new)?;
            root.write(inside, &after)?;
            let seen = text::excerpt(&after, line, new.lines().count());
            let text = format!("{name} was changed. The lines around the change are now:\n{seen}");
            Ok(FileChange::changed_file(text, Some(before)))
        }
        EditStep::Insert { line, text, .. } => {
            let before = root.read(inside)?;
            let after = text::insert(&before, *line, text)?;
            root.write(inside, &after)?;
            let at = usize::try_from(*line)
                .unwrap_or(usize::MAX)
                .saturating_add(1);
            let seen = text::excerpt(&after, at, text.lines().count());
            let text = format!("{name} was changed. The lines around the change are now:\n{seen}");
            Ok(FileChange::changed_file(text, Some(before)))
        }
        EditStep::Undo { .. } => {
            match undone.flatten() {
                Some(before) => root.write(inside, &before)?,
                None => root.remove(inside)?,
            }
            Ok(FileChange {
                text: format!("The last change of {name} was undone."),
                changed: true,
                before: None,
            })
        }
        EditStep::Delete { .. } => {
            let before = match root.kind(inside)? {
                None => return Err(format!("{name} does not exist")),
                // A patch deletes files only; the memory tool deletes folders with their contents.
                Some(FileType::Directory) if tool != EditTool::Memory => {
                    return Err(format!("{name} is a directory"));
                }
                Some(FileType::RegularFile) => root.read(inside).ok(),
                Some(_) => None,
            };
            root.remove(inside)?;
            Ok(FileChange {
                text: format!("{name} was deleted."),
                changed: true,
                before: before.map(Some),
            })
        }
        EditStep::Rename { to, .. } => {
            let target = relative_path(root, tool, to)?;
            root.rename(inside, &target)?;
            Ok(FileChange {
                text: format!("{name} was renamed to {to}."),
                changed: true,
                before: None,
            })
        }
        EditStep::Add { diff, .. } => {
            if root.kind(inside)?.is_some() {
                return Err(format!(
                    "{name} already exists; use update_file to change it"
                ));
            }
            let text = patch::new_file(diff)?;
            root.write(inside, &text)?;
            let lines = text.lines().count();
            Ok(FileChange::changed_file(
                format!("{name} was created: {lines} lines."),
                None,
            ))
        }
        EditStep::Patch { diff, .. } => {
            let before = root.read(inside)?;
            let (after, change) = patch::apply(&before, diff)?;
            root.write(inside, &after)?;
            let text = format!(
                "{name} was changed: {} lines added, {} removed.",
                change.added, change.removed
            );
            Ok(FileChange::changed_file(text, Some(before)))
        }
    }
}

fn existing(root: &WorkspaceRoot, inside: &Path) -> Result<Option<String>, EditRefusal> {
    match root.kind(inside)? {
        Some(FileType::RegularFile) => root.read(inside).map(Some),
        Some(_) => Err(format!("{} is not a regular file", inside.display())),
        None => Ok(None),
    }
}

fn view(
    root: &WorkspaceRoot,
    name: &str,
    inside: &Path,
    lines: Option<(u64, Option<u64>)>,
) -> Result<FileChange, EditRefusal> {
    if root.kind(inside)? != Some(FileType::Directory) {
        return text::numbered(&root.read(inside)?, lines).map(FileChange::unchanged);
    }
    if lines.is_some() {
        return Err(format!("{name} is a directory; omit `view_range`"));
    }
    let found = root.list(inside)?;
    let listed = if found.is_empty() {
        format!("{name} is empty.")
    } else {
        format!(
            "{name}, two levels deep, without hidden files:\n{}",
            found.join("\n")
        )
    };
    Ok(FileChange::unchanged(listed))
}
