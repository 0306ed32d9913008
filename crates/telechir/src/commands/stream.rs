//! `decode --stream` prints each delta of a streamed response, then the decoded response;
//! `translate --stream` prints the events of another provider.

use std::io::{self, Read};
use std::process::ExitCode;

use serde::Serialize;
use telechir_protocol::Content;
use telechir_providers::{
    Dialect, Loss, Report, ResponseStream, StreamedResponse, TranslationOptions,
};

use super::translate::{WithoutOption, without_effect};
use crate::error::CliError;
use crate::input::{report_lines, write_bytes, write_json};

/// The last line of the output.
#[derive(Serialize)]
struct StreamSummary<'a> {
    r#type: &'static str,
    contents: &'a [Content],
    report: &'a [Loss],
}

pub(super) fn decode(dialect: Dialect) -> Result<ExitCode, CliError> {
    let Some(mut stream) = dialect.stream() else {
        return Err(CliError::usage(format!(
            "--stream: responses of {dialect} are not streamed"
        )));
    };
    each_piece(|bytes| push(&mut stream, bytes))?;
    let StreamedResponse { turn, report, .. } = stream.finish()?;
    let summary = StreamSummary {
        r#type: "turn",
        contents: turn.contents(),
        report: &report.losses,
    };
    write_json(&summary, false)?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the other provider's events as they arrive.
pub(super) fn translate(
    from: Dialect,
    to: Dialect,
    options: TranslationOptions,
    others: &[WithoutOption],
) -> Result<ExitCode, CliError> {
    let mut stream = from.translate_stream(to, options)?;
    let (mut read, mut written) = (Vec::new(), Vec::new());
    each_piece(|bytes| {
        let events = stream.push(bytes)?;
        if !others.is_empty() {
            read.extend_from_slice(bytes);
            written.extend_from_slice(&events);
        }
        write_bytes(&events)
    })?;
    let (bytes, translated) = stream.finish()?;
    write_bytes(&bytes)?;
    written.extend_from_slice(&bytes);
    for other in others {
        let without = translate_bytes(from, to, other.options.clone(), &read);
        if without.is_ok_and(|without| without == (written.clone(), translated.report.clone())) {
            report_lines(&[without_effect(&other.option)]);
        }
    }
    report_lines(&translated.report.losses);
    Ok(ExitCode::SUCCESS)
}

/// The events and the report of a complete stream.
fn translate_bytes(
    from: Dialect,
    to: Dialect,
    options: TranslationOptions,
    read: &[u8],
) -> Result<(Vec<u8>, Report), CliError> {
    let mut stream = from.translate_stream(to, options)?;
    let mut written = stream.push(read)?;
    let (last, translated) = stream.finish()?;
    written.extend(last);
    Ok((written, translated.report))
}

/// Reads stdin in the pieces in which it arrives.
fn each_piece(mut take: impl FnMut(&[u8]) -> Result<(), CliError>) -> Result<(), CliError> {
    let mut input = io::stdin().lock();
    let mut piece = vec![0; 64 * 1024];
    loop {
        match input.read(&mut piece) {
            Ok(0) => return Ok(()),
            Ok(read) => take(&piece[..read])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => {
                let problem = format!("failed to read stdin: {error}");
                return Err(CliError::message(problem));
            }
        }
    }
}

fn push(stream: &mut ResponseStream, bytes: &[u8]) -> Result<(), CliError> {
    for delta in stream.push(bytes)? {
        write_json(&delta, false)?;
    }
    Ok(())
}
