//! Renders a recording as one HTML page: screenshots, calls, verdicts, results. The page needs no
//! script, network or other file, and no text of a model can become markup.

mod gather;
mod html;
mod marks;
mod page;
mod screenshots;

use std::path::Path;

use telechir_runtime::JournalError;

/// Renders the HTML page of a recording.
///
/// # Errors
/// If the recording cannot be read.
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
