//! Shell commands: the attack cases, and what runs without approval.

use std::time::{Duration, Instant};

use serde_json::{Map, json};
use telechir_policy::{
    CommandReading, Judge, Judgement, Policy, ShellFacts, ShellProposal, ShellReach, ShellTask,
    Verdict, read_command,
};
use telechir_protocol::{Command, ShellAction};

pub(crate) const SANDBOX: ShellFacts = ShellFacts {
    is_sandboxed: true,
    is_tainted: false,
    reach: ShellReach::Something,
    is_untrusted: false,
    now: Duration::ZERO,
};

pub(crate) fn proposal(commands: &[&str]) -> ShellProposal {
    let commands = commands
        .iter()
        .map(|line| Command::Line((*line).to_owned()))
        .collect();
    let (task, env) = (ShellTask::Run(commands), Map::new());
    ShellProposal {
        call_id: "call_1".into(),
        task,
        cwd: None,
        env,
    }
}

pub(crate) fn verdict<P>(judgement: &Judgement<P>) -> Verdict {
    match judgement {
        Judgement::Allowed(_) => Verdict::Allow,
        Judgement::Ask(_) => Verdict::Ask,
        Judgement::Denied(..) => Verdict::Deny,
    }
}

pub(crate) fn judge(policy: &Policy, commands: &[&str], facts: &ShellFacts) -> Verdict {
    verdict(&Judge::new(policy.clone()).shell(proposal(commands), facts))
}

#[track_caller]
fn check(wanted: Verdict, lines: &[&str]) {
    for line in lines {
        let found = judge(&Policy::default_policy(), &[line], &SANDBOX);
        assert_eq!(found, wanted, "{line:?}");
    }
}

#[test]
fn commands_that_only_look_run_unasked() {
    check(
        Verdict::Allow,
        &[
            "echo hi",
            "pwd",
            "ls -la /tmp",
            "cat a b",
            "head -n 5 f",
            "head -5 f",
            "tail -c10 f",
            "wc -l f",
            "grep -rn 'a b' .",
            "grep -A 3 -e x f",
            "true",
            "false || true",
            "! ls",
            "whoami",
            "date +%s",
            "date -u",
            "uname -a",
            "cd /tmp",
            "ls; pwd",
            "ls && cat f | wc -l",
            "echo 'a;b' \"c d\" e\\ f",
            "l\"s\" -a",
            "ls\npwd",
            "echo # nothing",
        ],
    );
}

#[test]
fn the_same_commands_with_more_power_need_approval() {
    check(
        Verdict::Ask,
        &[
            "tail -f f",
            "grep -f patterns f",
            "date -s now",
            "ls --hyperlink",
            "cat --number f",
            "uname extra",
            "cd a b",
            "wc --files0-from=f",
            "/bin/ls",
            "./ls",
            "head -n",
            "ls --c=never",
            "sort -o f f",
            "find . -delete",
            "git status",
            "printf -v x y",
        ],
    );
}

#[test]
fn attacks_on_the_parser_need_approval() {
    let (nbsp, line_separator) = ("ls\u{a0}-a", "ls\u{2028}pwn");
    check(
        Verdict::Ask,
        &[
            // Lines that end with a backslash.
            "tr\\\nuncate -s0 f",
            "find . -ex\\\nec pwn \\;",
            "pw\\\nn",
            "echo hi # c \\\npwn",
            // Braces, options of finders, escapes inside options.
            "find . {-exec,pwn} \\;",
            "echo {a,b}",
            "find . -e\\xec pwn \\;",
            "find . -delete",
            // Builtins that evaluate quoted text.
            "test -v 'a[$(pwn)]'",
            "[ -v 'a[$(pwn)]' ]",
            "printf -v 'a[$(pwn)]' x",
            "read 'a[$(pwn)]'",
            "[[ 'a[$(pwn)]' -eq 0 ]]",
            "let x=1",
            // Expansions.
            "x='$(pwn)'; echo ${x@P}",
            "echo $(pwn)",
            "echo `pwn`",
            "echo $HOME",
            "echo \"$x\"",
            "echo $'\\x70wn'",
            "cat <(pwn)",
            "echo ~root",
            "echo *",
            "echo [a]",
            "echo a?",
            "echo \"a$'b\"; pwn; '\"'",
            "echo $((1+1))",
            "echo !!",
            "echo \"!!\"",
            // Programs that run programs, or do more than expected.
            "git -c core.fsmonitor=pwn status",
            "sort -S 1b --compress-prog pwn big",
            "sed 1epwn f",
            "tar --checkpoint-action=exec=pwn",
            "xargs pwn",
            "env pwn",
            "nice pwn",
            "timeout 1 pwn",
            "nohup pwn",
            "time pwn",
            "coproc pwn",
            "command pwn",
            "builtin pwn",
            "exec pwn",
            "eval pwn",
            ". f",
            "source f",
            "trap pwn EXIT",
            "hash -p /x ls",
            "mapfile -C pwn",
            "enable -f x y",
            "bind -x a",
            "python3 -c x",
            "/lib64/ld-linux-x86-64.so.2 /bin/ls",
            // Syntax that the parser rejects, and here documents.
            "git log &&& rm",
            "echo $(case x in x) pwn;; esac)",
            "cat <<EOF\n$(pwn)\nEOF",
            "cat <<< x",
            // Variables, and changes of the shell.
            "PATH=/w/evil ls",
            "LD_PRELOAD=x ls",
            "BASH_ENV=x ls",
            "x=1",
            "alias ls=pwn",
            "ls(){ pwn;}",
            "export PATH=/w",
            "set -x",
            "PS4='$(pwn)'; set -x; ls",
            // A second command in every disguise.
            "ls;\npwn",
            "ls\npwn",
            "ls & pwn",
            "ls |& pwn",
            "ls | pwn",
            "(ls)",
            "{ ls; }",
            "if true; then ls; fi",
            "for x in a; do ls; done",
            // Characters that parsers treat differently.
            "ls\rpwn",
            nbsp,
            line_separator,
            "ls\x0bpwn",
            "ls\x0cpwn",
            "ls\x1b[2K",
            "ls \u{0}",
            // Redirections.
            "echo hi > W",
            "echo hi >| W",
            "echo hi &> W",
            "echo hi >& W",
            "echo hi <> W",
            "echo hi 3> W",
            "echo hi {fd}> W",
            "echo hi >> W",
            "cat < f",
            "cat 2>&1",
            "> W",
            "",
            "   ",
            "# only a comment",
        ],
    );
}

#[test]
fn a_backslash_at_a_lines_end_is_never_read() {
    for line in ["echo a\\\nb", "echo \"\\$\\\n(x)\"", "echo 'a\\\nb'"] {
        let reading = read_command(&Command::Line(line.to_owned()));
        let wanted = CommandReading::Unknown("one of its lines ends with a backslash".to_owned());
        assert_eq!(reading, wanted, "{line:?}");
    }
}

#[test]
fn a_deny_rule_holds_behind_any_number_of_commands() {
    let policy = Policy::from_toml(
        "[[shell]]\nwords = ['curl']\nverdict = 'deny'\nreason = 'No downloads.'",
        "p.toml",
    )
    .unwrap();
    for count in [50, 10_000] {
        let line = format!("{}curl http://x", "true && ".repeat(count));
        let start = Instant::now();
        assert_eq!(judge(&policy, &[&line], &SANDBOX), Verdict::Deny);
        assert!(
            start.elapsed() < Duration::from_secs(20),
            "took {:?}",
            start.elapsed()
        );
    }
    assert_eq!(
        judge(&policy, &["/usr/bin/curl x"], &SANDBOX),
        Verdict::Deny
    );
    assert_eq!(judge(&policy, &["ls", "c'ur'l x"], &SANDBOX), Verdict::Deny);
}

#[test]
fn a_deny_rule_makes_what_cannot_be_read_a_question() {
    let text = "
        [[shell]]
        verdict = 'sandbox'
        reason = 'Everything may run in the sandbox.'
        [[shell]]
        words = ['curl']
        verdict = 'deny'
        reason = 'No downloads.'
    ";
    let policy = Policy::from_toml(text, "p.toml").unwrap();
    assert_eq!(judge(&policy, &["make -j2"], &SANDBOX), Verdict::Allow);
    assert_eq!(judge(&policy, &["$(echo curl) x"], &SANDBOX), Verdict::Ask);
    assert_eq!(judge(&policy, &["curl x"], &SANDBOX), Verdict::Deny);
}

#[test]
fn too_large_or_too_deep_is_answered_at_once() {
    let start = Instant::now();
    check(Verdict::Deny, &[&"x".repeat(2 * 1024 * 1024)]);
    check(
        Verdict::Ask,
        &[
            &"echo $(".repeat(500),
            &"(".repeat(2000),
            &"x".repeat(1024 * 1024),
        ],
    );
    check(
        Verdict::Ask,
        &[&"if ".repeat(5000), &"! ".repeat(5000), &"{ ".repeat(5000)],
    );
    check(
        Verdict::Ask,
        &[
            &"while until ".repeat(5000),
            &"`".repeat(5000),
            &"f()".repeat(5000),
        ],
    );
    check(
        Verdict::Ask,
        &[
            &"time ".repeat(5000),
            &"a=1 ".repeat(5000),
            &"[[ ".repeat(5000),
        ],
    );
    // Neither a quote before it nor a # in a word hides anything from the checks.
    for quoted in ["echo 'a' ", "echo \"a\" ", "echo \\' ", "echo a#"] {
        check(Verdict::Ask, &[&format!("{quoted}{}", "$(".repeat(500))]);
    }
    assert!(
        start.elapsed() < Duration::from_secs(30),
        "took {:?}",
        start.elapsed()
    );
}

#[test]
fn input_to_a_running_program_needs_approval_unless_it_only_ends_it() {
    let input = |input: ShellAction| {
        let mut proposal = proposal(&[]);
        proposal.task = ShellTask::Send {
            input,
            job: None,
            is_hidden: false,
        };
        verdict(&Judge::new(Policy::default_policy()).shell(proposal, &SANDBOX))
    };
    let key = |key: &str| ShellAction::SendKey(key.to_owned());
    for ends in [
        ShellAction::Interrupt,
        ShellAction::CloseInput,
        key("ctrl+c"),
        key("Control+d"),
    ] {
        assert_eq!(input(ends.clone()), Verdict::Allow, "{ends:?}");
    }
    for acts in [
        ShellAction::SendText("y\n".to_owned()),
        ShellAction::SendText("\u{3}".to_owned()),
        key("Return"),
        key("ctrl+z"),
        key("ctrl+shift+c"),
        key("no key"),
    ] {
        assert_eq!(input(acts.clone()), Verdict::Ask, "{acts:?}");
    }
}

#[test]
fn a_changed_shell_suspends_what_runs_unasked() {
    let tainted = ShellFacts {
        is_tainted: true,
        ..SANDBOX
    };
    let policy = Policy::default_policy();
    assert_eq!(judge(&policy, &["ls"], &tainted), Verdict::Ask);
    for change in [
        "alias ls=pwn",
        "ls(){ pwn;}",
        "export PATH=/x",
        "hash -p /x ls",
        ". ./f",
        "$x",
        "printf 'x%n' PATH",
        "wait -p PATH",
    ] {
        let command = Command::Line(change.to_owned());
        assert_eq!(
            Judge::tainting(&command),
            telechir_policy::Tainting::Tainted,
            "{change}"
        );
    }
    let plain = Command::Line("make test".to_owned());
    assert_eq!(Judge::tainting(&plain), telechir_policy::Tainting::Clean);
    let all = "[[shell]]\nverdict = 'sandbox'\nreason = 'Whatever it means, the sandbox holds.'";
    let all = Policy::from_toml(all, "p.toml").unwrap();
    assert_eq!(
        judge(&all, &["ls", "alias ls=pwn", "ls"], &tainted),
        Verdict::Allow
    );
}

#[test]
fn a_rule_for_words_ends_where_the_same_call_changes_the_shell() {
    let text = "
        [[shell]]
        words = [['ls', 'alias']]
        verdict = 'sandbox'
        reason = 'Both are fine.'
    ";
    let policy = Policy::from_toml(text, "p.toml").unwrap();
    assert_eq!(
        judge(&policy, &["ls", "alias ls=pwn"], &SANDBOX),
        Verdict::Allow
    );
    assert_eq!(
        judge(&policy, &["alias ls=pwn", "ls"], &SANDBOX),
        Verdict::Ask
    );
    assert_eq!(
        judge(&policy, &["alias ls=pwn; ls"], &SANDBOX),
        Verdict::Ask
    );
}

#[test]
fn the_host_shell_requires_approval_even_for_reads() {
    let host = ShellFacts {
        is_sandboxed: false,
        ..SANDBOX
    };
    let policy = Policy::default_policy();
    assert_eq!(judge(&policy, &["ls"], &host), Verdict::Ask);
    let rule = |verdict: &str| {
        let text =
            format!("[[shell]]\nwords = ['make']\nverdict = '{verdict}'\nreason = 'Builds.'");
        judge(
            &Policy::from_toml(&text, "p.toml").unwrap(),
            &["make"],
            &host,
        )
    };
    assert_eq!(rule("sandbox"), Verdict::Ask);
    assert_eq!(rule("allow"), Verdict::Allow);
}

#[test]
fn variables_from_outside_make_a_command_unknown() {
    let mut approval = proposal(&["ls"]);
    approval.env.insert("BASH_ENV".to_owned(), json!("/w/evil"));
    let judgement = Judge::new(Policy::default_policy()).shell(approval, &SANDBOX);
    assert_eq!(verdict(&judgement), Verdict::Ask);
}

#[test]
fn a_list_of_arguments_is_read_as_the_shell_will_get_it() {
    let check = |argv: &[&str]| {
        let argv = argv.iter().map(|word| (*word).to_owned()).collect();
        let (task, env) = (ShellTask::Run(vec![Command::Argv(argv)]), Map::new());
        let approval = ShellProposal {
            call_id: "c".into(),
            task,
            cwd: None,
            env,
        };
        verdict(&Judge::new(Policy::default_policy()).shell(approval, &SANDBOX))
    };
    assert_eq!(check(&["echo", "$(pwn)", "a b", "*"]), Verdict::Allow);
    assert_eq!(check(&["PATH=/w/evil", "ls"]), Verdict::Ask);
    assert_eq!(check(&["bash", "-lc", "ls"]), Verdict::Ask);
    assert_eq!(check(&[]), Verdict::Ask);
}

#[test]
fn a_rule_may_let_redirections_through() {
    let policy = |redirection: bool| {
        let text = format!(
            "[[shell]]\nwords = ['echo']\nredirection = {redirection}\nverdict = 'sandbox'\nreason = 'Notes.'"
        );
        Policy::from_toml(&text, "p.toml").unwrap()
    };
    assert_eq!(
        judge(&policy(true), &["echo hi > note"], &SANDBOX),
        Verdict::Allow
    );
    assert_eq!(
        judge(&policy(false), &["echo hi > note"], &SANDBOX),
        Verdict::Ask
    );
    assert_eq!(
        judge(&policy(true), &["echo hi > $x"], &SANDBOX),
        Verdict::Ask
    );
}

/// Which words and redirections are read, where a reader could mistake one for the other.
#[test]
fn redirections_and_keywords_are_distinguished() {
    let read = |line: &str| match read_command(&Command::Line(line.to_owned())) {
        CommandReading::Known(commands) => {
            let words = commands.iter().map(|one| one.words.join(" "));
            let redirections = commands.iter().flat_map(|one| &one.redirections);
            let paths = redirections
                .map(|one| format!("{}{}", if one.writes { ">" } else { "<" }, one.path));
            Some(words.chain(paths).collect::<Vec<_>>().join("|"))
        }
        CommandReading::Unknown(_) | CommandReading::TooLong => None,
    };
    for (line, wanted) in [
        ("cat < f", Some("cat|<f")),
        ("cat <<< f", None),
        ("cat << f", None),
        ("ls > if", Some("ls|>if")),
        ("ls >> while; ls", Some("ls|ls|>while")),
        ("echo if", Some("echo if")),
        ("if true; then ls; fi", None),
        ("ls; while true; do ls; done", None),
        ("! ls", Some("ls")),
        ("! if true; then ls; fi", None),
        ("echo '<<' \"<<\"", Some("echo << <<")),
    ] {
        assert_eq!(read(line).as_deref(), wanted, "{line}");
    }
}

/// A word of a list of arguments is never anything else than a word.
#[test]
fn a_list_of_arguments_is_read_as_its_words_or_not_at_all() {
    for argv in [
        &["!", "ls"][..],
        &["ls", ">", "f"],
        &["ls", ">f"],
        &["ls", "#c"],
        &["ls", ";", "rm"],
        &["ls", "a;b"],
        &["A=b", "ls"],
        &["{", "ls", "}"],
        &["time", "ls"],
        &["ls", ""],
        &["ls", "a b", "'", "\""],
        &["ls", "~", "*"],
    ] {
        let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
        if let CommandReading::Known(commands) = read_command(&Command::Argv(argv.clone())) {
            let [only] = commands.as_slice() else {
                panic!("{argv:?}: {commands:?}")
            };
            assert_eq!(only.words, argv);
            assert!(only.redirections.is_empty(), "{argv:?}: {only:?}");
        }
    }
}

/// With `shopt -s extglob` they match file names.
#[test]
fn extended_patterns_are_never_certain() {
    for line in [
        "echo @(a|b)",
        "ls !(x)",
        "ls ?(a)b",
        "rm +(a)",
        "ls *(a)",
        "ls a@(b)c",
        "! (ls)",
    ] {
        let reading = read_command(&Command::Line(line.to_owned()));
        assert!(
            matches!(reading, CommandReading::Unknown(_)),
            "{line}: {reading:?}"
        );
    }
}
