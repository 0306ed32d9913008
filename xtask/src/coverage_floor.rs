//! How many tests used real parts of the machine or were skipped, and how many that may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The minimum number of tests that use each part. Raise it when tests are added.
const MINIMUMS: &[(&str, usize)] = &[
    ("x-server", 190),
    ("chromium", 200),
    ("sandbox", 175),
    ("dbus", 22),
    ("tesseract", 2),
];

/// The maximum number of tests that an ordinary user, or a machine without cgroup limits, may skip.
const MAXIMUMS: &[(&str, usize)] = &[
    ("skipped-without-root", 8),
    ("skipped-without-cgroup-limits", 8),
];

/// Prints the counts that the tests wrote to `folder` and returns those below the minimum.
pub(crate) fn check(folder: &Path) -> Result<Vec<String>, String> {
    let file = folder.join("used");
    let text =
        fs::read_to_string(&file).map_err(|e| format!("read the count {}: {e}", file.display()))?;
    let used = count(&text, MINIMUMS);
    for (part, number, least) in &used {
        println!("tests with a real {part}: {number} (at least {least})");
    }
    let few =
        used.iter()
            .filter(|(_, number, least)| number < least)
            .map(|(part, number, least)| {
                format!("only {number} tests used a real {part}; at least {least} must")
            });
    let skipped = count(&text, MAXIMUMS);
    for (why, number, most) in &skipped {
        println!("tests {}: {number} (at most {most})", why.replace('-', " "));
    }
    let many = skipped
        .iter()
        .filter(|(_, number, most)| number > most)
        .map(|(why, number, most)| {
            format!(
                "{number} tests were {}; at most {most} may",
                why.replace('-', " ")
            )
        });
    Ok(few.chain(many).collect())
}

/// The number of tests of each part, beside its limit.
fn count(
    text: &str,
    limits: &'static [(&'static str, usize)],
) -> Vec<(&'static str, usize, usize)> {
    let lines: BTreeSet<&str> = text.lines().collect();
    let of = |part: &str| {
        lines
            .iter()
            .filter(|line| line.split('\t').next() == Some(part))
            .count()
    };
    limits
        .iter()
        .map(|(part, limit)| (*part, of(part), *limit))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_once_per_part() {
        let text = "x-server\tit\ta\nx-server\tit\ta\nx-server\tit\tb\nchromium\tit\ta\n";
        let counts: Vec<usize> = count(text, MINIMUMS)
            .iter()
            .map(|(_, number, _)| *number)
            .collect();
        assert_eq!(counts, [2, 1, 0, 0, 0]);
    }

    #[test]
    fn a_count_below_the_minimum_is_a_finding() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("used"), "").expect("a file");
        let found = check(folder.path()).expect("a tally");
        assert_eq!(found.len(), MINIMUMS.len());
    }

    #[test]
    fn too_many_skipped_tests_are_a_finding() {
        let line = |test| format!("skipped-without-root\tit\t{test}\n");
        let text: String = (0..9).map(line).collect();
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("used"), text).expect("a file");
        let found = check(folder.path()).expect("a tally");
        assert_eq!(
            found.last().map(String::as_str),
            Some("9 tests were skipped without root; at most 8 may")
        );
    }
}
