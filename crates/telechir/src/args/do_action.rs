//! Arguments of `do`: one action, its targets and its session.

use clap::{Args, Subcommand, ValueEnum};
use telechir_host::SessionName;
use telechir_protocol::{Button, Chord, Modifier};

use super::{DeviceArguments, SafetyArguments, chord};

pub(super) const EXAMPLES: &str = "\
Examples:
  telechir do --desktop app mousepad
  telechir do click \"File\"
  telechir do type \"Dear Ada,\"
  telechir do key ctrl+s
  telechir do screenshot > a.png
  telechir do --session web --browser=https://example.com --headless read
  telechir do --session web click @l3
  telechir do --session build --shell sh 'make test'
  telechir do close

TARGET is the name of an element (\"Save\"), its ref (b12 or @b12) as `read` and
`find` list it, or a point of the last screenshot (640,400). A name that several
elements have is an error that lists them.

Exit code 0: done; 1: failed or denied; 2: usage. `sh` exits with the code of
the command.";

#[derive(Debug, Args)]
#[command(arg_required_else_help = false)]
pub(crate) struct DoArguments {
    #[command(flatten)]
    pub(crate) call: DoCall,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
    #[command(subcommand)]
    pub(crate) action: DoAction,
}

/// Where the action is done, and how its result is printed.
#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub(crate) struct DoCall {
    /// The session; the first call with device flags starts it [default: default].
    #[arg(long, value_name = "NAME", global = true)]
    pub(crate) session: Option<SessionName>,
    /// The screen, if the session has a desktop and a browser [default: desktop; browser for pages].
    #[arg(long, value_name = "SCREEN", global = true)]
    pub(crate) on: Option<DoScreen>,
    /// Print the complete result as JSON in the neutral form.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Close the session after SECONDS without a call [default: 900].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) idle_timeout: Option<u64>,
    /// Wait at most SECONDS while the session executes other calls.
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    pub(crate) queue_timeout: u64,
    /// Without a terminal: wait up to SECONDS for an answer by `telechir approve`.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    pub(crate) approval_wait: u64,
}

/// A screen of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DoScreen {
    /// The desktop.
    Desktop,
    /// The browser.
    Browser,
}

impl DoScreen {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Desktop => "desktop",
            Self::Browser => "browser",
        }
    }
}

/// What is done. The names are those of agent-browser where it has the action.
#[derive(Debug, Subcommand)]
#[command(subcommand_value_name = "ACTION", subcommand_help_heading = "Actions")]
pub(crate) enum DoAction {
    /// Click an element or a point.
    Click(ClickArguments),
    /// Click twice.
    #[command(visible_alias = "dblclick")]
    DoubleClick(TargetArguments),
    /// Click with the right button.
    RightClick(TargetArguments),
    /// Move the pointer over an element or a point.
    #[command(visible_alias = "move")]
    Hover(TargetArguments),
    /// Type text into the focus, or into TARGET.
    Type {
        /// The text; the element, if another TEXT follows. A text that is a flag follows --.
        #[arg(value_name = "TEXT or TARGET", allow_hyphen_values = true)]
        first: String,
        /// The text for TARGET.
        #[arg(value_name = "TEXT", allow_hyphen_values = true)]
        second: Option<String>,
        /// Press Enter at the end.
        #[arg(long)]
        submit: bool,
        /// Remove what is there first.
        #[arg(long)]
        clear: bool,
    },
    /// Set the value of a field, a choice or a checkbox.
    #[command(visible_alias = "select")]
    Fill {
        /// The element.
        target: String,
        /// The text or option; true or false for a checkbox.
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Check a checkbox.
    Check(TargetArguments),
    /// Uncheck a checkbox.
    Uncheck(TargetArguments),
    /// Press a key combination, such as ctrl+s or Enter.
    #[command(visible_alias = "press")]
    Key {
        /// The keys, joined by +.
        #[arg(value_parser = chord)]
        keys: Chord,
        /// Press it this often.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
        repeat: u32,
    },
    /// Turn the wheel.
    Scroll {
        /// The direction.
        #[arg(default_value = "down")]
        direction: ScrollDirection,
        /// Notches of the wheel, or pixels as in 300px.
        #[arg(default_value = "5", value_parser = scroll_distance)]
        distance: ScrollDistance,
        /// Over this element or point.
        #[arg(long, value_name = "TARGET")]
        at: Option<String>,
    },
    /// Drag one element or point onto another.
    Drag {
        /// Where the button is pressed.
        from: String,
        /// Where it is released.
        to: String,
    },
    /// Take a screenshot: to FILE, or to stdout for `> a.png`.
    Screenshot {
        /// The file to write.
        file: Option<std::path::PathBuf>,
        /// Only this element of a page.
        #[arg(long, value_name = "TARGET")]
        of: Option<String>,
    },
    /// Read the elements of the screen or page as text with refs.
    #[command(visible_alias = "snapshot")]
    Read {
        /// Only this element and what is in it.
        target: Option<String>,
        /// The view: interactive, all, hidden; of a page brief, interactive, full, changes, json.
        #[arg(long, value_name = "VIEW")]
        filter: Option<String>,
        /// Number of levels.
        #[arg(long, value_name = "N")]
        depth: Option<u32>,
        /// Only the window with this title or id.
        #[arg(long, value_name = "WINDOW", conflicts_with = "target")]
        window: Option<String>,
    },
    /// Read the main text of the page.
    Text,
    /// Find elements that match words.
    Find {
        /// The words.
        #[arg(required = true, num_args = 1..)]
        query: Vec<String>,
    },
    /// Open a page.
    #[command(visible_aliases = ["goto", "navigate"])]
    Open {
        /// The address.
        url: String,
    },
    /// Go back in the tab's history.
    Back,
    /// Go forward in the tab's history.
    Forward,
    /// Load the page again.
    Reload,
    /// List the tabs, or open, activate or close one.
    Tab {
        /// `new`, `close`, or the name of a tab.
        #[arg(value_name = "TAB")]
        verb: Option<String>,
        /// The address of a new tab, or the name of the tab to close.
        #[arg(value_name = "URL or TAB")]
        operand: Option<String>,
    },
    /// Wait some seconds (0.5, 500ms), or until the page has a text, an element or an address.
    Wait {
        /// Seconds, or the ref of an element.
        #[arg(value_name = "SECONDS or REF")]
        until: Option<String>,
        /// Until the page has this text.
        #[arg(long)]
        text: Option<String>,
        /// Until the address contains this.
        #[arg(long)]
        url: Option<String>,
        /// Until the page loads nothing.
        #[arg(long)]
        idle: bool,
        /// Until it is gone.
        #[arg(long)]
        gone: bool,
    },
    /// Run a script in the page.
    #[command(visible_alias = "eval")]
    Js {
        /// The script.
        #[arg(allow_hyphen_values = true)]
        script: String,
    },
    /// Answer the dialog of a page.
    Dialog {
        /// What is answered.
        answer: DialogChoice,
        /// The text of a prompt.
        text: Option<String>,
    },
    /// Choose files for a file control.
    Upload {
        /// The control.
        target: String,
        /// The files, as the session sees them.
        #[arg(required = true)]
        files: Vec<String>,
    },
    /// Save the page as a PDF file in the workspace.
    Pdf {
        /// The file, as the session sees it.
        path: Option<String>,
    },
    /// Print the page's console messages.
    Console,
    /// Print the page's network requests.
    Network,
    /// List the windows, or activate one.
    #[command(visible_alias = "windows")]
    Window {
        /// Id or title of the window.
        window: Option<String>,
    },
    /// Start an application.
    App {
        /// Its name or program.
        name: String,
    },
    /// Print the clipboard's text, or set it.
    Clipboard {
        /// The text to set.
        #[arg(allow_hyphen_values = true)]
        text: Option<String>,
    },
    /// Invoke an element's own action, such as press, toggle or expand.
    Invoke {
        /// The element.
        target: String,
        /// The action [default: its first].
        name: Option<String>,
    },
    /// Run a command in the shell; exits with its exit code.
    Sh {
        /// A line for bash, or a program and its arguments.
        #[arg(required = true, num_args = 1.., trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<String>,
    },
    /// Do any action of the neutral form, given as JSON.
    Action {
        /// Such as '{"action": "zoom", "region": [0, 0, 400, 300]}'.
        #[arg(value_name = "JSON")]
        members: String,
    },
    /// Close the session and end all of its programs.
    Close,
}

/// An element or a point.
#[derive(Debug, Args)]
pub(crate) struct TargetArguments {
    /// Name or ref of the element, or a point as X,Y.
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) named: NamedArguments,
}

/// What distinguishes elements of one name.
#[derive(Debug, Args, Default)]
pub(crate) struct NamedArguments {
    /// Role of the element, such as button.
    #[arg(long)]
    pub(crate) role: Option<String>,
    /// Title of the element's window.
    #[arg(long, value_name = "TITLE")]
    pub(crate) window: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ClickArguments {
    #[command(flatten)]
    pub(crate) at: TargetArguments,
    /// The button.
    #[arg(long, default_value = "left")]
    pub(crate) button: ClickButton,
    /// Keys to hold, such as ctrl,shift.
    #[arg(long, value_name = "KEYS", value_delimiter = ',', value_parser = modifier)]
    pub(crate) hold: Vec<Modifier>,
}

/// A button of the mouse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClickButton {
    Left,
    Middle,
    Right,
}

impl From<ClickButton> for Button {
    fn from(button: ClickButton) -> Self {
        match button {
            ClickButton::Left => Self::Left,
            ClickButton::Middle => Self::Middle,
            ClickButton::Right => Self::Right,
        }
    }
}

/// The direction of the wheel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScrollDirection {
    Up,
    Down,
    Left,
    Right,
}

/// How far the wheel turns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ScrollDistance {
    Notches(f64),
    Pixels(f64),
}

/// The answer to a dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialogChoice {
    /// OK, or leave the page.
    Accept,
    /// Cancel, or stay.
    Dismiss,
}

fn modifier(name: &str) -> Result<Modifier, String> {
    Modifier::parse(name).ok_or_else(|| "expected ctrl, alt, shift or super".to_owned())
}

fn scroll_distance(text: &str) -> Result<ScrollDistance, String> {
    let (number, of): (&str, fn(f64) -> ScrollDistance) = match text.strip_suffix("px") {
        Some(number) => (number, ScrollDistance::Pixels),
        None => (text, ScrollDistance::Notches),
    };
    let number = number.parse::<f64>().ok();
    let number = number.filter(|number| (0.0..=100_000.0).contains(number));
    number
        .map(of)
        .ok_or_else(|| "expected notches such as 5, or pixels such as 300px".to_owned())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::{CommandFactory as _, Parser as _};

    use super::*;
    use crate::args::{Cli, CliCommand};

    /// A line for every action whose flags may follow it: all but a command.
    const LINES: [&str; 36] = [
        "click Save",
        "double-click Save",
        "right-click 3,4",
        "hover Save",
        "type hello",
        "type Name hello",
        "fill Name Ada",
        "check Gift",
        "uncheck Gift",
        "key ctrl+s",
        "scroll down 5",
        "drag a b",
        "screenshot",
        "screenshot a.png",
        "read b1",
        "text",
        "find save button",
        "open https://a.example",
        "back",
        "forward",
        "reload",
        "tab new https://a.example",
        "wait 1",
        "js 1+1",
        "dialog accept yes",
        "upload b1 a b",
        "pdf a.pdf",
        "console",
        "network",
        "window Editor",
        "app mousepad",
        "clipboard",
        "clipboard text",
        "invoke b1 press",
        "action {}",
        "close",
    ];

    fn parsed(line: &str) -> DoArguments {
        let words = ["telechir", "do"].into_iter().chain(line.split(' '));
        match Cli::try_parse_from(words).map(|cli| cli.command) {
            Ok(CliCommand::Do(arguments)) => *arguments,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn flags_may_follow_every_action() {
        for line in LINES {
            let with_flags = parsed(&format!("{line} --json --session s --on desktop"));
            assert!(with_flags.call.json, "{line}");
            let session = with_flags.call.session.map(|name| name.to_string());
            assert_eq!(session.as_deref(), Some("s"), "{line}");
            assert_eq!(with_flags.call.on, Some(DoScreen::Desktop), "{line}");
            let action = format!("{:?}", with_flags.action);
            assert_eq!(action, format!("{:?}", parsed(line).action));
        }
        let command = Cli::command();
        let actions = command.find_subcommand("do").expect("the command");
        let all: BTreeSet<&str> = actions
            .get_subcommands()
            .map(|one| one.get_name())
            .collect();
        let first = |line: &'static str| line.split(' ').next().unwrap_or_default();
        let tried: BTreeSet<&str> = LINES.into_iter().map(first).chain(["sh"]).collect();
        assert_eq!(tried, all);
    }

    #[test]
    fn flags_of_an_action_are_not_its_values() {
        for (line, expected) in [
            ("click Save --button middle", "middle"),
            ("double-click Save --role button", "button"),
            ("check Gift --window Order", "Order"),
            ("key Enter --repeat 3", "3"),
            ("scroll up 300px --at b12", "b12"),
            ("screenshot a.png --of b12", "b12"),
            ("read b1 --filter full --depth 2", "full"),
            ("wait b12 --gone", "gone: true"),
        ] {
            let action = format!("{:?}", parsed(line).action).to_lowercase();
            assert!(
                action.contains(&expected.to_lowercase()),
                "{line}: {action}"
            );
            assert!(!action.contains("--"), "{line}: {action}");
        }
    }

    #[test]
    fn typed_text_and_flags_are_distinguished() {
        for (line, expected) in [
            ("type a --submit", ("a", None, true, false)),
            ("type --submit a", ("a", None, true, false)),
            (
                "type Name a --clear --submit",
                ("Name", Some("a"), true, true),
            ),
            ("type Name --clear a", ("Name", Some("a"), false, true)),
            ("type -5", ("-5", None, false, false)),
            ("type Name -5 --submit", ("Name", Some("-5"), true, false)),
            ("type -- --submit", ("--submit", None, false, false)),
            ("type --no-flag", ("--no-flag", None, false, false)),
        ] {
            let action = parsed(line).action;
            let DoAction::Type {
                first,
                second,
                submit,
                clear,
            } = action
            else {
                panic!("{line}: {action:?}");
            };
            assert_eq!(
                (&*first, second.as_deref(), submit, clear),
                expected,
                "{line}"
            );
        }
    }

    #[test]
    fn a_distance_has_notches_or_pixels() {
        assert_eq!(scroll_distance("5"), Ok(ScrollDistance::Notches(5.0)));
        assert_eq!(scroll_distance("300px"), Ok(ScrollDistance::Pixels(300.0)));
        for text in ["", "px", "-3", "5em", "inf", "NaN"] {
            assert!(scroll_distance(text).is_err(), "{text}");
        }
    }
}
