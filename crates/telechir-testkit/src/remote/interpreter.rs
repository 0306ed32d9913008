//! The tools of a code interpreter, run by a real bash in a folder of the session's own, and the frames of
//! their answers.

use std::io;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tokio::process::{Child, Command};

/// The machine of a session.
#[derive(Debug)]
pub(super) struct Interpreter {
    folder: PathBuf,
    tasks: Mutex<Vec<BashTask>>,
}

#[derive(Debug)]
struct BashTask {
    id: String,
    child: Child,
    is_stopped: bool,
}

impl Default for Interpreter {
    fn default() -> Self {
        static COUNT: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);
        let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("interpreter-{}-{count}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _or_the_first_command_fails = std::fs::create_dir_all(&folder);
        Self {
            folder,
            tasks: Mutex::default(),
        }
    }
}

impl Drop for Interpreter {
    fn drop(&mut self) {
        let _best_effort = std::fs::remove_dir_all(&self.folder);
    }
}

impl Interpreter {
    /// The event stream that answers a request.
    pub(super) async fn answer(&self, request: &Value) -> io::Result<Vec<u8>> {
        let argument = |name: &str| request["arguments"][name].as_str().unwrap_or_default();
        match request["name"].as_str() {
            Some("executeCommand") => self.execute(argument("command")).await,
            Some("startCommandExecution") => self.start(argument("command")),
            Some("getTask") => self.task(argument("taskId")),
            Some("stopTask") => self.stop(argument("taskId")),
            _ => Ok(exception("validationException", "unknown tool")),
        }
    }

    fn bash(&self, command: &str) -> Command {
        let mut bash = Command::new("bash");
        bash.arg("-c")
            .arg(command)
            .current_dir(&self.folder)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", &self.folder)
            .env("TMPDIR", &self.folder)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        bash
    }

    async fn execute(&self, command: &str) -> io::Result<Vec<u8>> {
        let started = Instant::now();
        let output = self.bash(command).output().await?;
        let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
        // As of a shell: 128 and the signal.
        let code = output.status.code().unwrap_or(137);
        let blocks = [&stdout, &stderr]
            .into_iter()
            .filter(|text| !text.is_empty());
        let blocks: Vec<Value> = blocks
            .map(|text| json!({ "type": "text", "text": text }))
            .collect();
        Ok(result(&json!({
            "content": blocks, "isError": code != 0,
            "structuredContent": {
                "stdout": stdout, "stderr": stderr, "exitCode": code,
                "executionTime": started.elapsed().as_secs_f64() * 1000.0,
            },
        })))
    }

    fn start(&self, command: &str) -> io::Result<Vec<u8>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let id = format!("task{:04}", tasks.len());
        let file = |name: &str| std::fs::File::create(self.folder.join(format!("{id}.{name}")));
        let child = self
            .bash(command)
            .process_group(0)
            .stdout(file("out")?)
            .stderr(file("err")?)
            .spawn()?;
        tasks.push(BashTask {
            id: id.clone(),
            child,
            is_stopped: false,
        });
        Ok(result(&json!({
            "content": [{ "type": "text", "text": format!("started {id}") }],
            "structuredContent": { "taskId": id, "taskStatus": "submitted" },
        })))
    }

    fn task(&self, id: &str) -> io::Result<Vec<u8>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(task) = tasks.iter_mut().find(|task| task.id == id) else {
            return Ok(exception("resourceNotFoundException", "no such task"));
        };
        let ended = task.child.try_wait()?;
        let status = match (ended, task.is_stopped) {
            (_, true) => "canceled",
            (None, false) => "working",
            (Some(_), false) => "completed",
        };
        let read = |name: &str| {
            let bytes = std::fs::read(self.folder.join(format!("{id}.{name}")));
            text(&bytes.unwrap_or_default())
        };
        let code = ended.filter(|_| !task.is_stopped);
        Ok(result(&json!({
            "content": [],
            "structuredContent": {
                "taskId": id, "taskStatus": status, "stdout": read("out"), "stderr": read("err"),
                "exitCode": code.map(|status| status.code().unwrap_or(137)),
            },
        })))
    }

    fn stop(&self, id: &str) -> io::Result<Vec<u8>> {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(task) = tasks.iter_mut().find(|task| task.id == id) {
            task.is_stopped = true;
            let group = task.child.id().and_then(|id| i32::try_from(id).ok());
            if let Some(group) = group.and_then(rustix::process::Pid::from_raw) {
                let signal = rustix::process::Signal::KILL;
                let _or_it_has_ended = rustix::process::kill_process_group(group, signal);
            }
        }
        Ok(result(&json!({
            "content": [], "structuredContent": { "taskId": id, "taskStatus": "canceled" },
        })))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn result(body: &Value) -> Vec<u8> {
    frame("event", ":event-type", "result", body)
}

fn exception(name: &str, message: &str) -> Vec<u8> {
    let body = json!({ "message": message });
    frame("exception", ":exception-type", name, &body)
}

/// A frame as <https://smithy.io/2.0/aws/amazon-eventstream.html> describes it.
fn frame(kind: &str, name_header: &str, name: &str, body: &Value) -> Vec<u8> {
    let mut headers = Vec::new();
    for (header, value) in [
        (":message-type", kind),
        (name_header, name),
        (":content-type", "application/json"),
    ] {
        headers.push(u8::try_from(header.len()).unwrap_or_default());
        headers.extend_from_slice(header.as_bytes());
        headers.push(7);
        headers.extend_from_slice(&u16::try_from(value.len()).unwrap_or_default().to_be_bytes());
        headers.extend_from_slice(value.as_bytes());
    }
    let body = body.to_string();
    let number = |length: usize| u32::try_from(length).unwrap_or_default().to_be_bytes();
    let mut frame = Vec::new();
    frame.extend_from_slice(&number(12 + headers.len() + body.len() + 4));
    frame.extend_from_slice(&number(headers.len()));
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame.extend_from_slice(&headers);
    frame.extend_from_slice(body.as_bytes());
    frame.extend_from_slice(&crc32fast::hash(&frame).to_be_bytes());
    frame
}
