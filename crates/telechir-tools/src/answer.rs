//! The result of a call in the form that the tools return: named members, and at most a screenshot.

use std::time::Duration;

use serde_json::{Map, Value};
use telechir_protocol::{
    Command, ComputerResult, Content, Failure, FailureKind, InputRequest, Media, ShellAction,
    ShellOutcome, ShellResult, StepOutcome, StepState, ToolResult,
};

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolStatus {
    /// All of it was executed; a command ended with exit code 0.
    Success,
    /// It failed; the message tells why.
    Error,
    /// The policy or the user denied it; it must not be worked around.
    Denied,
    /// It did not end in time.
    Timeout,
    /// A command waits for input on its terminal.
    AwaitingInput,
    /// It goes on in the background; the message tells how to read it.
    Running,
    /// It was stopped before its end; what it did until then stays.
    Cancelled,
}

impl ToolStatus {
    /// The word in the member `status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Timeout => "timeout",
            Self::AwaitingInput => "awaiting_input",
            Self::Running => "running",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether the model should read the answer as an error.
    pub fn is_error(self) -> bool {
        matches!(
            self,
            Self::Error | Self::Denied | Self::Timeout | Self::Cancelled
        )
    }

    fn of(failure: &Failure) -> Self {
        match failure.kind {
            FailureKind::Denied => Self::Denied,
            FailureKind::Timeout => Self::Timeout,
            FailureKind::Cancelled => Self::Cancelled,
            FailureKind::InvalidInput
            | FailureKind::Unsupported
            | FailureKind::Stale
            | FailureKind::Device
            | FailureKind::NotExecuted
            | FailureKind::Interrupted => Self::Error,
        }
    }
}

/// The strongest thing known about the effect of a call on its device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolEffect {
    /// Nothing was sent to the device.
    Nothing,
    /// At least a part was sent to the device, which confirmed not all of it.
    Delivered,
    /// All that was sent to the device was observed to have its effect.
    Confirmed,
}

impl ToolEffect {
    /// The word for clients.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "none",
            Self::Delivered => "delivered",
            Self::Confirmed => "confirmed",
        }
    }

    /// The effect of a shell call, which has one command at most; none if it is not known.
    fn of_shell(result: &ShellResult) -> Option<Self> {
        if let Some(failure) = &result.error {
            return Self::of_failure(failure);
        }
        Some(match result.outcome() {
            ShellOutcome::NotStarted => Self::Nothing,
            ShellOutcome::Success | ShellOutcome::Error => Self::Confirmed,
            ShellOutcome::Running
            | ShellOutcome::AwaitingInput
            | ShellOutcome::Timeout
            | ShellOutcome::Cancelled
            | ShellOutcome::Other(_) => Self::Delivered,
        })
    }

    /// The effect of what failed; none if it is not known.
    fn of_failure(failure: &Failure) -> Option<Self> {
        match failure.kind {
            FailureKind::Denied
            | FailureKind::InvalidInput
            | FailureKind::Unsupported
            | FailureKind::Stale
            | FailureKind::NotExecuted => Some(Self::Nothing),
            FailureKind::Timeout
            | FailureKind::Cancelled
            | FailureKind::Device
            | FailureKind::Interrupted => None,
        }
    }

    /// The effect of a call's steps; none if it is not known.
    fn of_steps(steps: &[StepOutcome]) -> Option<Self> {
        let of_step = |step: &StepOutcome| match &step.state {
            StepState::Delivered => Some(Self::Delivered),
            StepState::Confirmed => Some(Self::Confirmed),
            StepState::NotStarted => Some(Self::Nothing),
            StepState::Failed { failure } => Self::of_failure(failure),
        };
        let effects: Vec<Self> = steps.iter().map(of_step).collect::<Option<_>>()?;
        let has = |effect| effects.contains(&effect);
        match (has(Self::Delivered), has(Self::Confirmed)) {
            (true, _) => Some(Self::Delivered),
            (false, true) => Some(Self::Confirmed),
            (false, false) => (!effects.is_empty()).then_some(Self::Nothing),
        }
    }
}

/// What a tool returns.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolAnswer {
    /// How the call ended.
    pub status: ToolStatus,
    /// Whether the model should read the answer as an error of the tool. A command that ended with
    /// another exit code than 0 has the status `error` and is none: the tool ran it.
    pub is_error: bool,
    /// Named members, `status`, `duration_ms` and `voice_message` among them.
    pub members: Map<String, Value>,
    /// The screen afterwards, if the tool returns it.
    pub screenshot: Option<Media>,
    /// What is known about the effect of the call; absent if nothing is.
    pub effect: Option<ToolEffect>,
}

impl ToolAnswer {
    /// The answer to a call that took `elapsed`.
    pub fn of(call: &Content, result: &ToolResult, elapsed: Duration) -> Self {
        let parts = match result {
            ToolResult::Shell(result) => shell(call, result),
            ToolResult::Computer(result) => computer(result),
            ToolResult::Edit(_) | ToolResult::Function(_) => {
                return Self::failed(
                    ToolStatus::Error,
                    "The session returned a result of another kind; report this as a bug.",
                    elapsed,
                );
            }
        };
        Self::with(parts, elapsed)
    }

    /// The answer to a call that was not executed, or that the session could not execute.
    pub fn failed(status: ToolStatus, message: &str, elapsed: Duration) -> Self {
        let mut members = Map::new();
        members.insert("message".to_owned(), message.into());
        Self::with(Parts::new(status, members), elapsed)
    }

    /// An answer with these members.
    pub fn success(members: Map<String, Value>, elapsed: Duration) -> Self {
        Self::with(Parts::new(ToolStatus::Success, members), elapsed)
    }

    fn with(parts: Parts, elapsed: Duration) -> Self {
        let Parts {
            status,
            is_error,
            members: rest,
            screenshot,
            effect,
        } = parts;
        let mut members = Map::new();
        members.insert("status".to_owned(), status.name().into());
        members.extend(rest);
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        members.insert("duration_ms".to_owned(), milliseconds.into());
        let exit_code = members.get("exit_code").and_then(Value::as_i64);
        members.insert("voice_message".to_owned(), spoken(status, exit_code).into());
        Self {
            status,
            is_error,
            members,
            screenshot,
            effect,
        }
    }

    /// Sets a member; `status`, `duration_ms` and `voice_message` stay where they are.
    pub fn insert(&mut self, name: &str, value: Value) {
        self.members.insert(name.to_owned(), value);
    }

    /// The members as JSON text, after one sentence if the model has something to do.
    pub fn text(&self) -> String {
        let json = Value::Object(self.members.clone()).to_string();
        let message = self.members.get("message").and_then(Value::as_str);
        match message.filter(|_| self.is_error) {
            Some(message) => format!("{message}\n{json}"),
            None => json,
        }
    }
}

/// A short sentence without paths, to be read aloud.
fn spoken(status: ToolStatus, exit_code: Option<i64>) -> String {
    match (status, exit_code) {
        (ToolStatus::Success, Some(_)) => "The command completed successfully.",
        (ToolStatus::Success, None) => "Done.",
        (ToolStatus::Error, Some(code)) => {
            return format!("The command ended with exit code {code}.");
        }
        (ToolStatus::Error, None) => "That did not work.",
        (ToolStatus::Denied, _) => "That was not allowed.",
        (ToolStatus::Timeout, _) => "That took too long and was stopped.",
        (ToolStatus::AwaitingInput, _) => "The command waits for input.",
        (ToolStatus::Running, _) => "It is still running.",
        (ToolStatus::Cancelled, _) => "That was stopped.",
    }
    .to_owned()
}

/// An answer without what all answers have.
struct Parts {
    status: ToolStatus,
    is_error: bool,
    members: Map<String, Value>,
    screenshot: Option<Media>,
    effect: Option<ToolEffect>,
}

impl Parts {
    fn new(status: ToolStatus, members: Map<String, Value>) -> Self {
        Self {
            status,
            is_error: status.is_error(),
            members,
            screenshot: None,
            effect: None,
        }
    }
}

fn shell(call: &Content, result: &ShellResult) -> Parts {
    let mut members = Map::new();
    let outcome = result.outcome();
    let status = match &result.error {
        Some(error) => ToolStatus::of(error),
        None => status_of(&outcome),
    };
    let awaiting = result
        .outputs
        .iter()
        .find_map(|output| output.awaiting.as_ref());
    let action = if let Content::ShellCall(call) = call {
        Some(&call.action)
    } else {
        None
    };
    // A job that was stopped on request ended as it should.
    let status = match action {
        Some(ShellAction::Stop(_)) if result.error.is_none() => ToolStatus::Success,
        _ => status,
    };
    let job = background_job(call, result);
    if let Some(message) = shell_message(result, status, awaiting, job.as_deref()) {
        members.insert("message".to_owned(), message.into());
    }
    members.insert("stdout".to_owned(), result.stdout().into());
    members.insert("stderr".to_owned(), result.stderr().into());
    members.insert("exit_code".to_owned(), result.exit_code().into());
    let word = serde_json::to_value(&outcome).unwrap_or_default();
    members.insert("outcome".to_owned(), word);
    if let Some(error) = &result.error {
        let kind = serde_json::to_value(error.kind).unwrap_or_default();
        members.insert("reason".to_owned(), kind);
    }
    let truncated = result.outputs.iter().map(|output| output.truncated_bytes);
    let truncated: u64 = truncated.sum();
    if truncated > 0 {
        members.insert("truncated".to_owned(), true.into());
        members.insert("truncated_bytes".to_owned(), truncated.into());
    }
    if action == Some(&ShellAction::CloseInput) {
        members.insert("stdin_closed".to_owned(), result.error.is_none().into());
    }
    if let Some(cwd) = &result.cwd {
        members.insert("cwd".to_owned(), cwd.clone().into());
    }
    if let Some(awaiting) = awaiting {
        let awaiting = serde_json::to_value(awaiting).unwrap_or_default();
        members.insert("awaiting".to_owned(), awaiting);
    }
    if let Some(job) = job {
        members.insert("job".to_owned(), job.into());
    }
    if found_nothing(call, result) {
        members.insert("note".to_owned(), "no_match".into());
    }
    let is_error = match &result.error {
        Some(_) => status.is_error(),
        None => matches!(status, ToolStatus::Timeout | ToolStatus::Cancelled),
    };
    Parts {
        is_error,
        effect: ToolEffect::of_shell(result),
        ..Parts::new(status, members)
    }
}

/// What the model should do next, if that is not obvious.
fn shell_message(
    result: &ShellResult,
    status: ToolStatus,
    awaiting: Option<&InputRequest>,
    job: Option<&str>,
) -> Option<String> {
    if let Some(error) = &result.error {
        return Some(error.message.clone());
    }
    if let Some(awaiting) = awaiting {
        let input = awaiting.kind.description();
        return Some(format!(
            "The command waits for {input}: send it with `stdin` or `key`, or end the input with \
             `close_stdin`."
        ));
    }
    match (status, job) {
        (ToolStatus::Timeout, _) => Some(
            "The command did not end in time and was stopped. Run what takes longer with \
             `background`, and read its output with `job`."
                .to_owned(),
        ),
        (ToolStatus::Running, Some(job)) => Some(format!(
            "{job} is running: read its new output with `job`, end it with `stop`."
        )),
        _ => None,
    }
}

/// The background job that a call started or addressed.
fn background_job(call: &Content, result: &ShellResult) -> Option<String> {
    let Content::ShellCall(call) = call else {
        return None;
    };
    match &call.action {
        ShellAction::Read(job) | ShellAction::Stop(job) => Some(job.clone()),
        ShellAction::Start => {
            let stdout = result.stdout();
            let is_name = |word: &&str| {
                let number = word.strip_prefix("job");
                number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
            };
            let mut words = stdout.split(|c: char| !c.is_ascii_alphanumeric());
            words.find(is_name).map(str::to_owned)
        }
        ShellAction::Execute
        | ShellAction::Restart
        | ShellAction::SendText(_)
        | ShellAction::SendKey(_)
        | ShellAction::CloseInput
        | ShellAction::Interrupt
        | ShellAction::List
        | ShellAction::Other(_) => call.job.clone(),
    }
}

/// Whether a search ended with exit code 1 because nothing matched, which is no failure of it.
fn found_nothing(call: &Content, result: &ShellResult) -> bool {
    const SEARCHES: [&str; 8] = [
        "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "pgrep", "git grep",
    ];
    let Content::ShellCall(call) = call else {
        return false;
    };
    let [Command::Line(line)] = call.commands.as_slice() else {
        return false;
    };
    let last = line.rsplit(['|', ';', '&', '\n']).next().unwrap_or(line);
    let is_search = SEARCHES.iter().any(|name| {
        let rest = last.trim_start().strip_prefix(name);
        rest.is_some_and(|rest| rest.starts_with(char::is_whitespace))
    });
    is_search && result.exit_code() == Some(1) && result.stderr().is_empty()
}

fn status_of(outcome: &ShellOutcome) -> ToolStatus {
    match outcome {
        ShellOutcome::Success => ToolStatus::Success,
        ShellOutcome::Running => ToolStatus::Running,
        ShellOutcome::Error | ShellOutcome::Other(_) | ShellOutcome::NotStarted => {
            ToolStatus::Error
        }
        ShellOutcome::Timeout => ToolStatus::Timeout,
        ShellOutcome::Cancelled => ToolStatus::Cancelled,
        ShellOutcome::AwaitingInput => ToolStatus::AwaitingInput,
    }
}

fn computer(result: &ComputerResult) -> Parts {
    let mut members = Map::new();
    let status = result
        .error
        .as_ref()
        .map_or(ToolStatus::Success, ToolStatus::of);
    if let Some(error) = &result.error {
        members.insert("message".to_owned(), error.message.clone().into());
    }
    let mut texts: Vec<&str> = result.text_output.as_deref().into_iter().collect();
    if texts.is_empty() {
        texts.extend(result.steps.iter().filter_map(|step| step.text.as_deref()));
    }
    if !texts.is_empty() {
        members.insert("stdout".to_owned(), texts.join("\n").into());
    }
    if let Some(url) = &result.current_url {
        members.insert("url".to_owned(), url.clone().into());
    }
    let own = result
        .steps
        .iter()
        .rev()
        .find_map(|step| step.screenshot.clone());
    let screenshot = own.or_else(|| result.screenshot.clone());
    if screenshot.is_some() {
        if let Some(frame) = &result.frame {
            members.insert("frame".to_owned(), frame.to_string().into());
        }
        if let Some(size) = result.display {
            members.insert("width".to_owned(), size.width.into());
            members.insert("height".to_owned(), size.height.into());
        }
        if let Some(settling) = &result.settling {
            members.insert("settled".to_owned(), settling.settled.into());
        }
    }
    Parts {
        screenshot,
        effect: ToolEffect::of_steps(&result.steps),
        ..Parts::new(status, members)
    }
}
