//! Which content calls and which answers a call: the pairs that every dialect writes in its own
//! order.
#![expect(
    clippy::wildcard_enum_match_arm,
    reason = "no other content is a call or a result that a session pairs"
)]

use std::collections::{HashMap, HashSet};

use telechir_protocol::{CallId, Content, Message, Meta, ToolCall, ToolResult};

/// The id of a call; none for any other content, and for a call that nobody can answer.
pub(crate) fn call_id(content: &Content) -> Option<&CallId> {
    match content {
        Content::ComputerCall(call) => Some(&call.call_id),
        Content::ShellCall(call) => Some(&call.call_id),
        Content::EditCall(call) => Some(&call.call_id),
        Content::FunctionCall(call) => call.call_id.as_ref(),
        _ => None,
    }
}

/// The id of the call that a result belongs to; none for any other content.
pub(crate) fn result_id(content: &Content) -> Option<&CallId> {
    match content {
        Content::ComputerResult(result) => Some(&result.call_id),
        Content::ShellResult(result) => Some(&result.call_id),
        Content::EditResult(result) => Some(&result.call_id),
        Content::FunctionResult(result) => result.call_id.as_ref(),
        _ => None,
    }
}

/// The id of a call or of a result.
pub(crate) fn pair_id(content: &Content) -> Option<&CallId> {
    call_id(content).or_else(|| result_id(content))
}

/// Gives a call or a result another id.
pub(crate) fn set_pair_id(content: &mut Content, id: CallId) {
    match content {
        Content::ComputerCall(call) => call.call_id = id,
        Content::ShellCall(call) => call.call_id = id,
        Content::EditCall(call) => call.call_id = id,
        Content::FunctionCall(call) => call.call_id = Some(id),
        Content::ComputerResult(result) => result.call_id = id,
        Content::ShellResult(result) => result.call_id = id,
        Content::EditResult(result) => result.call_id = id,
        Content::FunctionResult(result) => result.call_id = Some(id),
        _ => {}
    }
}

/// The call in a content; none for any other content.
pub(crate) fn call_of(content: &Content) -> Option<ToolCall> {
    Some(match content {
        Content::ComputerCall(call) => ToolCall::Computer(call.clone()),
        Content::ShellCall(call) => ToolCall::Shell(call.clone()),
        Content::EditCall(call) => ToolCall::Edit(call.clone()),
        Content::FunctionCall(call) => ToolCall::Function(call.clone()),
        _ => return None,
    })
}

/// The result in a content; none for any other content.
pub(crate) fn result_of(content: &Content) -> Option<ToolResult> {
    Some(match content {
        Content::ComputerResult(result) => ToolResult::Computer(result.clone()),
        Content::ShellResult(result) => ToolResult::Shell(result.clone()),
        Content::EditResult(result) => ToolResult::Edit(result.clone()),
        Content::FunctionResult(result) => ToolResult::Function(result.clone()),
        _ => return None,
    })
}

/// The metadata of a result.
pub(crate) fn meta_of(result: &ToolResult) -> &Meta {
    match result {
        ToolResult::Computer(result) => &result.meta,
        ToolResult::Shell(result) => &result.meta,
        ToolResult::Edit(result) => &result.meta,
        ToolResult::Function(result) => &result.meta,
    }
}

/// Whether a content is a result, also one that names no call.
pub(crate) fn is_result(content: &Content) -> bool {
    matches!(
        content,
        Content::ComputerResult(_)
            | Content::ShellResult(_)
            | Content::EditResult(_)
            | Content::FunctionResult(_)
    )
}

/// Passes the contents of a message to `write` until none is left, with the path of the first.
/// `write` returns how many it used.
pub(crate) fn for_each_run(
    message: &Message,
    path: &str,
    mut write: impl FnMut(&[Content], &str) -> usize,
) {
    let contents = message.contents.as_slice();
    let mut at = 0;
    while let Some(rest) = contents.get(at..).filter(|rest| !rest.is_empty()) {
        at += write(rest, &format!("{path}.contents[{at}]"));
    }
}

/// The last result of each call of a history.
pub(crate) fn results(messages: &[Message]) -> HashMap<&CallId, &Content> {
    let contents = messages.iter().flat_map(|message| &message.contents);
    contents
        .filter_map(|content| Some((result_id(content)?, content)))
        .collect()
}

/// The ids of the calls that have a result.
pub(crate) fn answered_ids(messages: &[Message]) -> HashSet<CallId> {
    results(messages).into_keys().cloned().collect()
}

#[cfg(test)]
mod tests {
    use telechir_protocol::{ComputerResult, FunctionResult, Role, ShellCall};

    use super::*;

    fn function_result(call_id: Option<CallId>) -> Content {
        Content::FunctionResult(FunctionResult {
            call_id,
            name: None,
            items: Vec::new(),
            result: None,
            error: None,
            meta: Default::default(),
        })
    }

    #[test]
    fn a_call_and_its_result_have_one_id() {
        let mut call = Content::ShellCall(ShellCall::execute("a", Vec::new()));
        let mut result = Content::ComputerResult(ComputerResult::new("b"));
        assert_eq!(
            (call_id(&call), result_id(&call)),
            (Some(&"a".into()), None)
        );
        assert_eq!(result_id(&result), Some(&"b".into()));
        for content in [&mut call, &mut result] {
            set_pair_id(content, "c".into());
            assert_eq!(pair_id(content), Some(&"c".into()));
        }
        assert!(call_of(&call).is_some() && result_of(&call).is_none() && !is_result(&call));
        assert!(call_of(&result).is_none() && result_of(&result).is_some() && is_result(&result));
    }

    #[test]
    fn a_result_without_an_id_answers_no_call() {
        let message = Message::new(
            Role::Tool,
            vec![
                function_result(None),
                Content::ComputerResult(ComputerResult::new("a")),
                Content::text("a"),
            ],
        );
        assert!(is_result(&message.contents[0]) && result_id(&message.contents[0]).is_none());
        let messages = [message];
        assert_eq!(answered_ids(&messages), HashSet::from([CallId::from("a")]));
        let found: Vec<&Content> = results(&messages).into_values().collect();
        assert_eq!(found, [&messages[0].contents[1]]);
    }
}
