//! The neutral meaning of an edit operation.

use serde::Serialize;
use serde_json::Value;

use super::EditOperation;

/// One file operation. Paths are those of the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum EditStep {
    /// Show a file with numbered lines, or the entries of a folder.
    View {
        /// Path of the file or folder.
        path: String,
        /// First and last line, from 1; no last line means to the end.
        lines: Option<(u64, Option<u64>)>,
    },
    /// Write the complete text of a new file, and create its parent folders.
    Create {
        /// Path of the file, which must not exist.
        path: String,
        /// Complete text of the file.
        text: String,
    },
    /// Replace text that occurs exactly once.
    Replace {
        /// Path of the file.
        path: String,
        /// The text to replace.
        old: String,
        /// The text that replaces it; empty deletes it.
        new: String,
    },
    /// Insert lines into a file.
    Insert {
        /// Path of the file.
        path: String,
        /// The line to insert after; 0 is the start of the file.
        line: u64,
        /// The lines to insert.
        text: String,
    },
    /// Undo the last change of a file.
    Undo {
        /// Path of the file.
        path: String,
    },
    /// Delete a file or folder.
    Delete {
        /// Path of the file or folder.
        path: String,
    },
    /// Rename a file or folder.
    Rename {
        /// Old path of the file or folder.
        path: String,
        /// New path of the file or folder.
        to: String,
    },
    /// Create a file from a diff in which every line starts with a plus.
    Add {
        /// Path of the file, which must not exist.
        path: String,
        /// The diff of the new file.
        diff: String,
    },
    /// Apply a diff to a file.
    Patch {
        /// Path of the file.
        path: String,
        /// The diff: `@@` lines locate it, other lines start with a space, a minus or a plus.
        diff: String,
    },
}

impl EditStep {
    /// The path that the step is about; for a rename the old one.
    pub fn path(&self) -> &str {
        match self {
            Self::View { path, .. }
            | Self::Create { path, .. }
            | Self::Replace { path, .. }
            | Self::Insert { path, .. }
            | Self::Undo { path }
            | Self::Delete { path }
            | Self::Rename { path, .. }
            | Self::Add { path, .. }
            | Self::Patch { path, .. } => path,
        }
    }

    /// The name of the step in policies and recordings.
    pub fn name(&self) -> &'static str {
        match self {
            Self::View { .. } => "view",
            Self::Create { .. } => "create",
            Self::Replace { .. } => "replace",
            Self::Insert { .. } => "insert",
            Self::Undo { .. } => "undo",
            Self::Delete { .. } => "delete",
            Self::Rename { .. } => "rename",
            Self::Add { .. } => "add",
            Self::Patch { .. } => "patch",
        }
    }

    /// Whether the step leaves all files unchanged.
    pub fn is_read_only(&self) -> bool {
        matches!(self, Self::View { .. })
    }
}

/// The names of all [`EditStep`]s.
pub const EDIT_STEPS: [&str; 9] = [
    "view", "create", "replace", "insert", "undo", "delete", "rename", "add", "patch",
];

impl EditOperation {
    /// The neutral meaning of the operation.
    ///
    /// ```
    /// # use telechir_protocol::{EditOperation, EditStep};
    /// let operation: EditOperation = serde_json::from_value(serde_json::json!({
    ///     "name": "insert", "path": "a.txt", "insert_line": 0, "insert_text": "first"
    /// }))?;
    /// let step = EditStep::Insert { path: "a.txt".into(), line: 0, text: "first".into() };
    /// assert_eq!(operation.step(), Ok(step));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    ///
    /// # Errors
    /// When the name is unknown or an argument is missing or invalid; a sentence for the model.
    pub fn step(&self) -> Result<EditStep, String> {
        let path = || {
            let path = self.path.clone().filter(|path| !path.is_empty());
            path.ok_or_else(|| format!("`{}` needs `path`", self.name))
        };
        Ok(match self.name.as_str() {
            "view" => EditStep::View {
                path: path()?,
                lines: self.lines()?,
            },
            "create" => EditStep::Create {
                path: path()?,
                text: self.text("file_text")?,
            },
            "str_replace" => EditStep::Replace {
                path: path()?,
                old: self.text("old_str")?,
                new: self.text_or_none("new_str")?.unwrap_or_default(),
            },
            "insert" => EditStep::Insert {
                path: path()?,
                line: self.line("insert_line")?,
                text: match self.text_or_none("insert_text")? {
                    Some(text) => text,
                    None => self.text("new_str")?,
                },
            },
            "undo_edit" => EditStep::Undo { path: path()? },
            "delete" | "delete_file" => EditStep::Delete { path: path()? },
            "rename" => EditStep::Rename {
                path: match &self.path {
                    Some(path) => path.clone(),
                    None => self.text("old_path")?,
                },
                to: self.text("new_path")?,
            },
            "create_file" => EditStep::Add {
                path: path()?,
                diff: self.text("diff")?,
            },
            "update_file" => EditStep::Patch {
                path: path()?,
                diff: self.text("diff")?,
            },
            other => return Err(format!("unknown edit operation `{other}`")),
        })
    }

    fn text_or_none(&self, name: &str) -> Result<Option<String>, String> {
        match self.args.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!(
                "`{}` takes a text as `{name}`, not {other}",
                self.name
            )),
        }
    }

    fn text(&self, name: &str) -> Result<String, String> {
        self.text_or_none(name)?
            .ok_or_else(|| format!("`{}` needs `{name}`", self.name))
    }

    fn line(&self, name: &str) -> Result<u64, String> {
        let value = self.args.get(name).unwrap_or(&Value::Null);
        number(value)
            .and_then(|number| u64::try_from(number).ok())
            .ok_or_else(|| format!("`{}` needs `{name}`, a line number from 0", self.name))
    }

    fn lines(&self) -> Result<Option<(u64, Option<u64>)>, String> {
        let wrong = || {
            format!(
                "`{}` takes `view_range` as [first, last], with lines from 1, and -1 as the last for the end of the file",
                self.name
            )
        };
        let range = match self.args.get("view_range") {
            None | Some(Value::Null) => return Ok(None),
            Some(range) => range.as_array().ok_or_else(wrong)?,
        };
        let [first, last] = range.as_slice() else {
            return Err(wrong());
        };
        let (first, last) = number(first).zip(number(last)).ok_or_else(wrong)?;
        let first = u64::try_from(first).ok().filter(|first| *first > 0);
        let last = match last {
            -1 => None,
            last => Some(u64::try_from(last).map_err(|_| wrong())?),
        };
        let first = first.ok_or_else(wrong)?;
        if last.is_some_and(|last| last < first) {
            return Err(wrong());
        }
        Ok(Some((first, last)))
    }
}

/// A whole number, also written as text, as some models do.
fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{EDIT_STEPS, EditStep};
    use crate::EditOperation;

    fn step(json: Value) -> Result<EditStep, String> {
        serde_json::from_value::<EditOperation>(json)
            .map_err(|error| error.to_string())?
            .step()
    }

    #[test]
    fn every_name_is_listed() {
        let all = [
            json!({"name": "view", "path": "a", "view_range": [2, -1]}),
            json!({"name": "create", "path": "a", "file_text": ""}),
            json!({"name": "str_replace", "path": "a", "old_str": "x"}),
            json!({"name": "insert", "path": "a", "insert_line": "0", "new_str": "x"}),
            json!({"name": "undo_edit", "path": "a"}),
            json!({"name": "delete", "path": "a"}),
            json!({"name": "rename", "old_path": "a", "new_path": "b"}),
            json!({"name": "create_file", "path": "a", "diff": "+x"}),
            json!({"name": "update_file", "path": "a", "diff": "+x"}),
        ];
        let names: Vec<&str> = all
            .into_iter()
            .map(|json| {
                let step = step(json).unwrap_or_else(|error| panic!("{error}"));
                assert_eq!(step.path(), "a");
                step.name()
            })
            .collect();
        assert_eq!(names, EDIT_STEPS);
    }

    #[test]
    fn an_error_names_the_invalid_field() {
        for (json, text) in [
            (json!({"name": "view"}), "path"),
            (
                json!({"name": "view", "path": "a", "view_range": [0, 1]}),
                "view_range",
            ),
            (
                json!({"name": "view", "path": "a", "view_range": [3, 2]}),
                "view_range",
            ),
            (
                json!({"name": "create", "path": "a", "file_text": 7}),
                "file_text",
            ),
            (
                json!({"name": "insert", "path": "a", "insert_line": -1, "insert_text": ""}),
                "insert_line",
            ),
            (json!({"name": "chmod", "path": "a"}), "chmod"),
        ] {
            let error = step(json).err().unwrap_or_default();
            assert!(error.contains(text), "{error}");
        }
    }
}
