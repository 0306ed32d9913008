//! Checks and chores of this repository; `make` is the front door.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

mod layers;
mod licences;
mod tally;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let findings = match words.as_slice() {
        ["layers"] => layers::check(),
        ["licences"] => licences::check(),
        ["tidy"] => tidy::check(Path::new(".")),
        ["tally", folder] => tally::check(Path::new(folder)),
        _ => Err("usage: cargo run -p xtask -- layers | licences | tidy | tally FOLDER".to_owned()),
    };
    match findings {
        Ok(findings) if findings.is_empty() => ExitCode::SUCCESS,
        Ok(findings) => {
            for finding in &findings {
                eprintln!("{finding}");
            }
            eprintln!("{} finding(s)", findings.len());
            ExitCode::FAILURE
        }
        Err(problem) => {
            eprintln!("failed to {problem}");
            ExitCode::from(2)
        }
    }
}
