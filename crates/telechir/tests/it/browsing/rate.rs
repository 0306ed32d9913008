//! The frame rate of a page in a window.

use serde_json::json;

use super::BrowsingFixture;
use super::anthropic::message;
use crate::exec::member;

#[test]
fn a_page_in_a_window_is_drawn_at_a_high_frame_rate() {
    let fixture = BrowsingFixture::new();
    let mut flags = fixture.flags();
    flags[0] = format!("--browser={}", fixture.page());
    flags.retain(|flag| flag != "--headless");
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    // A late frame skips others, so the shortest gap is the interval of one frame.
    let measure = "const times = []; const next = now => { times.push(now); \
        if (times.length < 60) return requestAnimationFrame(next); \
        const gaps = times.slice(1).map((time, i) => time - times[i]).filter(gap => gap > 1); \
        window.interval = `every ${Math.round(Math.min(...gaps))} ms` }; requestAnimationFrame(next)";
    let call = |id, name, input| member(id, "browser", name, input);
    let calls = [
        call("toolu_1", "javascript_exec", json!({ "text": measure })),
        call("toolu_2", "wait", json!({ "duration": 1 })),
        call("toolu_3", "javascript_exec", json!({ "text": "interval" })),
    ];
    let reply = fixture.exec("anthropic-messages", &flags, &message(&calls));
    assert_eq!(reply[2]["content"][0]["text"], "every 8 ms", "{reply}");
}
