//! `decode`, `encode` and `translate`: dialects without any device.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use telechir_protocol::{Content, Message, Role};
use telechir_providers::{Document, Envelope, History, Loss, Report};

use crate::args::{DecodeArguments, EncodeArguments, TranslateArguments};
use crate::error::Failure;
use crate::input::{read_stdin, report_lines, write_document, write_json};

/// What `decode` prints.
#[derive(Serialize)]
struct Decoded {
    messages: Vec<Message>,
    report: Vec<Loss>,
}

/// What `encode` reads: what `decode` prints, a list of messages, or the contents of one message.
#[derive(Deserialize)]
#[serde(untagged)]
enum Neutral {
    Decoded { messages: Vec<Message> },
    Message(Box<Message>),
    Messages(Vec<Message>),
    Contents(Vec<Content>),
}

pub(crate) fn decode(arguments: &DecodeArguments) -> Result<ExitCode, Failure> {
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

pub(crate) fn encode(arguments: &EncodeArguments) -> Result<ExitCode, Failure> {
    let neutral: Neutral = serde_json::from_slice(&read_stdin()?).map_err(|e| {
        let wanted = "what `decode` prints, a list of messages, or a list of contents";
        // Of a document that is none of these, serde only says so in its own words.
        let problem = if e.is_data() {
            "they have another shape".to_owned()
        } else {
            e.to_string()
        };
        Failure::message(format!(
            "failed to read neutral contents: {problem}; give {wanted}"
        ))
    })?;
    let messages = match neutral {
        Neutral::Decoded { messages } | Neutral::Messages(messages) => messages,
        Neutral::Message(message) => vec![*message],
        Neutral::Contents(contents) => by_speaker(contents),
    };
    let history = History {
        messages,
        envelope: Envelope::List,
    };
    let (document, report) = arguments.dialect.write_history(&history)?;
    finish(&document, &report, arguments.strict)
}

pub(crate) fn translate(arguments: &TranslateArguments) -> Result<ExitCode, Failure> {
    let (history, mut report) = arguments.from.decode_history(read_stdin()?)?;
    let (document, encoding) = arguments.to.write_history(&history)?;
    report.absorb(encoding);
    finish(&document, &report, arguments.strict)
}

/// Prints the document and its report; in strict mode a loss prevents the former.
fn finish(document: &Document, report: &Report, strict: bool) -> Result<ExitCode, Failure> {
    report_lines(&report.losses);
    if strict && !report.is_lossless() {
        let number = report.losses.len();
        return Err(Failure::loss(format!(
            "{number} thing(s) could not be said without loss, so nothing was written; without --strict \
             the rest would be"
        )));
    }
    write_document(document)?;
    Ok(ExitCode::SUCCESS)
}

/// Loose contents as messages: results are a user's, the rest is the model's.
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
