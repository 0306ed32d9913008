//! The small level: strips of the image compressed on several cores into one stream.
//!
//! Rows of a plain desktop are not filtered, since complete patterns recur there; rows of a
//! photograph are. Each strip is compressed with the settings for most of its rows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use telechir_device::Frame;
use zlib_rs::adler32::{adler32, adler32_combine};
use zlib_rs::{Deflate, DeflateConfig, DeflateFlush, Status, Strategy, compress_bound};

use super::chunk;
use super::filter::Filtered;
use super::rows::{FrameRow, Rows};

/// Rows per strip: enough that the last strip, on one core alone, takes little time.
const STRIP_ROWS: usize = 64;
/// The window of deflate in bytes.
const WINDOW_BYTES: usize = 32 * 1024;
/// A zlib stream's first bytes (RFC 1950): a window of 32 KB.
const HEADER: [u8; 2] = [0x78, 0x01];
/// More threads gain little, and other sessions encode images, too.
const MAX_THREADS: usize = 4;

/// The content of most rows of a strip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowContent {
    Plain,
    Photograph,
}

/// A compressed strip.
#[derive(Debug)]
struct Strip {
    index: usize,
    body: Vec<u8>,
    check: u32,
    length: usize,
}

/// Encodes the frame as PNG.
pub(crate) fn encode(frame: &Frame) -> Result<Vec<u8>, String> {
    let count = (frame.size().height as usize).div_ceil(STRIP_ROWS);
    let mut strips = strips(frame, count)?;
    strips.sort_by_key(|strip| strip.index);
    let check = strips.iter().fold(1, |check, strip| {
        adler32_combine(check, strip.check, strip.length as u64)
    });
    let check = check.to_be_bytes();
    let mut stream: Vec<&[u8]> = vec![&HEADER];
    stream.extend(strips.iter().map(|strip| strip.body.as_slice()));
    stream.push(&check);
    Ok(chunk::file(frame.size(), &stream))
}

/// All strips, compressed by several threads; each takes the next remaining strip.
fn strips(frame: &Frame, count: usize) -> Result<Vec<Strip>, String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let taken = std::iter::repeat_with(|| next.fetch_add(1, Ordering::Relaxed));
        taken
            .take_while(|index| *index < count)
            .map(|index| strip(frame, index, index + 1 == count))
            .collect::<Result<Vec<_>, _>>()
    };
    thread::scope(|scope| {
        let helpers: Vec<_> = (1..cores.min(count).min(MAX_THREADS))
            .map(|_| scope.spawn(work))
            .collect();
        let mut strips = work()?;
        for helper in helpers {
            match helper.join() {
                Ok(done) => strips.extend(done?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(strips)
    })
}

/// Compresses one strip, with the rows before it as the dictionary, as the decoder has them.
fn strip(frame: &Frame, index: usize, is_last: bool) -> Result<Strip, String> {
    let height = frame.size().height as usize;
    let first = index * STRIP_ROWS;
    let count = STRIP_ROWS.min(height - first);
    let row_bytes = frame.size().width as usize * 3 + 1;
    let before = WINDOW_BYTES.div_ceil(row_bytes).min(first);
    let mut rows = Rows::new(frame, first - before, before + count);
    let mut filtered = Filtered::new(rows.length());
    let mut bytes = Vec::with_capacity((before + count) * row_bytes);
    let mut noisy = 0;
    while let Some(row) = rows.advance() {
        match row {
            FrameRow::Same => bytes.extend_from_slice(filtered.same()),
            FrameRow::Other { above, current } => {
                if is_plain(above, current) {
                    bytes.extend_from_slice(filtered.plain(current));
                } else {
                    bytes.extend_from_slice(filtered.smallest(above, current));
                    noisy += 1;
                }
            }
        }
    }
    let (known, bytes) = bytes.split_at(before * row_bytes);
    let known = &known[known.len().saturating_sub(WINDOW_BYTES)..];
    let content = if noisy * 2 > before + count {
        RowContent::Photograph
    } else {
        RowContent::Plain
    };
    Ok(Strip {
        index,
        body: compress(known, bytes, content, is_last)?,
        check: adler32(1, bytes),
        length: bytes.len(),
    })
}

/// Whether half of the row's pixels equal their neighbour above or to the left.
fn is_plain(above: &[u8], current: &[u8]) -> bool {
    let pixels = current.chunks_exact(3);
    let total = pixels.len();
    let left = current[3..].chunks_exact(3).zip(pixels);
    let same = left
        .zip(above[3..].chunks_exact(3))
        .filter(|((here, left), top)| here == left || here == top)
        .count();
    same * 2 >= total
}

/// Deflates `bytes` after the dictionary `known`.
fn compress(
    known: &[u8],
    bytes: &[u8],
    content: RowContent,
    is_last: bool,
) -> Result<Vec<u8>, String> {
    // Measured on desktops: a higher level of either takes twice the time for a few percent.
    let (level, strategy) = match content {
        RowContent::Plain => (3, Strategy::Default),
        RowContent::Photograph => (1, Strategy::HuffmanOnly),
    };
    let mut deflate = Deflate::new_with_config(DeflateConfig {
        level,
        strategy,
        // Raw deflate without a header.
        window_bits: -15,
        ..DeflateConfig::default()
    });
    let (flush, expected) = if is_last {
        (DeflateFlush::Finish, Status::StreamEnd)
    } else {
        // Ends at a byte boundary, so that the next strip can follow.
        (DeflateFlush::SyncFlush, Status::Ok)
    };
    let dictionary = deflate.set_dictionary(known);
    dictionary.map_err(|error| error.as_str().to_owned())?;
    let mut body = vec![0; compress_bound(bytes.len()) + 64];
    let status = deflate.compress(bytes, &mut body, flush);
    let is_complete = deflate.total_in() == bytes.len() as u64;
    match (status, usize::try_from(deflate.total_out())) {
        (Ok(status), Ok(length)) if status == expected && is_complete => body.truncate(length),
        (status, _) => return Err(format!("deflate ended with {status:?}")),
    }
    Ok(body)
}
