//! What an operation means, whoever named it.

use serde::Serialize;
use serde_json::Value;

use super::EditOperation;

/// One thing to do with files. Paths are as the model said them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum EditStep {
    /// Show a file with its lines numbered, or what is in a folder.
    View {
        /// The file or folder.
        path: String,
        /// The first and the last line, from 1; no last line means to the end.
        lines: Option<(u64, Option<u64>)>,
    },
    /// Write a whole file, whether or not it is there.
    Create {
        /// The file.
        path: String,
        /// Its text.
        text: String,
    },
    /// Put one text in the place of another that is there exactly once.
    Replace {
        /// The file.
        path: String,
        /// What is there.
        old: String,
        /// What comes there.
        new: String,
    },
    /// Add lines.
    Insert {
        /// The file.
        path: String,
        /// After so many lines; 0 is the top.
        line: u64,
        /// The lines.
        text: String,
    },
    /// Take the last change of a file back.
    Undo {
        /// The file.
        path: String,
    },
    /// Remove a file or folder.
    Delete {
        /// What.
        path: String,
    },
    /// Give a file or folder another name.
    Rename {
        /// What.
        path: String,
        /// Its new name.
        to: String,
    },
    /// Write a new file; every line of the diff begins with a plus.
    Add {
        /// The file, which is not there yet.
        path: String,
        /// The diff.
        diff: String,
    },
    /// Change a file.
    Patch {
        /// The file.
        path: String,
        /// The diff: `@@` lines say where, then lines begin with a blank, a minus or a plus.
        diff: String,
    },
}

impl EditStep {
    /// What it is about.
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

    /// What it is called here, in policies and in the record.
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

    /// Whether it leaves every file as it is.
    pub fn only_looks(&self) -> bool {
        matches!(self, Self::View { .. })
    }
}

/// Every name an [`EditStep`] can have.
pub const EDIT_STEPS: [&str; 9] = [
    "view", "create", "replace", "insert", "undo", "delete", "rename", "add", "patch",
];

impl EditOperation {
    /// What it means.
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
    /// With a sentence for the model, when its name is unknown or an argument is missing or odd.
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
            other => return Err(format!("no edit is called `{other}`")),
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
            .ok_or_else(|| {
                format!(
                    "`{}` needs `{name}`, a number of lines from 0 on",
                    self.name
                )
            })
    }

    fn lines(&self) -> Result<Option<(u64, Option<u64>)>, String> {
        let wrong = || {
            format!(
                "`{}` takes `view_range` as [first, last], lines from 1 on; -1 as the last means to the end",
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

/// A whole number, also one written as text, as some models do.
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
    fn what_is_odd_is_named() {
        for (json, word) in [
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
            assert!(error.contains(word), "{error}");
        }
    }
}
