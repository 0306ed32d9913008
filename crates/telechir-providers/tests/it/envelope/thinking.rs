//! The thinking of a request that names no budget: the model decides, or it is disabled.

use serde_json::{Value, json};
use telechir_providers::Dialect;

use super::{is_reported, translate};

fn request(members: &Value) -> Value {
    let mut request = json!({
        "model": "claude-opus-4-6", "max_tokens": 4096,
        "messages": [{"role": "user", "content": "Which weather?"}],
    });
    for (name, value) in members.as_object().into_iter().flatten() {
        request[name] = value.clone();
    }
    request
}

#[test]
fn every_kind_of_thinking_is_written_or_reported() {
    for kind in ["adaptive", "enabled"] {
        let request = request(&json!({"thinking": {"type": kind, "display": "omitted"}}));
        for to in Dialect::ALL {
            if matches!(
                to,
                Dialect::AnthropicMessages | Dialect::BedrockMessages | Dialect::BedrockAgents
            ) {
                continue;
            }
            let translated = translate(Dialect::AnthropicMessages, to, &request);
            let losses = &translated.report.losses;
            let expected = json!({"type": kind, "display": "omitted"});
            match to {
                Dialect::BedrockConverse => {
                    let fields = &translated.document["additionalModelRequestFields"];
                    assert_eq!(fields["thinking"], expected, "{kind}");
                }
                Dialect::BedrockInvoke => assert_eq!(translated.document["thinking"], expected),
                Dialect::GoogleGenerateContent => {
                    let config = &translated.document["generationConfig"]["thinkingConfig"];
                    assert_eq!(config["thinkingBudget"], -1, "{kind}");
                }
                _ => assert!(is_reported(losses, "/thinking/type"), "{kind} to {to}"),
            }
        }
    }
}

#[test]
fn summaries_stay_those_of_anthropics_thinking() {
    let thinking = json!({"type": "adaptive", "display": "summarized"});
    let request = request(&json!({"thinking": thinking}));
    let (from, to) = (Dialect::AnthropicMessages, Dialect::BedrockConverse);
    let there = translate(from, to, &request);
    let fields = &there.document["additionalModelRequestFields"];
    assert_eq!(fields["thinking"], thinking);
    let losses = &there.report.losses;
    assert!(!is_reported(losses, "/thinking/display"), "{losses:?}");
    let back = translate(to, from, &there.document);
    assert_eq!(back.document["thinking"], thinking);
}

#[test]
fn a_level_and_thinking_of_any_extent_do_not_meet_at_google() {
    let request = request(&json!({
        "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"},
    }));
    let (from, to) = (Dialect::AnthropicMessages, Dialect::GoogleGenerateContent);
    let translated = translate(from, to, &request);
    let config = &translated.document["generationConfig"]["thinkingConfig"];
    assert_eq!(*config, json!({"thinkingLevel": "HIGH"}));
    assert!(is_reported(&translated.report.losses, "/thinking/type"));
}

#[test]
fn an_effort_without_thinking_loses_one_of_the_two_where_they_are_one() {
    let request = request(&json!({
        "thinking": {"type": "disabled"}, "output_config": {"effort": "high"},
    }));
    let from = Dialect::AnthropicMessages;
    let openai = translate(from, Dialect::OpenaiResponses, &request);
    assert_eq!(openai.document["reasoning"]["effort"], "none");
    let losses = &openai.report.losses;
    assert!(is_reported(losses, "/output_config/effort"), "{losses:?}");

    let converse = translate(from, Dialect::BedrockConverse, &request).document;
    assert_eq!(converse["outputConfig"]["effort"], "high");
    let fields = &converse["additionalModelRequestFields"];
    assert_eq!(fields["thinking"], json!({"type": "disabled"}));
}
