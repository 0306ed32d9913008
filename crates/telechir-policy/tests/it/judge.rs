//! What a judge must know before it judges, and what it says about hosts and pages.

use serde_json::{Value, json};
use telechir_policy::{
    Device, DisplayOwner, EditFacts, EditProposal, Judge, Judgement, Policy, RequiredApprovals,
    ShellTask, Verdict,
};
use telechir_protocol::{Action, Command, EditOperation, EditTool, ShellAction};

use crate::screen::{facts, proposal};
use crate::shell::verdict;

fn action(json: Value) -> Action {
    serde_json::from_value(json).unwrap()
}

fn judge(rules: &str) -> Judge {
    Judge::new(Policy::from_toml(rules, "p.toml").unwrap())
}

/// A DNS request tells the name to others, so only names that may be permitted are asked for.
#[test]
fn only_names_that_may_be_permitted_are_resolved() {
    let urls = [
        json!({"action": "navigate", "url": "https://a.example/x"}),
        json!({"action": "new_tab", "url": "b.example"}),
        json!({"action": "open_browser", "url": "http://denied.example/"}),
        json!({"action": "navigate", "url": "http://10.0.0.1/"}),
        json!({"action": "navigate", "url": "http://[::1]/"}),
        json!({"action": "navigate", "url": "about:blank"}),
        json!({"action": "navigate", "url": "http://["}),
        json!({"action": "new_tab"}),
        json!({"action": "screenshot"}),
    ];
    let actions: Vec<Action> = urls.iter().cloned().map(action).collect();
    let denies = "[[url]]\nhost = ['denied.example']\nverdict = 'deny'\nreason = 'No.'";
    let hosts = judge(denies).hosts_to_resolve(&actions);
    assert_eq!(hosts, ["a.example", "b.example"]);
    let closed = "[[url]]\ndefault = 'deny'\nreason = 'Only the listed.'\n\
                  [[url]]\nhost = ['b.example']\nverdict = 'allow'\nreason = 'Listed.'";
    assert_eq!(judge(closed).hosts_to_resolve(&actions), ["b.example"]);
    // A question is about the addresses, too.
    let requests = closed.replace("'allow'", "'ask'");
    assert_eq!(judge(&requests).hosts_to_resolve(&actions), ["b.example"]);
    let opening: Vec<bool> = actions.iter().map(Judge::opens_url).collect();
    assert_eq!(
        opening,
        [true, true, true, true, true, true, true, false, false]
    );
}

#[test]
fn windows_matter_for_input_only() {
    let looks = [
        "screenshot",
        "list_windows",
        "wait",
        "page_text",
        "read_clipboard",
    ];
    let looks = looks.map(|name| action(json!({"action": name})));
    assert!(!Judge::depends_on_windows(&looks));
    assert!(!Judge::depends_on_windows(&[]));
    for input in [
        json!({"action": "type", "text": "a"}),
        json!({"action": "key", "key": "a"}),
        json!({"action": "click"}),
        json!({"action": "drag", "path": [[1, 2], [3, 4]]}),
        json!({"action": "juggle"}),
    ] {
        let input = [looks[0].clone(), action(input)];
        assert!(Judge::depends_on_windows(&input), "{input:?}");
    }
}

#[test]
fn pages_are_trusted_by_their_host() {
    let judge = judge("[trusted]\nhost = ['docs.example', '*.corp.example']");
    for url in [
        "https://docs.example/x",
        "http://DOCS.example./",
        "https://a.corp.example/",
        "about:blank",
        "chrome://version/",
        "chrome-error://chromewebdata/",
    ] {
        assert!(judge.trusts_page(url), "{url}");
    }
    for url in [
        "https://evil.example/",
        "https://corp.example.evil/",
        "data:text/html,x",
        "file:///etc/passwd",
        "http://[",
    ] {
        assert!(!judge.trusts_page(url), "{url}");
    }
    assert_eq!(
        Judge::host_of("https://User@Docs.Example.:8/"),
        Some("docs.example".to_owned())
    );
    assert_eq!(Judge::host_of("about:blank"), None);
    assert_eq!(Judge::host_of("http://["), None);
}

#[test]
fn a_step_after_a_page_that_is_not_trusted_is_judged_as_untrusted() {
    let rules = "
        [trusted]
        host = ['docs.example']

        [[computer]]
        actions = ['javascript']
        verdict = 'allow'
        reason = 'The task.'

        [[computer]]
        actions = ['javascript']
        after_untrusted = true
        verdict = 'deny'
        reason = 'A page may have asked for it.'
    ";
    let mut facts = facts();
    facts.display = DisplayOwner::Private;
    for (host, wanted) in [
        ("docs.example", Verdict::Allow),
        ("evil.example", Verdict::Deny),
    ] {
        let address = std::net::IpAddr::from([93, 184, 216, 34]);
        facts.resolved = vec![telechir_policy::Resolved {
            host: host.to_owned(),
            addresses: vec![address],
        }];
        let mut proposal = proposal(&[
            json!({"action": "navigate", "url": format!("https://{host}/")}),
            json!({"action": "javascript", "script": "x()"}),
        ]);
        proposal.device = Device::Browser;
        assert_eq!(
            verdict(&judge(rules).screen(proposal, &facts)),
            wanted,
            "{host}"
        );
    }
}

#[test]
fn the_digest_of_a_policy_is_that_of_its_text() {
    let digest = |text: &str| Policy::from_toml(text, "p.toml").unwrap().digest();
    assert_ne!(digest(""), digest("# a comment"));
    assert_eq!(digest("# a"), digest("# a"));
    assert_ne!(digest(""), Policy::default_policy().digest());
}

fn edit(rules: &str, tool: EditTool, operation: Value) -> Verdict {
    edit_by(&mut judge(rules), tool, operation)
}

fn edit_by(judge: &mut Judge, tool: EditTool, operation: Value) -> Verdict {
    let operation: EditOperation = serde_json::from_value(operation).unwrap();
    let proposal = EditProposal {
        call_id: "c1".into(),
        tool,
        steps: vec![operation.step().unwrap()],
    };
    let facts = EditFacts {
        workspace: "/w".to_owned(),
        memory: "/m".to_owned(),
        is_untrusted: false,
        now: std::time::Duration::ZERO,
    };
    verdict(&judge.edit(proposal, &facts))
}

/// The `approval_mode` of a tool asks about what the rules permit, for its own kind of call only.
#[test]
fn a_required_approval_holds_for_every_call_of_its_kind() {
    let rules = "
        [[shell]]
        words = ['rm']
        verdict = 'deny'
        reason = 'No.'
    ";
    let verdicts = |required: RequiredApprovals| {
        let policy = Policy::from_toml(rules, "p.toml").unwrap();
        let mut judge = Judge::new(policy.requiring(required));
        let look = proposal(&[json!({"action": "screenshot"})]);
        let mut shell = |task: ShellTask| {
            let mut proposal = crate::shell::proposal(&[]);
            proposal.task = task;
            let judged = judge.shell(proposal, &crate::shell::SANDBOX);
            if let Judgement::Ask(pending) = &judged {
                let reason = "The approval_mode of the tool requires an approval of every call.";
                assert_eq!(pending.question().reasons, [reason]);
            }
            verdict(&judged)
        };
        let run = |line: &str| ShellTask::Run(vec![Command::Line(line.to_owned())]);
        let tasks = [
            run("ls"),
            ShellTask::Restart,
            ShellTask::Stop("job1".to_owned()),
            ShellTask::Send {
                input: ShellAction::Interrupt,
                job: None,
                is_hidden: false,
            },
            run("rm x"),
        ];
        let shell = tasks.map(&mut shell);
        let screen = verdict(&judge.screen(look, &facts()));
        let view = json!({"name": "view", "path": "/w/a"});
        let edit = edit_by(&mut judge, EditTool::Editor, view);
        (screen, shell, edit)
    };
    let none = RequiredApprovals::default();
    let (allow, ask, deny) = (Verdict::Allow, Verdict::Ask, Verdict::Deny);
    let unasked = [allow, allow, allow, allow, deny];
    assert_eq!(verdicts(none), (allow, unasked, allow));
    let screens = RequiredApprovals {
        computer: true,
        ..none
    };
    assert_eq!(verdicts(screens), (ask, unasked, allow));
    let shells = RequiredApprovals {
        shell: true,
        ..none
    };
    let required = [ask, ask, ask, ask, deny];
    assert_eq!(verdicts(shells), (allow, required, allow));
    let edits = RequiredApprovals { edit: true, ..none };
    assert_eq!(verdicts(edits), (allow, unasked, ask));
}

#[test]
fn edits_are_judged_by_operation_tool_and_file() {
    use EditTool::{Editor, Memory, Patch};
    let create = |path: &str| json!({"name": "create", "path": path, "file_text": "x"});
    let view = |path: &str| json!({"name": "view", "path": path});
    let all = "[[edit]]\nverdict = 'allow'\nreason = 'All.'";
    for (rules, tool, operation, wanted) in [
        ("", Editor, view("/w/a"), Verdict::Allow),
        ("", Editor, create("/w/a"), Verdict::Ask),
        ("", Memory, create("/m/a"), Verdict::Allow),
        (all, Editor, create("/w/a"), Verdict::Allow),
        // No rule opens a file that configures other programs; reading it is free.
        (all, Editor, create("/w/.git/config"), Verdict::Ask),
        ("", Editor, view("/w/.git/config"), Verdict::Allow),
        ("", Memory, create("/m/.git/config"), Verdict::Ask),
        (all, Memory, create("/m/notes/CLAUDE.md"), Verdict::Ask),
    ] {
        assert_eq!(
            edit(rules, tool, operation.clone()),
            wanted,
            "{rules} {tool:?} {operation}"
        );
    }
    let denies = "[[edit]]\noperations = ['create', 'delete']\ntool = 'editor'\nverdict = 'deny'\nreason = 'No.'";
    assert_eq!(edit(denies, Editor, create("/w/a")), Verdict::Deny);
    assert_eq!(edit(denies, Patch, create("/w/a")), Verdict::Ask);
    assert_eq!(edit(denies, Editor, view("/w/a")), Verdict::Allow);
    let delete = json!({"name": "delete", "path": "/w/a"});
    assert_eq!(edit(denies, Editor, delete), Verdict::Deny);
}
