//! Why a response ended, in each provider's words.

use super::api::Api;

/// Why a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finish {
    Stop,
    StopSequence,
    Calls,
    MaxTokens,
    ContextWindow,
    /// The model refused.
    Refusal,
    /// A filter of the provider removed the answer.
    ContentFilter,
    /// Send the conversation again to go on.
    Pause,
    /// The model wrote something that is no answer, such as a broken call.
    Malformed,
    /// The provider failed.
    Failed,
    Other,
}

use Finish::{
    Calls, ContentFilter, ContextWindow, Failed, Malformed, MaxTokens, Other, Pause, Refusal, Stop,
    StopSequence,
};

type FinishRow = (Finish, &'static str);

const ANTHROPIC: &[FinishRow] = &[
    (Stop, "end_turn"),
    (StopSequence, "stop_sequence"),
    (Calls, "tool_use"),
    (MaxTokens, "max_tokens"),
    (ContextWindow, "model_context_window_exceeded"),
    (Refusal, "refusal"),
    (Pause, "pause_turn"),
    (Pause, "compaction"),
];
const CONVERSE: &[FinishRow] = &[
    (Stop, "end_turn"),
    (StopSequence, "stop_sequence"),
    (Calls, "tool_use"),
    (MaxTokens, "max_tokens"),
    (ContextWindow, "model_context_window_exceeded"),
    (ContentFilter, "content_filtered"),
    (ContentFilter, "guardrail_intervened"),
    (Malformed, "malformed_tool_use"),
    (Malformed, "malformed_model_output"),
];
const GENERATE: &[FinishRow] = &[
    (Stop, "STOP"),
    (MaxTokens, "MAX_TOKENS"),
    (ContentFilter, "SAFETY"),
    (ContentFilter, "RECITATION"),
    (ContentFilter, "LANGUAGE"),
    (ContentFilter, "BLOCKLIST"),
    (ContentFilter, "PROHIBITED_CONTENT"),
    (ContentFilter, "SPII"),
    (ContentFilter, "IMAGE_SAFETY"),
    (ContentFilter, "IMAGE_PROHIBITED_CONTENT"),
    (ContentFilter, "IMAGE_RECITATION"),
    (ContentFilter, "MODEL_ARMOR"),
    (ContentFilter, "JAILBREAK"),
    (Malformed, "MALFORMED_FUNCTION_CALL"),
    (Malformed, "MALFORMED_RESPONSE"),
    (Malformed, "UNEXPECTED_TOOL_CALL"),
    (Malformed, "TOO_MANY_TOOL_CALLS"),
    (Pause, "CONTINUATION"),
    (Other, "OTHER"),
];
const CHAT: &[FinishRow] = &[
    (Stop, "stop"),
    (Calls, "tool_calls"),
    (Calls, "function_call"),
    (MaxTokens, "length"),
    (ContentFilter, "content_filter"),
    (Failed, "error"),
];
const MISTRAL: &[FinishRow] = &[
    (Stop, "stop"),
    (Calls, "tool_calls"),
    (MaxTokens, "length"),
    (ContextWindow, "model_length"),
    (Failed, "error"),
];
/// The `reason` of an incomplete response; other ends are its status.
const RESPONSES: &[FinishRow] = &[
    (Stop, "completed"),
    (MaxTokens, "max_output_tokens"),
    (ContentFilter, "content_filter"),
    (Pause, "max_messages"),
];
const INTERACTIONS: &[FinishRow] = &[
    (Stop, "completed"),
    (Calls, "requires_action"),
    (MaxTokens, "incomplete"),
    (MaxTokens, "budget_exceeded"),
    (Pause, "requires_continuation"),
];

fn rows(api: Api) -> &'static [FinishRow] {
    match api {
        Api::Anthropic | Api::Invoke => ANTHROPIC,
        Api::Converse => CONVERSE,
        Api::Generate => GENERATE,
        Api::Chat | Api::Framework => CHAT,
        Api::Mistral => MISTRAL,
        Api::Responses => RESPONSES,
        Api::Interactions => INTERACTIONS,
        // Their responses have no such member.
        Api::Conversations | Api::Agents => &[],
    }
}

/// The reason that a provider's word names, and whether it is the provider's main word for it: one
/// that says more, or that nobody knows, is not exact.
pub(super) fn read(api: Api, word: &str) -> (Finish, bool) {
    let Some((finish, _)) = rows(api).iter().find(|(_, name)| *name == word) else {
        return (Other, false);
    };
    let main = rows(api).iter().find(|(other, _)| other == finish);
    (*finish, main.is_some_and(|(_, name)| *name == word))
}

/// The provider's word, and whether it says the same.
pub(super) fn write(api: Api, finish: Finish) -> (&'static str, bool) {
    let word = |finish: Finish| {
        let row = rows(api).iter().find(|(other, _)| *other == finish);
        row.map(|(_, word)| *word)
    };
    if let Some(word) = word(finish) {
        return (word, true);
    }
    // Some APIs end a response with calls like any other.
    if finish == Calls {
        return (word(Stop).unwrap_or_default(), true);
    }
    let nearest: &[Finish] = match finish {
        ContextWindow => &[MaxTokens],
        Refusal => &[ContentFilter],
        ContentFilter => &[Refusal],
        Malformed | Failed | Other => &[Other, Failed, Malformed],
        _ => &[],
    };
    let nearest = nearest.iter().find_map(|finish| word(*finish));
    let word = nearest.or_else(|| word(Stop)).unwrap_or_default();
    (word, rows(api).is_empty() && finish == Stop)
}
