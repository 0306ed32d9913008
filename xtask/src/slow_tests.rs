//! Tests that took too long or needed a second try, from nextest's JUnit report or from the output
//! of a test binary with `--report-time`.

use std::fs;
use std::path::Path;

use roxmltree::{Document, Node};

/// The time that no test may take, in seconds. More than twice what the longest needs beside three
/// others on two cores, so that a busy neighbour of the machine fails nothing.
const MAX_SECONDS: f64 = 45.0;

/// Returns every test of the report that took longer than the limit or ran more than once.
pub(crate) fn check(report: &Path) -> Result<Vec<String>, String> {
    let path = report.display();
    let text = fs::read_to_string(report).map_err(|e| format!("read the report {path}: {e}"))?;
    let tests = if text.starts_with("<?xml") {
        tests_of_junit(&text)
    } else {
        tests_of_libtest(&text)
    };
    let tests = tests.map_err(|problem| format!("read the report {path}: {problem}"))?;
    if tests.is_empty() {
        return Err(format!("find a test in the report {path}"));
    }
    Ok(tests.iter().flat_map(findings_of).collect())
}

/// A test of a report.
struct TimedTest {
    name: String,
    seconds: f64,
    ran_again: bool,
}

fn findings_of(test: &TimedTest) -> Vec<String> {
    let TimedTest { name, seconds, .. } = test;
    let slow = (*seconds > MAX_SECONDS).then(|| {
        format!(
            "{name} took {seconds:.1} s; at most {MAX_SECONDS} s: split it, or move a part of it to `make soak`"
        )
    });
    let again = test
        .ran_again
        .then(|| format!("{name} ran more than once: find out why, and mend it"));
    slow.into_iter().chain(again).collect()
}

fn tests_of_junit(text: &str) -> Result<Vec<TimedTest>, String> {
    let document = Document::parse(text).map_err(|error| error.to_string())?;
    let nodes = document.descendants();
    let tests = nodes.filter(|node| node.has_tag_name("testcase"));
    let timed = tests.map(|test| {
        let name = name(test);
        let seconds = test.attribute("time").and_then(|time| time.parse().ok());
        Ok(TimedTest {
            seconds: seconds.ok_or_else(|| format!("{name} has no time"))?,
            ran_again: ran_again(test),
            name,
        })
    });
    timed.collect()
}

/// Lines such as `test tabs::a_tab_opens ... ok <1.234s>`.
fn tests_of_libtest(text: &str) -> Result<Vec<TimedTest>, String> {
    let results = text.lines().filter_map(|line| {
        let (name, result) = line.strip_prefix("test ")?.split_once(" ... ")?;
        Some((name.to_owned(), result))
    });
    let timed = results.map(|(name, result)| {
        let time = result.rsplit_once('<').map(|(_, time)| time);
        let seconds = time.and_then(|time| time.strip_suffix("s>")?.parse().ok());
        Ok(TimedTest {
            seconds: seconds.ok_or_else(|| format!("{name} has no time"))?,
            ran_again: false,
            name,
        })
    });
    timed.collect()
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

    #[test]
    fn a_slow_test_of_a_binary_is_named_with_its_time() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let report = folder.path().join("output.txt");
        let results = "running 2 tests\ntest tabs::a ... ok <45.001s>\ntest b ... ok <44.9s>\n";
        fs::write(&report, results).expect("a file");
        let found = check(&report).expect("a report");
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("tabs::a took 45.0 s"), "{found:?}");
        fs::write(&report, "test a ... ok\n").expect("a file");
        assert!(check(&report).is_err(), "without a time");
    }

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
        let quick = "<testcase name=\"a\" classname=\"telechir::it\" time=\"44.999\"></testcase>";
        assert_eq!(findings(quick), Ok(Vec::new()));
    }

    #[test]
    fn a_slow_test_is_named_with_its_time() {
        let slow = "<testcase name=\"exec::a\" classname=\"telechir::it\" time=\"45.461\"/>";
        let found = findings(slow).expect("a report");
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("telechir::it exec::a took 45.5 s"),
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
