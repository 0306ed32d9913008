//! Edits, judged by what they do to which file.

use telechir_protocol::{EditStep, EditTool};

use crate::Verdict;
use crate::rule::{Fit, Matcher, RuleReason, Sense};

/// One edit with where its files truly are.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    pub(crate) tool: EditTool,
    /// What it is called: one of [`telechir_protocol::EDIT_STEPS`].
    pub(crate) name: &'a str,
    /// The files it is about, as seen from the workspace's or memory's own folder.
    pub(crate) paths: Vec<&'a str>,
}

impl<'a> Edit<'a> {
    /// The edit of a step whose paths begin with `root`, when they are there.
    pub(crate) fn new(tool: EditTool, step: &'a EditStep, root: &str) -> Self {
        let inside = |path: &'a str| {
            let rest = path.strip_prefix(root).unwrap_or(path);
            rest.trim_start_matches('/')
        };
        let mut paths = vec![inside(step.path())];
        if let EditStep::Rename { to, .. } = step {
            paths.push(inside(to));
        }
        Self {
            tool,
            name: step.name(),
            paths,
        }
    }

    fn looks(&self) -> bool {
        self.name == "view"
    }
}

/// What an `[[edit]]` rule looks at; an absent member fits everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditMatch {
    pub(crate) operations: Option<Vec<String>>,
    /// Patterns: `*` stands for anything within a name, `**` for any folders.
    pub(crate) paths: Option<Vec<String>>,
    pub(crate) tool: Option<EditTool>,
}

impl Matcher for EditMatch {
    type Subject<'a> = Edit<'a>;

    /// What lets run has to fit every path, what stops any.
    fn fit(&self, edit: &Edit<'_>, sense: Sense) -> Fit {
        let fits_tool = self.tool.is_none_or(|tool| tool == edit.tool);
        let names = self.operations.as_ref();
        if !fits_tool || names.is_some_and(|names| !names.iter().any(|name| name == edit.name)) {
            return Fit::No;
        }
        let Some(patterns) = &self.paths else {
            return Fit::Yes;
        };
        let fits = |path: &&str| patterns.iter().any(|pattern| matches(pattern, path));
        let fits = match sense {
            Sense::Surely => edit.paths.iter().all(fits),
            Sense::Perhaps => edit.paths.iter().any(fits),
        };
        if fits { Fit::Yes } else { Fit::No }
    }
}

/// Whether a path is of this pattern. A pattern for what is in a folder is also of the folder.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    fast_glob::glob_match(pattern, path)
        || pattern
            .strip_suffix("/**")
            .is_some_and(|folder| fast_glob::glob_match(folder, path))
}

/// What holds where no rule applies.
pub(crate) fn default(edit: &Edit<'_>) -> RuleReason {
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "edit", reason);
    if edit.looks() {
        return built_in(Verdict::Allow, "It only looks.".to_owned());
    }
    if edit.tool == EditTool::Memory {
        let reason = "The memory's folder is there to be changed.".to_owned();
        return built_in(Verdict::Allow, reason);
    }
    let path = edit.paths.first().copied().unwrap_or_default();
    built_in(
        Verdict::Ask,
        format!("It changes {path} in the workspace ({}).", edit.name),
    )
}

/// Names that other programs run or obey, wherever they stand; compared in lower case.
const PROTECTED: [&str; 24] = [
    ".agents",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".claude",
    ".codex",
    ".cursor",
    ".envrc",
    ".gitconfig",
    ".gitmodules",
    ".husky",
    ".idea",
    ".inputrc",
    ".mcp.json",
    ".npmrc",
    ".profile",
    ".ripgreprc",
    ".vscode",
    ".zlogin",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    ".git",
];

/// What holds whatever the rules say: a person looks before a file changes that others obey.
pub(crate) fn always(edit: &Edit<'_>) -> Option<RuleReason> {
    if edit.looks() || edit.tool == EditTool::Memory {
        return None;
    }
    let protected = |name: &str| PROTECTED.contains(&name.to_lowercase().as_str());
    let path = edit
        .paths
        .iter()
        .find(|path| path.split('/').any(protected))?;
    let reason = format!("{path} is obeyed by programs outside of the sandbox.");
    Some(RuleReason::built_in(Verdict::Ask, "protected file", reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(json: serde_json::Value) -> EditStep {
        let operation: telechir_protocol::EditOperation =
            serde_json::from_value(json).expect("an operation");
        operation.step().expect("a step")
    }

    fn rename(from: &str, to: &str) -> EditStep {
        step(serde_json::json!({"name": "rename", "old_path": from, "new_path": to}))
    }

    #[test]
    fn both_names_of_a_rename_are_looked_at() {
        let rule = EditMatch {
            paths: Some(vec!["src/**".to_owned()]),
            ..EditMatch::default()
        };
        let step = rename("/w/src/a", "/w/b");
        let edit = Edit::new(EditTool::Editor, &step, "/w");
        assert_eq!(rule.fit(&edit, Sense::Surely), Fit::No);
        assert_eq!(rule.fit(&edit, Sense::Perhaps), Fit::Yes);
    }

    #[test]
    fn patterns_are_of_names_and_folders() {
        for (pattern, path, fits) in [
            ("*.md", "a.md", true),
            ("*.md", "b/a.md", false),
            ("**/*.md", "b/c/a.md", true),
            ("src/**", "src", true),
            ("src/**", "src/a/b", true),
            ("src/**", "srcs/a", false),
        ] {
            assert_eq!(matches(pattern, path), fits, "{pattern} {path}");
        }
    }

    #[test]
    fn a_file_that_others_obey_is_asked_about_in_any_spelling() {
        for path in ["/w/.git/hooks/pre-commit", "/w/a/.BASHRC", "/w/.mcp.json"] {
            let step = rename("/w/x", path);
            assert!(
                always(&Edit::new(EditTool::Editor, &step, "/w")).is_some(),
                "{path}"
            );
        }
        let step = rename("/w/x", "/w/.gitignore");
        assert!(always(&Edit::new(EditTool::Editor, &step, "/w")).is_none());
    }
}
