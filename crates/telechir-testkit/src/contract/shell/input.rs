//! Forms of commands, and commands that read the terminal.

use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_protocol::{Command, ShellOutcome};

use super::run::{done, line, out, run, run_briefly};

/// An open quote is an error at once, not a wait for the rest.
pub async fn an_open_quote_is_an_error(shell: &mut impl Shell) {
    for text in [
        "echo \"open",
        "echo 'open",
        "echo $(open",
        "if true; then",
        "echo `open",
    ] {
        let output = run(shell, text).await;
        assert_eq!(output.outcome, ShellOutcome::Error, "{text}: {output:?}");
        assert!(!output.stderr.is_empty(), "{text}");
    }
    assert_eq!(out(shell, "echo next").await, "next\n");
}

/// A here document without its end contains all remaining lines.
pub async fn an_open_here_document_does_not_hang(shell: &mut impl Shell) {
    assert!(
        run(shell, "cat <<END\nwords")
            .await
            .stdout
            .starts_with("words")
    );
    assert_eq!(out(shell, "echo next").await, "next\n");
}

/// A here document is its command's input.
pub async fn a_here_document_arrives(shell: &mut impl Shell) {
    let text = "cat > file <<'END'\n$HOME `x` \\\n\ttab \"quote\n\nEND\ncat file";
    assert_eq!(out(shell, text).await, "$HOME `x` \\\n\ttab \"quote\n\n");
}

/// Lines run in order as one command with one result.
pub async fn many_lines_are_one_command(shell: &mut impl Shell) {
    let text = "for n in 1 2\ndo\n  echo $n # word\ndone\n\necho 'a\nb'; false\necho end";
    assert_eq!(out(shell, text).await, "1\n2\na\nb\nend\n");
    let long = format!("x='{}'; echo ${{#x}}", "y".repeat(200_000));
    assert_eq!(out(shell, &long).await, "200000\n");
}

/// An empty command, or a comment, succeeds.
pub async fn an_empty_command_succeeds(shell: &mut impl Shell) {
    for text in ["", " \n", "# nothing"] {
        assert_eq!(out(shell, text).await, "");
    }
}

/// Arguments arrive unchanged; no shell reads them, and no alias or function replaces the program.
pub async fn an_argv_stays_an_argv(shell: &mut impl Shell) {
    out(shell, "printf() { echo function; }; alias env='echo alias'").await;
    let words = [
        "env", "printf", "%s|", "a b", "$HOME", "*", "it's", "\"", "", ";", "x\ny", "-n",
    ];
    let command = Command::Argv(words.map(str::to_owned).to_vec());
    let output = done(
        shell
            .run(&ShellCommand {
                command,
                ..line("")
            })
            .await,
    );
    assert_eq!(
        output.stdout, "a b|$HOME|*|it's|\"||;|x\ny|-n|",
        "{output:?}"
    );
}

/// A byte that no shell can read is not omitted silently.
pub async fn a_zero_byte_is_refused(shell: &mut impl Shell) {
    let result = shell.run(&line("echo a\0b")).await;
    assert!(
        matches!(result, Err(DeviceError::Refused { .. })),
        "{result:?}"
    );
    assert_eq!(out(shell, "echo next").await, "next\n");
}

/// A program that reads the terminal times out or is reported; the session continues.
pub async fn a_program_that_reads_the_terminal_does_not_hang(shell: &mut impl Shell) {
    check_reader(shell, "echo asked; cat").await;
    check_reader(shell, "echo asked; head -n 1 </dev/tty; touch after").await;
    out(shell, "[[ ! -e after ]]").await;
}

/// The shell's own `read` does as well.
pub async fn a_shell_that_reads_the_terminal_does_not_hang(shell: &mut impl Shell) {
    check_reader(shell, "echo asked; read -p 'sure? ' answer; touch after").await;
    out(shell, "[[ ! -e after ]]").await;
}

async fn check_reader(shell: &mut impl Shell, text: &str) {
    out(shell, "kept=1").await;
    let output = run_briefly(shell, text).await;
    let waits = matches!(
        output.outcome,
        ShellOutcome::Timeout | ShellOutcome::AwaitingInput
    );
    assert!(waits && output.exit_code.is_none(), "{text}: {output:?}");
    assert_eq!(output.stdout, "asked\n", "{text}");
    assert_eq!(out(shell, "echo $kept").await, "1\n", "{text}");
}
