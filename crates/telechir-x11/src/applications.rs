//! Finds applications by name: desktop entries (freedesktop.org specification) and programs in
//! `PATH`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::error::XError;

/// Maximum number of applications listed in an error.
const MAX_NAMED: usize = 12;
/// Maximum size of a desktop entry file in bytes; larger files are ignored.
const MAX_ENTRY_BYTES: u64 = 256 << 10;

/// A program with its arguments, resolved from a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Application {
    /// Display name, as in menus.
    pub(crate) name: String,
    pub(crate) program: String,
    pub(crate) args: Vec<String>,
}

/// The fields of a desktop entry file that are used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct DesktopEntry {
    /// Desktop file ID: the file name without its extension, such as `org.gnome.Calculator`.
    id: String,
    name: String,
    generic: String,
    keywords: String,
    args: Vec<String>,
    in_terminal: bool,
}

/// Resolves a name among the desktop entries in `folders` and the programs in `path`.
///
/// Exact matches win over partial ones, desktop entries over bare programs.
///
/// # Errors
/// When nothing matches or the match is ambiguous; the message lists the candidates.
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
    let last_part = |entry: &DesktopEntry| entry.id.rsplit('.').next().is_some_and(is);
    let program_of = |entry: &DesktopEntry| is(base_name(&entry.args[0]));
    let exact: [&dyn Fn(&DesktopEntry) -> bool; 5] = [
        &|entry| is(&entry.id),
        &|entry| is(&entry.name),
        &last_part,
        &program_of,
        &|entry| is(&entry.generic),
    ];
    for matches in exact {
        let matching: Vec<&DesktopEntry> = entries.iter().filter(|entry| matches(entry)).collect();
        match matching.as_slice() {
            [] => {}
            [entry] => return Ok(entry.application()),
            several => match program(name, path) {
                // Several entries start this program with different arguments: start the program
                // itself.
                Some(program) => return Ok(program),
                None => return Err(ambiguous(name, several)),
            },
        }
    }
    if let Some(program) = program(name, path) {
        return Ok(program);
    }
    let contains = |text: &str| text.to_lowercase().contains(&wanted);
    let near: Vec<&DesktopEntry> = entries
        .iter()
        .filter(|entry| {
            [&entry.name, &entry.generic, &entry.keywords, &entry.id]
                .into_iter()
                .any(|text| contains(text))
        })
        .collect();
    match near.as_slice() {
        [entry] => Ok(entry.application()),
        [] => Err(unknown(name, &entries)),
        several => Err(ambiguous(name, several)),
    }
}

fn ambiguous(name: &str, several: &[&DesktopEntry]) -> XError {
    let names = names(several.iter().copied());
    XError::Impossible(format!(
        "Several applications match {name:?}: {names}. Use the full name or the id in brackets."
    ))
}

fn unknown(name: &str, entries: &[DesktopEntry]) -> XError {
    let installed = if entries.is_empty() {
        "No desktop entries are installed; name a program instead.".to_owned()
    } else {
        format!("Installed: {}.", names(entries.iter()))
    };
    XError::Impossible(format!(
        "No application or program is named {name:?}. {installed}"
    ))
}

fn names<'a>(entries: impl Iterator<Item = &'a DesktopEntry>) -> String {
    let mut names: Vec<String> = entries
        .map(|entry| format!("{} [{}]", entry.name, entry.id))
        .collect();
    let more = names.len().saturating_sub(MAX_NAMED);
    names.truncate(MAX_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

/// A program, by name in `path` or by absolute path.
fn program(name: &str, path: &[PathBuf]) -> Option<Application> {
    let is_program = |path: &Path| {
        use std::os::unix::fs::PermissionsExt;
        let found = path.metadata();
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let exists = if name.contains('/') {
        Path::new(name).is_absolute() && is_program(Path::new(name))
    } else {
        path.iter().any(|folder| is_program(&folder.join(name)))
    };
    exists.then(|| Application {
        name: base_name(name).to_owned(),
        program: name.to_owned(),
        args: Vec::new(),
    })
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// All visible desktop entries; with equal ids the entry in the earlier folder wins.
fn entries(folders: &[PathBuf]) -> Vec<DesktopEntry> {
    let mut entries: Vec<DesktopEntry> = Vec::new();
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
    let is_short = path.metadata().ok()?.len() <= MAX_ENTRY_BYTES;
    is_short.then(|| fs::read_to_string(path).ok()).flatten()
}

/// Parses the entry of an application; `None` for other entry types and for hidden entries.
fn parse(id: &str, text: &str) -> Option<DesktopEntry> {
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
    let args = parse_exec(&unescape(of("Exec")), of("Name"))?;
    Some(DesktopEntry {
        id: id.to_owned(),
        name: unescape(of("Name")),
        generic: unescape(of("GenericName")),
        keywords: unescape(of("Keywords")),
        args,
        in_terminal: is_set("Terminal"),
    })
}

/// Resolves the escape sequences of desktop entry strings (`\s`, `
/// `, `\t`, `\r`, `\\`).
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

/// Splits an `Exec` value into arguments and drops field codes such as `%U`; `None` if no program
/// remains.
fn parse_exec(exec: &str, name: &str) -> Option<Vec<String>> {
    let mut args = Vec::new();
    let mut chars = exec.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        if chars.peek().is_none() {
            break;
        }
        let (mut arg, mut quoted, mut was_quoted) = (String::new(), false, false);
        while let Some(c) = chars.next_if(|c| quoted || !c.is_whitespace()) {
            match c {
                '"' => {
                    quoted = !quoted;
                    was_quoted = true;
                }
                '\\' if quoted => arg.extend(chars.next()),
                '%' if !quoted => match chars.next() {
                    Some('%') => arg.push('%'),
                    Some('c') => arg.push_str(name),
                    // Field codes for files, URLs and icons expand to nothing.
                    Some(_) | None => {}
                },
                c => arg.push(c),
            }
        }
        if !arg.is_empty() || was_quoted {
            args.push(arg);
        }
    }
    let has_program = args.first().is_some_and(|arg| !arg.is_empty());
    has_program.then_some(args)
}

impl DesktopEntry {
    fn application(&self) -> Application {
        let mut args = self.args.clone();
        if self.in_terminal {
            args.splice(0..0, ["xterm".to_owned(), "-e".to_owned()]);
        }
        let program = args.remove(0);
        Application {
            name: self.name.clone(),
            program,
            args,
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
    fn finds_an_application_by_each_of_its_names() {
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
    fn a_terminal_program_is_started_in_a_terminal() {
        let found = check("Task viewer").unwrap();
        assert_eq!(
            (found.program.as_str(), found.args),
            ("xterm", vec!["-e".to_owned(), "top".to_owned()])
        );
    }

    #[test]
    fn finds_a_program_without_a_desktop_entry() {
        assert_eq!(check("sh").unwrap().program, "sh");
        assert_eq!(check("/bin/sh").unwrap().name, "sh");
    }

    #[test]
    fn missing_and_ambiguous_names_list_the_candidates() {
        let error = check("ghost").unwrap_err();
        assert!(
            error.contains("Text Editor [org.x.Edit], Task viewer [top]"),
            "{error}"
        );
        let error = check("t").unwrap_err();
        assert!(
            error.starts_with("Several applications match \"t\""),
            "{error}"
        );
        assert!(check(" ").is_err());
    }
}
