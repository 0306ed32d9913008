//! A frame's rows for PNG: red, green, blue, each with the row above.

use telechir_device::Frame;

/// Iterates over the rows of a part of a frame.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// The previous row, with four bytes per pixel; none above the first.
    last: Option<&'a [u8]>,
    /// The remaining rows.
    rest: &'a [u8],
    above: Vec<u8>,
    current: Vec<u8>,
}

/// A row and the one above it.
#[derive(Debug)]
pub(super) enum FrameRow<'a> {
    /// Equal to the row above.
    Same,
    /// Different from the row above.
    Other {
        /// The row above.
        above: &'a [u8],
        /// The row itself.
        current: &'a [u8],
    },
}

impl<'a> Rows<'a> {
    /// Creates an iterator over `count` rows from `first` on.
    pub(super) fn new(frame: &'a Frame, first: usize, count: usize) -> Self {
        let stride = frame.size().width as usize * 4;
        let (before, rest) = frame.bgrx().split_at(first * stride);
        let mut rows = Self {
            last: before.len().checked_sub(stride).map(|at| &before[at..]),
            rest: &rest[..count * stride],
            above: vec![0; stride / 4 * 3],
            current: vec![0; stride / 4 * 3],
        };
        if let Some(last) = rows.last {
            to_rgb(last, &mut rows.current);
        }
        rows
    }

    /// Length of a row in bytes.
    pub(super) const fn length(&self) -> usize {
        self.current.len()
    }

    /// The next row, if there is one.
    pub(super) fn advance(&mut self) -> Option<FrameRow<'_>> {
        let stride = self.length() / 3 * 4;
        let (row, rest) = self.rest.split_at_checked(stride)?;
        self.rest = rest;
        let last = self.last.replace(row);
        if last == Some(row) {
            return Some(FrameRow::Same);
        }
        std::mem::swap(&mut self.above, &mut self.current);
        to_rgb(row, &mut self.current);
        Some(FrameRow::Other {
            above: &self.above,
            current: &self.current,
        })
    }
}

/// Converts four pixels at a time, as integers: several times as fast as byte by byte.
fn to_rgb(bgrx: &[u8], rgb: &mut [u8]) {
    let mut from = bgrx.chunks_exact(16);
    let mut to = rgb.chunks_exact_mut(12);
    for (four, out) in (&mut from).zip(&mut to) {
        let pixel = |at: usize| {
            let word = u32::from_le_bytes([four[at], four[at + 1], four[at + 2], 0]);
            (word >> 16) | (word & 0xff00) | ((word & 0xff) << 16)
        };
        let (a, b, c, d) = (pixel(0), pixel(4), pixel(8), pixel(12));
        out[..4].copy_from_slice(&(a | b << 24).to_le_bytes());
        out[4..8].copy_from_slice(&(b >> 8 | c << 16).to_le_bytes());
        out[8..].copy_from_slice(&(c >> 16 | d << 8).to_le_bytes());
    }
    let rest = to.into_remainder().chunks_exact_mut(3);
    for (pixel, out) in from.remainder().chunks_exact(4).zip(rest) {
        out.copy_from_slice(&[pixel[2], pixel[1], pixel[0]]);
    }
}
