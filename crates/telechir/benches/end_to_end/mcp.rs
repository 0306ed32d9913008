//! Other browsers for models: MCP servers that are spoken to over their standard input and output,
//! and a program that is started for each thing.

use std::cell::RefCell;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use telechir_process::is_root;

use telechir_testkit::site::Site;

use crate::fixture::Stage;
use crate::page::{NODE, SHELL};
use crate::table::Contestant;

/// An MCP server with a browser of its own. It ends when this is dropped.
struct Mcp {
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
    asked: u64,
}

/// What an MCP server is started with, and what its tools are called.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    pub(crate) name: &'static str,
    program: &'static str,
    flags: &'static [&'static str],
    /// The flag that gives Chromium's place, and the one that has it run as root.
    place: &'static str,
    rootly: &'static str,
    navigate: &'static str,
    snapshot: &'static str,
    screenshot: &'static str,
    click: &'static str,
    /// What stands before a ref in a snapshot, and what a ref is called in a call.
    before: &'static str,
    id: &'static str,
    /// Whether each call names the page.
    names_page: bool,
}

const PLAYWRIGHT_MCP: Server = Server {
    name: "Playwright MCP",
    program: "playwright-mcp",
    flags: &["--headless", "--isolated"],
    place: "--executable-path",
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
    place: "--executablePath",
    rootly: "--chromeArg=--no-sandbox",
    navigate: "navigate_page",
    snapshot: "take_snapshot",
    screenshot: "take_screenshot",
    click: "click",
    before: "uid=",
    id: "uid",
    names_page: true,
};

/// Where npm put a program.
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
        command.args(server.flags).args([server.place, SHELL]);
        if is_root() {
            command.arg(server.rootly);
        }
        // What they write goes to a folder that is removed.
        let mut child = command
            .current_dir(folder)
            .env("TMPDIR", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| error.to_string())?;
        let mut mcp = Self {
            asks: child.stdin.take().expect("a pipe"),
            answers: BufReader::new(child.stdout.take().expect("a pipe")),
            child,
            asked: 0,
        };
        let client = json!({ "name": "bench", "version": "1" });
        mcp.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client,
            }),
        )?;
        mcp.say(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
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

    /// The ref of the button that says so, in a fresh snapshot.
    fn button(&mut self, server: Server, name: &str) -> Result<String, String> {
        let told = self.snapshot(server)?;
        id_after(&told, name, server.before)
    }

    fn click(&mut self, server: Server, id: &str) -> Result<(), String> {
        self.call(server, server.click, json!({ server.id: id }))
            .map(drop)
    }

    fn call(&mut self, server: Server, tool: &str, mut arguments: Value) -> Result<String, String> {
        if server.names_page {
            arguments["pageId"] = 1.into();
        }
        let answer = self.ask(
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

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        self.asked += 1;
        let id = self.asked;
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
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

    fn say(&mut self, message: &Value) -> Result<(), String> {
        let said = writeln!(self.asks, "{message}").and_then(|()| self.asks.flush());
        said.map_err(|error| error.to_string())
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        // Its browser ends with its end of the pipe.
        let _over_already = self.child.kill();
        let _over_already = self.child.wait();
    }
}

/// Both servers.
pub(crate) const SERVERS: [Server; 2] = [PLAYWRIGHT_MCP, CHROME_DEVTOOLS_MCP];

/// One that has the page and knows its button, or why there is none.
pub(crate) struct Peer {
    server: Server,
    ready: RefCell<Result<(Mcp, String), String>>,
}

impl Peer {
    pub(crate) fn open(stage: &Stage, server: Server, site: &Site) -> Self {
        let open = || {
            let mut mcp = Mcp::start(server, stage.folder())?;
            mcp.go(server, &site.url("orders"))?;
            let save = mcp.button(server, "Save")?;
            Ok((mcp, save))
        };
        Self {
            server,
            ready: RefCell::new(open()),
        }
    }

    /// Takes part with this, if it can do it once.
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

/// From nothing to a page that can be used.
pub(crate) fn cold(stage: &Stage, server: Server, url: &str) -> Result<(), String> {
    Mcp::start(server, stage.folder())?.go(server, url)
}

/// What agent-browser's processes can be told by.
pub(crate) const AGENT: &str = "AGENT_BROWSER_SESSION=bench";

/// agent-browser, a program for each thing and a daemon with a browser behind it.
pub(crate) struct Agent {
    program: Result<PathBuf, String>,
    folder: PathBuf,
    save: String,
}

impl Agent {
    pub(crate) fn open(stage: &Stage, site: &Site) -> Self {
        let mut agent = Self::new(stage);
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

    pub(crate) fn new(stage: &Stage) -> Self {
        Self {
            program: installed("agent-browser"),
            folder: stage.folder().to_owned(),
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
        let said = text(&output.stderr) + &text(&output.stdout);
        Err(said.lines().next().unwrap_or_default().to_owned())
    }

    /// The ref of the button that says so.
    fn button(&self, name: &str) -> Result<String, String> {
        let told = self.run(&["snapshot", "-i"])?;
        let id = id_after(&told, name, "ref=")?;
        Ok(format!("@{id}"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _may_not_run = self.run(&["close"]);
    }
}

/// How long what may fail takes.
pub(crate) fn timed(
    mut work: impl FnMut() -> Result<(), String>,
) -> impl FnMut() -> Result<Duration, String> {
    move || {
        let start = Instant::now();
        work().map(|()| start.elapsed())
    }
}

/// The ref that a snapshot gives to the button that says so.
fn id_after(told: &str, name: &str, before: &str) -> Result<String, String> {
    let wanted = format!("button \"{name}\"");
    let line = told.lines().find(|line| line.contains(&wanted));
    let id = line.and_then(|line| line.split_once(before));
    let id = id.map(|(_, rest)| rest.split([' ', ']', ',']).next().unwrap_or_default());
    id.map(str::to_owned)
        .ok_or_else(|| format!("it tells no {wanted}"))
}
