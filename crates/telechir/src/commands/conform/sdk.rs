//! Validates translated documents with the types of the providers' SDKs, if they are installed.
//!
//! One Python process per SDK reads a document per line and prints a line for each that it rejects.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use serde::Deserialize;
use serde_json::{Value, json};
use telechir_providers::Dialect;
use telechir_providers::conform::sdk_types;

use crate::error::CliError;

/// The SDKs of one folder, as `scripts/sdk.sh` installs them.
pub(super) struct SdkChecks {
    python: PathBuf,
    script: PathBuf,
    processes: Mutex<BTreeMap<&'static str, SdkProcess>>,
}

/// The translation of a document that is validated.
#[derive(Clone, Debug, PartialEq, serde::Serialize, Deserialize)]
pub(super) struct CheckedTranslation {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) file: String,
    /// The document in the file.
    pub(super) at: String,
}

/// A translation that the types of an SDK reject.
pub(super) struct SdkRefusal {
    pub(super) translation: CheckedTranslation,
    pub(super) problem: String,
}

struct SdkProcess {
    child: Child,
    stdin: BufWriter<ChildStdin>,
    replies: JoinHandle<Result<Replies, String>>,
    sent: usize,
}

/// What a process printed: the rejections, and how many documents it checked.
#[derive(Default)]
struct Replies {
    refusals: Vec<SdkRefusal>,
    checked: Option<usize>,
}

/// One line of a process.
#[derive(Deserialize)]
#[serde(untagged)]
enum Reply {
    Refusal { name: String, problem: String },
    End { checked: usize },
}

impl SdkChecks {
    /// The SDKs in the folder; `None` if none are installed there.
    pub(super) fn installed(folder: &Path) -> Option<Self> {
        let python = folder.join("bin/python");
        let script = folder.join("check/check.py");
        (python.exists() && script.exists()).then(|| Self {
            python,
            script,
            processes: Mutex::default(),
        })
    }

    /// Sends a list of translated messages or items to the process of its SDK.
    pub(super) fn send(
        &self,
        to: Dialect,
        translation: &CheckedTranslation,
        document: &Value,
    ) -> Result<(), String> {
        let Some(types) = sdk_types(to) else {
            return Ok(());
        };
        let kind = format!("{}history", types.prefix);
        let name = json!(translation).to_string();
        let line = json!({"name": name, "kind": kind, "document": document});
        let mut processes = self
            .processes
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if !processes.contains_key(types.sdk) {
            processes.insert(types.sdk, self.start(types.sdk)?);
        }
        let Some(process) = processes.get_mut(types.sdk) else {
            return Ok(());
        };
        process.sent += 1;
        writeln!(process.stdin, "{line}")
            .map_err(|error| format!("failed to write to the types of {}: {error}", types.sdk))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a validator of documents; there is no session that a guardian would protect"
    )]
    fn start(&self, sdk: &str) -> Result<SdkProcess, String> {
        let failed =
            |error: std::io::Error| format!("failed to start {}: {error}", self.python.display());
        let mut child = Command::new(&self.python)
            .arg("-B")
            .arg(&self.script)
            .arg(sdk)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("failed to connect to the types of {sdk}"));
        };
        Ok(SdkProcess {
            child,
            stdin: BufWriter::new(stdin),
            replies: thread::spawn(move || read(stdout)),
            sent: 0,
        })
    }

    /// Waits for all processes and returns the rejections.
    pub(super) fn finish(self) -> Result<Vec<SdkRefusal>, CliError> {
        let processes = self
            .processes
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut refusals = Vec::new();
        for (sdk, process) in processes {
            let found = process.finish(sdk).map_err(CliError::message)?;
            refusals.extend(found);
        }
        Ok(refusals)
    }
}

impl SdkProcess {
    fn finish(mut self, sdk: &str) -> Result<Vec<SdkRefusal>, String> {
        let flushed = self.stdin.flush();
        // The end of its input ends the process.
        drop(self.stdin);
        let replies = self.replies.join();
        let status = self.child.wait().map_err(|error| error.to_string())?;
        let replies = replies.unwrap_or_else(|_| Err("its reader failed".to_owned()));
        let replies =
            replies.map_err(|error| format!("failed to read the types of {sdk}: {error}"))?;
        if flushed.is_err() || !status.success() || replies.checked != Some(self.sent) {
            return Err(format!(
                "the types of {sdk} checked {:?} of {} documents ({status}); install the SDKs again with scripts/sdk.sh",
                replies.checked, self.sent
            ));
        }
        Ok(replies.refusals)
    }
}

fn read(stdout: ChildStdout) -> Result<Replies, String> {
    let mut replies = Replies::default();
    for line in BufReader::new(stdout).lines() {
        let line = line.map_err(|error| error.to_string())?;
        match serde_json::from_str(&line).map_err(|error| format!("{error}: {line}"))? {
            Reply::End { checked } => replies.checked = Some(checked),
            Reply::Refusal { name, problem } => {
                let translation = serde_json::from_str(&name).map_err(|error| error.to_string())?;
                replies.refusals.push(SdkRefusal {
                    translation,
                    problem,
                });
            }
        }
    }
    Ok(replies)
}
