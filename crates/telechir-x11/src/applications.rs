//! Applications by name: desktop entries (the freedesktop.org specification) and programs.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::XError;

/// Applications that an error names at most.
const MOST_NAMED: usize = 12;
/// Longer is no desktop entry.
const LONGEST_ENTRY: u64 = 256 << 10;

/// A program with its arguments, found by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Application {
    /// What people call it.
    pub(crate) name: String,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

/// What a desktop entry says.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    /// The file's name without its ending: `org.gnome.Calculator`.
    id: String,
    name: String,
    generic: String,
    keywords: String,
    words: Vec<String>,
    in_terminal: bool,
}

/// Finds what a name means among the entries in `folders` and the programs in `path`.
///
/// An exact name comes before a part of one, an entry before a bare program.
///
/// # Errors
/// When there is none, or several fit alike; the message names them.
pub(crate) fn find(
    name: &str,
    folders: &[PathBuf],
    path: &[PathBuf],
) -> Result<Application, XError> {
    let name = name.trim();
    let wanted = name.trim_end_matches(".desktop").to_lowercase();
    if wanted.is_empty() {
        return Err(XError::Impossible("Name the application.".to_owned()));
    }
    let entries = entries(folders);
    let is = |text: &str| text.to_lowercase() == wanted;
    let last_part = |entry: &Entry| entry.id.rsplit('.').next().is_some_and(is);
    let program_of = |entry: &Entry| is(base_name(&entry.words[0]));
    let exact: [&dyn Fn(&Entry) -> bool; 5] = [
        &|entry| is(&entry.id),
        &|entry| is(&entry.name),
        &last_part,
        &program_of,
        &|entry| is(&entry.generic),
    ];
    for fits in exact {
        let fitting: Vec<&Entry> = entries.iter().filter(|entry| fits(entry)).collect();
        match fitting.as_slice() {
            [] => {}
            [entry] => return Ok(entry.application()),
            several => match program(name, path) {
                // The program itself, where several entries start it in different ways.
                Some(program) => return Ok(program),
                None => return Err(ambiguous(name, several)),
            },
        }
    }
    if let Some(program) = program(name, path) {
        return Ok(program);
    }
    let holds = |text: &str| text.to_lowercase().contains(&wanted);
    let near: Vec<&Entry> = entries
        .iter()
        .filter(|entry| {
            [&entry.name, &entry.generic, &entry.keywords, &entry.id]
                .into_iter()
                .any(|text| holds(text))
        })
        .collect();
    match near.as_slice() {
        [entry] => Ok(entry.application()),
        [] => Err(unknown(name, &entries)),
        several => Err(ambiguous(name, several)),
    }
}

fn ambiguous(name: &str, several: &[&Entry]) -> XError {
    let names = names(several.iter().copied());
    XError::Impossible(format!(
        "Several applications fit {name:?}: {names}. Use the whole name or the id in brackets."
    ))
}

fn unknown(name: &str, entries: &[Entry]) -> XError {
    let there = if entries.is_empty() {
        "No application is installed with a desktop entry; name a program.".to_owned()
    } else {
        format!("There are: {}.", names(entries.iter()))
    };
    XError::Impossible(format!(
        "There is no application or program {name:?}. {there}"
    ))
}

fn names<'a>(entries: impl Iterator<Item = &'a Entry>) -> String {
    let mut names: Vec<String> = entries
        .map(|entry| format!("{} [{}]", entry.name, entry.id))
        .collect();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// A program by its name, or by its whole path.
fn program(name: &str, path: &[PathBuf]) -> Option<Application> {
    let is_program = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        let found = path.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let is_there = if name.contains('/') {
        Path::new(name).is_absolute() && is_program(Path::new(name))
    } else {
        path.iter().any(|folder| is_program(&folder.join(name)))
    };
    is_there.then(|| Application {
        name: base_name(name).to_owned(),
        program: name.to_owned(),
        args: Vec::new(),
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// All entries that people are shown; an earlier folder's come before a later one's of that id.
fn entries(folders: &[PathBuf]) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    for folder in folders {
        let Ok(files) = fs::read_dir(folder) else {
            continue;
        };
        let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        paths.sort();
        for path in paths {
            let is_entry = path.extension().is_some_and(|ending| ending == "desktop");
            let Some(id) = path.file_stem().and_then(|stem| stem.to_str()) else {
                continue;
            };
            if !is_entry || entries.iter().any(|entry| entry.id == id) {
                continue;
            }
            entries.extend(read(&path).and_then(|text| parse(id, &text)));
        }
    }
    entries
}

fn read(path: &Path) -> Option<String> {
    let is_short = path.metadata().ok()?.len() <= LONGEST_ENTRY;
    is_short.then(|| fs::read_to_string(path).ok()).flatten()
}

/// The entry of an application; none when the file is of another kind, or not to be shown.
fn parse(id: &str, text: &str) -> Option<Entry> {
    let lines = text
        .lines()
        .map(str::trim)
        .skip_while(|line| *line != "[Desktop Entry]")
        .skip(1)
        .take_while(|line| !line.starts_with('['));
    let members: Vec<(&str, &str)> = lines
        .filter_map(|line| line.split_once('='))
        .map(|(key, value)| (key.trim(), value.trim()))
        .collect();
    let of = |key: &str| {
        let found = members.iter().find(|(name, _)| *name == key);
        found.map_or("", |(_, value)| value)
    };
    let is_set = |key: &str| of(key) == "true";
    if of("Type") != "Application" || is_set("NoDisplay") || is_set("Hidden") {
        return None;
    }
    let words = command(&unescape(of("Exec")), of("Name"))?;
    Some(Entry {
        id: id.to_owned(),
        name: unescape(of("Name")),
        generic: unescape(of("GenericName")),
        keywords: unescape(of("Keywords")),
        words,
        in_terminal: is_set("Terminal"),
    })
}

/// What the file's strings write as a backslash and a letter.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            plain.push(c);
            continue;
        }
        match chars.next() {
            Some('s') => plain.push(' '),
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some('r') => plain.push('\r'),
            Some('\\') | None => plain.push('\\'),
            Some(other) => plain.extend(['\\', other]),
        }
    }
    plain
}

/// A command's words, without the places for files and addresses; none when it has no word.
fn command(exec: &str, name: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut chars = exec.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            break;
        }
        let (mut word, mut quoted, mut was_quoted) = (String::new(), false, false);
        while let Some(c) = chars.next_if(|c| quoted || !c.is_whitespace()) {
            match c {
                '"' => {
                    quoted = !quoted;
                    was_quoted = true;
                }
                '\\' if quoted => word.extend(chars.next()),
                '%' if !quoted => match chars.next() {
                    Some('%') => word.push('%'),
                    Some('c') => word.push_str(name),
                    // Files, addresses, icons: none is given.
                    Some(_) | None => {}
                },
                c => word.push(c),
            }
        }
        if !word.is_empty() || was_quoted {
            words.push(word);
        }
    }
    let has_program = words.first().is_some_and(|word| !word.is_empty());
    has_program.then_some(words)
}

impl Entry {
    fn application(&self) -> Application {
        let mut words = self.words.clone();
        if self.in_terminal {
            words.splice(0..0, ["xterm".to_owned(), "-e".to_owned()]);
        }
        let program = words.remove(0);
        Application {
            name: self.name.clone(),
            program,
            args: words,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EDITOR: &str = "[Desktop Entry]\nType=Application\nName=Text Editor\nName[de]=Texteditor\n\
        GenericName=Editor\nExec=editor --new \"a \\\\\"b\\\\\" c\" 100%% %U\nKeywords=notes;\n\
        [Desktop Action x]\nExec=other\n";
    const TOP: &str =
        "[Desktop Entry]\nType=Application\nName=Task viewer\nExec=top\nTerminal=true\n";
    const HIDDEN: &str =
        "[Desktop Entry]\nType=Application\nName=Ghost\nExec=ghost\nNoDisplay=true\n";

    fn check(name: &str) -> Result<Application, String> {
        let folder = tempfile::tempdir().unwrap();
        for (id, text) in [("org.x.Edit", EDITOR), ("top", TOP), ("ghost", HIDDEN)] {
            fs::write(folder.path().join(format!("{id}.desktop")), text).unwrap();
        }
        let folders = [folder.path().to_owned()];
        find(name, &folders, &["/usr/bin".into(), "/bin".into()]).map_err(|error| error.to_string())
    }

    #[test]
    fn an_application_is_found_by_each_of_its_names() {
        for name in [
            "Text Editor",
            "text editor",
            "org.x.Edit",
            "edit",
            "editor",
            "notes",
        ] {
            let found = check(name).unwrap();
            assert_eq!(found.program, "editor", "{name}");
            assert_eq!(found.args, ["--new", "a \"b\" c", "100%"], "{name}");
        }
    }

    #[test]
    fn a_program_of_a_terminal_gets_one() {
        let found = check("Task viewer").unwrap();
        assert_eq!(
            (found.program.as_str(), found.args),
            ("xterm", vec!["-e".to_owned(), "top".to_owned()])
        );
    }

    #[test]
    fn a_program_without_an_entry_goes_by_its_own_name() {
        assert_eq!(check("sh").unwrap().program, "sh");
        assert_eq!(check("/bin/sh").unwrap().name, "sh");
    }

    #[test]
    fn what_is_not_there_or_fits_several_names_what_is() {
        let said = check("ghost").unwrap_err();
        assert!(
            said.contains("Text Editor [org.x.Edit], Task viewer [top]"),
            "{said}"
        );
        let said = check("t").unwrap_err();
        assert!(said.starts_with("Several applications fit \"t\""), "{said}");
        assert!(check(" ").is_err());
    }
}
