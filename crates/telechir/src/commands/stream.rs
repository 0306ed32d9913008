//! `decode --stream`: prints each delta of a streamed response, then the decoded response.

use std::io::{self, Read};
use std::process::ExitCode;

use serde::Serialize;
use telechir_protocol::Content;
use telechir_providers::{Dialect, Loss, ResponseStream, StreamedResponse};

use crate::error::CliError;
use crate::input::write_json;

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
    let mut input = io::stdin().lock();
    let mut piece = vec![0; 64 * 1024];
    loop {
        let read = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let problem = format!("failed to read stdin: {error}");
                return Err(CliError::message(problem));
            }
        };
        push(&mut stream, &piece[..read])?;
    }
    let StreamedResponse { turn, report, .. } = stream.finish()?;
    let summary = StreamSummary {
        r#type: "turn",
        contents: turn.contents(),
        report: &report.losses,
    };
    write_json(&summary, false)?;
    Ok(ExitCode::SUCCESS)
}

fn push(stream: &mut ResponseStream, bytes: &[u8]) -> Result<(), CliError> {
    for delta in stream.push(bytes)? {
        write_json(&delta, false)?;
    }
    Ok(())
}
