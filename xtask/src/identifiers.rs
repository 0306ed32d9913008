//! Words that no identifier may contain: metaphors and verbs that were once used for everything.

use std::path::Path;
use std::str::FromStr;

use proc_macro2::{TokenStream, TokenTree};

use crate::source::{SourceFile, read_files, words};

/// A banned word and what to write instead.
const BANNED: &[(&str, &str)] = &[
    ("told", "rendered, reported, sent, notified"),
    ("tell", "render, report, send, notify"),
    ("tells", "renders, reports, sends, notifies"),
    ("said", "encoded, text, message"),
    ("say", "encode, report, print"),
    ("says", "encodes, reports, prints"),
    ("spoke", "message"),
    ("asked", "requested, call, question"),
    ("asks", "requests"),
    ("heard", "received, read, observed"),
    ("hear", "receive, read, observe"),
    ("hears", "receives, reads, observes"),
    ("ears", "listeners"),
    ("begun", "started"),
    ("began", "started"),
    ("anew", "new, restarted"),
    ("whole", "complete, absolute, json"),
    ("place", "point, position, path, index"),
    ("places", "points, positions, paths, indexes"),
    ("spot", "position"),
    ("kept", "retained, or the thing itself"),
    ("keeper", "the thing itself"),
    ("held", "pressed, locked, or the thing itself"),
    ("desk", "the component's job"),
    ("door", "the component's job"),
    ("hall", "the component's job"),
    ("shelf", "the component's job"),
    ("book", "registry"),
    ("pen", "writer"),
    ("bell", "notify"),
    ("wish", "request, action"),
    ("wishes", "requests, actions"),
    ("lent", "borrowed, allocated"),
    (
        "picture",
        "screenshot (what a model sees) or image (what a codec makes)",
    ),
    ("pictures", "screenshots or images"),
];

/// Identifiers that contain a banned word for a reason.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("PlaceWindow", "the name of an action in the neutral JSON"),
    ("QuestionAsked", "the name of an event in recordings"),
    ("block_in_place", "tokio"),
    ("book_flight", "a page of MiniWoB++"),
    ("phone_book", "a page of MiniWoB++"),
    ("simon_says", "a page of MiniWoB++"),
];

/// Every identifier in Rust and JavaScript with a banned word, once a file.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let files = read_files(root, &["rs", "js", "mjs"])?;
    let mut findings = Vec::new();
    for file in &files {
        findings.extend(findings_in(file)?);
    }
    Ok(findings)
}

fn findings_in(file: &SourceFile) -> Result<Vec<String>, String> {
    let name = file.path.display();
    // The list itself.
    if file.path.ends_with("xtask/src/identifiers.rs") {
        return Ok(Vec::new());
    }
    let mut identifiers = Vec::new();
    if file.has_extension(&["rs"]) {
        let tokens = TokenStream::from_str(&file.text).map_err(|e| format!("read {name}: {e}"))?;
        collect(tokens, &mut identifiers);
    } else {
        identifiers = javascript_identifiers(&file.text);
    }
    identifiers.sort();
    identifiers.dedup_by(|a, b| a.0 == b.0);
    let finding = |(identifier, line): (String, usize)| {
        let is_exception = EXCEPTIONS.iter().any(|(known, _)| *known == identifier);
        let words = words(&identifier);
        let (banned, instead) = BANNED
            .iter()
            .find(|(banned, _)| words.iter().any(|word| word == banned))?;
        (!is_exception).then(|| {
            format!("{name}:{line}: `{identifier}` has the word `{banned}`; write {instead}")
        })
    };
    Ok(identifiers.into_iter().filter_map(finding).collect())
}

fn collect(tokens: TokenStream, identifiers: &mut Vec<(String, usize)>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => {
                let line = ident.span().start().line;
                identifiers.push((ident.to_string(), line));
            }
            TokenTree::Group(group) => collect(group.stream(), identifiers),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Identifiers outside of comments and of strings on one line.
fn javascript_identifiers(text: &str) -> Vec<(String, usize)> {
    let mut identifiers = Vec::new();
    let mut in_comment = false;
    for (number, line) in text.lines().enumerate() {
        let mut rest = line;
        let mut code = String::new();
        while let Some(first) = rest.chars().next() {
            if in_comment {
                let end = rest.find("*/");
                in_comment = end.is_none();
                rest = end.map_or("", |end| &rest[end + 2..]);
            } else if rest.starts_with("//") {
                break;
            } else if rest.starts_with("/*") {
                in_comment = true;
            } else if matches!(first, '"' | '\'') {
                let inner = &rest[1..];
                rest = inner.find(first).map_or("", |end| &inner[end + 1..]);
                code.push(' ');
            } else {
                code.push(first);
                rest = &rest[first.len_utf8()..];
            }
        }
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
        let found = code.split(|c| !is_part(c)).filter(|part| !part.is_empty());
        identifiers.extend(found.map(|part| (part.to_owned(), number + 1)));
    }
    identifiers
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<String> {
        let file = SourceFile {
            path: path.into(),
            text: text.to_owned(),
        };
        findings_in(&file).expect("tokens")
    }

    #[test]
    fn a_banned_word_in_any_identifier_is_found_once() {
        let text = "//! Told.\nfn f() { let is_told = 1; vec![is_told]; }\nstruct TabBook;";
        assert_eq!(
            found("a.rs", text),
            [
                "a.rs:3: `TabBook` has the word `book`; write registry",
                "a.rs:2: `is_told` has the word `told`; write rendered, reported, sent, notified",
            ]
        );
    }

    #[test]
    fn words_within_words_texts_and_comments_are_not_identifiers() {
        let text = "// said\nfn replace() { f(\"told\", r#\"book\"#, 'a'); } // kept";
        assert_eq!(found("a.rs", text), Vec::<String>::new());
    }

    #[test]
    fn javascript_is_read_too() {
        let text = "/* heard\nears */ const heard = 'told'; // said\nlet b = \"book\";";
        assert_eq!(
            found("a.js", text),
            ["a.js:2: `heard` has the word `heard`; write received, read, observed"]
        );
    }
}
