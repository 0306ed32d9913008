//! Remembers how the calls of a history were encoded; their results follow that form.

use std::collections::HashMap;

use telechir_protocol::{CallId, Content, ToolResult};

use super::context::call_id;
use super::encode_call::Asked;
use super::turns::asked_by_name;
use crate::Report;

/// The calls encoded so far, by their ids in the history.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<CallId, Vec<Asked>>);

impl Calls {
    /// Records how a call was encoded.
    pub(super) fn note(&mut self, call: &Content, asked: Vec<Asked>) {
        if let Some(id) = call_id(call) {
            self.0.insert(id.clone(), asked);
        }
    }

    /// The function calls that a result belongs to. If there are none, the result is reported as
    /// lost.
    pub(super) fn answered_by(
        &self,
        result: &ToolResult,
        place: &str,
        report: &mut Report,
    ) -> Vec<Asked> {
        let asked = result.call_id().and_then(|id| self.0.get(id)).cloned();
        match asked.or_else(|| asked_by_name(result)) {
            Some(asked) if !asked.is_empty() => asked,
            _ => {
                let why = "a result names its function, and no earlier call has this id";
                report.lost("a result", place, why);
                Vec::new()
            }
        }
    }

    /// The function calls of a call without a result, which is reported.
    pub(super) fn unanswered(&self, call: &Content, report: &mut Report) -> Vec<Asked> {
        let Some(id) = call_id(call) else {
            return Vec::new();
        };
        report.kept(
            "a missing result",
            format!("call {id}"),
            "every call requires a result",
            "as an error result",
        );
        self.0.get(id).cloned().unwrap_or_default()
    }
}
