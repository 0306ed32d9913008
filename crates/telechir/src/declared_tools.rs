//! The tools that a session declares to a model, by its devices: the same for `run`, whose devices
//! run, and for `tools`, which starts none.

use telechir_protocol::{
    ActionKind, ComputerUseTool, Environment, HostedTool, ShellTool, Size, Tool,
};
use telechir_providers::{desktop_tool, page_tool};

/// The devices of a session as far as their tools depend on them.
#[derive(Debug, Default)]
pub(crate) struct DeclaredDevices {
    /// Size of the desktop.
    pub(crate) desktop: Option<Size>,
    /// The tool for what a desktop can do beside mouse and keyboard.
    pub(crate) desktop_tool: Option<Tool>,
    /// Size of the browser.
    pub(crate) browser: Option<Size>,
    pub(crate) has_shell: bool,
    pub(crate) has_editor: bool,
    pub(crate) has_memory: bool,
    /// Whether the model reads only text: it gets no tool that answers with pictures.
    pub(crate) text_only: bool,
}

impl DeclaredDevices {
    /// The tools in the order of the devices.
    pub(crate) fn tools(self) -> Vec<Tool> {
        let desktop = self.desktop.filter(|_| !self.text_only);
        let desktop = desktop.map(|size| screen(size, Environment::Linux));
        let browser = self.browser.map(|size| match self.text_only {
            true => page_tool(),
            false => screen(size, Environment::Browser),
        });
        let shell = self.has_shell.then(|| Tool::Shell(ShellTool::default()));
        let hosted = |name: &str| Tool::Hosted(HostedTool::new(name));
        let editor = self.has_editor.then(|| hosted("text_editor"));
        let memory = self.has_memory.then(|| hosted("memory"));
        let tools = [desktop, self.desktop_tool, browser, shell, editor, memory];
        tools.into_iter().flatten().collect()
    }
}

fn screen(size: Size, environment: Environment) -> Tool {
    Tool::ComputerUse(ComputerUseTool {
        display_width: Some(size.width),
        display_height: Some(size.height),
        environment: Some(environment),
        ..ComputerUseTool::default()
    })
}

/// The desktop tool of a private desktop without these actions; none if nothing is left.
pub(crate) fn private_desktop_tool(is_excluded: impl Fn(ActionKind) -> bool) -> Option<Tool> {
    // A private desktop can do all of them but describe its screen in words.
    desktop_tool(|kind| kind != ActionKind::ObserveScreen && !is_excluded(kind))
}
