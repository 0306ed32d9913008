//! The conversation of a run, recorded so that a run whose process was killed can be continued.

use std::path::Path;

use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{RecordKind, RecordedTurn, RunId, follow, read, schema};
use crate::JournalError;

/// An entry of a conversation in the order in which a provider gets it. The results of calls are
/// between the responses, as rows of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum ConversationEntry {
    /// What every request repeats.
    Start {
        /// Name of the provider, as the user gave it.
        provider: String,
        /// Name of the dialect.
        dialect: String,
        /// The model's name, as the provider spells it.
        model: String,
        /// Instructions before the conversation; absent if there were none.
        system: Option<String>,
        /// What the session was started with, opaque here; absent if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<Value>,
    },
    /// A message to the model: the task, a later task, or a note about an interruption.
    Message {
        /// Text of the message.
        text: String,
    },
    /// A response of the model, durable before any of its calls is executed.
    Response {
        /// The provider's JSON, opaque here.
        body: Value,
        /// Whether text was removed that a call types where the shell hides its input.
        #[serde(default)]
        is_redacted: bool,
        /// Key of the turn that executes its calls; absent if it is that of
        /// [`crate::Session::execute_response`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        turn: Option<String>,
    },
}

/// A conversation as a recording has it.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedConversation {
    /// Name of the provider, as the user gave it.
    pub provider: String,
    /// Name of the dialect.
    pub dialect: String,
    /// The model's name, as the provider spells it.
    pub model: String,
    /// Instructions before the conversation; absent if there were none.
    pub system: Option<String>,
    /// What the session was started with, opaque here; absent if it is not known.
    pub session: Option<Value>,
    /// The messages and responses, oldest first.
    pub entries: Vec<RecordedEntry>,
}

/// A message or a response of a recorded conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordedEntry {
    /// A message to the model.
    Message(String),
    /// A response of the model.
    Response(RecordedResponse),
}

/// A recorded response and what became of its calls.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResponse {
    /// The response as the provider sent it, without the API's secrets.
    pub body: Value,
    /// Whether text was removed that a call types where the shell hides its input.
    pub is_redacted: bool,
    /// The turn of its calls; absent if none was started.
    pub turn: Option<RecordedTurn>,
}

/// The key of the turn that executes a response; `number` counts the responses from 0.
pub(crate) fn response_key(number: u64) -> String {
    format!("response-{number}")
}

impl RecordedConversation {
    /// Reads the conversation of a run, with the screenshots of its results.
    ///
    /// # Errors
    /// When the recording cannot be read, or has no conversation of this run.
    pub fn read(folder: impl AsRef<Path>, run: &str) -> Result<Self, JournalError> {
        let folder = folder.as_ref();
        let rows = read(folder)?;
        let rows = rows
            .into_iter()
            .filter(|row| row.kind == RecordKind::Conversation);
        let (own, others): (Vec<_>, Vec<_>) = rows.partition(|row| row.run == run);
        let mut conversation: Option<Self> = None;
        let connection = schema::open_for_reading(folder)?;
        let turns = TurnSource {
            connection: &connection,
            folder,
            run: RunId::new(run),
        };
        let mut responses = 0;
        for row in own {
            let entry = serde_json::from_value(row.body).map_err(|_| JournalError::Format {
                path: folder.to_owned(),
                problem: format!("row {} has an unknown format; verify the journal", row.seq),
            })?;
            add(&mut conversation, entry, &mut responses, &turns)?;
        }
        // A run that was killed before its task was recorded has executed nothing.
        let started = conversation.filter(|conversation| !conversation.entries.is_empty());
        started.ok_or_else(|| {
            let mut known: Vec<String> = others.into_iter().map(|row| row.run).collect();
            known.dedup();
            JournalError::NoConversation {
                path: folder.to_owned(),
                run: run.to_owned(),
                known,
            }
        })
    }
}

/// Where the results of a conversation's calls are.
struct TurnSource<'a> {
    connection: &'a Connection,
    folder: &'a Path,
    run: RunId,
}

fn add(
    conversation: &mut Option<RecordedConversation>,
    entry: ConversationEntry,
    responses: &mut u64,
    turns: &TurnSource<'_>,
) -> Result<(), JournalError> {
    let entry = match entry {
        ConversationEntry::Start {
            provider,
            dialect,
            model,
            system,
            session,
        } => {
            let entries = Vec::new();
            *responses = 0;
            *conversation = Some(RecordedConversation {
                provider,
                dialect,
                model,
                system,
                session,
                entries,
            });
            return Ok(());
        }
        ConversationEntry::Message { text } => RecordedEntry::Message(text),
        ConversationEntry::Response {
            body,
            is_redacted,
            turn,
        } => {
            let key = turn.unwrap_or_else(|| response_key(*responses));
            *responses += 1;
            RecordedEntry::Response(RecordedResponse {
                body,
                is_redacted,
                turn: follow::turn(turns.connection, turns.folder, &turns.run, &key)?,
            })
        }
    };
    if let Some(conversation) = conversation {
        conversation.entries.push(entry);
    }
    Ok(())
}
