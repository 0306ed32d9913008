//! A batch on a real desktop, killed between its first and last action, then sent again.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use telechir_runtime::{RecordKind, read};
use telechir_testkit::gate::{Component, require};

use super::draw::Draw;
use super::victim::Victim;
use crate::telechir::Telechir;

/// Actions of the batch.
const ACTIONS: usize = 12;

#[test]
fn a_killed_desktop_batch_continues_without_repeating_an_action() {
    require(Component::XServer);
    let mut draw = Draw::new(7);
    for _ in 0..2 {
        let telechir = Telechir::new();
        let recording = telechir.folder().join("recording");
        let arguments = [
            "exec",
            "--dialect",
            "openai-responses",
            "--desktop",
            "--display",
            "640x480",
            "--record",
            recording.to_str().expect("a path"),
            "--run",
            "batch",
        ];
        let mut victim = Victim::start(&telechir, &arguments, &response());
        let wanted = 1 + usize::try_from(draw.below(ACTIONS as u64 - 2)).expect("a number");
        let poll = Duration::from_millis(1);
        while steps(&recording).len() < wanted && victim.runs_after(poll) {}
        let (reply, _) = victim.kill(&telechir);
        let killed = steps(&recording);
        let reply =
            reply.unwrap_or_else(|| Victim::start(&telechir, &arguments, &response()).finish());
        check(&reply, &killed, &steps(&recording));
        let ran = telechir
            .command(&["audit", "verify"])
            .arg(&recording)
            .output();
        assert!(ran.expect("the program runs").status.success());
    }
}

/// The reply has a current screenshot; an interrupted action ends the batch and is reported.
fn check(reply: &Value, killed: &BTreeMap<u64, bool>, after: &BTreeMap<u64, bool>) {
    assert_eq!(reply[0]["type"], "computer_call_output", "{reply}");
    let screenshot = reply[0]["output"]["image_url"]
        .as_str()
        .expect("a screenshot");
    assert!(screenshot.starts_with("data:image/png;base64,"));
    let interrupted = killed.values().any(|ended| !ended);
    let reported = reply.to_string().contains("its effect is unknown");
    assert_eq!(reported, interrupted, "{killed:?}");
    if interrupted {
        assert_eq!(after, killed, "no step starts after the interrupted one");
    } else {
        assert_eq!(after.len(), ACTIONS);
        assert!(after.values().all(|ended| *ended), "{after:?}");
    }
}

fn response() -> String {
    let clicks = (0..ACTIONS)
        .map(|index| json!({"type": "click", "x": 20 + index * 10, "y": 100, "button": "left"}));
    let call = json!({"type": "computer_call", "id": "cu_1", "call_id": "call_1",
        "status": "completed", "actions": clicks.collect::<Vec<_>>()});
    json!({"id": "resp_1", "object": "response", "status": "completed", "model": "gpt-5.6-sol", "output": [call]})
        .to_string()
}

/// The started steps, and whether each has a recorded outcome; no step starts twice.
fn steps(recording: &Path) -> BTreeMap<u64, bool> {
    let mut steps = BTreeMap::new();
    let mut last = None;
    for record in read(recording).unwrap_or_default() {
        if record.kind == RecordKind::Intent {
            let step = record.body["step"].as_u64().expect("a step");
            assert_eq!(
                steps.insert(step, false),
                None,
                "step {step} was started twice"
            );
            last = Some(step);
        } else if record.kind == RecordKind::Outcome {
            steps.insert(last.expect("an intent"), true);
        }
    }
    steps
}
