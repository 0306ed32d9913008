//! Arguments of `tools`.

use std::path::PathBuf;

use clap::Args;
use telechir_protocol::Size;
use telechir_providers::Dialect;

use super::values::{dialects, model_name, size};

#[derive(Debug, Args)]
pub(crate) struct ToolsArguments {
    /// The dialect of the tool definitions. Without it, a table shows which tools --model can have
    /// in each dialect.
    #[arg(long, value_parser = dialects(), required_unless_present = "model")]
    pub(crate) dialect: Option<Dialect>,
    /// The model, which selects the version of each tool [default: the newest versions].
    #[arg(long, value_parser = model_name)]
    pub(crate) model: Option<String>,
    /// Declare the neutral tools in this JSON file (- for stdin): a list with types such as
    /// ComputerUseTool, ShellTool, FunctionTool, HostedWebSearchTool or raw. Only the flags for
    /// other tools add to them.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["no_computer", "display", "environment", "exclude"])]
    pub(crate) from: Option<PathBuf>,
    /// Size of the screen in pixels; some tool versions require it.
    #[arg(long, value_name = "WIDTHxHEIGHT", value_parser = size)]
    pub(crate) display: Option<Size>,
    /// Kind of screen: browser, linux, mac, windows or mobile [default: linux].
    #[arg(long)]
    pub(crate) environment: Option<String>,
    /// Declare what `run --desktop` declares: the computer tool and the desktop tool.
    #[arg(long, conflicts_with_all = ["from", "no_computer", "environment"])]
    pub(crate) desktop: bool,
    /// Declare what `run --browser` declares.
    #[arg(long, conflicts_with_all = ["from", "no_computer", "environment"])]
    pub(crate) browser: bool,
    /// Omit the computer tool; declare only the other tools that flags name.
    #[arg(long, conflicts_with_all = ["display", "environment", "exclude"])]
    pub(crate) no_computer: bool,
    /// Declare a shell, too.
    #[arg(long)]
    pub(crate) shell: bool,
    /// Declare the desktop tool: windows, clipboard, applications and their elements.
    #[arg(long)]
    pub(crate) desktop_tool: bool,
    /// Declare the page tool: the function execute_browser, with which a model reads pages and
    /// uses their elements by ref, without screenshots.
    #[arg(long)]
    pub(crate) page_tool: bool,
    /// Declare only tools that answer with text, for models that read only text.
    #[arg(long, conflicts_with_all = ["from", "environment"])]
    pub(crate) text_only: bool,
    /// Declare a file editor, too.
    #[arg(long)]
    pub(crate) editor: bool,
    /// Declare a memory, too.
    #[arg(long)]
    pub(crate) memory: bool,
    /// Actions that the model must not use, by their names in any vocabulary (right_click,
    /// CURightClick).
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) exclude: Vec<String>,
}
