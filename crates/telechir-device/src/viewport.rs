//! The only bridge from a model's places to a screen's pixels. Rounding happens here, once.

use telechir_protocol::{Action, Point, Region, ScrollUnit, Size, Space, Target};

use crate::{ScreenAction, ScreenPoint, ScreenRegion, ScreenTarget};

/// How the picture that the model saw lies on the screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Viewport {
    screen: Size,
    picture: Size,
}

/// A place that is not on the picture, or that only a labelled picture could resolve.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Misplaced {
    /// The point is outside.
    #[error("({x}, {y}) is outside the {width}x{height} picture; x goes from 0 to {}, y from 0 to {}", width - 1, height - 1)]
    OffPicture {
        /// As the model said it.
        x: f64,
        /// As the model said it.
        y: f64,
        /// Of the space the point is in.
        width: u32,
        /// Of the space the point is in.
        height: u32,
    },
    /// The rectangle has no area.
    #[error(
        "the region from ({x0}, {y0}) to ({x1}, {y1}) is empty; give the top left corner first"
    )]
    EmptyRegion {
        /// As the model said it.
        x0: f64,
        /// As the model said it.
        y0: f64,
        /// As the model said it.
        x1: f64,
        /// As the model said it.
        y1: f64,
    },
    /// A label, but the newest picture has none.
    #[error(
        "label {n} belongs to no picture that was sent; give coordinates of the newest picture instead"
    )]
    UnknownLabel {
        /// The label.
        n: u32,
    },
    /// A number that is none.
    #[error("a coordinate is not a number")]
    NotANumber,
}

impl Viewport {
    /// A picture of `picture` pixels that shows the whole of a screen of `screen` pixels.
    pub const fn new(screen: Size, picture: Size) -> Self {
        Self { screen, picture }
    }

    /// The screen at its own size.
    pub const fn unscaled(screen: Size) -> Self {
        Self {
            screen,
            picture: screen,
        }
    }

    /// The screen's size.
    pub const fn screen(&self) -> Size {
        self.screen
    }

    /// The picture's size.
    pub const fn picture(&self) -> Size {
        self.picture
    }

    /// The pixel of the screen that a model's point names: the one whose centre it is nearest to.
    ///
    /// # Errors
    /// When the point is off the picture.
    pub fn point(&self, point: Point) -> Result<ScreenPoint, Misplaced> {
        let space = self.space(point.space);
        if point.x.is_nan() || point.y.is_nan() {
            return Err(Misplaced::NotANumber);
        }
        let inside = |v: f64, extent: u32| v >= 0.0 && v < f64::from(extent);
        if !inside(point.x, space.width) || !inside(point.y, space.height) {
            let Size { width, height } = space;
            return Err(Misplaced::OffPicture {
                x: point.x,
                y: point.y,
                width,
                height,
            });
        }
        let x = scale(point.x, space.width, self.screen.width);
        let y = scale(point.y, space.height, self.screen.height);
        Ok(ScreenPoint::new(x, y))
    }

    /// Where the model sees a place of the screen, in pixels of the picture: the way back from
    /// [`Self::point`]. A place off the screen, such as a corner of a window, is off the picture.
    pub fn seen_at(&self, x: i32, y: i32) -> (i32, i32) {
        let back = |value: i32, from: u32, to: u32| {
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
        (
            back(x, self.screen.width, self.picture.width),
            back(y, self.screen.height, self.picture.height),
        )
    }

    /// The rectangle of the screen that a model's region names.
    ///
    /// # Errors
    /// When a corner is off the picture or the region is empty.
    pub fn region(&self, region: Region) -> Result<ScreenRegion, Misplaced> {
        let (from, to) = (region.from, region.to);
        if to.x <= from.x || to.y <= from.y {
            return Err(Misplaced::EmptyRegion {
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
            return Err(Misplaced::OffPicture {
                x: to.x,
                y: to.y,
                width,
                height,
            });
        }
        let end = |v: f64, from: u32, to: u32| round(v * f64::from(to) / f64::from(from)).min(to);
        let width = end(to.x, space.width, self.screen.width)
            .saturating_sub(origin.x())
            .max(1);
        let height = end(to.y, space.height, self.screen.height)
            .saturating_sub(origin.y())
            .max(1);
        Ok(ScreenRegion::new(origin, Size::new(width, height)))
    }

    /// The same action in places of the screen.
    ///
    /// # Errors
    /// When one of its places is off the picture.
    pub fn action(&self, action: &Action) -> Result<ScreenAction, Misplaced> {
        let at = |target: &Target| self.target(target);
        let maybe = |target: &Option<Target>| target.as_ref().map(at).transpose();
        Ok(match action.clone() {
            Action::Screenshot => Action::Screenshot,
            Action::Zoom { region } => Action::Zoom {
                region: self.region(region)?,
            },
            Action::CursorPosition => Action::CursorPosition,
            Action::Move { at: to } => Action::Move { at: at(&to)? },
            Action::Click {
                at: to,
                button,
                count,
                modifiers,
            } => Action::Click {
                at: maybe(&to)?,
                button,
                count,
                modifiers,
            },
            Action::MouseDown { at: to, button } => Action::MouseDown {
                at: maybe(&to)?,
                button,
            },
            Action::MouseUp { at: to, button } => Action::MouseUp {
                at: maybe(&to)?,
                button,
            },
            Action::Drag {
                path,
                button,
                modifiers,
                duration,
            } => {
                let path = path.iter().map(at).collect::<Result<_, _>>()?;
                Action::Drag {
                    path,
                    button,
                    modifiers,
                    duration,
                }
            }
            Action::Scroll {
                at: to,
                dx,
                dy,
                unit,
                modifiers,
            } => {
                let (dx, dy, unit) = self.distance(dx, dy, unit);
                Action::Scroll {
                    at: maybe(&to)?,
                    dx,
                    dy,
                    unit,
                    modifiers,
                }
            }
            Action::Type {
                text,
                at: to,
                clear_first,
                submit,
            } => Action::Type {
                text,
                at: maybe(&to)?,
                clear_first,
                submit,
            },
            Action::Key { chord, repeat } => Action::Key { chord, repeat },
            Action::HoldKey { chord, duration } => Action::HoldKey { chord, duration },
            Action::KeyDown { chord } => Action::KeyDown { chord },
            Action::KeyUp { chord } => Action::KeyUp { chord },
            Action::Wait { duration } => Action::Wait { duration },
            Action::Navigate { url, tab } => Action::Navigate { url, tab },
            Action::Back { tab } => Action::Back { tab },
            Action::Forward { tab } => Action::Forward { tab },
            Action::Reload { tab } => Action::Reload { tab },
            Action::Search { query } => Action::Search { query },
            Action::OpenBrowser { url } => Action::OpenBrowser { url },
            Action::ListTabs => Action::ListTabs,
            Action::NewTab { url } => Action::NewTab { url },
            Action::SwitchTab { tab } => Action::SwitchTab { tab },
            Action::CloseTab { tab } => Action::CloseTab { tab },
            Action::ReadPage {
                filter,
                depth,
                root,
                tab,
            } => Action::ReadPage {
                filter,
                depth,
                root: maybe(&root)?,
                tab,
            },
            Action::PageText { tab } => Action::PageText { tab },
            Action::Find { query, tab } => Action::Find { query, tab },
            Action::FormInput { at: to, value, tab } => Action::FormInput {
                at: at(&to)?,
                value,
                tab,
            },
            Action::FileUpload {
                at: to,
                paths,
                documents,
                tab,
            } => Action::FileUpload {
                at: at(&to)?,
                paths,
                documents,
                tab,
            },
            Action::ScrollTo { at: to, tab } => Action::ScrollTo { at: at(&to)?, tab },
            Action::Hover { at: to } => Action::Hover { at: at(&to)? },
            Action::Javascript { script, tab } => Action::Javascript { script, tab },
            Action::ReadConsole { tab } => Action::ReadConsole { tab },
            Action::ReadNetwork { tab } => Action::ReadNetwork { tab },
            Action::ListWindows => Action::ListWindows,
            Action::FocusWindow { window } => Action::FocusWindow { window },
            Action::MaximizeWindow { window } => Action::MaximizeWindow { window },
            Action::RestoreWindow { window } => Action::RestoreWindow { window },
            Action::MinimizeWindow { window } => Action::MinimizeWindow { window },
            Action::CloseWindow { window } => Action::CloseWindow { window },
            Action::PlaceWindow { window, region } => Action::PlaceWindow {
                window,
                region: self.region(region)?,
            },
            Action::ReadClipboard => Action::ReadClipboard,
            Action::WriteClipboard { text } => Action::WriteClipboard { text },
            Action::Invoke { at: to, name } => Action::Invoke { at: at(&to)?, name },
            Action::OpenApp { name } => Action::OpenApp { name },
            Action::LongPress { at: to, duration } => Action::LongPress {
                at: at(&to)?,
                duration,
            },
            Action::Other { name, args } => Action::Other { name, args },
        })
    }

    fn target(&self, target: &Target) -> Result<ScreenTarget, Misplaced> {
        match target {
            Target::Point(point) => self.point(*point).map(ScreenTarget::Point),
            Target::Label { n, .. } => Err(Misplaced::UnknownLabel { n: *n }),
            Target::Ref { id, frame } => Ok(ScreenTarget::Element {
                id: id.clone(),
                frame: frame.clone(),
            }),
            Target::Named(named) => Ok(ScreenTarget::Named(named.clone())),
        }
    }

    fn space(&self, space: Space) -> Size {
        match space {
            Space::Picture => self.picture,
            Space::Thousandths => Size::new(1000, 1000),
            Space::Screen => self.screen,
        }
    }

    fn distance(&self, dx: f64, dy: f64, unit: ScrollUnit) -> (f64, f64, ScrollUnit) {
        let ratio = |from: Size| {
            let x = f64::from(self.screen.width) / f64::from(from.width);
            (x, f64::from(self.screen.height) / f64::from(from.height))
        };
        match unit {
            ScrollUnit::Clicks => (dx, dy, ScrollUnit::Clicks),
            ScrollUnit::Pixels => {
                let (x, y) = ratio(self.picture);
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
    reason = "callers checked the value to lie between 0 and a u32"
)]
fn round(value: f64) -> u32 {
    value.round() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(screen: Size, picture: Size, point: Point) -> Result<(u32, u32), Misplaced> {
        Viewport::new(screen, picture)
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
    fn a_picture_a_third_as_large_scales_by_three() {
        assert_eq!(on(UHD, HD, Point::new(426, 87)), Ok((1278, 261)));
    }

    #[test]
    fn a_grid_cell_is_rounded_once() {
        assert_eq!(on(UHD, HD, Point::thousandths(311, 84)), Ok((1194, 181)));
    }

    #[test]
    fn refuses_a_point_off_the_picture() {
        let off = |x, y| {
            Err(Misplaced::OffPicture {
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
            Err(Misplaced::NotANumber)
        );
    }

    #[test]
    fn the_last_pixel_stays_on_the_screen() {
        assert_eq!(
            on(Size::new(1000, 500), HD, Point::new(1279.9, 719.9)),
            Ok((999, 499))
        );
    }

    #[test]
    fn a_place_is_seen_where_it_was_named() {
        for screen in [HD, UHD, Size::new(1600, 900), Size::new(1919, 1081)] {
            let viewport = Viewport::new(screen, HD);
            for (x, y) in [(0, 0), (1, 1), (640, 359), (1279, 719), (3, 700)] {
                let there = viewport.point(Point::new(x, y)).unwrap();
                let back = viewport.seen_at(there.x().cast_signed(), there.y().cast_signed());
                assert_eq!(back, (x, y), "{screen:?}");
            }
        }
        assert_eq!(Viewport::new(UHD, HD).seen_at(-30, 4000), (-10, 1333));
    }

    #[test]
    fn a_region_may_end_at_the_edge_and_not_be_empty() {
        let viewport = Viewport::unscaled(HD);
        let region = |x0, y0, x1, y1| Region {
            from: Point::new(x0, y0),
            to: Point::new(x1, y1),
        };
        let whole = viewport
            .region(region(0, 0, 1280, 720))
            .map(ScreenRegion::size);
        assert_eq!(whole, Ok(HD));
        assert!(matches!(
            viewport.region(region(5, 5, 5, 9)),
            Err(Misplaced::EmptyRegion { .. })
        ));
        assert!(matches!(
            viewport.region(region(5, 5, 1281, 9)),
            Err(Misplaced::OffPicture { .. })
        ));
    }
}
