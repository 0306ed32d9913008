//! From pixels to a picture a model can take: scaled by area averages when it must be, as PNG.

use std::io;

use base64::Engine as _;
use telechir_device::Frame;
use telechir_protocol::{DataContent, Media, Size};

/// A frame as the PNG that a model gets of it, in its own size.
///
/// # Errors
/// When it cannot be encoded.
pub fn png(frame: &Frame) -> Result<Vec<u8>, io::Error> {
    Picture::encode(frame, frame.size()).map(|picture| picture.png)
}

/// An encoded picture.
#[derive(Clone, Debug)]
pub(crate) struct Picture {
    pub(crate) size: Size,
    pub(crate) png: Vec<u8>,
}

impl Picture {
    /// Encodes a frame at `size`, which is not larger than the frame.
    pub(crate) fn encode(frame: &Frame, size: Size) -> Result<Self, io::Error> {
        let rgb = if size == frame.size() {
            frame.to_rgb()
        } else {
            shrink(frame, size)
        };
        let mut png = Vec::new();
        let mut encoder = png::Encoder::new(&mut png, size.width, size.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_compression(png::Compression::Fast);
        let mut writer = encoder.write_header().map_err(io::Error::other)?;
        writer.write_image_data(&rgb).map_err(io::Error::other)?;
        writer.finish().map_err(io::Error::other)?;
        Ok(Self { size, png })
    }

    pub(crate) fn to_media(&self) -> Media {
        let base64 = base64::engine::general_purpose::STANDARD.encode(&self.png);
        Media::Data(DataContent::from_base64("image/png", &base64))
    }
}

/// Weights of one picture pixel along one edge: the first screen pixel and how much of each counts.
struct Span {
    first: usize,
    weights: Vec<f32>,
}

/// Each pixel becomes the average of the area it covers: no pixel of the screen is left out, so
/// thin lines and small text stay readable. Two passes, rows then columns.
fn shrink(frame: &Frame, size: Size) -> Vec<u8> {
    let from = frame.size();
    let columns = spans(from.width, size.width);
    let rows = spans(from.height, size.height);
    let width = size.width as usize;
    let stride = from.width as usize * 4;
    let mut narrow = vec![0f32; from.height as usize * width * 3];
    for (line, out) in frame
        .bgrx()
        .chunks_exact(stride)
        .zip(narrow.chunks_exact_mut(width * 3))
    {
        for (span, pixel) in columns.iter().zip(out.chunks_exact_mut(3)) {
            for (source, weight) in line[span.first * 4..].chunks_exact(4).zip(&span.weights) {
                pixel[0] += f32::from(source[2]) * weight;
                pixel[1] += f32::from(source[1]) * weight;
                pixel[2] += f32::from(source[0]) * weight;
            }
        }
    }
    let mut rgb = Vec::with_capacity(size.height as usize * width * 3);
    let mut sums = vec![0f32; width * 3];
    for span in &rows {
        sums.fill(0.0);
        for (line, weight) in narrow
            .chunks_exact(width * 3)
            .skip(span.first)
            .zip(&span.weights)
        {
            for (sum, value) in sums.iter_mut().zip(line) {
                *sum += value * weight;
            }
        }
        rgb.extend(sums.iter().map(|sum| to_byte(*sum)));
    }
    rgb
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to a byte"
)]
fn to_byte(value: f32) -> u8 {
    value.round().clamp(0.0, 255.0) as u8
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "places lie within an edge of the screen"
)]
fn spans(from: u32, to: u32) -> Vec<Span> {
    let step = f64::from(from) / f64::from(to);
    (0..to)
        .map(|place| {
            let start = f64::from(place) * step;
            let end = (start + step).min(f64::from(from));
            let (first, last) = (start.floor() as u32, (end.ceil() as u32).min(from));
            let weights = (first..last).map(|pixel| {
                let covered = end.min(f64::from(pixel) + 1.0) - start.max(f64::from(pixel));
                (covered / step) as f32
            });
            Span {
                first: first as usize,
                weights: weights.collect(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(size: Size, pixel: impl Fn(u32, u32) -> [u8; 3]) -> Frame {
        let mut bgrx = Vec::new();
        for y in 0..size.height {
            for x in 0..size.width {
                let [red, green, blue] = pixel(x, y);
                bgrx.extend_from_slice(&[blue, green, red, 0]);
            }
        }
        Frame::new(size, bgrx).unwrap()
    }

    fn decode(png: &[u8]) -> Vec<u8> {
        let mut reader = png::Decoder::new(io::Cursor::new(png)).read_info().unwrap();
        let mut rgb = vec![0; reader.output_buffer_size().unwrap()];
        reader.next_frame(&mut rgb).unwrap();
        rgb
    }

    #[test]
    fn a_picture_at_its_own_size_is_exact() {
        let frame = frame(Size::new(5, 3), |x, y| {
            [
                [0, 50, 99, 200, 255][x as usize],
                [9, 90, 180][y as usize],
                7,
            ]
        });
        let picture = Picture::encode(&frame, frame.size()).unwrap();
        assert_eq!(decode(&picture.png), frame.to_rgb());
    }

    #[test]
    fn a_smaller_picture_averages_the_area() {
        let frame = frame(Size::new(4, 4), |x, y| {
            if (x + y) % 2 == 0 {
                [200, 0, 0]
            } else {
                [0, 100, 0]
            }
        });
        let picture = Picture::encode(&frame, Size::new(2, 2)).unwrap();
        assert_eq!(decode(&picture.png), [100, 50, 0].repeat(4));
    }

    #[test]
    fn one_colour_stays_that_colour_at_any_size() {
        let frame = frame(Size::new(97, 61), |_, _| [255, 128, 3]);
        for size in [Size::new(96, 60), Size::new(13, 61), Size::new(1, 1)] {
            let picture = Picture::encode(&frame, size).unwrap();
            let pixels = (size.width * size.height) as usize;
            assert_eq!(decode(&picture.png), [255, 128, 3].repeat(pixels));
        }
    }
}
