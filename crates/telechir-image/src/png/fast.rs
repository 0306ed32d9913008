//! The fast level: filtered rows through fdeflate, which knows only literals and runs of zeros.

use std::io;

use fdeflate::{Compressor, StoredOnlyCompressor};
use telechir_device::Frame;

use super::chunk;
use super::filter::Filtered;
use super::rows::{FrameRow, Rows};

/// Encodes the frame as PNG.
pub(crate) fn encode(frame: &Frame) -> Result<Vec<u8>, String> {
    let raw = (frame.size().width as usize * 3 + 1) * frame.size().height as usize;
    match stream(frame, raw / 8) {
        Ok(stream) if stream.len() <= StoredOnlyCompressor::<()>::compressed_size(raw) => {
            Ok(chunk::file(frame.size(), &[&stream]))
        }
        // Noise would grow at this compression level.
        Ok(_) | Err(_) => super::small(frame),
    }
}

fn stream(frame: &Frame, room: usize) -> io::Result<Vec<u8>> {
    let mut rows = Rows::new(frame, 0, frame.size().height as usize);
    let mut filtered = Filtered::new(rows.length());
    let mut compressor = Compressor::new(Vec::with_capacity(room))?;
    while let Some(row) = rows.advance() {
        compressor.write_data(match row {
            FrameRow::Same => filtered.same(),
            FrameRow::Other { above, current } => filtered.smallest(above, current),
        })?;
    }
    compressor.finish()
}
