//! Options in `[[shell]]` rules: a permissive rule lists all that it permits, a restrictive one
//! those that it stops.

use crate::rule::MatchCertainty;

/// Whether a program may read this word as an option. A lone dash is the standard input.
pub(crate) fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with(['-', '+'])
}

/// Whether these words have no other options than the listed ones, in exactly that spelling. An
/// entry that ends with `=` permits any value. Words after `--` count too: not every program ends
/// its options there.
pub(crate) fn has_only(listed: &[String], words: &[String]) -> bool {
    let is_listed = |word: &String| {
        listed
            .iter()
            .any(|option| word == option || (option.ends_with('=') && word.starts_with(option)))
    };
    words.iter().filter(|word| is_option(word)).all(is_listed)
}

/// Whether these words have one of the listed options; unclear where the word may be an
/// abbreviation, several joined options, or one with its value.
pub(crate) fn has_any(listed: &[String], words: &[String]) -> MatchCertainty {
    let mut found = MatchCertainty::No;
    for word in words.iter().filter(|word| is_option(word)) {
        for option in listed {
            match spells(word, option.trim_end_matches('=')) {
                MatchCertainty::Yes => return MatchCertainty::Yes,
                MatchCertainty::Unclear => found = MatchCertainty::Unclear,
                MatchCertainty::No => {}
            }
        }
    }
    found
}

fn spells(word: &str, option: &str) -> MatchCertainty {
    let name = word.split('=').next().unwrap_or(word);
    if word == option || name == option {
        return MatchCertainty::Yes;
    }
    let (bare_word, bare_option) = (bare(name), bare(option));
    let is_long = bare_option.chars().count() > 1;
    let may_be = if is_long {
        // Programs accept `--outp` for `--output`; some accept one dash, others a joined value.
        !bare_word.is_empty()
            && (bare_option.starts_with(bare_word) || bare(word).starts_with(bare_option))
    } else {
        !word.starts_with("--") && bare(word).contains(bare_option)
    };
    if may_be {
        MatchCertainty::Unclear
    } else {
        MatchCertainty::No
    }
}

fn bare(option: &str) -> &str {
    option.trim_start_matches(['-', '+'])
}

/// A list of words that begins with other words, where options may stand between them.
///
/// `git -C folder push` begins with `git push` in this sense: an option may have the next word as
/// its value.
pub(crate) fn begins_with_options_between(wanted: &[Vec<String>], words: &[String]) -> bool {
    // For each number of wanted words found so far: whether the next word may be another wanted
    // one, and whether it may be the value of an option.
    let mut found = vec![false; wanted.len() + 1];
    let mut in_value = found.clone();
    if let Some(start) = found.first_mut() {
        *start = true;
    }
    for word in words {
        if found.last() == Some(&true) {
            break;
        }
        let mut next_found = vec![false; found.len()];
        let mut next_in_value = next_found.clone();
        for at in 0..wanted.len() {
            let open = found[at] || in_value[at];
            if open && wanted[at].contains(word) {
                next_found[at + 1] = true;
            }
            if open && is_option(word) {
                next_in_value[at] = true;
            }
            if in_value[at] {
                next_found[at] = true;
            }
        }
        (found, in_value) = (next_found, next_in_value);
    }
    found.last() == Some(&true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn a_list_of_permitted_options_is_complete_and_exact() {
        let listed = words("--stat -n --format=");
        for line in ["", "a b -", "--stat", "-n 5", "--format=%H x"] {
            assert!(has_only(&listed, &words(line)), "{line}");
        }
        for line in [
            "--sta",
            "--stats",
            "-n5",
            "-- --output=x",
            "--format",
            "+x",
            "-nx",
            "a -o",
        ] {
            assert!(!has_only(&listed, &words(line)), "{line}");
        }
        assert!(has_only(&[], &words("a b")) && !has_only(&[], &words("a -b")));
    }

    #[test]
    fn a_stopped_option_is_found_in_other_spellings() {
        let listed = words("--output -o");
        for (line, wanted) in [
            ("--output x", MatchCertainty::Yes),
            ("a --output=x", MatchCertainty::Yes),
            ("-o x", MatchCertainty::Yes),
            ("--outp=x", MatchCertainty::Unclear),
            ("--o x", MatchCertainty::Unclear),
            ("-output x", MatchCertainty::Unclear),
            ("--outputx", MatchCertainty::Unclear),
            ("-ofile", MatchCertainty::Unclear),
            ("-zo file", MatchCertainty::Unclear),
            ("--color output o", MatchCertainty::No),
            ("-z", MatchCertainty::No),
            ("", MatchCertainty::No),
        ] {
            assert_eq!(has_any(&listed, &words(line)), wanted, "{line}");
        }
    }

    #[test]
    fn options_may_stand_between_the_words_of_a_restrictive_rule() {
        let wanted = [
            vec!["push".to_owned(), "send".to_owned()],
            vec!["x".to_owned()],
        ];
        for line in [
            "push x",
            "-C . push x",
            "-C push x",
            "-c -d push -v x",
            "-p . send -q 1 x y",
        ] {
            assert!(begins_with_options_between(&wanted, &words(line)), "{line}");
        }
        for line in ["push", "log push x", "-C a b push x", "push y x", ""] {
            assert!(
                !begins_with_options_between(&wanted, &words(line)),
                "{line}"
            );
        }
        let many = "-a ".repeat(20_000) + "push x";
        assert!(begins_with_options_between(&wanted, &words(&many)));
    }
}
