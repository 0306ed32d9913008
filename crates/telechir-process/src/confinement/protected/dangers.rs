//! Judges what a command left in a repository: does Git execute something for it, or write elsewhere?

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, OFlags, fstat};
use rustix::io::Errno;
use telechir_protocol::fold;

use super::git::{self, ConfigEntry, Setting};
use super::git_names::{is_valid_in_index, is_writable};
use super::noticing::is_moved_away;
use super::scanner::{Names, Stamp, is_in_git_dir, open_folder};
use crate::tree;

/// A path that must not stay where it is.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Danger {
    pub(super) path: PathBuf,
    pub(super) reason: String,
}

/// Folders of an operation that continues later, and their lists of steps.
const OPERATIONS: [(&str, &str); 3] = [
    ("rebase-merge", "git-rebase-todo"),
    ("rebase-apply", "git-rebase-todo"),
    ("sequencer", "todo"),
];
/// Names that Git obeys in a repository, beside its data.
const OBEYED: [&str; 10] = [
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "hooks",
    "modules",
    "rebase-apply",
    "rebase-merge",
    "sequencer",
    "worktrees",
];
/// Merge strategies of Git itself; another one is a program.
const STRATEGIES: [&str; 6] = ["octopus", "ort", "ours", "recursive", "resolve", "subtree"];
/// Beginnings of options with which `git am` may apply the next patch.
const APPLY_OPTIONS: [&str; 9] = [
    "-C",
    "-p",
    "--3way",
    "--directory=",
    "--exclude=",
    "--ignore-space-change",
    "--ignore-whitespace",
    "--include=",
    "--whitespace=",
];
/// Keys of a configuration by which Git executes nothing and reads no other file. A `*` stands for
/// any text.
const HARMLESS: [&str; 61] = [
    "advice.*",
    "author.*",
    "branch.*.description",
    "branch.*.merge",
    "branch.*.pushremote",
    "branch.*.rebase",
    "branch.*.remote",
    "color.*",
    "column.*",
    "commit.gpgsign",
    "committer.*",
    "core.abbrev",
    "core.autocrlf",
    "core.bare",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.compression",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.repositoryformatversion",
    "core.safecrlf",
    "core.sharedrepository",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.untrackedcache",
    "core.whitespace",
    "diff.algorithm",
    "diff.renames",
    "extensions.objectformat",
    "extensions.partialclone",
    "extensions.refstorage",
    "fetch.prune",
    "gc.auto",
    "index.sparse",
    "init.defaultbranch",
    "lfs.repositoryformatversion",
    "merge.conflictstyle",
    "pull.ff",
    "pull.rebase",
    "push.autosetupremote",
    "push.default",
    "remote.*.fetch",
    "remote.*.mirror",
    "remote.*.partialclonefilter",
    "remote.*.promisor",
    "remote.*.prune",
    "remote.*.pushurl",
    "remote.*.tagopt",
    "remote.*.url",
    "submodule.*.active",
    "user.email",
    "user.name",
];

/// What is dangerous in a repository, except for paths that `is_known` accepts. In a new one that
/// is no `.git`, that is the `HEAD` which makes Git obey the folder: the other files may be those of
/// a project.
pub(super) fn in_repository(
    root: &OwnedFd,
    repository: &Path,
    is_new: bool,
    is_known: impl Fn(&Path) -> bool,
) -> Vec<Danger> {
    let is_git_dir = is_in_git_dir(repository);
    let names = names(root, repository).unwrap_or_default();
    let mut dangers = Vec::new();
    for (name, kind) in &names {
        let (path, name) = (repository.join(name), name.to_string_lossy());
        if (is_git_dir || OBEYED.contains(&&*fold(&name)))
            && !is_known(&path)
            && let Some(reason) = why(root, &path, &name, *kind)
        {
            dangers.push(Danger { path, reason });
        }
    }
    if is_git_dir || !is_new {
        return dangers;
    }
    let head = names
        .iter()
        .find(|(name, _)| fold(&name.to_string_lossy()) == "head");
    match (head, dangers.first()) {
        (Some((head, _)), Some(first)) => {
            let name = first.path.file_name().unwrap_or_default();
            let reason = format!(
                "with it Git takes the folder for a repository and obeys `{}`: {}",
                name.to_string_lossy().escape_debug(),
                first.reason
            );
            vec![Danger {
                path: repository.join(head),
                reason,
            }]
        }
        _ => Vec::new(),
    }
}

/// Why the index of a repository must not stay, if so: Git would write its paths.
pub(super) fn in_index(root: &OwnedFd, folder: &Path, repository: &Path) -> Option<Danger> {
    let path = repository.join("index");
    Stamp::of(root, &path)?;
    let reason = match git::index_paths(&folder.join(repository)) {
        Ok(paths) => {
            let wrong = paths.iter().find(|path| !is_valid_in_index(path))?;
            format!(
                "Git would write {}",
                String::from_utf8_lossy(wrong).escape_debug()
            )
        }
        // Git may be able to for the user, whose version and configuration are others.
        Err(error) => {
            format!("Git could not list its paths, so nobody knows what it would write ({error})")
        }
    };
    Some(Danger { path, reason })
}

/// Why an entry of a repository must not stay, if so.
fn why(root: &OwnedFd, path: &Path, name: &str, kind: FileType) -> Option<String> {
    if is_moved_away(name) {
        return None;
    }
    if kind == FileType::Symlink {
        return Some("it is a link, over which Git would write elsewhere".to_owned());
    }
    let is_folder = kind == FileType::Directory;
    if is_writable(name) {
        return None;
    }
    if let Some((_, steps)) = OPERATIONS.iter().find(|(operation, _)| *operation == name) {
        return executes(root, &path.join(steps)).or_else(|| in_options(root, path));
    }
    match name {
        "config" => in_config(root, path),
        "hooks" if is_folder => {
            let hooks = names(root, path).unwrap_or_default();
            let is_hook = |name: &Path| !name.to_string_lossy().ends_with(".sample");
            let (hook, _) = hooks.into_iter().find(|(name, _)| is_hook(name))?;
            Some(format!("Git would execute the hook {}", hook.display()))
        }
        "info" if is_folder => None,
        "branches" if is_folder && names(root, path).is_ok_and(|names| names.is_empty()) => None,
        "description" if kind == FileType::RegularFile => None,
        _ => Some("Git does not create it in normal work and may obey it".to_owned()),
    }
}

/// Whether a list of steps has one that executes a program.
fn executes(root: &OwnedFd, steps: &Path) -> Option<String> {
    let text = match read(root, steps) {
        Ok(text) => text,
        Err(Errno::NOENT) => return None,
        Err(errno) => return Some(format!("its steps cannot be read: {errno}")),
    };
    let text = String::from_utf8_lossy(&text);
    let mut words = text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        Some((words.next()?, line))
    });
    let (_, line) = words.find(|(word, _)| matches!(*word, "exec" | "x"))?;
    Some(format!("its step `{}` runs a program", line.escape_debug()))
}

/// Why the options of a suspended operation must not be used, if so. What cannot be read here, Git may
/// be able to read.
fn in_options(root: &OwnedFd, operation: &Path) -> Option<String> {
    let text = |name: &str| match read(root, &operation.join(name)) {
        Ok(text) => Ok(String::from_utf8_lossy(&text).into_owned()),
        Err(Errno::NOENT) => Ok(String::new()),
        Err(errno) => Err(format!("its file `{name}` cannot be read: {errno}")),
    };
    let judged = || {
        let named = text("strategy")?.trim().to_owned();
        let options = git::parse(text("opts")?.as_bytes(), root)
            .map_err(|error| format!("Git cannot read its options: {error}"))?;
        let in_options = options.into_iter();
        let in_options = in_options.filter(|entry| entry.key == "options.strategy");
        let strategies = in_options.map(|entry| entry.value).chain([named]);
        let mut strategies = strategies.filter(|strategy| !strategy.is_empty());
        if let Some(other) = strategies.find(|name| !STRATEGIES.contains(&name.as_str())) {
            let other = other.escape_debug();
            return Err(format!("its merge strategy `{other}` is a program"));
        }
        let apply = text("apply-opt")?.replace('\'', " ");
        let mut apply = apply.split_ascii_whitespace();
        let is_harmless = |word: &&str| APPLY_OPTIONS.iter().any(|start| word.starts_with(start));
        match apply.find(|word| !is_harmless(word)) {
            Some(other) => Err(format!(
                "it applies patches with `{}`",
                other.escape_debug()
            )),
            None => Ok(()),
        }
    };
    judged().err()
}

/// Whether a configuration executes nothing that these settings do not execute.
pub(super) fn executes_only(root: &OwnedFd, config: &Path, known: &BTreeSet<Setting>) -> bool {
    let Ok(entries) = entries(root, config) else {
        return false;
    };
    let is_known = |entry: &ConfigEntry| known.contains(&entry.setting());
    let is_remote = |entry: &&ConfigEntry| entry.key.starts_with("remote.");
    entries
        .iter()
        .all(|entry| is_harmless(entry) || is_known(entry))
        && (fetches_elsewhere(&entries).is_none() || entries.iter().filter(is_remote).all(is_known))
}

fn entries(root: &OwnedFd, config: &Path) -> io::Result<Vec<ConfigEntry>> {
    git::parse(&read(root, config)?, root)
}

fn in_config(root: &OwnedFd, path: &Path) -> Option<String> {
    match entries(root, path) {
        Ok(entries) => {
            let wrong = entries.iter().find(|entry| !is_harmless(entry));
            let entry = wrong.or_else(|| fetches_elsewhere(&entries))?;
            Some(format!("it sets {}", entry.key.escape_debug()))
        }
        Err(error) => Some(format!("Git cannot read it: {error}")),
    }
}

/// A promisor, from which Git fetches missing objects without being asked to, is harmless only over
/// HTTPS: other addresses start programs.
fn fetches_elsewhere(entries: &[ConfigEntry]) -> Option<&ConfigEntry> {
    let is_remote = |entry: &&ConfigEntry, end: &str| {
        entry.key.starts_with("remote.") && entry.key.ends_with(end)
    };
    let is_promisor = |entry: &&ConfigEntry| {
        is_remote(entry, ".promisor") || entry.key == "extensions.partialclone"
    };
    let promisor = entries.iter().find(is_promisor)?;
    let mut addresses = entries.iter().filter(|entry| is_remote(entry, ".url"));
    let is_https = addresses.all(|entry| entry.value.starts_with("https://"));
    (!is_https).then_some(promisor)
}

fn is_harmless(entry: &ConfigEntry) -> bool {
    let is_address = !entry.value.contains("::") && !entry.value.starts_with('-');
    let fits = HARMLESS.iter().any(|known| match known.split_once('*') {
        Some((start, end)) => {
            entry.key.len() > start.len() + end.len()
                && entry.key.starts_with(start)
                && entry.key.ends_with(end)
        }
        None => entry.key == *known,
    });
    fits && is_address
}

fn names(root: &OwnedFd, folder: &Path) -> Result<Names, Errno> {
    tree::entries(open_folder(root, folder)?)
}

/// Reads a small regular file, reached over no link.
fn read(root: &OwnedFd, path: &Path) -> Result<Vec<u8>, Errno> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = tree::open_beneath(root, path, flags)?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(Errno::INVAL);
    }
    let mut text = Vec::new();
    let mut limited = File::from(file).take(git::MAX_CONFIG_BYTES + 1);
    let read = limited.read_to_end(&mut text);
    read.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
    if text.len() as u64 > git::MAX_CONFIG_BYTES {
        return Err(Errno::FBIG);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use rustix::fs::Mode;

    use super::*;

    fn entry(key: &str, value: &str) -> ConfigEntry {
        ConfigEntry {
            origin: None,
            key: key.to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn missing_objects_are_fetched_over_https_only() {
        let clone = |url: &str| {
            [
                entry("remote.origin.url", url),
                entry("remote.origin.promisor", "true"),
                entry("remote.origin.partialclonefilter", "blob:none"),
                entry("branch.main.remote", "origin"),
            ]
        };
        let https = clone("https://example.org/a.git");
        assert!(https.iter().all(is_harmless));
        assert_eq!(fetches_elsewhere(&https), None);
        assert_eq!(fetches_elsewhere(&https[..1]), None);
        for url in [
            "/srv/a",
            "ssh://host/a",
            "host:a",
            "http://host/a",
            "file:///a",
        ] {
            let promisor = entry("remote.origin.promisor", "true");
            assert_eq!(fetches_elsewhere(&clone(url)), Some(&promisor), "{url}");
        }
    }

    #[test]
    fn a_replaced_configuration_may_set_what_it_set_before() {
        let folder = tempfile::tempdir().unwrap();
        let root = rustix::fs::open(folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        let setting = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let known = BTreeSet::from([
            setting("core.pager", "less"),
            setting("remote.a.url", "ssh://host/a"),
            setting("remote.a.promisor", "true"),
        ]);
        let executes_only = |text: &str| {
            std::fs::write(folder.path().join("config"), text).unwrap();
            executes_only(&root, Path::new("config"), &known)
        };
        let promisor = "[remote \"a\"]\n\turl = ssh://host/a\n\tpromisor = true\n";
        assert!(executes_only(
            "[user]\n\tname = n\n[core]\n\tpager = less\n"
        ));
        assert!(executes_only(promisor));
        for text in [
            "[core]\n\tpager = more\n".to_owned(),
            "[core]\n\tfsmonitor = less\n".to_owned(),
            "[core\n".to_owned(),
            promisor.replace("host", "other"),
            format!("{promisor}[remote \"b\"]\n\turl = ssh://host/b\n"),
        ] {
            assert!(!executes_only(&text), "{text}");
        }
        std::fs::remove_file(folder.path().join("config")).unwrap();
        assert!(!super::executes_only(&root, Path::new("config"), &known));
    }

    #[test]
    fn a_configuration_as_git_creates_it_is_harmless() {
        for (key, value) in [
            ("core.bare", "false"),
            ("remote.origin.url", "https://example.org/a.git"),
            ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
            ("branch.main.merge", "refs/heads/main"),
        ] {
            assert!(is_harmless(&entry(key, value)), "{key}");
        }
        for (key, value) in [
            ("core.fsmonitor", "x"),
            ("include.path", "x"),
            ("remote.origin.url", "ext::sh -c x"),
            ("remote.origin.uploadpack", "x"),
            ("branch.*", ""),
            ("core.worktree", "/"),
        ] {
            assert!(!is_harmless(&entry(key, value)), "{key}");
        }
    }

    /// A folder with these files, or folders where the name ends with a slash.
    fn folder_with(files: &[(&str, &str)]) -> (tempfile::TempDir, OwnedFd) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = folder.path().join(name);
            if name.ends_with('/') {
                std::fs::create_dir_all(&path).unwrap();
            } else {
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, text).unwrap();
            }
        }
        let root = rustix::fs::open(folder.path(), OFlags::PATH, Mode::empty()).unwrap();
        (folder, root)
    }

    fn dangers(files: &[(&str, &str)], repository: &str, is_new: bool) -> Vec<Danger> {
        let (_folder, root) = folder_with(files);
        in_repository(&root, Path::new(repository), is_new, |_| false)
    }

    #[test]
    fn what_git_reads_as_data_is_no_danger() {
        let todo = ".git/rebase-merge/git-rebase-todo";
        for files in [
            &[(".git/config", "[user]\n\tname = n\n")][..],
            &[(".git/hooks/pre-commit.sample", "")],
            &[(".git/hooks/", "")],
            &[(".git/info/exclude", "")],
            &[(".git/branches/", "")],
            &[(".git/description", "")],
            &[(".git/HEAD", ""), (".git/objects/", "")],
            &[(".git/config.blocked", "[core]\n\tfsmonitor = x\n")],
            &[(todo, "pick 1a2b exec\nreword 3c4d x\n\n")],
            &[(".git/rebase-merge/", "")],
            &[(".git/rebase-merge/strategy", " ort\n")],
            &[(
                ".git/sequencer/opts",
                "[options]\n\tstrategy = \"ours\"\n\tedit = false\n",
            )],
            &[(
                ".git/rebase-apply/apply-opt",
                " '-p1' '--3way' '--whitespace=fix'\n",
            )],
        ] {
            assert_eq!(dangers(files, ".git", false), [], "{files:?}");
        }
    }

    #[test]
    fn what_git_executes_or_obeys_is_a_danger_with_its_reason() {
        let unknown = "Git does not create it in normal work and may obey it";
        for (name, file, text, reason) in [
            (
                "config",
                "",
                "[core]\n\tfsmonitor = x\n",
                "it sets core.fsmonitor",
            ),
            ("config", "", "[core\n", "Git cannot read it: "),
            (
                "hooks",
                "/post-commit",
                "",
                "Git would execute the hook post-commit",
            ),
            ("hooks", "", "", unknown),
            ("info", "", "", unknown),
            ("branches", "/origin", "", unknown),
            ("branches", "", "", unknown),
            ("description", "/", "", unknown),
            ("commondir", "", "..\n", unknown),
            ("unknown", "", "", unknown),
            (
                "rebase-merge",
                "/git-rebase-todo",
                "pick 1a2b\nexec touch x\n",
                "its step `exec touch x` runs a program",
            ),
            (
                "rebase-apply",
                "/git-rebase-todo",
                "  x touch\n",
                "its step `  x touch` runs a program",
            ),
            (
                "sequencer",
                "/todo",
                "exec a",
                "its step `exec a` runs a program",
            ),
            ("sequencer", "/todo/", "", "its steps cannot be read: "),
            (
                "rebase-merge",
                "/strategy",
                "mine\n",
                "its merge strategy `mine` is a program",
            ),
            (
                "sequencer",
                "/opts",
                "[options]\n\tstrategy = \"mine\"\n",
                "its merge strategy `mine` is a program",
            ),
            (
                "sequencer",
                "/opts",
                "[options] strategy = mine\n",
                "its merge strategy `mine` is a program",
            ),
            (
                "sequencer",
                "/opts",
                "[OPTIONS]\n\tstrategy = ours\n\tStrategy = x/../mi\"ne\" ; ours\n",
                "its merge strategy `x/../mine` is a program",
            ),
            (
                "sequencer",
                "/opts",
                "[options\n",
                "Git cannot read its options: ",
            ),
            (
                "sequencer",
                "/opts/",
                "",
                "its file `opts` cannot be read: ",
            ),
            (
                "rebase-merge",
                "/strategy/",
                "",
                "its file `strategy` cannot be read: ",
            ),
            (
                "rebase-apply",
                "/apply-opt",
                " '-p1' '--unsafe-paths'\n",
                "it applies patches with `--unsafe-paths`",
            ),
        ] {
            let file = format!(".git/{name}{file}");
            let found = dangers(&[(file.as_str(), text)], ".git", false);
            let [danger] = &found[..] else {
                panic!("{name}{file}: {found:?}");
            };
            assert_eq!(danger.path, Path::new(".git").join(name));
            assert!(danger.reason.starts_with(reason), "{}", danger.reason);
        }
    }

    #[test]
    fn a_link_in_a_repository_and_nothing_that_is_known_is_a_danger() {
        let (folder, root) = folder_with(&[(".git/unknown", "")]);
        std::os::unix::fs::symlink("elsewhere", folder.path().join(".git/HEAD")).unwrap();
        let repository = Path::new(".git");
        let is_known = |path: &Path| path == Path::new(".git/unknown");
        let found = in_repository(&root, repository, false, is_known);
        let [link] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(link.path, Path::new(".git/HEAD"));
        assert!(link.reason.starts_with("it is a link"), "{}", link.reason);
    }

    #[test]
    fn a_new_folder_that_git_takes_for_a_repository_loses_its_head() {
        let files = [
            ("bare/HEAD", ""),
            ("bare/hooks/update", ""),
            ("bare/own", ""),
        ];
        let found = dangers(&files, "bare", true);
        let [head] = &found[..] else {
            panic!("{found:?}");
        };
        assert_eq!(head.path, Path::new("bare/HEAD"));
        assert!(
            head.reason.contains("obeys `hooks`: Git would execute"),
            "{}",
            head.reason
        );
        let old = dangers(&files, "bare", false);
        let paths: Vec<&Path> = old.iter().map(|danger| danger.path.as_path()).collect();
        assert_eq!(paths, [Path::new("bare/hooks")]);
        assert_eq!(
            dangers(&[("bare/HEAD", ""), ("bare/own", "")], "bare", true),
            []
        );
        // Without a head Git does not obey it.
        assert_eq!(dangers(&files[1..], "bare", true), []);
        let own = dangers(
            &[(".git/HEAD", ""), (".git/hooks/update", "")],
            ".git",
            true,
        );
        assert_eq!(
            own.first().map(|danger| danger.path.as_path()),
            Some(Path::new(".git/hooks"))
        );
    }

    #[test]
    fn a_key_that_lacks_the_name_in_the_middle_is_not_harmless() {
        for key in ["branch.merge", "branch..merge", "color.", "remote.url"] {
            assert!(!is_harmless(&entry(key, "x")), "{key}");
        }
        assert!(!is_harmless(&entry("remote.a.url", "--upload-pack=x")));
    }

    #[test]
    fn a_configuration_is_read_up_to_its_limit_and_only_if_it_is_a_file() {
        let most = usize::try_from(git::MAX_CONFIG_BYTES).unwrap();
        let (folder, root) = folder_with(&[
            ("folder/", ""),
            ("most", &"#".repeat(most)),
            ("more", &"#".repeat(most + 1)),
        ]);
        std::os::unix::fs::symlink("most", folder.path().join("link")).unwrap();
        let pipe = folder.path().join("pipe");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let read = |name: &str| read(&root, Path::new(name)).map(|text| text.len());
        assert_eq!(read("most"), Ok(most));
        assert_eq!(read("more"), Err(Errno::FBIG));
        assert_eq!(read("folder"), Err(Errno::INVAL));
        assert_eq!(read("pipe"), Err(Errno::INVAL));
        assert_eq!(read("none"), Err(Errno::NOENT));
        assert_eq!(read("link"), Err(Errno::LOOP));
    }
}
