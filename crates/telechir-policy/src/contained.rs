//! What a call contains, as far as its text shows: a denial that the user gave for all sessions
//! holds for every call with the denied part in it.
//!
//! Reads too much rather than too little: a command in a here document or behind a condition that
//! never holds counts, too. What only running would show (variables, patterns, other interpreters)
//! is not found, and the user is asked about it.

mod braces;
mod reader;
mod runners;
mod script;

use telechir_protocol::{Action, Command, ShellAction};

use crate::shape::{Shaped as _, part_of};
use crate::{ApprovalShape, EditProposal, ScreenProposal, ShellProposal, ShellTask};
use script::ScriptCommand;

/// The parts of a call, of which one may have been denied.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainedParts {
    /// Parts of the form that an [`ApprovalShape`] has them in.
    parts: Vec<String>,
    commands: Vec<ScriptCommand>,
}

impl ContainedParts {
    /// Whether all parts of the shape are among these.
    pub fn contain(&self, denied: &ApprovalShape) -> bool {
        !denied.parts.is_empty() && denied.parts.iter().all(|part| self.contains(part))
    }

    fn contains(&self, part: &str) -> bool {
        if self.parts.iter().any(|own| own == part) {
            return true;
        }
        let denied = script::words_of(part);
        denied.is_some_and(|words| self.commands.iter().any(|own| own.runs(&words)))
    }

    /// What a script contains.
    pub(crate) fn of_script(text: &str) -> Self {
        Self {
            parts: Vec::new(),
            commands: script::commands_of(text),
        }
    }
}

/// A proposal whose parts can be denied for later calls.
pub(crate) trait Parted {
    fn contained(&self) -> ContainedParts;
}

impl Parted for ScreenProposal {
    fn contained(&self) -> ContainedParts {
        let part = |action: &Action| part_of(action, self);
        ContainedParts {
            parts: self.actions.iter().filter_map(part).collect(),
            commands: Vec::new(),
        }
    }
}

impl Parted for ShellProposal {
    fn contained(&self) -> ContainedParts {
        match &self.task {
            ShellTask::Run(commands) | ShellTask::Start(commands) => {
                let lines: Vec<String> = commands.iter().map(Command::to_line).collect();
                ContainedParts {
                    parts: self.parts(),
                    ..ContainedParts::of_script(&lines.join("\n"))
                }
            }
            ShellTask::Send {
                input: ShellAction::SendText(text),
                is_hidden: false,
                ..
            } => ContainedParts::of_script(text),
            ShellTask::Send { .. }
            | ShellTask::Restart
            | ShellTask::ReadJobs(_)
            | ShellTask::Stop(_) => ContainedParts::default(),
        }
    }
}

/// Each edit has its own text, so none contains another.
impl Parted for EditProposal {
    fn contained(&self) -> ContainedParts {
        ContainedParts::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contains(line: &str, denied: &str) -> bool {
        let denied = ApprovalShape {
            parts: vec![denied.to_owned()],
            reasons: Vec::new(),
        };
        ContainedParts::of_script(line).contain(&denied)
    }

    #[test]
    fn a_command_is_found_wherever_a_line_runs_it() {
        for line in [
            "rm a",
            "make; rm a",
            "make && rm 'a' || true",
            "ls | rm \"a\"",
            "rm a &",
            "(cd x; rm a)",
            "{ rm a; }",
            "if true; then rm a; fi",
            "for i in 1 2; do rm a; done",
            "while ! rm a; do :; done",
            "case $x in y) rm a;; esac",
            "f() { rm a; }; f",
            "function f { rm a; }",
            "echo $(rm a)",
            "echo \"now $(rm \"a\")\"",
            "echo `rm a`",
            "x=$(rm a) make",
            "X=1 rm a >log 2>&1 <in",
            "rm >log a",
            "diff <(rm a) b",
            "echo ${x:-$(rm a)}",
            "sh -c 'rm a'",
            "/bin/bash -lc \"cd x && rm a\"",
            "sudo -u me rm a",
            "env -i X=1 nohup rm a",
            "timeout 5 sh -c 'rm a'",
            "find . -name b -exec rm a \\;",
            "echo x | xargs rm a",
            "eval rm a",
            "bash <<'EOF'\nrm a\nEOF",
            "bash <<< 'rm a'",
            "trap 'rm a' EXIT",
            "alias x='rm a'",
            "$SHELL -c 'rm a'",
            "/bin/rm a",
            "r\\m a",
            "make # first\nrm a",
            "rm \\\na",
            "ssh host 'cd /; rm a'",
            "time -p rm a",
            "[[ -e a ]] && rm a",
            "((1)); rm a",
            "$'rm' a",
            "$'\\x72\\155' $'\\u0061'",
            "$\"rm\" a",
            "cat <<EOF\nit's\nEOF\nrm a",
            "cat <<EOF\nit's $(rm a)\nEOF",
            "cat <<-'E F'\n\t\"\n\tE F\nrm a",
            "cat <<A <<B\n'\nA\n$(rm a)\nB\n",
            "cat <<A\\\nB\n'\nAB\nrm a",
            "cat <<A\n'\\\nA\nA\nrm a",
            "echo $(case x in x) rm a;; esac)",
            "echo \"$(case x in (y|z) :;; x) ls;; esac; rm a)\"",
            "echo \"$(case x in esac)\"; rm a",
            "echo \"$(X=1 case)\"; rm a; echo \"\"",
            "time -p case x in x) rm a;; esac",
            "coproc N case x in x) rm a;; esac",
            "case case in case) rm a;; esac",
            "echo \"${x:-'$(rm a)'}\"",
            "echo \"${x:-it's}\"; rm a",
            "echo \"${!x:-it's}\"; rm a",
            "echo [; rm a",
            "echo \"`rm \\\"a\\\"`\"",
            "cat <<$A; ls\nit's\n$A\nrm a",
            "rm a>out",
            "rm a<in",
            "if x; then case x in x) ls; esac else rm a; fi",
            "cat <<$A; ls\nx\n$A\nrm a",
            "echo ${x:-'}'$(rm a)}",
            "echo \"${x:-'$(rm a)'}\"",
            "echo \"${x#'\"'}$(rm a)\"",
            "echo ${x:-<(rm a)}",
            "echo ${ rm a; }",
            "x[0]=1 rm a",
            "x[0 + 1]+=1 rm a",
            "x=(1 2) rm a",
            "X=\"1 2\" Y='3' rm a",
            "{fd}>file rm a",
            ">- rm a",
            "<<<x rm a",
            "for i do rm a; done",
            "for i in 1; do rm a; done",
            "for((i=0;i<1;i++)) do rm a; done",
            "select i do rm a; done",
            "function f while rm a; do break; done",
            "((x=2 #1)); rm a",
            "if(( '(' #)); then rm a; fi",
            "echo $[2 #1]; rm a",
            "echo $((1 #)); rm a",
            "echo $((rm a); ls)",
            "((ls # )\n); rm a)",
            "echo `echo \\'; rm a; echo \\'`",
            "echo \"`echo \\\"x'\\\"`\"; rm a",
            "echo $$'\\'; rm a; echo '",
            "echo '[rm]'; rm a",
            "env -S 'rm a'",
            "env -vS'rm a'",
            "env '-Srm\\_a'",
            "env --split-string='rm a'",
            "setarch x86_64 rm a",
            "choom -n 5 -- rm a",
            "/lib64/ld-linux-x86-64.so.2 /bin/rm a",
            "mapfile -C 'rm a;' -c 1 x",
            "git -c alias.x='!rm a' x",
            "git bisect run rm\\ a",
            "git rebase -x 'rm a'",
            "tar --checkpoint-action=exec='rm a' -cf x y",
            "vim '+!rm a' x",
            "rsync -e'rm a' x y",
            "PROMPT_COMMAND='rm a'",
            "x='rm a'; $x",
            "echo rm a | sh",
            "printf 'ls\\nrm a\\n' | bash -s",
            "sh < <(echo 'rm a')",
            "echo a#b; rm a",
            "rm &>log a",
            "rm &>>log a",
            "case x in x) ls; rm a;; esac",
            "{rm,a}",
            "é{rm,x}; {rm,a}",
            "echo \"$'\"; rm a; echo \"'\"",
            "echo \"\\\"\"; rm a; echo \"\"",
            "echo ${ rm a }",
            "echo ${| rm a; }",
            "echo $[x[1] #]; rm a",
            "echo ${x:-\\\"}; rm a",
            "echo \"${x:-${y:-'}}\"; rm a; echo \"'\"",
            "echo `echo \\\"; rm a; echo \\\"`",
            "cat <<\"$A\"\nit's\n$A\nrm a",
            "echo $((rm a",
            "((rm a); ls)",
            "echo \"$( ((ls); ls); rm a )\"",
            "echo ((rm a))",
            "{fd}>file ! rm a",
            "coproc N while rm a; do :; done",
            "echo \"${!-'}\"; rm a; echo \"'\"",
            "echo \"${x[0]:-'}\"; rm a; echo \"'\"",
            "echo ${ rm a}",
            "echo ${x:-\"}\"}; rm a",
            "echo ${x:-`rm a`}",
            "echo \"${x:-$'}\"; rm a; echo \"'\"",
            "ls x[; rm a",
            ">x[; rm a",
            "'x'[; rm a",
            "rm >|log a",
            "cat <<'A'\n'\\\nA\nrm a",
            "cat <<A\nx\\\nA\n'\nA\nrm a",
        ] {
            assert!(contains(line, "rm a"), "{line}");
        }
    }

    #[test]
    fn other_commands_and_mere_words_are_not_found() {
        for line in [
            "rm b",
            "rm a b",
            "rm -f a",
            "git rm a",
            "echo 'rm a'",
            "echo rm a",
            "grep 'rm a' file",
            "ls # rm a",
            "rm",
            "a=rm b",
            "",
            "'rm a'",
            "rm $a",
            "git commit -m 'rm a'",
            "git log --grep 'rm a'",
            "x[0] rm a",
            "X='1' echo rm a",
            "case x in rm a) ls;; esac",
            "echo if rm a",
            "ls # b; rm a",
            "git -c x=y commit -m 'rm a'",
            "a.b=c rm a",
            "# rm a; rm a",
            "rm a <(ls)",
            "echo ${x:-<;rm a;}",
            "\"\" rm a",
            "\"if\" rm a",
            "echo $((1)) rm a",
            "esac rm a",
            "x\"=\"1 rm a",
            "git --no-pager commit -m 'rm a'",
            "git -C x commit -m 'rm a'",
            "x.so rm a",
            "ld-x rm a",
            "-- rm a",
            "echo x do rm a",
        ] {
            assert!(!contains(line, "rm a"), "{line}");
        }
    }

    #[test]
    fn a_script_of_one_word_is_a_command() {
        for line in [
            "bash -c make x",
            "su -lc make me",
            "trap make EXIT",
            "trap -- make EXIT",
            "alias x=make",
            "eval make",
            "PAGER=make git log",
            "make",
        ] {
            assert!(contains(line, "make"), "{line}");
        }
        for line in ["cc -c make x", "find . -name make -print", "x=make"] {
            assert!(!contains(line, "make"), "{line}");
        }
    }

    #[test]
    fn a_denied_part_is_read_as_it_is_shown() {
        assert!(contains("ls; make 'a b'", "make 'a b'"));
        assert!(contains("make \"it's\"", "make 'it'\\''s'"));
        assert!(contains("./x y", "/w/x y"));
        assert!(!contains("rm a", ""));
        assert!(!contains("rm a; ls", "rm a; ls"));
        assert!(contains("ls; sh -c 'rm a'", "sh -c 'rm a'"));
        // As it was shown, hidden characters are escaped.
        assert!(contains("ls; rm $'\\a'", "rm '\\u{7}'"));
        assert!(contains("ls; rm $'\\cA'", "rm '\\u{1}'"));
        assert!(contains("rm $'\\u0061bc'", "rm abc"));
    }

    #[test]
    fn no_depth_hides_a_command() {
        for depth in [17, 500, 5_000] {
            let deep = format!(
                "{}rm a{}; rm b",
                "echo \"$(".repeat(depth),
                ")\"".repeat(depth)
            );
            assert!(
                contains(&deep, "rm a") && contains(&deep, "rm b"),
                "{depth}"
            );
            let documents = format!("{}rm a\n", "sh <<A\n".repeat(depth.min(500)));
            assert!(contains(&documents, "rm a"), "{depth}");
        }
        // Each `((` that is no arithmetic is read twice.
        for open in ["((", "echo $((", "echo \"$(("] {
            let close = if open.contains('"') { " ) )\"" } else { " ) )" };
            let groups = format!("{}rm a{}", open.repeat(30), close.repeat(30));
            assert!(contains(&groups, "rm a"), "{open}");
        }
    }

    #[test]
    fn no_text_takes_long_or_panics() {
        for part in [
            "((",
            "$((",
            "<<A\n",
            "<<A <<B\n'",
            "case x in x) ",
            "x[",
            "sh -c -c'",
            "eval \\\\ ",
            "$'",
            "$(",
            "`",
            "\"$(",
            "(",
            "{ ",
            "'",
            "<<",
            "\\",
            "sh -c '",
            "${",
            "é",
        ] {
            let deep = part.repeat(20_000);
            assert!(!contains(&deep, "rm a"), "{part}");
        }
        let long = format!("sudo {}", "x ".repeat(200_000));
        assert!(contains(&format!("{long} rm a"), "rm a"));
    }
}
