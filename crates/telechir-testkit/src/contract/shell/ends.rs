//! How commands end, and what remains afterwards.

use telechir_device::Shell;
use telechir_protocol::{CommandOutput, ShellOutcome};

use super::run::{out, run, run_briefly};

/// The exit code is the command's, and only 0 is a success.
pub async fn exit_codes_are_exact(shell: &mut impl Shell) {
    for (text, code) in [
        ("true", 0),
        ("false", 1),
        ("(exit 42)", 42),
        ("no-such-program", 127),
    ] {
        let output = run(shell, text).await;
        let outcome = if code == 0 {
            ShellOutcome::Success
        } else {
            ShellOutcome::Error
        };
        assert_eq!(
            (output.exit_code, output.outcome),
            (Some(code), outcome),
            "{text}"
        );
    }
    assert_eq!(run(shell, "sh -c 'kill -9 $$'").await.exit_code, Some(137));
    assert_eq!(run(shell, "false | true").await.exit_code, Some(0));
    assert_eq!(run(shell, "return 5").await.exit_code, Some(5));
}

/// Runs a command that ends the shell; its code counts, the loss is reported, and the next command
/// runs in a new shell.
async fn check_loss(shell: &mut impl Shell, text: &str, code: i32) {
    let home = shell.cwd();
    out(shell, "lost=1; cd /").await;
    let output = run(shell, text).await;
    assert_eq!(output.exit_code, Some(code), "`{text}`: {output:?}");
    assert!(output.stdout.starts_with("before"), "`{text}`: {output:?}");
    assert!(
        output.stderr.contains("a new one was started"),
        "`{text}`: {output:?}"
    );
    assert_eq!(out(shell, "echo ${lost-gone}").await, "gone\n");
    assert_eq!(shell.cwd(), home);
}

/// `exit` has its code.
pub async fn exit_has_its_code_and_is_reported(shell: &mut impl Shell) {
    check_loss(shell, "echo before; exit 3; echo after", 3).await;
    check_loss(shell, "echo before; exit", 0).await;
}

/// With `set -e` a failing command ends the shell, as it does for users.
pub async fn exit_on_error_has_its_code_and_is_reported(shell: &mut impl Shell) {
    check_loss(shell, "set -e; echo before; false; echo after", 1).await;
}

/// `exec` replaces the shell with a program.
pub async fn a_replaced_program_has_its_own_code(shell: &mut impl Shell) {
    check_loss(shell, "echo before; exec sh -c 'exit 4'", 4).await;
}

/// A killed shell is reported with the signal's code.
pub async fn a_killed_shell_is_replaced(shell: &mut impl Shell) {
    check_loss(shell, "echo before; kill -9 $$; sleep 1000", 137).await;
}

/// A restart discards state, and needs no reason.
pub async fn a_restart_discards_state(shell: &mut impl Shell) {
    let home = shell.cwd();
    out(shell, "lost=1; cd /; sleep 1000 &").await;
    if let Err(error) = shell.restart().await {
        panic!("failed to {error}");
    }
    assert_eq!(out(shell, "echo ${lost-gone}; jobs").await, "gone\n");
    assert_eq!(shell.cwd(), home);
}

#[track_caller]
fn assert_stopped(output: &CommandOutput) {
    assert_eq!(
        (output.outcome.clone(), output.exit_code),
        (ShellOutcome::Timeout, None),
        "{output:?}"
    );
    assert!(
        output
            .duration_ms
            .is_some_and(|took| (300..10_000).contains(&took)),
        "{output:?}"
    );
}

/// A command that was ended did not succeed, whatever its own code; its output is retained.
pub async fn a_timeout_is_never_a_success(shell: &mut impl Shell) {
    let text = "echo begun; trap 'exit 0' TERM INT; sleep 1000";
    let output = run_briefly(shell, &format!("bash -c \"{text}\"")).await;
    assert_stopped(&output);
    assert_eq!(output.stdout, "begun\n");
}

/// A timeout leaves the shell's state unchanged.
pub async fn a_timeout_keeps_the_session(shell: &mut impl Shell) {
    out(shell, "kept=1; f() { echo in f; }; cd /usr").await;
    let output = run_briefly(shell, "sleep 1000").await;
    assert_stopped(&output);
    assert!(!output.stderr.contains("new one"), "{output:?}");
    assert_eq!(out(shell, "echo $kept; f; pwd").await, "1\nin f\n/usr\n");
}

/// All processes of the command end with it, not only those it waits for.
pub async fn a_timeout_ends_background_processes_of_the_command(shell: &mut impl Shell) {
    let text = "(trap '' TERM INT; setsid sh -c 'echo $$; exec sleep 1000') & sleep 1000";
    let output = run_briefly(shell, text).await;
    assert_stopped(&output);
    let pid = output.stdout.trim();
    assert!(
        !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()),
        "{output:?}"
    );
    // It was killed before the result arrived; its parent may still have to notice.
    let gone = format!(
        "for n in {{1..500}}; do kill -0 {pid} 2>/dev/null || exit 0; sleep 0.01; done; exit 1"
    );
    out(shell, &format!("({gone})")).await;
}

/// A job of an earlier command does not belong to the timed-out command.
pub async fn older_jobs_outlive_a_timeout(shell: &mut impl Shell) {
    // Started more than a tick before the command below.
    out(shell, "sleep 1000 & job=$!; sleep 0.05").await;
    assert_stopped(&run_briefly(shell, "sleep 1000").await);
    out(shell, "kill -0 $job").await;
}

/// Commands after the one that timed out do not run.
pub async fn a_list_is_not_continued_after_a_timeout(shell: &mut impl Shell) {
    let text = "sleep 1000; touch after; sleep 1000; touch after\ntouch after";
    assert_stopped(&run_briefly(shell, text).await);
    out(shell, "[[ ! -e after ]]").await;
    assert_stopped(&run_briefly(shell, "(sleep 1000; touch after); touch after").await);
    out(shell, "[[ ! -e after ]]").await;
}

/// Loops end, with and without programs in them.
pub async fn a_loop_ends_by_timeout(shell: &mut impl Shell) {
    out(shell, "kept=1").await;
    for text in [
        "while :; do :; done",
        "while :; do sleep 0.05; done",
        "for i in {1..99}; do sleep 50; done",
    ] {
        assert_stopped(&run_briefly(shell, text).await);
    }
    assert_eq!(out(shell, "echo $kept").await, "1\n");
}

/// A program that ignores every signal is killed; the shell stays.
pub async fn a_program_that_ignores_requests_ends_by_timeout(shell: &mut impl Shell) {
    out(shell, "kept=1").await;
    let text = "sh -c \"trap '' INT TERM HUP; while :; do sleep 1; done\"; sleep 1000";
    let output = run_briefly(shell, text).await;
    assert_stopped(&output);
    assert_eq!(output.signal, Some(9));
    assert_eq!(out(shell, "echo $kept").await, "1\n");
}

/// A shell that cannot be interrupted is replaced.
pub async fn a_shell_that_ignores_interrupts_still_ends_by_timeout(shell: &mut impl Shell) {
    let output = run_briefly(shell, "trap '' INT TERM; while :; do sleep 0.01; done").await;
    assert_stopped(&output);
    assert!(
        output.stderr.contains("a new one was started"),
        "{output:?}"
    );
    assert_eq!(out(shell, "echo next").await, "next\n");
}
