//! Prints the results of `conform --wild` as tables.

use std::fmt::Write as _;

use telechir_providers::conform::sdk_types as sdk_types_of;

use super::wild::{PairRow, SdkAvailability, WildSummary};

pub(super) fn table(summary: &WildSummary, max_findings: usize) -> String {
    let mut text = sources(summary);
    text.push('\n');
    text.push_str(&pairs(summary));
    text.push_str(&findings(summary, max_findings));
    text.push_str(&list(
        "not recognized",
        &summary.not_recognized,
        max_findings,
    ));
    text.push_str(&list("rejected", &summary.rejected, max_findings));
    let count = |of: fn(&PairRow) -> usize| summary.pairs.iter().map(of).sum::<usize>();
    let _infallible = writeln!(
        text,
        "\n{} files, {} documents ({} errors of providers); {} silent losses, {} false losses, {} problems, {} crashes, {}",
        summary.files,
        summary.documents,
        summary.provider_errors,
        count(|row| row.silent_losses),
        count(|row| row.false_losses),
        count(|row| row.problems),
        count(|row| row.crashes),
        match summary.sdk_types {
            SdkAvailability::Installed => {
                format!(
                    "{} rejected by an SDK's types",
                    count(|row| row.rejected_by_sdk)
                )
            }
            SdkAvailability::Missing =>
                "the types of the SDKs are missing: run scripts/sdk.sh or pass --sdk".to_owned(),
        },
    );
    text
}

fn sources(summary: &WildSummary) -> String {
    let mut text = format!(
        "{:24}  {:>9}  {:>8}  {:>9}  {:>9}  {:>7}  {:>9}  {:>8}\n",
        "dialect",
        "documents",
        "requests",
        "responses",
        "histories",
        "streams",
        "identical",
        "rejected"
    );
    for (dialect, row) in &summary.sources {
        let _infallible = writeln!(
            text,
            "{dialect:24}  {:>9}  {:>8}  {:>9}  {:>9}  {:>7}  {:>9}  {:>8}",
            row.documents,
            row.requests,
            row.responses,
            row.histories,
            row.streams,
            row.identical,
            row.rejected
        );
    }
    text
}

fn pairs(summary: &WildSummary) -> String {
    let mut text = format!(
        "{:24}  {:24}  {:>9}  {:>7}  {:>6}  {:>5}  {:>8}  {:>7}  {:>7}\n",
        "from", "to", "documents", "refused", "silent", "false", "problems", "crashes", "sdk"
    );
    for row in &summary.pairs {
        let _infallible = writeln!(
            text,
            "{:24}  {:24}  {:>9}  {:>7}  {:>6}  {:>5}  {:>8}  {:>7}  {:>7}",
            row.from,
            row.to,
            row.documents,
            row.refused,
            row.silent_losses,
            row.false_losses,
            row.problems,
            row.crashes,
            sdk_column(summary.sdk_types, row)
        );
    }
    text
}

fn sdk_column(sdk_types: SdkAvailability, row: &PairRow) -> String {
    let has_types = row.to.parse().ok().and_then(sdk_types_of).is_some();
    match sdk_types {
        _ if !has_types => "-".to_owned(),
        SdkAvailability::Installed => row.rejected_by_sdk.to_string(),
        SdkAvailability::Missing => "missing".to_owned(),
    }
}

fn findings(summary: &WildSummary, max_findings: usize) -> String {
    let mut text = String::new();
    if summary.findings.is_empty() {
        return text;
    }
    text.push_str("\nfindings\n");
    for row in summary.findings.iter().take(max_findings) {
        let _infallible = writeln!(
            text,
            "{}: {}{} {}\n    {} to {}; {} times",
            row.fault,
            row.file,
            row.pointer,
            row.value,
            row.from,
            if row.to.is_empty() {
                row.from.clone()
            } else {
                row.to.join(", ")
            },
            row.count
        );
        if let Some(entry) = &row.unnamed_entry {
            let _infallible =
                writeln!(text, "    the report has `{entry}`, which does not name it");
        }
    }
    let more = summary.findings.len().saturating_sub(max_findings) + summary.findings_omitted;
    if more > 0 {
        let _infallible = writeln!(text, "… and {more} more; --findings N lists more");
    }
    text
}

fn list(title: &str, rows: &[String], max_rows: usize) -> String {
    let mut text = String::new();
    if rows.is_empty() {
        return text;
    }
    let _infallible = writeln!(text, "\n{title}: {}", rows.len());
    for row in rows.iter().take(max_rows) {
        let _infallible = writeln!(text, "    {row}");
    }
    if rows.len() > max_rows {
        let _infallible = writeln!(text, "    … and {} more", rows.len() - max_rows);
    }
    text
}
