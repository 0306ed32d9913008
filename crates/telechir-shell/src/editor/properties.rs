//! What holds of any file and any diff: what comes and goes is what the diff says, and no more.

use super::patch;

/// Applies a diff, and panics when something else came of it.
pub(crate) fn check(file: &str, diff: &str) {
    if let Ok(new) = patch::new_file(diff) {
        assert!(new.len() <= diff.len() + 1, "a file of more than its diff");
    }
    let Ok((after, stats)) = patch::apply(file, diff) else {
        return;
    };
    assert!(
        after.len() <= file.len() + diff.len() + 2 * (stats.added + 1),
        "{after:?} is more than the file and its diff"
    );
    let lines = |text: &str| text.split_inclusive('\n').count();
    assert_eq!(
        lines(&after) + stats.removed,
        lines(file) + stats.added,
        "{stats:?} makes {after:?} of {file:?}"
    );
    for line in diff.split_inclusive('\n') {
        let line = line.trim_end_matches(['\r', '\n']);
        if let Some(new) = line.strip_prefix('+') {
            assert!(after.contains(new), "{new:?} did not come");
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
