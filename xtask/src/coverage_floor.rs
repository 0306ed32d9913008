//! How many tests used real parts of the machine, and the minimum that is accepted.

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

/// Prints the counts that the tests wrote to `folder` and returns those below the minimum.
pub(crate) fn check(folder: &Path) -> Result<Vec<String>, String> {
    let file = folder.join("used");
    let text =
        fs::read_to_string(&file).map_err(|e| format!("read the count {}: {e}", file.display()))?;
    let counts = count(&text);
    for (part, number, least) in &counts {
        println!("tests with a real {part}: {number} (at least {least})");
    }
    let few = |(part, number, least): &(&str, usize, usize)| {
        (number < least)
            .then(|| format!("only {number} tests used a real {part}; at least {least} must"))
    };
    Ok(counts.iter().filter_map(few).collect())
}

fn count(text: &str) -> Vec<(&'static str, usize, usize)> {
    let lines: BTreeSet<&str> = text.lines().collect();
    let of = |part: &str| {
        lines
            .iter()
            .filter(|line| line.split('\t').next() == Some(part))
            .count()
    };
    MINIMUMS
        .iter()
        .map(|(part, least)| (*part, of(part), *least))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_once_per_part() {
        let text = "x-server\tit\ta\nx-server\tit\ta\nx-server\tit\tb\nchromium\tit\ta\n";
        let counts: Vec<usize> = count(text).iter().map(|(_, number, _)| *number).collect();
        assert_eq!(counts, [2, 1, 0, 0, 0]);
    }

    #[test]
    fn a_count_below_the_minimum_is_a_finding() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("used"), "").expect("a file");
        let found = check(folder.path()).expect("a tally");
        assert_eq!(found.len(), MINIMUMS.len());
    }
}
