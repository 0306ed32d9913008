//! Commands as users and models write them, with their expected results, as data.

use std::time::{Duration, Instant};

use serde_json::Value;
use telechir_device::{Shell, ShellCommand, ShellInput, Typed};
use telechir_protocol::{Chord, CommandOutput};
use telechir_shell::Bash;

use crate::{command, run, sandboxed};

const CASES: &str = include_str!("../corpus/commands.json");
/// Factor on time limits, for busy machines.
const SLACK: u32 = 4;

fn text<'a>(case: &'a Value, member: &str) -> Option<&'a str> {
    case.get(member).and_then(Value::as_str)
}

fn millis(case: &Value, member: &str, otherwise: u64) -> Duration {
    Duration::from_millis(
        case.get(member)
            .and_then(Value::as_u64)
            .unwrap_or(otherwise),
    )
}

/// Differences between an output and the expectations of a case.
fn wrong(case: &Value, output: &CommandOutput) -> Vec<String> {
    let mut wrong = Vec::new();
    let json = serde_json::to_value(output).unwrap();
    let mut compare = |member: &str, wanted: Option<&Value>, found: Option<&Value>| {
        if wanted.is_some() && wanted != found {
            wrong.push(format!("{member} is {found:?}, not {wanted:?}"));
        }
    };
    compare("outcome", case.get("outcome"), json.get("outcome"));
    compare("exit code", case.get("exit"), json.get("exit_code"));
    compare("stdout", case.get("out"), json.get("stdout"));
    let awaiting = json.get("awaiting");
    let of = |member: &str| awaiting.and_then(|awaiting| awaiting.get(member));
    compare("kind", case.get("kind"), of("kind"));
    let empty = Value::from("");
    compare("prompt", case.get("prompt"), of("prompt").or(Some(&empty)));
    for (member, stream) in [("out_has", &output.stdout), ("err_has", &output.stderr)] {
        if let Some(wanted) = text(case, member).filter(|wanted| !stream.contains(wanted)) {
            wrong.push(format!("{member}: no {wanted:?} in {stream:.300?}"));
        }
    }
    if case.get("lost").is_some() && !output.stderr.contains("a new one was started") {
        wrong.push("the loss of the shell is not reported".to_owned());
    }
    wrong
}

fn typed(answer: &Value) -> Typed {
    if let Some(text) = text(answer, "text") {
        Typed::Text(text.to_owned())
    } else if let Some(key) = text(answer, "key") {
        Typed::Key(Chord::parse(key).unwrap())
    } else if answer.get("end").is_some() {
        Typed::End
    } else {
        Typed::Interrupt
    }
}

async fn check(shell: &mut Bash, case: &Value) -> Vec<String> {
    let started = Instant::now();
    let timeout = millis(case, "timeout_ms", 20_000);
    let max_output_bytes = case.get("max_output").and_then(Value::as_u64);
    let request = ShellCommand {
        timeout,
        max_output_bytes: max_output_bytes.map_or(64 * 1024, |max| usize::try_from(max).unwrap()),
        ..command(text(case, "run").unwrap())
    };
    let output = shell.run(&request).await.unwrap();
    let mut found = wrong(case, &output);
    let answers = case.get("answers").and_then(Value::as_array);
    for answer in answers.into_iter().flatten() {
        let hides = answer.get("hides").is_some();
        if shell.hides_input(None) != hides {
            found.push(format!("hidden input: {}", !hides));
        }
        let input = ShellInput {
            job: None,
            typed: typed(answer),
            timeout,
            max_output_bytes: request.max_output_bytes,
        };
        match shell.send(&input).await {
            Ok(output) => {
                found.extend(wrong(answer, &output));
                // A program that reads keys may echo them itself.
                let is_secret = hides && answer.get("shown").is_none();
                let text = text(answer, "text").filter(|_| is_secret).unwrap_or("\0");
                if format!("{output:?}").contains(text.trim_end()) {
                    found.push("what was hidden was shown".to_owned());
                }
            }
            Err(error) => found.push(error.to_string()),
        }
    }
    let within = millis(case, "within_ms", 8000) * SLACK;
    if started.elapsed() > within {
        found.push(format!("it took {:?}", started.elapsed()));
    }
    if let Some([look, wanted]) = case
        .get("left")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
    {
        let left = run(shell, look.as_str().unwrap()).await;
        if wanted.as_str() != Some(&left.stdout) {
            found.push(format!("left is {left:?}"));
        }
    }
    let next = run(shell, "echo usable").await;
    if (next.stdout.as_str(), next.exit_code) != ("usable\n", Some(0)) {
        found.push(format!("the next command gives {next:?}"));
    }
    found
}

/// Shells that share the cases: most cases wait.
const SHELLS: usize = 4;

#[tokio::test]
async fn every_command_has_its_outcome_and_the_shell_stays_usable() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    assert!(cases.len() >= 60);
    let wrong = tokio::join!(
        wrong_of(&cases, 0),
        wrong_of(&cases, 1),
        wrong_of(&cases, 2),
        wrong_of(&cases, 3)
    );
    let wrong = [wrong.0, wrong.1, wrong.2, wrong.3].concat();
    assert!(
        wrong.is_empty(),
        "{} of {} cases:\n{}",
        wrong.len(),
        cases.len(),
        wrong.join("\n")
    );
}

/// What is wrong with every fourth case, in one shell.
async fn wrong_of(cases: &[Value], first: usize) -> Vec<String> {
    let (mut shell, _workspace) = sandboxed().await;
    let mut wrong = Vec::new();
    for case in cases.iter().skip(first).step_by(SHELLS) {
        for problem in check(&mut shell, case).await {
            wrong.push(format!("{}: {problem}", text(case, "name").unwrap()));
        }
    }
    wrong
}
