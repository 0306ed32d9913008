//! Shell commands, judged by their words where those are certain.

use telechir_protocol::{Chord, ShellAction};

use crate::rule::{Fit, Matcher, RuleReason, Sense};
use crate::safe_list::{counts_into_variable, is_safe};
use crate::{SimpleCommand, Verdict};

/// One command of a line, or a line that could not be read.
#[derive(Debug)]
pub(crate) struct Part<'a> {
    /// Its words; none when nobody can tell.
    pub(crate) command: Option<&'a SimpleCommand>,
    /// Why nobody can tell.
    pub(crate) unknown: &'a str,
    pub(crate) is_sandboxed: bool,
    /// Whether words may mean something else by now.
    pub(crate) is_tainted: bool,
}

/// What a `[[shell]]` rule looks at; an absent member fits everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShellMatch {
    /// The first words, each one of several.
    pub(crate) words: Option<Vec<Vec<String>>>,
    /// Only in the sandbox, or only on the host.
    pub(crate) is_sandboxed: Option<bool>,
    /// Whether a command that writes files by redirection fits a rule that lets it run.
    pub(crate) redirection: bool,
}

impl Matcher for ShellMatch {
    type Subject<'a> = Part<'a>;

    fn fit(&self, part: &Part<'_>, sense: Sense) -> Fit {
        if self
            .is_sandboxed
            .is_some_and(|wanted| wanted != part.is_sandboxed)
        {
            return Fit::No;
        }
        let Some(words) = &self.words else {
            return Fit::Yes;
        };
        let Some(command) = part.command else {
            return Fit::Unclear;
        };
        let begins = words.len() <= command.words.len()
            && words
                .iter()
                .zip(&command.words)
                .all(|(one_of, word)| one_of.contains(word));
        match sense {
            Sense::Perhaps if begins => Fit::Yes,
            // A path to the program is the program.
            Sense::Perhaps if self.names_by_path(command) => Fit::Yes,
            Sense::Perhaps if part.is_tainted => Fit::Unclear,
            Sense::Surely if part.is_tainted => Fit::No,
            Sense::Surely if !self.redirection && writes(command) => Fit::No,
            Sense::Surely if begins => Fit::Yes,
            Sense::Surely | Sense::Perhaps => Fit::No,
        }
    }
}

impl ShellMatch {
    fn names_by_path(&self, command: &SimpleCommand) -> bool {
        let Some((first, rest)) = self.words.as_deref().and_then(<[_]>::split_first) else {
            return false;
        };
        let Some((program, args)) = command.words.split_first() else {
            return false;
        };
        let Some((_, name)) = program.rsplit_once('/') else {
            return false;
        };
        first.iter().any(|wanted| wanted == name)
            && rest.len() <= args.len()
            && rest
                .iter()
                .zip(args)
                .all(|(one_of, word)| one_of.contains(word))
    }
}

fn writes(command: &SimpleCommand) -> bool {
    command
        .redirections
        .iter()
        .any(|redirection| redirection.writes)
}

/// Whether input can do nothing but end what runs.
pub(crate) fn only_ends(input: &ShellAction) -> bool {
    match input {
        ShellAction::Interrupt | ShellAction::CloseInput => true,
        ShellAction::SendKey(key) => Chord::parse(key).is_some_and(|chord| {
            matches!(chord.canonical().to_string().as_str(), "ctrl+c" | "ctrl+d")
        }),
        ShellAction::SendText(_)
        | ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::Start
        | ShellAction::List
        | ShellAction::Read(_)
        | ShellAction::Stop(_)
        | ShellAction::Other(_) => false,
    }
}

/// What holds where no rule applies.
pub(crate) fn default(part: &Part<'_>) -> RuleReason {
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "shell", reason);
    if !part.is_sandboxed {
        return built_in(Verdict::Ask, "The shell is the host's own.".to_owned());
    }
    let Some(command) = part.command else {
        let reason = format!("What it runs cannot be told beforehand: {}.", part.unknown);
        return built_in(Verdict::Ask, reason);
    };
    let name = command.words.first().map_or("", String::as_str);
    if !command.redirections.is_empty() {
        return built_in(
            Verdict::Ask,
            format!("{name} reads or writes files by redirection."),
        );
    }
    if !is_safe(&command.words) {
        return built_in(
            Verdict::Ask,
            format!("{name} with these words is not on the list of commands that only look."),
        );
    }
    if part.is_tainted {
        return built_in(
            Verdict::Ask,
            format!(
                "An earlier command may have changed what {name} means; a restart of the shell forgets that."
            ),
        );
    }
    built_in(Verdict::Sandbox, format!("{name} only looks."))
}

/// Whether a command may change what later words mean in the same shell.
pub(crate) fn taints(command: &SimpleCommand) -> bool {
    const CHANGE: [&str; 27] = [
        ".",
        "alias",
        "bind",
        "builtin",
        "command",
        "compgen",
        "declare",
        "enable",
        "eval",
        "exec",
        "export",
        "hash",
        "let",
        "local",
        "mapfile",
        "read",
        "readarray",
        "readonly",
        "set",
        "shopt",
        "source",
        "test",
        "trap",
        "typeset",
        "unalias",
        "unset",
        "wait",
    ];
    let name = command.words.first().map_or("", String::as_str);
    // `printf -v`, `printf %n`, `read`, `test -v a[$(x)]` write variables or run substitutions.
    let writes_variable = || {
        let mut words = command.words.iter().skip(1);
        let writes = |word: &String| word.starts_with("-v") || counts_into_variable(word);
        name == "printf" && words.any(writes)
    };
    CHANGE.contains(&name)
        || writes_variable()
        || matches!(
            name,
            "getopts" | "[" | "coproc" | "fc" | "history" | "complete"
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &[&str], command: &str, sense: Sense, is_tainted: bool) -> Fit {
        let rule = ShellMatch {
            words: Some(rule.iter().map(|word| vec![(*word).to_owned()]).collect()),
            ..ShellMatch::default()
        };
        let words = command.split(' ').map(str::to_owned).collect();
        let command = SimpleCommand {
            words,
            redirections: Vec::new(),
        };
        let part = Part {
            command: Some(&command),
            unknown: "",
            is_sandboxed: true,
            is_tainted,
        };
        rule.fit(&part, sense)
    }

    #[test]
    fn words_are_a_beginning() {
        assert_eq!(
            check(&["git", "status"], "git status -s", Sense::Surely, false),
            Fit::Yes
        );
        assert_eq!(
            check(&["git", "status"], "git", Sense::Surely, false),
            Fit::No
        );
        assert_eq!(check(&["git"], "gitk", Sense::Surely, false), Fit::No);
    }

    #[test]
    fn a_path_is_stopped_and_not_let_through() {
        assert_eq!(
            check(&["curl"], "/usr/bin/curl x", Sense::Perhaps, false),
            Fit::Yes
        );
        assert_eq!(
            check(&["curl"], "/tmp/curl x", Sense::Surely, false),
            Fit::No
        );
    }

    #[test]
    fn a_tainted_shell_suspends_what_lets_through() {
        assert_eq!(check(&["ls"], "ls", Sense::Surely, true), Fit::No);
        assert_eq!(check(&["curl"], "ls", Sense::Perhaps, true), Fit::Unclear);
    }
}
