//! Converts shell calls to command calls: inputs and results as lists of contents.

use super::{Command, ShellCall, ShellResult};
use crate::{Content, HostedCall, Meta, Raw};

/// The dialect of the retained original, from which a conversion is reversed.
const NATIVE: &str = "telechir";

/// A call and its result together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CommandExecution<'a> {
    /// The call; its commands are in the order of the result's outputs.
    pub call: &'a ShellCall,
    /// The result, if it is known.
    pub result: Option<&'a ShellResult>,
}

impl CommandExecution<'_> {
    /// Both as one text: each command after `$`, then its output.
    pub fn to_text(&self) -> String {
        let outputs = self.result.map_or(&[][..], |result| &result.outputs);
        let steps = self.call.commands.len().max(outputs.len());
        let mut text = String::new();
        for index in 0..steps {
            if let Some(command) = self.call.commands.get(index) {
                push_lines(&mut text, &format!("$ {}", command.to_line()));
            }
            if let Some(output) = outputs.get(index) {
                push_lines(&mut text, &output.to_text());
            }
        }
        text
    }
}

fn push_lines(text: &mut String, lines: &str) {
    text.push_str(lines);
    if !lines.is_empty() && !lines.ends_with('\n') {
        text.push('\n');
    }
}

fn retained_in_meta(original: &impl serde::Serialize) -> Meta {
    let json = serde_json::to_value(original).unwrap_or_default();
    Meta {
        raw_representation: Some(Raw::new(NATIVE, json)),
        ..Meta::default()
    }
}

fn original<T: serde::de::DeserializeOwned>(command: &HostedCall) -> Option<T> {
    let raw = command
        .meta
        .raw_representation
        .as_ref()
        .filter(|raw| raw.dialect == NATIVE)?;
    serde_json::from_value(raw.json().clone()).ok()
}

fn texts(contents: &[Content]) -> Option<Vec<&str>> {
    let mut texts = Vec::new();
    for content in contents {
        let Content::Text(text) = content else {
            return None;
        };
        texts.push(text.text.as_str());
    }
    Some(texts)
}

/// A `command_call` with each command as a text. The original call is retained in it.
impl From<&ShellCall> for HostedCall {
    fn from(call: &ShellCall) -> Self {
        Self {
            call_id: Some(call.call_id.clone()),
            inputs: call
                .commands
                .iter()
                .map(|command| Content::text(command.to_line()))
                .collect(),
            status: call.status.clone(),
            meta: retained_in_meta(call),
            ..Self::default()
        }
    }
}

/// A `command_result` with each command's output as a text. The original result is retained in it.
impl From<&ShellResult> for HostedCall {
    fn from(result: &ShellResult) -> Self {
        Self {
            call_id: Some(result.call_id.clone()),
            results: result
                .outputs
                .iter()
                .map(|output| Content::text(output.to_text()))
                .collect(),
            meta: retained_in_meta(result),
            ..Self::default()
        }
    }
}

impl ShellCall {
    /// The shell call of a `command_call`: its original, or one from its texts. None if it has no
    /// id, or an input that is not text.
    pub fn from_command_call(command: &HostedCall) -> Option<Self> {
        let from_texts = || {
            let lines = texts(&command.inputs)?;
            let commands = lines
                .into_iter()
                .map(|line| Command::Line(line.to_owned()))
                .collect();
            Some(Self::execute(command.call_id.clone()?, commands))
        };
        original(command).or_else(from_texts)
    }
}

impl ShellResult {
    /// The shell result of a `command_result`: its original, or one from its texts. None if it has
    /// no id, or a result that is not text.
    pub fn from_command_result(command: &HostedCall) -> Option<Self> {
        let from_texts = || {
            let parts = texts(&command.results)?;
            let outputs = parts
                .into_iter()
                .map(super::CommandOutput::from_text)
                .collect();
            Some(Self::new(command.call_id.clone()?, outputs))
        };
        original(command).or_else(from_texts)
    }
}
