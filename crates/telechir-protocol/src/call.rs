//! A model's turn: its calls, and the proof that each one is answered.

mod hosted_source;
mod tool_call_like;

use std::collections::HashSet;

pub use hosted_source::{cites_outside, hosted_source_named};
pub use tool_call_like::ToolCallLike;

use crate::{
    CallId, ComputerCall, ComputerResult, Content, EditCall, EditResult, FunctionCall,
    FunctionResult, ShellCall, ShellResult,
};

/// A call that this program answers.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolCall {
    /// A call to a screen or browser.
    Computer(ComputerCall),
    /// A call to a shell.
    Shell(ShellCall),
    /// A call to an editor.
    Edit(EditCall),
    /// A call to any other tool.
    Function(FunctionCall),
}

impl ToolCall {
    /// The id that pairs the call with its result.
    pub fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::Computer(call) => Some(&call.call_id),
            Self::Shell(call) => Some(&call.call_id),
            Self::Edit(call) => Some(&call.call_id),
            Self::Function(call) => call.call_id.as_ref(),
        }
    }

    /// The call as a content of a history.
    pub fn into_content(self) -> Content {
        match self {
            Self::Computer(call) => Content::ComputerCall(call),
            Self::Shell(call) => Content::ShellCall(call),
            Self::Edit(call) => Content::EditCall(call),
            Self::Function(call) => Content::FunctionCall(call),
        }
    }

    /// Makes this a call that is answered with the reason instead of being executed.
    fn set_exception(&mut self, reason: String) {
        let exception = match self {
            Self::Computer(call) => &mut call.exception,
            Self::Shell(call) => &mut call.exception,
            Self::Edit(call) => &mut call.exception,
            Self::Function(call) => &mut call.exception,
        };
        *exception = Some(reason);
    }
}

/// The result of a [`ToolCall`], of the same kind.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "a turn has few results, and every reader matches on them"
)]
pub enum ToolResult {
    /// The result of a call to a screen or browser.
    Computer(ComputerResult),
    /// The result of a call to a shell.
    Shell(ShellResult),
    /// The result of a call to an editor.
    Edit(EditResult),
    /// The result of a call to any other tool.
    Function(FunctionResult),
}

impl ToolResult {
    /// The id that pairs the result with its call.
    pub fn call_id(&self) -> Option<&CallId> {
        match self {
            Self::Computer(result) => Some(&result.call_id),
            Self::Shell(result) => Some(&result.call_id),
            Self::Edit(result) => Some(&result.call_id),
            Self::Function(result) => result.call_id.as_ref(),
        }
    }

    /// The result as a content of a history.
    pub fn into_content(self) -> Content {
        match self {
            Self::Computer(result) => Content::ComputerResult(result),
            Self::Shell(result) => Content::ShellResult(result),
            Self::Edit(result) => Content::EditResult(result),
            Self::Function(result) => Content::FunctionResult(result),
        }
    }
}

/// A model's response. Each of its local calls has an id.
///
/// Some servers give one id to two calls. Only the first of them is executed; see [`Self::calls`].
#[derive(Clone, Debug, PartialEq)]
pub struct ModelTurn {
    contents: Vec<Content>,
    /// Whether the caller answers the calls of its own functions.
    leaves_functions: bool,
    /// What the model read at its provider where no content shows it.
    hosted_source: Option<String>,
}

/// Why a response is not a turn that can be answered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTurn {
    /// A call has no id, so it cannot be answered.
    #[error("read the turn: its call of `{name}` has no id to answer to; nothing was executed")]
    MissingCallId {
        /// Name of the called tool.
        name: String,
    },
}

/// Results that do not answer a turn: a bug in the caller.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IncompleteTurn {
    /// A call has no result.
    #[error("answer the turn: call {call_id} has no result")]
    Unanswered {
        /// Id of the call.
        call_id: CallId,
    },
    /// A result has no open call, or is the second one of its call.
    #[error("answer the turn: a result for {call_id}, which no open call has")]
    Unasked {
        /// Call id of the result.
        call_id: CallId,
    },
    /// The result has another kind than its call.
    #[error("answer the turn: call {call_id} got a result of another kind")]
    WrongKind {
        /// Id of the call.
        call_id: CallId,
    },
}

impl ModelTurn {
    /// Creates a turn from the contents of a response.
    ///
    /// # Errors
    /// When a local call has no id.
    pub fn new(contents: Vec<Content>) -> Result<Self, InvalidTurn> {
        let turn = Self {
            contents,
            leaves_functions: false,
            hosted_source: None,
        };
        for call in turn.local_calls() {
            if call.call_id().is_none_or(|id| id.as_str().is_empty()) {
                let name = match call {
                    ToolCall::Function(call) => call.name,
                    ToolCall::Computer(_) | ToolCall::Shell(_) | ToolCall::Edit(_) => String::new(),
                };
                return Err(InvalidTurn::MissingCallId { name });
            }
        }
        Ok(turn)
    }

    /// The contents of the response, in order.
    pub fn contents(&self) -> &[Content] {
        &self.contents
    }

    /// The contents without the calls that are left to the caller.
    pub fn without_left_calls(&self) -> Vec<Content> {
        let left = self.left_to_caller();
        let is_left = |content: &Content| matches!(content, Content::FunctionCall(call) if left.contains(call));
        let contents = self.contents.iter();
        contents
            .filter(|content| !is_left(content))
            .cloned()
            .collect()
    }

    /// Leaves the calls of functions to the caller, who has them and answers them. A call that
    /// could not be decoded is not left: it is answered with the reason.
    #[must_use]
    pub fn leave_functions(mut self) -> Self {
        self.leaves_functions = true;
        self
    }

    /// Marks the calls of a function as possible structured output: the request forces the model to
    /// call it.
    pub fn mark_structured_output(&mut self, function: &str) {
        for content in &mut self.contents {
            content.mark_structured_output(function);
        }
    }

    /// The calls that the caller answers, in order; none without [`Self::leave_functions`].
    pub fn left_to_caller(&self) -> Vec<FunctionCall> {
        let functions = self
            .local_calls()
            .into_iter()
            .filter_map(|call| match call {
                ToolCall::Function(call) if self.leaves(&call) => Some(call),
                ToolCall::Function(_)
                | ToolCall::Computer(_)
                | ToolCall::Shell(_)
                | ToolCall::Edit(_) => None,
            });
        functions.collect()
    }

    fn leaves(&self, call: &FunctionCall) -> bool {
        self.leaves_functions && call.exception.is_none()
    }

    /// The calls that this program answers, in order. Calls that the provider or the caller
    /// executes, or whose result is part of the response, are not included.
    ///
    /// A call with the id of an earlier one has an `exception`, so it is answered with an error and
    /// never executed: a result that named the id alone could not show which call it belongs to.
    pub fn calls(&self) -> Vec<ToolCall> {
        let mut calls = self.calls_as_sent();
        let mut seen = HashSet::new();
        for call in &mut calls {
            let id = call.call_id().cloned();
            if let Some(id) = id.filter(|id| !seen.insert(id.clone())) {
                call.set_exception(format!(
                    "an earlier call of the same response has the id {id}, too, and only the first \
                     call with an id is executed; make this call again in the next turn."
                ));
            }
        }
        calls
    }

    /// The calls that this program answers, as the model sent them.
    fn calls_as_sent(&self) -> Vec<ToolCall> {
        let mut calls = self.local_calls();
        calls.retain(|call| match call {
            ToolCall::Function(call) => !self.leaves(call),
            ToolCall::Computer(_) | ToolCall::Shell(_) | ToolCall::Edit(_) => true,
        });
        calls
    }

    fn local_calls(&self) -> Vec<ToolCall> {
        let answered: HashSet<&CallId> = self.contents.iter().filter_map(result_id).collect();
        let local = |call: &ToolCall| call.call_id().is_none_or(|id| !answered.contains(id));
        self.contents
            .iter()
            .filter_map(local_call)
            .filter(local)
            .collect()
    }

    /// Pairs the turn with its results, which are put into the order of the calls. Results of one
    /// id belong to the calls with that id in their order.
    ///
    /// # Errors
    /// When a call has no result, or a result no call.
    pub fn answer(self, results: Vec<ToolResult>) -> Result<AnsweredTurn, IncompleteTurn> {
        let mut open: Vec<Option<ToolResult>> = results.into_iter().map(Some).collect();
        let mut ordered = Vec::with_capacity(open.len());
        for call in self.calls() {
            let Some(id) = call.call_id() else { continue };
            let found = open
                .iter_mut()
                .find(|slot| slot.as_ref().and_then(ToolResult::call_id) == Some(id));
            let Some(result) = found.and_then(Option::take) else {
                return Err(IncompleteTurn::Unanswered {
                    call_id: id.clone(),
                });
            };
            if !is_same_kind(&call, &result) {
                return Err(IncompleteTurn::WrongKind {
                    call_id: id.clone(),
                });
            }
            ordered.push(result);
        }
        if let Some(left) = open.into_iter().flatten().next() {
            let call_id = left.call_id().cloned().unwrap_or_else(|| CallId::from(""));
            return Err(IncompleteTurn::Unasked { call_id });
        }
        Ok(AnsweredTurn {
            turn: self,
            results: ordered,
        })
    }
}

/// A turn whose calls have exactly one result each. Only such a turn can be encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct AnsweredTurn {
    turn: ModelTurn,
    results: Vec<ToolResult>,
}

impl AnsweredTurn {
    /// The turn that the results answer.
    pub fn turn(&self) -> &ModelTurn {
        &self.turn
    }

    /// The calls that the caller answers; see [`ModelTurn::leave_functions`].
    pub fn left_to_caller(&self) -> Vec<FunctionCall> {
        self.turn.left_to_caller()
    }

    /// The results in the order of the calls.
    pub fn results(&self) -> &[ToolResult] {
        &self.results
    }

    /// Each call with its result.
    pub fn pairs(&self) -> impl Iterator<Item = (ToolCall, &ToolResult)> {
        self.turn.calls_as_sent().into_iter().zip(&self.results)
    }

    /// The same turn without calls that have the id of an earlier call, and the ids of the removed
    /// ones; `None` if all ids are distinct. For services that accept one result per id.
    pub fn without_repeated_ids(&self) -> Option<(Self, Vec<CallId>)> {
        let ids = self.results.iter().filter_map(ToolResult::call_id);
        let mut known = HashSet::new();
        let repeated: Vec<CallId> = ids.filter(|id| !known.insert(*id)).cloned().collect();
        if repeated.is_empty() {
            return None;
        }
        let mut seen = HashSet::new();
        let is_first = |content: &&Content| {
            let call = local_call(content);
            let id = call.as_ref().and_then(ToolCall::call_id);
            id.is_none_or(|id| !known.contains(id) || seen.insert(id.clone()))
        };
        let contents = self.turn.contents.iter().filter(is_first).cloned();
        let turn = ModelTurn {
            contents: contents.collect(),
            leaves_functions: self.turn.leaves_functions,
            hosted_source: self.turn.hosted_source.clone(),
        };
        let mut seen = HashSet::new();
        let mut results = self.results.clone();
        results.retain(|result| result.call_id().is_none_or(|id| seen.insert(id.clone())));
        Some((Self { turn, results }, repeated))
    }
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a local call"
)]
fn local_call(content: &Content) -> Option<ToolCall> {
    let call = match content {
        Content::ComputerCall(call) => ToolCall::Computer(call.clone()),
        Content::ShellCall(call) => ToolCall::Shell(call.clone()),
        Content::EditCall(call) => ToolCall::Edit(call.clone()),
        Content::FunctionCall(call) => ToolCall::Function(call.clone()),
        _ => return None,
    };
    let is_local = call.as_tool_call_like().requires_local_execution();
    is_local.then_some(call)
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a result"
)]
fn result_id(content: &Content) -> Option<&CallId> {
    match content {
        Content::ComputerResult(result) => Some(&result.call_id),
        Content::ShellResult(result) => Some(&result.call_id),
        Content::EditResult(result) => Some(&result.call_id),
        Content::FunctionResult(result) => result.call_id.as_ref(),
        _ => None,
    }
}

fn is_same_kind(call: &ToolCall, result: &ToolResult) -> bool {
    matches!(
        (call, result),
        (ToolCall::Computer(_), ToolResult::Computer(_))
            | (ToolCall::Shell(_), ToolResult::Shell(_))
            | (ToolCall::Edit(_), ToolResult::Edit(_))
            | (ToolCall::Function(_), ToolResult::Function(_))
    )
}
