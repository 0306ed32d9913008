//! Paths that programs outside a sandbox execute or obey without being asked to: one list for the
//! policy's judgement of edits and for the sandbox.

use std::collections::HashMap;
use std::sync::LazyLock;

use self::WhileMissing::{Noticed, Reserved};

/// What a sandbox does at the top of a workspace while such a path does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhileMissing {
    /// An empty file takes its place, because merely entering or opening the folder is enough for
    /// a program to obey it.
    Reserved,
    /// Nothing takes its place, because an empty file would break a tool or be in the way; a new
    /// one is noticed after the command that created it.
    Noticed,
}

/// A path at any depth, in its usual spelling, and its treatment while it is missing.
pub type ProtectedPath = (&'static str, WhileMissing);

/// The repository's folder of Git, or the file that names it. Protected like the other paths, but
/// Git must still write some of its contents.
pub const GIT_DIR: &str = ".git";

/// Ending of the name under which something that was to get a protected name is stored instead. No
/// program obeys such names.
pub const BLOCKED_ENDING: &str = ".blocked";

/// All protected paths except [`GIT_DIR`]: files that configure version control, shells, editors,
/// debuggers, toolchains and agents.
pub const PROTECTED_PATHS: &[ProtectedPath] = &[
    // Version control and its hooks.
    (".gitmodules", Reserved),
    (".gitconfig", Reserved),
    (".hg", Reserved),
    (".hgrc", Noticed),
    (".jj", Reserved),
    (".sl", Noticed),
    (".svn", Noticed),
    (".bzr", Noticed),
    (".repo", Noticed),
    (".arcconfig", Noticed),
    (".husky", Reserved),
    (".githooks", Noticed),
    (".lefthook", Noticed),
    (".lefthook.yml", Noticed),
    ("lefthook.yml", Noticed),
    ("lefthook.yaml", Noticed),
    ("lefthook.toml", Noticed),
    ("lefthook.json", Noticed),
    ("lefthook.jsonc", Noticed),
    (".lefthook.yaml", Noticed),
    (".lefthook.toml", Noticed),
    (".lefthook.json", Noticed),
    ("lefthook-local.yml", Noticed),
    ("lefthook-local.yaml", Noticed),
    ("lefthook-local.toml", Noticed),
    ("lefthook-local.json", Noticed),
    (".lefthook-local.yml", Noticed),
    (".lefthook-local.yaml", Noticed),
    (".lefthook-local.toml", Noticed),
    (".lefthook-local.json", Noticed),
    (".config/lefthook.yml", Noticed),
    (".config/lefthook.yaml", Noticed),
    (".config/lefthook.toml", Noticed),
    (".config/lefthook.json", Noticed),
    (".overcommit.yml", Noticed),
    (".local-overcommit.yml", Noticed),
    ("captainhook.json", Noticed),
    ("grumphp.yml", Noticed),
    (".pre-commit-config.yaml", Noticed),
    ("prek.toml", Noticed),
    (".lfsconfig", Noticed),
    (".config/git", Noticed),
    // The short name that Windows file systems give to `.git`.
    ("git~1", Noticed),
    // Shells and terminals.
    (".bashrc", Reserved),
    (".bash_profile", Reserved),
    (".bash_login", Reserved),
    (".bash_logout", Reserved),
    (".bash_aliases", Noticed),
    (".profile", Reserved),
    (".zshrc", Reserved),
    (".zshenv", Reserved),
    (".zprofile", Reserved),
    (".zlogin", Reserved),
    (".zlogout", Noticed),
    (".cshrc", Noticed),
    (".tcshrc", Noticed),
    (".kshrc", Noticed),
    (".login", Noticed),
    (".logout", Noticed),
    (".config/fish", Noticed),
    (".inputrc", Reserved),
    (".tmux.conf", Noticed),
    (".screenrc", Noticed),
    (".lessfilter", Noticed),
    (".xinitrc", Noticed),
    (".xprofile", Noticed),
    (".xsessionrc", Noticed),
    (".pam_environment", Noticed),
    (".ssh", Reserved),
    (".netrc", Noticed),
    (".curlrc", Noticed),
    (".wgetrc", Noticed),
    (".ripgreprc", Reserved),
    // Environments and toolchains that a folder chooses.
    (".envrc", Reserved),
    (".direnvrc", Noticed),
    (".direnv", Noticed),
    (".autoenv", Noticed),
    (".autoenv.zsh", Noticed),
    ("mise.toml", Reserved),
    (".mise.toml", Reserved),
    ("mise.local.toml", Noticed),
    (".mise.local.toml", Noticed),
    (".miserc.toml", Noticed),
    (".rtx.toml", Noticed),
    (".prototools", Noticed),
    ("mise/config.toml", Noticed),
    (".mise", Noticed),
    (".config/mise.toml", Noticed),
    (".config/mise", Noticed),
    (".tool-versions", Noticed),
    (".cargo/config", Noticed),
    (".cargo/config.toml", Noticed),
    (".cargo/env", Noticed),
    ("rust-toolchain", Noticed),
    ("rust-toolchain.toml", Noticed),
    (".npmrc", Reserved),
    (".yarnrc", Noticed),
    (".yarnrc.yml", Reserved),
    (".pnpmfile.cjs", Noticed),
    ("bunfig.toml", Noticed),
    (".bundle/config", Noticed),
    (".gemrc", Noticed),
    (".pypirc", Noticed),
    (".terraformrc", Noticed),
    (".rvmrc", Noticed),
    // Editors, debuggers and interactive tools.
    (".vscode", Reserved),
    (".idea", Reserved),
    (".zed", Reserved),
    (".fleet", Noticed),
    (".nova", Noticed),
    (".vs", Noticed),
    (".theia", Noticed),
    // Commands that start build servers when a folder is opened, and builders of Eclipse.
    (".bsp", Noticed),
    (".externalToolBuilders", Noticed),
    (".helix", Noticed),
    (".devcontainer", Reserved),
    (".devcontainer.json", Reserved),
    (".exrc", Reserved),
    (".vimrc", Noticed),
    (".gvimrc", Noticed),
    (".nvimrc", Noticed),
    (".nvim.lua", Noticed),
    (".lvimrc", Noticed),
    (".lazy.lua", Noticed),
    (".neoconf.json", Noticed),
    (".vim", Noticed),
    (".nvim", Noticed),
    (".ycm_extra_conf.py", Noticed),
    (".emacs", Noticed),
    (".emacs.d", Noticed),
    (".dir-locals.el", Reserved),
    (".dir-locals-2.el", Noticed),
    (".gdbinit", Reserved),
    (".lldbinit", Reserved),
    (".pdbrc", Noticed),
    (".perldb", Noticed),
    (".irbrc", Noticed),
    (".pryrc", Noticed),
    (".byebugrc", Noticed),
    (".rdbgrc", Noticed),
    (".Rprofile", Noticed),
    (".Renviron", Noticed),
    // R runs what a promise in it holds.
    (".RData", Noticed),
    (".octaverc", Noticed),
    (".ghci", Noticed),
    (".iex.exs", Noticed),
    (".ocamlinit", Noticed),
    (".psqlrc", Noticed),
    (".sqliterc", Noticed),
    // Agents: their settings, hooks, servers and instructions.
    (".mcp.json", Reserved),
    (".claude", Reserved),
    (".claude.json", Noticed),
    ("CLAUDE.md", Noticed),
    ("CLAUDE.local.md", Noticed),
    ("AGENTS.md", Noticed),
    ("AGENTS.override.md", Noticed),
    ("AGENT.md", Noticed),
    ("GEMINI.md", Noticed),
    (".codex", Reserved),
    (".cursor", Reserved),
    (".cursorrules", Noticed),
    (".gemini", Reserved),
    (".agents", Reserved),
    (".windsurf", Noticed),
    (".windsurfrules", Noticed),
    (".clinerules", Noticed),
    (".roo", Noticed),
    (".kiro", Noticed),
    (".continue", Noticed),
    (".opencode", Noticed),
    ("opencode.json", Noticed),
    ("opencode.jsonc", Noticed),
    (".goose", Noticed),
    (".goosehints", Noticed),
    (".augment", Noticed),
    (".augment-guidelines", Noticed),
    (".amazonq", Noticed),
    (".codebuddy", Noticed),
    ("CODEBUDDY.md", Noticed),
    (".iflow", Noticed),
    ("IFLOW.md", Noticed),
    (".qodo", Noticed),
    (".vibe", Noticed),
    (".zencoder", Noticed),
    (".junie", Noticed),
    (".trae", Noticed),
    (".qwen", Noticed),
    ("QWEN.md", Noticed),
    (".crush", Noticed),
    (".crush.json", Noticed),
    ("crush.json", Noticed),
    ("CRUSH.md", Noticed),
    (".amp", Noticed),
    (".factory", Noticed),
    (".warp", Noticed),
    ("WARP.md", Noticed),
    (".kilocode", Noticed),
    (".openhands", Noticed),
    (".rules", Noticed),
    (".roorules", Noticed),
    (".roomodes", Noticed),
    (".rovodev", Noticed),
    (".grok", Noticed),
    (".copilot", Noticed),
    (".aiassistant", Noticed),
    (".claude-plugin", Noticed),
    (".aider.conf.yml", Noticed),
    (".github/hooks", Noticed),
    (".github/agents", Noticed),
    (".github/skills", Noticed),
    (".github/chatmodes", Noticed),
    (".github/instructions", Noticed),
    (".github/prompts", Noticed),
    (".github/copilot-instructions.md", Noticed),
    (".telechir", Reserved),
    // The tokens of the HTTP API.
    (".local/state/telechir", Noticed),
];

/// The protected paths, folded and split, by their last name.
static BY_LAST_NAME: LazyLock<HashMap<String, Vec<Vec<String>>>> = LazyLock::new(|| {
    let mut by_last_name: HashMap<String, Vec<Vec<String>>> = HashMap::new();
    let paths = PROTECTED_PATHS.iter().map(|(path, _)| *path);
    for path in paths.chain([GIT_DIR]) {
        let mut names: Vec<String> = path.split('/').map(fold).collect();
        let last = names.pop().unwrap_or_default();
        by_last_name.entry(last).or_default().push(names);
    }
    by_last_name
});

/// The protected paths of several names by each name before the last: what must be above it, folded,
/// and what follows it.
type InnerNames = HashMap<String, Vec<(Vec<String>, &'static str)>>;
static BY_INNER_NAME: LazyLock<InnerNames> = LazyLock::new(|| {
    let mut by_inner_name = InnerNames::new();
    for (path, _) in PROTECTED_PATHS {
        for (at, _) in path.match_indices('/') {
            let mut names: Vec<String> = path[..at].split('/').map(fold).collect();
            let inner = names.pop().unwrap_or_default();
            let listed = by_inner_name.entry(inner).or_default();
            listed.push((names, &path[at + 1..]));
        }
    }
    by_inner_name
});

/// Whether a relative path is protected, or lies in a protected folder.
///
/// ```
/// use telechir_protocol::is_protected;
/// assert!(is_protected("packages/web/.VSCode/tasks.json"));
/// assert!(!is_protected("src/main.rs"));
/// ```
pub fn is_protected(path: &str) -> bool {
    let ends = path.match_indices('/').map(|(at, _)| at);
    ends.chain([path.len()])
        .any(|end| is_protected_entry(&path[..end]))
}

/// Whether a relative path itself is protected; paths in a protected folder are not.
pub fn is_protected_entry(path: &str) -> bool {
    protected_name_count(path).is_some()
}

/// The number of names at the end of a relative path that protect it: two for
/// `sub/.cargo/config.toml`. `None` if the path itself is not protected.
pub fn protected_name_count(path: &str) -> Option<usize> {
    let mut names = path.rsplit('/').filter(|name| !name.is_empty());
    let parents = BY_LAST_NAME.get(&fold(names.next()?))?;
    let fitting = parents.iter().filter(|parents| {
        let mut names = names.clone();
        let fits = |parent: &String| names.next().is_some_and(|name| fold(name) == *parent);
        parents.iter().rev().all(fits)
    });
    fitting.map(|parents| parents.len() + 1).max()
}

/// The listed paths that lead through a relative path: how many names at its end belong to each, and
/// the rest. Empty for most paths.
///
/// ```
/// use telechir_protocol::protected_below;
/// assert!(protected_below("sub/.cargo").contains(&(1, "config.toml")));
/// assert!(protected_below("src").is_empty());
/// ```
pub fn protected_below(path: &str) -> Vec<(usize, &'static str)> {
    let names: Vec<&str> = path.split('/').filter(|name| !name.is_empty()).collect();
    let Some((last, above)) = names.split_last() else {
        return Vec::new();
    };
    let Some(listed) = BY_INNER_NAME.get(&fold(last)) else {
        return Vec::new();
    };
    let fitting = listed.iter().filter(|(parents, _)| {
        let mut above = above.iter().rev();
        let fits = |parent: &String| above.next().is_some_and(|name| fold(name) == *parent);
        parents.iter().rev().all(fits)
    });
    fitting
        .map(|(parents, rest)| (parents.len() + 1, *rest))
        .collect()
}

/// The spelling under which file systems that ignore case find a name: without differences of case,
/// invisible characters, full width, or the endings that Windows drops.
pub fn fold(name: &str) -> String {
    let plain = if name.is_ascii() {
        name.to_ascii_lowercase()
    } else {
        let visible = name.chars().filter(|letter| !is_ignorable(*letter));
        let narrow: String = visible.map(narrow).collect();
        // Upper case in between expands ligatures, the long s and the like.
        narrow.to_lowercase().to_uppercase().to_lowercase()
    };
    let before_stream = plain.split(':').next().unwrap_or_default();
    before_stream.trim_end_matches(['.', ' ']).to_owned()
}

/// Whether file systems ignore a character when they compare names: the code points of Unicode's
/// property `Default_Ignorable_Code_Point`.
const fn is_ignorable(letter: char) -> bool {
    matches!(
        letter,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fff8}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The ASCII character of a full-width one.
fn narrow(letter: char) -> char {
    match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0).unwrap_or(letter),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_in_every_spelling_that_a_file_system_accepts() {
        for path in [
            ".GIT",
            "a/.Git/config",
            ".git.",
            ".git ",
            ".git::$INDEX_ALLOCATION",
            ".g\u{200c}it",
            ".gitcon\u{fb01}g",
            ".ba\u{17f}hrc",
            "\u{ff0e}envrc",
            "GIT~1/hooks",
            "x/.Cargo/Config.TOML",
            "//a//.envrc//",
        ] {
            assert!(is_protected(path), "{path:?}");
        }
    }

    #[test]
    fn similar_names_are_not_protected() {
        for path in [
            "",
            "/",
            ".gitignore",
            ".cargo",
            ".cargo/registry/config.toml",
            "config.toml",
            "cargo/config.toml",
            ".github/workflows/ci.yml",
            "envrc",
            ".envrc.blocked",
        ] {
            assert!(!is_protected(path), "{path:?}");
        }
    }

    #[test]
    fn the_names_that_protect_a_path_are_counted() {
        assert_eq!(protected_name_count("sub/.envrc"), Some(1));
        assert_eq!(protected_name_count("sub/.Cargo/config.toml"), Some(2));
        assert_eq!(protected_name_count("sub/config.toml"), None);
    }

    #[test]
    fn what_makes_a_path_below_protected_is_named() {
        let below = |path| {
            let mut found = protected_below(path);
            found.sort_unstable();
            found
        };
        let cargo = [(1, "config"), (1, "config.toml"), (1, "env")];
        assert_eq!(below("sub/.Cargo"), cargo);
        assert_eq!(below("a/.local"), [(1, "state/telechir")]);
        assert_eq!(below(".local/state/"), [(2, "telechir")]);
        for path in ["", "/", "state", "a/state", ".vscode", "cargo"] {
            assert!(below(path).is_empty(), "{path:?}");
        }
        for (path, _) in PROTECTED_PATHS {
            for (at, _) in path.match_indices('/') {
                let mut rests = below(&path[..at]).into_iter().map(|(_, rest)| rest);
                assert!(rests.any(|rest| rest == &path[at + 1..]), "{path}");
            }
        }
    }

    #[test]
    fn a_path_in_a_protected_folder_is_protected_but_no_entry_of_its_own() {
        assert!(is_protected("a/.vscode/tasks.json"));
        assert!(is_protected_entry("a/.vscode"));
        assert!(!is_protected_entry("a/.vscode/tasks.json"));
    }
}
