//! Checks of this repository that no compiler makes. `make check` and `make test` call them.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool"
)]

mod circles;
mod coverage_floor;
mod dependencies;
mod dialects;
mod files;
mod identifiers;
mod layers;
mod licences;
mod module_graph;
mod public_docs;
mod slow_tests;
mod source;
mod spelling;
mod type_names;

use std::path::Path;
use std::process::ExitCode;

const USAGE: &str = "\
find a check of this name. Usage: cargo run -p xtask -- CHECK
  files             file length, purpose, ignored and undeclared tests
  identifiers       words that no identifier may contain
  type-names        types of one name in several files
  circles           files of a crate that use each other in a circle, or a dialect from below
  public-docs       public documentation shorter than four words
  dependencies      dependencies that no code names
  spelling          misspellings in code and texts
  layers            which crate may depend on which
  licences          licences and sources of dependencies
  coverage-floor D  how many tests, counted in folder D, used each real part
  slow-tests F      slow or repeated tests of F: nextest's JUnit report, or output with --report-time";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = Path::new(".");
    let findings = match arguments.as_slice() {
        ["files"] => files::check(root),
        ["identifiers"] => identifiers::check(root),
        ["type-names"] => type_names::check(root),
        ["circles"] => circles::check(root).and_then(|mut findings| {
            findings.extend(dialects::check(root)?);
            Ok(findings)
        }),
        ["public-docs"] => public_docs::check(root),
        ["dependencies"] => dependencies::check(),
        ["spelling"] => spelling::check(root),
        ["layers"] => layers::check(),
        ["licences"] => licences::check(),
        ["coverage-floor", folder] => coverage_floor::check(Path::new(folder)),
        ["slow-tests", report] => slow_tests::check(Path::new(report)),
        _ => Err(USAGE.to_owned()),
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
