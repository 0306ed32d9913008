//! The arguments of a tool, executed by a [`Computer`].

use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use telechir_protocol::{Action, Content, Point, Region, Space, Target};
use telechir_providers::{Dialect, google_function_action};

use crate::arguments::ArgumentError;
use crate::catalog::{Capabilities, ToolCatalog, ToolSelection};
use crate::computer::{Capture, Computer, ComputerError, ScreenshotRetry};
use crate::plan::pixels;
use crate::request::{SessionVerb, ToolRequest};

/// What came of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Handled {
    /// What was done, in one line.
    pub text: String,
    /// The screen afterwards; none for calls of the session.
    pub capture: Option<Capture>,
    /// The session after a call of the session, as members; else empty.
    pub status: Map<String, Value>,
}

/// Why a call was not executed, or failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandleError {
    /// The arguments are wrong; nothing was executed.
    Arguments(ArgumentError),
    /// The arguments are valid, and the computer could not execute the call.
    Computer(ComputerError),
}

impl fmt::Display for HandleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arguments(error) => error.fmt(f),
            Self::Computer(error) => write!(f, "failed to {error}"),
        }
    }
}

impl std::error::Error for HandleError {}

impl From<ArgumentError> for HandleError {
    fn from(error: ArgumentError) -> Self {
        Self::Arguments(error)
    }
}

impl From<ComputerError> for HandleError {
    fn from(error: ComputerError) -> Self {
        Self::Computer(error)
    }
}

/// Executes a call of `computer_use`: the arguments of its definition, and those of Anthropic's
/// computer tool. A missing screenshot is tried again.
///
/// # Errors
/// For wrong arguments, each named by its JSON pointer, for `navigate`, which belongs to
/// [`handle_session_action`], and when the computer fails.
pub fn handle_computer_action(
    computer: &mut dyn Computer,
    arguments: &Map<String, Value>,
    retry: ScreenshotRetry,
) -> Result<Handled, HandleError> {
    let action = computer_action(arguments)?;
    let name = arguments.get("action").and_then(Value::as_str);
    execute(computer, &action, name.unwrap_or_default(), retry)
}

/// The action that the arguments of `computer_use` mean.
///
/// # Errors
/// For the first wrong argument.
///
/// ```
/// use telechir_protocol::{Action, Button};
/// use telechir_tools::computer_action;
///
/// let arguments = serde_json::json!({"action": "right_click", "coordinate": "[10.4, 20]"});
/// let action = computer_action(arguments.as_object().expect("an object"))?;
/// assert!(matches!(action, Action::Click { button: Button::Right, .. }));
///
/// let wrong = serde_json::json!({"action": "click", "coordinate": "10;20"});
/// let error = computer_action(wrong.as_object().expect("an object")).unwrap_err();
/// assert_eq!(error.pointer, "/coordinate");
/// # Ok::<(), telechir_tools::ArgumentError>(())
/// ```
pub fn computer_action(arguments: &Map<String, Value>) -> Result<Action, ArgumentError> {
    let catalog = catalog()?;
    if let ToolRequest::Call(Content::ComputerCall(mut call)) =
        catalog.read("computer_use", arguments)?
        && call.actions.len() == 1
    {
        return Ok(call.actions.remove(0));
    }
    Err(ArgumentError::of_call("expected one action"))
}

/// Whether a function is one of Gemini's predefined functions for computer use, of either
/// generation, or a name that its models use for one.
///
/// ```
/// assert!(telechir_tools::is_gemini_computer_action("type_text_at"));
/// assert!(telechir_tools::is_gemini_computer_action("take_screenshot"));
/// assert!(!telechir_tools::is_gemini_computer_action("get_weather"));
/// ```
pub fn is_gemini_computer_action(name: &str) -> bool {
    google_function_action(name, &Map::new()).is_some()
}

/// Executes one of Gemini's predefined functions. Its coordinates are thousandths of the screen; text
/// is cleared first and sent with Enter unless the arguments say otherwise. Arguments may be texts.
///
/// # Errors
/// For a name of no predefined function, for wrong arguments, and when the computer fails.
pub fn handle_gemini_computer_action(
    computer: &mut dyn Computer,
    name: &str,
    arguments: &Map<String, Value>,
    retry: ScreenshotRetry,
) -> Result<Handled, HandleError> {
    let arguments: Map<String, Value> = arguments
        .iter()
        .map(|(name, value)| (name.clone(), parsed(name, value)))
        .collect();
    let action = google_function_action(name, &arguments).ok_or_else(|| {
        let google = Dialect::GoogleGenerateContent.name();
        ArgumentError::of_call(format!("{name} is no predefined function of {google}"))
    })?;
    let action = action.map_err(|problem| ArgumentError::of_call(format!("{name}: {problem}")))?;
    let screen = computer.display_size();
    let to_pixels = |point: Point| {
        let (x, y) = pixels(point, screen);
        #[expect(clippy::cast_precision_loss, reason = "pixels of a screen")]
        Point::new(x as f64, y as f64)
    };
    let mut target = |target: Target| {
        Ok::<_, HandleError>(match target {
            Target::Point(point) if point.space == Space::Thousandths => {
                Target::Point(to_pixels(point))
            }
            other @ (Target::Point(_)
            | Target::Label { .. }
            | Target::Ref { .. }
            | Target::Named(_)) => other,
        })
    };
    let mut region = |region: Region| {
        Ok(Region {
            from: to_pixels(region.from),
            to: to_pixels(region.to),
        })
    };
    let action = action.try_map(&mut target, &mut region)?;
    execute(computer, &action, name, retry)
}

/// Executes a call of `browser_session`: `open`, `status`, `resume`, `extend` or `close`.
///
/// # Errors
/// For wrong arguments, and when the computer does not support the verb or fails.
pub fn handle_session_action(
    computer: &mut dyn Computer,
    arguments: &Map<String, Value>,
) -> Result<Handled, HandleError> {
    let catalog = catalog()?;
    let ToolRequest::Session(verb) = catalog.read("browser_session", arguments)? else {
        return Err(ArgumentError::of_call("expected a verb of the session").into());
    };
    let text = match verb {
        SessionVerb::Open(options, _page) => {
            computer.open_session(&options)?;
            match (&options.session_id, &options.context_id) {
                (Some(session), _) => format!("Attached to the session {session}."),
                (None, Some(context)) if options.persist == Some(false) => {
                    format!("Opened with the page data {context}, read-only.")
                }
                (None, Some(context)) => format!("Opened with the page data {context}."),
                (None, None) => "Opened without persistent page data.".to_owned(),
            }
        }
        SessionVerb::Status => "The session.".to_owned(),
        SessionVerb::Resume { session_id } => {
            computer.resume(&session_id)?;
            format!("Resumed the session {session_id}.")
        }
        SessionVerb::Extend { seconds } => {
            computer.extend_timeout(seconds)?;
            format!("Extended by {seconds} seconds.")
        }
        SessionVerb::Close => {
            computer.close()?;
            return Ok(Handled {
                text: "Closed.".to_owned(),
                capture: None,
                status: Map::new(),
            });
        }
    };
    Ok(Handled {
        text,
        capture: None,
        status: status(computer),
    })
}

/// The session as members: its display, and what it has of the rest.
fn status(computer: &dyn Computer) -> Map<String, Value> {
    let size = computer.display_size();
    let mut members = Map::new();
    let display = json!({"width": size.width, "height": size.height});
    members.insert("display".to_owned(), display);
    if let Some(info) = computer.session_info() {
        members.insert("type".to_owned(), info.session_type.into());
        let id = info
            .session_id
            .map(|id| ("session_id".to_owned(), id.into()));
        members.extend(id);
        let url = info.current_url.map(|url| ("url".to_owned(), url.into()));
        members.extend(url);
    }
    let context = computer.context_id();
    members.extend(context.map(|id| ("context_id".to_owned(), id.into())));
    members
}

fn execute(
    computer: &mut dyn Computer,
    action: &Action,
    name: &str,
    retry: ScreenshotRetry,
) -> Result<Handled, HandleError> {
    let started = Instant::now();
    let mut capture = if *action == Action::Screenshot {
        computer.screenshot()
    } else {
        computer.execute(action)
    };
    for _ in 0..retry.attempts {
        match &capture {
            Err(error) if error.is_screenshot() => {
                pause(retry.pause);
                capture = computer.screenshot();
            }
            Ok(_) | Err(_) => break,
        }
    }
    let capture = capture?;
    let text = format!(
        "{name}: done, a screenshot of {} bytes after {} ms",
        capture.image.len(),
        started.elapsed().as_millis()
    );
    Ok(Handled {
        text,
        capture: Some(capture),
        status: Map::new(),
    })
}

/// Blocks this thread for so long; another one may unpark it meanwhile.
fn pause(time: Duration) {
    let end = Instant::now() + time;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        thread::park_timeout(left);
    }
}

/// The tools whose calls are handled here.
fn catalog() -> Result<ToolCatalog, ArgumentError> {
    let has = Capabilities {
        browser: true,
        ..Capabilities::default()
    };
    let selection = ToolSelection {
        only: vec!["computer_use".to_owned(), "browser_session".to_owned()],
        ..ToolSelection::default()
    };
    ToolCatalog::new(has, &selection).map_err(ArgumentError::of_call)
}

/// A number or flag that was written as text. Texts that are typed stay texts.
fn parsed(name: &str, value: &Value) -> Value {
    let is_text = matches!(name, "text" | "keys" | "key" | "url" | "direction");
    match value {
        Value::String(text) if !is_text => match serde_json::from_str(text.trim()) {
            Ok(parsed @ (Value::Number(_) | Value::Bool(_))) => parsed,
            Ok(_) | Err(_) => value.clone(),
        },
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => value.clone(),
    }
}
