//! Fake devices and approvers, and sessions made of them.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use telechir_device::{
    ActionReport, Computer, DeviceError, DevtoolsSource, ElementMarks, Frame, InputWindows, Mark,
    MarkKind, PageContext, PageContextSource, PartLocation, PointedWindows, ScreenAction,
    ScreenPart, ScreenRegion, ScreenTarget, Settle, Settled, Shell, ShellCommand, ShellInput,
    StopSignal, UntilStopped, Viewport, Window, WindowSystem,
};
use telechir_policy::{ContentTrust, Decision, Policy, Question};
use telechir_protocol::{
    ActionKind, AnsweredTurn, Command, CommandOutput, ComputerCall, ComputerResult, Content,
    ModelTurn, Point, Region, ShellCall, ShellOutcome, ShellResult, Size, TabState, ToolResult,
};
use telechir_runtime::{Answer, Approver, ControlLease, Session, SessionBuilder};
use tokio::sync::watch;

use crate::devtools::FakeDevtools;

/// What a device was called with, in order.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

pub(crate) fn log_of(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

/// The kill switch's reason, after a request to minimise a window.
const STOPPED: &str = "the stop key was pressed";

/// The address of a page that cannot be read.
pub(crate) const UNREADABLE: &str = "unreadable:";

/// A screen that logs its calls; its colour is their number.
#[derive(Debug)]
pub(crate) struct FakeScreen {
    pub(crate) log: Log,
    pub(crate) size: Size,
    pub(crate) url: Option<String>,
    /// Whether all screenshots are identical.
    pub(crate) is_still: bool,
    /// True once the stop key is pressed.
    pub(crate) key: watch::Receiver<bool>,
    /// The quiet time of each settle in milliseconds, and the length of the log before it.
    pub(crate) watched: Arc<Mutex<Vec<(u128, usize)>>>,
    /// Classes of the window with the focus, each at one look, the last from then on; without any,
    /// the screen has no windows.
    pub(crate) focus: Vec<&'static str>,
    /// The class of the window under every point.
    pub(crate) under: &'static str,
    /// What its programs say of their elements; none if they say nothing.
    pub(crate) outline: Option<&'static str>,
    /// Of a person who takes control while the first action is performed.
    pub(crate) person: Option<ControlLease>,
    /// Words that only a text recognizer finds, or why it cannot.
    pub(crate) words: Result<Vec<&'static str>, &'static str>,
    /// Its windows, which tests change between actions.
    pub(crate) windows: Arc<Mutex<Vec<Window>>>,
    /// The protocol that other programs drive it by.
    pub(crate) devtools: Option<FakeDevtools>,
}

impl FakeScreen {
    pub(crate) fn new(log: &Log) -> Self {
        Self {
            log: Arc::clone(log),
            size: Size::new(64, 48),
            url: None,
            is_still: false,
            key: watch::channel(false).1,
            watched: Arc::default(),
            focus: Vec::new(),
            under: "Mousepad",
            outline: None,
            person: None,
            words: Ok(Vec::new()),
            windows: Arc::default(),
            devtools: None,
        }
    }

    fn record(&self, what: impl Into<String>) {
        self.log.lock().unwrap().push(what.into());
    }
}

#[async_trait]
impl Computer for FakeScreen {
    fn size(&self) -> Size {
        self.size
    }

    fn supports(&self, kind: &ActionKind) -> bool {
        *kind != ActionKind::OpenApp
    }

    async fn capture(&mut self) -> Result<Frame, DeviceError> {
        self.record("capture");
        if self.is_still {
            let pixels = vec![7; (self.size.width * self.size.height * 4) as usize];
            return Ok(Frame::new(self.size, pixels).unwrap());
        }
        let shade = u8::try_from(self.log.lock().unwrap().len() % 256).unwrap();
        let pixels = vec![shade; (self.size.width * self.size.height * 4) as usize];
        Ok(Frame::new(self.size, pixels).unwrap())
    }

    async fn perform(&mut self, action: &ScreenAction) -> Result<ActionReport, DeviceError> {
        self.record(format!("{}{}", action.kind(), target_of(action)));
        if let Some(lease) = &self.person {
            lease.take();
        }
        match action {
            ScreenAction::Back { .. } => Err(DeviceError::Refused {
                message: "There is no page before.".to_owned(),
            }),
            ScreenAction::Reload { .. } => Err(DeviceError::Disconnected {
                device: "browser",
                source: "it ended".into(),
            }),
            ScreenAction::Forward { .. } => std::future::pending().await,
            // The user presses the stop key meanwhile.
            ScreenAction::MinimizeWindow { .. } => Err(DeviceError::Stopped { why: STOPPED }),
            ScreenAction::ReadPage { .. } => Ok(ActionReport {
                text: self.outline.map(ToOwned::to_owned),
                ..ActionReport::confirmed()
            }),
            ScreenAction::CursorPosition => {
                let text = Some("X=1,Y=2".to_owned());
                Ok(ActionReport {
                    text,
                    ..ActionReport::confirmed()
                })
            }
            _ => Ok(ActionReport::delivered()),
        }
    }

    async fn settle(&mut self, settle: Settle) -> Result<Settled, DeviceError> {
        let record = self.log.lock().unwrap().len();
        self.watched
            .lock()
            .unwrap()
            .push((settle.quiet.as_millis(), record));
        Ok(Settled {
            unsettled: None,
            waited: Duration::ZERO,
            animated_region: None,
        })
    }

    async fn release_inputs(&mut self) -> Result<(), DeviceError> {
        self.record("release");
        Ok(())
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        self.record("close");
        Ok(())
    }

    fn kill_switch(&self) -> Option<&dyn StopSignal> {
        Some(self)
    }

    fn devtools(&self) -> Option<Box<dyn DevtoolsSource>> {
        let devtools = self.devtools.clone()?;
        Some(Box::new(devtools))
    }

    fn page(&mut self) -> Option<&mut dyn PageContextSource> {
        Some(self)
    }

    fn element_marks(&mut self) -> Option<&mut dyn ElementMarks> {
        Some(self)
    }

    fn window_system(&mut self) -> Option<&mut dyn WindowSystem> {
        (!self.focus.is_empty()).then_some(self)
    }
}

#[async_trait]
impl WindowSystem for FakeScreen {
    async fn windows(&mut self) -> Result<Vec<Window>, DeviceError> {
        Ok(self.windows.lock().unwrap().clone())
    }

    async fn input_windows(
        &mut self,
        actions: &[Option<ScreenAction>],
    ) -> Result<InputWindows, DeviceError> {
        let named = |class: &str| vec![class.to_owned()];
        let class = match self.focus.as_slice() {
            [only] => *only,
            _ => self.focus.remove(0),
        };
        let under = |_| {
            Some(PointedWindows {
                names: vec![named(self.under)],
                passes_on: false,
            })
        };
        Ok(InputWindows {
            focused: Some(named(class)),
            all: vec![named("Mousepad"), named("XTerm")],
            under: actions.iter().map(under).collect(),
        })
    }

    fn limit_input(&mut self, windows: Option<Vec<Vec<String>>>) {
        if let Some(windows) = windows {
            self.record(format!("only {}", windows.concat().join(" ")));
        }
    }

    fn visible_region(&self) -> ScreenRegion {
        ScreenRegion::of_screen(self.size)
    }

    /// One window, Mousepad, and one monitor, the left half.
    async fn locate_part(&mut self, part: &ScreenPart) -> Result<PartLocation, DeviceError> {
        let (edges, description) = match part {
            ScreenPart::Window(Some(name)) if name == "Mousepad" => ([10, 5, 30, 15], "Mousepad"),
            ScreenPart::Window(_) => {
                return Err(DeviceError::Refused {
                    message: "There is no such window.".to_owned(),
                });
            }
            ScreenPart::Monitor(_) => ([0, 0, 32, 48], "the left monitor"),
        };
        Ok(PartLocation {
            region: ScreenRegion::clip(self.size, edges).unwrap(),
            description: description.to_owned(),
        })
    }

    fn set_viewport(&mut self, _viewport: Viewport) {}

    fn note_action(&mut self) {}
}

#[async_trait]
impl ElementMarks for FakeScreen {
    /// Two buttons at the top.
    async fn marks(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        let button = |n| mark(self.size, n, format!("button [e{n}]"));
        Ok((1..=2).map(button).take(at_most).collect())
    }

    async fn ocr_words(&mut self, at_most: usize) -> Result<Vec<Mark>, DeviceError> {
        let words = self.words.clone().map_err(|message| DeviceError::Refused {
            message: message.to_owned(),
        })?;
        let word = |(n, text): (u32, &str)| mark(self.size, n, format!("text {text:?}"));
        Ok((1..).zip(words).map(word).take(at_most).collect())
    }
}

/// The mark of the element `e{n}`.
fn mark(screen: Size, n: u32, line: String) -> Mark {
    let (from, to) = (Point::new(n * 20, 20), Point::new(n * 20 + 10, 30));
    let region = Viewport::unscaled(screen).region(Region { from, to });
    Mark {
        target: ScreenTarget::Element {
            id: format!("e{n}"),
            frame: None,
        },
        region: region.unwrap(),
        kind: MarkKind::Press,
        line,
    }
}

impl StopSignal for FakeScreen {
    fn stopped(&self) -> Option<&'static str> {
        let log = self.log.lock().unwrap();
        let is_pressed = *self.key.borrow() || log.iter().any(|record| record == "minimize_window");
        is_pressed.then_some(STOPPED)
    }

    fn until_stopped(&self) -> UntilStopped {
        let mut key = self.key.clone();
        Box::pin(async move {
            if key.wait_for(|is_pressed| *is_pressed).await.is_err() {
                // The sender is gone, so the key can no longer be pressed.
                std::future::pending::<()>().await;
            }
            STOPPED
        })
    }
}

#[async_trait]
impl PageContextSource for FakeScreen {
    async fn page_context(&mut self) -> Result<PageContext, DeviceError> {
        let Some(url) = self.url.clone() else {
            return Ok(PageContext::default());
        };
        if url == UNREADABLE {
            return Err(DeviceError::Refused {
                message: "The page has crashed.".to_owned(),
            });
        }
        let (tab_id, title) = ("1".to_owned(), "Page".to_owned());
        let tabs = vec![TabState {
            tab_id,
            title,
            url: url.clone(),
            active: true,
        }];
        Ok(PageContext {
            url: Some(url),
            tabs,
            ..PageContext::default()
        })
    }

    /// One element, at any point in the left half.
    async fn locate_element(&mut self, target: &ScreenTarget) -> Result<PartLocation, DeviceError> {
        match target {
            ScreenTarget::Point(point) if point.x() < 32 => Ok(PartLocation {
                region: ScreenRegion::clip(self.size, [4, 6, 12, 16]).unwrap(),
                description: "button \"Save\"".to_owned(),
            }),
            _ => Err(DeviceError::Refused {
                message: "There is no element.".to_owned(),
            }),
        }
    }
}

fn target_of(action: &ScreenAction) -> String {
    match action.target() {
        Some(ScreenTarget::Point(point)) => {
            format!(" {},{}", point.x(), point.y())
        }
        Some(ScreenTarget::Element { id, .. }) => format!(" {id}"),
        Some(ScreenTarget::Named(named)) => format!(" {named}"),
        None => String::new(),
    }
}

/// A shell whose answer depends on the first word of a command.
#[derive(Debug)]
pub(crate) struct FakeShell {
    pub(crate) log: Log,
    pub(crate) is_sandboxed: bool,
    pub(crate) hides: bool,
    /// What `fetch` makes untrusted, as the egress proxy of a real shell does.
    pub(crate) trust: ContentTrust,
}

#[async_trait]
impl Shell for FakeShell {
    async fn run(&mut self, command: &ShellCommand) -> Result<CommandOutput, DeviceError> {
        let line = command.command.to_line();
        let timeout = command.timeout.as_millis();
        self.log
            .lock()
            .unwrap()
            .push(format!("{line} [{timeout} ms]"));
        let output = |outcome, exit_code| CommandOutput {
            stdout: format!("ran {line}\n"),
            exit_code,
            outcome,
            ..CommandOutput::default()
        };
        match line.split(' ').next().unwrap() {
            "hang" => Ok(output(ShellOutcome::Timeout, None)),
            "ask" => Ok(output(ShellOutcome::AwaitingInput, None)),
            "fetch" => {
                self.trust.note_untrusted("the shell reached evil.example");
                Ok(output(ShellOutcome::Success, Some(0)))
            }
            "forever" => std::future::pending().await,
            "hide" => {
                self.hides = true;
                Ok(output(ShellOutcome::AwaitingInput, None))
            }
            "fail" => Ok(output(ShellOutcome::Error, Some(3))),
            "vanish" => Err(DeviceError::Disconnected {
                device: "shell",
                source: "it ended".into(),
            }),
            _ => Ok(output(ShellOutcome::Success, Some(0))),
        }
    }

    async fn send(&mut self, input: &ShellInput) -> Result<CommandOutput, DeviceError> {
        self.log.lock().unwrap().push(format!("{:?}", input.typed));
        Ok(CommandOutput {
            stdout: "took it\n".to_owned(),
            exit_code: Some(0),
            ..CommandOutput::default()
        })
    }

    fn hides_input(&self, _job: Option<&str>) -> bool {
        self.hides
    }

    async fn end_command(&mut self) -> Result<Option<CommandOutput>, DeviceError> {
        let mut log = self.log.lock().unwrap();
        if !log
            .last()
            .is_some_and(|record| record.starts_with("forever"))
        {
            return Ok(None);
        }
        log.push("end the command".to_owned());
        Ok(Some(CommandOutput {
            stdout: "so far\n".to_owned(),
            outcome: ShellOutcome::Cancelled,
            ..CommandOutput::default()
        }))
    }

    async fn restart(&mut self) -> Result<(), DeviceError> {
        self.log.lock().unwrap().push("restart".to_owned());
        Ok(())
    }

    fn cwd(&self) -> Option<String> {
        Some("/work".to_owned())
    }

    fn is_sandboxed(&self) -> bool {
        self.is_sandboxed
    }

    async fn close(self: Box<Self>) -> Result<(), DeviceError> {
        self.log.lock().unwrap().push("close".to_owned());
        Ok(())
    }
}

/// A user who gives the same decision on every question and records the questions.
#[derive(Clone, Default)]
pub(crate) struct FakeApprover {
    pub(crate) approving: bool,
    pub(crate) questions: Arc<Mutex<Vec<Question>>>,
}

impl Approver for FakeApprover {
    async fn decide(&mut self, question: &Question) -> Answer {
        self.questions.lock().unwrap().push(question.clone());
        Answer::from(if self.approving {
            question.approve()
        } else {
            Decision::Deny {
                reason: "I would rather not.".to_owned(),
            }
        })
    }
}

/// Allows everything that rules can allow.
pub(crate) fn open_policy() -> Policy {
    let text = "
        [[computer]]
        verdict = 'allow'
        reason = 'Test.'
        [[url]]
        verdict = 'allow'
        reason = 'Test.'
        [[shell]]
        verdict = 'sandbox'
        reason = 'Test.'
    ";
    Policy::from_toml(text, "test").unwrap()
}

pub(crate) fn desktop(policy: Policy) -> (SessionBuilder, Log) {
    let log = Log::default();
    (
        Session::builder(policy).desktop(Box::new(FakeScreen::new(&log))),
        log,
    )
}

pub(crate) fn shell(policy: Policy) -> (SessionBuilder, Log) {
    let (log, trust) = (Log::default(), ContentTrust::default());
    let shell = FakeShell {
        log: Arc::clone(&log),
        is_sandboxed: true,
        hides: false,
        trust: trust.clone(),
    };
    let builder = Session::builder(policy).shell(Box::new(shell));
    (builder.trust(trust), log)
}

pub(crate) fn call(id: &str, actions: &[Value]) -> ComputerCall {
    let read = |action: &Value| serde_json::from_value(action.clone()).unwrap();
    ComputerCall::new(id, actions.iter().map(read).collect())
}

pub(crate) fn click(x: u32, y: u32) -> Value {
    json!({ "action": "click", "coordinate": [x, y] })
}

pub(crate) fn action_json(action: &str) -> Value {
    json!({ "action": action })
}

pub(crate) fn commands(id: &str, lines: &[&str]) -> ShellCall {
    let lines = lines.iter().map(|line| Command::Line((*line).to_owned()));
    ShellCall::execute(id, lines.collect())
}

pub(crate) async fn carry_out(session: &mut Session, contents: Vec<Content>) -> AnsweredTurn {
    session
        .execute(ModelTurn::new(contents).unwrap())
        .await
        .unwrap()
}

pub(crate) async fn on_screen(session: &mut Session, call: ComputerCall) -> ComputerResult {
    let turn = carry_out(session, vec![Content::ComputerCall(call)]).await;
    let [ToolResult::Computer(result)] = turn.results() else {
        panic!("not one result")
    };
    result.clone()
}

pub(crate) async fn in_shell(session: &mut Session, call: ShellCall) -> ShellResult {
    let turn = carry_out(session, vec![Content::ShellCall(call)]).await;
    let [ToolResult::Shell(result)] = turn.results() else {
        panic!("not one result")
    };
    result.clone()
}
