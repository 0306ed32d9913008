//! The command line: every flag with its help text. Values of optional flags need `=`.

mod approvals;
mod browser;
mod cdp;
mod conform;
mod do_action;
mod flag_text;
mod mcp;
mod parse;
mod policy;
mod recordings;
mod remote;
mod run;
mod serve;
mod serve_config;
mod sessions;
mod shell;
mod started;
mod tools;
mod translate;
mod values;
mod view;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use serde::{Deserialize, Serialize};
use telechir_browser::ProfileId;
use telechir_egress::Upstream;
use telechir_host::SessionName;
use telechir_protocol::{Chord, Size};
use telechir_providers::Dialect;
use telechir_runtime::{Format, SessionLimits};
use telechir_shell::ContainerRuntime;
use telechir_x11::{Corner, KillSwitch, Typing};

pub(crate) use approvals::{ApprovalsCommand, ApproveArguments, DenyArguments};
pub(crate) use browser::BrowserArguments;
pub(crate) use conform::ConformArguments;
pub(crate) use do_action::{
    ClickArguments, DialogChoice, DoAction, DoArguments, DoScreen, NamedArguments, ScrollDirection,
    ScrollDistance, TargetArguments,
};
pub(crate) use mcp::{McpArguments, McpCommand, McpFlags, McpInstallArguments, McpServerArguments};
pub(crate) use parse::parse;
pub(crate) use policy::{PolicyChoice, PolicyCommand, PolicyTestArguments, SubjectKind};
pub(crate) use recordings::{AuditCommand, PruneArguments, RecordingsCommand, ReportArguments};
pub(crate) use remote::{RemoteArguments, key_names, settings_of};
pub(crate) use run::ConversationArguments;
pub(crate) use serve::{
    ListenAddress, ServeArguments, ServeCommand, ServeFlags, TokensArguments, TokensCommand,
};
pub(crate) use serve_config::serve_flags;
pub(crate) use sessions::SessionsCommand;
use shell::shell_location;
pub(crate) use shell::{AT_AGENTCORE, container};
use started::LogArguments;
pub(crate) use tools::ToolsArguments;
pub(crate) use translate::TranslateArguments;
pub(crate) use values::{Monitors, chord};
use values::{dialects, model_name};
pub(crate) use view::ViewArguments;

use crate::service::SERVICES;

/// Gives any model a computer, and you control over its actions.
#[derive(Debug, Parser)]
#[command(name = "telechir", version, max_term_width = 80)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) log: LogArguments,

    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Run a task: call a model until the task is done, and execute its calls.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),
    /// Do one action in a session, such as a click or a command, without a provider's JSON.
    #[command(name = "do", after_help = do_action::EXAMPLES)]
    Do(Box<DoArguments>),
    /// Execute the calls of one provider response and print the provider's reply items.
    #[command(after_help = EXEC_EXAMPLES)]
    Exec(ExecArguments),
    /// Serve the Model Context Protocol on standard input and output: a computer as tools.
    #[command(after_help = mcp::EXAMPLES)]
    Mcp(McpArguments),
    /// Serve an HTTP API: sessions, calls, events and approvals for programs in any language.
    #[command(after_help = serve::EXAMPLES)]
    Serve(ServeArguments),
    /// Watch sessions and answer their questions in a browser: prints the address of the live page.
    #[command(after_help = view::EXAMPLES)]
    View(ViewArguments),
    /// Create, list or revoke the tokens of the HTTP API.
    #[command(after_help = serve::TOKEN_EXAMPLES)]
    Tokens(TokensArguments),
    /// List or close the sessions started by `exec --session`.
    #[command(
        subcommand,
        after_help = "Examples:\n  telechir sessions list\n  telechir sessions close work"
    )]
    Sessions(SessionsCommand),
    /// List the questions of all sessions, and the approvals for the rest of a session.
    #[command(
        subcommand,
        after_help = "Examples:\n  telechir approvals list\n  telechir approvals show K7QM2X\n  telechir approvals remembered\n  telechir approvals revoke --session work 1"
    )]
    Approvals(ApprovalsCommand),
    /// Show a question of any session and answer it at this terminal.
    #[command(after_help = "Example:\n  telechir approve K7QM2X")]
    Approve(ApproveArguments),
    /// Deny a question of any session.
    #[command(after_help = "Example:\n  telechir deny K7QM2X --because \"use the staging server\"")]
    Deny(DenyArguments),
    /// Create, list or delete browser profiles: named, persistent page data.
    #[command(
        subcommand,
        after_help = "Examples:\n  telechir profiles create shop\n  telechir exec --dialect anthropic-messages --browser=https://shop.example --profile shop < response.json\n  telechir profiles list"
    )]
    Profiles(ProfilesCommand),
    /// List or remove recordings.
    #[command(
        subcommand,
        after_help = "Examples:\n  telechir recordings list recordings\n  telechir recordings prune recordings --older-than 7 --dry-run"
    )]
    Recordings(RecordingsCommand),
    /// Run as a session host: started by `exec --session`.
    #[command(hide = true)]
    SessionHost(SessionHostArguments),
    /// Decode a response or a history; print neutral contents and the fidelity report.
    #[command(
        after_help = "Examples:\n  telechir decode --dialect openai-responses < response.json\n  curl -sN … | telechir decode --dialect openai-responses --stream"
    )]
    Decode(DecodeArguments),
    /// Encode neutral contents in a dialect; the fidelity report goes to stderr.
    #[command(
        after_help = "Example:\n  telechir decode --dialect openai-responses < history.json \\\n    | telechir encode --dialect anthropic-messages"
    )]
    Encode(EncodeArguments),
    /// Translate a history, a request or a response to another dialect; losses go to stderr as JSON
    /// lines.
    #[command(after_help = TRANSLATE_EXAMPLES)]
    Translate(TranslateArguments),
    /// Check a folder of documents: decode, encode and round-trip each one.
    #[command(after_help = conform::EXAMPLES)]
    Conform(ConformArguments),
    /// Print the tool definitions and headers to send to a model.
    #[command(
        after_help = "Examples:\n  telechir tools --dialect anthropic-messages --model claude-sonnet-4-5 --display 1280x800 --shell\n  telechir tools --dialect openai-responses --from tools.json\n  telechir tools --model gpt-5.6-sol"
    )]
    Tools(ToolsArguments),
    /// Write a recording as one HTML page: screenshots, calls, verdicts, results.
    #[command(after_help = "Example:\n  telechir report recording --out report.html")]
    Report(ReportArguments),
    /// Test what works on this machine; print what is missing and the command that fixes it.
    #[command(after_help = DOCTOR_EXAMPLES)]
    Doctor(DoctorArguments),
    /// Verify a recording: report the first edited, missing or reordered event.
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Show, check and test policies.
    #[command(subcommand, after_help = policy::EXAMPLES)]
    Policy(PolicyCommand),
    /// Print the completions of a shell, or the manual page.
    #[command(subcommand, after_help = COMPLETION_EXAMPLES)]
    Generate(GenerateCommand),
    /// Clean up after a session: started by the session itself.
    #[command(hide = true)]
    Guardian,
}

const COMPLETION_EXAMPLES: &str = "\
Examples:
  telechir generate completions bash > ~/.local/share/bash-completion/completions/telechir
  telechir generate completions zsh > ~/.zfunc/_telechir
  telechir generate completions fish > ~/.config/fish/completions/telechir.fish
  telechir generate man > ~/.local/share/man/man1/telechir.1";

/// What is generated from the definition of the command line.
#[derive(Debug, Subcommand)]
pub(crate) enum GenerateCommand {
    /// Print the completions of a shell.
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Print the manual page of all commands, or of one.
    Man {
        /// The command, such as exec.
        command: Option<String>,
    },
}

const TRANSLATE_EXAMPLES: &str = "\
Examples:
  telechir translate --from openai-responses --to anthropic-messages --strict < history.json
  telechir translate --from openai-responses --to anthropic-messages --envelope --model-map gpt-5.6-sol=claude-opus-5-5 < request.json
  telechir translate --from anthropic-messages --to functions --stream < response.sse";

const RUN_EXAMPLES: &str = "\
Examples:
  telechir run \"Write hello into a new note\" --provider anthropic --model claude-opus-5-5 --desktop
  telechir run \"Which news is on top?\" --provider openai --model gpt-5.6-sol --browser=https://example.com
  telechir run \"Count the lines of code here\" --provider anthropic --model claude-opus-5-5 --shell --workspace .
  telechir run --record recording --resume RUN --shell --workspace .

  FUNCTIONS_API_KEY=any telechir run \"What is in this folder?\" --provider functions --base-url http://127.0.0.1:8000/v1 --model local --shell

The API key comes from ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY,
AWS_BEARER_TOKEN_BEDROCK (with AWS_REGION), MISTRAL_API_KEY or FUNCTIONS_API_KEY; the endpoint from
--base-url or from ANTHROPIC_BASE_URL, OPENAI_BASE_URL, GOOGLE_GEMINI_BASE_URL,
AWS_ENDPOINT_URL_BEDROCK_RUNTIME, MISTRAL_BASE_URL or FUNCTIONS_BASE_URL. Use the provider
`functions` for any server that implements chat completions; without FUNCTIONS_API_KEY it is sent
OPENAI_API_KEY, and without FUNCTIONS_BASE_URL it is reached at OPENAI_BASE_URL.";

const EXEC_EXAMPLES: &str = "\
Examples:
  telechir exec --dialect anthropic-messages --desktop < response.json
  telechir exec --dialect openai-responses --browser=https://example.com --shell < response.json
  telechir exec --dialect anthropic-messages --session work --desktop --shell < response.json
  telechir exec --dialect anthropic-messages --session work < next-response.json
  telechir exec --dialect neutral --shell --tools-from tools.json < calls.json

Approval prompts appear on the terminal, never on stdin; without a terminal the answer is no.
Exit code 0: every call has a result (possibly an error result); 1: failed; 2: usage; 3: a loss in
strict mode.";

const DOCTOR_EXAMPLES: &str = "\
Examples:
  telechir doctor
  telechir doctor --json | jq -r .install

Starts, uses and stops each component exactly as exec does. Exit code 0: a desktop, a browser and a
shell work; 1: one of them does not; 2: usage.";

/// Size of private screens in pixels.
pub(crate) const DEFAULT_SCREEN: Size = Size::new(1280, 800);

/// Headings of the help text; flags of devices are many.
const DESKTOP: &str = "Desktop";
const BROWSER: &str = "Browser";
const SHELL: &str = "Shell";
const WORKSPACE: &str = "Workspace";
const SCREENSHOTS: &str = "Screenshots";

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    /// Print which tools this model can have in each dialect, and test nothing.
    #[arg(long, value_parser = model_name, conflicts_with_all = ["json", "record", "config"])]
    pub(crate) model: Option<String>,
    /// Test the server of this configuration instead: port, certificate, tokens, policy, disk.
    #[arg(long, value_name = "FILE", conflicts_with = "record")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON instead of text.
    #[arg(long)]
    pub(crate) json: bool,
    /// Test recordings in this folder [default: the temporary folder].
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
}

#[derive(Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Devices")]
pub(crate) struct DeviceArguments {
    /// Provide a desktop: private by default, or an existing display with =DISPLAY (e.g. =:0).
    #[arg(long, value_name = "DISPLAY", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub(crate) desktop: Option<String>,
    /// Provide a browser; =URL opens this page first.
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = first_page)]
    pub(crate) browser: Option<String>,
    /// Run the browser headless: uses less memory, but is easier for sites to detect.
    #[arg(long, help_heading = BROWSER, requires = "browser")]
    pub(crate) headless: bool,
    /// Save downloads in the folder `downloads` of the workspace; without this flag downloads are
    /// refused.
    #[arg(long, help_heading = BROWSER, requires = "browser")]
    pub(crate) downloads: bool,
    /// URL of the browser's search page, with {query} in place of the search terms
    /// [default: `https://www.google.com/search?q={query}`].
    #[arg(long, help_heading = BROWSER, value_name = "URL", requires = "browser", value_parser = search_url)]
    pub(crate) search: Option<String>,
    /// Provide a shell: sandboxed by default; =docker or =podman run it in a container
    /// (=docker:IMAGE, =podman:IMAGE: of this image), =host on this machine without isolation,
    /// =agentcore at Amazon Bedrock AgentCore (docs/remote.md).
    #[arg(long, value_name = "WHERE", num_args = 0..=1, require_equals = true, default_missing_value = "sandbox", value_parser = shell_location)]
    pub(crate) shell: Option<String>,
    /// Pass this environment variable to --shell=host, which gets none that can hold a secret;
    /// repeatable.
    #[arg(long, help_heading = SHELL, value_name = "NAME", requires = "shell")]
    pub(crate) shell_env: Vec<String>,
    /// Run the container of --shell=docker or podman with this OCI runtime, such as runsc (gVisor),
    /// a stronger wall than the kernel's namespaces.
    #[arg(long, help_heading = SHELL, value_name = "NAME", requires = "shell", value_parser = ContainerRuntime::parse)]
    #[serde(with = "flag_text")]
    pub(crate) runtime: Option<ContainerRuntime>,
    /// Timeout of a command for which the model sets none [default: 30].
    #[arg(long, help_heading = SHELL, value_name = "SECONDS", requires = "shell", value_parser = clap::value_parser!(u64).range(1..=86400))]
    pub(crate) command_timeout: Option<u64>,
    /// Maximum bytes of command output in a result, whatever the model requests [default: 65536].
    #[arg(long, help_heading = SHELL, value_name = "BYTES", requires = "shell", value_parser = clap::value_parser!(u32).range(1024..=16_777_216))]
    pub(crate) max_output_bytes: Option<u32>,
    /// Send requests that the policy allows through this upstream proxy, such as
    /// http://10.0.0.1:3128. The egress proxy still judges every request first.
    #[arg(long, value_name = "URL", conflicts_with_all = ["cdp", "remote"])]
    #[serde(with = "flag_text")]
    pub(crate) proxy: Option<Upstream>,
    /// Provide a file editor for the workspace: apply_patch and text editor tools.
    #[arg(long)]
    pub(crate) editor: bool,
    /// Provide the editor's memory tool, with its files in this persistent folder.
    #[arg(long, help_heading = WORKSPACE, value_name = "DIR", requires = "editor")]
    #[serde(serialize_with = "flag_text::absolute_path")]
    pub(crate) memory_dir: Option<PathBuf>,
    /// Size of the private desktop and browser in pixels [default: 1280x800]. Several sizes, as in
    /// 1280x800+1280x800, are monitors of the desktop from left to right.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = Monitors::parse)]
    #[serde(with = "flag_text")]
    pub(crate) display: Option<Monitors>,
    /// Show the model only this monitor of the desktop, by xrandr name or by number.
    #[arg(long, help_heading = DESKTOP, value_name = "MONITOR", requires = "desktop")]
    pub(crate) monitor: Option<String>,
    /// Maximum width of screenshots; larger screens are scaled down, and the model's coordinates
    /// scaled back [default: 1280; `native`: the largest width the dialect and model accept].
    #[arg(long, help_heading = SCREENSHOTS, value_name = "PIXELS", value_parser = screenshot_width)]
    #[serde(with = "flag_text")]
    pub(crate) screenshot_width: Option<ScreenshotWidth>,
    /// Encoding of screenshots: png, webp (lossless, too) or jpeg [default: webp if the dialect
    /// accepts it, else png; the PNG of a headless page as it is].
    #[arg(long, help_heading = SCREENSHOTS, value_name = "FORMAT", value_parser = screenshot_format)]
    #[serde(with = "flag_text")]
    pub(crate) screenshot_format: Option<Format>,
    /// Never answer with a picture, for models that read only text: pages and elements are read
    /// as text, and an action that takes a screenshot fails.
    #[arg(long, help_heading = SCREENSHOTS)]
    pub(crate) text_only: bool,
    /// Folder shared by shell, editor and desktop [default: a new private folder].
    #[arg(long, help_heading = WORKSPACE, value_name = "DIR")]
    #[serde(serialize_with = "flag_text::absolute_path")]
    pub(crate) workspace: Option<PathBuf>,
    /// Use the workspace although another live session uses it. If telechir runs as root, its
    /// files stay with the session that came first, and this one can change only what others may.
    #[arg(long, help_heading = WORKSPACE)]
    pub(crate) share_workspace: bool,
    /// Allow a home folder, a folder of a home with a hidden name, or one that all users share
    /// (/var/tmp) as workspace or memory. System folders are refused always.
    #[arg(long, help_heading = WORKSPACE)]
    pub(crate) yes_this_folder: bool,
    /// Start this program on the private desktop; repeatable.
    #[arg(long, help_heading = DESKTOP, value_name = "PROGRAM", requires = "desktop")]
    pub(crate) start_app: Vec<String>,
    /// Enter long or non-Latin text on the desktop by pasting, then restore the clipboard.
    #[arg(long, help_heading = DESKTOP, requires = "desktop")]
    pub(crate) type_by_paste: bool,
    /// Start a new X server if the private desktop's X server exits. The interrupted call fails
    /// with an error that reports the restart.
    #[arg(long, help_heading = DESKTOP, requires = "desktop")]
    pub(crate) restart_desktop: bool,
    /// Stop the session when the user moves the pointer into this corner of the desktop.
    #[arg(long, help_heading = DESKTOP, value_name = "CORNER", requires = "desktop", value_parser = CORNERS.map(|(name, _)| name))]
    pub(crate) stop_corner: Option<String>,
    /// Stop the session when this key combination is pressed on the desktop, e.g. ctrl+alt+Escape.
    #[arg(long, help_heading = DESKTOP, value_name = "CHORD", requires = "desktop", value_parser = chord)]
    #[serde(with = "flag_text")]
    pub(crate) stop_key: Option<Chord>,
    /// Number up to N interactive elements in each screenshot and describe them, so that a model can
    /// target {"label": 7} instead of a point [default N: 99].
    #[arg(long, help_heading = SCREENSHOTS, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = "99")]
    pub(crate) marks: Option<usize>,
    /// Start Chromium without its own sandbox. Weakens isolation; the log records it.
    #[arg(long, help_heading = BROWSER, requires = "browser")]
    pub(crate) no_sandbox: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) page: BrowserArguments,
}

impl DeviceArguments {
    /// The monitors of the private desktop.
    pub(crate) fn monitors(&self) -> Monitors {
        let given = self.display.clone();
        given.unwrap_or_else(|| Monitors::one(DEFAULT_SCREEN))
    }

    /// Size of the private screen in pixels: the desktop's with all of its monitors, else the
    /// browser's.
    pub(crate) fn screen_size(&self) -> Size {
        match self.desktop {
            Some(_) => self.monitors().screen(),
            None => self.browser_size(),
        }
    }

    /// Size of the private browser in pixels: the first monitor's.
    pub(crate) fn browser_size(&self) -> Size {
        let monitors = self.monitors();
        monitors.sizes().first().copied().unwrap_or(DEFAULT_SCREEN)
    }

    /// The user's means to stop the session; none without `--stop-corner` and `--stop-key`.
    pub(crate) fn kill_switch(&self) -> Option<KillSwitch> {
        let named = self.stop_corner.as_deref();
        let corner = CORNERS.iter().find(|(name, _)| Some(*name) == named);
        let switch = KillSwitch {
            corner: corner.map(|(_, corner)| *corner),
            key: self.stop_key.clone(),
        };
        (switch != KillSwitch::default()).then_some(switch)
    }

    /// Timeouts and output sizes of the session.
    pub(crate) fn limits(&self) -> SessionLimits {
        let mut limits = SessionLimits::default();
        if let Some(seconds) = self.command_timeout {
            limits.command_timeout = Duration::from_secs(seconds);
            limits.max_command_timeout = limits.max_command_timeout.max(limits.command_timeout);
        }
        if let Some(bytes) = self
            .max_output_bytes
            .and_then(|bytes| usize::try_from(bytes).ok())
        {
            limits.max_output_bytes = bytes;
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

    /// Checks flags that only some shells or browsers have.
    ///
    /// # Errors
    /// When the shell or the browser has no such flag; the message says which one does.
    pub(crate) fn check(&self) -> Result<(), String> {
        let shell = self.shell.as_deref().unwrap_or_default();
        if self.runtime.is_some() && container(shell).is_none() {
            let message =
                "--runtime: only a container has one; use --shell=docker or --shell=podman";
            return Err(message.to_owned());
        }
        if !self.shell_env.is_empty() && shell != "host" {
            let message =
                "--shell-env: only --shell=host gets variables; others have none of yours";
            return Err(message.to_owned());
        }
        if self.downloads && self.page.attach.cdp.is_some() {
            let message = "--downloads: a browser of --cdp stores downloads on its own machine, where \
                           they cannot be reached; omit the flag";
            return Err(message.to_owned());
        }
        if self.downloads && self.page.remote.remote.is_some() {
            let message = "--downloads: a browser of --remote stores downloads at its service, from \
                           where they are not fetched; omit the flag";
            return Err(message.to_owned());
        }
        let remote = &self.page.remote;
        if remote.remote.is_none()
            && !self.has_remote_shell()
            && let Some(flag) = remote.limit_flag()
        {
            return Err(format!(
                "{flag}: nothing is rented; give --remote or --shell=agentcore, or omit the flag"
            ));
        }
        if remote.action_service().is_some()
            && let Some(flag) = self.page.flag_of_own_browser()
        {
            return Err(format!(
                "{flag}: an action service has no such setting; omit the flag"
            ));
        }
        remote.check(self.browser_size())
    }

    /// Whether the commands of the shell run at a service.
    pub(crate) fn has_remote_shell(&self) -> bool {
        self.shell.as_deref() == Some(AT_AGENTCORE)
    }

    /// Whether the browser is one that telechir did not start: somebody's, or a service's.
    pub(crate) fn has_attached_browser(&self) -> bool {
        self.page.attach.cdp.is_some() || self.page.remote.remote.is_some()
    }

    /// Whether no device flag was given.
    pub(crate) fn is_empty(&self) -> bool {
        self.desktop.is_none() && self.browser.is_none() && self.shell.is_none() && !self.editor
    }

    /// The URL to open before the model's first turn.
    pub(crate) fn first_page(&self) -> Option<&str> {
        self.browser.as_deref().filter(|url| !url.is_empty())
    }
}

fn first_page(url: &str) -> Result<String, String> {
    if !url.is_empty() {
        telechir_browser::check_url(url).map_err(|error| error.to_string())?;
    }
    Ok(url.to_owned())
}

fn search_url(url: &str) -> Result<String, String> {
    let is_template = url.contains("{query}") && url.starts_with("http");
    let problem =
        || "expected a URL with {query}, e.g. https://duckduckgo.com/?q={query}".to_owned();
    is_template.then(|| url.to_owned()).ok_or_else(problem)
}

/// Screen corners with their names on the command line.
const CORNERS: [(&str, Corner); 4] = [
    ("top-left", Corner::TopLeft),
    ("top-right", Corner::TopRight),
    ("bottom-left", Corner::BottomLeft),
    ("bottom-right", Corner::BottomRight),
];

#[derive(Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Policy and recording")]
pub(crate) struct SafetyArguments {
    /// Judge calls by this policy: a file, or look, ask, sandbox or trust-sandbox, which
    /// `telechir policy show` explains [default: the built-in policy].
    #[arg(long, value_name = "FILE or NAME", value_parser = PolicyChoice::parse)]
    #[serde(with = "flag_text")]
    pub(crate) policy: Option<PolicyChoice>,
    /// The request's tools in the neutral form (see `tools --from`): a tool with the approval_mode
    /// always_require needs your approval of each of its calls, also of those that the policy
    /// allows.
    #[arg(long = "tools-from", value_name = "FILE")]
    #[serde(serialize_with = "flag_text::absolute_path")]
    pub(crate) tools_from: Option<PathBuf>,
    /// Keep the recording (journal and screenshots) in this folder.
    #[arg(long, value_name = "DIR")]
    #[serde(serialize_with = "flag_text::absolute_path")]
    pub(crate) record: Option<PathBuf>,
    /// Name of this run in the recording. Sending a response again under the same name replays
    /// the recorded results, so that no action is executed twice.
    #[arg(long, value_name = "NAME", requires = "record")]
    pub(crate) run: Option<String>,
    /// Keep a question to you open for SECONDS [default: 300].
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) approval_timeout: Option<u64>,
}

impl SafetyArguments {
    /// How long a question stays open.
    pub(crate) fn approval_timeout(&self) -> Duration {
        let default = SessionLimits::default().approval_timeout;
        self.approval_timeout.map_or(default, Duration::from_secs)
    }
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    /// The task, in natural language.
    #[arg(required_unless_present = "resume")]
    pub(crate) task: Option<String>,
    /// The provider whose API is called.
    #[arg(long, value_parser = SERVICES.map(|service| service.name), required_unless_present = "resume")]
    pub(crate) provider: Option<String>,
    /// The dialect to use, for providers that support several.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Option<Dialect>,
    /// The model's name, as the provider spells it.
    #[arg(long, required_unless_present = "resume")]
    pub(crate) model: Option<String>,
    /// URL of the API, for gateways and local servers.
    #[arg(long, value_name = "URL")]
    pub(crate) base_url: Option<String>,
    /// Maximum number of model turns; the model is not asked again after the last one.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_steps: u32,
    /// Without a terminal: wait up to SECONDS for an answer by `telechir approve`, then deny the call.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    pub(crate) approval_wait: u64,
    /// Work in a session that stays: with the device flags of the first task it starts, and a later task
    /// finds its windows, tabs and shell unchanged. Each task is a conversation of its own.
    #[arg(long, value_name = "NAME", conflicts_with = "resume")]
    pub(crate) session: Option<SessionName>,
    /// Close the session after SECONDS without a task [default: 900].
    #[arg(long, value_name = "SECONDS", requires = "session", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) idle_timeout: Option<u64>,
    #[command(flatten)]
    pub(crate) conversation: ConversationArguments,
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
    /// Fail with exit code 3 if the dialect cannot represent a result without loss; includes
    /// --remote-strict for a browser that this call rents.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Leave the calls of your own functions to you: each is one JSON line on stderr, without a
    /// result on stdout [default: true in neutral and agent-framework, else false; a call that is
    /// not left gets an error result].
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) leave_functions: Option<bool>,
    /// Execute in a persistent session: desktop, browser and shell keep their state until the next
    /// call. The first call starts the session with its device flags.
    #[arg(long, value_name = "NAME")]
    pub(crate) session: Option<SessionName>,
    /// Close the session after SECONDS without a call [default: 900].
    #[arg(long, value_name = "SECONDS", requires = "session", value_parser = clap::value_parser!(u64).range(1..=31_536_000))]
    pub(crate) idle_timeout: Option<u64>,
    /// Wait at most SECONDS while the session executes other calls.
    #[arg(long, value_name = "SECONDS", requires = "session", default_value_t = 600, value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    pub(crate) queue_timeout: u64,
    /// Without a terminal: wait up to SECONDS for an answer by `telechir approve`; then the call
    /// fails. In a session its question stays open, and the error has its code.
    #[arg(long, value_name = "SECONDS", default_value_t = 0, value_parser = clap::value_parser!(u64).range(0..=31_536_000))]
    pub(crate) approval_wait: u64,
    /// Serve the live page on loopback until the calls are answered, and print its address on stderr: with
    /// answers if that is a terminal, else read-only.
    #[arg(long)]
    pub(crate) view: bool,
    #[command(flatten)]
    pub(crate) devices: DeviceArguments,
    #[command(flatten)]
    pub(crate) safety: SafetyArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ProfilesCommand {
    /// List the profiles: name, size, last use, current user.
    List {
        /// Print JSON instead of a table.
        #[arg(long)]
        json: bool,
    },
    /// Create an empty profile.
    Create {
        /// Name of the profile.
        id: ProfileId,
    },
    /// Delete a profile with all data that pages stored in it.
    Delete {
        /// Name of the profile.
        id: ProfileId,
    },
}

/// Arguments of the session host, which reads the session's configuration from stdin.
#[derive(Debug, Args)]
pub(crate) struct SessionHostArguments {
    /// Name of the session.
    pub(crate) name: SessionName,
    /// The folder of all sockets.
    #[arg(long, value_name = "DIR")]
    pub(crate) sockets: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArguments {
    /// The dialect of the input.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// Read one streamed response: print one line per delta as it arrives, then the contents of
    /// the complete response.
    #[arg(long)]
    pub(crate) stream: bool,
}

#[derive(Debug, Args)]
pub(crate) struct EncodeArguments {
    /// The dialect of the output.
    #[arg(long, value_parser = dialects())]
    pub(crate) dialect: Dialect,
    /// Fail with exit code 3 on a loss.
    #[arg(long)]
    pub(crate) strict: bool,
}

/// Maximum width of screenshots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ScreenshotWidth {
    /// The largest width that screen, dialect and model accept.
    Native,
    /// A width in pixels, from 64 to 7680.
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

pub(crate) fn screenshot_width(text: &str) -> Result<ScreenshotWidth, String> {
    if text == "native" {
        return Ok(ScreenshotWidth::Native);
    }
    let pixels = text
        .parse()
        .ok()
        .filter(|pixels| (64..=7680).contains(pixels));
    pixels
        .map(ScreenshotWidth::Pixels)
        .ok_or_else(|| "expected `native` or a number of pixels from 64 to 7680".to_owned())
}

pub(crate) fn screenshot_format(text: &str) -> Result<Format, String> {
    Format::named(text).ok_or_else(|| {
        let names = Format::ALL.map(Format::name).join(", ");
        format!("unknown screenshot format `{text}`; expected one of {names}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_two_numbers_within_bounds() {
        assert_eq!(values::size("1280x800"), Ok(Size::new(1280, 800)));
        for wrong in ["1280", "x", "0x0", "-1x5", "9999x9999", "1280x800x2"] {
            assert!(values::size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn monitors_are_sizes_from_left_to_right() {
        let two = Monitors::parse("1280x800+1920x1080").expect("two monitors");
        assert_eq!(two.sizes(), [Size::new(1280, 800), Size::new(1920, 1080)]);
        assert_eq!(two.to_string(), "1280x800+1920x1080");
        let many = ["7680x800"; 5].join("+");
        for wrong in ["", "1280x800+", "1280x800,800x600", &many] {
            assert!(Monitors::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_flags_are_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
