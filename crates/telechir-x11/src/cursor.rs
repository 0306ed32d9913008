//! Draws the pointer image into a frame: servers omit it from captured pixels.

use x11rb::protocol::xfixes::GetCursorImageReply;

/// A pointer image and the screen position of its top left pixel.
#[derive(Debug)]
pub(crate) struct Cursor<'a> {
    x: i32,
    y: i32,
    width: usize,
    /// ARGB; the colours are premultiplied by alpha.
    pixels: &'a [u32],
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(reply: &'a GetCursorImageReply) -> Self {
        Self {
            x: i32::from(reply.x) - i32::from(reply.xhot),
            y: i32::from(reply.y) - i32::from(reply.yhot),
            width: usize::from(reply.width),
            pixels: &reply.cursor_image,
        }
    }

    /// Draws the image into `bgrx`, which has `row` pixels per row. Clips at the edges.
    pub(crate) fn draw(&self, bgrx: &mut [u8], row: usize) {
        if self.width == 0 || row == 0 {
            return;
        }
        let rows = bgrx.len() / 4 / row;
        for (down, line) in (0..).zip(self.pixels.chunks_exact(self.width)) {
            let Some(y) = inside(self.y + down, rows) else {
                continue;
            };
            for (right, pixel) in (0..).zip(line) {
                let Some(x) = inside(self.x + right, row) else {
                    continue;
                };
                let at = (y * row + x) * 4;
                blend(&mut bgrx[at..at + 3], *pixel);
            }
        }
    }
}

fn inside(position: i32, end: usize) -> Option<usize> {
    usize::try_from(position)
        .ok()
        .filter(|position| *position < end)
}

fn blend(bgr: &mut [u8], argb: u32) {
    let [blue, green, red, alpha] = argb.to_le_bytes();
    for (below, above) in bgr.iter_mut().zip([blue, green, red]) {
        let background = u32::from(*below) * u32::from(255 - alpha) / 255;
        *below = above.saturating_add(u8::try_from(background).unwrap_or(u8::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHITE: u32 = 0xffff_ffff;

    fn drawn(cursor: &Cursor<'_>, row: usize, rows: usize) -> Vec<u8> {
        let mut bgrx = vec![100; row * rows * 4];
        cursor.draw(&mut bgrx, row);
        bgrx.chunks(4).map(|pixel| pixel[0]).collect()
    }

    #[test]
    fn clips_at_the_edges() {
        let pixels = [WHITE; 4];
        let at = |x, y| Cursor {
            x,
            y,
            width: 2,
            pixels: &pixels,
        };
        assert_eq!(drawn(&at(-1, -1), 2, 2), [255, 100, 100, 100]);
        assert_eq!(drawn(&at(1, 1), 2, 2), [100, 100, 100, 255]);
        assert_eq!(drawn(&at(5, 5), 2, 2), [100; 4]);
    }

    #[test]
    fn blends_by_alpha() {
        let half_red = [0x8080_0000];
        let mut bgrx = [100, 100, 100, 0];
        Cursor {
            x: 0,
            y: 0,
            width: 1,
            pixels: &half_red,
        }
        .draw(&mut bgrx, 1);
        assert_eq!(bgrx, [49, 49, 128 + 49, 0]);
    }

    #[test]
    fn draws_nothing_without_pixels() {
        let empty = Cursor {
            x: 0,
            y: 0,
            width: 0,
            pixels: &[],
        };
        assert_eq!(drawn(&empty, 1, 1), [100]);
    }
}
