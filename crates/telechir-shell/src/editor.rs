//! Edits files in a workspace and in a model's memory.
//!
//! `root` accesses files, `contents` finds protected ones in a folder, `patch` applies diffs, `lines` finds the position of their hunks, and
//! `text` implements the commands of text editors. As root, every step runs in a thread that has
//! switched to the session's user.

mod contents;
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
/// The words before the lines around a change.
const SNIPPET: &str = "Here is the snippet showing the change (with line numbers):";
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
        let workspace = open_owned_folder(workspace, None, identity).map_err(unavailable)?;
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
        let memory = open_owned_folder(folder, Some(MEMORY_PATH), self.identity);
        let memory = memory.map_err(|message| DeviceError::Unavailable {
            what: "the memory",
            message,
        })?;
        self.memory = Some(Arc::new(memory));
        Ok(self)
    }

    fn root(&self, tool: EditTool) -> Result<Arc<WorkspaceRoot>, DeviceError> {
        match tool {
            EditTool::Patch | EditTool::Editor => Ok(self.workspace.clone()),
            EditTool::Memory => self.memory.clone().ok_or_else(|| {
                let message =
                    "This session has no memory; the operator can add one with --memory-dir DIR.";
                refuse(message.to_owned())
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
                    Err(error) => Err(format!("Failed to switch to the session's user: {error}.")),
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
            .map_err(refuse)
    }
}

/// Opens a folder that the operator chose, after giving it to the session's user.
fn open_owned_folder(
    folder: &Path,
    name: Option<&'static str>,
    identity: Option<Identity>,
) -> Result<WorkspaceRoot, String> {
    let folder = confinement::workspace(folder, identity).map_err(|error| error.to_string())?;
    WorkspaceRoot::open(&folder, name)
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

fn refuse(message: EditRefusal) -> DeviceError {
    DeviceError::Refused { message }
}

#[async_trait]
impl Editor for FileEditor {
    async fn locate(&mut self, tool: EditTool, step: &EditStep) -> Result<EditStep, DeviceError> {
        let root = self.root(tool)?;
        let step = step.clone();
        self.run(move || locate_step(&root, step)).await
    }

    async fn edit(&mut self, tool: EditTool, located: &EditStep) -> Result<Edited, DeviceError> {
        let root = self.root(tool)?;
        let inside = root.relative(located.path()).map_err(refuse)?;
        let at = root.path().join(&inside);
        let undone = match (located, self.before.newest(&at)) {
            (EditStep::Undo { .. }, None) => {
                return Err(refuse(format!(
                    "No edit history found for {}.",
                    located.path()
                )));
            }
            (EditStep::Undo { .. }, undone) => undone,
            _ => None,
        };
        let step = located.clone();
        let (folder, changed) = (root.path().to_owned(), changed_paths(&root, located));
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
fn changed_paths(root: &WorkspaceRoot, step: &EditStep) -> Vec<PathBuf> {
    let path = if let EditStep::Rename { to, .. } = step {
        to
    } else {
        step.path()
    };
    root.relative(path).into_iter().collect()
}

fn locate_step(root: &WorkspaceRoot, mut step: EditStep) -> Result<EditStep, EditRefusal> {
    let real = |path: &mut String| -> Result<(), EditRefusal> {
        let inside = root.resolve(&root.relative(path)?)?;
        let real = if inside.as_os_str().is_empty() {
            root.shown_path().to_owned()
        } else {
            root.shown_path().join(inside)
        };
        *path = real
            .into_os_string()
            .into_string()
            .map_err(|_| format!("The real path of {path} is not UTF-8."))?;
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
            root.create(inside, text)?;
            let text = format!("File created successfully at: {name}");
            Ok(FileChange::changed_file(text, None))
        }
        EditStep::Replace { old, new, .. } => {
            let before = root.read(inside)?;
            let (after, line) = text::replace(name, &before, old, new)?;
            root.replace(inside, &after)?;
            let file = match tool {
                EditTool::Memory => "The memory file".to_owned(),
                EditTool::Patch | EditTool::Editor => format!("The file {name}"),
            };
            let snippet = text::snippet(&after, line, new);
            let text = format!("{file} has been edited. {SNIPPET}\n{snippet}");
            Ok(FileChange::changed_file(text, Some(before)))
        }
        EditStep::Insert { line, text, .. } => {
            let before = root.read(inside)?;
            let mut after = text::insert(&before, *line, text)?;
            let mut answer = format!("The file {name} has been edited.");
            if tool == EditTool::Memory {
                // Notes end with a line feed, so that the next insertion appends a line.
                if !after.ends_with('\n') {
                    after.push('\n');
                }
            } else {
                let at = usize::try_from(*line)
                    .unwrap_or(usize::MAX)
                    .saturating_add(1);
                answer = format!("{answer} {SNIPPET}\n{}", text::snippet(&after, at, text));
            }
            root.replace(inside, &after)?;
            Ok(FileChange::changed_file(answer, Some(before)))
        }
        EditStep::Undo { .. } => {
            match undone.flatten() {
                Some(before) => root.replace(inside, &before)?,
                None if root.kind(inside)? == Some(FileType::Directory) => {
                    return Err(format!("The path {name} is not a file."));
                }
                None => root.remove(inside)?,
            }
            Ok(FileChange {
                text: format!("Last edit to {name} undone successfully."),
                changed: true,
                before: None,
            })
        }
        EditStep::Delete { .. } => delete(root, tool, name, inside),
        EditStep::Rename { to, .. } => {
            let new = root.relative(to)?;
            root.check_contents(inside, &[inside, &new])?;
            root.rename(inside, &new)?;
            Ok(FileChange {
                text: format!("Successfully renamed {name} to {to}"),
                changed: true,
                before: None,
            })
        }
        EditStep::Add { diff, .. } => {
            if root.kind(inside)?.is_some() {
                return Err(format!(
                    "File {name} already exists; use update_file to change it."
                ));
            }
            let text = patch::new_file(diff).map_err(|error| not_applied(name, &error))?;
            root.create(inside, &text)?;
            let lines = count(text.lines().count(), "line");
            let text = format!("{name} was created: {lines}.");
            Ok(FileChange::changed_file(text, None))
        }
        EditStep::Patch { diff, .. } => {
            let before = root.read(inside)?;
            let applied = patch::apply(&before, diff);
            let (after, change) = applied.map_err(|error| not_applied(name, &error))?;
            root.replace(inside, &after)?;
            let text = format!(
                "{name} was changed: {} added, {} removed.",
                count(change.added, "line"),
                change.removed
            );
            Ok(FileChange::changed_file(text, Some(before)))
        }
    }
}

fn not_applied(name: &str, error: &str) -> EditRefusal {
    format!("The diff was not applied to {name}: {error}.")
}

/// A number with its noun.
fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn delete(
    root: &WorkspaceRoot,
    tool: EditTool,
    name: &str,
    inside: &Path,
) -> Result<FileChange, EditRefusal> {
    let before = match root.kind(inside)? {
        // A patch deletes files only; the memory tool deletes folders with their contents.
        Some(FileType::Directory) if tool != EditTool::Memory => {
            return Err(format!("The path {name} is not a file."));
        }
        Some(FileType::RegularFile) => root.read(inside).ok(),
        _ => None,
    };
    root.check_contents(inside, &[inside])?;
    root.remove(inside)?;
    Ok(FileChange {
        text: format!("Successfully deleted {name}"),
        changed: true,
        before: before.map(Some),
    })
}

fn view(
    root: &WorkspaceRoot,
    name: &str,
    inside: &Path,
    lines: Option<(u64, Option<u64>)>,
) -> Result<FileChange, EditRefusal> {
    match root.kind(inside)? {
        Some(FileType::Directory) => {}
        Some(FileType::RegularFile) | None => {
            return text::view(name, &root.read(inside)?, lines).map(FileChange::unchanged);
        }
        Some(_) => return Err(format!("Unsupported file type for {name}")),
    }
    let (size, listing) = root.list(inside)?;
    let mut shown = format!(
        "Here're the files and directories up to 2 levels deep in {name}, excluding hidden items:\n{}\t{name}",
        short_size(size)
    );
    for (path, size) in &listing.entries {
        shown.push_str(&format!("\n{}\t{name}/{path}", short_size(*size)));
    }
    if listing.is_cut {
        let entries = listing.entries.len();
        shown.push_str(&format!(
            "\n[cut after {entries} entries; view a directory in it to see the rest]"
        ));
    }
    Ok(FileChange::unchanged(shown))
}

/// A size as `1.5K`, in powers of 1024.
fn short_size(bytes: u64) -> String {
    let units = ["B", "K", "M", "G"];
    let power = (bytes.max(1).ilog2() as usize / 10).min(units.len() - 1);
    let unit = 1_u64 << (10 * power);
    if bytes.is_multiple_of(unit) {
        return format!("{}{}", bytes / unit, units[power]);
    }
    // Sizes with a fraction are far below the precision of a float.
    format!("{:.1}{}", bytes as f64 / unit as f64, units[power])
}
