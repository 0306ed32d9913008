//! Conversion between screen pixels (screenshots, points) and CSS pixels (Chromium).

use telechir_protocol::Size;

/// Screen pixels per CSS pixel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale(f64);

impl Default for Scale {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Scale {
    /// The scale, if Chromium supports it.
    pub(crate) fn new(scale: f64) -> Option<Self> {
        (0.25..=4.0).contains(&scale).then_some(Self(scale))
    }

    pub(crate) const fn get(self) -> f64 {
        self.0
    }

    /// The scale of a page that is shown so many times as large as it is laid out.
    pub(crate) fn zoomed(self, factor: f64) -> Self {
        match factor.is_finite() && factor > 0.0 {
            true => Self(self.0 * factor),
            false => self,
        }
    }

    /// Converts a length from screen to CSS pixels.
    pub(crate) fn to_page(self, screen: u32) -> f64 {
        f64::from(screen) / self.0
    }

    /// The page size in CSS pixels for a screen size.
    pub(crate) fn size(self, screen: Size) -> Size {
        let length = |screen| saturating_u32(self.to_page(screen).round());
        Size::new(length(screen.width), length(screen.height))
    }

    /// Whether the screen size is an integral number of CSS pixels.
    pub(crate) fn fills(self, screen: Size) -> bool {
        let is_integer = |screen| self.to_page(screen).fract().abs() < f64::EPSILON;
        is_integer(screen.width) && is_integer(screen.height)
    }

    /// The screen pixel in the middle of a CSS pixel.
    pub(crate) fn to_screen(self, page: u32) -> u32 {
        if self.0 == 1.0 {
            return page;
        }
        saturating_u32(((f64::from(page) + 0.5) * self.0).floor())
    }

    /// Converts an edge from CSS to screen pixels.
    pub(crate) fn edge(self, page: i32) -> i32 {
        #[expect(clippy::cast_possible_truncation, reason = "it saturates")]
        let edge = (f64::from(page) * self.0).round() as i32;
        edge
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it saturates, and none is below zero"
)]
fn saturating_u32(length: f64) -> u32 {
    length as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_map_back_to_the_same_page_pixel() {
        for scale in [0.5, 1.0, 1.25, 1.5, 2.0, 3.0] {
            let scale = Scale::new(scale).unwrap();
            for page in 0..2000 {
                let screen = scale.to_screen(page);
                let back = scale.to_page(screen);
                assert!((back - f64::from(page)).abs() <= 1.0, "{page} at {scale:?}");
            }
        }
        assert_eq!(Scale::default().to_screen(7), 7);
        assert_eq!(Scale::new(2.0).unwrap().to_screen(7), 15);
    }

    #[test]
    fn fills_needs_an_integral_page_size() {
        let scale = Scale::new(1.25).unwrap();
        assert!(scale.fills(Size::new(1000, 700)));
        assert!(!scale.fills(Size::new(1281, 700)));
        assert!(!scale.fills(Size::new(1000, 801)));
        assert!(Scale::default().fills(Size::new(801, 603)));
    }

    #[test]
    fn scales_outside_the_supported_range_are_refused() {
        for wrong in [0.0, -1.0, 0.1, 9.0, f64::NAN, f64::INFINITY] {
            assert_eq!(Scale::new(wrong), None, "{wrong}");
        }
    }
}
