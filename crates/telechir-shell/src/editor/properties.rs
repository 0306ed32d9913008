//! Properties of every file and diff: exactly the lines of the diff are added and removed.

use super::patch;

/// Applies a diff and checks the result.
pub(crate) fn check(file: &str, diff: &str) {
    if let Ok(new) = patch::new_file(diff) {
        assert!(
            new.len() <= diff.len() + 1,
            "the new file is larger than its diff"
        );
    }
    let Ok((after, stats)) = patch::apply(file, diff) else {
        return;
    };
    assert!(
        after.len() <= file.len() + diff.len() + 2 * (stats.added + 1),
        "{after:?} is larger than the file and its diff"
    );
    let lines = |text: &str| text.split_inclusive('\n').count();
    assert_eq!(
        lines(&after) + stats.removed,
        lines(file) + stats.added,
        "{stats:?} turned {file:?} into {after:?}"
    );
    for line in diff.split_inclusive('\n') {
        let line = line.trim_end_matches(['\r', '\n']);
        if let Some(new) = line.strip_prefix('+') {
            assert!(after.contains(new), "{new:?} was not added");
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    fn lines(from: &'static [&'static str], max: usize) -> impl Strategy<Value = String> {
        let lines = prop::collection::vec(prop::sample::select(from), 0..max);
        (lines, any::<bool>())
            .prop_map(|(lines, ends)| lines.join("\n") + ["", "\n"][usize::from(ends)])
    }

    proptest! {
        #[test]
        fn a_diff_is_applied_exactly_or_refused(
            file in lines(&["a", "b", "c ", "\tc", "", "a\r"], 12),
            diff in lines(&[" a", "-a", "+a", " b", "-b", "-c", "+x", "", "@@", "@@ a", "@@ c", "*** End of File", "*** Begin Patch"], 10),
        ) {
            super::check(&file, &diff);
        }
    }
}
