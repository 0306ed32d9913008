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
        let others = without_each(arguments, &options);
        return super::stream::translate(arguments.from, arguments.to, options, &others);
    }
    if arguments.envelope {
        return translate_document(arguments, &options);
    }
    let (mut history, mut report) = arguments.from.decode_history(read_stdin()?)?;
    let aside = history.set_envelope_aside(arguments.to);
    if options.thinking == ThinkingTranslation::Text {
        let losses = report.losses.len();
        history.thinking_to_text(arguments.to, &mut report);
        if report.losses.len() == losses {
            report_lines(&[without_effect(THINKING)]);
        }
    }
    let (document, encoding) = arguments.to.encode_history(&history)?;
    report.absorb(encoding);
    if let Some(aside) = aside {
        report_lines(&aside.take_notes(&mut report));
    }
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
    for other in without_each(arguments, options) {
        let without = arguments
            .from
            .translate(arguments.to, &input, &other.options);
        if without.is_ok_and(|without| without == translated) {
            report_lines(&[without_effect(&other.option)]);
        }
    }
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

/// The option with which thinking becomes text.
const THINKING: &str = "--thinking text";

/// The options of a translation without one of those that were given.
pub(super) struct WithoutOption {
    /// The option that was left out, as it was given.
    pub(super) option: String,
    pub(super) options: TranslationOptions,
}

/// The options without each of those that were given, to see which have an effect.
fn without_each(
    arguments: &TranslateArguments,
    options: &TranslationOptions,
) -> Vec<WithoutOption> {
    let mut all = Vec::new();
    let mut add = |option: String, change: &dyn Fn(&mut TranslationOptions)| {
        let mut options = options.clone();
        change(&mut options);
        all.push(WithoutOption { option, options });
    };
    if let Some(model) = &arguments.model {
        add(format!("--model {model}"), &|options| options.model = None);
    }
    for (from, to) in &arguments.model_map {
        add(format!("--model-map {from}={to}"), &|options| {
            options.models.remove(from);
        });
    }
    if let Some(file) = &arguments.model_map_file {
        let option = format!("--model-map-file {}", file.display());
        add(option, &|options| {
            options.models = arguments.model_map.iter().cloned().collect();
        });
    }
    if options.thinking == ThinkingTranslation::Text {
        add(THINKING.to_owned(), &|options| {
            options.thinking = ThinkingTranslation::Drop;
        });
    }
    all
}

/// The line about an option that changed nothing.
pub(super) fn without_effect(option: &str) -> Loss {
    Loss {
        what: format!("option `{option}`"),
        location: "the command line".to_owned(),
        why: "the translation of this document is the same without it".to_owned(),
        preserved_as: None,
    }
}

fn read_model_map(path: &Path) -> Result<BTreeMap<String, String>, CliError> {
    let problem = |cause: String| {
        let path = path.display();
        CliError::message(format!(
            "failed to read the model map {path}: {cause}; expected a JSON object of names"
        ))
    };
    let bytes = std::fs::read(path).map_err(|error| problem(error.to_string()))?;
    let map: BTreeMap<String, String> =
        serde_json::from_slice(&bytes).map_err(|error| problem(error.to_string()))?;
    match map.iter().find(|(_, to)| to.trim().is_empty()) {
        Some((from, _)) => Err(problem(format!("`{from}` becomes an empty name"))),
        None => Ok(map),
    }
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
