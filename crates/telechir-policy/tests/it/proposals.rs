//! The canonical form of a proposal, on which its digest and each approval rest.

use serde_json::{Map, Value, json};
use telechir_policy::{Device, EditProposal, Proposal, ScreenProposal, ShellProposal, ShellTask};
use telechir_protocol::{
    Action, Command, EditOperation, EditStep, EditTool, SafetyCheck, SafetySource, ShellAction,
};

fn action(json: Value) -> Action {
    serde_json::from_value(json).unwrap()
}

fn screen() -> ScreenProposal {
    ScreenProposal {
        call_id: "c1".into(),
        device: Device::Desktop,
        actions: vec![action(json!({"action": "wait", "duration": 5}))],
        safety_checks: vec![SafetyCheck {
            id: "s1".to_owned(),
            code: Some("code".to_owned()),
            message: None,
            source: SafetySource::Openai,
        }],
    }
}

/// Asserts that all these have different digests.
#[track_caller]
fn differ<P: Proposal>(proposals: &[P]) {
    for (at, one) in proposals.iter().enumerate() {
        for other in &proposals[..at] {
            assert_ne!(
                one.digest(),
                other.digest(),
                "{} {}",
                one.to_json(),
                other.to_json()
            );
        }
    }
}

#[test]
fn the_canonical_form_of_actions_has_all_that_determines_the_effect() {
    assert_eq!(
        screen().to_json(),
        json!({
            "call_id": "c1",
            "device": "desktop",
            "actions": [{"action": "wait", "duration": 5}],
            "safety_checks": [["s1", "code", null]],
        })
    );
    let with = |change: fn(&mut ScreenProposal)| {
        let mut changed = screen();
        change(&mut changed);
        changed
    };
    differ(&[
        screen(),
        with(|p| p.call_id = "c2".into()),
        with(|p| p.device = Device::Browser),
        with(|p| p.actions.clear()),
        with(|p| p.actions.push(Action::Screenshot)),
        with(|p| p.actions = vec![action(json!({"action": "wait", "duration": 6}))]),
        with(|p| p.safety_checks.clear()),
        with(|p| p.safety_checks[0].id = "s2".to_owned()),
        with(|p| p.safety_checks[0].code = None),
        with(|p| p.safety_checks[0].message = Some("m".to_owned())),
    ]);
    assert_eq!(
        [Device::Desktop, Device::Browser].map(Device::name),
        ["desktop", "browser"]
    );
    assert_eq!(Device::Browser.to_string(), "browser");
}

#[test]
fn the_canonical_form_of_a_shell_task_has_all_that_determines_the_effect() {
    let run = |lines: &[&str]| {
        lines
            .iter()
            .map(|line| Command::Line((*line).to_owned()))
            .collect()
    };
    let proposal = |task| ShellProposal {
        call_id: "c1".into(),
        task,
        cwd: None,
        env: Map::new(),
    };
    let send = |text: &str, job: Option<&str>, is_hidden| ShellTask::Send {
        input: ShellAction::SendText(text.to_owned()),
        job: job.map(str::to_owned),
        is_hidden,
    };
    assert_eq!(
        proposal(ShellTask::Run(run(&["ls"]))).to_json(),
        json!({"call_id": "c1", "shell": {"run": ["ls"]}, "cwd": null, "env": {}})
    );
    let hidden = proposal(send("secret", None, true)).to_json();
    assert!(!hidden.to_string().contains("secret"), "{hidden}");
    assert_eq!(hidden["shell"]["send"]["hidden_characters"], 6);
    let base = || proposal(ShellTask::Run(run(&["ls"])));
    differ(&[
        base(),
        ShellProposal {
            call_id: "c2".into(),
            ..base()
        },
        ShellProposal {
            cwd: Some("/w".to_owned()),
            ..base()
        },
        ShellProposal {
            env: Map::from_iter([("A".to_owned(), json!("1"))]),
            ..base()
        },
        proposal(ShellTask::Run(run(&["ls", "rm x"]))),
        proposal(ShellTask::Run(vec![Command::Argv(vec!["ls".to_owned()])])),
        proposal(ShellTask::Start(run(&["ls"]))),
        proposal(ShellTask::Restart),
        proposal(ShellTask::ReadJobs(ShellAction::List)),
        proposal(ShellTask::ReadJobs(ShellAction::Read("j1".to_owned()))),
        proposal(ShellTask::Stop("j1".to_owned())),
        proposal(send("y", None, false)),
        proposal(send("n", None, false)),
        proposal(send("y", Some("j1"), false)),
        proposal(send("y", None, true)),
    ]);
}

#[test]
fn the_canonical_form_of_an_edit_has_all_that_determines_the_effect() {
    let step = |json: Value| -> EditStep {
        let operation: EditOperation = serde_json::from_value(json).unwrap();
        operation.step().unwrap()
    };
    let create =
        |path: &str, text: &str| step(json!({"name": "create", "path": path, "file_text": text}));
    let base = || EditProposal {
        call_id: "c1".into(),
        tool: EditTool::Editor,
        steps: vec![create("/w/a", "x")],
    };
    let json = base().to_json();
    assert_eq!(
        (&json["call_id"], &json["edit"]),
        (&json!("c1"), &json!("editor"))
    );
    assert_eq!(json["steps"].as_array().unwrap().len(), 1);
    differ(&[
        base(),
        EditProposal {
            call_id: "c2".into(),
            ..base()
        },
        EditProposal {
            tool: EditTool::Memory,
            ..base()
        },
        EditProposal {
            steps: Vec::new(),
            ..base()
        },
        EditProposal {
            steps: vec![create("/w/b", "x")],
            ..base()
        },
        EditProposal {
            steps: vec![create("/w/a", "y")],
            ..base()
        },
        EditProposal {
            steps: vec![step(json!({"name": "delete", "path": "/w/a"}))],
            ..base()
        },
    ]);
}
