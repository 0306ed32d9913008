//! Tests that took too long or needed a second try, from nextest's JUnit report.

use std::fs;
use std::path::Path;

use roxmltree::{Document, Node};

/// The time that no test may take, in seconds. Twice what a test needs beside three others on two
/// cores, so that a busy neighbour of the machine fails nothing.
const MAX_SECONDS: f64 = 20.0;

/// Returns every test of the report that took longer than the limit or ran more than once.
pub(crate) fn check(report: &Path) -> Result<Vec<String>, String> {
    let path = report.display();
    let text = fs::read_to_string(report).map_err(|e| format!("read the report {path}: {e}"))?;
    let document = Document::parse(&text).map_err(|e| format!("parse the report {path}: {e}"))?;
    let tests: Vec<Node<'_, '_>> = document
        .descendants()
        .filter(|node| node.has_tag_name("testcase"))
        .collect();
    if tests.is_empty() {
        return Err(format!("find a test in the report {path}"));
    }
    let mut findings = Vec::new();
    for test in tests {
        let name = name(test);
        let seconds: f64 = test
            .attribute("time")
            .and_then(|time| time.parse().ok())
            .ok_or_else(|| format!("read the time of {name} in the report {path}"))?;
        if seconds > MAX_SECONDS {
            findings.push(format!(
                "{name} took {seconds:.1} s; at most {MAX_SECONDS} s: split it, or move a part of it to `make soak`"
            ));
        }
        if ran_again(test) {
            findings.push(format!(
                "{name} ran more than once: find out why, and mend it"
            ));
        }
    }
    Ok(findings)
}

/// The binary and the test, as nextest prints them.
fn name(test: Node<'_, '_>) -> String {
    let [binary, name] = ["classname", "name"].map(|key| test.attribute(key).unwrap_or_default());
    format!("{binary} {name}")
}

/// Whether a first try failed.
fn ran_again(test: Node<'_, '_>) -> bool {
    const TRIES: [&str; 4] = ["flakyFailure", "flakyError", "rerunFailure", "rerunError"];
    test.children()
        .any(|child| TRIES.contains(&child.tag_name().name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The findings for a report with these tests.
    fn findings(tests: &str) -> Result<Vec<String>, String> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let report = folder.path().join("junit.xml");
        let head = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"all\">\
                    <testsuite name=\"telechir::it\" tests=\"1\">";
        fs::write(&report, format!("{head}{tests}</testsuite></testsuites>")).expect("a file");
        check(&report)
    }

    #[test]
    fn tests_within_the_limit_that_ran_once_are_accepted() {
        let quick = "<testcase name=\"a\" classname=\"telechir::it\" time=\"19.999\"></testcase>";
        assert_eq!(findings(quick), Ok(Vec::new()));
    }

    #[test]
    fn a_slow_test_is_named_with_its_time() {
        let slow = "<testcase name=\"exec::a\" classname=\"telechir::it\" time=\"20.461\"/>";
        let found = findings(slow).expect("a report");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("telechir::it exec::a took 20.5 s"),
            "{found:?}"
        );
    }

    #[test]
    fn a_second_try_is_a_finding_whether_it_passed_or_not() {
        let again = "<testcase name=\"a\" classname=\"it\" time=\"1\"><flakyFailure type=\"x\"/></testcase>\
                     <testcase name=\"b\" classname=\"it\" time=\"1\"><failure type=\"x\"/>\
                     <rerunFailure type=\"x\"/></testcase>";
        assert_eq!(
            findings(again).expect("a report"),
            [
                "it a ran more than once: find out why, and mend it",
                "it b ran more than once: find out why, and mend it"
            ]
        );
    }

    #[test]
    fn a_report_without_tests_or_times_is_an_error() {
        assert!(findings("").is_err());
        assert!(findings("<testcase name=\"a\" classname=\"it\"/>").is_err());
    }
}
