//! `decode --stream` prints each delta of a streamed response, then the decoded response;
//! `translate --stream` prints the events of another provider.

use std::io::{self, Read};
use std::process::ExitCode;

use serde::Serialize;
use telechir_protocol::Content;
use telechir_providers::{Dialect, Loss, ResponseStream, StreamedResponse, TranslationOptions};

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
) -> Result<ExitCode, CliError> {
    let mut stream = from.translate_stream(to, options)?;
    each_piece(|bytes| write_bytes(&stream.push(bytes)?))?;
    let (bytes, translated) = stream.finish()?;
    write_bytes(&bytes)?;
    report_lines(&translated.report.losses);
    Ok(ExitCode::SUCCESS)
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
