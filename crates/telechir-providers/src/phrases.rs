//! Finds words and values in many texts at once, in time proportional to all of them.

use std::collections::HashSet;
use std::ops::Range;

use aho_corasick::automaton::{Automaton as _, OverlappingState};
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, Input};

/// Words of a name that are compared at most.
const MAX_WORDS: usize = 8;

/// All sequences of up to [`MAX_WORDS`] words of some texts.
#[derive(Debug, Default)]
pub(crate) struct Phrases {
    sequences: HashSet<String>,
}

impl Phrases {
    pub(crate) fn add(&mut self, text: &str) {
        #[cfg(test)]
        steps::add(text.len());
        let all = words(text);
        let words: Vec<&str> = all.split_whitespace().collect();
        for start in 0..words.len() {
            let mut sequence = String::new();
            for word in words[start..].iter().take(MAX_WORDS) {
                if !sequence.is_empty() {
                    sequence.push(' ');
                }
                sequence.push_str(word);
                if !self.sequences.contains(&sequence) {
                    self.sequences.insert(sequence.clone());
                }
            }
        }
    }

    /// Whether a text has the words of `name` in a row; of a long name its first ones.
    pub(crate) fn has(&self, name: &str) -> bool {
        #[cfg(test)]
        steps::add(1);
        let words = words(name);
        let words: Vec<&str> = words.split_whitespace().take(MAX_WORDS).collect();
        !words.is_empty() && self.sequences.contains(&words.join(" "))
    }
}

/// Lower-case words in the singular, separated by spaces.
pub(crate) fn words(text: &str) -> String {
    let mut words = String::new();
    let mut word = String::new();
    let mut end = |word: &mut String| {
        if word.len() > 3 && word.ends_with('s') && !word.ends_with("us") {
            word.pop();
        }
        if !word.is_empty() {
            if !words.is_empty() {
                words.push(' ');
            }
            words.push_str(word);
            word.clear();
        }
    };
    let mut was_lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || (c.is_uppercase() && was_lower) {
            end(&mut word);
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
    }
    end(&mut word);
    words
}

/// Which of the patterns occur in `text` where `counts` accepts the range: one pass over the text
/// for all of them. An empty pattern occurs nowhere.
pub(crate) fn occurring(
    patterns: &[&str],
    text: &str,
    counts: impl Fn(usize, Range<usize>) -> bool,
) -> Vec<bool> {
    let mut found = vec![false; patterns.len()];
    let searched: Vec<usize> = (0..patterns.len())
        .filter(|at| !patterns[*at].is_empty() && patterns[*at].len() <= text.len())
        .collect();
    if searched.is_empty() {
        return found;
    }
    // Fails beyond two thousand million bytes of patterns, which no document has.
    let Ok(automaton) = NFA::new(searched.iter().map(|at| patterns[*at])) else {
        return found;
    };
    #[cfg(test)]
    steps::add(text.len() + searched.iter().map(|at| patterns[*at].len()).sum::<usize>());
    let input = Input::new(text).anchored(Anchored::No);
    let mut state = OverlappingState::start();
    loop {
        if automaton.try_find_overlapping(&input, &mut state).is_err() {
            return found;
        }
        let Some(range) = state.get_match() else {
            return found;
        };
        #[cfg(test)]
        steps::add(1);
        let at = searched[range.pattern().as_usize()];
        if !found[at] && counts(at, range.range()) {
            found[at] = true;
        }
    }
}

/// Counts the steps of all searches of a thread.
#[cfg(test)]
pub(crate) mod steps {
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<usize> = const { Cell::new(0) };
    }

    pub(crate) fn add(count: usize) {
        COUNT.set(COUNT.get() + count);
    }

    pub(crate) fn take() -> usize {
        COUNT.take()
    }
}

#[cfg(test)]
mod tests {
    use super::{Phrases, occurring, words};

    #[test]
    fn words_are_lower_case_and_in_the_singular() {
        assert_eq!(
            words("safetySettings of `max_items`"),
            "safety setting of max item"
        );
    }

    #[test]
    fn a_phrase_is_found_only_in_a_row() {
        let mut phrases = Phrases::default();
        phrases.add("settings of openai: service_tier, seed");
        assert!(phrases.has("service_tier") && phrases.has("openai"));
        assert!(!phrases.has("openai seed") && !phrases.has(""));
    }

    #[test]
    fn patterns_inside_of_each_other_are_all_found() {
        let found = occurring(&["abc", "b", "bc", "cd", ""], "xabcx", |_, _| true);
        assert_eq!(found, [true, true, true, false, false]);
        let found = occurring(&["b"], "ab b", |_, range| range.start == 3);
        assert_eq!(found, [true]);
    }
}
