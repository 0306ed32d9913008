//! Explains to a model why a command could not write to a protected path.

use std::path::{Component, Path, PathBuf};

use telechir_protocol::{GIT_DIR, fold};

use super::Protected;
use super::masks;
use super::mount::MountAccess;

/// What the C library and Git print for a path that is mounted read-only, in lower case.
const REFUSALS: [&str; 2] = ["read-only file system", "device or resource busy"];
/// What is printed because an empty file stands in the place of a missing path.
const REFUSALS_OF_PLACEHOLDERS: [&str; 2] = ["not a directory", "file exists"];
/// What Git prints before the names of files in its way, of which a placeholder can be one.
const IN_THE_WAY: &str = "would be overwritten by";
/// Maximum length of an output that is searched.
const MAX_SEARCHED_BYTES: usize = 256 << 10;

impl Protected {
    /// One sentence about the first protected path that an output names as the cause of a failure,
    /// if there is one.
    pub fn explain(&self, output: &str) -> Option<String> {
        let output = output.get(..MAX_SEARCHED_BYTES).unwrap_or(output);
        let mut names_follow = false;
        for line in output.lines() {
            let lower = line.to_lowercase();
            let has_one = |refusals: &[&str]| refusals.iter().any(|text| lower.contains(text));
            let is_certain = has_one(&REFUSALS);
            if (is_certain || names_follow || has_one(&REFUSALS_OF_PLACEHOLDERS))
                && let Some(path) = self.named_in(line)
                && (is_certain || self.is_missing(path))
            {
                return Some(self.why(path));
            }
            names_follow = lower.contains(IN_THE_WAY) || (names_follow && line.starts_with('\t'));
        }
        None
    }

    /// The read-only path that a line names, or that is around or below a path in it.
    fn named_in(&self, line: &str) -> Option<&Path> {
        let is_quote = |c: char| "'\"`‘’:;,()[]".contains(c);
        let words = line
            .split_whitespace()
            .map(|word| word.trim_matches(is_quote));
        let mut words = words.filter(|word| word.contains(|c: char| c.is_alphanumeric()));
        words.find_map(|word| {
            let word = Path::new(word);
            let inside = word.strip_prefix(&self.folder).unwrap_or(word);
            let is_name = |part: &Component<'_>| matches!(part, Component::Normal(_));
            let is_elsewhere = inside.is_absolute();
            let inside: PathBuf = inside.components().filter(is_name).collect();
            let read_only = self.mounts.iter().filter_map(|(path, access)| {
                (*access == MountAccess::ReadOnly).then_some(path)?;
                path.strip_prefix(&self.folder).ok()
            });
            let mut read_only = read_only.filter(|_| !is_elsewhere);
            let is_meant = |path: &&Path| {
                // The command may have run in a subfolder.
                inside.starts_with(path) || path.ends_with(&inside) || path.starts_with(&inside)
            };
            read_only.find(is_meant)
        })
    }

    fn is_missing(&self, path: &Path) -> bool {
        masks::is_placeholder(&self.folder.join(path))
    }

    fn why(&self, path: &Path) -> String {
        let is_missing = self.is_missing(path);
        let shown = path.to_string_lossy().escape_debug().to_string();
        let is_git = |part: &Path| fold(&part.to_string_lossy()) == GIT_DIR;
        if path == Path::new(GIT_DIR) && is_missing {
            return format!(
                "{shown} is reserved in this session: a repository can be created in a subfolder, \
                 or by the user before a session"
            );
        }
        if path.iter().any(|part| is_git(&PathBuf::from(part))) {
            return format!(
                "{shown} is read-only in this session, because Git obeys it outside of the \
                 sandbox: commits, branches and merges work, while settings, remotes, upstream \
                 branches, submodules and linked worktrees are for the user to change"
            );
        }
        if is_missing {
            return format!(
                "{shown} cannot be created in this session, because programs outside of the \
                 sandbox would obey it: an empty file stands in its place until the session ends"
            );
        }
        format!(
            "{shown} is read-only in this session, because programs outside of the sandbox \
             execute or obey it: only the user can change it"
        )
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::MissingFiles;
    use super::*;

    #[test]
    fn an_output_names_the_protected_path_in_which_a_command_failed() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        fs::create_dir_all(real.join("sub/deep")).unwrap();
        for name in ["CLAUDE.md", "sub/deep/.envrc"] {
            fs::write(real.join(name), "").unwrap();
        }
        let protected = Protected::find(&real, MissingFiles::Masked).unwrap();
        let read_only =
            |path: &str| format!("{path} is read-only in this session, because programs");
        let missing = |path: &str| format!("{path} cannot be created in this session");
        let absolute = format!("cp: '{}/CLAUDE.md': Read-only file system", real.display());
        let in_the_way =
            "error: these files would be overwritten by checkout:\n\tfile\n\t.vscode\nAborting";
        for (output, expected) in [
            (
                "bash: CLAUDE.md: Read-only file system",
                read_only("CLAUDE.md"),
            ),
            (
                "ok\ntouch: cannot touch `CLAUDE.md’: READ-ONLY file system",
                read_only("CLAUDE.md"),
            ),
            (&absolute, read_only("CLAUDE.md")),
            (
                "mv: ../CLAUDE.md: Device or resource busy",
                read_only("CLAUDE.md"),
            ),
            // In a subfolder, below it and around it.
            ("rm: (.envrc): Device or resource busy", missing(".envrc")),
            (
                "sh: deep/.envrc: Read-only file system",
                read_only("sub/deep/.envrc"),
            ),
            (
                "mv: cannot move 'sub' to 'x': Device or resource busy",
                read_only("sub/deep/.envrc"),
            ),
            (
                "cat: .vscode/tasks.json: Not a directory",
                missing(".vscode"),
            ),
            (
                "mkdir: cannot create directory '.vscode': File exists",
                missing(".vscode"),
            ),
            (in_the_way, missing(".vscode")),
            (
                "fatal: .git/config: Read-only file system",
                ".git is reserved in this session".to_owned(),
            ),
        ] {
            let sentence = protected.explain(output).unwrap_or_default();
            assert!(sentence.starts_with(&expected), "{output}: {sentence}");
        }
        for output in [
            "",
            "CLAUDE.md",
            "CLAUDE.md: Permission denied",
            "/usr/CLAUDE.md: Read-only file system",
            "mkdir: cannot create directory 'CLAUDE.md': File exists",
            "--: .. : Read-only file system",
            "these files would be overwritten by checkout:\nAborting\n\t.vscode",
        ] {
            assert_eq!(protected.explain(output), None, "{output}");
        }
        let long = format!("{}\n{}", "x".repeat(MAX_SEARCHED_BYTES), absolute);
        assert_eq!(protected.explain(&long), None);
    }

    #[test]
    fn a_path_of_a_repository_has_its_own_reason() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().canonicalize().unwrap();
        for name in ["objects", "refs"] {
            fs::create_dir_all(real.join(".git").join(name)).unwrap();
        }
        fs::write(real.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(real.join(".git/config"), "").unwrap();
        let protected = Protected::find(&real, MissingFiles::Masked).unwrap();
        for path in [".git/config", ".git/modules"] {
            let output = format!("error: could not lock {path}: Read-only file system");
            let sentence = protected.explain(&output).unwrap_or_default();
            let expected = format!("{path} is read-only in this session, because Git obeys it");
            assert!(sentence.starts_with(&expected), "{sentence}");
        }
    }
}
