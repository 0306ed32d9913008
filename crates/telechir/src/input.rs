//! Bounded reading of stdin, and writing of stdout and stderr.

use std::io::{self, IsTerminal as _, Read, Write};

use crate::error::CliError;

/// A history with many screenshots has some tens of megabytes; providers accept 32 MB.
const MAX_BYTES: u64 = 256 << 20;

/// The mark with which some programs begin a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads all of stdin, without a byte order mark. At a terminal, says that it waits.
pub(crate) fn read_stdin() -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    if io::stdin().is_terminal() {
        let text = "telechir: waiting for JSON on standard input, as from `< response.json`; Ctrl+D \
                    ends it";
        let _best_effort = writeln!(io::stderr(), "{text}");
    }
    io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| CliError::message(format!("failed to read stdin: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(CliError::message(format!(
            "stdin has more than {} MiB, the maximum",
            MAX_BYTES >> 20
        )));
    }
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(CliError::message(
            "stdin is empty: pipe a provider's JSON into this command",
        ));
    }
    Ok(bytes)
}

/// Writes one JSON document and a newline to stdout.
pub(crate) fn write_json(value: &impl serde::Serialize, pretty: bool) -> Result<(), CliError> {
    to_stdout(|out| {
        if pretty {
            serde_json::to_writer_pretty(&mut *out, value)?;
        } else {
            serde_json::to_writer(&mut *out, value)?;
        }
        out.write_all(b"\n")
    })
}

/// Writes text to stdout.
pub(crate) fn write_text(text: &str) -> Result<(), CliError> {
    to_stdout(|out| out.write_all(text.as_bytes()))
}

/// Writes bytes to stdout.
pub(crate) fn write_bytes(bytes: &[u8]) -> Result<(), CliError> {
    to_stdout(|out| out.write_all(bytes))
}

fn to_stdout(
    write: impl FnOnce(&mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>,
) -> Result<(), CliError> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    match written {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Err(CliError::closed_output()),
        other => other.map_err(|e| CliError::message(format!("failed to write to stdout: {e}"))),
    }
}

/// Writes each item as one line of JSON to stderr, such as a report's losses.
pub(crate) fn report_lines<T: serde::Serialize>(lines: &[T]) {
    let mut err = io::stderr().lock();
    for line in lines {
        if let Ok(text) = serde_json::to_string(line) {
            let _best_effort = writeln!(err, "{text}");
        }
    }
}
