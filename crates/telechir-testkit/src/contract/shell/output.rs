//! Output of commands.

use telechir_device::{Shell, ShellCommand};
use telechir_protocol::ShellOutcome;

use super::run::{done, line, out, run};

/// Output is exact: no line is added or lost, and line ends are unchanged.
pub async fn outputs_are_exact(shell: &mut impl Shell) {
    for text in [
        "no end",
        "one\n",
        "\n\nmore\n\n",
        "tab\tbell\u{7}esc\u{1b}[31m",
        "é€🙂\u{202e}",
        "\r\n",
        "",
    ] {
        out(shell, &format!("cat > exact <<'END'\n{text}\nEND")).await;
        assert_eq!(out(shell, "head -c -1 exact").await, text);
    }
}

/// The two outputs are separate.
pub async fn outputs_are_separate(shell: &mut impl Shell) {
    let output = run(
        shell,
        "echo out; echo err >&2; sh -c 'echo out; echo err >&2'",
    )
    .await;
    assert_eq!(
        (output.stdout.as_str(), output.stderr.as_str()),
        ("out\nout\n", "err\nerr\n")
    );
}

/// A long output retains its beginning and end, and says how much is missing.
pub async fn long_output_is_bounded_and_counted(shell: &mut impl Shell) {
    let text =
        "head -c 50000000 /dev/zero | tr '\\0' x; echo the end; seq 1 200000 >&2; echo last >&2";
    let output = done(
        shell
            .run(&ShellCommand {
                max_output_bytes: 1000,
                ..line(text)
            })
            .await,
    );
    assert_eq!(output.outcome, ShellOutcome::Success);
    // The limit is for both together.
    assert!(output.stdout.len() + output.stderr.len() < 1300);
    assert!(output.stdout.starts_with("xxx") && output.stdout.ends_with("xthe end\n"));
    assert!(output.stderr.starts_with("1\n2\n") && output.stderr.ends_with("\n200000\nlast\n"));
    assert_eq!(output.truncated_bytes, 50_000_008 + 1_288_895 + 5 - 1000);
}

/// The limit never splits a character.
pub async fn a_bound_cuts_no_character(shell: &mut impl Shell) {
    for max_output_bytes in 20..32 {
        let text = "printf '€%.0s' {1..1000}";
        let output = done(
            shell
                .run(&ShellCommand {
                    max_output_bytes,
                    ..line(text)
                })
                .await,
        );
        assert!(!output.stdout.contains('\u{fffd}'), "{}", output.stdout);
        let marker = output.stdout.matches('€').count() as u64 * 3;
        assert_eq!(marker + output.truncated_bytes, 3000);
    }
}

/// Bytes that are not text do no harm.
pub async fn invalid_bytes_are_replaced(shell: &mut impl Shell) {
    assert_eq!(out(shell, "printf 'a\\xff\\0b'").await, "a\u{fffd}\0b");
    let output = run(shell, "head -c 300000 /dev/urandom").await;
    assert_eq!(output.outcome, ShellOutcome::Success);
    assert_eq!(out(shell, "echo next").await, "next\n");
}

/// Scripts can write to `/dev/stderr` and similar files.
pub async fn the_output_devices_can_be_opened(shell: &mut impl Shell) {
    let output = run(
        shell,
        "echo out >/dev/stdout; echo err >/dev/stderr; echo tty >/dev/tty; sleep 0.1",
    )
    .await;
    assert_eq!(
        (output.stdout.as_str(), output.outcome),
        ("out\n", ShellOutcome::Success)
    );
    assert!(
        output.stderr.starts_with("err\n") && output.stderr.contains("tty"),
        "{}",
        output.stderr
    );
}

/// A shell whose outputs were closed or redirected has them again for the next command.
pub async fn a_closed_output_comes_back(shell: &mut impl Shell) {
    for text in [
        "exec >&-",
        "exec >/dev/null 2>&1",
        "exec 2>&-",
        "exec >file",
    ] {
        run(shell, text).await;
        let output = run(shell, "echo out; echo err >&2").await;
        assert!(
            output.stdout.ends_with("out\n") && output.stderr.ends_with("err\n"),
            "{text}: {output:?}"
        );
    }
}

/// A job that continues in the background delays nothing.
pub async fn a_background_job_does_not_hold_the_result(shell: &mut impl Shell) {
    let output = run(shell, "sleep 1000 & echo begun").await;
    assert_eq!(output.stdout, "begun\n");
    assert!(
        output.duration_ms.is_some_and(|took| took < 5000),
        "{output:?}"
    );
    assert_eq!(out(shell, "kill %1; echo next").await, "next\n");
}

/// Later output of a job is not mixed with the output of another command.
pub async fn late_output_of_a_background_job_is_marked(shell: &mut impl Shell) {
    out(shell, "(sleep 0.2; echo late; echo said > said) &").await;
    assert_eq!(out(shell, "echo at once").await, "at once\n");
    assert_eq!(
        out(
            shell,
            "while [[ ! -s said ]]; do sleep 0.02; done; echo own"
        )
        .await,
        "own\n"
    );
    let output = run(shell, "echo own").await;
    assert_eq!(output.stdout, "own\n");
    assert!(
        output.stderr.contains("background") && output.stderr.contains("late\n"),
        "{output:?}"
    );
}

/// A long output can be read completely by a command, from the path in the result.
pub async fn all_of_a_long_output_can_be_read(shell: &mut impl Shell) {
    let output = run(shell, "seq 1 500000").await;
    let (_, after) = output
        .stdout
        .split_once("all of it is in ")
        .unwrap_or_default();
    let path = after.split(']').next().unwrap_or_default();
    assert!(path.starts_with('/'), "{}", output.stdout.len());
    let printed = out(shell, &format!("wc -c < {path}; sed -n 250000p {path}")).await;
    assert_eq!(printed, "3388895\n250000\n");
    let refused = run(
        shell,
        &format!("[[ -w {path} ]] && echo x > /run/telechir-output/x"),
    )
    .await;
    assert_ne!(refused.outcome, ShellOutcome::Success);
}

/// Binary output is reported as binary, and can be read from its file.
pub async fn binary_output_is_reported_as_binary(shell: &mut impl Shell) {
    let output = run(shell, "head -c 3000 /dev/urandom").await;
    let begin = "[3000 bytes of binary data; all of it is in ";
    assert!(output.stdout.starts_with(begin), "{}", output.stdout);
    assert_eq!(output.truncated_bytes, 3000);
    let path = output.stdout[begin.len()..]
        .trim_end()
        .trim_end_matches(']');
    assert_eq!(out(shell, &format!("wc -c < {path}")).await, "3000\n");
}
