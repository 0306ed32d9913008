//! The request that is measured: a history with ten screenshots.

use serde_json::json;

/// Length of one screenshot in base64 characters.
const SCREENSHOT: usize = 290_000;

/// A request of an agent after ten screenshots: texts, reasoning, calls, images.
pub(crate) fn request() -> Vec<u8> {
    let mut messages = vec![json!({"role": "user", "content": "Put the report in order."})];
    for turn in 0..10 {
        let id = format!("toolu_{turn:02}");
        let thinking = "The window is open; the list is on its left. ".repeat(20);
        messages.push(json!({"role": "assistant", "content": [
            {"type": "thinking", "thinking": thinking, "signature": "c2ln".repeat(100)},
            {"type": "text", "text": "I look at the screen\nand go on."},
            {"type": "tool_use", "id": id, "name": "left_click", "toolset_name": "computer",
             "input": {"coordinate": [100 + turn, 200]}}]}));
        messages.push(json!({"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": id, "toolset_name": "computer", "content": [
                {"type": "image", "source": {"type": "base64", "media_type": "image/png",
                 "data": screenshot(turn)}}]}]}));
    }
    json!({"model": "claude-opus-5", "max_tokens": 4096, "messages": messages,
        "tools": [{"type": "computer_toolset_20260801"}]})
    .to_string()
    .into_bytes()
}

/// Base64 with the header of a 1280x800 PNG, then pseudorandom data.
fn screenshot(seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut text = "iVBORw0KGgoAAAANSUhEUgAABQAAAAMgCAIAAABhYmNk".to_owned();
    while text.len() < SCREENSHOT {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        text.push(char::from(
            LETTERS[usize::try_from(state % 64).unwrap_or(0)],
        ));
    }
    text
}
