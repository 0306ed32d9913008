//! Known misspellings in code and texts.

use std::path::Path;

use unicase::UniCase;

use crate::source::{SourceFile, read_files, words};

/// Words that the list of misspellings has, and that are meant.
const MEANT: &[(&str, &str)] = &[
    ("paeth", "the author of PNG's filter"),
    ("ser", "`serde::ser`"),
    ("wronly", "a flag of open(2)"),
    ("inh", "`CapInh` of /proc/PID/status"),
    ("wirth", "a programmer"),
    ("controll", "the keysym Control_L without its underscore"),
    ("optionl", "the keysym Option_L without its underscore"),
    ("alow", "a mistake in a policy file of the tests"),
    ("clik", "a mistake in a policy file of the tests"),
    ("quitt", "a misread text of the tests"),
    ("labeledby", "a misspelt ARIA attribute that browsers read"),
];

/// Longer runs without a space are hashes, base64 and the like.
const MAX_WORD: usize = 30;

/// Every known misspelling in code, documents, scripts and pages.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let extensions = ["rs", "md", "sh", "js", "mjs", "py", "html", "css", "toml"];
    let files = read_files(root, &extensions)?;
    Ok(files.iter().flat_map(findings_in).collect())
}

fn findings_in(file: &SourceFile) -> Vec<String> {
    // The list of exceptions itself, and the test below.
    if file.path.ends_with("xtask/src/spelling.rs") {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for (number, line) in file.text.lines().enumerate() {
        for run in line
            .split(|c: char| !is_joined(c))
            .filter(|run| run.len() <= MAX_WORD)
        {
            for word in parts(run) {
                let corrections = typos_dict::WORD.find(&UniCase::new(word.as_str()));
                let is_meant = MEANT.iter().any(|(meant, _)| *meant == word);
                if let (Some(corrections), false) = (corrections, is_meant) {
                    findings.push(format!(
                        "{}:{}: `{word}` is misspelt; write {}",
                        file.path.display(),
                        number + 1,
                        corrections.join(" or ")
                    ));
                }
            }
        }
    }
    findings
}

/// Characters that join letters to something that is not prose.
const fn is_joined(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '+' | '%' | '\\')
}

/// The words of one run: none when digits or operators are between its letters, as in a hash.
fn parts(run: &str) -> Vec<String> {
    let is_prose = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    if run.bytes().all(is_prose) {
        words(run)
    } else {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        findings_in(&SourceFile {
            path: "a.md".into(),
            text: text.to_owned(),
        })
    }

    #[test]
    fn a_misspelling_is_found_in_prose_and_in_identifiers() {
        assert_eq!(
            found("Recieve it.\nlet seperate_tabs = isOccured();"),
            [
                "a.md:1: `recieve` is misspelt; write receive",
                "a.md:2: `seperate` is misspelt; write separate",
                "a.md:2: `occured` is misspelt; write occurred",
            ]
        );
    }

    #[test]
    fn hashes_and_both_englishes_pass() {
        let text = "colour, color, behaviour, 7teh9, AAAAteh+recieve";
        assert_eq!(found(text), Vec::<String>::new());
    }
}
