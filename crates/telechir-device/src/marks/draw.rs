//! Boxes and numbers on a picture's pixels: nothing of the screen itself is touched.

use telechir_protocol::Size;

use super::Mark;
use super::digits::{COLUMNS, DIGITS, ROWS};
use crate::{Frame, Viewport};

const WHITE: [u8; 3] = [255, 255, 255];
/// Between a number and the edge of its tag, the tag's white rim included.
const PADDING: u32 = 3;
/// Pictures up to about this width get numbers of one pixel a dot, larger ones larger numbers.
const PLAIN_WIDTH: u32 = 1_280;

/// Left, top, right, bottom; the last two outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    left: u32,
    top: u32,
    right: u32,
    bottom: u32,
}

impl Area {
    const fn width(&self) -> u32 {
        self.right.saturating_sub(self.left)
    }

    const fn height(&self) -> u32 {
        self.bottom.saturating_sub(self.top)
    }

    fn pixels(&self) -> u64 {
        u64::from(self.width()) * u64::from(self.height())
    }

    /// What both cover; empty when they do not touch.
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

/// Draws a box around each mark and its number at it, on a picture that lies on the screen as
/// `viewport` says.
pub fn draw(screenshot: &mut Frame, marks: &[Mark], viewport: &Viewport) {
    let size = screenshot.size();
    let scale = ((size.width + PLAIN_WIDTH / 2) / PLAIN_WIDTH).max(1);
    let boxes: Vec<Area> = marks
        .iter()
        .map(|mark| {
            let [left, top, right, bottom] = viewport.screenshot_pixels(mark.region);
            Area {
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
    let tags = places(size, &boxes, scale);
    for ((n, mark), tag) in (1u32..).zip(marks).zip(tags) {
        canvas.fill(tag, WHITE);
        canvas.fill(tag.inset(scale), mark.kind.colour());
        canvas.digits(tag, &n.to_string(), scale);
    }
}

/// Where the numbers of boxes go: each at its box, off the numbers before it, and where it hides
/// least of what is marked.
fn places(size: Size, boxes: &[Area], scale: u32) -> Vec<Area> {
    let mut taken: Vec<Area> = Vec::with_capacity(boxes.len());
    for (n, own) in (1u32..).zip(boxes) {
        let count = n.checked_ilog10().unwrap_or_default() + 1;
        let width = (count * (COLUMNS + 1) - 1 + 2 * PADDING) * scale;
        let height = (ROWS + 2 * PADDING) * scale;
        let cost = |(tag, unclear): &(Area, u64)| {
            let tags: u64 = taken.iter().map(|other| other.hidden_by(tag)).sum();
            let marked: u64 = boxes.iter().map(|other| other.hidden_by(tag)).sum();
            // Off its own box it is less clear whose it is; a little of the box may be hidden.
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

/// The corners of tags at a box, each with how unclear it is there whose the tag is, in thousandths
/// of a box that it hides.
const fn corners(own: &Area, width: u32, height: u32) -> [((u32, u32), u64); 12] {
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

fn inside(size: Size, (left, top): (u32, u32), (width, height): (u32, u32)) -> Area {
    let left = left.min(size.width.saturating_sub(width));
    let top = top.min(size.height.saturating_sub(height));
    Area {
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
        let mut left = tag.left + PADDING * scale;
        for digit in digits.bytes() {
            let rows = DIGITS.get(usize::from(digit.wrapping_sub(b'0')));
            for (row, dots) in (PADDING..).zip(rows.into_iter().flatten()) {
                for (column, _) in (0u32..).zip(dots.bytes()).filter(|(_, dot)| *dot == b'#') {
                    let (x, y) = (left + column * scale, tag.top + row * scale);
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
        // A keypad without gaps, around it a form whose lines touch, and boxes within boxes.
        let mut boxes = Vec::new();
        for (columns, (width, height), (left, top)) in [
            (8, (40, 20), (20, 20)),
            (1, (180, 16), (380, 20)),
            (3, (60, 30), (20, 210)),
        ] {
            for place in 0..columns * 8 {
                let (left, top) = (
                    left + place % columns * width,
                    top + place / columns * height,
                );
                let (right, bottom) = (left + width, top + height);
                boxes.push(Area {
                    left,
                    top,
                    right,
                    bottom,
                });
            }
        }
        let first = boxes[0];
        boxes.push(first.inset(4));
        let tags = places(size, &boxes, 1);
        for (at, tag) in tags.iter().enumerate() {
            for other in &tags[..at] {
                assert_eq!(tag.hidden_by(other), 0, "{tag:?} {other:?}");
            }
        }
        assert_eq!(tags.len(), 8 * 8 + 8 + 3 * 8 + 1);
    }

    #[test]
    fn a_number_goes_where_it_hides_least() {
        let area = |left, top, right, bottom| Area {
            left,
            top,
            right,
            bottom,
        };
        // Right above the second box is the first: its number goes to its left.
        let boxes = [area(30, 40, 50, 54), area(30, 54, 50, 68)];
        let tags = places(Size::new(200, 100), &boxes, 1);
        assert_eq!((tags[0].left, tags[0].bottom), (30, 40));
        assert_eq!((tags[1].right, tags[1].top), (30, 54));
        // A large field is not hidden by a number in its corner.
        let field = [area(0, 0, 200, 100)];
        let tags = places(Size::new(200, 100), &field, 1);
        assert_eq!((tags[0].left, tags[0].top), (0, 0));
    }

    #[test]
    fn places_on_the_screen_are_found_on_a_smaller_screenshot() {
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
            // What the accessibility guidelines for the web ask of small text.
            assert!(1.05 / (light + 0.05) >= 4.5, "{kind:?}");
        }
    }
}
