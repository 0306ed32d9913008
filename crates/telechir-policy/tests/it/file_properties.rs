//! Properties of policy files, for arbitrary bytes: one is read completely or refused with its line.

use std::time::Duration;

#[cfg(test)]
use proptest::prelude::*;
use telechir_policy::{
    Device, DisplayOwner, Judge, Policy, ScreenFacts, ScreenProposal, ScreenWindows, ShellFacts,
    ShellProposal, ShellReach, ShellTask,
};
use telechir_protocol::{Action, Command};

/// Checks bytes as a policy file.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let policy = match Policy::from_toml(&text, "policy.toml") {
        Ok(policy) => policy,
        Err(error) => {
            let error = error.to_string();
            let line = error.split("policy.toml, line ").nth(1);
            let line = line.and_then(|rest| rest.split(':').next()?.parse::<usize>().ok());
            let lines = text.split('\n').count();
            assert!(
                line.is_some_and(|line| (1..=lines).contains(&line)),
                "{error}"
            );
            return;
        }
    };
    let mut judge = Judge::new(policy);
    let url = "https://a.example.com/x".to_owned();
    let actions = vec![Action::Screenshot, Action::Navigate { url, tab: None }];
    let hosts = judge.hosts_to_resolve(&actions);
    assert!(hosts.len() <= 1, "{hosts:?}");
    let screen = ScreenProposal {
        call_id: "c".into(),
        device: Device::Browser,
        actions,
        safety_checks: Vec::new(),
    };
    let facts = ScreenFacts {
        display: DisplayOwner::Private,
        pressed: Vec::new(),
        resolved: Vec::new(),
        windows: ScreenWindows::None,
        is_untrusted: true,
        now: Duration::ZERO,
    };
    drop(judge.screen(screen, &facts));
    let shell = ShellProposal {
        call_id: "c".into(),
        task: ShellTask::Run(vec![Command::Line("git log > f; ls -l".to_owned())]),
        cwd: None,
        env: serde_json::Map::default(),
    };
    let facts = ShellFacts {
        is_sandboxed: true,
        is_tainted: false,
        reach: ShellReach::Something,
        is_untrusted: true,
        now: Duration::ZERO,
    };
    drop(judge.shell(shell, &facts));
}

#[cfg(test)]
const DOCUMENTATION: &str = include_str!("../../../../docs/policy.md");

#[cfg(test)]
fn examples() -> Vec<&'static str> {
    let examples = DOCUMENTATION.split("```toml\n").skip(1);
    examples
        .filter_map(|example| example.split("```").next())
        .collect()
}

/// Text that damages a file.
#[cfg(test)]
const PIECES: [&str; 14] = [
    "'", "\"", "[", "]]", "=", "\n", "{", "}", "#", "\\", "\u{202e}", "\0", "1e999", "\"\"\"",
];

#[test]
fn the_documented_examples_are_policies() {
    let examples = examples();
    assert!(examples.len() > 5, "{examples:?}");
    for example in examples {
        Policy::from_toml(example, "policy.md").unwrap();
    }
}

#[cfg(test)]
proptest! {
    #[test]
    fn a_damaged_policy_is_read_or_refused_with_its_line(
        example in prop::sample::select(examples()),
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0..PIECES.len() + 1), 0..4),
    ) {
        let mut text: Vec<char> = example.chars().collect();
        for (at, piece) in damage {
            let at = at.index(text.len());
            match PIECES.get(piece) {
                Some(piece) => drop(text.splice(at..at, piece.chars())),
                None => drop(text.remove(at)),
            }
        }
        check(text.into_iter().collect::<String>().as_bytes());
    }
}
