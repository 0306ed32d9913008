//! Input for commands that wait for it.

use telechir_device::{DeviceError, Shell, ShellInput, Typed};
use telechir_protocol::{Chord, CommandOutput, InputRequestKind, ShellOutcome};

use super::run::{LONG, SHORT, done, out, run};

fn input(typed: Typed) -> ShellInput {
    ShellInput {
        job: None,
        typed,
        timeout: LONG,
        max_output_bytes: 64 * 1024,
    }
}

async fn send(shell: &mut impl Shell, typed: Typed) -> CommandOutput {
    done(shell.send(&input(typed)).await)
}

fn text(text: &str) -> Typed {
    Typed::Text(text.to_owned())
}

/// Runs a command that must wait, and returns its input request and output.
async fn waits(shell: &mut impl Shell, command: &str) -> (InputRequestKind, String) {
    let output = run(shell, command).await;
    let wanted = (ShellOutcome::AwaitingInput, None);
    assert_eq!(
        (output.outcome.clone(), output.exit_code),
        wanted,
        "`{command}`: {output:?}"
    );
    match output.awaiting {
        Some(awaiting) => (awaiting.kind, awaiting.prompt),
        None => panic!("`{command}` does not report what it waits for"),
    }
}

#[track_caller]
fn succeeds(output: &CommandOutput, stdout: &str) {
    let found = (output.outcome.clone(), output.stdout.as_str());
    assert_eq!(found, (ShellOutcome::Success, stdout), "{output:?}");
}

/// A prompt is reported, wherever it was printed, and the answer continues the command.
pub async fn a_prompt_is_reported_and_answered(shell: &mut impl Shell) {
    for command in [
        "read -p 'Name? ' n; echo \"hello $n\"",
        "printf 'Name? '; read n; echo \"hello $n\"",
        "sh -c 'printf \"Name? \" >/dev/tty; read n </dev/tty; echo \"hello $n\"'",
    ] {
        let waiting = waits(shell, command).await;
        assert_eq!(
            waiting,
            (InputRequestKind::Line, "Name?".to_owned()),
            "{command}"
        );
        succeeds(&send(shell, text("Bob\n")).await, "hello Bob\n");
    }
    assert_eq!(out(shell, "echo $n").await, "Bob\n");
}

/// Each answer returns the output since the last one.
pub async fn questions_follow_each_other(shell: &mut impl Shell) {
    waits(
        shell,
        "echo one; read -p 'a? ' a; echo two; read -p 'b? ' b; echo $a$b; (exit 3)",
    )
    .await;
    let second = send(shell, text("x\n")).await;
    let awaiting = second
        .awaiting
        .as_ref()
        .map(|awaiting| awaiting.prompt.as_str());
    assert_eq!(
        (second.stdout.as_str(), awaiting),
        ("two\n", Some("b?")),
        "{second:?}"
    );
    let end = send(shell, text("y\n")).await;
    assert_eq!((end.stdout.as_str(), end.exit_code), ("xy\n", Some(3)));
}

/// Hidden input is detected before it is typed, and never appears in the output.
pub async fn hidden_input_is_detected_and_not_shown(shell: &mut impl Shell) {
    for command in [
        "read -s -p 'Password: ' p; echo ${#p}",
        "sh -c 'printf \"Password: \" >/dev/tty; stty -echo </dev/tty; read p </dev/tty; stty echo </dev/tty; echo ${#p}'",
    ] {
        let waiting = waits(shell, command).await;
        assert_eq!(
            waiting,
            (InputRequestKind::Hidden, "Password:".to_owned()),
            "{command}"
        );
        assert!(shell.hides_input(None), "{command}");
        let output = send(shell, text("secret\n")).await;
        succeeds(&output, "6\n");
        assert!(!output.stderr.contains("secret"), "{output:?}");
    }
    waits(shell, "read x").await;
    assert!(!shell.hides_input(None));
    send(shell, Typed::Interrupt).await;
}

/// End of input ends a reading command, after the partial line that was typed.
pub async fn input_can_be_closed(shell: &mut impl Shell) {
    waits(shell, "cat").await;
    succeeds(&send(shell, Typed::End).await, "");
    waits(shell, "cat").await;
    let echoed = send(shell, text("a line\nand a part")).await;
    assert_eq!(
        (echoed.outcome, echoed.stdout.as_str()),
        (ShellOutcome::AwaitingInput, "a line\n")
    );
    succeeds(&send(shell, Typed::End).await, "and a part");
    assert_eq!(out(shell, "echo next").await, "next\n");
}

/// An interrupt ends the program and the rest of the command, not the shell.
pub async fn a_waiting_command_can_be_interrupted(shell: &mut impl Shell) {
    out(shell, "kept=1").await;
    for command in [
        "cat; echo after",
        "read x; echo after",
        "sh -c 'stty -isig </dev/tty; cat'; echo after",
    ] {
        waits(shell, command).await;
        let output = send(shell, Typed::Interrupt).await;
        assert_eq!(
            (output.exit_code, output.stdout.as_str()),
            (Some(130), ""),
            "{command}: {output:?}"
        );
    }
    assert_eq!(out(shell, "stty sane; echo $kept").await, "1\n");
}

/// Keys reach a program that reads them one by one.
pub async fn keys_are_sent(shell: &mut impl Shell) {
    let (kind, _) = waits(shell, "read -n1 key; echo \"[$key]\"").await;
    assert_eq!(kind, InputRequestKind::Keys);
    let key = Chord::parse("q").map(Typed::Key).unwrap_or(Typed::End);
    succeeds(&send(shell, key).await, "[q]\n");
    waits(shell, "cat").await;
    let end = Chord::parse("ctrl+d")
        .map(Typed::Key)
        .unwrap_or(Typed::Interrupt);
    succeeds(&send(shell, end).await, "");
}

/// Long text arrives completely, and a line that no terminal accepts is refused before it is typed.
pub async fn long_text_arrives_or_is_refused(shell: &mut impl Shell) {
    waits(shell, "cat > typed; wc -c < typed").await;
    let long = "x".repeat(5000);
    let refused = shell.send(&input(text(&long))).await;
    assert!(
        matches!(refused, Err(DeviceError::Refused { .. })),
        "{refused:?}"
    );
    let lines = format!("{}\n", "y".repeat(99)).repeat(2000);
    send(shell, text(&lines)).await;
    succeeds(&send(shell, Typed::End).await, "200000\n");
}

/// Input is refused if no command waits, and a waiting command ends with the next one.
pub async fn only_a_waiting_command_is_answered(shell: &mut impl Shell) {
    let refused = shell.send(&input(text("x\n"))).await;
    assert!(
        matches!(refused, Err(DeviceError::Refused { .. })),
        "{refused:?}"
    );
    waits(shell, "cat").await;
    let output = run(shell, "echo next").await;
    assert_eq!(output.stdout, "next\n");
    assert!(output.stderr.contains("was ended"), "{output:?}");
    let refused = shell.send(&input(text("x\n"))).await;
    assert!(
        matches!(refused, Err(DeviceError::Refused { .. })),
        "{refused:?}"
    );
}

/// A program that runs too long after an answer times out.
pub async fn an_answer_has_a_timeout(shell: &mut impl Shell) {
    waits(shell, "read x; sleep 1000").await;
    let brief = ShellInput {
        timeout: SHORT,
        ..input(text("go\n"))
    };
    let output = done(shell.send(&brief).await);
    assert_eq!(output.outcome, ShellOutcome::Timeout, "{output:?}");
    assert_eq!(out(shell, "echo next").await, "next\n");
}
