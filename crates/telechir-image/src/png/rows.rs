//! A frame's rows as a PNG has them: red, green, blue, and the row above beside each.

use telechir_device::Frame;

/// Goes down the rows of a part of a frame.
#[derive(Debug)]
pub(super) struct Rows<'a> {
    /// The row before the next, of four bytes a pixel; none above the first of all.
    last: Option<&'a [u8]>,
    /// The rows that are still to come.
    rest: &'a [u8],
    above: Vec<u8>,
    current: Vec<u8>,
}

/// A row beside the one above it.
#[derive(Debug)]
pub(super) enum Row<'a> {
    /// It looks as the one above.
    Same,
    /// It does not.
    Other {
        /// The row above.
        above: &'a [u8],
        /// The row itself.
        current: &'a [u8],
    },
}

impl<'a> Rows<'a> {
    /// The rows from `first` on, `count` of them.
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

    /// Bytes of a row.
    pub(super) const fn length(&self) -> usize {
        self.current.len()
    }

    /// The next row, when there is one.
    pub(super) fn advance(&mut self) -> Option<Row<'_>> {
        let stride = self.length() / 3 * 4;
        let (row, rest) = self.rest.split_at_checked(stride)?;
        self.rest = rest;
        let last = self.last.replace(row);
        if last == Some(row) {
            return Some(Row::Same);
        }
        std::mem::swap(&mut self.above, &mut self.current);
        to_rgb(row, &mut self.current);
        Some(Row::Other {
            above: &self.above,
            current: &self.current,
        })
    }
}

/// Four pixels at a time, as words: several times as fast as byte by byte.
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
