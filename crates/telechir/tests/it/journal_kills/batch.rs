//! A batch of shell calls with countable effects, sent to one run of one recording.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use serde_json::{Value, json};
use telechir_runtime::{RecordKind, read, verify};

use super::draw::Draw;
use super::victim::Victim;
use crate::telechir::Telechir;

/// Commands of a batch; each takes at most 15 ms besides its startup.
pub(super) const COMMANDS: usize = 10;

/// A temporary folder with a workspace and a recording, and the response to send.
pub(super) struct Batch {
    telechir: Telechir,
    policy: String,
    response: String,
}

/// The recorded and visible state after a kill.
pub(super) struct BatchState {
    /// Calls whose intent is recorded.
    pub(super) intents: BTreeSet<String>,
    /// Output of each call with a recorded outcome.
    pub(super) outcomes: BTreeMap<String, String>,
    /// The lines that the commands wrote; each is a call id.
    pub(super) lines: Vec<String>,
    /// The reply, if it was printed completely.
    pub(super) reply: Option<Value>,
    /// Time from the kill until no process was left.
    pub(super) gone_after_ms: u128,
    head: Option<String>,
}

impl Batch {
    pub(super) fn new(draw: &mut Draw) -> Self {
        let telechir = Telechir::new();
        let policy = telechir.permissive_policy();
        let workspace = telechir.folder().join("workspace");
        fs::create_dir(&workspace).expect("a workspace");
        // As root, each run has a different session user, and all of them append to this file.
        let effects = workspace.join("effects");
        fs::write(&effects, "").expect("a file");
        fs::set_permissions(&effects, fs::Permissions::from_mode(0o666)).expect("permissions");
        let calls = (0..COMMANDS).map(|index| {
            let (before, after) = (draw.below(8), draw.below(8));
            let command = format!(
                "sleep 0.00{before}; echo {id} >> effects && sleep 0.00{after} && echo said-{id}",
                id = id(index)
            );
            json!({"type": "tool_use", "id": id(index), "name": "bash", "input": {"command": command}})
        });
        let response = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-5-5",
            "content": calls.collect::<Vec<_>>(), "stop_reason": "tool_use", "stop_sequence": null,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        });
        Self {
            telechir,
            policy,
            response: response.to_string(),
        }
    }

    /// Sends the response, kills after a random number of effects and a random delay, and returns
    /// the state.
    pub(super) fn send_and_kill(&self, draw: &mut Draw, before: Option<&BatchState>) -> BatchState {
        let present = self.lines().len() as u64;
        let end = COMMANDS as u64;
        // After one of the effects, during the slow start, or at or after the end.
        let wanted = match draw.below(end + 6) {
            0..3 => present,
            drawn @ 3.. => (present + drawn - 2).min(end + u64::from(drawn == end + 5)),
        };
        let delay = draw.time(if wanted == present {
            300
        } else if wanted == end {
            100
        } else {
            30
        });
        let mut victim = self.start();
        let poll = std::time::Duration::from_millis(1);
        while (self.lines().len() as u64) < wanted && victim.runs_after(poll) {}
        let _already_exited = victim.runs_after(delay);
        let (reply, gone_after_ms) = victim.kill(&self.telechir);
        self.inspect(reply, gone_after_ms, before)
    }

    /// Sends the response, waits for the reply, and compares every result with the earlier state.
    pub(super) fn send_to_the_end(&self, before: &BatchState) {
        let reply = self.start().finish();
        let results = reply.as_array().expect("results");
        assert_eq!(results.len(), COMMANDS);
        let mut wanted = BTreeSet::new();
        for result in results {
            let call = result["tool_use_id"].as_str().expect("an id").to_owned();
            let text = result["content"].to_string();
            let is_interrupted =
                before.intents.contains(&call) && !before.outcomes.contains_key(&call);
            if is_interrupted {
                assert_eq!(result["is_error"], true, "{text}");
                assert!(text.contains("its effect is unknown"), "{text}");
                wanted.extend(before.lines.contains(&call).then_some(call));
            } else {
                assert_ne!(result["is_error"], true, "{text}");
                assert!(text.contains(&format!("said-{call}")), "{text}");
                wanted.insert(call);
            }
        }
        if let Some(first) = &before.reply {
            assert_eq!(reply, *first, "the second reply differs from the first");
        }
        let after = self.inspect(Some(reply), 0, Some(before));
        assert_eq!(after.lines.iter().cloned().collect::<BTreeSet<_>>(), wanted);
    }

    pub(super) const fn telechir(&self) -> &Telechir {
        &self.telechir
    }

    pub(super) fn start(&self) -> Victim {
        let workspace = self.telechir.folder().join("workspace");
        let recording = self.recording();
        let arguments = [
            "exec",
            "--dialect",
            "anthropic-messages",
            "--shell",
            "--workspace",
            workspace.to_str().expect("a path"),
            "--policy",
            &self.policy,
            "--record",
            recording.to_str().expect("a path"),
            "--run",
            "batch",
        ];
        Victim::start(&self.telechir, &arguments, &self.response)
    }

    pub(super) fn recording(&self) -> PathBuf {
        self.telechir.folder().join("recording")
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let file = self.telechir.folder().join("workspace/effects");
        let text = fs::read_to_string(file).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Reads the state after a kill and checks the invariants that hold at every point.
    fn inspect(
        &self,
        reply: Option<Value>,
        gone_after_ms: u128,
        before: Option<&BatchState>,
    ) -> BatchState {
        let mut seen = BatchState {
            intents: BTreeSet::new(),
            outcomes: BTreeMap::new(),
            lines: self.lines(),
            reply,
            gone_after_ms,
            head: None,
        };
        if self.recording().join("journal.sqlite").exists() {
            let mut audit = self.telechir.command(&["audit", "verify"]);
            audit.arg(self.recording());
            if let Some(head) = before.and_then(|before| before.head.as_ref()) {
                audit.args(["--head", head]);
            }
            let ran = audit.output().expect("the program runs");
            assert!(ran.status.success(), "{ran:?}");
            let verified = verify(self.recording()).expect("a recording");
            seen.head = Some(verified.head);
            seen.read_steps(&self.recording());
        }
        seen.check();
        if let Some(before) = before {
            seen.assert_continues(before);
        }
        seen
    }
}

impl BatchState {
    fn read_steps(&mut self, recording: &std::path::Path) {
        let mut started = Vec::new();
        for record in read(recording).expect("a recording") {
            if record.kind == RecordKind::Intent {
                let call = record.body["call_id"].as_str().expect("a call").to_owned();
                assert!(
                    self.intents.insert(call.clone()),
                    "{call} was started twice"
                );
                started.push(call);
            } else if record.kind == RecordKind::Outcome {
                // Commands run one after another, so an outcome belongs to the last intent.
                let call = started.last().expect("an intent before an outcome").clone();
                let output = record.body["stdout"].as_str().unwrap_or_default();
                assert_eq!(output.trim(), format!("said-{call}"));
                let earlier = self.outcomes.insert(call, output.to_owned());
                assert_eq!(earlier, None, "two outcomes of one command");
            }
        }
    }

    /// Every effect has an intent, every outcome has its effect, and no effect is repeated.
    fn check(&self) {
        let lines: BTreeSet<&String> = self.lines.iter().collect();
        assert_eq!(lines.len(), self.lines.len(), "repeated: {:?}", self.lines);
        for line in &self.lines {
            assert!(self.intents.contains(line), "{line} has no intent");
        }
        for call in self.outcomes.keys() {
            assert!(lines.contains(call), "{call} has an outcome but no effect");
        }
        if let Some(reply) = &self.reply {
            assert_eq!(reply.as_array().map(Vec::len), Some(COMMANDS));
            assert_eq!(self.intents.len(), COMMANDS, "a reply without all intents");
        }
    }

    /// All earlier effects, intents and outcomes are still present.
    fn assert_continues(&self, before: &Self) {
        assert!(self.lines.starts_with(&before.lines), "effects are missing");
        assert!(self.intents.is_superset(&before.intents));
        for (call, output) in &before.outcomes {
            assert_eq!(
                self.outcomes.get(call),
                Some(output),
                "an outcome is missing"
            );
        }
    }
}

fn id(index: usize) -> String {
    format!("toolu_{index}")
}
