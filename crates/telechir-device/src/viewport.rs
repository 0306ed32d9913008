//! Maps a model's points to a screen's pixels. The only place where coordinates are rounded.

use telechir_protocol::{Action, FrameId, Point, Region, ScrollUnit, Size, Space, Target};

use crate::{Labels, ScreenAction, ScreenPoint, ScreenRegion, ScreenTarget};

/// The mapping between a screenshot and the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    screen: Size,
    /// The region of the screen that the screenshot shows.
    part: ScreenRegion,
    screenshot: Size,
}

/// A target outside the screenshot, or a label without a matching labelled screenshot.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TargetError {
    /// The point is outside the screenshot.
    #[error("({x}, {y}) is outside the {width}x{height} screenshot; x ranges from 0 to {}, y from 0 to {}", width - 1, height - 1)]
    OffScreenshot {
        /// The model's x coordinate.
        x: f64,
        /// The model's y coordinate.
        y: f64,
        /// Width of the point's coordinate space.
        width: u32,
        /// Height of the point's coordinate space.
        height: u32,
    },
    /// The rectangle has no area.
    #[error(
        "the region from ({x0}, {y0}) to ({x1}, {y1}) is empty; give the top left corner first"
    )]
    EmptyRegion {
        /// The model's left edge.
        x0: f64,
        /// The model's top edge.
        y0: f64,
        /// The model's right edge.
        x1: f64,
        /// The model's bottom edge.
        y1: f64,
    },
    /// A label, but no screenshot has labels.
    #[error(
        "label {n} belongs to no screenshot; take a screenshot with labels, or give coordinates of the latest screenshot"
    )]
    UnknownLabel {
        /// The number of the label.
        n: u32,
    },
    /// A label of a screenshot that is not the latest labelled one.
    #[error(
        "label {n} of {frame} is stale; use the labels of {newest}, the latest labelled screenshot"
    )]
    StaleLabel {
        /// The number of the label.
        n: u32,
        /// The screenshot that the model named.
        frame: FrameId,
        /// The latest labelled screenshot.
        newest: FrameId,
    },
    /// The latest labelled screenshot has no such label.
    #[error("there is no label {n}: {newest} has {}", label_range(*.last))]
    NoSuchLabel {
        /// The number of the label.
        n: u32,
        /// The latest labelled screenshot.
        newest: FrameId,
        /// The greatest label on it.
        last: usize,
    },
    /// A coordinate is NaN.
    #[error("a coordinate is not a number")]
    NotANumber,
}

/// The labels of a screenshot whose greatest is this.
fn label_range(last: usize) -> String {
    match last {
        0 => "no labels; read the page or give coordinates".to_owned(),
        1 => "only label 1".to_owned(),
        last => format!("labels from 1 to {last}"),
    }
}

impl Viewport {
    /// A screenshot of `screenshot` pixels that shows the complete screen of `screen` pixels.
    pub const fn new(screen: Size, screenshot: Size) -> Self {
        Self::of_part(screen, ScreenRegion::of_screen(screen), screenshot)
    }

    /// A screenshot that shows only a part of a screen, such as one monitor.
    pub const fn of_part(screen: Size, part: ScreenRegion, screenshot: Size) -> Self {
        Self {
            screen,
            part,
            screenshot,
        }
    }

    /// A screenshot at the screen's own size.
    pub const fn unscaled(screen: Size) -> Self {
        Self::new(screen, screen)
    }

    /// Size of the screen in pixels.
    pub const fn screen(&self) -> Size {
        self.screen
    }

    /// Size of the screenshot in pixels.
    pub const fn screenshot(&self) -> Size {
        self.screenshot
    }

    /// The pixel of the screen whose centre is nearest to a model's point.
    ///
    /// # Errors
    /// When the point is outside the screenshot.
    pub fn point(&self, point: Point) -> Result<ScreenPoint, TargetError> {
        let space = self.space(point.space);
        if point.x.is_nan() || point.y.is_nan() {
            return Err(TargetError::NotANumber);
        }
        let inside = |v: f64, extent: u32| v >= 0.0 && v < f64::from(extent);
        if !inside(point.x, space.width) || !inside(point.y, space.height) {
            let Size { width, height } = space;
            return Err(TargetError::OffScreenshot {
                x: point.x,
                y: point.y,
                width,
                height,
            });
        }
        let part = self.part_of(point.space);
        let (origin, size) = (part.origin(), part.size());
        let x = origin.x() + scale(point.x, space.width, size.width);
        let y = origin.y() + scale(point.y, space.height, size.height);
        Ok(ScreenPoint::new(x, y))
    }

    /// The position of a screen point in pixels of the screenshot: the inverse of [`Self::point`].
    /// A point that the screenshot does not show, such as a corner of a window outside the screen,
    /// is outside the screenshot.
    pub fn screenshot_point(&self, x: i32, y: i32) -> (i32, i32) {
        let back = |value: i32, origin: u32, from: u32, to: u32| {
            let value = value.saturating_sub_unsigned(origin);
            let seen = f64::from(value) * f64::from(to) / f64::from(from.max(1));
            #[expect(clippy::cast_possible_truncation, reason = "the cast saturates")]
            let seen = seen.round() as i32;
            let is_inside = value >= 0 && value.unsigned_abs() < from;
            if is_inside {
                seen.min(i32::try_from(to).unwrap_or(i32::MAX) - 1)
            } else {
                seen
            }
        };
        let (origin, size) = (self.part.origin(), self.part.size());
        (
            back(x, origin.x(), size.width, self.screenshot.width),
            back(y, origin.y(), size.height, self.screenshot.height),
        )
    }

    /// The rectangle of the screen for a model's region.
    ///
    /// # Errors
    /// When a corner is outside the screenshot or the region is empty.
    pub fn region(&self, region: Region) -> Result<ScreenRegion, TargetError> {
        let (from, to) = (region.from, region.to);
        if to.x <= from.x || to.y <= from.y {
            return Err(TargetError::EmptyRegion {
                x0: from.x,
                y0: from.y,
                x1: to.x,
                y1: to.y,
            });
        }
        let origin = self.point(from)?;
        let space = self.space(to.space);
        let outside = to.x > f64::from(space.width) || to.y > f64::from(space.height);
        if outside {
            let Size { width, height } = space;
            return Err(TargetError::OffScreenshot {
                x: to.x,
                y: to.y,
                width,
                height,
            });
        }
        let part = self.part_of(to.space);
        let end = |v: f64, from: u32, to: u32| round(v * f64::from(to) / f64::from(from)).min(to);
        let right = part.origin().x() + end(to.x, space.width, part.size().width);
        let bottom = part.origin().y() + end(to.y, space.height, part.size().height);
        let width = right.saturating_sub(origin.x()).max(1);
        let height = bottom.saturating_sub(origin.y()).max(1);
        Ok(ScreenRegion::new(origin, Size::new(width, height)))
    }

    /// The pixels of the screenshot around a rectangle of the screen: left, top, right and bottom,
    /// right and bottom excluded. Parts outside the screenshot are omitted; the result may be
    /// empty.
    pub fn screenshot_pixels(&self, region: ScreenRegion) -> [u32; 4] {
        let (origin, size) = (region.origin(), region.size());
        let (left, top) = (self.part.origin().x(), self.part.origin().y());
        let wide = (left, self.part.size().width, self.screenshot.width);
        let high = (top, self.part.size().height, self.screenshot.height);
        let scaled = |v: u32, (start, from, to): (u32, u32, u32)| {
            let v = v.saturating_sub(start).min(from);
            let product = u64::from(v) * u64::from(to);
            let from = u64::from(from.max(1));
            (product / from, product.div_ceil(from))
        };
        let narrow = |v: u64| u32::try_from(v).unwrap_or(u32::MAX);
        [
            narrow(scaled(origin.x(), wide).0),
            narrow(scaled(origin.y(), high).0),
            narrow(scaled(origin.x() + size.width, wide).1),
            narrow(scaled(origin.y() + size.height, high).1),
        ]
    }

    /// Converts an action to screen points, if no screenshot has labels.
    ///
    /// # Errors
    /// When a point is outside the screenshot.
    pub fn action(&self, action: &Action) -> Result<ScreenAction, TargetError> {
        self.labelled_action(action, &Labels::default())
    }

    /// Converts an action to screen points, if screenshots may have labels.
    ///
    /// # Errors
    /// When a point is outside the screenshot, or a label is not of the latest labelled one.
    pub fn labelled_action(
        &self,
        action: &Action,
        labels: &Labels,
    ) -> Result<ScreenAction, TargetError> {
        let mut action = action.clone();
        if let Action::Scroll { dx, dy, unit, .. } = &mut action {
            (*dx, *dy, *unit) = self.distance(*dx, *dy, *unit);
        }
        action.try_map(
            &mut |target: Target| self.target(target, labels),
            &mut |region: Region| self.region(region),
        )
    }

    fn target(&self, target: Target, labels: &Labels) -> Result<ScreenTarget, TargetError> {
        match target {
            Target::Point(point) => self.point(point).map(ScreenTarget::Point),
            Target::Label { n, frame } => labels.find(n, frame.as_ref()),
            Target::Ref { id, frame } => Ok(ScreenTarget::Element { id, frame }),
            Target::Named(named) => Ok(ScreenTarget::Named(named)),
        }
    }

    fn space(&self, space: Space) -> Size {
        match space {
            Space::Screenshot => self.screenshot,
            Space::Thousandths => Size::new(1000, 1000),
            Space::Screen => self.screen,
        }
    }

    /// The region of the screen that a coordinate space covers.
    fn part_of(&self, space: Space) -> ScreenRegion {
        match space {
            Space::Screenshot | Space::Thousandths => self.part,
            Space::Screen => ScreenRegion::of_screen(self.screen),
        }
    }

    fn distance(&self, dx: f64, dy: f64, unit: ScrollUnit) -> (f64, f64, ScrollUnit) {
        let shown = self.part.size();
        let ratio = |from: Size| {
            let x = f64::from(shown.width) / f64::from(from.width);
            (x, f64::from(shown.height) / f64::from(from.height))
        };
        match unit {
            ScrollUnit::Clicks => (dx, dy, ScrollUnit::Clicks),
            ScrollUnit::Pixels => {
                let (x, y) = ratio(self.screenshot);
                (dx * x, dy * y, ScrollUnit::Pixels)
            }
            ScrollUnit::Thousandths => {
                let (x, y) = ratio(Size::new(1000, 1000));
                (dx * x, dy * y, ScrollUnit::Pixels)
            }
        }
    }
}

fn scale(value: f64, from: u32, to: u32) -> u32 {
    round(value * f64::from(to) / f64::from(from)).min(to.saturating_sub(1))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "callers checked the value to be between 0 and u32::MAX"
)]
fn round(value: f64) -> u32 {
    value.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(screen: Size, screenshot: Size, point: Point) -> Result<(u32, u32), TargetError> {
        Viewport::new(screen, screenshot)
            .point(point)
            .map(|p| (p.x(), p.y()))
    }

    const HD: Size = Size::new(1280, 720);
    const UHD: Size = Size::new(3840, 2160);

    #[test]
    fn the_origin_is_a_point() {
        assert_eq!(on(HD, HD, Point::new(0, 0)), Ok((0, 0)));
    }

    #[test]
    fn a_screenshot_a_third_as_large_scales_by_three() {
        assert_eq!(on(UHD, HD, Point::new(426, 87)), Ok((1278, 261)));
    }

    #[test]
    fn a_grid_cell_is_rounded_once() {
        assert_eq!(on(UHD, HD, Point::thousandths(311, 84)), Ok((1194, 181)));
    }

    #[test]
    fn refuses_a_point_off_the_screenshot() {
        let off = |x, y| {
            Err(TargetError::OffScreenshot {
                x,
                y,
                width: 1280,
                height: 720,
            })
        };
        assert_eq!(on(UHD, HD, Point::new(1280.0, 10.0)), off(1280.0, 10.0));
        assert_eq!(on(UHD, HD, Point::new(-1.0, 10.0)), off(-1.0, 10.0));
        assert_eq!(
            on(UHD, HD, Point::new(f64::NAN, 1.0)),
            Err(TargetError::NotANumber)
        );
    }

    #[test]
    fn the_last_pixel_stays_on_the_screen() {
        assert_eq!(
            on(Size::new(1000, 500), HD, Point::new(1279.9, 719.9)),
            Ok((999, 499))
        );
    }

    /// Screens and their screenshots: scales of 1, 1.25, 1.5 and 2, an odd one, and one that
    /// differs slightly between the axes.
    const SCALED: [(Size, Size); 6] = [
        (Size::new(1280, 800), Size::new(1280, 800)),
        (Size::new(1600, 1000), Size::new(1280, 800)),
        (Size::new(1920, 1080), Size::new(1280, 720)),
        (Size::new(2560, 1600), Size::new(1280, 800)),
        (Size::new(3440, 1440), Size::new(1456, 609)),
        (Size::new(1366, 768), Size::new(1280, 719)),
    ];

    #[test]
    fn every_point_comes_back_within_half_a_scaled_pixel() {
        for (screen, screenshot) in SCALED {
            let viewport = Viewport::new(screen, screenshot);
            let scale = f64::from(screen.width) / f64::from(screenshot.width);
            for x in 0..screenshot.width {
                let y = x % screenshot.height;
                let there = viewport.point(Point::new(x, y)).unwrap();
                let back =
                    viewport.screenshot_point(there.x().cast_signed(), there.y().cast_signed());
                assert_eq!(back, (x.cast_signed(), y.cast_signed()), "{screen:?} {x}");
            }
            for x in 0..screen.width {
                let (seen, _) = viewport.screenshot_point(x.cast_signed(), 0);
                let again = viewport.point(Point::new(seen, 0)).unwrap();
                let off = (f64::from(again.x()) - f64::from(x)).abs();
                // The last screenshot pixel also stands for everything beyond its centre.
                let is_last = seen.cast_unsigned() + 1 == screenshot.width;
                assert!(is_last || off <= scale / 2.0 + 0.5, "{screen:?} {x}: {off}");
            }
        }
    }

    #[test]
    fn a_region_of_the_screen_is_inside_its_region_of_the_screenshot() {
        let viewport = Viewport::new(Size::new(1600, 1000), Size::new(1280, 800));
        let seen = ScreenRegion::clip(viewport.screen(), [101, 7, 201, 99]).unwrap();
        assert_eq!(viewport.screenshot_pixels(seen), [80, 5, 161, 80]);
    }

    /// The right one of two monitors, twice as large as its screenshot.
    fn right_monitor() -> Viewport {
        let screen = Size::new(3840, 1600);
        let part = ScreenRegion::clip(screen, [1280, 0, 3840, 1600]).unwrap();
        Viewport::of_part(screen, part, Size::new(1280, 800))
    }

    #[test]
    fn a_screenshot_of_one_monitor_has_points_of_that_monitor() {
        let viewport = right_monitor();
        let there = |point| viewport.point(point).map(|p| (p.x(), p.y())).unwrap();
        assert_eq!(there(Point::new(0, 0)), (1280, 0));
        assert_eq!(there(Point::new(1279, 799)), (3838, 1598));
        assert_eq!(there(Point::thousandths(500, 500)), (2560, 800));
        let of_screen = Point {
            space: Space::Screen,
            ..Point::new(5, 7)
        };
        assert_eq!(there(of_screen), (5, 7));
        for x in 0..1280 {
            let there = viewport.point(Point::new(x, x / 2)).unwrap();
            let back = viewport.screenshot_point(there.x().cast_signed(), there.y().cast_signed());
            assert_eq!(back, (x, x / 2));
        }
        assert_eq!(viewport.screenshot_point(1180, 40), (-50, 20));
    }

    #[test]
    fn regions_of_one_monitor_are_its_own() {
        let viewport = right_monitor();
        let region = Region {
            from: Point::new(640, 400),
            to: Point::new(1280, 800),
        };
        let region = viewport.region(region).unwrap();
        let seen = ScreenRegion::clip(viewport.screen(), [2560, 800, 3840, 1600]);
        assert_eq!(Some(region), seen);
        assert_eq!(viewport.screenshot_pixels(region), [640, 400, 1280, 800]);
        let elsewhere = ScreenRegion::clip(viewport.screen(), [0, 0, 1300, 10]).unwrap();
        assert_eq!(viewport.screenshot_pixels(elsewhere), [0, 0, 10, 5]);
    }

    #[test]
    fn a_point_round_trips_through_the_viewport() {
        for screen in [HD, UHD, Size::new(1600, 900), Size::new(1919, 1081)] {
            let viewport = Viewport::new(screen, HD);
            for (x, y) in [(0, 0), (1, 1), (640, 359), (1279, 719), (3, 700)] {
                let there = viewport.point(Point::new(x, y)).unwrap();
                let back =
                    viewport.screenshot_point(there.x().cast_signed(), there.y().cast_signed());
                assert_eq!(back, (x, y), "{screen:?}");
            }
        }
        assert_eq!(
            Viewport::new(UHD, HD).screenshot_point(-30, 4000),
            (-10, 1333)
        );
    }

    #[test]
    fn a_region_may_end_at_the_edge_and_not_be_empty() {
        let viewport = Viewport::unscaled(HD);
        let region = |x0, y0, x1, y1| Region {
            from: Point::new(x0, y0),
            to: Point::new(x1, y1),
        };
        let size = viewport
            .region(region(0, 0, 1280, 720))
            .map(ScreenRegion::size);
        assert_eq!(size, Ok(HD));
        assert!(matches!(
            viewport.region(region(5, 5, 5, 9)),
            Err(TargetError::EmptyRegion { .. })
        ));
        assert!(matches!(
            viewport.region(region(5, 5, 1281, 9)),
            Err(TargetError::OffScreenshot { .. })
        ));
    }
}
