//! Names in a repository that stay writable, and paths that an index may have.

use telechir_protocol::{GIT_DIR, fold};

/// Files and folders of a repository that stay writable: data that Git reads as such. Everything
/// else is read-only, so that a name that we do not know is safe.
const WRITABLE: [&str; 22] = [
    "objects",
    "refs",
    "logs",
    "reftable",
    "rr-cache",
    "lfs",
    "index",
    "HEAD",
    "packed-refs",
    "shallow",
    "COMMIT_EDITMSG",
    "TAG_EDITMSG",
    "NOTES_EDITMSG",
    "SQUASH_MSG",
    "MERGE_MSG",
    "MERGE_MODE",
    "MERGE_RR",
    "MERGE_AUTOSTASH",
    "AUTO_MERGE",
    "gc.pid",
    "gc.log",
    "ADD_EDIT.patch",
];
/// Endings and beginnings of more such names: references, locks, and parts of an index.
const WRITABLE_ENDINGS: [&str; 2] = ["_HEAD", ".lock"];
const WRITABLE_BEGINNINGS: [&str; 3] = ["sharedindex.", "BISECT_", "tmp_"];
/// Whether a name in a repository stays writable.
pub(super) fn is_writable(name: &str) -> bool {
    WRITABLE.contains(&name)
        || WRITABLE_ENDINGS.iter().any(|end| name.ends_with(end))
        || WRITABLE_BEGINNINGS
            .iter()
            .any(|start| name.starts_with(start))
}

/// Whether a path in an index leads to where Git would write it: below the worktree, and in no
/// repository. Git itself does not check this for an index that it finds.
pub(super) fn is_valid_in_index(path: &[u8]) -> bool {
    let names = path
        .strip_suffix(b"/")
        .unwrap_or(path)
        .split(|byte| *byte == b'/');
    names.into_iter().all(|name| {
        let folded = fold(&String::from_utf8_lossy(name));
        !matches!(name, b"" | b"." | b"..") && folded != GIT_DIR && folded != "git~1"
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_writes_in_normal_work_is_writable_and_nothing_else() {
        for name in [
            "index",
            "index.lock",
            "ORIG_HEAD",
            "FETCH_HEAD",
            "objects",
            "BISECT_LOG",
        ] {
            assert!(is_writable(name), "{name}");
        }
        for name in [
            "config",
            "config.worktree",
            "hooks",
            "commondir",
            "gitdir",
            "unknown",
        ] {
            assert!(!is_writable(name), "{name}");
        }
    }

    #[test]
    fn an_index_leads_nowhere_but_into_the_worktree() {
        for path in ["a", "a/b.git", ".gitignore", "sparse/folder/", "..a/b"] {
            assert!(is_valid_in_index(path.as_bytes()), "{path}");
        }
        for path in [
            ".git/hooks/x",
            "a/.GIT/config",
            "../x",
            "a/../../x",
            "/x",
            "a//b",
            "GIT~1/x",
        ] {
            assert!(!is_valid_in_index(path.as_bytes()), "{path}");
        }
    }
}
