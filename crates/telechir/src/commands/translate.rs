//! `decode`, `encode` and `translate`: conversions between dialects, without devices.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use serde::Serialize;
use serde_json::Value;
use telechir_protocol::Message;
use telechir_providers::{
    Dialect, Envelope, Loss, Report, ThinkingTranslation, TranslationOptions,
};

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
    let options = translation_options(arguments)?;
    if arguments.stream {
        return super::stream::translate(arguments.from, arguments.to, options);
    }
    if arguments.envelope {
        return translate_document(arguments, &options);
    }
    let (mut history, mut report) = arguments.from.decode_history(read_stdin()?)?;
    if let Some(aside) = history.set_envelope_aside(arguments.to) {
        report_lines(&[aside.note()]);
    }
    if options.thinking == ThinkingTranslation::Text {
        history.thinking_to_text(arguments.to, &mut report);
    }
    let (document, encoding) = arguments.to.encode_history(&history)?;
    report.absorb(encoding);
    finish(&document, &report, arguments.strict)
}

/// What the caller must send with a translated request.
#[derive(Serialize)]
struct RequestLine<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    headers: BTreeMap<&'a str, &'a str>,
}

fn translate_document(
    arguments: &TranslateArguments,
    options: &TranslationOptions,
) -> Result<ExitCode, CliError> {
    let input = read_stdin()?;
    let translated = arguments.from.translate(arguments.to, &input, options)?;
    let headers = translated.headers.iter();
    let line = RequestLine {
        path: translated.path.as_deref(),
        headers: headers
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect(),
    };
    if line.path.is_some() || !line.headers.is_empty() {
        report_lines(&[line]);
    }
    finish(&translated.document, &translated.report, arguments.strict)
}

fn translation_options(arguments: &TranslateArguments) -> Result<TranslationOptions, CliError> {
    let mut models = match &arguments.model_map_file {
        None => BTreeMap::new(),
        Some(path) => read_model_map(path)?,
    };
    models.extend(arguments.model_map.iter().cloned());
    Ok(TranslationOptions {
        models,
        model: arguments.model.clone(),
        thinking: arguments.thinking.into(),
    })
}

fn read_model_map(path: &Path) -> Result<BTreeMap<String, String>, CliError> {
    let problem = |cause: String| {
        let path = path.display();
        CliError::message(format!(
            "failed to read the model map {path}: {cause}; expected a JSON object of names"
        ))
    };
    let bytes = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
    serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))
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
