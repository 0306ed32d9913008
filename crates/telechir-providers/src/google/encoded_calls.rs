//! Remembers how the calls of a history were encoded; their results follow that form.

use std::collections::HashMap;

use telechir_protocol::{CallId, Content, ToolResult};

use super::encode_call::EncodedFunctionCall;
use super::turns::encoded_by_name;
use crate::Report;
use crate::history::turns::call_id;

/// The calls encoded so far, by their ids in the history.
#[derive(Debug, Default)]
pub(super) struct EncodedCalls(HashMap<CallId, Vec<EncodedFunctionCall>>);

impl EncodedCalls {
    /// Records how a call was encoded.
    pub(super) fn note(&mut self, call: &Content, encoded: Vec<EncodedFunctionCall>) {
        if let Some(id) = call_id(call) {
            self.0.insert(id.clone(), encoded);
        }
    }

    /// The function calls that a result belongs to. If there are none, the result is reported as
    /// lost.
    pub(super) fn calls_of_result(
        &self,
        result: &ToolResult,
        location: &str,
        report: &mut Report,
    ) -> Vec<EncodedFunctionCall> {
        let encoded = result.call_id().and_then(|id| self.0.get(id)).cloned();
        match encoded.or_else(|| encoded_by_name(result)) {
            Some(encoded) if !encoded.is_empty() => encoded,
            _ => {
                let why = "a result names its function, and no earlier call has this id";
                let id = result.call_id().map_or("", |id| id.as_str());
                report.lost(format!("result {id}").trim_end(), location, why);
                Vec::new()
            }
        }
    }

    /// The function calls of a call without a result, which is reported.
    pub(super) fn calls_without_result(
        &self,
        call: &Content,
        report: &mut Report,
    ) -> Vec<EncodedFunctionCall> {
        let Some(id) = call_id(call) else {
            return Vec::new();
        };
        report.preserved(
            "a missing result",
            format!("call {id}"),
            "every call requires a result",
            "as an error result",
        );
        self.0.get(id).cloned().unwrap_or_default()
    }
}
