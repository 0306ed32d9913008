//! `decode`, `encode` and `translate`: conversions between dialects, without devices.

use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use telechir_protocol::Message;
use telechir_providers::{Dialect, Envelope, Loss, Report};

use crate::args::{DecodeArguments, EncodeArguments, TranslateArguments};
use crate::error::CliError;
use crate::input::{read_stdin, report_lines, write_json};

/// The output of `decode`.
#[derive(Serialize)]
struct Decoded {
    messages: Vec<Message>,
    report: Vec<Loss>,
}

pub(crate) fn decode(arguments: &DecodeArguments) -> Result<ExitCode, CliError> {
    if arguments.stream {
        return super::stream::decode(arguments.dialect);
    }
    let (history, report) = arguments.dialect.decode_history(read_stdin()?)?;
    write_json(
        &Decoded {
            messages: history.messages,
            report: report.losses,
        },
        true,
    )?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn encode(arguments: &EncodeArguments) -> Result<ExitCode, CliError> {
    let (mut history, mut report) = Dialect::Neutral.decode_history(read_stdin()?)?;
    if arguments.dialect != Dialect::Neutral {
        history.envelope = Envelope::List;
    }
    let (document, encoding) = arguments.dialect.encode_history(&history)?;
    report.absorb(encoding);
    finish(&document, &report, arguments.strict)
}

pub(crate) fn translate(arguments: &TranslateArguments) -> Result<ExitCode, CliError> {
    let (history, mut report) = arguments.from.decode_history(read_stdin()?)?;
    let (document, encoding) = arguments.to.encode_history(&history)?;
    report.absorb(encoding);
    finish(&document, &report, arguments.strict)
}

/// Prints the document and its report; in strict mode a loss suppresses the document.
fn finish(document: &Value, report: &Report, strict: bool) -> Result<ExitCode, CliError> {
    report_lines(&report.losses);
    if strict && !report.is_lossless() {
        let number = report.losses.len();
        return Err(CliError::loss(format!(
            "{number} loss(es), so nothing was written; omit --strict to write the document without these \
             values"
        )));
    }
    write_json(document, false)?;
    Ok(ExitCode::SUCCESS)
}
