//! Properties of every file and diff: exactly the lines of the diff are added and removed.

use super::patch;

/// Applies a diff and checks the result.
pub(crate) fn check(file: &str, diff: &str) {
    if let Ok(new) = patch::new_file(diff) {
        assert!(
            new.len() <= diff.len(),
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
    let lines = |text: &str| text.split('\n').count();
    // A text without any line is that of one empty line.
    assert!(
        lines(&after) + stats.removed == lines(file) + stats.added || after.is_empty(),
        "{stats:?} turned {file:?} into {after:?}"
    );
    let lines = diff.split_inclusive('\n');
    for line in lines.take_while(|line| !line.starts_with("*** End Patch")) {
        let line = line.trim_end_matches(['\r', '\n']);
        let new = line.strip_prefix('+');
        if let Some(new) = new.filter(|new| !new.starts_with("++ ")) {
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
            diff in lines(&[" a", "-a", "+a", " b", "-b", "-c", "+x", "", "@@", "@@ a", "@@ c", "@@ -1,2 +1,2 @@", "@@ -9 +3,0 @@ a", "*** End of File", "*** Begin Patch", "*** End Patch"], 10),
        ) {
            super::check(&file, &diff);
        }
    }
}
