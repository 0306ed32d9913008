//! Judges shell commands by their words, if those are certain.

use telechir_protocol::{Chord, ShellAction};

use crate::rule::{MatchCertainty, Matcher, Polarity, RuleReason};
use crate::safe_list::is_safe;
use crate::shell_change::uses_variable;
use crate::shell_options::{begins_with_options_between, has_any, has_only};
use crate::{ShellReach, SimpleCommand, Verdict};

/// One command of a line, or a line that is uncertain.
#[derive(Debug)]
pub(crate) struct ShellSubject<'a> {
    /// The command; none if it is uncertain.
    pub(crate) command: Option<&'a SimpleCommand>,
    /// Why it is uncertain.
    pub(crate) unknown: &'a str,
    pub(crate) is_sandboxed: bool,
    /// Whether the meaning of words may have changed.
    pub(crate) is_tainted: bool,
    pub(crate) reach: ShellReach,
}

/// The conditions of a `[[shell]]` rule; an absent one matches everything.
#[derive(Clone, Debug, Default)]
pub(crate) struct ShellMatch {
    /// The first words, each with its alternatives.
    pub(crate) words: Option<Vec<Vec<String>>>,
    /// To permit: the only options after these words. To restrict: options of which one is there.
    pub(crate) options: Option<Vec<String>>,
    /// Only in the sandbox, or only on the host.
    pub(crate) is_sandboxed: Option<bool>,
    /// Whether a permissive rule matches a command that writes files by redirection.
    pub(crate) redirection: bool,
}

impl Matcher for ShellMatch {
    type Subject<'a> = ShellSubject<'a>;

    fn fit(&self, part: &ShellSubject<'_>, sense: Polarity) -> MatchCertainty {
        if self
            .is_sandboxed
            .is_some_and(|wanted| wanted != part.is_sandboxed)
        {
            return MatchCertainty::No;
        }
        if self.words.is_none() && self.options.is_none() {
            return MatchCertainty::Yes;
        }
        let Some(command) = part.command else {
            return MatchCertainty::Unclear;
        };
        match sense {
            Polarity::Permits if part.is_tainted => MatchCertainty::No,
            Polarity::Permits if !self.redirection && writes(command) => MatchCertainty::No,
            Polarity::Permits if self.permits(command) => MatchCertainty::Yes,
            Polarity::Permits => MatchCertainty::No,
            Polarity::Restricts => match self.restricts(command) {
                MatchCertainty::No if part.is_tainted => MatchCertainty::Unclear,
                certainty
                @ (MatchCertainty::No | MatchCertainty::Unclear | MatchCertainty::Yes) => certainty,
            },
        }
    }

    fn doubt(&self, part: &ShellSubject<'_>) -> String {
        let Some(command) = part.command else {
            return undetermined(part.unknown);
        };
        let name = command.words.first().map_or("", String::as_str);
        if self.restricts(command) == MatchCertainty::No {
            return changed_meaning(name);
        }
        format!("{name} with these words may do something else than they tell.")
    }
}

impl ShellMatch {
    /// Whether a command begins with these words and has only these options. Words by which a
    /// builtin evaluates others count only if the rule has them.
    fn permits(&self, command: &SimpleCommand) -> bool {
        let words = self.words.as_deref().unwrap_or_default();
        let begins = words.len() <= command.words.len()
            && words
                .iter()
                .zip(&command.words)
                .all(|(one_of, word)| one_of.contains(word));
        let rest = command.words.get(words.len()..).unwrap_or_default();
        let options = self.options.as_ref();
        let is_listed = |word: &&String| options.is_some_and(|listed| listed.contains(word));
        let program = command.words.first().map_or("", String::as_str);
        begins
            && options.is_none_or(|listed| has_only(listed, rest))
            && !uses_variable(program, rest.iter().filter(|word| !is_listed(word)))
    }

    /// Whether a command begins with these words and has one of these options. The path of a
    /// program means the program.
    fn restricts(&self, command: &SimpleCommand) -> MatchCertainty {
        let Some((program, rest)) = command.words.split_first() else {
            return MatchCertainty::Unclear;
        };
        let begins = match self.words.as_deref().and_then(<[_]>::split_first) {
            None => MatchCertainty::Yes,
            Some((first, wanted)) => {
                let name = program.rsplit('/').next().unwrap_or(program);
                let is_program = |wanted: &String| wanted == program || wanted == name;
                if !first.iter().any(is_program) {
                    if starts_programs(name) && rest.iter().any(|word| mentions(word, first)) {
                        return MatchCertainty::Unclear;
                    }
                    MatchCertainty::No
                } else if wanted.len() <= rest.len()
                    && wanted
                        .iter()
                        .zip(rest)
                        .all(|(one_of, word)| one_of.contains(word))
                {
                    MatchCertainty::Yes
                } else if begins_with_options_between(wanted, rest) {
                    MatchCertainty::Unclear
                } else {
                    MatchCertainty::No
                }
            }
        };
        let options = self
            .options
            .as_ref()
            .filter(|listed| !listed.is_empty())
            .map_or(MatchCertainty::Yes, |listed| has_any(listed, rest));
        begins.and(options)
    }
}

/// Builtins and programs that start the programs which their words or options name. There are more;
/// names of commands are no boundary.
const STARTERS: [&str; 49] = [
    ".", "awk", "bash", "builtin", "busybox", "chroot", "chrt", "command", "coproc", "dash",
    "doas", "env", "eval", "exec", "find", "fish", "flock", "gawk", "gdb", "ionice", "ksh", "make",
    "mawk", "nice", "node", "nohup", "nsenter", "parallel", "perl", "php", "prlimit", "ruby",
    "runuser", "script", "setarch", "setpriv", "setsid", "sh", "source", "stdbuf", "strace", "su",
    "sudo", "taskset", "time", "timeout", "unshare", "watch", "xargs",
];

fn starts_programs(name: &str) -> bool {
    STARTERS.contains(&name) || name.starts_with("python")
}

/// Whether a word contains one of these names between characters that names do not have.
fn mentions(word: &str, names: &[String]) -> bool {
    let is_separator = |c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '+'));
    let mut parts = word.split(is_separator);
    parts.any(|part| names.iter().any(|name| name == part))
}

fn writes(command: &SimpleCommand) -> bool {
    command
        .redirections
        .iter()
        .any(|redirection| redirection.writes)
}

/// Whether input can only end a program.
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

fn undetermined(unknown: &str) -> String {
    format!("Its effect cannot be determined in advance: {unknown}.")
}

fn changed_meaning(name: &str) -> String {
    format!(
        "An earlier command may have changed the meaning of {name}; restarting the shell resets that."
    )
}

/// The verdict if no rule matches.
pub(crate) fn default(part: &ShellSubject<'_>) -> RuleReason {
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "shell", reason);
    if !part.is_sandboxed {
        return built_in(Verdict::Ask, "The shell runs on the host.".to_owned());
    }
    if part.reach == ShellReach::Nothing {
        let reason = "The sandbox reaches no network and no folder but its own.";
        return built_in(Verdict::Sandbox, reason.to_owned());
    }
    let Some(command) = part.command else {
        return built_in(Verdict::Ask, undetermined(part.unknown));
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
            format!("{name} with these words is not on the list of read-only commands."),
        );
    }
    if part.is_tainted {
        return built_in(Verdict::Ask, changed_meaning(name));
    }
    built_in(Verdict::Sandbox, format!("{name} only reads."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &[&str], command: &str, sense: Polarity, is_tainted: bool) -> MatchCertainty {
        let rule = ShellMatch {
            words: Some(rule.iter().map(|word| vec![(*word).to_owned()]).collect()),
            ..ShellMatch::default()
        };
        let words = command.split(' ').map(str::to_owned).collect();
        let command = SimpleCommand {
            words,
            redirections: Vec::new(),
        };
        let part = ShellSubject {
            command: Some(&command),
            unknown: "",
            is_sandboxed: true,
            is_tainted,
            reach: ShellReach::Something,
        };
        rule.fit(&part, sense)
    }

    #[test]
    fn words_match_a_prefix() {
        assert_eq!(
            check(
                &["git", "status"],
                "git status -s",
                Polarity::Permits,
                false
            ),
            MatchCertainty::Yes
        );
        assert_eq!(
            check(&["git", "status"], "git", Polarity::Permits, false),
            MatchCertainty::No
        );
        assert_eq!(
            check(&["git"], "gitk", Polarity::Permits, false),
            MatchCertainty::No
        );
    }

    #[test]
    fn a_program_path_matches_restrictive_rules_only() {
        assert_eq!(
            check(&["curl"], "/usr/bin/curl x", Polarity::Restricts, false),
            MatchCertainty::Yes
        );
        assert_eq!(
            check(&["curl"], "/tmp/curl x", Polarity::Permits, false),
            MatchCertainty::No
        );
    }

    #[test]
    fn a_program_that_starts_others_may_match_restrictive_rules() {
        for command in [
            "env git push",
            "/usr/bin/timeout 5 git push",
            "eval git push",
            "python3 -c os.system('git')",
            "sh -c /usr/bin/git;true",
        ] {
            let found = check(&["git", "push"], command, Polarity::Restricts, false);
            assert_eq!(found, MatchCertainty::Unclear, "{command}");
        }
        for command in ["env gitk", "echo git push", "python3 digit.py"] {
            let found = check(&["git", "push"], command, Polarity::Restricts, false);
            assert_eq!(found, MatchCertainty::No, "{command}");
        }
    }

    #[test]
    fn a_builtin_that_evaluates_its_words_needs_a_rule_that_names_them() {
        let check = |rule: &[&str], options: Option<&[&str]>, command: &str| {
            let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
            let rule = ShellMatch {
                words: Some(rule.iter().map(|word| vec![(*word).to_owned()]).collect()),
                options: options.map(owned),
                ..ShellMatch::default()
            };
            rule.permits(&SimpleCommand {
                words: command.split(' ').map(str::to_owned).collect(),
                redirections: Vec::new(),
            })
        };
        for (rule, options, command) in [
            (&["printf"][..], None, "printf -v a x"),
            (&["printf"], None, "printf %n a"),
            (&["printf"], Some(&[][..]), "printf %n a"),
            (&["printf"], Some(&["-v"]), "printf -va x"),
            (&["test"], None, "test -v a"),
            (&["["], None, "[ ! -v a ]"),
        ] {
            assert!(!check(rule, options, command), "{rule:?}: {command}");
        }
        for (rule, options, command) in [
            (&["printf"][..], None, "printf %s -x"),
            (&["printf"], Some(&["-v"][..]), "printf -v a x"),
            (&["printf", "-v"], None, "printf -v a x"),
            (&["test"], None, "test -e v"),
            (&["make"], None, "make -v %n"),
        ] {
            assert!(check(rule, options, command), "{rule:?}: {command}");
        }
    }

    #[test]
    fn a_tainted_shell_suspends_permissive_rules() {
        assert_eq!(
            check(&["ls"], "ls", Polarity::Permits, true),
            MatchCertainty::No
        );
        assert_eq!(
            check(&["curl"], "ls", Polarity::Restricts, true),
            MatchCertainty::Unclear
        );
    }
}
