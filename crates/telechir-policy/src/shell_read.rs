//! Reads a command as bash would, or reports that this is uncertain. Only literal words count.
//!
//! `brush-parser` finds the commands; then every word must be literal by this module's own reading
//! of quotes. A command that either rejects is unknown, and the user is asked.

use brush_parser::ast;
use brush_parser::{ParserOptions, Token, TokenizerOptions, parse_tokens, uncached_tokenize_str};
use serde::Serialize;
use telechir_protocol::Command;

/// Longer commands are refused without parsing.
pub(crate) const MAX_BYTES: usize = 1024 * 1024;

/// The meaning of a command, as far as it is certain.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub enum CommandReading {
    /// Exactly these programs or builtins run, with exactly these words.
    Known(Vec<SimpleCommand>),
    /// The meaning is uncertain before bash runs it; the text tells the user why.
    Unknown(String),
    /// The command is too long to be parsed.
    TooLong,
}

/// One command of literal words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SimpleCommand {
    /// The words after quote removal; the first is the program. Never empty.
    pub words: Vec<String>,
    /// Redirections to and from files.
    pub redirections: Vec<Redirection>,
}

/// A redirection to or from a file with a literal name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Redirection {
    /// Whether it may change the file.
    pub writes: bool,
    /// Path of the file.
    pub path: String,
}

/// Reads a line, a script, or a list of arguments.
pub fn read_command(command: &Command) -> CommandReading {
    let line = command.to_line();
    if line.len() > MAX_BYTES {
        return CommandReading::TooLong;
    }
    let reading = match read_line(&line) {
        Ok(commands) => CommandReading::Known(commands),
        Err(reason) => CommandReading::Unknown(reason),
    };
    match (command, reading) {
        (Command::Argv(argv), CommandReading::Known(commands)) if !is_just(&commands, argv) => {
            CommandReading::Unknown(
                "the list of arguments means something else to a shell".to_owned(),
            )
        }
        (_, reading) => reading,
    }
}

fn is_just(commands: &[SimpleCommand], argv: &[String]) -> bool {
    matches!(commands, [only] if only.words == argv && only.redirections.is_empty())
}

fn read_line(line: &str) -> Result<Vec<SimpleCommand>, String> {
    check_characters(line)?;
    check_expansions(line)?;
    let unreadable = || "bash syntax error, or unsupported syntax".to_owned();
    let tokens = tokens(line).ok_or_else(unreadable)?;
    check_compounds(&tokens)?;
    check_words(&tokens)?;
    let options = ParserOptions {
        enable_extended_globbing: false,
        ..ParserOptions::default()
    };
    let program = parse_tokens(&tokens, &options).map_err(|_| unreadable())?;
    let mut commands = Vec::new();
    for ast::CompoundListItem(list, separator) in
        program.complete_commands.iter().flat_map(|list| &list.0)
    {
        if matches!(separator, ast::SeparatorOperator::Async) {
            return Err("it runs something in the background".to_owned());
        }
        let more = list.additional.iter().map(|next| match next {
            ast::AndOr::And(pipeline) | ast::AndOr::Or(pipeline) => pipeline,
        });
        for pipeline in std::iter::once(&list.first).chain(more) {
            read_pipeline(pipeline, &mut commands)?;
        }
    }
    if commands.is_empty() {
        Err("it is empty".to_owned())
    } else {
        Ok(commands)
    }
}

fn tokens(line: &str) -> Option<Vec<Token>> {
    let options = TokenizerOptions {
        enable_extended_globbing: false,
        ..TokenizerOptions::default()
    };
    uncached_tokenize_str(line, &options).ok()
}

/// bash treats these as ordinary characters, other parsers do not; no command needs them.
fn check_characters(line: &str) -> Result<(), String> {
    // Reject characters that a user who reads the line would not see.
    let unseen = |c: char| matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    let odd = |c: char| {
        (c.is_control() && !matches!(c, '\n' | '\t'))
            || (c.is_whitespace() && !c.is_ascii())
            || unseen(c)
    };
    if let Some(c) = line.chars().find(|c| odd(*c)) {
        return Err(format!("it contains the character {}", c.escape_unicode()));
    }
    // The only known difference between the parser and bash.
    if line.contains("\\\n") {
        return Err("one of its lines ends with a backslash".to_owned());
    }
    Ok(())
}

/// Rejects expansions and here documents: neither is ever certain, and some make the parser use
/// unbounded time and memory.
fn check_expansions(line: &str) -> Result<(), String> {
    let (mut quote, mut before) = (None, ' ');
    let mut chars = line.char_indices();
    while let Some((at, c)) = chars.next() {
        match (quote, c) {
            (Some('\''), '\'') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => drop(chars.next()),
            (None, '\'' | '"') => quote = Some(c),
            (Some(_), '"') => quote = None,
            (_, '$' | '`') => return Err("it expands something".to_owned()),
            (None, '<') if line[at..].starts_with("<<") => {
                return Err("it has a here document".to_owned());
            }
            (None, '#') if is_between_words(before) => {
                // A comment, up to the end of its line.
                let _comment = chars.by_ref().find(|(_, c)| *c == '\n');
                before = '\n';
                continue;
            }
            _ => {}
        }
        before = c;
    }
    Ok(())
}

const fn is_between_words(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>'
    )
}

/// Each open compound command doubles the parser's time.
fn check_compounds(tokens: &[Token]) -> Result<(), String> {
    const OPENERS: [&str; 10] = [
        "if", "while", "until", "for", "case", "select", "function", "coproc", "{", "[[",
    ];
    let mut is_first = true;
    for token in tokens {
        is_first = match token {
            Token::Operator(operator, _) if !operator.starts_with('(') => {
                !operator.contains(['<', '>'])
            }
            Token::Word(word, _) if !is_first || !OPENERS.contains(&word.as_str()) => {
                is_first && word == "!"
            }
            Token::Operator(..) | Token::Word(..) => {
                return Err("it has a compound command".to_owned());
            }
        };
    }
    Ok(())
}

/// Rejects what the parser would resolve by trying everything, and numbers on which it panics.
fn check_words(tokens: &[Token]) -> Result<(), String> {
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word, _) = token else {
            continue;
        };
        // `!` alone only inverts the exit code.
        if word != "!" {
            literal(word)?;
        }
        let is_number = word.chars().all(|c| c.is_ascii_digit());
        let is_redirected = matches!(tokens.get(at + 1), Some(Token::Operator(operator, _))
            if operator.starts_with(['<', '>']));
        if is_number && is_redirected && word.parse::<i32>().is_err() {
            return Err("it names an impossible file descriptor".to_owned());
        }
    }
    Ok(())
}

fn read_pipeline(
    pipeline: &ast::Pipeline,
    commands: &mut Vec<SimpleCommand>,
) -> Result<(), String> {
    if pipeline.timed.is_some() {
        return Err("it times a command".to_owned());
    }
    for command in &pipeline.seq {
        match command {
            ast::Command::Simple(simple) => commands.push(read_simple(simple)?),
            ast::Command::Compound(..) => return Err("it has a compound command".to_owned()),
            ast::Command::Function(..) => return Err("it defines a function".to_owned()),
            ast::Command::ExtendedTest(..) => return Err("it has a [[ test".to_owned()),
        }
    }
    Ok(())
}

fn read_simple(simple: &ast::SimpleCommand) -> Result<SimpleCommand, String> {
    let mut words = Vec::new();
    let mut redirections = Vec::new();
    for item in simple.prefix.iter().flat_map(|prefix| &prefix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                redirections.push(read_redirect(redirect)?);
            }
            ast::CommandPrefixOrSuffixItem::Word(_)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(..)
            | ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {
                return Err("it sets a variable".to_owned());
            }
        }
    }
    let Some(name) = &simple.word_or_name else {
        return Err("it has no command, only redirections".to_owned());
    };
    words.push(literal(&name.value)?);
    for item in simple.suffix.iter().flat_map(|suffix| &suffix.0) {
        match item {
            ast::CommandPrefixOrSuffixItem::Word(word)
            | ast::CommandPrefixOrSuffixItem::AssignmentWord(_, word) => {
                words.push(literal(&word.value)?);
            }
            ast::CommandPrefixOrSuffixItem::IoRedirect(redirect) => {
                redirections.push(read_redirect(redirect)?);
            }
            ast::CommandPrefixOrSuffixItem::ProcessSubstitution(..) => {
                return Err("it substitutes a process".to_owned());
            }
        }
    }
    Ok(SimpleCommand {
        words,
        redirections,
    })
}

fn read_redirect(redirect: &ast::IoRedirect) -> Result<Redirection, String> {
    use ast::IoFileRedirectKind::{
        Append, Clobber, DuplicateInput, DuplicateOutput, Read, ReadAndWrite, Write,
    };
    match redirect {
        ast::IoRedirect::File(_, kind, ast::IoFileRedirectTarget::Filename(word)) => {
            let writes = match kind {
                Read => false,
                Write | Append | ReadAndWrite | Clobber => true,
                DuplicateInput | DuplicateOutput => {
                    return Err("it duplicates a descriptor".to_owned());
                }
            };
            Ok(Redirection {
                writes,
                path: literal(&word.value)?,
            })
        }
        ast::IoRedirect::OutputAndError(word, _) => Ok(Redirection {
            writes: true,
            path: literal(&word.value)?,
        }),
        ast::IoRedirect::File(..) => Err("it duplicates a descriptor".to_owned()),
        ast::IoRedirect::HereDocument(..) | ast::IoRedirect::HereString(..) => {
            Err("it has a here document".to_owned())
        }
    }
}

/// The word after quote removal, if all its characters are literal.
fn literal(raw: &str) -> Result<String, String> {
    let mut word = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' => single_quoted(&mut chars, &mut word)?,
            '"' => double_quoted(&mut chars, &mut word)?,
            '\\' => word.push(chars.next().ok_or("it ends with a backslash")?),
            '$' | '`' => return Err("it expands something".to_owned()),
            '*' | '?' | '[' | ']' => return Err("it matches file names".to_owned()),
            '{' | '}' => return Err("it has braces".to_owned()),
            // The session's bash is interactive, so history expansion is on.
            '!' | '^' => return Err("it may expand the history".to_owned()),
            '~' => return Err("it expands a home folder".to_owned()),
            '(' | ')' | '<' | '>' | '|' | '&' | ';' | ' ' | '\t' | '\n' => {
                return Err("one of its words could not be parsed".to_owned());
            }
            plain => word.push(plain),
        }
    }
    Ok(word)
}

fn single_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    for c in chars.by_ref() {
        match c {
            '\'' => return Ok(()),
            plain => word.push(plain),
        }
    }
    Err("it has an unclosed quote".to_owned())
}

fn double_quoted(chars: &mut std::str::Chars<'_>, word: &mut String) -> Result<(), String> {
    while let Some(c) = chars.next() {
        match c {
            '"' => return Ok(()),
            '$' | '`' => return Err("it expands something".to_owned()),
            '!' => return Err("it may expand the history".to_owned()),
            '\\' => match chars.next() {
                Some(escaped @ ('$' | '`' | '"' | '\\')) => word.push(escaped),
                Some(other) => word.extend(['\\', other]),
                None => break,
            },
            plain => word.push(plain),
        }
    }
    Err("it has an unclosed quote".to_owned())
}
