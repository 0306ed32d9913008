//! Decoding and encoding the history of a long run.

use serde_json::json;
use telechir_providers::Dialect;

use crate::fixture::BenchFixture;
use crate::peers::Peers;
use crate::table::{Contestant, compare, remark, table};

/// A history with six screenshots, as a long run sends it with every request.
fn history() -> Vec<u8> {
    let screenshot = "A".repeat(480_000);
    let mut messages = Vec::new();
    for turn in 0..6 {
        let id = format!("toolu_{turn}");
        messages.push(json!({"role": "assistant", "content": [
            {"type": "tool_use", "id": id, "name": "screenshot", "toolset_name": "computer", "input": {}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": screenshot}}]}]}));
    }
    serde_json::Value::Array(messages).to_string().into_bytes()
}

pub(crate) fn conversions(fixture: &BenchFixture, peers: &mut Peers) {
    let bytes = history();
    std::fs::write(fixture.folder().join("history.json"), &bytes).expect("a file");
    table(&format!(
        "Decoding and encoding a history of {:.1} MB",
        bytes.len() as f64 / 1e6
    ));
    let dialect = Dialect::AnthropicMessages;
    let read = || drop(dialect.decode_history(&bytes).expect("a history"));
    let mut yardstick = || peers.request("json");
    let python = match yardstick() {
        Ok(()) => Contestant::new(
            "Python's `json.loads` of the same bytes, for reference",
            || {
                yardstick().expect("it succeeded before");
            },
        ),
        Err(why) => Contestant::missing("Python's `json.loads`", why),
    };
    compare(40, vec![Contestant::new("decode", read), python]);
    let (history, _) = dialect.decode_history(&bytes).expect("a history");
    let same = || drop(dialect.encode_history(&history).expect("messages"));
    compare(40, vec![Contestant::new("encode", same)]);
    let other = Dialect::OpenaiResponses;
    let other = || drop(other.encode_history(&history).expect("items"));
    let name = "encode as `openai-responses`";
    compare(40, vec![Contestant::new(name, other)]);
    remark("No installable tool that translates between the two dialects was found.");
}
