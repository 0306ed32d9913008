//! The policies that come with the program do what their names say.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Map;
use telechir_policy::{
    Device, DisplayOwner, EditFacts, EditProposal, Judge, Judgement, Proposal, ScreenFacts,
    ScreenProposal, ScreenWindows, ShellFacts, ShellProposal, ShellReach, ShellTask, ShippedPolicy,
};
use telechir_protocol::{Action, Command, EditOperation, EditTool};

/// Both are printed by `policy show`.
#[test]
fn each_policy_has_a_name_and_a_sentence_of_its_own() {
    let names = ShippedPolicy::ALL.map(ShippedPolicy::name);
    assert_eq!(names, ["look", "ask", "sandbox", "trust-sandbox"]);
    let summaries = BTreeSet::from(ShippedPolicy::ALL.map(ShippedPolicy::summary));
    assert_eq!(summaries.len(), names.len());
    for summary in summaries {
        assert!(summary.split(' ').count() > 4, "{summary}");
    }
}

fn judge(policy: ShippedPolicy) -> Judge {
    Judge::new(policy.policy().unwrap())
}

fn verdict<P: Proposal>(judgement: &Judgement<P>) -> &'static str {
    match judgement {
        Judgement::Allowed(_) => "runs",
        Judgement::Ask(_) => "asks",
        Judgement::Denied(..) => "denied",
    }
}

/// In a folder that somebody named, where the default asks most.
fn command(policy: ShippedPolicy, line: &str, is_sandboxed: bool) -> &'static str {
    let proposal = ShellProposal {
        call_id: "c".into(),
        task: ShellTask::Run(vec![Command::Line(line.to_owned())]),
        cwd: None,
        env: Map::new(),
    };
    let facts = ShellFacts {
        is_sandboxed,
        is_tainted: false,
        reach: ShellReach::Something,
        is_untrusted: false,
        now: Duration::ZERO,
    };
    verdict(&judge(policy).shell(proposal, &facts))
}

fn action(policy: ShippedPolicy, json: &str, display: DisplayOwner) -> &'static str {
    let (action, _) = Action::from_json(serde_json::from_str(json).unwrap()).unwrap();
    let device = match Judge::opens_url(&action) || action.kind().name() == "javascript" {
        true => Device::Browser,
        false => Device::Desktop,
    };
    let proposal = ScreenProposal {
        call_id: "c".into(),
        device,
        actions: vec![action],
        safety_checks: Vec::new(),
    };
    let facts = ScreenFacts {
        display,
        pressed: Vec::new(),
        resolved: Vec::new(),
        windows: ScreenWindows::None,
        is_untrusted: false,
        now: Duration::ZERO,
    };
    verdict(&judge(policy).screen(proposal, &facts))
}

fn edit(policy: ShippedPolicy, json: &str) -> &'static str {
    let operation: EditOperation = serde_json::from_str(json).unwrap();
    let proposal = EditProposal {
        call_id: "c".into(),
        tool: EditTool::Editor,
        steps: vec![operation.step().unwrap()],
    };
    let facts = EditFacts {
        workspace: "/w".to_owned(),
        memory: "/m".to_owned(),
        is_untrusted: false,
        now: Duration::ZERO,
    };
    verdict(&judge(policy).edit(proposal, &facts))
}

const POLICIES: [ShippedPolicy; 4] = [
    ShippedPolicy::Look,
    ShippedPolicy::Ask,
    ShippedPolicy::Sandbox,
    ShippedPolicy::TrustSandbox,
];

#[test]
fn commands_are_judged_as_each_policy_promises() {
    for (line, is_sandboxed, expected) in [
        ("ls -l src", true, ["runs", "runs", "runs", "runs"]),
        ("git push", true, ["denied", "asks", "asks", "runs"]),
        ("echo a > b", true, ["denied", "asks", "asks", "runs"]),
        ("make $(nproc)", true, ["denied", "asks", "asks", "runs"]),
        ("rm -r src", false, ["denied", "asks", "denied", "asks"]),
        ("printf %s x", true, ["runs"; 4]),
        ("test -e a && cat a", true, ["runs", "runs", "asks", "runs"]),
    ] {
        let found = POLICIES.map(|policy| command(policy, line, is_sandboxed));
        assert_eq!(found, expected, "{line}");
    }
}

#[test]
fn a_builtin_that_evaluates_its_words_does_not_count_as_reading() {
    for line in [
        "printf -v 'a[$(rm -rf src)]' x",
        "printf '-va[$(rm -rf src)]' x",
        "printf -- -v x",
        "printf %n PATH",
        "printf '%-5hhn' 'a[$(rm -rf src)]'",
        "test -v 'a[$(rm -rf src)]'",
        "test ! -v 'a[$(rm -rf src)]'",
        "test x -a -v 'a[$(rm -rf src)]'",
        "test -R 'a[$(rm -rf src)]'",
        "[ -v 'a[$(rm -rf src)]' ]",
        "[[ -v 'a[$(rm -rf src)]' ]]",
        "[[ 'a[$(rm -rf src)]' -eq 0 ]]",
        "(( a[$(rm -rf src)] ))",
        "read 'a[$(rm -rf src)]' < file",
        "unset 'a[$(rm -rf src)]'",
        "declare 'a[$(rm -rf src)]=x'",
        "typeset 'a[$(rm -rf src)]=x'",
        "export 'a[$(rm -rf src)]=x'",
        "readonly 'a[$(rm -rf src)]=x'",
        "let 'a[$(rm -rf src)]'",
        "mapfile -C 'rm -rf src' -c 1 a",
        "getopts x 'a[$(rm -rf src)]'",
        "wait -n -p 'a[$(rm -rf src)]'",
        "echo ${a[$(rm -rf src)]}",
        "a[$(rm -rf src)]=x ls",
    ] {
        let found = POLICIES.map(|policy| command(policy, line, true));
        assert_eq!(found, ["denied", "asks", "asks", "runs"], "{line}");
    }
}

#[test]
fn actions_are_judged_as_each_policy_promises() {
    use DisplayOwner::{Existing, Private};
    let click = r#"{"action": "click", "coordinate": [5, 5]}"#;
    let app = r#"{"action": "open_app", "name": "editor"}"#;
    let script = r#"{"action": "javascript", "script": "1"}"#;
    let page = r#"{"action": "navigate", "url": "https://93.184.215.14/"}"#;
    let own = r#"{"action": "navigate", "url": "http://127.0.0.1/"}"#;
    for (json, display, expected) in [
        (r#"{"action": "screenshot"}"#, Private, ["runs"; 4]),
        (r#"{"action": "screenshot"}"#, Existing, ["runs"; 4]),
        (click, Private, ["denied", "asks", "runs", "runs"]),
        (click, Existing, ["denied", "asks", "denied", "asks"]),
        (app, Private, ["denied", "asks", "runs", "runs"]),
        (script, Private, ["denied", "asks", "asks", "runs"]),
        (page, Private, ["runs", "asks", "runs", "runs"]),
        (own, Private, ["denied"; 4]),
    ] {
        let found = POLICIES.map(|policy| action(policy, json, display));
        assert_eq!(found, expected, "{json} {display:?}");
    }
}

#[test]
fn edits_are_judged_as_each_policy_promises() {
    let view = r#"{"name": "view", "path": "/w/a"}"#;
    let create = r#"{"name": "create", "path": "/w/a", "file_text": "x"}"#;
    let hook = r#"{"name": "create", "path": "/w/.git/hooks/pre-commit", "file_text": "x"}"#;
    for (json, expected) in [
        (view, ["runs"; 4]),
        (create, ["denied", "asks", "asks", "runs"]),
        (hook, ["denied", "asks", "asks", "asks"]),
    ] {
        let found = POLICIES.map(|policy| edit(policy, json));
        assert_eq!(found, expected, "{json}");
    }
}
