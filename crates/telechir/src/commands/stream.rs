//! `decode --stream`: a response as it arrives, a line for each delta, at the end what it means.

use std::io::{self, Read};
use std::process::ExitCode;

use serde::Serialize;
use telechir_protocol::Content;
use telechir_providers::{Dialect, Loss, Stream, StreamedResponse};

use crate::error::Failure;
use crate::input::write_json;

/// The last line.
#[derive(Serialize)]
struct Ended<'a> {
    r#type: &'static str,
    contents: &'a [Content],
    report: &'a [Loss],
}

pub(super) fn decode(dialect: Dialect) -> Result<ExitCode, Failure> {
    let Some(mut stream) = dialect.stream() else {
        return Err(Failure::usage(format!(
            "--stream: a response of {dialect} does not arrive in pieces"
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
                let problem = format!("failed to read standard input: {error}");
                return Err(Failure::message(problem));
            }
        };
        push(&mut stream, &piece[..read])?;
    }
    let StreamedResponse { turn, report, .. } = stream.finish()?;
    let ended = Ended {
        r#type: "turn",
        contents: turn.contents(),
        report: &report.losses,
    };
    write_json(&ended, false)?;
    Ok(ExitCode::SUCCESS)
}

fn push(stream: &mut Stream, bytes: &[u8]) -> Result<(), Failure> {
    for delta in stream.push(bytes)? {
        write_json(&delta, false)?;
    }
    Ok(())
}
