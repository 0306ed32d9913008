//! PNG through the `png` crate, with the filters and the effort that suit the content of the rows.
//!
//! Rows of a plain desktop are not filtered, since complete patterns recur there; rows with a part
//! of a photograph are. The crate's own levels filter every row: `Fast` is twice as large on desktops,
//! `Balanced` takes ten times as long for photographs.

use std::io::Write as _;

use png::{Compression, DeflateCompression, Encoder, EncodingError, Filter};
use telechir_device::Frame;

/// Measured on desktops: level 5 takes up to a third longer for 2 to 4 percent.
const PLAIN_LEVEL: DeflateCompression = DeflateCompression::Level(4);
/// With much noise, level 4 takes up to twice as long as level 2 for a tenth fewer bytes.
const MIXED_LEVEL: DeflateCompression = DeflateCompression::Level(2);
/// Bytes per IDAT chunk: all of a plain desktop, so that few small chunks are written.
const CHUNK_BYTES: usize = 256 * 1024;

/// Encodes the frame as PNG.
pub(crate) fn encode(frame: &Frame) -> Result<Vec<u8>, EncodingError> {
    let (size, rgb) = (frame.size(), frame.to_rgb());
    let stride = size.width as usize * 3;
    let noise = noisy_pixels(&rgb, stride);
    let noisy_percent = noise.iter().sum::<usize>() * 100 / (rgb.len() / 3).max(1);

    let mut bytes = Vec::new();
    let mut encoder = Encoder::new(&mut bytes, size.width, size.height);
    encoder.set_color(png::ColorType::Rgb);
    if noisy_percent > 60 {
        // Repeated strings are rare here: to search for them takes up to ten times as long.
        encoder.set_compression(Compression::Fast);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&rgb)?;
        writer.finish()?;
    } else {
        encoder.set_deflate_compression(if noisy_percent > 25 {
            MIXED_LEVEL
        } else {
            PLAIN_LEVEL
        });
        let mut writer = encoder.write_header()?;
        let mut stream = writer.stream_writer_with_size(CHUNK_BYTES)?;
        for ((row, above), noisy) in rows_with_above(&rgb, stride).zip(noise) {
            stream.set_filter(match row {
                _ if noisy * 3 * 8 > stride => Filter::Adaptive,
                _ if row == above => Filter::Up,
                _ => Filter::NoFilter,
            });
            stream.write_all(row)?;
        }
        stream.finish()?;
        writer.finish()?;
    }
    Ok(bytes)
}

/// The number of pixels in each row that equal neither their neighbour to the left nor the one above.
fn noisy_pixels(rgb: &[u8], stride: usize) -> Vec<usize> {
    let count = |(row, above): (&[u8], &[u8])| {
        let left = row[3..].chunks_exact(3).zip(row.chunks_exact(3));
        left.zip(above[3..].chunks_exact(3))
            .filter(|((here, left), top)| here != left && here != top)
            .count()
    };
    rows_with_above(rgb, stride).map(count).collect()
}

/// Each row with the one above it; the first is below itself.
fn rows_with_above(rgb: &[u8], stride: usize) -> impl Iterator<Item = (&[u8], &[u8])> {
    let above = rgb
        .chunks_exact(stride)
        .take(1)
        .chain(rgb.chunks_exact(stride));
    rgb.chunks_exact(stride).zip(above)
}
