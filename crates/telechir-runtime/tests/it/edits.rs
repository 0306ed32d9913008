//! Edit calls: what reaches the editor, once, and under which approval.

use std::path::Path;

use async_trait::async_trait;
use serde_json::json;
use telechir_device::{DeviceError, Edited, Editor};
use telechir_policy::{Policy, Question};
use telechir_protocol::{
    Content, EditCall, EditOperation, EditResult, EditStep, EditTool, FailureKind, Meta, ModelTurn,
    ToolResult,
};
use telechir_runtime::{Answer, Approver, Journal, RecordKind, RunId, Session, read};

use crate::fakes::{Log, log_of};
use crate::journal::crash_after;

/// An editor that logs its edits. Its workspace moves once the user was asked.
#[derive(Debug)]
struct FakeEditor(Log);

#[async_trait]
impl Editor for FakeEditor {
    async fn locate(&mut self, _tool: EditTool, step: &EditStep) -> Result<EditStep, DeviceError> {
        Ok(step.clone())
    }

    async fn edit(&mut self, _tool: EditTool, located: &EditStep) -> Result<Edited, DeviceError> {
        let text = json!(located).to_string();
        self.0.lock().unwrap().push(text.clone());
        if located.name() == "delete" {
            let message = "There is no such file.".to_owned();
            return Err(DeviceError::Refused { message });
        }
        let changed = !located.is_read_only();
        Ok(Edited { text, changed })
    }

    fn workspace(&self) -> String {
        let is_moved = log_of(&self.0).iter().any(|line| line == "asked");
        if is_moved { "/elsewhere" } else { "/work" }.to_owned()
    }

    fn memory(&self) -> Option<String> {
        None
    }
}

struct LoggedApprover(Log);

impl Approver for LoggedApprover {
    async fn decide(&mut self, question: &Question) -> Answer {
        self.0.lock().unwrap().push("asked".to_owned());
        question.approve().into()
    }
}

/// A call of these operations and paths.
pub(crate) fn call(steps: &[(&str, &str)]) -> EditCall {
    let operation = |(name, path): &(&str, &str)| EditOperation {
        name: (*name).to_owned(),
        path: Some((*path).to_owned()),
        args: match *name {
            "create" => [("file_text".to_owned(), json!("x"))].into_iter().collect(),
            _ => serde_json::Map::new(),
        },
    };
    EditCall {
        call_id: "e1".into(),
        item_id: None,
        tool: EditTool::Editor,
        operations: steps.iter().map(operation).collect(),
        exception: None,
        meta: Meta::default(),
    }
}

/// Executes a call of these operations and paths in the run of a journal.
async fn send(folder: &Path, verdict: &str, steps: &[(&str, &str)]) -> (EditResult, Vec<String>) {
    let rule = format!("[[edit]]\npaths = ['a', 'b']\nverdict = '{verdict}'\nreason = 'Test.'");
    let policy = Policy::from_toml(&rule, "test").unwrap();
    let log = Log::default();
    let mut session = Session::builder(policy)
        .editor(Box::new(FakeEditor(Log::clone(&log))))
        .approver(LoggedApprover(Log::clone(&log)))
        .journal(Journal::open(folder).unwrap())
        .run(RunId::new("run"))
        .build()
        .unwrap();
    let turn = ModelTurn::new(vec![Content::EditCall(call(steps))]).unwrap();
    let answered = session.execute_once(turn).await.unwrap();
    let [ToolResult::Edit(result)] = answered.results() else {
        panic!("not one result")
    };
    (result.clone(), log_of(&log))
}

#[tokio::test]
async fn each_step_edits_its_own_file_once_and_views_are_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let steps = [
        ("create", "/work/a"),
        ("view", "/work/a"),
        ("create", "/work/b"),
    ];
    let (first, log) = send(folder.path(), "allow", &steps).await;
    assert_eq!(first.error, None);
    let [a, view, b] = &log[..] else {
        panic!("{log:?}")
    };
    assert!(a.contains("/work/a") && b.contains("/work/b"), "{log:?}");
    assert_eq!(first.text, Some(log.join("\n")));
    let rows = read(folder.path()).unwrap().into_iter();
    let intents = rows.filter(|row| row.kind == RecordKind::Intent);
    let does: Vec<_> = intents.map(|row| row.body["does"].clone()).collect();
    let intent = |step: &String| -> serde_json::Value {
        let step: serde_json::Value = serde_json::from_str(step).unwrap();
        json!({ "device": "editor", "tool": "editor", "step": step })
    };
    assert_eq!(does, log.iter().map(intent).collect::<Vec<_>>());
    let (second, log) = send(folder.path(), "allow", &steps).await;
    assert_eq!(second, first);
    assert_eq!(log, std::slice::from_ref(view));
}

#[tokio::test]
async fn an_edit_with_unknown_end_is_interrupted_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let steps = [("create", "/work/a")];
    send(folder.path(), "allow", &steps).await;
    crash_after(folder.path(), "intent");
    let (result, log) = send(folder.path(), "allow", &steps).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Interrupted);
    assert!(log.is_empty(), "{log:?}");
}

#[tokio::test]
async fn a_failed_edit_fails_again_without_being_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let steps = [("delete", "/work/a")];
    let (first, log) = send(folder.path(), "allow", &steps).await;
    assert_eq!(log.len(), 1, "{log:?}");
    let failure = first.error.clone().unwrap();
    assert!(failure.message.contains("no such file"), "{failure:?}");
    crash_after(folder.path(), "outcome");
    let (second, log) = send(folder.path(), "allow", &steps).await;
    assert_eq!(second, first);
    assert!(log.is_empty(), "{log:?}");
    let rows = read(folder.path()).unwrap().into_iter();
    let finished: Vec<_> = rows
        .filter(|row| row.body["event"] == "action_finished")
        .map(|row| {
            (
                row.body["effect"].clone(),
                row.body["failure"]["message"].clone(),
            )
        })
        .collect();
    assert_eq!(finished, [(json!("recorded"), json!(failure.message))]);
}

#[tokio::test]
async fn a_call_of_too_many_edits_does_nothing() {
    let most = telechir_runtime::SessionLimits::default().max_actions;
    for count in [most, most + 1, most + 2] {
        let folder = tempfile::tempdir().unwrap();
        let (result, log) = send(folder.path(), "allow", &vec![("view", "/work/a"); count]).await;
        assert_eq!(result.text.is_none(), count > most, "{count}");
        assert_eq!(result.error.is_some(), count > most, "{count}");
        assert_eq!(log.is_empty(), count > most, "{count}");
    }
}

#[tokio::test]
async fn an_approval_does_not_hold_if_the_workspace_moved_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let (result, log) = send(folder.path(), "ask", &[("create", "/work/a")]).await;
    let failure = result.error.unwrap();
    assert_eq!(failure.kind, FailureKind::Denied);
    assert!(failure.message.contains("no longer valid"), "{failure:?}");
    assert_eq!(log, ["asked"]);
}
