//! `conform --wild`: checks a folder of documents of unknown origin against every dialect.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Serialize;
use serde_json::Value;
use telechir_providers::conform::{
    DocumentKind, FoundDocument, FoundDocuments, WildReport, check_document_with,
    have_the_same_parts,
};
use telechir_providers::survival::Fault;

use super::sdk::{CheckedTranslation, SdkChecks, SdkRefusal};
use super::wild_table::table;
use crate::args::ConformArguments;
use crate::error::CliError;
use crate::input::{write_json, write_text};

/// A larger file is not read.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;
/// Different findings that are remembered; further ones are only counted.
const MAX_FINDINGS: usize = 20_000;

/// The output of `--wild --json`.
#[derive(Debug, Default, Serialize)]
pub(super) struct WildSummary {
    pub(super) files: usize,
    pub(super) documents: usize,
    /// Whether the types of the providers' SDKs validated the translations.
    pub(super) sdk_types: SdkAvailability,
    /// Documents that are an error of the provider and have no contents.
    pub(super) provider_errors: usize,
    pub(super) sources: BTreeMap<String, SourceRow>,
    pub(super) pairs: Vec<PairRow>,
    pub(super) findings: Vec<FindingRow>,
    /// Findings that exceed the number that is remembered.
    pub(super) findings_omitted: usize,
    /// Files without a document of a provider, with the reason.
    pub(super) not_recognized: Vec<String>,
    /// Documents that a decoder rejects, and streams that do not become a response.
    pub(super) rejected: Vec<String>,
    /// Why the types of an SDK could not be used.
    #[serde(skip)]
    sdk_problem: Option<String>,
    #[serde(skip)]
    pairs_by_name: BTreeMap<(String, String), PairRow>,
    #[serde(skip)]
    findings_by_path: BTreeMap<FindingKey, FindingRow>,
}

/// Whether the providers' SDKs are installed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SdkAvailability {
    Installed,
    #[default]
    Missing,
}

/// The documents of one dialect.
#[derive(Debug, Default, Serialize)]
pub(super) struct SourceRow {
    pub(super) documents: usize,
    pub(super) requests: usize,
    pub(super) responses: usize,
    pub(super) histories: usize,
    pub(super) streams: usize,
    pub(super) identical: usize,
    pub(super) rejected: usize,
}

/// The translations from one dialect to another.
#[derive(Debug, Default, Serialize)]
pub(super) struct PairRow {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) documents: usize,
    /// Documents that the target dialect cannot express at all; it names the reason.
    pub(super) refused: usize,
    pub(super) silent_losses: usize,
    pub(super) false_losses: usize,
    /// Lost calls or results, and JSON of the source passed on as the target's.
    pub(super) problems: usize,
    pub(super) crashes: usize,
    /// Translations that the types of the provider's SDK reject.
    pub(super) rejected_by_sdk: usize,
}

/// A finding: the first document that has it, and in how many places it occurs.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FindingRow {
    pub(super) fault: String,
    pub(super) from: String,
    pub(super) to: Vec<String>,
    pub(super) file: String,
    /// The document in the file, and the value in the document.
    pub(super) pointer: String,
    pub(super) value: String,
    /// An entry of the report that depends on the value without naming it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unnamed_entry: Option<String>,
    pub(super) count: usize,
}

/// The fault, the source dialect and the path without positions in lists.
type FindingKey = (String, String, String);

pub(super) fn wild(arguments: &ConformArguments) -> Result<ExitCode, CliError> {
    let mut files = Vec::new();
    collect(&arguments.folder, &mut files)
        .map_err(|error| super::unreadable(&arguments.folder, &error))?;
    files.sort();
    let sdks = SdkChecks::installed(&arguments.sdk);
    let summary = Mutex::new(WildSummary::default());
    let next = AtomicUsize::new(0);
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let name = file.strip_prefix(&arguments.folder).unwrap_or(file);
                    let name = name.display().to_string();
                    let checked = CheckedFile::check(file, &name, arguments, sdks.as_ref());
                    let mut summary = summary
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner);
                    summary.add(checked);
                }
            });
        }
    });
    let mut summary = summary
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(sdks) = sdks {
        summary.sdk_types = SdkAvailability::Installed;
        let refusals = sdks.finish()?.into_iter();
        refusals.for_each(|refusal| summary.add_refusal(refusal));
    }
    if let Some(problem) = summary.sdk_problem.take() {
        return Err(CliError::message(problem));
    }
    let summary = summary.finish();
    if summary.documents == 0 {
        return Err(CliError::message(format!(
            "found no document of a provider in {} files of {}",
            summary.files,
            arguments.folder.display()
        )));
    }
    if arguments.json {
        write_json(&summary, true)?;
    } else {
        write_text(&table(&summary, arguments.findings))?;
    }
    Ok(match summary.is_good() {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}

/// All files below a folder; links are not followed.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

/// One file with the results of its documents.
struct CheckedFile {
    name: String,
    problem: Option<String>,
    broken_streams: Vec<String>,
    reports: Vec<(String, WildReport)>,
    sdk_problem: Option<String>,
}

impl CheckedFile {
    fn check(
        file: &Path,
        name: &str,
        arguments: &ConformArguments,
        sdks: Option<&SdkChecks>,
    ) -> Self {
        let (found, problem) = match read(file) {
            Ok(found) => {
                let problem = found
                    .is_empty()
                    .then(|| "no document of a provider".to_owned());
                (found, problem)
            }
            Err(problem) => (FoundDocuments::default(), Some(problem)),
        };
        let mut sdk_problem = None;
        let check = |document: FoundDocument| {
            let (dialect, kind, json) = (document.dialect, document.kind, document.json);
            let mut translation = CheckedTranslation {
                from: dialect.name().to_owned(),
                to: String::new(),
                file: name.to_owned(),
                at: document.at,
            };
            let mut report = check_document_with(dialect, kind, &json, &mut |to, written| {
                to.name().clone_into(&mut translation.to);
                // An object is the source's own envelope, in a dialect of the same family. Between
                // such dialects, members that the SDK does not know pass unchanged.
                let is_own = !written.is_array() || have_the_same_parts(dialect, to);
                let sdks = sdks.filter(|_| !is_own);
                let sent = sdks.map(|sdks| sdks.send(to, &translation, written));
                sdk_problem = sent.and_then(Result::err).or_else(|| sdk_problem.take());
            });
            if arguments.envelope {
                report.follow_changes(dialect, &json);
            }
            (translation.at, report)
        };
        let reports = found.documents.into_iter().map(check).collect();
        Self {
            name: name.to_owned(),
            problem,
            broken_streams: found.broken_streams,
            reports,
            sdk_problem,
        }
    }
}

fn read(file: &Path) -> Result<FoundDocuments, String> {
    let size = fs::metadata(file).map_err(|error| error.to_string())?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!(
            "it has {size} bytes; expected at most {MAX_FILE_BYTES}"
        ));
    }
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let extension = file.extension().and_then(|extension| extension.to_str());
    if matches!(extension, Some("yaml" | "yml")) {
        let text = String::from_utf8_lossy(&bytes);
        // Binary data stays in base64.
        let options = serde_saphyr::options! { ignore_binary_tag_for_string: true };
        let value: Value = serde_saphyr::from_str_with_options(&text, options)
            .map_err(|error| format!("not YAML: {error}"))?;
        return Ok(FoundDocuments::in_value(&value));
    }
    Ok(FoundDocuments::in_bytes(&bytes))
}

impl WildSummary {
    fn add(&mut self, file: CheckedFile) {
        self.files += 1;
        self.sdk_problem = file.sdk_problem.or_else(|| self.sdk_problem.take());
        if let Some(problem) = file.problem {
            self.not_recognized
                .push(format!("{}: {problem}", file.name));
        }
        for broken in file.broken_streams {
            self.rejected
                .push(format!("{}: stream {broken}", file.name));
        }
        for (at, report) in file.reports {
            self.add_document(&file.name, &at, report);
        }
    }

    fn add_document(&mut self, file: &str, at: &str, report: WildReport) {
        self.documents += 1;
        if report.is_provider_error {
            self.provider_errors += 1;
            return;
        }
        let row = self.sources.entry(report.dialect.clone()).or_default();
        row.documents += 1;
        match report.kind {
            DocumentKind::Request => row.requests += 1,
            DocumentKind::Response => row.responses += 1,
            DocumentKind::History => row.histories += 1,
            DocumentKind::Stream => row.streams += 1,
            DocumentKind::Error => {}
        }
        if let Some(refused) = report.refused {
            row.rejected += 1;
            self.rejected.push(format!("{file}{at}: {refused}"));
            return;
        }
        row.identical += usize::from(report.difference.is_none());
        let document = |pointer: &str| format!("{at}{pointer}");
        if let Some(difference) = &report.difference {
            let row = finding(
                "not identical",
                &report.dialect,
                None,
                file,
                document(""),
                difference,
            );
            self.remember(difference, row);
        }
        for pair in report.pairs {
            let names = (report.dialect.clone(), pair.to.clone());
            let row = self.pairs_by_name.entry(names).or_insert_with(|| PairRow {
                from: report.dialect.clone(),
                to: pair.to.clone(),
                ..PairRow::default()
            });
            row.documents += 1;
            row.refused += usize::from(pair.refused.is_some());
            row.silent_losses += pair.count(Fault::SilentLoss);
            row.false_losses += pair.count(Fault::FalseLoss);
            row.problems += pair.problems.len();
            row.crashes += usize::from(pair.crash.is_some());
            let to = Some(pair.to.as_str());
            for crash in pair.crash.iter() {
                self.remember(
                    crash,
                    finding("crash", &report.dialect, to, file, document(""), crash),
                );
            }
            for problem in &pair.problems {
                self.remember(
                    problem,
                    finding("problem", &report.dialect, to, file, document(""), problem),
                );
            }
            for found in pair.findings {
                let fault = match found.fault {
                    Fault::SilentLoss => "silent loss",
                    Fault::FalseLoss => "false loss",
                };
                let path = without_positions(&found.pointer);
                let mut row = finding(
                    fault,
                    &report.dialect,
                    to,
                    file,
                    document(&found.pointer),
                    &found.value,
                );
                row.unnamed_entry = found.unnamed_entry;
                self.remember(&path, row);
            }
        }
    }

    fn add_refusal(&mut self, refusal: SdkRefusal) {
        let CheckedTranslation { from, to, file, at } = refusal.translation;
        if let Some(row) = self.pairs_by_name.get_mut(&(from.clone(), to.clone())) {
            row.rejected_by_sdk += 1;
        }
        let problem = refusal.problem.as_str();
        let row = finding("sdk type", &from, Some(&to), &file, at, problem);
        // The same problem at other positions is the same finding.
        let path: String = problem
            .chars()
            .filter(|c| !c.is_ascii_digit())
            .take(200)
            .collect();
        self.remember(&path, row);
    }

    fn remember(&mut self, path: &str, row: FindingRow) {
        let key = (row.fault.clone(), row.from.clone(), path.to_owned());
        let is_full = self.findings_by_path.len() >= MAX_FINDINGS;
        match self.findings_by_path.get_mut(&key) {
            Some(known) => {
                known.count += 1;
                known.to.extend(
                    row.to
                        .into_iter()
                        .filter(|to| !known.to.contains(to))
                        .collect::<Vec<_>>(),
                );
            }
            None if is_full => self.findings_omitted += 1,
            None => {
                self.findings_by_path.insert(key, row);
            }
        }
    }

    /// Sorts what the workers added in any order.
    fn finish(mut self) -> Self {
        self.pairs = std::mem::take(&mut self.pairs_by_name)
            .into_values()
            .collect();
        self.findings = std::mem::take(&mut self.findings_by_path)
            .into_values()
            .collect();
        self.findings.sort_by(|a, b| {
            let by_fault = |row: &FindingRow| {
                [
                    "crash",
                    "problem",
                    "sdk type",
                    "not identical",
                    "silent loss",
                ]
                .iter()
                .position(|fault| *fault == row.fault)
                .unwrap_or(9)
            };
            (by_fault(a), std::cmp::Reverse(a.count), &a.pointer).cmp(&(
                by_fault(b),
                std::cmp::Reverse(b.count),
                &b.pointer,
            ))
        });
        self.not_recognized.sort();
        self.rejected.sort();
        self
    }

    /// Whether nothing is lost in silence, and every document and translation is sound.
    fn is_good(&self) -> bool {
        self.findings.is_empty()
    }
}

fn finding(
    fault: &str,
    from: &str,
    to: Option<&str>,
    file: &str,
    pointer: String,
    value: &str,
) -> FindingRow {
    FindingRow {
        fault: fault.to_owned(),
        from: from.to_owned(),
        to: to.map(str::to_owned).into_iter().collect(),
        file: file.to_owned(),
        pointer,
        value: value.to_owned(),
        unnamed_entry: None,
        count: 1,
    }
}

/// A pointer with `*` for positions in lists.
fn without_positions(pointer: &str) -> String {
    let steps = pointer.split('/').map(|step| {
        let is_position = !step.is_empty() && step.bytes().all(|byte| byte.is_ascii_digit());
        if is_position { "*" } else { step }
    });
    steps.collect::<Vec<_>>().join("/")
}
