//! Flags as they are typed. Values of optional flags need `=`.

mod browser;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use telechir_browser::ProfileId;
use telechir_egress::Upstream;
use telechir_protocol::{Chord, Size};
use telechir_providers::Dialect;
use telechir_runtime::{Format, Limits};
use telechir_shell::Docker;
use telechir_x11::{Corner, KillSwitch, Typing};

pub(crate) use browser::BrowserArguments;

use crate::service::SERVICES;
use crate::session_host::Name;

/// Gives any model a computer, and you control over what it does there.
#[derive(Debug, Parser)]
#[command(name = "telechir", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Say more on standard error; twice for debugging. Typed text and pictures never appear
    /// above debug.
    #[arg(long, short, action = clap::ArgAction::Count, global = true)]
    pub(crate) verbose: u8,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Let a model do a task, step by step, on the devices you give it.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Carry out the calls of one provider response; print the provider's reply items.
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArguments),
    /// List or close the sessions that `exec --session` started.
    #[command(
        subcommand,
        after_help = "Examples:\n  telechir sessions list\n  telechir sessions close work"
    )]
    Sessions(SessionsCommand),
    /// Make, list or delete profiles of browsers: what pages stored, under a name.
    #[command(
        subcommand,
        after_help = "Examples:\n  telechir profiles create shop\n  telechir exec --dialect anthropic-messages --browser=https://shop.example --profile shop < response.json\n  telechir profiles list"
    )]
    Profiles(ProfilesCommand),
    /// Hold a session: what `exec --session` starts.
    #[command(hide = true)]
    SessionHost(SessionHostArguments),
    /// Read a response or a history; print neutral contents and the fidelity report.
    #[command(
        after_help = "Examples:\n  telechir decode --dialect openai-responses < response.json\n  curl -sN … | telechir decode --dialect openai-responses --stream"
    )]
    Decode(DecodeArguments),
    /// Write neutral contents in a dialect; the fidelity report goes to standard error.
    #[command(
        after_help = "Example:\n  telechir decode --dialect openai-responses < history.json \\\n    | telechir encode --dialect anthropic-messages"
    )]
    Encode(EncodeArguments),
    /// Translate a history from one dialect to another; losses go to standard error as JSON lines.
    #[command(
        after_help = "Example:\n  telechir translate --from openai-responses --to anthropic-messages --strict < history.json"
    )]
    Translate(TranslateArguments),
    /// Check a folder of documents: are they read, written, and the same again?
    #[command(after_help = CONFORM_EXAMPLES)]
    Conform(ConformArguments),
    /// Print the tool definitions and headers to send to a model.
    #[command(
        after_help = "Example:\n  telechir tools --dialect anthropic-messages --model claude-sonnet-4-5 --display 1280x800 --shell"
    )]
    Tools(ToolsArguments),
    /// Make one HTML page of a recording: pictures, calls, verdicts, answers.
    #[command(after_help = "Example:\n  telechir report recording --out report.html")]
    Report(ReportArguments),
    /// Say what works on this machine, what is missing, and the command that installs it.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArguments),
    /// Check a recording: name the first edited, missing or reordered event.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Check a policy file and its examples.
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Clean up after a session; started by it.
    #[command(hide = true)]
    Guardian,
}

const RUN_EXAMPLES: &str = "\
Examples:
  telechir run \"Write hello into a new note\" --provider anthropic --model claude-opus-5-5 --desktop
  telechir run \"Which news is on top?\" --provider openai --model gpt-5.6-sol --browser=https://example.com
  telechir run \"Count the lines of code here\" --provider anthropic --model claude-opus-5-5 --shell --workspace .

  telechir run \"What is in this folder?\" --provider functions --base-url http://127.0.0.1:8000/v1 --model local --shell

The key comes from ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY,
AWS_BEARER_TOKEN_BEDROCK (with AWS_REGION), MISTRAL_API_KEY or FUNCTIONS_API_KEY, the address from
--base-url or from ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL,
AWS_ENDPOINT_URL_BEDROCK_RUNTIME, MISTRAL_BASE_URL or FUNCTIONS_BASE_URL. The provider functions is
any server that speaks chat completions.";

const EXEC_EXAMPLES: &str = "\
Examples:
  telechir exec --dialect anthropic-messages --desktop < response.json
  telechir exec --dialect openai-responses --browser=https://example.com --shell < response.json
  telechir exec --dialect anthropic-messages --session work --desktop --shell < response.json
  telechir exec --dialect anthropic-messages --session work < next-response.json

Questions are asked on the terminal, never on standard input; with nobody to ask the answer is no.
Exit code 0: all calls were answered (an error is an answer too); 1: failed; 2: usage; 3: a loss in
strict mode.";

const CONFORM_EXAMPLES: &str = "\
Examples:
  telechir conform crates/telechir-providers/tests/vectors/openai
  telechir conform my-vectors --dialect functions --json

The folder has a manifest.json that lists its documents, or files named KIND__NAME.json; the format
is in docs/conform.md. Exit code 0: every document is as it should be; 1: one is not; 2: usage.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  telechir doctor
  telechir doctor --json | jq -r .install

Every part is started and used as exec does it, and ended again. Exit code 0: a desktop, a browser
and a shell can be had; 1: one of them cannot; 2: usage.";

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Try to record in this folder; without it, in the one for temporary files.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct DeviceArguments {
    /// Give a desktop: a private one, or with =DISPLAY (such as =:0) one that exists.
    #[arg(long, value_name = "DISPLAY", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) desktop: Option<String>,
    /// Give a browser, with =URL opened at this address.
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) browser: Option<String>,
    /// Run the browser without a window: denser, and a little less like a person's.
    #[arg(long, requires = "browser")]
    pub(crate) headless: bool,
    /// Keep what pages let the browser download, in the folder `downloads` of the workspace;
    /// without it downloads are refused.
    #[arg(long, requires = "browser")]
    pub(crate) downloads: bool,
    /// Where the browser searches, with {query} where the words go.
    #[arg(long, value_name = "URL", requires = "browser", value_parser = search_page)]
    pub(crate) search: Option<String>,
    /// Give a shell in a sandbox; with =docker, =podman or =podman:IMAGE one in a container, with
    /// =host one on this machine, unconfined.
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "sandbox", value_parser = shell_place)]
    pub(crate) shell: Option<String>,
    /// Seconds that a command may take when the model names no time; 30 unless given.
    #[arg(long, value_name = "SECONDS", requires = "shell", value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub(crate) command_timeout: Option<u64>,
    /// Bytes of a command's output that a result holds at most, however much the model asks for;
    /// 65536 unless given.
    #[arg(long, value_name = "BYTES", requires = "shell", value_parser = clap::value_parser!(u32).range(1024..=16_777_216))]
    pub(crate) max_output_bytes: Option<u32>,
    /// Reach the network through this proxy, such as http://10.0.0.1:3128, behind our own
    /// that judges: it is asked for addresses that the policy let through, and for nothing else.
    #[arg(long, value_name = "URL", conflicts_with = "cdp")]
    pub(crate) proxy: Option<Upstream>,
    /// Give an editor of the files in the workspace: apply_patch and text editors.
    #[arg(long)]
    pub(crate) editor: bool,
    /// Give the editor a memory too, in this folder, which lasts.
    #[arg(long, value_name = "DIR", requires = "editor")]
    pub(crate) memory_dir: Option<PathBuf>,
    /// Pixels of the private desktop and browser; 1280x800 unless given.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    pub(crate) display: Option<Size>,
    /// Show the model this monitor of the desktop alone, by its name (as xrandr has it) or number.
    #[arg(long, value_name = "MONITOR", requires = "desktop")]
    pub(crate) monitor: Option<String>,
    /// Pictures at most so wide; a larger screen is scaled down, and the model's places with it.
    /// 1280 unless given; with native, as wide as dialect and model take without shrinking.
    #[arg(long, value_name = "PIXELS", value_parser = screenshot_width)]
    pub(crate) screenshot_width: Option<ScreenshotWidth>,
    /// How pictures are encoded: png (fastest), small-png (half the bytes of a plain desktop),
    /// webp (exact, too) or jpeg.
    #[arg(long, value_name = "FORMAT", value_parser = screenshot_format)]
    pub(crate) screenshot_format: Option<Format>,
    /// The folder that shell, editor and desktop share; a fresh private one unless given.
    #[arg(long, value_name = "DIR")]
    pub(crate) workspace: Option<PathBuf>,
    /// Start this program on the private desktop; may be given more than once.
    #[arg(long, value_name = "PROGRAM", requires = "desktop")]
    pub(crate) start_app: Vec<String>,
    /// Enter long or foreign text on the desktop by pasting it; the clipboard then holds again
    /// what it held.
    #[arg(long, requires = "desktop")]
    pub(crate) type_by_paste: bool,
    /// When the private desktop's X server ends, start a fresh one in its place. The call it
    /// happened to fails and says so.
    #[arg(long, requires = "desktop")]
    pub(crate) restart_desktop: bool,
    /// Stop the session when a person moves the pointer into this corner of the desktop.
    #[arg(long, value_name = "CORNER", requires = "desktop", value_parser = CORNERS.map(|(name, _)| name))]
    pub(crate) stop_corner: Option<String>,
    /// Stop the session when this key is pressed on the desktop, such as ctrl+alt+Escape.
    #[arg(long, value_name = "CHORD", requires = "desktop", value_parser = chord)]
    pub(crate) stop_key: Option<Chord>,
    /// Draw numbers on what can be acted on in each picture, at most so many (99), and say what
    /// they are: a model aims at {"label": 7} instead of a place.
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "99")]
    pub(crate) marks: Option<usize>,
    /// Start Chromium without its own sandbox. Weakens the isolation; said in the log.
    #[arg(long, requires = "browser")]
    pub(crate) no_sandbox: bool,
    #[command(flatten)]
    pub(crate) page: BrowserArguments,
}

impl DeviceArguments {
    /// Pixels of the private desktop and browser.
    pub(crate) fn screen_size(&self) -> Size {
        self.display.unwrap_or(Size::new(1280, 800))
    }

    /// A person's way to stop the session; none when none is wanted.
    pub(crate) fn kill_switch(&self) -> Option<KillSwitch> {
        let named = self.stop_corner.as_deref();
        let corner = CORNERS.iter().find(|(name, _)| Some(*name) == named);
        let switch = KillSwitch {
            corner: corner.map(|(_, corner)| *corner),
            key: self.stop_key.clone(),
        };
        (switch != KillSwitch::default()).then_some(switch)
    }

    /// Where waits and sizes end.
    pub(crate) fn limits(&self) -> Limits {
        let mut limits = Limits::default();
        if let Some(seconds) = self.command_timeout {
            limits.command = Duration::from_secs(seconds);
            limits.command_at_most = limits.command_at_most.max(limits.command);
        }
        if let Some(bytes) = self
            .max_output_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
        {
            limits.output_bytes = bytes;
        }
        limits
    }

    /// How text is entered on the desktop.
    pub(crate) fn typing(&self) -> Typing {
        if self.type_by_paste {
            Typing::Paste
        } else {
            Typing::Keys
        }
    }

    /// Whether any device was asked for.
    pub(crate) fn is_empty(&self) -> bool {
        self.desktop.is_none() && self.browser.is_none() && self.shell.is_none() && !self.editor
    }

    /// The address that the browser is to open before the model's first turn.
    pub(crate) fn opening_page(&self) -> Option<&str> {
        self.browser.as_deref().filter(|url| !url.is_empty())
    }
}

fn search_page(url: &str) -> Result<String, String> {
    let is_one = url.contains("{query}") && url.starts_with("http");
    let whole = || "no address such as https://duckduckgo.com/?q={query}".to_owned();
    is_one.then(|| url.to_owned()).ok_or_else(whole)
}

/// Corners of the screen by name.
const CORNERS: [(&str, Corner); 4] = [
    ("top-left", Corner::TopLeft),
    ("top-right", Corner::TopRight),
    ("bottom-left", Corner::BottomLeft),
    ("bottom-right", Corner::BottomRight),
];

fn chord(text: &str) -> Result<Chord, String> {
    Chord::parse(text).ok_or_else(|| "no keys such as ctrl+alt+Escape".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct SafetyArguments {
    /// The policy that judges every call; without it the default policy does.
    #[arg(long, value_name = "FILE")]
    pub(crate) policy: Option<PathBuf>,
    /// Keep the recording (journal and pictures) in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// A name for this run in the recording. A response sent again under the same name is
    /// answered from the recording as far as it was carried out: nothing happens twice.
    #[arg(long, value_name = "NAME", requires = "record")]
    pub(crate) run: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// What to do, in words.
    pub(crate) task: String,
    /// Whose API.
    #[arg(long, value_parser = SERVICES.map(|service| service.name))]
    pub(crate) provider: String,
    /// What to speak with it, when it speaks several dialects.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Option<Dialect>,
    /// The model's name.
    #[arg(long)]
    pub(crate) model: String,
    /// The API's address, for gateways and local servers.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// End after so many turns of the model.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: u32,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArguments {
    /// The dialect of the response.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// Fail with exit code 3 when an answer cannot be said in the dialect without loss.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Carry it out in a session that lasts: desktop, browser and shell are there in the next call
    /// as this one leaves them. The first call starts it with its device flags.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<Name>,
    /// Close the session when no call came for so long; 900 unless given.
    #[arg(long, value_name = "SECONDS", requires = "session", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) idle_timeout: Option<u64>,
    /// Wait at most so long while the session carries out other calls.
    #[arg(long, value_name = "SECONDS", requires = "session", default_value_t = 600, value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    pub(crate) queue_timeout: u64,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List the sessions: name, state, process, age, idle time, devices.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Close a session and wait until every process of it is gone.
    Close {
        /// Its name.
        name: Name,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// List the profiles: name, size, when a browser had it last, who has it now.
    List {
        /// As JSON.
        #[arg(long)]
        json: bool,
    },
    /// Make an empty profile.
    Create {
        /// Its name.
        id: ProfileId,
    },
    /// Delete a profile with all that pages stored in it.
    Delete {
        /// Its name.
        id: ProfileId,
    },
}

/// What `exec --session` starts a holder with.
#[derive(Debug, Args)]
pub(crate) struct SessionHostArguments {
    /// The session's name.
    pub(crate) name: Name,
    /// Close the session when no call came for so long.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_timeout: u64,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArguments {
    /// The dialect of the input.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// The input is one response as it arrives in pieces: print a line for each delta as it
    /// comes, at the end what all of it means.
    #[arg(long)]
    pub(crate) stream: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EncodeArguments {
    /// The dialect to write.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// Fail with exit code 3 on a loss.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TranslateArguments {
    /// The dialect of the input.
    #[arg(long, value_parser = dialects())]
    pub(crate) from: Dialect,
    /// The dialect to write.
    #[arg(long, value_parser = dialects())]
    pub(crate) to: Dialect,
    /// Fail with exit code 3 on a loss; nothing is printed then.
    #[arg(long)]
    pub(crate) strict: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConformArguments {
    /// The folder.
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// The dialect of documents for which neither manifest nor kind names one.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Option<Dialect>,
    /// Print JSON instead of a table.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// The dialect to declare in.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// The model; it decides between versions of a tool. The newest versions without it.
    #[arg(long)]
    pub(crate) model: Option<String>,
    /// The screen's pixels, which some versions demand.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    pub(crate) display: Option<Size>,
    /// What kind of screen: browser, linux, mac, windows, mobile; linux unless given.
    #[arg(long)]
    pub(crate) environment: Option<String>,
    /// Declare no screen: the shell, the editor, the memory alone.
    #[arg(long, conflicts_with_all = ["display", "environment", "desktop_tool", "page_tool", "exclude"])]
    pub(crate) no_computer: bool,
    /// Declare a shell too.
    #[arg(long)]
    pub(crate) shell: bool,
    /// Declare what a desktop does beside mouse and keys: windows, clipboard, applications.
    #[arg(long)]
    pub(crate) desktop_tool: bool,
    /// Declare pages by refs: the function execute_browser, with which a model reads pages and
    /// uses their elements without a picture.
    #[arg(long)]
    pub(crate) page_tool: bool,
    /// Declare an editor of files too.
    #[arg(long)]
    pub(crate) editor: bool,
    /// Declare a memory too.
    #[arg(long)]
    pub(crate) memory: bool,
    /// Actions the model must not use, by their neutral names.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The folder that --record named.
    pub(crate) recording: PathBuf,
    /// The page to write.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Follow the chain of hashes through a recording.
    Verify {
        /// The folder that --record named.
        recording: PathBuf,
        /// The hash that an earlier check printed: fails when the recording does not hold it, as
        /// when its end was cut off.
        #[arg(long, value_name = "HASH")]
        head: Option<String>,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Read a policy file and check the examples inside it.
    Check {
        /// The file.
        file: PathBuf,
    },
}

/// A dialect by its name; help lists them all.
fn dialects() -> impl TypedValueParser<Value = Dialect> {
    PossibleValuesParser::new(Dialect::ALL.map(Dialect::name))
        .try_map(|name| name.parse::<Dialect>())
}

/// Where a shell is: `sandbox`, `host`, or an engine with the name of an image or without.
fn shell_place(text: &str) -> Result<String, String> {
    let is_known = matches!(text, "sandbox" | "host")
        || container(text).is_some_and(|(_, image)| !image.is_empty() && !image.starts_with('-'));
    if is_known {
        Ok(text.to_owned())
    } else {
        Err(format!(
            "`{text}` is no place for a shell: write sandbox, host, docker, docker:IMAGE, podman or podman:IMAGE"
        ))
    }
}

/// The engine and the image of a shell's place, when that is a container.
pub(crate) fn container(place: &str) -> Option<(&str, &str)> {
    let (engine, image) = place.split_once(':').unwrap_or((place, Docker::IMAGE));
    matches!(engine, "docker" | "podman").then_some((engine, image))
}

/// `1280x800` as a size. Chromium and X servers refuse less than this minimum or more.
/// How wide pictures are at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenshotWidth {
    /// As wide as the screen and the model allow.
    Native,
    /// So many pixels.
    Pixels(u32),
}

impl fmt::Display for ScreenshotWidth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Native => f.write_str("native"),
            Self::Pixels(pixels) => pixels.fmt(f),
        }
    }
}

fn screenshot_width(text: &str) -> Result<ScreenshotWidth, String> {
    if text == "native" {
        return Ok(ScreenshotWidth::Native);
    }
    let pixels = text
        .parse()
        .ok()
        .filter(|pixels| (64..=7680).contains(pixels));
    pixels
        .map(ScreenshotWidth::Pixels)
        .ok_or_else(|| "give `native` or a number of pixels from 64 to 7680".to_owned())
}

fn screenshot_format(text: &str) -> Result<Format, String> {
    Format::named(text).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        format!("`{text}` is no format of pictures; there are {names}")
    })
}

fn size(text: &str) -> Result<Size, String> {
    let problem = || {
        format!(
            "`{text}` is not a size: write WIDTHxHEIGHT, from 64x64 to 7680x4320, such as 1280x800"
        )
    };
    let (width, height) = text.split_once('x').ok_or_else(problem)?;
    let number = |text: &str| text.parse::<u32>().map_err(|_| problem());
    let (width, height) = (number(width)?, number(height)?);
    let fits = (64..=7680).contains(&width) && (64..=4320).contains(&height);
    if fits {
        Ok(Size::new(width, height))
    } else {
        Err(problem())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_has_four_places() {
        for place in [
            "sandbox",
            "host",
            "docker",
            "docker:debian:12",
            "podman:localhost/mine",
        ] {
            assert_eq!(shell_place(place).as_deref(), Ok(place));
        }
        for other in ["", "none", "docker:", "docker:--privileged", "lxc:debian"] {
            assert!(shell_place(other).is_err(), "{other}");
        }
        assert_eq!(container("docker:debian:12"), Some(("docker", "debian:12")));
        assert_eq!(container("podman"), Some(("podman", Docker::IMAGE)));
        assert_eq!(container("host"), None);
    }

    #[test]
    fn a_size_is_two_numbers_within_bounds() {
        assert_eq!(size("1280x800"), Ok(Size::new(1280, 800)));
        for wrong in ["1280", "x", "0x0", "-1x5", "9999x9999", "1280x800x2"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_flags_fit_together() {
        use clap::CommandFactory;
        Arguments::command().debug_assert();
    }
}
