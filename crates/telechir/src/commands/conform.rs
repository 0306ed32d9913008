//! `conform`: decodes, encodes and round-trips a folder of test vectors; prints a table.

mod sdk;
mod wild;
mod wild_table;

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use telechir_providers::Dialect;
use telechir_providers::conform::{CheckResult, Manifest, Vector, VectorReport};

use crate::args::ConformArguments;
use crate::error::CliError;
use crate::input::{write_json, write_text};

/// The output of `--json`.
#[derive(Serialize)]
struct ConformOutput {
    rows: Vec<VectorReport>,
    checked: usize,
    unchecked: usize,
    failed: usize,
    missing: usize,
}

pub(crate) fn conform(arguments: &ConformArguments) -> Result<ExitCode, CliError> {
    if arguments.wild {
        return wild::wild(arguments);
    }
    let folder = &arguments.folder;
    let manifest = manifest(folder, arguments.dialect)?;
    if manifest.vectors.is_empty() {
        return Err(CliError::message(format!(
            "{} lists no documents; nothing was checked",
            folder.display()
        )));
    }
    let rows: Vec<VectorReport> = manifest
        .vectors
        .iter()
        .map(|vector| row(folder, vector))
        .collect();
    let missing = rows.iter().filter(|row| row.missing).count();
    let bad = rows.iter().filter(|row| !row.is_good()).count();
    let unchecked = rows.iter().filter(|row| row.unchecked.is_some()).count();
    let printed = ConformOutput {
        checked: rows.len() - unchecked - missing,
        unchecked,
        failed: bad - missing,
        missing,
        rows,
    };
    if arguments.json {
        write_json(&printed, true)?;
    } else {
        write_text(&table(&printed))?;
    }
    // A folder with missing documents fails: they were not checked.
    Ok(if bad == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// The folder's manifest, or one made from the file names if there is none.
fn manifest(folder: &Path, dialect: Option<Dialect>) -> Result<Manifest, CliError> {
    for name in ["manifest.json", "index.json"] {
        match fs::read(folder.join(name)) {
            Ok(bytes) => return Ok(Manifest::read(&bytes, dialect)?),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&folder.join(name), &error)),
        }
    }
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| unreadable(folder, &error))?;
        names.extend(entry.file_name().into_string());
    }
    names.sort();
    Ok(Manifest::from_names(
        names.iter().map(String::as_str),
        dialect,
    ))
}

fn unreadable(path: &Path, error: &io::Error) -> CliError {
    CliError::message(format!("failed to read {}: {error}", path.display()))
}

/// The row of a document, also of a missing one.
fn row(folder: &Path, vector: &Vector) -> VectorReport {
    match fs::read(folder.join(&vector.file)) {
        Ok(bytes) => vector.check(&bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => vector.missing(),
        Err(error) => vector.unreadable(&error.to_string()),
    }
}

fn table(printed: &ConformOutput) -> String {
    let width = |of: fn(&VectorReport) -> &str, title: &str| {
        let widths = printed.rows.iter().map(|row| of(row).chars().count());
        widths.max().unwrap_or_default().max(title.len())
    };
    let (file, kind) = (
        width(|row| &row.file, "file"),
        width(|row| &row.kind, "kind"),
    );
    let mut text = format!(
        "{:file$}  {:kind$}  decode  encode  identity  stream      losses\n",
        "file", "kind"
    );
    for row in &printed.rows {
        let _infallible = writeln!(
            text,
            "{:file$}  {:kind$}  {:6}  {:6}  {:8}  {:10}  {:6}  {}",
            row.file,
            row.kind,
            verdict_cell(row.decode),
            verdict_cell(row.encode),
            verdict_cell(row.identity),
            stream_cell(row),
            row.losses.len(),
            remark_cell(row),
        );
        for problem in &row.problems {
            let _infallible = writeln!(text, "    {problem}");
        }
    }
    let ConformOutput {
        checked,
        unchecked,
        failed,
        missing,
        ..
    } = printed;
    let _infallible = write!(
        text,
        "{checked} documents checked, {failed} failed; {unchecked} not checked"
    );
    let _infallible = match missing {
        0 => writeln!(text),
        _ => writeln!(
            text,
            "; {missing} named by the manifest are missing, so the folder fails"
        ),
    };
    text
}

const fn verdict_cell(verdict: CheckResult) -> &'static str {
    match verdict {
        CheckResult::NotApplicable => "-",
        CheckResult::Passed => "ok",
        CheckResult::Failed => "FAIL",
    }
}

fn stream_cell(row: &VectorReport) -> String {
    match row.stream {
        CheckResult::Passed => format!("{} cuts", row.cuts),
        verdict @ (CheckResult::NotApplicable | CheckResult::Failed) => {
            verdict_cell(verdict).to_owned()
        }
    }
}

fn remark_cell(row: &VectorReport) -> String {
    match (&row.unchecked, row.refusals.first()) {
        (Some(why), _) => format!("not checked: {why}"),
        (None, Some(refusal)) => format!("refused: {refusal}"),
        (None, None) => String::new(),
    }
}
