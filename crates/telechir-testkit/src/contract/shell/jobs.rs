//! Background jobs.

use std::time::Duration;

use telechir_device::{DeviceError, Shell, ShellCommand, ShellInput, Typed};
use telechir_protocol::{CommandOutput, InputRequestKind, ShellOutcome};

use super::run::{LONG, done, line, out, run, run_briefly};

const MAX: usize = 64 * 1024;

/// Starts a job and returns its name.
async fn start(shell: &mut impl Shell, text: &str) -> String {
    let output = done(shell.start(&line(text)).await);
    assert_eq!(output.outcome, ShellOutcome::Running, "{output:?}");
    let name = output.stdout.trim_start_matches("Started ");
    name.trim_end_matches(".\n").to_owned()
}

/// Reads until the output satisfies `is_enough`; returns all output, and the last result.
async fn read_until(
    shell: &mut impl Shell,
    job: &str,
    is_enough: impl Fn(&str, &CommandOutput) -> bool,
) -> (String, CommandOutput) {
    let mut all = String::new();
    for _ in 0..1000 {
        let output = done(shell.read(job, MAX).await);
        all.push_str(&output.stdout);
        if is_enough(&all, &output) {
            return (all, output);
        }
        // A wait in the shell needs no timer.
        run(shell, "sleep 0.02").await;
    }
    panic!("{job} never printed enough: {all:?}")
}

/// A job runs beside the shell and is read incrementally.
pub async fn a_job_is_started_and_read_since_the_last_time(shell: &mut impl Shell) {
    let text = "echo one; until [[ -e go ]]; do sleep 0.02; done; echo two; echo oops >&2; exit 3";
    let job = start(shell, text).await;
    let (_, first) = read_until(shell, &job, |all, _| all == "one\n").await;
    assert_eq!(
        (first.outcome, first.exit_code),
        (ShellOutcome::Running, None)
    );
    assert_eq!(done(shell.read(&job, MAX).await).stdout, "");
    out(shell, "touch go").await;
    let (all, last) = read_until(shell, &job, |_, output| output.exit_code.is_some()).await;
    assert_eq!(all, "two\n");
    assert_eq!(
        (last.outcome.clone(), last.exit_code),
        (ShellOutcome::Error, Some(3))
    );
    assert!(
        last.stderr.contains("oops") || last.stderr.is_empty(),
        "{last:?}"
    );
    let again = done(shell.read(&job, MAX).await);
    assert_eq!((again.exit_code, again.stdout.as_str()), (Some(3), ""));
}

/// A job inherits directory, exported variables and functions; its changes stay its own.
pub async fn a_job_inherits_the_state_of_the_shell(shell: &mut impl Shell) {
    out(
        shell,
        "mkdir -p sub; cd sub; export said='a  b'; f() { echo \"f $1\"; }",
    )
    .await;
    let job = start(shell, "pwd; echo \"$said\"; f x; said=other; cd /").await;
    let (all, _) = read_until(shell, &job, |_, output| output.exit_code.is_some()).await;
    let here = out(shell, "pwd; echo \"$said\"").await;
    let (folder, printed) = here.split_once('\n').unwrap_or_default();
    assert!(folder.ends_with("/sub") && printed == "a  b\n", "{here:?}");
    assert_eq!(all, format!("{folder}\na  b\nf x\n"));
    let elsewhere = ShellCommand {
        cwd: Some("/usr".to_owned()),
        env: vec![("said".to_owned(), "c".to_owned())],
        ..line("pwd; echo $said")
    };
    let output = done(shell.start(&elsewhere).await);
    let job = output
        .stdout
        .trim_start_matches("Started ")
        .trim_end_matches(".\n")
        .to_owned();
    let (all, _) = read_until(shell, &job, |_, output| output.exit_code.is_some()).await;
    assert_eq!(all, "/usr\nc\n");
}

/// Jobs are listed with their outcome.
pub async fn jobs_are_listed(shell: &mut impl Shell) {
    assert_eq!(done_list(shell).await, []);
    let long = start(shell, "sleep 1000").await;
    let short = start(shell, "(exit 4)").await;
    read_until(shell, &short, |_, output| output.exit_code.is_some()).await;
    let list = done_list(shell).await;
    let running = (long.clone(), ShellOutcome::Running, None);
    assert_eq!(list, [running, (short, ShellOutcome::Error, Some(4))]);
    done(shell.stop(&long, MAX).await);
    assert_eq!(done_list(shell).await.len(), 1);
}

async fn done_list(shell: &mut impl Shell) -> Vec<(String, ShellOutcome, Option<i32>)> {
    match shell.jobs().await {
        Ok(jobs) => jobs
            .into_iter()
            .map(|job| (job.name, job.outcome, job.exit_code))
            .collect(),
        Err(error) => panic!("failed to {error}"),
    }
}

/// A job that waits for input is reported, and answered on its own terminal.
pub async fn a_job_is_answered(shell: &mut impl Shell) {
    let text = "read -p 'Name? ' n; read -s -p 'Password: ' p </dev/tty; echo \"$n ${#p}\"";
    let job = start(shell, text).await;
    let waits = |_: &str, output: &CommandOutput| output.outcome == ShellOutcome::AwaitingInput;
    let (_, output) = read_until(shell, &job, waits).await;
    let request = output
        .awaiting
        .map(|awaiting| (awaiting.kind, awaiting.prompt));
    assert_eq!(request, Some((InputRequestKind::Line, "Name?".to_owned())));
    let input = |text: &str| ShellInput {
        job: Some(job.clone()),
        typed: Typed::Text(text.to_owned()),
        timeout: LONG,
        max_output_bytes: MAX,
    };
    // The foreground is free meanwhile.
    assert_eq!(out(shell, "echo free").await, "free\n");
    let output = done(shell.send(&input("Bob\n")).await);
    let request = output
        .awaiting
        .map(|awaiting| (awaiting.kind, awaiting.prompt));
    assert_eq!(
        request,
        Some((InputRequestKind::Hidden, "Password:".to_owned()))
    );
    assert!(shell.hides_input(Some(&job)));
    let output = done(shell.send(&input("secret\n")).await);
    let (more, last) = read_until(shell, &job, |_, output| output.exit_code.is_some()).await;
    assert_eq!(format!("{}{more}", output.stdout), "Bob 6\n", "{last:?}");
    assert!(!format!("{output:?}{last:?}").contains("secret"));
}

/// Stopping a job ends all its processes; an interrupt is only a request.
pub async fn a_job_is_stopped_with_all_its_processes(shell: &mut impl Shell) {
    let text = "trap '' TERM; (trap '' TERM INT HUP; setsid sh -c 'echo $$; exec sleep 1000') & sleep 1000";
    let job = start(shell, text).await;
    let (pid, _) = read_until(shell, &job, |all, _| all.ends_with('\n')).await;
    let output = done(shell.stop(&job, MAX).await);
    assert_eq!(
        (output.outcome, output.exit_code),
        (ShellOutcome::Cancelled, None)
    );
    let pid = pid.trim();
    let gone = format!(
        "for n in {{1..500}}; do kill -0 {pid} 2>/dev/null || exit 0; sleep 0.01; done; exit 1"
    );
    out(shell, &format!("({gone})")).await;
    let error = shell.read(&job, MAX).await.map(drop);
    assert!(
        matches!(error, Err(DeviceError::Refused { .. })),
        "{error:?}"
    );
    let job = start(
        shell,
        "trap 'echo caught; exit 5' INT; echo ready; sleep 1000",
    )
    .await;
    read_until(shell, &job, |all, _| all == "ready\n").await;
    let interrupt = ShellInput {
        job: Some(job.clone()),
        typed: Typed::Interrupt,
        timeout: LONG,
        max_output_bytes: MAX,
    };
    let output = done(shell.send(&interrupt).await);
    let (more, last) = read_until(shell, &job, |_, output| output.exit_code.is_some()).await;
    assert_eq!(format!("{}{more}", output.stdout), "caught\n");
    assert_eq!(last.exit_code, Some(5));
}

/// A timeout of the foreground command does not affect jobs.
pub async fn a_job_outlives_a_timeout_and_a_flood_of_its_own(shell: &mut impl Shell) {
    let job = start(
        shell,
        "head -c 20000000 /dev/zero | tr '\\0' x; echo end; sleep 1000",
    )
    .await;
    assert_eq!(
        run_briefly(shell, "sleep 1000").await.outcome,
        ShellOutcome::Timeout
    );
    let ends = |_: &str, output: &CommandOutput| output.stdout.ends_with("end\n");
    let (_, output) = read_until(shell, &job, ends).await;
    assert_eq!(output.outcome, ShellOutcome::Running);
    assert!(output.stdout.len() < MAX + 200, "{}", output.stdout.len());
    done(shell.stop(&job, MAX).await);
}

/// A restart ends jobs, too.
pub async fn a_restart_ends_jobs(shell: &mut impl Shell) {
    let job = start(shell, "touch begun; sleep 1000").await;
    run(shell, "until [[ -e begun ]]; do sleep 0.01; done").await;
    let before = std::time::Instant::now();
    if let Err(error) = shell.restart().await {
        panic!("failed to {error}");
    }
    assert!(before.elapsed() < Duration::from_secs(20));
    assert!(shell.read(&job, MAX).await.is_err());
    assert_eq!(done_list(shell).await, []);
}
