//! The values that are still lost in silence, and the documents that show it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use telechir_providers::Dialect;
use telechir_providers::conform::{
    DocumentKind, FoundDocument, FoundDocuments, Manifest, WildReport,
};
use telechir_providers::survival::Fault;

/// The folders of vectors, in the order of the list.
pub(crate) const FOLDERS: [&str; 7] = [
    "agent-framework",
    "anthropic",
    "bedrock",
    "functions",
    "google",
    "mistral",
    "openai",
];

const HEAD: &str = "\
# Values that a translation loses without an entry in its report, by vector folder: source dialect,
# path and target dialects. The last section is of recordings that are not in this repository.
# Written by `cargo run -p telechir-providers --example survival`. A test fails when a value
# joins them, and when a listed one of the vectors arrives. Above a path is why it stays.
";

/// Why values stay lost: the end of a path and the reason.
const REASONS: [(&str, &str); 1] = [(
    "is_error",
    "The text of the result says that it failed: an error that it names, or the sentence of a halted toolset.",
)];

/// The path of the list.
pub(crate) fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/survival/known.txt")
}

/// A document to translate: its name, dialect, kind and JSON.
pub(crate) type Translatable = (String, Dialect, DocumentKind, Value);

/// The documents of a vector folder.
pub(crate) fn vectors(folder: &str) -> Vec<Translatable> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/vectors")
        .join(folder);
    let manifest = ["manifest.json", "index.json"]
        .iter()
        .find_map(|name| fs::read(folder.join(name)).ok())
        .unwrap();
    let manifest = Manifest::read(&manifest, None).unwrap();
    let documents = manifest.vectors.into_iter().flat_map(|vector| {
        let bytes = fs::read(folder.join(&vector.file)).unwrap();
        let documents = vector.translatable(&bytes).into_iter();
        documents
            .map(move |(dialect, json)| (vector.file.clone(), dialect, DocumentKind::History, json))
    });
    documents.collect()
}

/// The documents of a provider recorded by other projects, from a folder beside this one. We may not redistribute
/// them; without the folder there are none.
pub(crate) fn recorded(provider: &str) -> Vec<(String, FoundDocument)> {
    let project = Path::new(env!("CARGO_MANIFEST_DIR"));
    let beside = project
        .ancestors()
        .map(|folder| folder.join("shared/fixtures").join(provider));
    let mut files = Vec::new();
    let folder = beside.into_iter().find(|folder| folder.is_dir());
    folder.iter().for_each(|folder| collect(folder, &mut files));
    files.sort();
    let documents = files.into_iter().flat_map(|file| {
        let bytes = fs::read(&file).unwrap();
        let found = if file
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            let options = serde_saphyr::options! { ignore_binary_tag_for_string: true };
            let text = String::from_utf8(bytes).unwrap();
            let cassette: Value = serde_saphyr::from_str_with_options(&text, options).unwrap();
            FoundDocuments::in_value(&cassette)
        } else {
            FoundDocuments::in_bytes(&bytes)
        };
        let name = file.display().to_string();
        let named = found.documents.into_iter();
        named.map(move |document| (format!("{name}{}", document.at), document))
    });
    documents.collect()
}

/// Adds all files below a folder.
pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else {
            files.push(path);
        }
    }
}

/// A source dialect and a path without positions in lists.
type LostPath = (String, String);

/// Silent losses with their target dialects.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Lost(BTreeMap<LostPath, BTreeSet<String>>);

impl Lost {
    /// Adds the silent losses in messages. The fields around them are not translated.
    pub(crate) fn add(&mut self, report: &WildReport) {
        for pair in &report.pairs {
            let silent = pair
                .findings
                .iter()
                .filter(|finding| finding.fault == Fault::SilentLoss && !finding.in_envelope);
            for finding in silent {
                let path = (report.dialect.clone(), without_positions(&finding.pointer));
                self.0.entry(path).or_default().insert(pair.to.clone());
            }
        }
    }

    /// The lines of the list.
    pub(crate) fn lines(&self, folder: &str) -> String {
        let mut text = format!("\n[{folder}]\n");
        for ((from, path), targets) in &self.0 {
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            let mut reasons = REASONS.iter();
            if let Some((_, reason)) = reasons.find(|(end, _)| path.ends_with(end)) {
                let _infallible = writeln!(text, "# {reason}");
            }
            let _infallible = writeln!(text, "{from} {path} -> {}", targets.join(", "));
        }
        text
    }

    fn each(&self) -> BTreeSet<(String, String, String)> {
        let paths = self.0.iter();
        let each = paths.flat_map(|((from, path), targets)| {
            let one = move |to: &String| (from.clone(), path.clone(), to.clone());
            targets.iter().map(one)
        });
        each.collect()
    }
}

/// The list.
pub(crate) struct Known(BTreeMap<String, Lost>);

impl Known {
    pub(crate) fn read() -> Self {
        let text = fs::read_to_string(file()).unwrap_or_default();
        let mut folders: BTreeMap<String, Lost> = BTreeMap::new();
        let mut folder = String::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            if let Some(name) = line
                .strip_prefix('[')
                .and_then(|line| line.strip_suffix(']'))
            {
                name.clone_into(&mut folder);
            } else if let Some((path, targets)) = line.split_once(" -> ") {
                let (from, path) = path.split_once(' ').unwrap();
                let lost = folders.entry(folder.clone()).or_default();
                let targets = targets.split(", ").map(str::to_owned).collect();
                lost.0.insert((from.to_owned(), path.to_owned()), targets);
            }
        }
        Self(folders)
    }

    /// The list as the example writes it.
    pub(crate) fn page(mut self) -> String {
        let names = FOLDERS.into_iter().chain(["recordings"]);
        let sections = names.map(|name| (name, self.0.remove(name).unwrap_or_default()));
        page(&sections.collect::<Vec<_>>())
    }

    /// Losses of a folder that are new, and listed ones that no longer occur.
    pub(crate) fn compare(&self, folder: &str, lost: &Lost) -> Vec<String> {
        let known = self.0.get(folder).map(Lost::each).unwrap_or_default();
        let lost = lost.each();
        let line = |(from, path, to): &(String, String, String)| format!("{from} {path} -> {to}");
        let new = lost
            .difference(&known)
            .map(|one| format!("silent loss: {}", line(one)));
        let mended = known
            .difference(&lost)
            .map(|one| format!("arrives now, so remove it from known.txt: {}", line(one)));
        new.chain(mended).collect()
    }

    /// Losses that no section of the list has.
    pub(crate) fn unlisted(&self, lost: &Lost) -> Vec<String> {
        let known: BTreeSet<_> = self.0.values().flat_map(Lost::each).collect();
        let lost = lost.each().into_iter().filter(|one| !known.contains(one));
        lost.map(|(from, path, to)| format!("silent loss: {from} {path} -> {to}"))
            .collect()
    }
}

/// The complete list.
pub(crate) fn page(folders: &[(&str, Lost)]) -> String {
    let mut text = HEAD.to_owned();
    for (folder, lost) in folders {
        text.push_str(&lost.lines(folder));
    }
    text
}

/// What no document may have: a crash, a difference after a round trip, or an unreadable
/// translation.
pub(crate) fn problems(name: &str, report: &WildReport) -> Vec<String> {
    let own = report.refused.iter().chain(&report.difference);
    let mut problems: Vec<String> = own.map(|problem| format!("{name}: {problem}")).collect();
    for pair in &report.pairs {
        let crash = pair
            .crash
            .iter()
            .map(|crash| format!("{name} to {}: {crash}", pair.to));
        problems.extend(crash);
    }
    problems
}

fn without_positions(pointer: &str) -> String {
    let steps = pointer.split('/').map(|step| {
        let is_position = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        if is_position { "*" } else { step }
    });
    steps.collect::<Vec<_>>().join("/")
}
