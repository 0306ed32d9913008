//! What persists between commands, and what does not.

use telechir_device::{DeviceError, Shell, ShellCommand};
use telechir_protocol::ShellOutcome;

use super::run::{done, line, out, run};

/// `cd` affects all later commands, and the shell reports its directory.
pub async fn the_folder_lasts(shell: &mut impl Shell) {
    let before = shell.cwd();
    assert_eq!(before.as_deref(), Some(out(shell, "pwd").await.trim_end()));
    out(shell, "mkdir -p 'a b' && cd 'a b'").await;
    let after = out(shell, "pwd").await;
    assert!(after.ends_with("/a b\n"), "{after:?}");
    assert_eq!(shell.cwd().as_deref(), Some(after.trim_end()));
}

/// Variables persist, exported or not.
pub async fn variables_last(shell: &mut impl Shell) {
    out(shell, "plain='two  words'; export given=1").await;
    assert_eq!(
        out(shell, "echo \"$plain\"; sh -c 'echo $plain$given'").await,
        "two  words\n1\n"
    );
}

/// Functions and aliases persist.
pub async fn functions_and_aliases_last(shell: &mut impl Shell) {
    out(
        shell,
        "greet() { echo \"hello $1\"; }; alias again='greet twice'",
    )
    .await;
    assert_eq!(
        out(shell, "greet you; again").await,
        "hello you\nhello twice\n"
    );
}

/// `$?` is that of the previous command.
pub async fn the_last_status_lasts(shell: &mut impl Shell) {
    run(shell, "(exit 7)").await;
    assert_eq!(out(shell, "echo $?").await, "7\n");
}

/// Background jobs persist and keep their numbers.
pub async fn jobs_last(shell: &mut impl Shell) {
    out(shell, "sleep 1000 &").await;
    assert!(out(shell, "jobs").await.contains("sleep 1000"));
    out(shell, "kill %1; wait %1; [[ $? == 143 ]]").await;
}

/// A command's own directory ends with it, even if the command changes the directory.
pub async fn a_folder_for_one_command_is_for_it_only(shell: &mut impl Shell) {
    let before = shell.cwd();
    let there = |text| ShellCommand {
        cwd: Some("/usr".to_owned()),
        ..line(text)
    };
    assert_eq!(done(shell.run(&there("pwd")).await).stdout, "/usr\n");
    assert_eq!(shell.cwd(), before);
    assert_eq!(
        done(shell.run(&there("cd bin; false")).await).exit_code,
        Some(1)
    );
    assert_eq!(shell.cwd(), before);
    assert_eq!(before.as_deref(), Some(out(shell, "pwd").await.trim_end()));
}

/// Nothing runs in a missing directory.
pub async fn a_missing_folder_is_an_error_of_the_command(shell: &mut impl Shell) {
    let nowhere = ShellCommand {
        cwd: Some("/no/such folder".to_owned()),
        ..line("echo ran")
    };
    let output = done(shell.run(&nowhere).await);
    assert_eq!(
        (output.outcome, output.stdout.as_str()),
        (ShellOutcome::Error, "")
    );
    assert!(
        output.stderr.contains("/no/such folder"),
        "{}",
        output.stderr
    );
}

/// A command's own variables end with it; those they replaced are restored.
pub async fn a_variable_for_one_command_is_for_it_only(shell: &mut impl Shell) {
    out(shell, "unexported='old value'; export exported=old").await;
    let pairs = [
        ("unexported", "it's \"new\""),
        ("exported", "$new"),
        ("fresh", "a\nb"),
    ];
    let env = pairs
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let show = "sh -c 'echo \"$unexported|$exported|$fresh\"'";
    let output = done(shell.run(&ShellCommand { env, ..line(show) }).await);
    assert_eq!(output.stdout, "it's \"new\"|$new|a\nb\n");
    assert_eq!(out(shell, show).await, "|old|\n");
    assert_eq!(
        out(shell, "echo $unexported ${fresh-unset}").await,
        "old value unset\n"
    );
}

/// A variable name can never run anything.
pub async fn an_invalid_variable_name_is_refused(shell: &mut impl Shell) {
    for name in ["", "1a", "a b", "a=b", "a;touch x", "a\nb", "é"] {
        let env = vec![(name.to_owned(), String::new())];
        let result = shell
            .run(&ShellCommand {
                env,
                ..line("echo ran")
            })
            .await;
        assert!(
            matches!(result, Err(DeviceError::Refused { .. })),
            "{name:?}: {result:?}"
        );
    }
    assert_eq!(out(shell, "echo next").await, "next\n");
}

/// A command may set the prompt and the prompt command, as virtual environments do.
pub async fn a_custom_prompt_does_no_harm(shell: &mut impl Shell) {
    out(
        shell,
        "PROMPT_COMMAND='echo mine'; PS1='(env) $ '; PS2='more> '; PS0='run '",
    )
    .await;
    for _ in 0..2 {
        let output = run(shell, "echo x").await;
        assert_eq!(
            (output.stdout.as_str(), output.stderr.as_str()),
            ("x\n", "")
        );
    }
    out(shell, "unset PROMPT_COMMAND PS1").await;
    assert_eq!(out(shell, "echo y").await, "y\n");
}
