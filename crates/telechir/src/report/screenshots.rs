//! The screenshots of a report. Each is in the page once; one that differs little from an earlier one
//! consists of that one and the parts that differ.

use std::collections::HashMap;
use std::io::Cursor;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use telechir_device::{Frame, ScreenRegion};
use telechir_protocol::Size;
use telechir_runtime::{Format, encode};

use super::html::Html;

/// Number of earlier screenshots to which a new one is compared: a screen that changes between two
/// windows needs more than one.
const MAX_RECENT: usize = 6;
/// Rows that are compared as one: differences with fewer equal rows between them are one part.
const BAND_ROWS: u32 = 16;

/// Bytes of a digest; none if they are missing or were modified.
pub(super) type ReadBlob<'a> = &'a dyn Fn(&str) -> Option<Vec<u8>>;

/// Left, top, width and height in pixels, and the encoded image.
type ChangedPart = ([u32; 4], Vec<u8>);

/// The screenshots that the page shows so far.
pub(super) struct ReportScreenshots<'a> {
    read: ReadBlob<'a>,
    /// The encoded images, in the order of their class names.
    images: Vec<Vec<u8>>,
    drawn: HashMap<String, Option<LayeredScreenshot>>,
    /// Complete screenshots with their pixels, latest last.
    recent: Vec<(Frame, usize)>,
}

/// A screenshot as the images that it consists of.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct LayeredScreenshot {
    /// Absent for an image whose pixels are not read, such as a JPEG.
    pub(super) size: Option<Size>,
    /// The complete image below.
    base: usize,
    /// Images of the parts that differ: left, top, width and height in pixels.
    parts: Vec<([u32; 4], usize)>,
}

impl<'a> ReportScreenshots<'a> {
    pub(super) fn new(read: ReadBlob<'a>) -> Self {
        Self {
            read,
            images: Vec::new(),
            drawn: HashMap::new(),
            recent: Vec::new(),
        }
    }

    /// The screenshot with this digest; none if it is missing or was modified.
    pub(super) fn screenshot(&mut self, digest: &str) -> Option<LayeredScreenshot> {
        if let Some(known) = self.drawn.get(digest) {
            return known.clone();
        }
        let screenshot = (self.read)(digest).map(|bytes| self.add(bytes));
        self.drawn.insert(digest.to_owned(), screenshot.clone());
        screenshot
    }

    fn add(&mut self, bytes: Vec<u8>) -> LayeredScreenshot {
        let Some(frame) = decode(&bytes) else {
            return LayeredScreenshot {
                size: None,
                base: self.image(bytes),
                parts: Vec::new(),
            };
        };
        let size = Some(frame.size());
        if let Some((base, parts)) = self.difference(&frame, bytes.len()) {
            let parts = parts
                .into_iter()
                .map(|(area, bytes)| (area, self.image(bytes)))
                .collect();
            return LayeredScreenshot { size, base, parts };
        }
        let base = self.image(bytes);
        if self.recent.len() == MAX_RECENT {
            self.recent.remove(0);
        }
        self.recent.push((frame, base));
        let parts = Vec::new();
        LayeredScreenshot { size, base, parts }
    }

    fn image(&mut self, bytes: Vec<u8>) -> usize {
        self.images.push(bytes);
        self.images.len() - 1
    }

    /// The recent screenshot that differs least, and the parts that differ, if those take at most half of
    /// `max_bytes`.
    fn difference(&self, frame: &Frame, max_bytes: usize) -> Option<(usize, Vec<ChangedPart>)> {
        let same_size = self.recent.iter().rev();
        let same_size = same_size.filter(|(recent, _)| recent.size() == frame.size());
        let (base, areas) = same_size
            .map(|(recent, base)| (*base, changed(recent, frame)))
            .min_by_key(|(_, areas)| pixels(areas))?;
        let all = u64::from(frame.size().width) * u64::from(frame.size().height);
        if pixels(&areas) > all / 2 {
            return None;
        }
        let mut parts = Vec::new();
        let mut bytes = 0;
        for area in areas {
            let image = encode(&frame.crop(region(frame.size(), area)?)?, Format::Png).ok()?;
            bytes += image.len();
            if bytes > max_bytes / 2 {
                return None;
            }
            parts.push((area, image));
        }
        Some((base, parts))
    }

    /// The style sheet with all images, each once.
    pub(super) fn write_images(&self, html: &mut Html) {
        html.raw("<style>\n");
        for (index, bytes) in self.images.iter().enumerate() {
            html.image_rule(index, &STANDARD.encode(bytes));
        }
        html.raw("</style>\n");
    }
}

impl LayeredScreenshot {
    /// Writes the screenshot's layers into an open element of the class `shot`.
    pub(super) fn write_layers(&self, html: &mut Html) {
        html.layer(self.base, [0.0, 0.0, 100.0, 100.0]);
        let size = self.size.unwrap_or(Size::new(1, 1));
        let (width, height) = (f64::from(size.width), f64::from(size.height));
        for ([left, top, wide, high], image) in &self.parts {
            let percent = |part: &u32, of: f64| f64::from(*part) * 100.0 / of;
            let area = [
                percent(left, width),
                percent(top, height),
                percent(wide, width),
                percent(high, height),
            ];
            html.layer(*image, area);
        }
    }
}

fn pixels(areas: &[[u32; 4]]) -> u64 {
    let count = |[_, _, width, height]: &[u32; 4]| u64::from(*width) * u64::from(*height);
    areas.iter().map(count).sum()
}

/// The rectangles outside of which two screenshots of one size are equal.
fn changed(one: &Frame, other: &Frame) -> Vec<[u32; 4]> {
    let size = one.size();
    let row_bytes = size.width as usize * 4;
    let mut areas: Vec<[u32; 4]> = Vec::new();
    let mut top = 0;
    while top < size.height {
        let bottom = (top + BAND_ROWS).min(size.height);
        let range = top as usize * row_bytes..bottom as usize * row_bytes;
        let (a, b) = (
            one.bgrx().get(range.clone()).unwrap_or_default(),
            other.bgrx().get(range).unwrap_or_default(),
        );
        if let Some((left, right)) = changed_columns(a, b, row_bytes) {
            match areas.last_mut() {
                // Joined with the band above.
                Some([x, y, width, height]) if *y + *height == top => {
                    let end = (*x + *width).max(right);
                    *x = (*x).min(left);
                    *width = end - *x;
                    *height = bottom - *y;
                }
                _ => areas.push([left, top, right - left, bottom - top]),
            }
        }
        top = bottom;
    }
    areas
}

/// The first changed column of some rows and the one after the last. The fourth byte of a pixel is
/// unused.
fn changed_columns(one: &[u8], other: &[u8], row_bytes: usize) -> Option<(u32, u32)> {
    if one == other {
        return None;
    }
    let rows = one.chunks(row_bytes).zip(other.chunks(row_bytes));
    let mut columns: Option<(usize, usize)> = None;
    for (a, b) in rows {
        let pixels = || a.chunks_exact(4).zip(b.chunks_exact(4));
        let differs = |(a, b): (&[u8], &[u8])| a.get(..3) != b.get(..3);
        let Some(first) = pixels().position(differs) else {
            continue;
        };
        let last = pixels().rposition(differs).unwrap_or(first) + 1;
        let (left, right) = columns.unwrap_or((first, last));
        columns = Some((left.min(first), right.max(last)));
    }
    let (left, right) = columns?;
    Some((u32::try_from(left).ok()?, u32::try_from(right).ok()?))
}

fn region(size: Size, [left, top, width, height]: [u32; 4]) -> Option<ScreenRegion> {
    let edges = [left, top, left + width, top + height];
    let edges = edges.map(|edge| i32::try_from(edge).unwrap_or(i32::MAX));
    ScreenRegion::clip(size, edges)
}

/// The pixels of a PNG or a WebP; none for another format, and for pixels that are not opaque.
fn decode(bytes: &[u8]) -> Option<Frame> {
    let (size, rgb) = if bytes.starts_with(b"\x89PNG") {
        let mut decoder = png::Decoder::new(Cursor::new(bytes));
        decoder.set_transformations(png::Transformations::EXPAND | png::Transformations::STRIP_16);
        let mut reader = decoder.read_info().ok()?;
        let mut pixels = vec![0; reader.output_buffer_size()?];
        let info = reader.next_frame(&mut pixels).ok()?;
        if info.color_type != png::ColorType::Rgb {
            return None;
        }
        (Size::new(info.width, info.height), pixels)
    } else {
        let mut decoder = image_webp::WebPDecoder::new(Cursor::new(bytes)).ok()?;
        let (width, height) = decoder.dimensions();
        if decoder.has_alpha() || decoder.is_lossy() {
            return None;
        }
        let mut pixels = vec![0; decoder.output_buffer_size()?];
        decoder.read_image(&mut pixels).ok()?;
        (Size::new(width, height), pixels)
    };
    let bgrx = rgb.chunks_exact(3);
    let bgrx = bgrx.flat_map(|pixel| [pixel[2], pixel[1], pixel[0], 0]);
    Frame::new(size, bgrx.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(draw: impl Fn(u32, u32) -> u8) -> Frame {
        let size = Size::new(64, 64);
        let pixels = (0..size.height).flat_map(|y| (0..size.width).map(move |x| (x, y)));
        let bgrx = pixels.flat_map(|(x, y)| [draw(x, y), 0, 0, 0]);
        Frame::new(size, bgrx.collect()).expect("a frame")
    }

    #[test]
    fn only_the_difference_of_a_similar_screenshot_is_stored() {
        let noise = |x: u32, y: u32| u8::try_from((x * 31 + y * y * 17) % 251).unwrap_or(0);
        let one = frame(noise);
        let other = frame(|x, y| {
            if (4..9).contains(&x) && y == 20 {
                255
            } else {
                noise(x, y)
            }
        });
        let blobs = [
            encode(&one, Format::Png).expect("a PNG"),
            encode(&other, Format::Webp).expect("a WebP"),
        ];
        let read = |digest: &str| blobs.get(digest.parse::<usize>().ok()?).cloned();
        let mut screenshots = ReportScreenshots::new(&read);
        let first = screenshots.screenshot("0").expect("a screenshot");
        let second = screenshots.screenshot("1").expect("a screenshot");
        assert_eq!((first.base, first.parts.len()), (0, 0));
        assert_eq!((second.base, second.parts), (0, vec![([4, 16, 5, 16], 1)]));
        // A screenshot that is shown again needs no image of its own.
        assert_eq!(screenshots.screenshot("0"), Some(first));
        assert_eq!(screenshots.images.len(), 2);
        assert_eq!(screenshots.screenshot("2"), None);
    }

    #[test]
    fn the_parts_cover_every_change() {
        let one = frame(|_, _| 1);
        for (x, y) in [(0, 0), (63, 63), (17, 40), (63, 0)] {
            let other = frame(|a, b| if (a, b) == (x, y) { 2 } else { 1 });
            let areas = changed(&one, &other);
            let covers = |[left, top, width, height]: &[u32; 4]| {
                (*left..left + width).contains(&x) && (*top..top + height).contains(&y)
            };
            assert!(areas.iter().any(covers), "{x}, {y}: {areas:?}");
        }
        assert_eq!(changed(&one, &one.clone()), Vec::<[u32; 4]>::new());
    }
}
