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
