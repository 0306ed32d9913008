//! How the calls of a history went out, which their answers follow.

use std::collections::HashMap;

use telechir_protocol::{CallId, Content, ToolResult};

use super::ask::Asked;
use super::plan::asked_by_name;
use super::scene::call_id;
use crate::Report;

/// The calls written so far, by the ids that the history knows them by.
#[derive(Debug, Default)]
pub(super) struct Calls(HashMap<CallId, Vec<Asked>>);

impl Calls {
    /// Remembers how a call went out.
    pub(super) fn note(&mut self, call: &Content, asked: Vec<Asked>) {
        if let Some(id) = call_id(call) {
            self.0.insert(id.clone(), asked);
        }
    }

    /// What a result answers; when nothing can be told of that, the result is lost.
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
                let why = "an answer names its function, and no call before it has this id";
                report.lost("a result", place, why);
                Vec::new()
            }
        }
    }

    /// What is to be answered of a call that has no result.
    pub(super) fn unanswered(&self, call: &Content, report: &mut Report) -> Vec<Asked> {
        let Some(id) = call_id(call) else {
            return Vec::new();
        };
        report.kept(
            "a missing result",
            format!("call {id}"),
            "every call is answered",
            "as an error that says so",
        );
        self.0.get(id).cloned().unwrap_or_default()
    }
}
