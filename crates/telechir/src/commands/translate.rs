//! `decode`, `encode` and `translate`: conversions between dialects, without devices.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use telechir_protocol::{Content, Message, Role};
use telechir_providers::{Envelope, History, Loss, Report};

use crate::args::{DecodeArguments, EncodeArguments, TranslateArguments};
use crate::error::CliError;
use crate::input::{read_stdin, report_lines, write_json};

/// The output of `decode`.
#[derive(Serialize)]
struct Decoded {
    messages: Vec<Message>,
    report: Vec<Loss>,
}

/// The input of `encode`: output of `decode`, a list of messages, or the contents of one message.
#[derive(Deserialize)]
#[serde(untagged)]
enum NeutralInput {
    Decoded { messages: Vec<Message> },
    Message(Box<Message>),
    Messages(Vec<Message>),
    Contents(Vec<Content>),
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
    let neutral: NeutralInput = serde_json::from_slice(&read_stdin()?).map_err(|e| {
        let expected = "the output of `decode`, a list of messages, or a list of contents";
        // serde's own message for untagged enums is unhelpful.
        let problem = if e.is_data() {
            "the JSON has another structure".to_owned()
        } else {
            e.to_string()
        };
        CliError::message(format!(
            "failed to read neutral contents: {problem}; expected {expected}"
        ))
    })?;
    let messages = match neutral {
        NeutralInput::Decoded { messages } | NeutralInput::Messages(messages) => messages,
        NeutralInput::Message(message) => vec![*message],
        NeutralInput::Contents(contents) => by_speaker(contents),
    };
    let history = History {
        messages,
        envelope: Envelope::List,
    };
    let (document, report) = arguments.dialect.encode_history(&history)?;
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

/// Groups contents into messages: results belong to the user, everything else to the model.
fn by_speaker(contents: Vec<Content>) -> Vec<Message> {
    let mut messages: Vec<Message> = Vec::new();
    for content in contents {
        let role = speaker(&content);
        match messages.last_mut() {
            Some(last) if last.role == role => last.contents.push(content),
            _ => messages.push(Message::new(role, vec![content])),
        }
    }
    messages
}

fn speaker(content: &Content) -> Role {
    let is_result = matches!(
        content,
        Content::ComputerResult(_)
            | Content::ShellResult(_)
            | Content::EditResult(_)
            | Content::FunctionResult(_)
            | Content::ApprovalResponse(_)
    );
    if is_result {
        Role::User
    } else {
        Role::Assistant
    }
}
