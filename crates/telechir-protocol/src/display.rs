//! Text for the user's eyes: nothing in it can hide, move or imitate the text around it.

mod describe;

pub use describe::describe;

/// Maximum number of characters shown; the omitted middle is counted instead.
const MAX_SHOWN_CHARS: usize = 4_000;
/// Number of shown characters from the end.
const TAIL_CHARS: usize = 1_500;
/// Maximum number of consecutive line breaks, and of consecutive blanks.
const MAX_LINE_BREAKS: usize = 3;
const MAX_BLANKS: usize = 40;
/// Maximum number of consecutive repetitions of any other character.
const MAX_REPEATS: usize = 80;

/// A text made safe to show, with facts for the user about the original.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SafeText {
    /// The safe text. Lines end with `\n`; there are no other control characters.
    pub text: String,
    /// Whether the original has invisible characters, or ones that change how others are shown.
    pub hidden: bool,
    /// Whether a word mixes letters of scripts that look alike, such as a Cyrillic `с` in `curl`.
    pub mixed_scripts: bool,
    /// Whether a word has only letters of another script, and all of them look like Latin ones, such
    /// as a Cyrillic `сору`.
    pub imitates_latin: bool,
    /// Number of lines of the original.
    pub lines: usize,
    /// Number of bytes of the original.
    pub bytes: usize,
}

impl SafeText {
    /// Makes `text` safe to show.
    pub fn of(text: &str) -> Self {
        let (escaped, hidden) = escape_all(text);
        Self {
            text: head_and_tail(&escaped),
            hidden,
            mixed_scripts: text
                .split(|c: char| !c.is_alphanumeric())
                .any(mixes_scripts),
            imitates_latin: imitates_latin(text),
            lines: text.lines().count(),
            bytes: text.len(),
        }
    }
}

/// Escapes control characters, invisible characters and direction changes as `\u{…}`, collapses
/// long runs visibly, and shortens a long text to its head and tail.
///
/// ```
/// use telechir_protocol::display::escape;
/// assert_eq!(escape("ls\u{1b}[2K\rrm"), r"ls\u{1b}[2K\rrm");
/// assert_eq!(escape("safe\u{202e}txt"), r"safe\u{202e}txt");
/// ```
pub fn escape(text: &str) -> String {
    SafeText::of(text).text
}

/// The complete text, line by line, each made safe to show. Long runs are collapsed visibly; nothing
/// is left out.
///
/// ```
/// use telechir_protocol::display::escape_lines;
/// assert_eq!(escape_lines("ls\nrm \u{1b}[2K"), ["ls", r"rm \u{1b}[2K"]);
/// ```
pub fn escape_lines(text: &str) -> Vec<String> {
    let (escaped, _) = escape_all(text);
    escaped.split('\n').map(str::to_owned).collect()
}

fn escape_all(text: &str) -> (String, bool) {
    let mut out = String::with_capacity(text.len());
    let mut hidden = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let run = run_of(rest, c);
        rest = &rest[run.len()..];
        match collapsed(run, c) {
            Some(note) => out.push_str(&note),
            None => {
                for c in run.chars() {
                    hidden |= push_escaped(&mut out, c);
                }
            }
        }
    }
    (out, hidden)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\n' | '\t' | '\r')
}

/// The leading blanks, or the leading repetitions of the first character.
fn run_of(text: &str, first: char) -> &str {
    let end = if is_blank(first) {
        text.find(|c| !is_blank(c))
    } else {
        text.find(|c| c != first)
    };
    &text[..end.unwrap_or(text.len())]
}

/// The replacement for a run that is too long.
fn collapsed(run: &str, first: char) -> Option<String> {
    let count = run.chars().count();
    if !is_blank(first) {
        let mut shown = String::new();
        push_escaped(&mut shown, first);
        return (count > MAX_REPEATS).then(|| format!("{shown}⟨{count} times⟩"));
    }
    let breaks = run.matches('\n').count();
    if breaks > MAX_LINE_BREAKS {
        return Some(format!("\n⟨{breaks} line breaks, {count} blanks in all⟩\n"));
    }
    (count > MAX_BLANKS).then(|| format!("⟨{count} blanks⟩"))
}

/// Appends a character, escaped if necessary. Returns whether it was escaped.
fn push_escaped(out: &mut String, c: char) -> bool {
    let visible = c == '\n' || matches!(c, ' '..='~');
    // `escape_debug` escapes characters that print nothing or combine with the previous one.
    let mut escape = c.escape_debug();
    if visible || (escape.len() == 1 && !is_filler(c)) {
        out.push(c);
        return false;
    }
    if escape.len() == 1 {
        out.extend(c.escape_unicode());
    } else {
        out.extend(escape.by_ref());
    }
    c != '\t'
}

/// Letters and symbols that are invisible.
fn is_filler(c: char) -> bool {
    matches!(
        c,
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    )
}

fn head_and_tail(text: &str) -> String {
    let count = text.chars().count();
    if count <= MAX_SHOWN_CHARS {
        return text.to_owned();
    }
    let head: String = text.chars().take(MAX_SHOWN_CHARS - TAIL_CHARS).collect();
    let tail: String = text.chars().skip(count - TAIL_CHARS).collect();
    format!(
        "{head}\n⟨{} characters left out⟩\n{tail}",
        count - MAX_SHOWN_CHARS
    )
}

/// Whether a word has Latin letters and letters of a similar-looking script.
fn mixes_scripts(word: &str) -> bool {
    word.chars().any(is_latin) && word.chars().any(looks_latin)
}

fn is_latin(c: char) -> bool {
    c.is_ascii_alphabetic() || matches!(c, '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}')
}

/// Greek, Cyrillic, Armenian, Cherokee, Lisu and the wide and mathematical forms of Latin.
fn looks_latin(c: char) -> bool {
    matches!(c,
        '\u{370}'..='\u{3ff}' | '\u{400}'..='\u{52f}' | '\u{530}'..='\u{58f}'
        | '\u{13a0}'..='\u{13ff}' | '\u{1f00}'..='\u{1fff}' | '\u{a4d0}'..='\u{a4ff}'
        | '\u{ab70}'..='\u{abbf}' | '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}')
}

/// Whether a word has only letters of another script that look like Latin ones. A word of one letter
/// counts if the text has no other letters of that script: such words are common in real text.
fn imitates_latin(text: &str) -> bool {
    let mut has_single = false;
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let letters = || word.chars().filter(|c| c.is_alphabetic());
        if letters().next().is_none() || !letters().all(|c| looks_latin(c) && is_twin(c)) {
            continue;
        }
        if letters().nth(1).is_some() {
            return true;
        }
        has_single = true;
    }
    has_single && !text.chars().any(|c| looks_latin(c) && !is_twin(c))
}

/// Whether a letter of a similar-looking script has the shape of a Latin one.
fn is_twin(c: char) -> bool {
    const CYRILLIC: &str = "аеіїјорсухѕһԁԛԝѵӏүАВЕЗІЇЈКМНОРСТУХЅҺԌԜԚѴӀҮ";
    const GREEK: &str = "αγινορυϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿ";
    const ARMENIAN: &str = "հոսօցգՍՏՕԼ";
    // Cherokee and Lisu capitals, wide and mathematical letters imitate Latin by their nature.
    let is_imitation = matches!(c,
        '\u{13a0}'..='\u{13ff}' | '\u{a4d0}'..='\u{a4ff}' | '\u{ab70}'..='\u{abbf}'
        | '\u{ff21}'..='\u{ff5a}' | '\u{1d400}'..='\u{1d7ff}');
    is_imitation
        || [CYRILLIC, GREEK, ARMENIAN]
            .iter()
            .any(|set| set.contains(c))
}
