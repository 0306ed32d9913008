//! Properties of the shell command reader, for arbitrary bytes: what it calls certain is certain.

#[cfg(test)]
use proptest::prelude::*;
use telechir_policy::{CommandReading, read_command};
use telechir_protocol::Command;

/// Checks bytes as a line, or as the arguments of one program.
pub(crate) fn check(which: u8, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let command = if which.is_multiple_of(4) {
        Command::Argv(text.split('\0').map(str::to_owned).collect())
    } else {
        Command::Line(text.clone().into_owned())
    };
    let CommandReading::Known(commands) = read_command(&command) else {
        return;
    };
    assert!(!commands.is_empty(), "something runs");
    for one in &commands {
        assert!(!one.words.is_empty(), "a command has a program");
        // The words alone, as a list of arguments, mean the same again.
        let again = read_command(&Command::Argv(one.words.clone()));
        if let CommandReading::Known(again) = again {
            assert_eq!(again.len(), 1);
            assert_eq!(again[0].words, one.words);
        }
    }
    let words = commands.iter().flat_map(|one| &one.words);
    let args_length: usize = words.map(String::len).sum();
    // Quotes may make arguments shorter, never longer.
    assert!(
        args_length <= text.len(),
        "{commands:?} is longer than {text:?}"
    );
}

#[cfg(test)]
const CORPUS: &str = include_str!("../corpus/commands.tsv");

/// Text that bash does not read as plain words.
#[cfg(test)]
const PIECES: [&str; 16] = [
    "'", "\"", "\\", "$", "`", "$(", ")", "<<", "\n", " ", ";", "&&", "{", "#", "\u{202e}", "\0",
];

#[cfg(test)]
fn commands() -> Vec<String> {
    let labelled = CORPUS.lines().filter_map(|line| line.split_once('\t'));
    labelled
        .filter_map(|(_, command)| serde_json::from_str(command).ok())
        .collect()
}

#[cfg(test)]
proptest! {
    #[test]
    fn a_damaged_command_is_read_exactly_or_not_at_all(
        command in prop::sample::select(commands()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len() + 1), 0..4),
        which in any::<u8>(),
    ) {
        let mut letters: Vec<String> = command.chars().map(String::from).collect();
        for (at, piece) in damage {
            let at = at.index(letters.len() + 1);
            match PIECES.get(piece) {
                Some(piece) => letters.insert(at, (*piece).to_owned()),
                None if at < letters.len() => drop(letters.remove(at)),
                None => {}
            }
        }
        check(which, letters.concat().as_bytes());
    }
}

/// Each unclosed bracket would double the parser's time.
#[test]
fn unclosed_brackets_are_not_parsed() {
    let open = "(".repeat(36);
    for command in [
        format!("coproc rm x{open}"),
        format!("(({open}a"),
        format!("for (({open};;)) ; do :; done"),
        format!("{open} '{}'", ")".repeat(36)),
    ] {
        let reading = read_command(&Command::Line(command.clone()));
        assert!(matches!(reading, CommandReading::Unknown(_)), "{command}");
    }
}

/// The parser would panic.
#[test]
fn an_impossible_descriptor_is_not_parsed() {
    let reading = read_command(&Command::Line("cat 55555555555</etc/hosts".to_owned()));
    assert!(matches!(reading, CommandReading::Unknown(_)), "{reading:?}");
}

/// The parser would exhaust memory.
#[test]
fn here_documents_are_not_parsed() {
    for command in [
        "cat <<[T$( <<[T$(T$( <<[T$(",
        "| << '' | ",
        "echo \"'\" <<A$( <<[T$(T$( <<[T$( \"'\"",
        "echo it\\'s; cat <<[T$( <<[T$(T$( <<[T$(",
        "echo # '\ncat <<[T$( <<[T$(T$( <<[T$(",
        "echo 'a' <<[T$( <<[T$(T$( <<[T$(",
        "echo \"a\" <<[T$( <<[T$(T$( <<[T$(",
        "echo a# <<[T$( <<[T$(T$( <<[T$(",
        "echo \"$( <<[T$( <<[T$(T$( <<[T$(\"",
    ] {
        let reading = read_command(&Command::Line(command.to_owned()));
        assert!(matches!(reading, CommandReading::Unknown(_)), "{command}");
    }
    for command in [
        "grep '<<' notes",
        "awk '{ print $1 << 2 }' notes",
        "echo \"a << b\"",
    ] {
        let reading = read_command(&Command::Line(command.to_owned()));
        assert!(
            matches!(reading, CommandReading::Known(_)),
            "{command}: {reading:?}"
        );
    }
}
/// The parser would try every meaning of the quotes and brackets, for hours.
#[test]
fn ambiguous_words_are_not_parsed() {
    for word in ["a[$ed-'", "a['ed-'", "a[b", "case x in x) if ", "! { "] {
        let command = word.repeat(40);
        let reading = read_command(&Command::Line(command.clone()));
        assert!(matches!(reading, CommandReading::Unknown(_)), "{command}");
    }
}
