//! Boxes and numbers on a picture's pixels: nothing of the screen itself is touched.

use telechir_protocol::Size;

use super::Mark;
use crate::Frame;

/// Five columns and seven rows a digit; the highest of five bits is the left column.
const DIGITS: [[u8; 7]; 10] = [
    [0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e],
    [0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e],
    [0x0e, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1f],
    [0x1f, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0e],
    [0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02],
    [0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e],
    [0x06, 0x08, 0x10, 0x1e, 0x11, 0x11, 0x0e],
    [0x1f, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08],
    [0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e],
    [0x0e, 0x11, 0x11, 0x0f, 0x01, 0x02, 0x0c],
];
const COLUMNS: u32 = 5;
const ROWS: u32 = 7;
const WHITE: [u8; 3] = [255, 255, 255];

/// Left, top, right, bottom; the last two outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
}

impl Area {
    const fn touches(&self, other: &Self) -> bool {
        self.left < other.right
            && other.left < self.right
            && self.top < other.bottom
            && other.top < self.bottom
    }
}

/// Draws a box around each mark and its number beside it. The picture will be shown at the size
/// `shown`: numbers are drawn larger on what will be scaled down, so that they stay readable.
pub fn draw(frame: &mut Frame, marks: &[Mark], shown: Size) {
    let size = frame.size();
    let scale = size.width.div_ceil(shown.width.max(1)).max(1);
    let mut canvas = Canvas {
        size,
        pixels: frame.bgrx_mut(),
    };
    for mark in marks {
        let (origin, area) = (mark.region.origin(), mark.region.size());
        let outline = Area {
            left: origin.x(),
            top: origin.y(),
            right: origin.x() + area.width,
            bottom: origin.y() + area.height,
        };
        canvas.outline(outline, scale, mark.kind.colour());
    }
    let mut taken: Vec<Area> = Vec::with_capacity(marks.len());
    for (n, mark) in (1u32..).zip(marks) {
        let digits = n.to_string();
        let tag = place(size, mark, &digits, scale, &taken);
        canvas.fill(tag, mark.kind.colour());
        canvas.digits(tag, &digits, scale);
        taken.push(tag);
    }
}

/// Where the number goes: in a corner of its box or beside it, where no other number is.
fn place(size: Size, mark: &Mark, digits: &str, scale: u32, taken: &[Area]) -> Area {
    let count = u32::try_from(digits.len()).unwrap_or(1);
    let width = (count * (COLUMNS + 1) + 1) * scale;
    let height = (ROWS + 2) * scale;
    let (origin, area) = (mark.region.origin(), mark.region.size());
    let (left, top) = (origin.x(), origin.y());
    let (right, bottom) = (left + area.width, top + area.height);
    let outside = (left, top.saturating_sub(height));
    let corners = [
        outside,
        (left, top),
        (right.saturating_sub(width), top.saturating_sub(height)),
        (left.saturating_sub(width), top),
        (right, top),
        (left, bottom),
    ];
    let inside = |(left, top): (u32, u32)| {
        let left = left.min(size.width.saturating_sub(width));
        let top = top.min(size.height.saturating_sub(height));
        Area {
            left,
            top,
            right: left + width,
            bottom: top + height,
        }
    };
    let is_free = |area: &Area| !taken.iter().any(|other| other.touches(area));
    let mut places = corners.map(inside).into_iter();
    places.find(is_free).unwrap_or_else(|| inside((left, top)))
}

struct Canvas<'a> {
    size: Size,
    pixels: &'a mut [u8],
}

impl Canvas<'_> {
    fn fill(&mut self, area: Area, [red, green, blue]: [u8; 3]) {
        let right = area.right.min(self.size.width) as usize;
        let left = (area.left as usize).min(right);
        for row in area.top..area.bottom.min(self.size.height) {
            let start = row as usize * self.size.width as usize;
            let Some(line) = self.pixels.get_mut((start + left) * 4..(start + right) * 4) else {
                return;
            };
            for pixel in line.chunks_exact_mut(4) {
                pixel[..3].copy_from_slice(&[blue, green, red]);
            }
        }
    }

    fn outline(&mut self, area: Area, thickness: u32, colour: [u8; 3]) {
        let Area {
            left,
            top,
            right,
            bottom,
        } = area;
        let sides = [
            Area {
                bottom: (top + thickness).min(bottom),
                ..area
            },
            Area {
                top: bottom.saturating_sub(thickness).max(top),
                ..area
            },
            Area {
                right: (left + thickness).min(right),
                ..area
            },
            Area {
                left: right.saturating_sub(thickness).max(left),
                ..area
            },
        ];
        for side in sides {
            self.fill(side, colour);
        }
    }

    fn digits(&mut self, tag: Area, digits: &str, scale: u32) {
        let mut left = tag.left + scale;
        for digit in digits.bytes() {
            let rows = DIGITS.get(usize::from(digit.wrapping_sub(b'0')));
            for (row, bits) in (0u32..).zip(rows.into_iter().flatten()) {
                for column in (0..COLUMNS).filter(|column| bits >> (COLUMNS - 1 - column) & 1 == 1)
                {
                    let (x, y) = (left + column * scale, tag.top + (row + 1) * scale);
                    let dot = Area {
                        left: x,
                        top: y,
                        right: x + scale,
                        bottom: y + scale,
                    };
                    self.fill(dot, WHITE);
                }
            }
            left += (COLUMNS + 1) * scale;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MarkKind, ScreenPoint, ScreenRegion, ScreenTarget};

    const SIZE: Size = Size::new(60, 40);

    fn mark(x: u32, y: u32, width: u32, height: u32) -> Mark {
        let origin = ScreenPoint::new(x, y);
        Mark {
            target: ScreenTarget::Point(origin),
            region: ScreenRegion::new(origin, Size::new(width, height)),
            kind: MarkKind::Press,
            line: String::new(),
        }
    }

    fn drawn(marks: &[Mark], shown: Size) -> Frame {
        let mut frame = Frame::new(SIZE, vec![0; 60 * 40 * 4]).unwrap();
        draw(&mut frame, marks, shown);
        frame
    }

    /// The rows of an area: `#` is white, `.` is the mark's colour, a space is the screen.
    fn rows(frame: &Frame, left: u32, top: u32, width: u32, height: u32) -> Vec<String> {
        let one = |x, y| match frame.pixel(x, y) {
            Some(WHITE) => '#',
            Some([0, 0, 0]) | None => ' ',
            Some(_) => '.',
        };
        let row = |y| (left..left + width).map(|x| one(x, y)).collect();
        (top..top + height).map(row).collect()
    }

    #[test]
    fn a_mark_is_a_box_with_its_number_above() {
        let frame = drawn(&[mark(10, 20, 12, 8)], SIZE);
        let expected = [
            ".......     ",
            "...#...     ",
            "..##...     ",
            "...#...     ",
            "...#...     ",
            "...#...     ",
            "...#...     ",
            "..###..     ",
            ".......     ",
            "............",
            ".          .",
        ];
        assert_eq!(rows(&frame, 10, 11, 12, 11), expected);
        assert_eq!(
            rows(&frame, 9, 27, 14, 2),
            [" ............ ", " ".repeat(14).as_str()]
        );
    }

    #[test]
    fn numbers_do_not_cover_each_other() {
        let marks = [mark(10, 20, 12, 8), mark(12, 20, 12, 8)];
        let areas: Vec<Area> = (0..2).fold(Vec::new(), |mut taken, at| {
            let digits = (at + 1).to_string();
            taken.push(place(SIZE, &marks[at], &digits, 1, &taken));
            taken
        });
        assert!(!areas[0].touches(&areas[1]), "{areas:?}");
    }

    #[test]
    fn numbers_are_larger_on_what_will_be_shrunk() {
        let frame = drawn(&[mark(10, 30, 12, 8)], Size::new(30, 20));
        assert_eq!(
            rows(&frame, 10, 12, 8, 4),
            ["........"; 2]
                .map(str::to_owned)
                .into_iter()
                .chain(["......##".to_owned(), "......##".to_owned()])
                .collect::<Vec<_>>()
        );
    }

    #[test]
    fn marks_at_the_edges_stay_on_the_picture() {
        let frame = drawn(
            &[mark(0, 0, 60, 40), mark(55, 0, 5, 5), mark(0, 38, 3, 2)],
            SIZE,
        );
        assert_eq!(frame.size(), SIZE);
        assert_eq!(frame.pixel(59, 39), Some(MarkKind::Press.colour()));
    }
}
