//! Runs tesseract in a sandbox and verifies the sandbox before sending the image.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use rustix::io::Errno;
use telechir_device::{DeviceError, Frame, TextLine, TextRecognizer};
use telechir_process::confinement::{Confinement, ConfinementError, ResourceLimits, verify_inside};
use telechir_process::{Identity, Readiness, Stdio, find_program, package_of};
use tokio::time::timeout;

use crate::pgm::encode_pgm;
use crate::tsv::lines;

const PROGRAM: &str = "tesseract";
const WHAT: &str = "text recognition";
/// Maximum duration of one run; a full screen of text takes one to two seconds.
const RUN_TIMEOUT: Duration = Duration::from_secs(20);
/// Maximum time until the process exits after its output ended.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Maximum size of the output table in bytes.
const MAX_TABLE_BYTES: usize = 8 << 20;
const MIB: u64 = 1 << 20;

/// The script inside the sandbox: reports "ready", lists the installed languages and recognizes
/// sparse text.
const SCRIPT: &str = r#"echo ready
for each in $("$0" --list-langs 2>/dev/null | tail -n +2); do
    case $each in osd|equ) ;; *) languages+=${languages:++}$each ;; esac
done
exec "$0" stdin stdout -l "${languages:-eng}" --psm 11 tsv 2>/dev/null
"#;

/// Text recognition with tesseract, in all installed languages.
#[derive(Debug)]
pub struct Tesseract {
    identity: Option<Identity>,
    program: PathBuf,
}

impl Tesseract {
    /// Runs tesseract as `identity`: required for root, absent otherwise.
    pub fn new(identity: Option<Identity>) -> Self {
        Self {
            identity,
            program: PROGRAM.into(),
        }
    }

    /// Uses another program with the same command line.
    #[must_use]
    pub fn with_program(mut self, program: impl Into<PathBuf>) -> Self {
        self.program = program.into();
        self
    }

    async fn table(&self, program: &Path, screenshot: &[u8]) -> Result<String, DeviceError> {
        let limits = ResourceLimits {
            processes: 32,
            memory_bytes: 1024 * MIB,
            total_memory_bytes: 1024 * MIB,
            tmp_bytes: 16 * MIB,
            ..ResourceLimits::default()
        };
        let script = format!("{}{SCRIPT}", limits.script());
        let confinement = Confinement::new(self.identity, &limits).map_err(|e| refused(&e))?;
        let (spawn, info) = confinement
            // Multiple threads make it slower.
            .env("OMP_THREAD_LIMIT", "1")
            .env("LC_ALL", "C.UTF-8")
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .command(
                ["bash", "--noprofile", "--norc", "-c", &script]
                    .map(OsStr::new)
                    .into_iter()
                    .chain([program.as_os_str()]),
            )
            .map_err(|error| failed(&error))?;
        let spawned = spawn.stdin(Stdio::Piped).stdout(Stdio::Piped).spawn().await;
        let mut child = spawned.map_err(|error| unavailable(&error))?;
        let (Some(input), Some(output)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(unavailable(&"its pipes are missing"));
        };
        let (input, output) = (pipe(input), pipe(output));
        let (input, output) = (
            input.map_err(|e| failed(&e))?,
            output.map_err(|e| failed(&e))?,
        );
        if first_line(&output).await.map_err(|e| failed(&e))? != "ready" {
            return Err(refused(&info.failure()));
        }
        let first = info.first_process();
        let first = first.ok_or_else(|| refused(&info.failure()))?;
        verify_inside(first).map_err(|error| refused(&error))?;
        match write_all(input, screenshot).await {
            // If it stopped reading, the incomplete output shows it.
            Ok(()) | Err(Errno::PIPE) => {}
            Err(errno) => return Err(failed(&io::Error::from(errno))),
        }
        let table = read_to_end(&output).await.map_err(|error| failed(&error))?;
        child
            .end(EXIT_TIMEOUT)
            .await
            .map_err(|error| failed(&error))?;
        Ok(table)
    }
}

#[async_trait]
impl TextRecognizer for Tesseract {
    async fn read(&mut self, frame: &Frame) -> Result<Vec<TextLine>, DeviceError> {
        let Some(program) = find_program(&self.program) else {
            let package = package_of(PROGRAM).unwrap_or(PROGRAM);
            return Err(unavailable(&format!(
                "`{PROGRAM}` is not installed; it comes with the package `{package}`"
            )));
        };
        let frame = frame.clone();
        let screenshot = tokio::task::spawn_blocking(move || encode_pgm(&frame)).await;
        let screenshot = screenshot.map_err(|error| unavailable(&error))?;
        let table = timeout(RUN_TIMEOUT, self.table(&program, &screenshot));
        let table = table.await.map_err(|_| DeviceError::Timeout {
            what: "recognize text on the screen",
            limit_ms: u64::try_from(RUN_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
        })??;
        if !table.starts_with("level\t") {
            return Err(unavailable(
                &"`tesseract` returned no table; install a language such as `tesseract-ocr-eng`",
            ));
        }
        Ok(lines(&table))
    }
}

fn unavailable(message: &dyn std::fmt::Display) -> DeviceError {
    DeviceError::Unavailable {
        what: WHAT,
        message: message.to_string(),
    }
}

fn refused(error: &ConfinementError) -> DeviceError {
    unavailable(&format!(
        "`{PROGRAM}` could not be sandboxed, so it was not started: {error}"
    ))
}

fn failed(error: &io::Error) -> DeviceError {
    unavailable(&format!("`{PROGRAM}` failed to exchange data: {error}"))
}

/// The parent's end of a pipe, with readiness events.
fn pipe(fd: OwnedFd) -> io::Result<Readiness> {
    rustix::io::ioctl_fionbio(&fd, true)?;
    Readiness::both(fd)
}

async fn write_all(input: Readiness, screenshot: &[u8]) -> Result<(), Errno> {
    let mut rest = screenshot;
    while !rest.is_empty() {
        let written = input.write(|fd| Ok(rustix::io::write(fd, rest)?)).await;
        let written = written.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        rest = &rest[written..];
    }
    Ok(())
}

async fn first_line(output: &Readiness) -> io::Result<String> {
    let mut line = Vec::new();
    while !line.ends_with(b"\n") {
        let mut byte = [0; 1];
        let count = output
            .read(|fd| Ok(rustix::io::read(fd, &mut byte)?))
            .await?;
        if count == 0 {
            break;
        }
        line.extend_from_slice(&byte);
    }
    Ok(String::from_utf8_lossy(&line).trim().to_owned())
}

async fn read_to_end(output: &Readiness) -> io::Result<String> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    while bytes.len() < MAX_TABLE_BYTES {
        let count = output
            .read(|fd| Ok(rustix::io::read(fd, &mut chunk)?))
            .await?;
        if count == 0 {
            break;
        }
        bytes.extend_from_slice(&chunk[..count]);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
