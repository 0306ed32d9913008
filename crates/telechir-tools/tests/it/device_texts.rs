//! The texts of devices, which become answers of tools: they name no action, because it has another
//! name in every dialect.

use std::fs;
use std::path::{Path, PathBuf};

use telechir_protocol::ActionKind;

const CRATES: &[&str] = &["atspi", "browser", "device", "ocr", "shell", "x11"];

fn sources(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            sources(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// The string literals of a source file that are sentences, without those of its tests and comments.
fn sentences(source: &str) -> Vec<String> {
    let code = source.split("#[cfg(test)]\nmod ").next().unwrap_or(source);
    let lines = code
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let code = lines.collect::<Vec<_>>().join("\n");
    let mut literals = Vec::new();
    let mut chars = code.chars();
    while let Some(c) = chars.next() {
        match c {
            // A character such as `'"'` begins no text.
            '\'' if chars.as_str().starts_with("\"'") => drop(chars.nth(1)),
            '"' => {
                let mut text = String::new();
                while let Some(c) = chars.next().filter(|c| *c != '"') {
                    text.push(c);
                    text.extend((c == '\\').then(|| chars.next()).flatten());
                }
                literals.push(text);
            }
            _ => {}
        }
    }
    literals.retain(|text| text.split_whitespace().count() > 3);
    literals
}

/// The actions that a text names: words with an underscore, and single words in backticks.
fn named_actions(text: &str) -> Vec<&'static str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let has = |name: &&&str| {
        let is_word = name.contains('_') && text.split(|c| !is_part(c)).any(|word| word == **name);
        is_word || text.contains(&format!("`{name}`"))
    };
    let names: Vec<&str> = ActionKind::ALL.iter().map(|kind| kind.name()).collect();
    names.iter().filter(has).copied().collect()
}

#[test]
fn devices_name_no_actions() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("a folder");
    let mut count = 0;
    for name in CRATES {
        let mut files = Vec::new();
        sources(&crates.join(format!("telechir-{name}/src")), &mut files);
        for file in files {
            for text in sentences(&fs::read_to_string(&file).expect("a source")) {
                count += 1;
                let named = named_actions(&text);
                assert!(
                    named.is_empty(),
                    "{}: {named:?} in {text:?}",
                    file.display()
                );
            }
        }
    }
    assert!(count > 500, "{count} texts were read");
}

#[test]
fn an_action_in_a_text_is_found() {
    let source = "let a = '\"'; f(\"There is no ref; use read_page to get one.\"); // \"no\"\n\
                  g(\"or use its own with `invoke`\");";
    let texts = sentences(source);
    let named: Vec<_> = texts.iter().flat_map(|text| named_actions(text)).collect();
    assert_eq!(named, ["read_page", "invoke"]);
}
