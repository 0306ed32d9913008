//! A command that the user denied for all sessions is found wherever bash would run it: bash is the
//! reference.

use std::fs;
use std::path::Path;
use std::process::{Command as Process, Stdio};

use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::TestRunner;
use telechir_policy::{ApprovalShape, Judge, Judgement, Policy};

use crate::shell::{SANDBOX, proposal};

/// What the user denied.
const DENIED: &str = "pw x9";
/// The same command as bash expands it.
const SPELLINGS: [&str; 12] = [
    DENIED,
    "{pw,x9}",
    "{pw,{x9,}}",
    "{,pw} x9",
    "{pw,} x9",
    "{p..p}w x9",
    "pw {x9,}",
    "pw x{9..9}",
    "pw {x{9..9},}",
    "{\"pw\",'x'9}",
    "{pw,x9}>f",
    ">f {pw,x9}",
];
/// Where a script can have a command, at `@`.
const CONTEXTS: [&str; 70] = [
    "@",
    "@; n",
    "n; @",
    "n || @",
    "@ | n",
    "n | @",
    "! @",
    "time -p @",
    "(@)",
    "( (@) )",
    "{ @; }",
    "if @; then n; fi",
    "if n; then n; else @; fi",
    "for i in 1; do @; done",
    "for i do n; done; @",
    "set 1; for i do @; done",
    "for((i=0;i<1;i++)) do @; done",
    "for i in 1\ndo @\ndone",
    "case x in x) @;; esac",
    "case x in (y|z) n;; *) @ ;; esac",
    "case x in x) n;; esac; @",
    "while @; do break; done",
    "until @; do break; done",
    "f() { @; }; f",
    "f() (@); f",
    "function g while @; do break; done; g",
    "echo $(@)",
    "echo \"$(@)\"",
    "echo `@`",
    "echo \"`@`\"",
    "x=$(@)",
    "x=\"$(@)\" n",
    "y[0]=1 @",
    "y[1 + 1]=1; @",
    "y=(1 2); @",
    "z='a b' @",
    "z=\"a\"'b' @",
    "{fd}>f @",
    "{fd[1]}>f @",
    ">f @",
    "2>&1 @ >&2",
    ">- @",
    "<<<x @",
    "@ <<<\"it's\"",
    "[[ -n $(@) ]]",
    "echo ${u:-$(@)}",
    "echo \"${u:-$(@)}\"",
    "echo \"${u:-'$(@)'}\"",
    "echo \"$${u:-'$(@)'}\"",
    "echo \"$$${u:-'$(@)'}\"",
    "echo \"${u:-'$(n ''; @)'}\"",
    "echo \"${u:-${v-'}$(@)'}}\"",
    "echo ${u:-'}'$(@)}",
    "echo \"${u#'\"'}\"; @",
    "echo \"${*:-'}\"; @; n \"'\"",
    "echo \"${?:-'}\"; @; n \"'\"",
    "echo \"${u[0]:-'}\"; @; n \"'\"",
    "echo $((1 + 1)); @",
    "echo $(( $(@) ))",
    "((1 #)); @",
    "((x = 1)); @",
    "echo $[1 + 1]; @",
    "n <<E\n'$(@)\nE\n",
    "n <<'E'\n\"' $(\nE\n@",
    "n <<-E\n\t`@`\n\tE\n",
    "n <<A <<B\n'\nA\n\"\nB\n@",
    "n $'\\'' ; @",
    "n \\' ; @",
    "n # it's\n@",
    "n a#'\n'; @",
];
/// Text that changes how the rest is read.
const NOISE: [&str; 28] = [
    "'",
    "\"",
    "\\",
    "`",
    "$",
    "$(",
    ")",
    "(",
    "{",
    "}",
    "${u:-",
    "((",
    "))",
    "$((",
    ";",
    ";;",
    "\n",
    "#",
    " # ",
    "<<E\n",
    "E\n",
    "$'",
    "$\"",
    "[",
    "]",
    "esac",
    "case x in ",
    "do ",
];
/// Runs scripts that end in a zero byte, and tells of each whether it ran the denied command.
const HARNESS: &str = r#"
    command_not_found_handle() { [[ $# == 2 && $1 == pw && $2 == x9 ]] && echo ran >>"$RAN"; return $((RANDOM % 2)); }
    while IFS= read -r -d '' script; do
        : >"$RAN"
        ( ulimit -t 2; eval "$script" ) >/dev/null 2>&1 <<< ''
        [[ -s "$RAN" ]] && printf 1 || printf 0
    done
"#;

/// Nested contexts around the denied command, some with noise in them.
fn scripts(count: usize) -> Vec<String> {
    let contexts = prop::collection::vec(prop::sample::select(CONTEXTS.to_vec()), 1..5);
    let noise = (
        prop::sample::select(NOISE.to_vec()),
        any::<prop::sample::Index>(),
    );
    let spelling = prop::sample::select(SPELLINGS.to_vec());
    let script = (spelling, contexts, prop::collection::vec(noise, 0..3));
    let mut runner = TestRunner::deterministic();
    let generate = |_| {
        let (spelling, contexts, noise) = script.new_tree(&mut runner).unwrap().current();
        let nested = |inner: String, context: &&str| context.replace('@', &inner);
        let mut text = contexts.iter().fold(spelling.to_owned(), nested);
        for (noise, at) in noise {
            text.insert_str(at.index(text.len() + 1), noise);
        }
        text
    };
    (0..count).map(generate).collect()
}

#[expect(clippy::disallowed_methods, reason = "bash is the reference")]
fn ran_by_bash(folder: &Path, scripts: &[String]) -> Vec<bool> {
    let input = folder.join("scripts");
    let all: String = scripts.iter().map(|script| format!("{script}\0")).collect();
    fs::write(&input, all).unwrap();
    let output = Process::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", HARNESS])
        .env_clear()
        .env("PATH", "/nonexistent")
        .env("RAN", folder.join("ran"))
        .current_dir(folder)
        .stdin(fs::File::open(&input).unwrap())
        .stderr(Stdio::null())
        .output()
        .unwrap();
    output.stdout.iter().map(|byte| *byte == b'1').collect()
}

/// Whether a denial for all sessions would hold for a script.
fn is_denied(script: &str) -> bool {
    let denied = ApprovalShape {
        parts: vec![DENIED.to_owned()],
        reasons: Vec::new(),
    };
    match Judge::new(Policy::default_policy()).shell(proposal(&[script]), &SANDBOX) {
        Judgement::Ask(pending) => pending.question().contained.contain(&denied),
        Judgement::Allowed(_) | Judgement::Denied(..) => false,
    }
}

#[test]
fn a_denied_command_is_found_wherever_bash_runs_it() {
    let scripts = scripts(1000);
    let folder = tempfile::tempdir().unwrap();
    let ran = ran_by_bash(folder.path(), &scripts);
    assert_eq!(ran.len(), scripts.len());
    let ran: Vec<&String> = scripts
        .iter()
        .zip(ran)
        .filter_map(|(script, ran)| ran.then_some(script))
        .collect();
    assert!(ran.len() > 200, "bash ran it in {} scripts only", ran.len());
    let missed: Vec<_> = ran
        .into_iter()
        .filter(|script| !is_denied(script))
        .collect();
    assert_eq!(missed, [""; 0], "{} scripts", missed.len());
}
