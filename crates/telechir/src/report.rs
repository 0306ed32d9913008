//! One HTML page of a recording: pictures, calls, verdicts, answers. It needs no script, no
//! network and no other file, and nothing a model wrote can become part of its markup.

mod gather;
mod html;
mod page;

use std::path::Path;

use telechir_runtime::JournalError;

/// The page of a recording.
///
/// # Errors
/// When the recording cannot be read.
pub(crate) fn render(recording: &Path) -> Result<String, JournalError> {
    let records = telechir_runtime::read(recording)?;
    let verified = telechir_runtime::verify(recording)?;
    let screenshot = |digest: &str| {
        telechir_runtime::read_blob(recording, digest)
            .ok()
            .flatten()
    };
    Ok(page::write(&gather::runs(&records), &verified, &screenshot))
}
