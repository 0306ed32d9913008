//! PNG through the `png` crate, with the filters and the effort that suit the content of the rows.
//!
//! Rows of a plain desktop are not filtered, since complete patterns recur there; rows of a
//! photograph are. The crate's own levels filter every row: `Fast` is twice as large on desktops,
//! `Balanced` takes ten times as long for photographs.

use std::io::Write as _;
use std::iter;

use png::{Compression, DeflateCompression, Encoder, EncodingError, Filter};
use telechir_device::Frame;

/// Measured on desktops: level 5 takes up to a third longer for 2 to 4 percent.
const PLAIN_LEVEL: DeflateCompression = DeflateCompression::Level(4);
/// Bytes per IDAT chunk: all of a plain desktop, so that few small chunks are written.
const CHUNK_BYTES: usize = 256 * 1024;

/// Encodes the frame as PNG.
pub(crate) fn encode(frame: &Frame) -> Result<Vec<u8>, EncodingError> {
    let (size, rgb) = (frame.size(), frame.to_rgb());
    let stride = size.width as usize * 3;
    let filters = filters(&rgb, stride);
    let noisy = filters.iter().filter(|filter| **filter == Filter::Adaptive);
    let is_photograph = noisy.count() * 2 > filters.len();

    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, size.width, size.height);
    encoder.set_color(png::ColorType::Rgb);
    if is_photograph {
        // Repeated strings are rare here: to search for them takes ten times as long.
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&rgb)?;
        writer.finish()?;
    } else {
        encoder.set_deflate_compression(PLAIN_LEVEL);
        let mut writer = encoder.write_header()?;
        let mut stream = writer.stream_writer_with_size(CHUNK_BYTES)?;
        for (row, filter) in rgb.chunks_exact(stride).zip(filters) {
            stream.set_filter(filter);
            stream.write_all(row)?;
        }
        stream.finish()?;
        writer.finish()?;
    }
    Ok(bytes)
}

/// The filter for each row.
fn filters(rgb: &[u8], stride: usize) -> Vec<Filter> {
    let black = vec![0; stride];
    let above = iter::once(&black[..]).chain(rgb.chunks_exact(stride));
    let rows = rgb.chunks_exact(stride).zip(above);
    rows.map(|(row, above)| match row {
        _ if row == above => Filter::Up,
        _ if is_plain(row, above) => Filter::NoFilter,
        _ => Filter::Adaptive,
    })
    .collect()
}

/// Whether half of the row's pixels equal their neighbour above or to the left.
fn is_plain(row: &[u8], above: &[u8]) -> bool {
    let pixels = row.chunks_exact(3);
    let total = pixels.len();
    let left = row[3..].chunks_exact(3).zip(pixels);
    let same = left
        .zip(above[3..].chunks_exact(3))
        .filter(|((here, left), top)| here == left || here == top)
        .count();
    same * 2 >= total
}
