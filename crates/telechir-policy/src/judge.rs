//! Judges a call: every step in every aspect; the strictest verdict wins.

use serde_json::{Value, json};
use telechir_protocol::{Action, Command, EditTool, SafetyCheck, ShellAction};

use crate::contained::Parted;
use crate::edit_rule::{Edit, EditMatch};
use crate::input_target::{InputTarget, is_input, may_move_focus};
use crate::key_rule::{KeyPresses, KeysMatch, PressedKeys};
use crate::network_rule::NetworkMatch;
use crate::rule::{RateCounter, RuleContext, RuleTable};
use crate::screen_rule::{ComputerMatch, ScreenSubject};
use crate::shape::Shaped;
use crate::shell_rule::{ShellMatch, ShellSubject};
use crate::url_rule::{Destination, UrlMatch};
use crate::{
    ApprovalShape, ApproveAt, CommandReading, Denial, Digest, EditFacts, EditProposal, Judgement,
    NetworkClient, PendingApproval, Permitted, PolicyError, Proposal, Question, RuleReason,
    ScreenFacts, ScreenProposal, ScreenWindows, ShellFacts, ShellProposal, ShellTask,
    SimpleCommand, Verdict, action_text, edit_rule, file, key_rule, navigation, question_text,
    read_command, screen_rule, shell_change, shell_rule, summary, url_rule,
};

/// The rules of one file. If none matches, the default of the kind applies.
#[derive(Clone, Debug)]
pub struct Policy {
    pub(crate) computer: RuleTable<ComputerMatch>,
    pub(crate) keys: RuleTable<KeysMatch>,
    pub(crate) url: RuleTable<UrlMatch>,
    pub(crate) network: RuleTable<NetworkMatch>,
    pub(crate) shell: RuleTable<ShellMatch>,
    pub(crate) edit: RuleTable<EditMatch>,
    /// Patterns of the hosts whose content is trusted; a host must fit one of each list.
    pub(crate) trusted: Vec<Vec<String>>,
    pub(crate) digest: Digest,
    pub(crate) required: RequiredApprovals,
    pub(crate) min_answer_ms: u64,
    pub(crate) rented: RentedCeiling,
}

/// How much may be rented at services, by all sessions of the user together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RentedCeiling {
    /// Sessions at a time; absent without a limit.
    pub sessions: Option<usize>,
    /// Minutes in 24 hours; absent without a limit.
    pub minutes: Option<u64>,
}

impl RentedCeiling {
    /// What both permit.
    fn and(self, other: Self) -> Self {
        fn least<N: Ord>(one: Option<N>, other: Option<N>) -> Option<N> {
            one.into_iter().chain(other).min()
        }
        Self {
            sessions: least(self.sessions, other.sessions),
            minutes: least(self.minutes, other.minutes),
        }
    }
}

/// How much a table of a policy contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableCounts {
    /// Its name in the file, such as `shell`.
    pub name: &'static str,
    /// Its rules, without the default.
    pub rules: usize,
    /// Whether it says what holds where no rule fits.
    pub has_default: bool,
    /// The examples of its rules.
    pub examples: usize,
}

/// Kinds of calls that each need the user's approval, whatever the rules permit: the
/// `approval_mode` of the declared tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequiredApprovals {
    /// Calls to a screen.
    pub computer: bool,
    /// Calls to a shell.
    pub shell: bool,
    /// Calls to an editor.
    pub edit: bool,
}

impl RequiredApprovals {
    const fn and_also(self, other: Self) -> Self {
        Self {
            computer: self.computer || other.computer,
            shell: self.shell || other.shell,
            edit: self.edit || other.edit,
        }
    }
}

/// The reason why a call needs an approval that no rule asks for.
fn required(is_required: bool) -> Option<RuleReason> {
    let reason = "The approval_mode of the tool requires an approval of every call.";
    is_required.then(|| RuleReason::built_in(Verdict::Ask, "approval_mode", reason))
}

impl Policy {
    /// The policy without rules, which only has defaults.
    pub fn default_policy() -> Self {
        Self {
            computer: RuleTable::default(),
            keys: RuleTable::default(),
            url: RuleTable::default(),
            network: RuleTable::default(),
            shell: RuleTable::default(),
            edit: RuleTable::default(),
            trusted: vec![Vec::new()],
            digest: Digest::of_json(&Value::Null),
            required: RequiredApprovals::default(),
            min_answer_ms: 0,
            rented: RentedCeiling::default(),
        }
    }

    /// The same rules with approvals for every call of these kinds. What a rule denies stays
    /// denied.
    #[must_use]
    pub fn requiring(mut self, required: RequiredApprovals) -> Self {
        self.required = required;
        self
    }

    /// Both policies at once: everything is judged by each of them, and the stricter verdict counts. So
    /// the result permits nothing that either does not.
    ///
    /// ```
    /// # use telechir_policy::{Policy, ShippedPolicy};
    /// let policy = Policy::default_policy().tightened(&ShippedPolicy::Look.policy()?);
    /// # Ok::<(), telechir_policy::PolicyError>(())
    /// ```
    #[must_use]
    pub fn tightened(mut self, by: &Self) -> Self {
        const SUFFIX: &str = "(of the session)";
        self.computer = self.computer.tightened(by.computer.renamed(SUFFIX));
        self.keys = self.keys.tightened(by.keys.renamed(SUFFIX));
        self.url = self.url.tightened(by.url.renamed(SUFFIX));
        self.network = self.network.tightened(by.network.renamed(SUFFIX));
        self.shell = self.shell.tightened(by.shell.renamed(SUFFIX));
        self.edit = self.edit.tightened(by.edit.renamed(SUFFIX));
        self.trusted.extend(by.trusted.iter().cloned());
        self.required = self.required.and_also(by.required);
        self.min_answer_ms = self.min_answer_ms.max(by.min_answer_ms);
        self.rented = self.rented.and(by.rented);
        self.digest = Digest::of_json(&json!([self.digest.to_string(), by.digest.to_string()]));
        self
    }

    /// Parses the policy of a TOML file; `origin` is its name in errors and reasons.
    ///
    /// ```
    /// # use telechir_policy::Policy;
    /// let policy = Policy::from_toml(r#"
    ///     [[shell]]
    ///     words = ["git", ["status", "log"]]
    ///     options = ["-n"]
    ///     verdict = "sandbox"
    ///     reason = "Reading the history is fine."
    ///     examples.match = ["git log -n 1"]
    ///     examples.not_match = ["git push", "git log --output=file"]
    /// "#, "policy.toml");
    /// assert!(policy.is_ok());
    /// ```
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key, or a rule contradicts its own examples.
    pub fn from_toml(text: &str, origin: &str) -> Result<Self, PolicyError> {
        file::read(text, origin)
    }

    /// How many milliseconds a yes must take, because nobody reads a question faster; 0 without a
    /// limit.
    pub fn min_answer_ms(&self) -> u64 {
        self.min_answer_ms
    }

    /// How much may be rented at services: the table `[rented]`.
    pub fn rented(&self) -> RentedCeiling {
        self.rented
    }

    /// What its tables contain, in the order of the documentation.
    pub fn tables(&self) -> [TableCounts; 6] {
        fn counts<M>(name: &'static str, table: &RuleTable<M>) -> TableCounts {
            TableCounts {
                name,
                rules: table.rules.len(),
                has_default: table.default.is_some(),
                examples: table.examples,
            }
        }
        [
            counts("computer", &self.computer),
            counts("keys", &self.keys),
            counts("url", &self.url),
            counts("network", &self.network),
            counts("shell", &self.shell),
            counts("edit", &self.edit),
        ]
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

    /// Replaces the policy. Rules of the same name continue to count.
    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// The hosts that the caller must resolve before these actions are judged. A name that is denied
    /// whatever its addresses are is not among them: a DNS request would tell it to others.
    pub fn hosts_to_resolve(&self, actions: &[Action]) -> Vec<String> {
        let gate = self.policy.gate(NetworkClient::Browser);
        let urls = actions
            .iter()
            .filter_map(navigation::url_of)
            .filter_map(navigation::read_url);
        let names = urls.filter(|url| {
            matches!(url.host(), Some(url::Host::Domain(_))) && gate.refusal_of(url).is_none()
        });
        names.filter_map(|url| url_rule::host_name(&url)).collect()
    }

    /// Whether an action opens a URL, which is judged with the addresses of its host.
    pub fn opens_url(action: &Action) -> bool {
        navigation::url_of(action).is_some()
    }

    /// Whether these actions must be judged with the windows of the screen.
    pub fn depends_on_windows(actions: &[Action]) -> bool {
        actions.iter().any(is_input)
    }

    /// The names of the windows that the input of an action may reach, which is the first of its
    /// proposal. None if it may reach any window, or is no input.
    pub fn windows_of_input(action: &Action, windows: &ScreenWindows) -> Option<Vec<Vec<String>>> {
        InputTarget::of(action, windows, 0, false).windows()
    }

    /// Whether the policy trusts the content of a page, so that reading it leaves the session
    /// trusted. The empty page and the browser's own pages have no content of others.
    pub fn trusts_page(&self, url: &str) -> bool {
        let Some(url) = navigation::read_url(url) else {
            return false;
        };
        let is_own = matches!(url.scheme(), "about" | "chrome" | "chrome-error");
        is_own || url_rule::host_name(&url).is_some_and(|host| self.policy.trusts(&host))
    }

    /// The host of a URL, in canonical form; none if it has no host.
    pub fn host_of(url: &str) -> Option<String> {
        url_rule::host_name(&navigation::read_url(url)?)
    }

    /// A judge of the same policy without history, for judging something again.
    #[must_use]
    pub fn without_history(&self) -> Self {
        Self::new(self.policy.clone())
    }

    /// Whether a command may change its shell.
    pub fn tainting(command: &Command) -> Tainting {
        match read_command(command) {
            CommandReading::Known(commands) if !commands.iter().any(shell_change::taints) => {
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
        let mut context = RuleContext {
            now: facts.now,
            is_untrusted: facts.is_untrusted,
            is_confined: facts.display == crate::DisplayOwner::Private,
        };
        let mut has_moved = false;
        for (index, action) in proposal.actions.iter_mut().enumerate() {
            let step = ScreenSubject {
                kind: action.kind(),
                device: proposal.device,
                display: facts.display,
                target: InputTarget::of(action, &facts.windows, index, has_moved),
            };
            let mut rule_reason = self.kind(&step, action, context);
            rule_reason = rule_reason.stricter(self.keys(&pressed, action, context));
            if let Some(address) = self.address(action, facts, context) {
                rule_reason = rule_reason.stricter(address);
            }
            rule_reason.verdict = rule_reason.verdict.for_confinement(context.is_confined);
            key_rule::update_pressed_keys(&mut pressed, action);
            has_moved |= may_move_focus(action);
            // The next step of the call acts on what this one has opened.
            context.is_untrusted |= self.opens_untrusted(action);
            grounds.push(rule_reason);
        }
        grounds.extend(required(self.policy.required.computer));
        let checks = proposal.safety_checks.clone();
        let lines = proposal
            .actions
            .iter()
            .flat_map(action_text::action_lines)
            .collect();
        conclude(proposal, grounds, lines, checks)
    }

    /// Whether an action opens a page of a host that the policy does not trust.
    fn opens_untrusted(&self, action: &Action) -> bool {
        let url = navigation::url_of(action).and_then(navigation::read_url);
        let host = url.as_ref().and_then(url_rule::host_name);
        host.is_some_and(|host| !self.policy.trusts(&host))
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
                let lines = question_text::input_lines(input, job.as_deref(), *is_hidden);
                let mut grounds = vec![self.input(input, facts)];
                grounds.extend(self.shell_approval());
                return conclude(proposal, grounds, lines, Vec::new());
            }
            ShellTask::Restart => {
                return self.harmless(proposal, "restart", "A restart only discards state.");
            }
            ShellTask::ReadJobs(_) => {
                return self.harmless(proposal, "look", "Reading changes nothing.");
            }
            ShellTask::Stop(_) => {
                return self.harmless(proposal, "stop", "Stopping a job only ends it.");
            }
        };
        let mut facts = facts.clone();
        let mut grounds = Vec::new();
        let mut lines = Vec::new();
        for command in commands {
            grounds.push(self.command(command, &proposal, &facts));
            facts.is_tainted |= Self::tainting(command) == Tainting::Tainted;
            lines.extend(question_text::command_lines(command));
        }
        grounds.extend(self.shell_approval());
        lines.extend(question_text::surroundings(&proposal));
        conclude(proposal, grounds, lines, Vec::new())
    }

    fn shell_approval(&self) -> Option<RuleReason> {
        required(self.policy.required.shell)
    }

    /// Judges a task that only the tool's `approval_mode` may question.
    fn harmless(
        &self,
        proposal: ShellProposal,
        name: &'static str,
        why: &'static str,
    ) -> Judgement<ShellProposal> {
        let mut grounds = vec![RuleReason::built_in(Verdict::Allow, name, why)];
        grounds.extend(self.shell_approval());
        let lines = vec![format!("shell: {name}")];
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
            let context = RuleContext {
                now: facts.now,
                is_untrusted: facts.is_untrusted,
                // The files belong to the workspace, wherever the shell runs.
                is_confined: true,
            };
            let table = &self.policy.edit;
            let mut rule_reason = table.judge(&edit, &mut self.tally, context, default);
            if let Some(always) = edit_rule::always(&edit) {
                rule_reason = rule_reason.stricter(always);
            }
            rule_reason.verdict = rule_reason.verdict.for_confinement(context.is_confined);
            grounds.push(rule_reason);
            lines.extend(question_text::edit_lines(step));
        }
        grounds.extend(required(self.policy.required.edit));
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
        let unknown = "it is input to a running program";
        let mut rule_reason = self.part(None, unknown, facts.is_tainted, facts);
        rule_reason.verdict = rule_reason.verdict.for_confinement(facts.is_sandboxed);
        rule_reason
    }

    fn kind(
        &mut self,
        step: &ScreenSubject<'_>,
        action: &Action,
        context: RuleContext,
    ) -> RuleReason {
        let default = || screen_rule::default(step, action);
        let table = &self.policy.computer;
        table.judge(step, &mut self.tally, context, default)
    }

    /// Judges the keys that an action presses, with those that are held meanwhile.
    fn keys(
        &mut self,
        pressed_before: &[telechir_protocol::Key],
        action: &Action,
        context: RuleContext,
    ) -> RuleReason {
        let nothing = || RuleReason::built_in(Verdict::Allow, "keys", "No chord is pressed.");
        let table = &self.policy.keys;
        let mut judge = |pressed: &PressedKeys| {
            let default = || key_rule::default(pressed);
            table.judge(pressed, &mut self.tally, context, default)
        };
        match key_rule::key_presses(pressed_before, action) {
            KeyPresses::None => nothing(),
            KeyPresses::Chord(pressed) => judge(&pressed),
            // With nothing pressed_before, text is judged as text; only rules for its keys count.
            KeyPresses::Text(texts) if pressed_before.is_empty() => {
                let mut by_rules = |pressed: &PressedKeys| {
                    let default = || key_rule::default(pressed);
                    table.judge_by_rules(pressed, &mut self.tally, context, default)
                };
                let judged = texts.iter().map(&mut by_rules);
                judged.reduce(RuleReason::stricter).unwrap_or_else(nothing)
            }
            KeyPresses::Text(texts) => {
                let judged = texts.iter().map(&mut judge);
                judged.reduce(RuleReason::stricter).unwrap_or_else(nothing)
            }
        }
    }

    /// Judges the target of a navigation, and writes its URL in the judged form.
    fn address(
        &mut self,
        action: &mut Action,
        facts: &ScreenFacts,
        context: RuleContext,
    ) -> Option<RuleReason> {
        let text = navigation::url_of(action)?;
        let Some(url) = navigation::read_url(text) else {
            let reason = format!("{:?} is not a URL.", summary::escape(text));
            return Some(RuleReason::built_in(Verdict::Deny, "address", reason));
        };
        let to = Destination::new(&url, &facts.resolved);
        let default = || url_rule::default(&to);
        let table = &self.policy.url;
        let rule_reason = table.judge(&to, &mut self.tally, context, default);
        navigation::with_url(action, url.to_string());
        Some(match url_rule::always(&url) {
            Some(always) => rule_reason.stricter(always),
            None => rule_reason,
        })
    }

    /// Judges one command of a line, or a line that is uncertain.
    fn part(
        &mut self,
        command: Option<&SimpleCommand>,
        unknown: &str,
        is_tainted: bool,
        facts: &ShellFacts,
    ) -> RuleReason {
        let part = ShellSubject {
            command,
            unknown,
            is_sandboxed: facts.is_sandboxed,
            is_tainted,
            reach: facts.reach,
        };
        let context = RuleContext {
            now: facts.now,
            is_untrusted: facts.is_untrusted,
            is_confined: facts.is_sandboxed,
        };
        let default = || shell_rule::default(&part);
        let table = &self.policy.shell;
        table.judge(&part, &mut self.tally, context, default)
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
        let mut rule_reason = match &parts {
            Err(unknown) => self.part(None, unknown, facts.is_tainted, facts),
            Ok(parts) => {
                let mut is_tainted = facts.is_tainted;
                let mut worst = None;
                for part in parts {
                    let rule_reason = self.part(Some(part), "", is_tainted, facts);
                    is_tainted |= shell_change::taints(part);
                    worst = Some(match worst {
                        Some(other) => RuleReason::stricter(other, rule_reason),
                        None => rule_reason,
                    });
                }
                worst.unwrap_or_else(|| self.part(None, "it is empty", facts.is_tainted, facts))
            }
        };
        rule_reason.verdict = rule_reason.verdict.for_confinement(facts.is_sandboxed);
        rule_reason
    }
}

const IMITATION: &str = "A word in it consists of letters of another alphabet that look like Latin \
                         ones.";
const RIGHT_TO_LEFT: &str = "It has letters that are written from right to left: on some screens words and signs \
     between them appear in reverse order.";

/// Combines the verdicts of all steps into one judgement.
fn conclude<P: Proposal + Shaped + Parted>(
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
    if approval.approve == ApproveAt::Nowhere {
        let denial = Denial {
            rule: approval.rule,
            reason: format!(
                "{} Its rules want it approved at different interfaces, so none can.",
                approval.reason
            ),
        };
        return Judgement::Denied(proposal.call_id().clone(), denial);
    }
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
    if any_text(&canonical, summary::imitates_latin) {
        reasons.push(IMITATION.to_owned());
    }
    if any_text(&canonical, summary::reads_right_to_left) {
        reasons.push(RIGHT_TO_LEFT.to_owned());
    }
    let reasons: Vec<String> = reasons
        .iter()
        .map(|reason| summary::escape(reason))
        .collect();
    let parts = proposal.parts();
    let shape = (!parts.is_empty()).then(|| ApprovalShape {
        parts,
        reasons: reasons.clone(),
    });
    let question = Question {
        call_id: summary::escape(proposal.call_id().as_str()).into(),
        digest: proposal.digest(),
        action: proposal.action_digest(),
        shape,
        contained: proposal.contained(),
        lines,
        reasons,
        has_hidden_characters: any_text(&canonical, summary::has_hidden),
        approve: approval.approve,
        untrusted_source: None,
        safety_checks: safety_checks.iter().map(escaped).collect(),
        min_answer_ms: 0,
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
