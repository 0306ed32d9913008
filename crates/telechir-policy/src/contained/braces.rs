//! Brace expansion as bash does it: `{a,b}c` is `ac bc`, `x{1..3}` is `x1 x2 x3`.

/// How many characters one word may become.
const MAX_EXPANDED_CHARS: usize = 16 << 10;
/// The longest text between two braces that is read as a sequence, in bytes: three numbers with as
/// many zeros before them as anybody writes.
const MAX_SEQUENCE_BYTES: usize = 256;

/// A word with the byte positions of its unquoted `{`, `,` and `}`, in order.
struct MarkedWord {
    text: String,
    marks: Vec<usize>,
}

/// `{…}` of a word that is expanded.
struct Group {
    open: usize,
    close: usize,
    /// The alternatives with their own marks, the first one first.
    alternatives: Vec<MarkedWord>,
}

/// The words that a word becomes, without empty ones; `None` if it stays as it is, or would become
/// more than `left` characters, from which those of the new words are taken.
pub(super) fn expanded(text: &str, marks: Vec<usize>, left: &mut usize) -> Option<Vec<String>> {
    if text.len() > MAX_EXPANDED_CHARS {
        return None;
    }
    let mut done = Vec::new();
    let mut open = vec![MarkedWord {
        text: text.to_owned(),
        marks,
    }];
    let mut of_word = MAX_EXPANDED_CHARS;
    let mut is_expanded = false;
    while let Some(word) = open.pop() {
        let Some(group) = word.first_group(of_word.min(*left)) else {
            done.push(word.text);
            continue;
        };
        is_expanded = true;
        for alternative in group.alternatives.iter().rev() {
            let new = word.with(&group, alternative);
            of_word = of_word.checked_sub(new.text.len() + 1)?;
            *left = left.checked_sub(new.text.len() + 1)?;
            open.push(new);
        }
    }
    done.retain(|word| !word.is_empty());
    is_expanded.then_some(done)
}

/// What is between two braces.
enum Members {
    /// The positions of the commas between the alternatives.
    Between(Vec<usize>),
    Sequence(Vec<MarkedWord>),
}

impl MarkedWord {
    /// The first group that is expanded; a sequence has at most `max_length` members.
    fn first_group(&self, max_length: usize) -> Option<Group> {
        let mut open: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut first: Option<(usize, usize, Members)> = None;
        for &at in &self.marks {
            match self.text.as_bytes()[at] {
                b'{' => open.push((at, Vec::new())),
                b',' => open
                    .iter_mut()
                    .last()
                    .into_iter()
                    .for_each(|(_, commas)| commas.push(at)),
                _ => {
                    let Some((start, commas)) = open.pop() else {
                        continue;
                    };
                    if first.as_ref().is_some_and(|(open, ..)| *open < start) {
                        continue;
                    }
                    let members = match commas.as_slice() {
                        [] => {
                            sequence(&self.text[start + 1..at], max_length).map(Members::Sequence)
                        }
                        _ => Some(Members::Between(commas)),
                    };
                    first = members.map(|members| (start, at, members)).or(first);
                }
            }
        }
        let (open, close, members) = first?;
        let alternatives = match members {
            Members::Sequence(members) => members,
            Members::Between(commas) => self.split(open, &commas, close),
        };
        Some(Group {
            open,
            close,
            alternatives,
        })
    }

    fn split(&self, open: usize, commas: &[usize], close: usize) -> Vec<Self> {
        let starts = std::iter::once(open).chain(commas.iter().copied());
        let ends = commas.iter().copied().chain([close]);
        let part = |(start, end): (usize, usize)| {
            let first = self.marks.partition_point(|at| *at <= start);
            let after = self.marks.partition_point(|at| *at < end);
            let marks = &self.marks[first..after];
            Self {
                text: self.text[start + 1..end].to_owned(),
                marks: marks.iter().map(|at| at - start - 1).collect(),
            }
        };
        starts.zip(ends).map(part).collect()
    }

    /// This word with one of a group's alternatives in its place.
    fn with(&self, group: &Group, alternative: &Self) -> Self {
        let (before, after) = (&self.text[..group.open], &self.text[group.close + 1..]);
        let length = before.len() + alternative.text.len();
        let marks_before = self.marks.iter().copied().filter(|at| *at < group.open);
        let marks_after = self.marks.iter().filter(|at| **at > group.close);
        Self {
            text: [before, &alternative.text, after].concat(),
            marks: marks_before
                .chain(alternative.marks.iter().map(|at| at + group.open))
                .chain(marks_after.map(|at| at - group.close - 1 + length))
                .collect(),
        }
    }
}

/// The members of `1..9`, `01..10..2` or `a..e`; `None` if the text is none, or has too many.
fn sequence(text: &str, max_length: usize) -> Option<Vec<MarkedWord>> {
    if text.len() > MAX_SEQUENCE_BYTES {
        return None;
    }
    let (first, rest) = text.split_once("..")?;
    let (last, step) = match rest.split_once("..") {
        Some((last, step)) => (last, step.parse::<i64>().ok()?),
        None => (rest, 1),
    };
    let step = step.unsigned_abs().max(1);
    let letter = |text: &str| {
        let mut chars = text.chars();
        let letter = chars.next().filter(char::is_ascii_alphabetic);
        letter.filter(|_| chars.next().is_none())
    };
    let (from, to, letters) = match (letter(first), letter(last)) {
        (Some(from), Some(to)) => (i64::from(u32::from(from)), i64::from(u32::from(to)), true),
        _ => (first.parse().ok()?, last.parse().ok()?, false),
    };
    let count = usize::try_from(from.abs_diff(to) / step).ok()?;
    if count >= max_length {
        return None;
    }
    let is_padded = |text: &str| {
        let digits = text.trim_start_matches('-');
        digits.len() > 1 && digits.starts_with('0')
    };
    let width = match is_padded(first) || is_padded(last) {
        true => first.len().max(last.len()),
        false => 0,
    };
    let mut member = from;
    let mut members = Vec::new();
    for _ in 0..=count {
        let text = match u8::try_from(member) {
            Ok(byte) if letters => char::from(byte).to_string(),
            _ => format!("{member:0width$}"),
        };
        members.push(MarkedWord {
            text,
            marks: Vec::new(),
        });
        member = match from <= to {
            true => member.checked_add_unsigned(step).unwrap_or(to),
            false => member.checked_sub_unsigned(step).unwrap_or(to),
        };
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All `{`, `,` and `}` of the word are unquoted.
    fn expand(word: &str, left: &mut usize) -> Option<String> {
        let marks = word
            .match_indices(['{', ',', '}'])
            .map(|(at, _)| at)
            .collect();
        Some(expanded(word, marks, left)?.join(" "))
    }

    #[test]
    fn braces_become_the_words_that_bash_makes_of_them() {
        let cases = [
            ("{a,b}", "a b"),
            ("x{a,b}y{c,d}", "xayc xayd xbyc xbyd"),
            ("{a,{b,c}d}", "a bd cd"),
            ("xy{a,{b,c}d}z", "xyaz xybdz xycdz"),
            ("{a{b,c}}", "{ab} {ac}"),
            ("{{a,b}", "{a {b"),
            ("{a,{b,c}", "{a,b {a,c"),
            ("{a,b}}", "a} b}"),
            ("{{},a}", "{} a"),
            ("{a,}", "a"),
            ("ä{ö,ü}ß", "äöß äüß"),
            ("{1..3}", "1 2 3"),
            ("{3..1..2}", "3 1"),
            ("{-1..1}", "-1 0 1"),
            ("{01..3}", "01 02 03"),
            ("{-01..1}", "-01 000 001"),
            ("{a..e..2}", "a c e"),
            ("{c..a..-1}", "c b a"),
            ("{1..2..0}", "1 2"),
            ("{9..11}", "9 10 11"),
            ("{0..10..5}", "0 5 10"),
            (
                "{9223372036854775806..9223372036854775807}",
                "9223372036854775806 9223372036854775807",
            ),
        ];
        for (word, expected) in cases {
            assert_eq!(
                expand(word, &mut 10_000).as_deref(),
                Some(expected),
                "{word}"
            );
        }
        for word in [
            "{}",
            "{a}",
            "{",
            "}{",
            "a,b",
            "{a..}",
            "{1..b}",
            "{ab..c}",
            "{1..2..x}",
            "{..}",
        ] {
            assert_eq!(expand(word, &mut 10_000), None, "{word}");
        }
    }

    #[test]
    fn the_number_of_characters_is_limited() {
        assert_eq!(expand("{a,b}", &mut 4), Some("a b".to_owned()));
        assert_eq!(expand("{a,b}", &mut 3), None);
        let mut left = 1 << 20;
        assert_eq!(expand(&"{a,b}".repeat(40), &mut left), None);
        assert!(left >= (1 << 20) - MAX_EXPANDED_CHARS);
        assert_eq!(expand("{1..9223372036854775807}", &mut left), None);
        let zeros = |count: usize| format!("{{{}1..2}}", "0".repeat(count));
        let longest = MAX_SEQUENCE_BYTES - "1..2".len();
        assert!(expand(&zeros(longest), &mut left).is_some());
        assert_eq!(expand(&zeros(longest + 1), &mut left), None);
        for many in ["{".repeat(100_000), format!("{{{}}}", ",".repeat(1 << 20))] {
            assert_eq!(expand(&many, &mut left), None);
        }
    }

    #[test]
    fn groups_in_groups_take_no_time_of_their_own() {
        let deep = format!("{}x{}", "{".repeat(3_000), ",b}".repeat(3_000));
        assert_eq!(expand(&deep, &mut (1 << 20)), None, "too long");
        let deep = format!("{}x{}", "{".repeat(50), ",b}".repeat(50));
        let words = expand(&deep, &mut (1 << 20)).unwrap();
        assert_eq!(words, format!("x{}", " b".repeat(50)));
    }
}
