//! Reads a script as bash does, up to its words: which commands it has, also in substitutions, and
//! which of its texts may be scripts themselves.
//!
//! A stack of its own instead of recursion: the nesting of a script has no limit but its length.

mod ansi_c;
mod names;

use std::mem;

use super::braces;
use names::{assigned, is_descriptor, is_name, parameter_length};

/// Stands for what is known only when it runs.
pub(super) const UNKNOWN: char = '\u{fffd}';
/// Words before a command that are not part of it.
const KEYWORDS: [&str; 10] = [
    "!", "coproc", "do", "elif", "else", "if", "then", "time", "until", "while",
];
/// Words with which a compound command begins, after the name of a coprocess.
const COMPOUNDS: [&str; 9] = [
    "[[", "case", "for", "if", "select", "until", "while", "{", "((",
];
/// Ends of the names of variables whose value programs run.
const COMMAND_VARIABLES: [&str; 6] = ["COMMAND", "EDITOR", "PAGER", "VISUAL", "BROWSER", "ASKPASS"];
/// How many `((` are read twice, because they are no arithmetic, but groups in groups.
const MAX_READ_AGAIN: usize = 64;

/// How many characters of groups in groups are read again, beyond four times the script's own.
const MAX_GROUPED: usize = 64 << 10;

/// A text to read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Text {
    /// Commands.
    Script(String),
    /// As between double quotes: only what is substituted counts.
    Substitutions(String),
}

/// What a text contains.
#[derive(Debug, Default)]
pub(super) struct ReadText {
    /// The words of each command after quote removal; none is empty.
    pub(super) commands: Vec<Vec<String>>,
    /// The words of the commands with braces, after brace expansion; `commands` has them as written.
    pub(super) expanded: Vec<Vec<String>>,
    /// Texts in it: here documents, values of variables, backquoted commands.
    pub(super) texts: Vec<Text>,
}

/// Reads one text, not those in it.
pub(super) fn read(text: &Text) -> ReadText {
    let (text, frames) = match text {
        Text::Script(text) => (text, Vec::new()),
        Text::Substitutions(text) => (text, vec![Frame::Substitutions]),
    };
    let chars: Vec<char> = text.chars().collect();
    let mut reader = ScriptReader {
        chars: &chars,
        at: 0,
        level: CommandLevel::default(),
        frames,
        documents: Vec::new(),
        read_again: 0,
        left: MAX_GROUPED + 4 * chars.len(),
        left_for_braces: MAX_GROUPED + 4 * chars.len(),
        contents: ReadText::default(),
    };
    reader.read();
    reader.contents
}

/// What is open around the present character, the innermost last.
#[derive(Debug)]
enum Frame {
    /// Commands up to `)`, in a command of this level.
    Commands(CommandLevel),
    DoubleQuotes,
    /// As between double quotes, up to the end of the text.
    Substitutions,
    /// `${…}`.
    Braces(Braces),
    /// Arithmetic, or the subscript of an array.
    Brackets(Brackets),
}

#[derive(Debug)]
struct Braces {
    outer: CommandLevel,
    start: usize,
    is_quote_literal: bool,
}

#[derive(Debug)]
struct Brackets {
    outer: CommandLevel,
    start: usize,
    open: char,
    close: char,
    depth: usize,
    kind: BracketKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BracketKind {
    /// `$((…))`, which is a command if it is no arithmetic.
    Substitution,
    /// `((…))`; read again as commands if no second bracket closes it.
    Command,
    /// `$[…]`, or `[…]` of an array.
    Plain,
}

/// Commands at one depth of nesting, as far as they are read.
#[derive(Debug, Default)]
struct CommandLevel {
    words: Vec<String>,
    /// The words after brace expansion, if there is any.
    expanded: Option<Vec<String>>,
    word: Option<String>,
    /// Byte positions of unquoted `{`, `,` and `}` in the word.
    brace_marks: Vec<usize>,
    word_start: usize,
    /// Length of the word at its first quote.
    quoted_at: Option<usize>,
    /// What the next word is, if it is not an argument.
    redirection: Option<RedirectTarget>,
    /// Whether something stands before the command after which no keyword counts.
    has_prefix: bool,
    /// Whether the keyword before was `time` or `coproc`.
    after: Option<&'static str>,
    /// The `case` commands that are open, the innermost last.
    cases: Vec<CasePart>,
}

#[derive(Clone, Copy, Debug)]
enum RedirectTarget {
    File,
    /// A text that the command reads.
    HereString,
    HereDocument(HereKind),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HereKind {
    Plain,
    /// `<<-`: tabs at the beginning of its lines do not count.
    WithoutTabs,
}

/// A here document that begins at the next line.
#[derive(Debug)]
struct HereDocument {
    end: String,
    is_literal: bool,
    kind: HereKind,
}

/// What comes next in a `case` command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CasePart {
    Subject,
    In,
    Pattern,
    Commands,
}

struct ScriptReader<'a> {
    chars: &'a [char],
    at: usize,
    level: CommandLevel,
    frames: Vec<Frame>,
    documents: Vec<HereDocument>,
    read_again: usize,
    /// How many characters of groups may be read again.
    left: usize,
    /// How many characters words with braces may become.
    left_for_braces: usize,
    contents: ReadText,
}

impl ScriptReader<'_> {
    fn read(&mut self) {
        loop {
            while let Some(c) = self.next() {
                match self.frames.last() {
                    None | Some(Frame::Commands(_)) => self.in_commands(c),
                    Some(Frame::DoubleQuotes | Frame::Substitutions) => self.in_double_quotes(c),
                    Some(Frame::Braces(_)) => self.in_braces(c),
                    Some(Frame::Brackets(_)) => self.in_brackets(c),
                }
            }
            match self.frames.pop() {
                None => break,
                Some(Frame::DoubleQuotes) => {}
                Some(Frame::Substitutions) => return,
                Some(Frame::Commands(outer)) => {
                    self.end_command();
                    self.level = outer;
                }
                Some(Frame::Braces(braces)) => self.level = braces.outer,
                Some(Frame::Brackets(brackets)) => self.end_brackets(brackets),
            }
        }
        self.end_command();
    }

    fn next(&mut self) -> Option<char> {
        let next = self.chars.get(self.at).copied();
        self.at += usize::from(next.is_some());
        next
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn next_if(&mut self, wanted: char) -> bool {
        let is_next = self.peek(0) == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn in_commands(&mut self, c: char) {
        match c {
            ' ' | '\t' | '\r' => self.end_word(),
            '#' if self.level.word.is_none() => {
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            '\n' => {
                self.end_command();
                self.here_documents();
            }
            '&' if self.next_if('>') => {
                self.next_if('>');
                self.redirect(RedirectTarget::File);
            }
            ';' if matches!(self.peek(0), Some(';' | '&')) => self.end_of_case_commands(),
            ';' | '&' | '|' => self.end_command(),
            ')' => self.close_bracket(),
            '(' => self.open_bracket(),
            '<' | '>' if self.next_if('(') => {
                self.push(UNKNOWN);
                self.open_commands();
            }
            '<' | '>' => self.angle(c),
            '[' if self.is_subscript() => {
                self.push('[');
                self.push(']');
                self.open_brackets('[', BracketKind::Plain);
            }
            '\\' => match self.next() {
                None | Some('\n') => {}
                Some(escaped) => {
                    self.quote();
                    self.push(escaped);
                }
            },
            '\'' => {
                self.quote();
                let text = self.up_to_quote();
                self.level.word.get_or_insert_default().extend(text);
            }
            '"' => {
                self.quote();
                self.frames.push(Frame::DoubleQuotes);
            }
            '`' => self.backquoted(),
            '$' => self.dollar(),
            '{' | ',' | '}' => {
                self.push(c);
                let length = self.level.word.as_ref().map_or(0, String::len);
                self.level.brace_marks.push(length - 1);
            }
            plain => self.push(plain),
        }
    }

    fn in_double_quotes(&mut self, c: char) {
        let is_end = matches!(self.frames.last(), Some(Frame::DoubleQuotes)) && c == '"';
        match c {
            _ if is_end => drop(self.frames.pop()),
            '`' => self.backquoted(),
            '$' if !matches!(self.peek(0), Some('\'' | '"')) => self.dollar(),
            '\\' => match self.next() {
                Some('\n') | None => {}
                Some(escaped @ ('$' | '`' | '"' | '\\')) => self.push(escaped),
                Some(other) => {
                    self.push('\\');
                    self.push(other);
                }
            },
            plain => self.push(plain),
        }
    }

    fn in_braces(&mut self, c: char) {
        match c {
            '}' => {
                let Some(Frame::Braces(Braces { outer, start, .. })) = self.frames.pop() else {
                    return;
                };
                self.level = outer;
                // Since bash 5.3, `${ command; }` and `${| command; }` run it.
                let text = &self.chars[start..self.at - 1];
                if text.first().is_some_and(|c| c.is_whitespace() || *c == '|') {
                    self.add_group(&text[1..]);
                }
            }
            '<' | '>' if self.next_if('(') => self.open_commands(),
            _ => self.in_group(c),
        }
    }

    fn in_brackets(&mut self, c: char) {
        let Some(Frame::Brackets(brackets)) = self.frames.last_mut() else {
            return;
        };
        if c == brackets.open {
            brackets.depth += 1;
        } else if c == brackets.close {
            brackets.depth -= 1;
            if brackets.depth == 0
                && let Some(Frame::Brackets(brackets)) = self.frames.pop()
            {
                self.end_brackets(brackets);
            }
        } else {
            self.in_group(c);
        }
    }

    /// A character that is neither part of a word nor ends the group around it.
    fn in_group(&mut self, c: char) {
        match c {
            '\\' => drop(self.next()),
            '\'' if self.is_quote_literal() => {}
            '\'' => {
                // Between double quotes bash substitutes in it, too.
                let text: String = self.up_to_quote().iter().collect();
                if text.contains(['$', '`']) {
                    self.contents.texts.push(Text::Substitutions(text));
                }
            }
            '"' => self.frames.push(Frame::DoubleQuotes),
            '`' => self.backquoted(),
            '$' if self.is_quote_literal() && self.peek(0) == Some('\'') => {}
            '$' => self.dollar(),
            _ => {}
        }
    }

    /// Whether a single quote stands for itself in the `${…}` that begins here: in the word of
    /// `"${name:-word}"`, but not in the pattern of `"${name#pattern}"`.
    fn is_quote_literal_in_braces(&self) -> bool {
        let is_quoted = match self.frames.last() {
            Some(Frame::DoubleQuotes | Frame::Substitutions) => true,
            Some(Frame::Braces(braces)) => braces.is_quote_literal,
            _ => false,
        };
        let rest = &self.chars[self.at..];
        let rest = &rest[parameter_length(rest)..];
        is_quoted && matches!(rest.first(), Some('-' | '+' | '=' | ':' | '?'))
    }

    fn is_quote_literal(&self) -> bool {
        let frame = self.frames.last();
        matches!(frame, Some(Frame::Braces(braces)) if braces.is_quote_literal)
    }

    fn push(&mut self, c: char) {
        if self.level.word.is_none() {
            self.level.word_start = self.at - 1;
        }
        self.level.word.get_or_insert_default().push(c);
    }

    /// Notes that a part of the word is quoted, so that it is no keyword.
    fn quote(&mut self) {
        if self.level.word.is_none() {
            self.level.word_start = self.at - 1;
        }
        let length = self.level.word.get_or_insert_default().len();
        self.level.quoted_at.get_or_insert(length);
    }

    /// The text up to the next single quote, which is passed.
    fn up_to_quote(&mut self) -> Vec<char> {
        let rest = &self.chars[self.at..];
        let end = rest.iter().position(|c| *c == '\'');
        let text = rest[..end.unwrap_or(rest.len())].to_vec();
        self.at += text.len() + usize::from(end.is_some());
        text
    }

    fn backquoted(&mut self) {
        self.push(UNKNOWN);
        let is_quoted = matches!(self.frames.last(), Some(Frame::DoubleQuotes));
        let mut text = String::new();
        while let Some(c) = self.next().filter(|c| *c != '`') {
            match c {
                '\\' => match self.next() {
                    Some(escaped @ ('$' | '`' | '\\')) => text.push(escaped),
                    Some('"') if is_quoted => text.push('"'),
                    other => text.extend(std::iter::once('\\').chain(other)),
                },
                plain => text.push(plain),
            }
        }
        self.contents.texts.push(Text::Script(text));
    }

    /// What follows a dollar sign.
    fn dollar(&mut self) {
        match self.peek(0) {
            Some('\'') => {
                self.quote();
                self.at += 1;
                self.ansi_c_quoted();
            }
            Some('"') => {
                self.quote();
                self.at += 1;
                self.frames.push(Frame::DoubleQuotes);
            }
            Some('(') if self.peek(1) == Some('(') => {
                self.push(UNKNOWN);
                self.at += 1;
                self.open_brackets('(', BracketKind::Substitution);
            }
            Some('(') => {
                self.push(UNKNOWN);
                self.at += 1;
                self.open_commands();
            }
            Some('[') => {
                self.push(UNKNOWN);
                self.at += 1;
                self.open_brackets('[', BracketKind::Plain);
            }
            Some('{') => {
                self.push(UNKNOWN);
                self.at += 1;
                let braces = Braces {
                    is_quote_literal: self.is_quote_literal_in_braces(),
                    outer: mem::take(&mut self.level),
                    start: self.at,
                };
                self.frames.push(Frame::Braces(braces));
            }
            // The process id, which takes both.
            Some('$') => {
                self.push(UNKNOWN);
                self.at += 1;
            }
            _ => self.push(UNKNOWN),
        }
    }

    /// Begins the commands of a substitution or group.
    fn open_commands(&mut self) {
        let outer = mem::take(&mut self.level);
        self.frames.push(Frame::Commands(outer));
    }

    fn open_brackets(&mut self, open: char, kind: BracketKind) {
        let outer = mem::take(&mut self.level);
        self.frames.push(Frame::Brackets(Brackets {
            outer,
            start: self.at,
            open,
            close: if open == '(' { ')' } else { ']' },
            depth: 1,
            kind,
        }));
    }

    fn end_brackets(&mut self, brackets: Brackets) {
        let Brackets {
            outer,
            start,
            depth,
            kind,
            ..
        } = brackets;
        self.level = outer;
        match kind {
            BracketKind::Plain => {}
            BracketKind::Substitution => {
                let end = self.at - usize::from(depth == 0);
                self.add_group(&self.chars[start..end]);
            }
            BracketKind::Command if depth == 0 && self.next_if(')') => self.end_command(),
            BracketKind::Command => {
                self.read_again += 1;
                self.at = start - 1;
                self.open_commands();
            }
        }
    }

    /// Adds the text of a group that may be commands. Many in each other have much text.
    fn add_group(&mut self, text: &[char]) {
        if let Some(left) = self.left.checked_sub(text.len()) {
            self.left = left;
            let text = text.iter().collect();
            self.contents.texts.push(Text::Script(text));
        }
    }

    /// An opening bracket between words.
    fn open_bracket(&mut self) {
        if self.peek(0) == Some('(') {
            // A keyword, as in `if((`.
            self.end_word();
        }
        let level = &self.level;
        if level.cases.last() == Some(&CasePart::Pattern) && level.word.is_none() {
            return;
        }
        let is_command = level.words.is_empty() || level.words == ["for"];
        let may_be_arithmetic = is_command && self.read_again < MAX_READ_AGAIN;
        if level.word.is_none() && may_be_arithmetic && self.next_if('(') {
            self.open_brackets('(', BracketKind::Command);
        } else {
            self.end_command();
            self.open_commands();
        }
    }

    /// A closing bracket between words.
    fn close_bracket(&mut self) {
        self.end_command();
        if let Some(part @ CasePart::Pattern) = self.level.cases.last_mut() {
            *part = CasePart::Commands;
        } else if let Some(Frame::Commands(outer)) = self.frames.pop() {
            self.level = outer;
        }
    }

    /// The second character of `;;` or `;&`.
    fn end_of_case_commands(&mut self) {
        self.at += 1;
        self.next_if('&');
        self.end_command();
        if let Some(part @ CasePart::Commands) = self.level.cases.last_mut() {
            *part = CasePart::Pattern;
        }
    }

    /// Whether a `[` begins the subscript of an array that is assigned to.
    fn is_subscript(&self) -> bool {
        let level = &self.level;
        let is_first = level.words.is_empty() && level.redirection.is_none();
        is_first && level.quoted_at.is_none() && level.word.as_deref().is_some_and(is_name)
    }

    /// A redirection or a here document, whose first character was read.
    fn angle(&mut self, first: char) {
        let is_plain = self.level.quoted_at.is_none();
        if is_plain && self.level.word.as_deref().is_some_and(is_descriptor) {
            self.level.word = None;
            self.level.brace_marks.clear();
        }
        if first == '>' || !self.next_if('<') {
            let _is_longer = self.next_if('&') || self.next_if('>') || self.next_if('|');
            self.redirect(RedirectTarget::File);
        } else if self.next_if('<') {
            self.redirect(RedirectTarget::HereString);
        } else {
            let kind = match self.next_if('-') {
                true => HereKind::WithoutTabs,
                false => HereKind::Plain,
            };
            self.redirect(RedirectTarget::HereDocument(kind));
        }
    }

    fn redirect(&mut self, redirection: RedirectTarget) {
        self.end_word();
        self.level.has_prefix = true;
        self.level.redirection = Some(redirection);
    }

    /// Reads the here documents that begin at this line.
    fn here_documents(&mut self) {
        for document in mem::take(&mut self.documents) {
            let mut text = String::new();
            while self.at < self.chars.len() {
                let line = self.line(document.is_literal);
                let unindented = match document.kind {
                    HereKind::Plain => line.as_str(),
                    HereKind::WithoutTabs => line.trim_start_matches('\t'),
                };
                if unindented == document.end {
                    break;
                }
                text.push_str(unindented);
                text.push('\n');
            }
            if !document.is_literal {
                self.contents.texts.push(Text::Substitutions(text.clone()));
            }
            // The command may be a shell.
            self.contents.texts.push(Text::Script(text));
        }
    }

    /// The next line without its end; a backslash before the end joins it with the next one unless it is
    /// literal.
    fn line(&mut self, is_literal: bool) -> String {
        let mut line = String::new();
        while let Some(c) = self.next().filter(|c| *c != '\n') {
            match c {
                '\\' if !is_literal => match self.next() {
                    Some('\n') | None => {}
                    Some(other) => line.extend(['\\', other]),
                },
                plain => line.push(plain),
            }
        }
        line
    }

    fn end_word(&mut self) {
        let Some(word) = self.level.word.take() else {
            return;
        };
        let quoted_at = self.level.quoted_at.take();
        let brace_marks = mem::take(&mut self.level.brace_marks);
        let is_quoted = quoted_at.is_some();
        match self.level.redirection.take() {
            None => {}
            Some(RedirectTarget::File) => return,
            Some(RedirectTarget::HereString) => {
                self.contents.texts.push(Text::Script(word));
                return;
            }
            Some(RedirectTarget::HereDocument(kind)) => {
                return self.expect_document(word, is_quoted, kind);
            }
        }
        if self.is_part_of_case(&word, is_quoted) {
            return;
        }
        let is_first = self.level.words.is_empty() && !self.level.has_prefix;
        if !is_quoted && (word == "{" || word == "}") {
            return self.end_command();
        }
        if is_first && !is_quoted && self.is_keyword(&word) {
            return;
        }
        // Bash negates behind some redirections, too: `{name}>file ! command`.
        if word == "!" && self.level.words.is_empty() && !is_quoted {
            return;
        }
        if self.level.words.is_empty()
            && let Some((name, value)) = assigned(&word, quoted_at)
        {
            self.level.has_prefix = true;
            let is_run = COMMAND_VARIABLES.iter().any(|end| name.ends_with(end));
            if is_run || value.contains(char::is_whitespace) {
                self.contents.texts.push(Text::Script(value.to_owned()));
            }
            return;
        }
        self.expand_braces(&word, brace_marks);
        self.level.words.push(word);
        self.end_of_head(is_quoted);
    }

    /// Adds what a word becomes to the expanded words, before it is added itself.
    fn expand_braces(&mut self, word: &str, marks: Vec<usize>) {
        let level = &mut self.level;
        // Two braces, and a comma or a sequence between them.
        let expanded = match marks.len() {
            0 | 1 => None,
            _ => braces::expanded(word, marks, &mut self.left_for_braces),
        };
        match expanded {
            Some(new) => {
                let words = level.expanded.get_or_insert_with(|| level.words.clone());
                words.extend(new);
            }
            None => level
                .expanded
                .iter_mut()
                .for_each(|words| words.push(word.to_owned())),
        }
    }

    /// Whether a word at the beginning of a command is not part of it.
    fn is_keyword(&mut self, word: &str) -> bool {
        let after = self.level.after.take();
        match word {
            "case" => self.level.cases.push(CasePart::Subject),
            "esac" if !self.level.cases.is_empty() => drop(self.level.cases.pop()),
            "-p" | "--" if after == Some("time") => self.level.after = after,
            _ => {
                let keyword = KEYWORDS.into_iter().find(|keyword| *keyword == word);
                self.level.after = keyword.or(after);
                return keyword.is_some();
            }
        }
        true
    }

    /// Whether a word belongs to the head of a `case` command or to a pattern of it.
    fn is_part_of_case(&mut self, word: &str, is_quoted: bool) -> bool {
        let Some(part) = self.level.cases.last_mut() else {
            return false;
        };
        match part {
            CasePart::Subject => *part = CasePart::In,
            CasePart::In => *part = CasePart::Pattern,
            CasePart::Pattern if !is_quoted && word == "esac" => drop(self.level.cases.pop()),
            CasePart::Pattern => {}
            CasePart::Commands => return false,
        }
        true
    }

    /// Ends the part of a command after which another one begins without a separator.
    fn end_of_head(&mut self, is_quoted: bool) {
        if is_quoted {
            return;
        }
        let is_head = match self.level.words.as_slice() {
            [name, _] if name == "function" => true,
            [name, _, last] if name == "for" || name == "select" => last == "do",
            _ => false,
        };
        if is_head {
            return self.end_command();
        }
        if self.level.after == Some("coproc")
            && let [_name, last] = self.level.words.as_slice()
            && COMPOUNDS.contains(&last.as_str())
        {
            let first = self.level.words.pop().unwrap_or_default();
            self.end_command();
            if !self.is_keyword(&first) {
                self.level.words.push(first);
            }
        }
    }

    /// Remembers a here document by the word that ends it.
    fn expect_document(&mut self, word: String, is_quoted: bool, kind: HereKind) {
        let end = match word.contains(UNKNOWN) {
            // Nothing is substituted in it.
            true => {
                let raw = &self.chars[self.level.word_start..];
                let length = raw
                    .iter()
                    .position(|c| c.is_whitespace() || ";&|".contains(*c));
                let raw = raw[..length.unwrap_or(raw.len())].iter();
                raw.filter(|c| !"'\"\\".contains(**c)).collect()
            }
            false => word,
        };
        self.documents.push(HereDocument {
            end,
            is_literal: is_quoted,
            kind,
        });
    }

    fn end_command(&mut self) {
        self.end_word();
        let words = mem::take(&mut self.level.words);
        let expanded = self.level.expanded.take();
        let has_words = |words: &Vec<String>| !words.is_empty();
        self.contents.expanded.extend(expanded.filter(has_words));
        self.level = CommandLevel {
            cases: mem::take(&mut self.level.cases),
            ..CommandLevel::default()
        };
        if !words.is_empty() {
            self.contents.commands.push(words);
        }
    }
}
