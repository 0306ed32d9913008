//! Which commands may change what later words mean to the same shell.

use crate::SimpleCommand;
use crate::safe_list::counts_into_variable;

/// Builtins of bash that leave the meaning of later words alone, whatever their arguments are.
const NEUTRAL: [&str; 25] = [
    ":", "bg", "break", "caller", "cd", "continue", "dirs", "disown", "echo", "exit", "false",
    "fg", "help", "kill", "logout", "popd", "pushd", "pwd", "return", "shift", "suspend", "times",
    "true", "ulimit", "umask",
];

/// All other builtins of bash: they write variables, define names, load code, or run a command in
/// the shell itself. `jobs`, `printf`, `test`, `[` and `type` do so with some arguments only.
const CHANGING: [&str; 31] = [
    ".",
    "alias",
    "bind",
    "builtin",
    "command",
    "compgen",
    "complete",
    "compopt",
    "coproc",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "getopts",
    "hash",
    "history",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "unalias",
    "wait",
];

/// Whether a command may change the meaning of later words in the same shell.
pub(crate) fn taints(command: &SimpleCommand) -> bool {
    let Some((name, words)) = command.words.split_first() else {
        return true;
    };
    match name.as_str() {
        // `jobs -x` runs the rest as a command of this shell, also joined: `jobs -lx`.
        "jobs" => words.iter().any(|word| has_letter(word, 'x')),
        "printf" | "test" | "[" => uses_variable(name, words.iter()),
        "type" => false,
        "unset" => true,
        name => CHANGING.contains(&name) && !NEUTRAL.contains(&name),
    }
}

/// Whether a builtin that prints or tests reads or writes the variable that one of these words
/// names: bash runs the commands in a subscript, also in a quoted one, as in
/// `test -v 'a[$(make)]'`.
pub(crate) fn uses_variable<'a>(
    builtin: &str,
    mut words: impl Iterator<Item = &'a String>,
) -> bool {
    match builtin {
        "printf" => words.any(|word| word.starts_with("-v") || counts_into_variable(word)),
        "test" | "[" => words.any(|word| word == "-v" || word == "-R"),
        _ => false,
    }
}

/// Whether a word is an option, or several joined ones, with this letter.
fn has_letter(word: &str, letter: char) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| letters.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tainting(line: &str) -> bool {
        taints(&SimpleCommand {
            words: line.split(' ').map(str::to_owned).collect(),
            redirections: Vec::new(),
        })
    }

    #[test]
    fn every_builtin_of_bash_is_classified() {
        #[expect(clippy::disallowed_methods, reason = "bash is the reference")]
        let listed = std::process::Command::new("/bin/bash")
            .args(["--norc", "-c", "compgen -b"])
            .output()
            .unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        let special = ["[", "jobs", "printf", "test", "type", "unset"];
        let missing: Vec<&str> = listed
            .lines()
            .filter(|name| {
                !NEUTRAL.contains(name) && !CHANGING.contains(name) && !special.contains(name)
            })
            .collect();
        assert!(missing.is_empty(), "{missing:?}");
        assert!(listed.lines().count() > 50, "{listed}");
    }

    #[test]
    fn some_builtins_change_the_shell_with_some_arguments_only() {
        for line in [
            "jobs -x eval x",
            "jobs -lx eval x",
            "printf -v PATH x",
            "printf -vPATH x",
            "printf a%n PATH",
            "test -v a[$(x)]",
            "[ ! -v a[$(x)] ]",
            "test -R a",
            "compgen -C x",
            "complete -C x ls",
            "mapfile -C x a",
            "history -s x",
            "history -r f",
            "fc -s",
            "compopt -o nospace ls",
            "unset PATH",
        ] {
            assert!(tainting(line), "{line}");
        }
        for line in [
            "jobs",
            "jobs -l",
            "printf %s x",
            "test -e a -a x -nt y",
            "[ -n -v1 ]",
            "type -a ls",
            "cd x",
            "make -x",
        ] {
            assert!(!tainting(line), "{line}");
        }
    }
}
