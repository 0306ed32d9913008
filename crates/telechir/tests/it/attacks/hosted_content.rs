//! What a model's provider searched, fetched or executed for it can instruct the model like a page.
//! Rules with `after_untrusted` count from the response that carries it.

use std::fs;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::runs::model::{Model, Reply, message, response, responses};
use crate::sessions::SessionFixture;
use crate::telechir::{Ran, Telechir};

const RULES: &str = "
    [[edit]]
    after_untrusted = true
    verdict = 'deny'
    reason = 'The provider may have asked for it.'
    [[edit]]
    verdict = 'allow'
    reason = 'It is the task.'
";

/// Whether a session refused an edit for what was read; otherwise it did it.
fn is_refused(reply: &str) -> bool {
    let done = reply.contains("seven") || reply.contains(r#""status":"completed""#);
    let refused = reply.contains("may have asked for it");
    assert_ne!(refused, done, "{reply}");
    refused
}

/// A policy, and a workspace with the file `a.txt`.
fn flags(telechir: &Telechir) -> [String; 3] {
    let (policy, work) = ("rules.toml", "work");
    let [policy, work] = [policy, work].map(|name| telechir.folder().join(name));
    fs::write(&policy, RULES).expect("a policy");
    fs::create_dir(&work).expect("a workspace");
    fs::write(work.join("a.txt"), "seven\n").expect("a file");
    [
        "--editor".to_owned(),
        format!("--workspace={}", work.display()),
        format!("--policy={}", policy.display()),
    ]
}

fn view() -> Value {
    json!({"command": "view", "path": "a.txt"})
}

/// A response of each provider that views or creates a file, and what it carries of a search beside the call.
fn with_and_without_search() -> Vec<(&'static str, Value, Value)> {
    const NAME: &str = "str_replace_based_edit_tool";
    let arguments = view().to_string();
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s",
        "content": [{"type": "web_search_result", "url": "https://a.example", "title": "x",
            "encrypted_content": "x", "page_age": null}]});
    let tool_use = json!({"type": "tool_use", "id": "c1", "name": NAME, "input": view()});
    let anthropic = |content: Value| {
        json!({"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content,
            "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1}})
    };
    let anthropic = (
        anthropic(json!([tool_use])),
        anthropic(json!([found, tool_use])),
    );
    let called = json!({"id": "c1AbCdEf9", "type": "function",
        "function": {"name": NAME, "arguments": arguments}});
    let chat = |annotations: Value| {
        json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message":
            {"role": "assistant", "content": "x", "annotations": annotations,
                "tool_calls": [called]}}]})
    };
    let cited = json!([{"type": "url_citation", "url_citation": {"url": "https://a.example"}}]);
    let chat = (chat(json!([])), chat(cited));
    let converse = |blocks: Value| {
        json!({"output": {"message": {"role": "assistant", "content": blocks}},
            "stopReason": "tool_use"})
    };
    let used = json!({"toolUse": {"toolUseId": "c1", "name": NAME, "input": view()}});
    let located = json!({"citationsContent": {"content": [{"text": "x"}],
        "citations": [{"location": {"web": {"url": "https://a.example"}}}]}});
    let patch = json!({"type": "apply_patch_call", "id": "a", "call_id": "c1",
        "status": "completed", "operation":
            {"type": "create_file", "path": "b.txt", "diff": "+eight\n"}});
    let searched = json!({"type": "web_search_call", "id": "w", "status": "completed"});
    let google = |grounding: Value| {
        let part = json!({"functionCall": {"id": "c1", "name": NAME, "args": view()}});
        json!({"candidates": [{"content": {"role": "model", "parts": [part]},
            "finishReason": "STOP", "groundingMetadata": grounding}]})
    };
    let chunks = json!({"groundingChunks": [{"web": {"uri": "https://a.example"}}]});
    let step = json!({"type": "function_call", "id": "c1", "name": NAME, "arguments": view()});
    let interaction =
        |steps: Value| json!({"id": "i", "status": "requires_action", "steps": steps});
    let step_of_search = json!({"type": "google_search_result", "call_id": "g",
        "result": [{"url": "https://a.example"}]});
    let entry = json!({"object": "entry", "type": "function.call", "id": "f",
        "tool_call_id": "c1AbCdEf9", "name": NAME, "arguments": arguments});
    let execution = json!({"object": "entry", "type": "tool.execution", "id": "t",
        "name": "web_search", "arguments": "{}"});
    let conversation = |outputs: Value| json!({"object": "conversation.response", "conversation_id": "c", "outputs": outputs});
    let edit = json!({"type": "edit_call", "call_id": "c1", "tool": "editor",
        "operations": [{"name": "view", "path": "a.txt"}]});
    let result =
        json!({"type": "function_result", "call_id": "x", "name": "search", "result": "x"});
    let framework =
        |contents: Value| json!({"messages": [{"role": "assistant", "contents": contents}]});
    let plain_and_found = |(plain, found): (Value, Value), dialect| (dialect, plain, found);
    let mut all: Vec<(&'static str, Value, Value)> =
        ["anthropic-messages", "bedrock-messages", "bedrock-invoke"]
            .map(|dialect| plain_and_found(anthropic.clone(), dialect))
            .into();
    let of_chat = ["functions", "functions-inline", "mistral-chat"];
    all.extend(of_chat.map(|dialect| plain_and_found(chat.clone(), dialect)));
    all.extend([
        (
            "bedrock-converse",
            converse(json!([used])),
            converse(json!([located, used])),
        ),
        (
            "openai-responses",
            json!({"output": [patch]}),
            json!({"output": [searched, patch]}),
        ),
        ("google-generate-content", google(json!({})), google(chunks)),
        (
            "google-interactions",
            interaction(json!([step])),
            interaction(json!([step_of_search, step])),
        ),
        (
            "mistral-conversations",
            conversation(json!([entry])),
            conversation(json!([execution, entry])),
        ),
        (
            "agent-framework",
            framework(json!([edit])),
            framework(json!([result, edit])),
        ),
        ("neutral", json!([edit]), json!([result, edit])),
    ]);
    all
}

#[test]
fn a_hosted_search_in_a_response_of_any_provider_tightens_the_session() {
    let telechir = Telechir::new();
    let flags = flags(&telechir);
    for (dialect, plain, found) in with_and_without_search() {
        for (response, is_tightened) in [(plain, false), (found, true)] {
            let mut arguments = vec!["exec", "--dialect", dialect];
            arguments.extend(flags.iter().map(String::as_str));
            let ran = telechir.run(&arguments, &response.to_string());
            assert_eq!(ran.code, Some(0), "{dialect}: {response}: {ran:?}");
            assert_eq!(
                is_refused(&ran.stdout),
                is_tightened,
                "{dialect}: {response}"
            );
        }
    }
}

/// The session host has the contents of a response only, and what the provider stated around them.
#[test]
fn a_session_that_lasts_stays_untrusted_after_a_hosted_search() {
    let sessions = SessionFixture::new();
    let flags = flags(&sessions.telechir);
    let google = with_and_without_search();
    let google = google
        .iter()
        .find(|(dialect, ..)| *dialect == "google-generate-content");
    let (dialect, plain, found) = google.expect("a dialect");
    for (response, is_tightened) in [(plain, false), (found, true), (plain, true)] {
        let mut arguments = vec!["exec", "--session=a", "--dialect", dialect];
        arguments.extend(flags.iter().map(String::as_str));
        let ran = Ran::of(&mut sessions.command(&arguments), &response.to_string());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert_eq!(is_refused(&ran.stdout), is_tightened, "{response}");
    }
    sessions.assert_closes("a");
}

/// A search in a response without calls of ours: the provider paused, or the task ended with it.
#[test]
fn a_hosted_search_before_the_response_with_the_call_tightens_a_run() {
    let searched = |stop: &str| -> Reply {
        let used = json!({"type": "server_tool_use", "id": "s", "name": "web_search",
            "input": {"query": "x"}});
        response(stop, json!([used, {"type": "text", "text": "Searched."}]))
    };
    let viewed = || -> Reply {
        let call = json!({"type": "tool_use", "id": "c1", "name": "str_replace_based_edit_tool",
            "input": view()});
        response("tool_use", json!([call]))
    };
    for stop in ["pause_turn", "end_turn", "nothing is searched"] {
        let telechir = Telechir::new();
        let flags = flags(&telechir);
        let model = Model::start(move |request| match (responses(request), stop) {
            (0, "nothing is searched") => message("Nothing."),
            (0, _) => searched(stop),
            (1, _) => viewed(),
            _ => message("Done."),
        });
        let (recording, base_url) = (telechir.folder().join("recording"), model.base_url());
        let recording = recording.to_string_lossy();
        let run = |more: &[&str]| {
            let mut arguments = vec!["run", "--record", &recording, "--base-url", &base_url];
            arguments.extend(more);
            let mut command = telechir.command(&arguments);
            command.env("ANTHROPIC_API_KEY", "sk-ant-0123456789");
            let ran = Ran::of(command.stdin(Stdio::piped()), "");
            assert_eq!(ran.code, Some(0), "{ran:?}");
        };
        let mut first = vec!["Read a.txt.", "--run=r1", "--provider=anthropic"];
        first.push("--model=claude-opus-5-5");
        first.extend(flags.iter().map(String::as_str));
        run(&first);
        if stop != "pause_turn" {
            run(&["--resume=r1", "Now read it."]);
        }
        let requests = model.requests();
        let last = requests.last().expect("a request")["messages"].to_string();
        assert_eq!(is_refused(&last), stop != "nothing is searched", "{stop}");
    }
}
