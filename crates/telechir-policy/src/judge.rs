//! Judges a call: every step in every aspect; the strictest verdict wins.

use std::time::Duration;

use serde_json::Value;
use telechir_protocol::{Action, Command, EditTool, SafetyCheck, ShellAction};

use crate::edit_rule::{Edit, EditMatch};
use crate::key_rule::{KeysMatch, PressedKeys};
use crate::network_rule::NetworkRule;
use crate::rule::{RateCounter, Rule, strictest};
use crate::screen_rule::{ComputerMatch, ScreenSubject};
use crate::shell_rule::{ShellMatch, ShellSubject};
use crate::url_rule::{Destination, UrlMatch};
use crate::{
    CommandReading, Denial, Digest, EditFacts, EditProposal, Judgement, PendingApproval, Permitted,
    PolicyError, Proposal, Question, RuleReason, ScreenFacts, ScreenProposal, ShellFacts,
    ShellProposal, ShellTask, Verdict, edit_rule, file, key_rule, read_command, screen_rule,
    shell_rule, summary, url_rule,
};

/// The rules of one file. If none matches, the default of the kind applies.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) computer: Vec<Rule<ComputerMatch>>,
    pub(crate) keys: Vec<Rule<KeysMatch>>,
    pub(crate) url: Vec<Rule<UrlMatch>>,
    pub(crate) network: Vec<NetworkRule>,
    pub(crate) shell: Vec<Rule<ShellMatch>>,
    pub(crate) edit: Vec<Rule<EditMatch>>,
    pub(crate) digest: Digest,
}

impl Policy {
    /// The policy without rules, which only has defaults.
    pub fn default_policy() -> Self {
        Self {
            computer: Vec::new(),
            keys: Vec::new(),
            url: Vec::new(),
            network: Vec::new(),
            shell: Vec::new(),
            edit: Vec::new(),
            digest: Digest::of_json(&Value::Null),
        }
    }

    /// Parses the policy of a TOML file; `origin` is its name in errors and reasons.
    ///
    /// ```
    /// # use telechir_policy::Policy;
    /// let policy = Policy::from_toml(r#"
    ///     [[shell]]
    ///     words = ["git", ["status", "log"]]
    ///     verdict = "sandbox"
    ///     reason = "Reading the history is fine."
    ///     examples.match = ["git log -1"]
    ///     examples.not_match = ["git push"]
    /// "#, "policy.toml");
    /// assert!(policy.is_ok());
    /// ```
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key, or a rule contradicts its own examples.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, PolicyError> {
        file::read(text, origin)
    }

    /// Identifies the policy in a recording: the digest of its file.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

/// Whether a command may change the meaning of later words in its shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tainting {
    /// Words retain their meaning.
    Clean,
    /// Aliases, functions, variables or PATH may have changed.
    Tainted,
}

/// A policy with its rate counters, for one session.
#[derive(Debug)]
pub struct Judge {
    policy: Policy,
    tally: RateCounter,
}

impl Judge {
    /// Creates a judge without any history.
    pub fn new(policy: Policy) -> Self {
        Self {
            policy,
            tally: RateCounter::default(),
        }
    }

    /// The policy of this judge.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The hosts that the caller must resolve before these actions are judged.
    pub fn hosts_to_resolve(actions: &[Action]) -> Vec<String> {
        let urls = actions
            .iter()
            .filter_map(url_rule::url_of)
            .filter_map(url_rule::read_url);
        let names = urls.filter(|url| matches!(url.host(), Some(url::Host::Domain(_))));
        names.filter_map(|url| url_rule::host_name(&url)).collect()
    }

    /// Whether a command may change its shell.
    pub fn tainting(command: &Command) -> Tainting {
        match read_command(command) {
            CommandReading::Known(commands) if !commands.iter().any(shell_rule::taints) => {
                Tainting::Clean
            }
            CommandReading::Known(_) | CommandReading::Unknown(_) | CommandReading::TooLong => {
                Tainting::Tainted
            }
        }
    }

    /// Judges actions on a screen, each with the keys that earlier ones left pressed.
    pub fn screen(
        &mut self,
        mut proposal: ScreenProposal,
        facts: &ScreenFacts,
    ) -> Judgement<ScreenProposal> {
        let mut pressed = facts.pressed.clone();
        let mut grounds = Vec::new();
        for action in &mut proposal.actions {
            let is_confined = facts.display == crate::DisplayOwner::Private;
            let step = ScreenSubject {
                kind: action.kind(),
                device: proposal.device,
                display: facts.display,
            };
            let mut rule_reason = self.kind(&step, action, facts.now);
            rule_reason = rule_reason.stricter(self.chord(&pressed, action, facts.now));
            if let Some(address) = self.address(action, facts) {
                rule_reason = rule_reason.stricter(address);
            }
            rule_reason.verdict = rule_reason.verdict.for_confinement(is_confined);
            key_rule::update_pressed_keys(&mut pressed, action);
            grounds.push(rule_reason);
        }
        let checks = proposal.safety_checks.clone();
        let lines = proposal
            .actions
            .iter()
            .map(summary::question_line)
            .collect();
        conclude(proposal, grounds, lines, checks)
    }

    /// Judges shell commands, each with the changes that earlier ones may have made.
    pub fn shell(
        &mut self,
        proposal: ShellProposal,
        facts: &ShellFacts,
    ) -> Judgement<ShellProposal> {
        let commands = match &proposal.task {
            ShellTask::Run(commands) | ShellTask::Start(commands) => commands,
            ShellTask::Send {
                input,
                job,
                is_hidden,
            } => {
                let line = summary::input_line(input, job.as_deref(), *is_hidden);
                let rule_reason = self.input(input, facts);
                return conclude(proposal, vec![rule_reason], vec![line], Vec::new());
            }
            ShellTask::Restart => {
                return harmless(proposal, "restart", "A restart only discards state.");
            }
            ShellTask::ReadJobs(_) => {
                return harmless(proposal, "look", "Reading changes nothing.");
            }
            ShellTask::Stop(_) => {
                return harmless(proposal, "stop", "Stopping a job only ends it.");
            }
        };
        let mut facts = facts.clone();
        let mut grounds = Vec::new();
        let mut lines = Vec::new();
        for command in commands {
            grounds.push(self.command(command, &proposal, &facts));
            facts.is_tainted |= Self::tainting(command) == Tainting::Tainted;
            lines.push(format!("$ {}", summary::escape(&command.to_line())));
        }
        if let Some(cwd) = &proposal.cwd {
            lines.push(format!("in the folder {}", summary::escape(cwd)));
        }
        if !proposal.env.is_empty() {
            let env = Value::Object(proposal.env.clone()).to_string();
            lines.push(format!("with the variables {}", summary::escape(&env)));
        }
        conclude(proposal, grounds, lines, Vec::new())
    }

    /// Judges edits of files, each by itself.
    pub fn edit(&mut self, proposal: EditProposal, facts: &EditFacts) -> Judgement<EditProposal> {
        let root = match proposal.tool {
            EditTool::Memory => &facts.memory,
            EditTool::Patch | EditTool::Editor => &facts.workspace,
        };
        let mut grounds = Vec::new();
        let mut lines = Vec::new();
        for step in &proposal.steps {
            let edit = Edit::new(proposal.tool, step, root);
            let default = || edit_rule::default(&edit);
            let rules = &self.policy.edit;
            let mut rule_reason = strictest(rules, &edit, &mut self.tally, facts.now, default);
            if let Some(always) = edit_rule::always(&edit) {
                rule_reason = rule_reason.stricter(always);
            }
            // The files belong to the workspace, wherever the shell runs.
            rule_reason.verdict = rule_reason.verdict.for_confinement(true);
            grounds.push(rule_reason);
            lines.extend(summary::edit_lines(step));
        }
        conclude(proposal, grounds, lines, Vec::new())
    }

    /// Judges input to a program: it can do anything that the program allows.
    fn input(&mut self, input: &ShellAction, facts: &ShellFacts) -> RuleReason {
        if shell_rule::only_ends(input) {
            return RuleReason::built_in(
                Verdict::Allow,
                "input",
                "It only ends a running program.",
            );
        }
        let part = ShellSubject {
            command: None,
            unknown: "it is input to a running program",
            is_sandboxed: facts.is_sandboxed,
            is_tainted: facts.is_tainted,
        };
        let default = || shell_rule::default(&part);
        let rules = &self.policy.shell;
        let mut rule_reason = strictest(rules, &part, &mut self.tally, facts.now, default);
        rule_reason.verdict = rule_reason.verdict.for_confinement(facts.is_sandboxed);
        rule_reason
    }

    fn kind(&mut self, step: &ScreenSubject, action: &Action, now: Duration) -> RuleReason {
        let default = || screen_rule::default(step, action);
        strictest(&self.policy.computer, step, &mut self.tally, now, default)
    }

    fn chord(
        &mut self,
        pressed: &[telechir_protocol::Key],
        action: &Action,
        now: Duration,
    ) -> RuleReason {
        match key_rule::chord_of(action) {
            Some(chord) => {
                let pressed = PressedKeys::new(pressed, chord);
                let default = || key_rule::default(&pressed);
                strictest(&self.policy.keys, &pressed, &mut self.tally, now, default)
            }
            None => RuleReason::built_in(Verdict::Allow, "keys", "No chord is pressed."),
        }
    }

    /// Judges the target of a navigation, and writes its URL in the judged form.
    fn address(&mut self, action: &mut Action, facts: &ScreenFacts) -> Option<RuleReason> {
        let text = url_rule::url_of(action)?;
        let Some(url) = url_rule::read_url(text) else {
            let reason = format!("{:?} is not a URL.", summary::escape(text));
            return Some(RuleReason::built_in(Verdict::Deny, "address", reason));
        };
        let to = Destination::new(&url, &facts.resolved);
        let default = || url_rule::default(&to);
        let rule_reason = strictest(&self.policy.url, &to, &mut self.tally, facts.now, default);
        url_rule::with_url(action, url.to_string());
        Some(match url_rule::always(&url) {
            Some(always) => rule_reason.stricter(always),
            None => rule_reason,
        })
    }

    fn command(
        &mut self,
        command: &Command,
        proposal: &ShellProposal,
        facts: &ShellFacts,
    ) -> RuleReason {
        let parts = match read_command(command) {
            CommandReading::TooLong => {
                let reason = format!(
                    "A command may be at most {} bytes long.",
                    crate::shell_read::MAX_BYTES
                );
                return RuleReason::built_in(Verdict::Deny, "length of a command", reason);
            }
            CommandReading::Unknown(reason) => Err(reason),
            // Variables such as PATH or BASH_ENV change the meaning of every word.
            CommandReading::Known(_) if !proposal.env.is_empty() => {
                Err("variables are set for it".to_owned())
            }
            CommandReading::Known(parts) => Ok(parts),
        };
        let judge_part = |judge: &mut Self, command, unknown: &str, is_tainted| {
            let is_sandboxed = facts.is_sandboxed;
            let part = ShellSubject {
                command,
                unknown,
                is_sandboxed,
                is_tainted,
            };
            let default = || shell_rule::default(&part);
            strictest(
                &judge.policy.shell,
                &part,
                &mut judge.tally,
                facts.now,
                default,
            )
        };
        let mut rule_reason = match &parts {
            Err(unknown) => judge_part(self, None, unknown, facts.is_tainted),
            Ok(parts) => {
                let mut is_tainted = facts.is_tainted;
                let mut worst = None;
                for part in parts {
                    let rule_reason = judge_part(self, Some(part), "", is_tainted);
                    is_tainted |= shell_rule::taints(part);
                    worst = Some(match worst {
                        Some(other) => RuleReason::stricter(other, rule_reason),
                        None => rule_reason,
                    });
                }
                worst.unwrap_or_else(|| judge_part(self, None, "it is empty", facts.is_tainted))
            }
        };
        rule_reason.verdict = rule_reason.verdict.for_confinement(facts.is_sandboxed);
        rule_reason
    }
}

fn harmless(
    proposal: ShellProposal,
    rule: &'static str,
    why: &'static str,
) -> Judgement<ShellProposal> {
    let rule_reason = RuleReason::built_in(Verdict::Allow, rule, why);
    Judgement::Allowed(Permitted::new(proposal, rule_reason, Vec::new()))
}

/// Combines the verdicts of all steps into one judgement.
fn conclude<P: Proposal>(
    proposal: P,
    grounds: Vec<RuleReason>,
    lines: Vec<String>,
    safety_checks: Vec<SafetyCheck>,
) -> Judgement<P> {
    let nothing = RuleReason::built_in(Verdict::Allow, "nothing to do", "There is nothing to do.");
    let worst = grounds
        .iter()
        .cloned()
        .reduce(RuleReason::stricter)
        .unwrap_or(nothing);
    if worst.verdict == Verdict::Deny {
        let denial = Denial {
            rule: worst.rule,
            reason: worst.reason,
        };
        return Judgement::Denied(proposal.call_id().clone(), denial);
    }
    if worst.verdict != Verdict::Ask && safety_checks.is_empty() {
        return Judgement::Allowed(Permitted::new(proposal, worst, Vec::new()));
    }
    let approval = if worst.verdict == Verdict::Ask {
        worst
    } else {
        let reason = "The provider requires the user's approval.";
        RuleReason::built_in(Verdict::Ask, "provider's safety check", reason)
    };
    let mut reasons = vec![approval.reason.clone()];
    for rule_reason in grounds
        .iter()
        .filter(|rule_reason| rule_reason.verdict == Verdict::Ask)
    {
        if !reasons.contains(&rule_reason.reason) {
            reasons.push(rule_reason.reason.clone());
        }
    }
    let canonical = proposal.to_json();
    if any_text(&canonical, summary::mixes_alphabets) {
        reasons.push("A word in it mixes letters of two similar-looking alphabets.".to_owned());
    }
    let question = Question {
        call_id: summary::escape(proposal.call_id().as_str()).into(),
        digest: proposal.digest(),
        lines,
        reasons: reasons
            .iter()
            .map(|reason| summary::escape(reason))
            .collect(),
        has_hidden_characters: any_text(&canonical, summary::has_hidden),
        safety_checks: safety_checks.iter().map(escaped).collect(),
    };
    Judgement::Ask(PendingApproval::new(
        proposal,
        question,
        approval,
        safety_checks,
    ))
}

/// Whether any text in the value satisfies `is`.
fn any_text(value: &Value, is: fn(&str) -> bool) -> bool {
    match value {
        Value::String(text) => is(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, is)),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| is(name) || any_text(value, is)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

fn escaped(check: &SafetyCheck) -> SafetyCheck {
    SafetyCheck {
        id: summary::escape(&check.id),
        code: check.code.as_deref().map(summary::escape),
        message: check.message.as_deref().map(summary::escape),
        source: check.source,
    }
}
