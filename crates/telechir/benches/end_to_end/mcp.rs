//! Other browsers for models: MCP servers over stdio, and a program that is started per action.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telechir_process::is_root;

use telechir_testkit::site::Site;

use crate::fixture::BenchFixture;
use crate::page::{NODE, SHELL};
use crate::table::Contestant;

/// An MCP server with its own browser, stopped when dropped.
struct Mcp {
    child: Child,
    stdin: ChildStdin,
    answers: BufReader<ChildStdout>,
    sent: u64,
}

/// Command line and tool names of an MCP server.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    program: &'static str,
    flags: &'static [&'static str],
    /// The flag for Chromium's path, and the one for running as root.
    point: &'static str,
    rootly: &'static str,
    navigate: &'static str,
    snapshot: &'static str,
    screenshot: &'static str,
    click: &'static str,
    /// Prefix of a ref in snapshots, and the name of the ref argument.
    before: &'static str,
    id: &'static str,
    /// Whether each call must name the page.
    names_page: bool,
}

const PLAYWRIGHT_MCP: Server = Server {
    name: "Playwright MCP",
    program: "playwright-mcp",
    flags: &["--headless", "--isolated"],
    point: "--executable-path",
    rootly: "--no-sandbox",
    navigate: "browser_navigate",
    snapshot: "browser_snapshot",
    screenshot: "browser_take_screenshot",
    click: "browser_click",
    before: "ref=",
    id: "target",
    names_page: false,
};

const CHROME_DEVTOOLS_MCP: Server = Server {
    name: "chrome-devtools-mcp",
    program: "chrome-devtools-mcp",
    flags: &["--headless", "--isolated", "--no-usage-statistics"],
    point: "--executablePath",
    rootly: "--chromeArg=--no-sandbox",
    navigate: "navigate_page",
    snapshot: "take_snapshot",
    screenshot: "take_screenshot",
    click: "click",
    before: "uid=",
    id: "uid",
    names_page: true,
};

/// Path of a program installed by npm.
fn installed(program: &str) -> Result<PathBuf, String> {
    let folder = std::env::var(NODE).map_err(|_| "not installed".to_owned())?;
    let path = Path::new(&folder).join("node_modules/.bin").join(program);
    if path.exists() {
        Ok(path)
    } else {
        Err("not installed".to_owned())
    }
}

impl Mcp {
    fn start(server: Server, folder: &Path) -> Result<Self, String> {
        let mut command = Command::new(installed(server.program)?);
        command.args(server.flags).args([server.point, SHELL]);
        if is_root() {
            command.arg(server.rootly);
        }
        // Their files go to a temporary folder.
        let mut child = command
            .current_dir(folder)
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut mcp = Self {
            stdin: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            sent: 0,
        };
        let client = json!({ "name": "bench", "version": "1" });
        mcp.request(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
            }),
        )?;
        mcp.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        Ok(mcp)
    }

    /// Opens an address.
    fn go(&mut self, server: Server, url: &str) -> Result<(), String> {
        self.call(server, server.navigate, json!({ "url": url }))
            .map(drop)
    }

    fn snapshot(&mut self, server: Server) -> Result<String, String> {
        self.call(server, server.snapshot, json!({}))
    }

    fn screenshot(&mut self, server: Server) -> Result<(), String> {
        self.call(server, server.screenshot, json!({})).map(drop)
    }

    /// The ref of the button with this name, in a new snapshot.
    fn button(&mut self, server: Server, name: &str) -> Result<String, String> {
        let text = self.snapshot(server)?;
        id_after(&text, name, server.before)
    }

    fn click(&mut self, server: Server, id: &str) -> Result<(), String> {
        self.call(server, server.click, json!({ server.id: id }))
            .map(drop)
    }

    fn call(&mut self, server: Server, tool: &str, mut arguments: Value) -> Result<String, String> {
        if server.names_page {
            arguments["pageId"] = 1.into();
        }
        let answer = self.request(
            "tools/call",
            &json!({ "name": tool, "arguments": arguments }),
        )?;
        let content = answer["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = content.filter_map(|part| part["text"].as_str()).collect();
        let text = texts.join("\n");
        if answer["isError"] == true {
            return Err(text.lines().take(2).collect::<Vec<_>>().join(" "));
        }
        Ok(text)
    }

    fn request(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.sent += 1;
        let id = self.sent;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line);
            if read.map_err(|error| error.to_string())? == 0 {
                return Err("it ended".to_owned());
            }
            let mut answer: Value = serde_json::from_str(&line).unwrap_or_default();
            if answer["id"] != id {
                continue;
            }
            if let Some(error) = answer["error"]["message"].as_str() {
                return Err(error.to_owned());
            }
            return Ok(answer["result"].take());
        }
    }

    fn send(&mut self, message: &Value) -> Result<(), String> {
        let output = writeln!(self.stdin, "{message}").and_then(|()| self.stdin.flush());
        output.map_err(|error| error.to_string())
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        // Closing the pipe ends its browser.
        let _over_already = self.child.kill();
        let _over_already = self.child.wait();
    }
}

/// Both servers.
pub(crate) const SERVERS: [Server; 2] = [PLAYWRIGHT_MCP, CHROME_DEVTOOLS_MCP];

/// A server with the page and its button's ref, or why it is missing.
pub(crate) struct Peer {
    server: Server,
    ready: RefCell<Result<(Mcp, String), String>>,
}

impl Peer {
    pub(crate) fn open(fixture: &BenchFixture, server: Server, site: &Site) -> Self {
        let open = || {
            let mut mcp = Mcp::start(server, fixture.folder())?;
            mcp.go(server, &site.url("orders"))?;
            let save = mcp.button(server, "Save")?;
            Ok((mcp, save))
        };
        Self {
            server,
            ready: RefCell::new(open()),
        }
    }

    /// A contestant for this action, if it succeeds once.
    pub(crate) fn contestant<'a>(
        &'a self,
        what: &str,
        mut work: impl FnMut(&Self) -> Result<(), String> + 'a,
    ) -> Contestant<'a> {
        let name = format!("{}: {what}", self.server.name);
        Contestant::fallible(name, timed(move || work(self))).at_most(10)
    }

    pub(crate) fn snapshot(&self) -> Result<(), String> {
        self.with(|mcp, _| mcp.snapshot(self.server).map(drop))
    }

    pub(crate) fn click(&self) -> Result<(), String> {
        self.with(|mcp, save| mcp.click(self.server, save))
    }

    pub(crate) fn screenshot(&self) -> Result<(), String> {
        self.with(|mcp, _| mcp.screenshot(self.server))
    }

    pub(crate) fn name(&self) -> &'static str {
        self.server.name
    }

    /// The process of the server.
    pub(crate) fn pid(&self) -> Option<u32> {
        let ready = self.ready.borrow();
        ready.as_ref().ok().map(|(mcp, _)| mcp.child.id())
    }

    fn with(&self, work: impl FnOnce(&mut Mcp, &str) -> Result<(), String>) -> Result<(), String> {
        match &mut *self.ready.borrow_mut() {
            Ok((mcp, save)) => work(mcp, save),
            Err(why) => Err(why.clone()),
        }
    }
}

/// From start to a usable page.
pub(crate) fn cold(fixture: &BenchFixture, server: Server, url: &str) -> Result<(), String> {
    Mcp::start(server, fixture.folder())?.go(server, url)
}

/// Environment variable that identifies agent-browser's processes.
pub(crate) const AGENT: &str = "AGENT_BROWSER_SESSION=bench";

/// agent-browser: one program per action, and a daemon with the browser.
pub(crate) struct Agent {
    program: Result<PathBuf, String>,
    folder: PathBuf,
    save: String,
}

impl Agent {
    pub(crate) fn open(fixture: &BenchFixture, site: &Site) -> Self {
        let mut agent = Self::new(fixture);
        let open = |agent: &Self| {
            agent.run(&["open", &site.url("orders")])?;
            agent.button("Save")
        };
        match open(&agent) {
            Ok(save) => agent.save = save,
            Err(why) => agent.program = Err(why),
        }
        agent
    }

    pub(crate) fn new(fixture: &BenchFixture) -> Self {
        Self {
            program: installed("agent-browser"),
            folder: fixture.folder().to_owned(),
            save: String::new(),
        }
    }

    pub(crate) fn contestant<'a>(
        &'a self,
        what: &str,
        mut work: impl FnMut(&Self) -> Result<(), String> + 'a,
    ) -> Contestant<'a> {
        let name = format!("agent-browser: {what}");
        Contestant::fallible(name, timed(move || work(self))).at_most(20)
    }

    pub(crate) fn click(&self) -> Result<(), String> {
        self.run(&["click", &self.save]).map(drop)
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut command = Command::new(self.program.as_ref().map_err(Clone::clone)?);
        command
            .args(arguments)
            .env("AGENT_BROWSER_EXECUTABLE_PATH", SHELL)
            .envs(AGENT.split_once('='))
            .env("HOME", &self.folder)
            .current_dir(&self.folder);
        if is_root() {
            command.env("AGENT_BROWSER_ARGS", "--no-sandbox");
        }
        let output = command.output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        let output = text(&output.stderr) + &text(&output.stdout);
        Err(output.lines().next().unwrap_or_default().to_owned())
    }

    /// The ref of the button with this name.
    fn button(&self, name: &str) -> Result<String, String> {
        let text = self.run(&["snapshot", "-i"])?;
        let id = id_after(&text, name, "ref=")?;
        Ok(format!("@{id}"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _may_not_run = self.run(&["close"]);
    }
}

/// The duration of an action that may fail.
pub(crate) fn timed(
    mut work: impl FnMut() -> Result<(), String>,
) -> impl FnMut() -> Result<Duration, String> {
    move || {
        let start = Instant::now();
        work().map(|()| start.elapsed())
    }
}

/// The ref of the button with this name in a snapshot.
fn id_after(text: &str, name: &str, before: &str) -> Result<String, String> {
    let wanted = format!("button \"{name}\"");
    let line = text.lines().find(|line| line.contains(&wanted));
    let id = line.and_then(|line| line.split_once(before));
    let id = id.map(|(_, rest)| rest.split([' ', ']', ',']).next().unwrap_or_default());
    id.map(str::to_owned)
        .ok_or_else(|| format!("the snapshot has no {wanted}"))
}
