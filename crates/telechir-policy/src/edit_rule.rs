//! Judges edits by their operation and file.

use telechir_protocol::{EditStep, EditTool, is_protected};

use crate::Verdict;
use crate::rule::{MatchCertainty, Matcher, Polarity, RuleReason};

/// One edit with the real location of its files.
#[derive(Debug)]
pub(crate) struct Edit<'a> {
    pub(crate) tool: EditTool,
    /// Name of the edit: one of [`telechir_protocol::EDIT_STEPS`].
    pub(crate) name: &'a str,
    /// Paths of its files, relative to the workspace or memory folder.
    pub(crate) paths: Vec<&'a str>,
}

impl<'a> Edit<'a> {
    /// The edit of a step; paths below `root` become relative.
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

/// The conditions of an `[[edit]]` rule; an absent one matches everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct EditMatch {
    pub(crate) operations: Option<Vec<String>>,
    /// Patterns: `*` matches anything within a name, `**` any folders.
    pub(crate) paths: Option<Vec<String>>,
    pub(crate) tool: Option<EditTool>,
}

impl Matcher for EditMatch {
    type Subject<'a> = Edit<'a>;

    /// A permissive rule must match every path, a restrictive one any.
    fn fit(&self, edit: &Edit<'_>, sense: Polarity) -> MatchCertainty {
        let fits_tool = self.tool.is_none_or(|tool| tool == edit.tool);
        let names = self.operations.as_ref();
        if !fits_tool || names.is_some_and(|names| !names.iter().any(|name| name == edit.name)) {
            return MatchCertainty::No;
        }
        let Some(patterns) = &self.paths else {
            return MatchCertainty::Yes;
        };
        let fits = |path: &&str| patterns.iter().any(|pattern| matches(pattern, path));
        let fits = match sense {
            Polarity::Permits => edit.paths.iter().all(fits),
            Polarity::Restricts => edit.paths.iter().any(fits),
        };
        if fits {
            MatchCertainty::Yes
        } else {
            MatchCertainty::No
        }
    }
}

/// Whether a path matches this pattern. A pattern for a folder's contents also matches the folder.
pub(crate) fn matches(pattern: &str, path: &str) -> bool {
    fast_glob::glob_match(pattern, path)
        || pattern
            .strip_suffix("/**")
            .is_some_and(|folder| fast_glob::glob_match(folder, path))
}

/// The verdict if no rule matches.
pub(crate) fn default(edit: &Edit<'_>) -> RuleReason {
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "edit", reason);
    if edit.looks() {
        return built_in(Verdict::Allow, "It only reads.".to_owned());
    }
    if edit.tool == EditTool::Memory {
        let reason = "The memory folder may be changed.".to_owned();
        return built_in(Verdict::Allow, reason);
    }
    let path = edit.paths.first().copied().unwrap_or_default();
    built_in(
        Verdict::Ask,
        format!("It changes {path} in the workspace ({}).", edit.name),
    )
}

/// The verdict that no rule can relax: the user approves changes to files that configure other
/// programs.
pub(crate) fn always(edit: &Edit<'_>) -> Option<RuleReason> {
    if edit.looks() {
        return None;
    }
    let path = edit.paths.iter().find(|path| is_protected(path))?;
    let reason = format!("{path} configures programs outside the sandbox.");
    Some(RuleReason::built_in(Verdict::Ask, "protected file", reason))
}

#[cfg(test)]
mod tests {
    use telechir_protocol::PROTECTED_PATHS;

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
    fn both_paths_of_a_rename_are_judged() {
        let rule = EditMatch {
            paths: Some(vec!["src/**".to_owned()]),
            ..EditMatch::default()
        };
        let step = rename("/w/src/a", "/w/b");
        let edit = Edit::new(EditTool::Editor, &step, "/w");
        assert_eq!(rule.fit(&edit, Polarity::Permits), MatchCertainty::No);
        assert_eq!(rule.fit(&edit, Polarity::Restricts), MatchCertainty::Yes);
    }

    #[test]
    fn patterns_match_names_and_folders() {
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
    fn a_file_that_configures_other_programs_needs_approval_in_any_spelling() {
        for path in ["/w/.git/hooks/pre-commit", "/w/a/.BASHRC", "/w/.mcp.json"] {
            let step = rename("/w/x", path);
            assert!(
                always(&Edit::new(EditTool::Editor, &step, "/w")).is_some(),
                "{path}"
            );
        }
        for (name, _) in PROTECTED_PATHS {
            let step = rename("/w/x", &format!("/w/a/b/{}/c", name.to_uppercase()));
            for tool in [EditTool::Editor, EditTool::Patch, EditTool::Memory] {
                assert!(always(&Edit::new(tool, &step, "/w")).is_some(), "{name}");
            }
        }
        let step = rename("/w/x", "/w/.gitignore");
        assert!(always(&Edit::new(EditTool::Editor, &step, "/w")).is_none());
    }
}
