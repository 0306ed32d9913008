//! Finds the simple commands in a script, also in substitutions and in the arguments of programs that
//! run them.

use std::collections::BTreeSet;

use super::reader::{self, Text, UNKNOWN};
use super::runners::{file_name, is_runner, is_shell, script_words};
use crate::summary::escape;

/// Maximum number of bytes that are read of the scripts in one script, beyond twice its own length.
const MAX_READ_BYTES: usize = 1 << 20;
/// Characters of which a text has one if it is more than one word to a shell.
const SCRIPT_CHARACTERS: [char; 11] = [' ', '\t', '\n', ';', '&', '|', '(', '`', '<', '>', '\\'];
/// Maximum number of `=` in one word after which a script may begin.
const MAX_VALUES: usize = 4;
/// Longest beginning of an option in front of its value.
const MAX_OPTION_BYTES: usize = 8;

/// A command with its words after quote removal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ScriptCommand {
    pub(super) words: Vec<String>,
    /// Whether its last words may be a command themselves.
    is_runner: bool,
}

impl ScriptCommand {
    fn new(words: Vec<String>) -> Self {
        let is_unknown = |program: &String| program.contains(UNKNOWN);
        let is_runner = words
            .first()
            .is_some_and(|program| is_unknown(program) || is_runner(program));
        Self { words, is_runner }
    }

    /// Whether it runs the command of these words, which are escaped.
    pub(super) fn runs(&self, words: &[String]) -> bool {
        if is_same(&self.words, words) {
            return true;
        }
        // `find -exec` ends a command with one of these words.
        let ends = |word: &String| word == ";" || word == "+";
        let mut parts = self.words.split(ends);
        self.is_runner
            && parts.any(|part| {
                let start = part.len().checked_sub(words.len());
                start.is_some_and(|start| is_same(&part[start..], words))
            })
    }
}

/// Whether a command is the one of these escaped words; a program may be named with its folder.
fn is_same(own: &[String], words: &[String]) -> bool {
    let fits = |own: &str, word: &str| own == word || escape(own) == word;
    match (own.split_first(), words.split_first()) {
        (Some((program, own)), Some((other_program, words))) => {
            own.len() == words.len()
                && fits(file_name(program), file_name(other_program))
                && own.iter().zip(words).all(|(own, word)| fits(own, word))
        }
        (None, _) | (_, None) => false,
    }
}

/// All commands in a script, those of substitutions and of texts for other shells included.
pub(super) fn commands_of(text: &str) -> Vec<ScriptCommand> {
    let mut commands = Vec::new();
    let mut open = vec![Text::Script(text.to_owned())];
    let mut seen = BTreeSet::new();
    let mut left = MAX_READ_BYTES + 2 * text.len();
    let mut has_printed = false;
    loop {
        while let Some(text) = open.pop() {
            let length = match &text {
                Text::Script(text) | Text::Substitutions(text) => text.len(),
            };
            if length > left || !seen.insert(text.clone()) {
                continue;
            }
            left -= length;
            let contents = reader::read(&text);
            open.extend(contents.texts);
            for words in contents.commands.into_iter().chain(contents.expanded) {
                open.extend(scripts_in(&words));
                commands.push(ScriptCommand::new(words));
            }
        }
        let runs_input = |command: &ScriptCommand| {
            command
                .words
                .first()
                .is_some_and(|program| is_shell(program))
        };
        if has_printed || !commands.iter().any(runs_input) {
            return commands;
        }
        // What a command prints may be what the shell reads.
        has_printed = true;
        open.extend(commands.iter().flat_map(printed_by));
    }
}

/// The words of a script that is one command.
pub(super) fn words_of(text: &str) -> Option<Vec<String>> {
    let contents = reader::read(&Text::Script(text.to_owned()));
    let [words] = contents.commands.as_slice() else {
        return None;
    };
    Some(words.clone())
}

/// The texts among the words of a command that may be scripts.
fn scripts_in(words: &[String]) -> Vec<Text> {
    let Some(program) = words.first().map(|program| file_name(program)) else {
        return Vec::new();
    };
    let mut scripts: Vec<String> = Vec::new();
    for (before, word) in words.iter().zip(script_words(words)) {
        let takes_script = match program {
            "trap" => before == "trap" || before == "--",
            "alias" => word.contains('='),
            _ => is_runner(program) && is_script_option(before),
        };
        let word = match program {
            // A blank in `env -S`.
            "env" => word.replace("\\_", " "),
            _ => word.clone(),
        };
        if !takes_script && !word.contains(SCRIPT_CHARACTERS) {
            continue;
        }
        // Marks of commands, such as of an alias of Git or in an editor.
        let unmarked = word.trim_start_matches(['!', '+', ':', '|', '@', '-']);
        scripts.push(unmarked.to_owned());
        let values = word.match_indices('=').take(MAX_VALUES);
        scripts.extend(values.map(|(at, _)| word[at + 1..].trim_start_matches('!').to_owned()));
        if word.starts_with('-') {
            // An option and its value in one word.
            let ends = (2..=MAX_OPTION_BYTES).filter(|end| word.is_char_boundary(*end));
            scripts.extend(ends.map(|end| word[end..].to_owned()));
        }
    }
    scripts.into_iter().map(Text::Script).collect()
}

/// Whether the word after an option of a shell, or of a program that starts one, is a script.
fn is_script_option(option: &str) -> bool {
    let letters = option.strip_prefix('-').unwrap_or_default();
    let is_short =
        letters.ends_with(['c', 'C', 'S']) && letters.bytes().all(|b| b.is_ascii_alphabetic());
    is_short || matches!(option, "--command" | "--session-command" | "--split-string")
}

/// The texts that a command prints, if its words are what it prints.
fn printed_by(command: &ScriptCommand) -> [Text; 2] {
    let text = command.words[1..].join(" ");
    let lines = text.replace("\\n", "\n");
    [Text::Script(text), Text::Script(lines)]
}
