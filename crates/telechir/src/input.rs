//! What comes in on standard input, bounded.

use std::io::{self, Read, Write};

use telechir_providers::Document;

use crate::error::Failure;

/// A history with many pictures is some tens of megabytes; providers take 32 MB.
const MAX_BYTES: u64 = 256 << 20;

/// All of standard input.
pub(crate) fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::message(format!("failed to read standard input: {e}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::message(format!(
            "standard input is larger than {} MiB",
            MAX_BYTES >> 20
        )));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::message(
            "standard input is empty: pipe a provider's JSON into this command",
        ));
    }
    Ok(bytes)
}

/// Writes one JSON document and a newline to standard output.
pub(crate) fn write_json(value: &impl serde::Serialize, pretty: bool) -> Result<(), Failure> {
    let text = if pretty {
        serde_json::to_string_pretty(value)
    } else {
        serde_json::to_string(value)
    };
    let text = text.map_err(|e| Failure::message(format!("failed to write JSON: {e}")))?;
    write_text(&format!("{text}\n"))
}

/// Writes text to standard output.
pub(crate) fn write_text(text: &str) -> Result<(), Failure> {
    to_stdout(|out| out.write_all(text.as_bytes()))
}

/// Writes a dialect's document and a newline to standard output, its pictures without a copy.
pub(crate) fn write_document(document: &Document) -> Result<(), Failure> {
    to_stdout(|out| {
        document.write_to(&mut *out)?;
        out.write_all(b"\n")
    })
}

fn to_stdout(
    write: impl FnOnce(&mut io::BufWriter<io::StdoutLock<'_>>) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = io::BufWriter::new(io::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    match written {
        // The reader closed its end: it has what it wanted.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => {
            other.map_err(|e| Failure::message(format!("failed to write standard output: {e}")))
        }
    }
}

/// Writes one JSON document a line to standard error: reports.
pub(crate) fn report_lines<T: serde::Serialize>(lines: &[T]) {
    let mut err = io::stderr().lock();
    for line in lines {
        if let Ok(text) = serde_json::to_string(line) {
            let _best_effort = writeln!(err, "{text}");
        }
    }
}
