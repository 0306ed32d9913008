//! What holds of any file and any diff: what comes and goes is what the diff says, and no more.

use super::patch;

/// Applies a diff, and panics when something else came of it.
pub(crate) fn check(file: &str, diff: &str) {
    if let Ok(new) = patch::new_file(diff) {
        assert!(new.len() <= diff.len() + 1, "a file of more than its diff");
    }
    let Ok((after, change)) = patch::apply(file, diff) else {
        return;
    };
    assert!(
        after.len() <= file.len() + diff.len() + 2 * (change.added + 1),
        "{after:?} is more than the file and its diff"
    );
    let lines = |text: &str| text.split_inclusive('\n').count();
    assert_eq!(
        lines(&after) + change.removed,
        lines(file) + change.added,
        "{change:?} makes {after:?} of {file:?}"
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

    fn lines(of: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
        let lines = prop::collection::vec(prop::sample::select(of), 0..most);
        (lines, any::<bool>())
            .prop_map(|(lines, ends)| lines.join("\n") + ["", "\n"][usize::from(ends)])
    }

    proptest! {
        #[test]
        fn a_diff_does_what_it_says_or_nothing(
            file in lines(&["a", "b", "c ", "\tc", "", "a\r"], 12),
            diff in lines(&[" a", "-a", "+a", " b", "-b", "-c", "+x", "", "@@", "@@ a", "@@ c", "*** End of File", "*** Begin Patch"], 10),
        ) {
            super::check(&file, &diff);
        }
    }
}
