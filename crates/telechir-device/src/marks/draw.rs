//! Draws boxes and labels on a screenshot's pixels; the screen itself is unchanged.

use telechir_protocol::Size;

use super::Mark;
use super::digits::{COLUMNS, DIGITS, ROWS};
use crate::{Frame, Viewport};

const WHITE: [u8; 3] = [255, 255, 255];
/// Pixels between a number and the edge of its tag, including the white rim.
const PADDING: u32 = 3;
/// Up to about this width, labels have one pixel per dot; wider screenshots have larger labels.
const PLAIN_WIDTH: u32 = 1_280;

/// Left, top, right, bottom; right and bottom excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PixelRect {
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
}

impl PixelRect {
    const fn width(&self) -> u32 {
        self.right.saturating_sub(self.left)
    }

    const fn height(&self) -> u32 {
        self.bottom.saturating_sub(self.top)
    }

    fn pixels(&self) -> u64 {
        u64::from(self.width()) * u64::from(self.height())
    }

    /// The intersection; empty if they do not overlap.
    fn shared(&self, other: &Self) -> Self {
        Self {
            left: self.left.max(other.left),
            top: self.top.max(other.top),
            right: self.right.min(other.right),
            bottom: self.bottom.min(other.bottom),
        }
    }

    /// How many thousandths of it the other one covers.
    fn hidden_by(&self, other: &Self) -> u64 {
        self.shared(other).pixels() * 1_000 / self.pixels().max(1)
    }

    const fn inset(&self, by: u32) -> Self {
        Self {
            left: self.left + by,
            top: self.top + by,
            right: self.right.saturating_sub(by),
            bottom: self.bottom.saturating_sub(by),
        }
    }
}

/// Draws a box and a label for each mark on a screenshot, which `viewport` maps to the screen.
pub fn draw(screenshot: &mut Frame, marks: &[Mark], viewport: &Viewport) {
    let size = screenshot.size();
    let scale = ((size.width + PLAIN_WIDTH / 2) / PLAIN_WIDTH).max(1);
    let boxes: Vec<PixelRect> = marks
        .iter()
        .map(|mark| {
            let [left, top, right, bottom] = viewport.screenshot_pixels(mark.region);
            PixelRect {
                left,
                top,
                right,
                bottom,
            }
        })
        .collect();
    let mut canvas = Canvas {
        size,
        pixels: screenshot.bgrx_mut(),
    };
    for (mark, area) in marks.iter().zip(&boxes) {
        canvas.outline(*area, scale, mark.kind.colour());
    }
    let tags = tag_positions(size, &boxes, scale);
    for ((n, mark), tag) in (1u32..).zip(marks).zip(tags) {
        canvas.fill(tag, WHITE);
        canvas.fill(tag.inset(scale), mark.kind.colour());
        canvas.digits(tag, &n.to_string(), scale);
    }
}

/// The positions of labels: each at its box, not over earlier labels, and where it hides least of
/// the marked elements.
fn tag_positions(size: Size, boxes: &[PixelRect], scale: u32) -> Vec<PixelRect> {
    let mut taken: Vec<PixelRect> = Vec::with_capacity(boxes.len());
    for (n, own) in (1u32..).zip(boxes) {
        let count = n.checked_ilog10().unwrap_or_default() + 1;
        let width = (count * (COLUMNS + 1) - 1 + 2 * PADDING) * scale;
        let height = (ROWS + 2 * PADDING) * scale;
        let cost = |(tag, unclear): &(PixelRect, u64)| {
            let tags: u64 = taken.iter().map(|other| other.hidden_by(tag)).sum();
            let marked: u64 = boxes.iter().map(|other| other.hidden_by(tag)).sum();
            // Outside its own box a label is less clear; it may hide a little of the box.
            let own = own.hidden_by(tag) / 2;
            tags * 100 + (marked - own) + unclear
        };
        let candidates = corners(own, width, height);
        let candidates =
            candidates.map(|(at, unclear)| (inside(size, at, (width, height)), unclear));
        let best = candidates.into_iter().min_by_key(cost);
        taken.extend(best.map(|(tag, _)| tag));
    }
    taken
}

/// The possible corners of labels at a box, each with its ambiguity in thousandths of a hidden box.
const fn corners(own: &PixelRect, width: u32, height: u32) -> [((u32, u32), u64); 12] {
    let (left, top, right, bottom) = (own.left, own.top, own.right, own.bottom);
    let (far_left, far_top) = (left.saturating_sub(width), top.saturating_sub(height));
    let (in_right, in_bottom) = (right.saturating_sub(width), bottom.saturating_sub(height));
    [
        ((left, far_top), 0),
        ((far_left, top), 30),
        ((left, bottom), 30),
        ((in_right, far_top), 30),
        ((right, top), 50),
        ((in_right, bottom), 50),
        ((right, in_bottom), 60),
        ((far_left, far_top), 150),
        ((left, top), 0),
        ((in_right, top), 10),
        ((left, in_bottom), 10),
        ((in_right, in_bottom), 20),
    ]
}

fn inside(size: Size, (left, top): (u32, u32), (width, height): (u32, u32)) -> PixelRect {
    let left = left.min(size.width.saturating_sub(width));
    let top = top.min(size.height.saturating_sub(height));
    PixelRect {
        left,
        top,
        right: left + width,
        bottom: top + height,
    }
}

struct Canvas<'a> {
    size: Size,
    pixels: &'a mut [u8],
}

impl Canvas<'_> {
    fn fill(&mut self, area: PixelRect, [red, green, blue]: [u8; 3]) {
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

    fn outline(&mut self, area: PixelRect, thickness: u32, colour: [u8; 3]) {
        let PixelRect {
            left,
            top,
            right,
            bottom,
        } = area;
        let sides = [
            PixelRect {
                bottom: (top + thickness).min(bottom),
                ..area
            },
            PixelRect {
                top: bottom.saturating_sub(thickness).max(top),
                ..area
            },
            PixelRect {
                right: (left + thickness).min(right),
                ..area
            },
            PixelRect {
                left: right.saturating_sub(thickness).max(left),
                ..area
            },
        ];
        for side in sides {
            self.fill(side, colour);
        }
    }

    fn digits(&mut self, tag: PixelRect, digits: &str, scale: u32) {
        let mut left = tag.left + PADDING * scale;
        for digit in digits.bytes() {
            let rows = DIGITS.get(usize::from(digit.wrapping_sub(b'0')));
            for (row, dots) in (PADDING..).zip(rows.into_iter().flatten()) {
                for (column, _) in (0u32..).zip(dots.bytes()).filter(|(_, dot)| *dot == b'#') {
                    let (x, y) = (left + column * scale, tag.top + row * scale);
                    let dot = PixelRect {
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

    const SIZE: Size = Size::new(60, 60);

    fn mark(x: u32, y: u32, width: u32, height: u32) -> Mark {
        let origin = ScreenPoint::new(x, y);
        Mark {
            target: ScreenTarget::Point(origin),
            region: ScreenRegion::new(origin, Size::new(width, height)),
            kind: MarkKind::Press,
            line: String::new(),
        }
    }

    fn blank(size: Size) -> Frame {
        let bytes = usize::try_from(size.width * size.height * 4).unwrap();
        Frame::new(size, vec![0; bytes]).unwrap()
    }

    fn drawn(marks: &[Mark]) -> Frame {
        let mut frame = blank(SIZE);
        draw(&mut frame, marks, &Viewport::unscaled(SIZE));
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
        let frame = drawn(&[mark(10, 30, 14, 8)]);
        let expected = [
            "############  ",
            "#..........#  ",
            "#..........#  ",
            "#....##....#  ",
            "#...###....#  ",
            "#..####....#  ",
            "#....##....#  ",
            "#....##....#  ",
            "#....##....#  ",
            "#....##....#  ",
            "#....##....#  ",
            "#..######..#  ",
            "#..........#  ",
            "#..........#  ",
            "############  ",
            "..............",
            ".            .",
        ];
        assert_eq!(rows(&frame, 10, 15, 14, 17), expected);
        let below = [format!(" {} ", ".".repeat(14)), " ".repeat(16)];
        assert_eq!(rows(&frame, 9, 37, 16, 2), below);
    }

    #[test]
    fn numbers_do_not_cover_each_other() {
        let size = Size::new(600, 400);
        // A keypad without gaps, a form with touching lines around it, and boxes within boxes.
        let mut boxes = Vec::new();
        for (columns, (width, height), (left, top)) in [
            (8, (40, 20), (20, 20)),
            (1, (180, 16), (380, 20)),
            (3, (60, 30), (20, 210)),
        ] {
            for position in 0..columns * 8 {
                let (left, top) = (
                    left + position % columns * width,
                    top + position / columns * height,
                );
                let (right, bottom) = (left + width, top + height);
                boxes.push(PixelRect {
                    left,
                    top,
                    right,
                    bottom,
                });
            }
        }
        let first = boxes[0];
        boxes.push(first.inset(4));
        let tags = tag_positions(size, &boxes, 1);
        for (at, tag) in tags.iter().enumerate() {
            for other in &tags[..at] {
                assert_eq!(tag.hidden_by(other), 0, "{tag:?} {other:?}");
            }
        }
        assert_eq!(tags.len(), 8 * 8 + 8 + 3 * 8 + 1);
    }

    #[test]
    fn a_label_is_where_it_hides_least() {
        let area = |left, top, right, bottom| PixelRect {
            left,
            top,
            right,
            bottom,
        };
        // The first box is directly above the second, so the second label goes to the left.
        let boxes = [area(30, 40, 50, 54), area(30, 54, 50, 68)];
        let tags = tag_positions(Size::new(200, 100), &boxes, 1);
        assert_eq!((tags[0].left, tags[0].bottom), (30, 40));
        assert_eq!((tags[1].right, tags[1].top), (30, 54));
        // A label in its corner does not hide a large field.
        let field = [area(0, 0, 200, 100)];
        let tags = tag_positions(Size::new(200, 100), &field, 1);
        assert_eq!((tags[0].left, tags[0].top), (0, 0));
    }

    #[test]
    fn screen_regions_are_marked_on_a_smaller_screenshot() {
        let (screen, size) = (Size::new(120, 120), SIZE);
        let mut frame = blank(size);
        draw(
            &mut frame,
            &[mark(20, 60, 28, 16)],
            &Viewport::new(screen, size),
        );
        assert_eq!(frame, drawn(&[mark(10, 30, 14, 8)]));
    }

    #[test]
    fn numbers_grow_with_the_screenshot() {
        let size = Size::new(2560, 100);
        let mut frame = blank(size);
        let marks = [mark(10, 60, 28, 16)];
        draw(&mut frame, &marks, &Viewport::unscaled(size));
        assert_eq!(rows(&frame, 10, 30, 4, 3), ["####", "####", "##.."]);
    }

    #[test]
    fn marks_at_the_edges_stay_on_the_screenshot() {
        let frame = drawn(&[mark(0, 0, 60, 60), mark(55, 0, 5, 5), mark(0, 58, 3, 2)]);
        assert_eq!(frame.size(), SIZE);
        assert_eq!(frame.pixel(59, 59), Some(MarkKind::Press.colour()));
    }

    #[test]
    fn white_numbers_can_be_read_on_every_colour() {
        for kind in MarkKind::ALL {
            let channel = |value: u8| {
                let part = f64::from(value) / 255.0;
                if part <= 0.04045 {
                    part / 12.92
                } else {
                    ((part + 0.055) / 1.055).powf(2.4)
                }
            };
            let [red, green, blue] = kind.colour().map(channel);
            let light = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
            // The contrast that WCAG requires of small text.
            assert!(1.05 / (light + 0.05) >= 4.5, "{kind:?}");
        }
    }
}
