//! The resolved settings of a session.

use std::time::Duration;

use telechir_device::Settle;
use telechir_image::Format;
use telechir_protocol::Size;

/// Which calls are answered with a fresh picture they did not ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AutoScreenshot {
    /// Each, failed ones too: for dialects whose every result needs a picture.
    #[default]
    EveryCall,
    /// The last computer call of each family in a turn, and one that failed.
    LastOfBatch,
}

/// How large pictures may be, and how they are encoded. A larger screen is scaled down, its
/// proportions kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenshotRule {
    /// Pixels from left to right; absent means no limit.
    pub max_width: Option<u32>,
    /// Pixels of the longer edge; absent means no limit.
    pub max_edge: Option<u32>,
    /// Pixels altogether; absent means no limit.
    pub max_pixels: Option<u64>,
    /// How the picture is encoded.
    pub format: Format,
    /// Bytes of a picture; one with more is encoded in another format. Absent means no limit.
    pub max_bytes: Option<usize>,
}

/// Pictures 1280 pixels wide: what every model was shown most, and large enough to read.
impl Default for ScreenshotRule {
    fn default() -> Self {
        Self {
            max_width: Some(1280),
            ..Self::native()
        }
    }
}

impl ScreenshotRule {
    /// The screen at its own size.
    pub const fn native() -> Self {
        Self {
            max_width: None,
            max_edge: None,
            max_pixels: None,
            format: Format::Png,
            max_bytes: None,
        }
    }

    /// The same for a part of the screen that is looked at closer: as wide as the model can take.
    pub(crate) const fn of_part(self) -> Self {
        Self {
            max_width: None,
            ..self
        }
    }

    /// The size of the picture of a screen of this size; never larger than the screen.
    pub fn fit(&self, screen: Size) -> Size {
        let (width, height) = (f64::from(screen.width), f64::from(screen.height));
        let wide = self.max_width.map_or(1.0, |most| f64::from(most) / width);
        let edge = self
            .max_edge
            .map_or(1.0, |edge| f64::from(edge) / width.max(height));
        #[expect(
            clippy::cast_precision_loss,
            reason = "pixel counts are far below 2^52"
        )]
        let area = self
            .max_pixels
            .map_or(1.0, |pixels| (pixels as f64 / (width * height)).sqrt());
        let factor = wide.min(edge).min(area);
        if factor >= 1.0 || !factor.is_finite() {
            return screen;
        }
        Size::new(floor(width * factor), floor(height * factor))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and a u32"
)]
fn floor(value: f64) -> u32 {
    // A hair more than the product, so that an exact limit is not missed by rounding.
    (value + 1e-6).floor().max(1.0) as u32
}

/// What every wait and every size of a session ends at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// For a command when the model names no time.
    pub command: Duration,
    /// For all commands of a call, whatever the model names.
    pub command_at_most: Duration,
    /// Bytes of output of a command that are kept, of both streams together.
    pub output_bytes: usize,
    /// For a wait whose length the model does not say.
    pub wait: Duration,
    /// For a wait, whatever the model says.
    pub wait_at_most: Duration,
    /// For an action of a device, over and above the time it is meant to take.
    pub action: Duration,
    /// For a person to answer; later is a no.
    pub approval: Duration,
    /// Questions within a minute; whatever would be asked beyond that is denied.
    pub questions_a_minute: usize,
    /// For finding a host's addresses.
    pub resolve: Duration,
    /// How long a screen is watched before its picture is taken.
    pub settle: Settle,
    /// How long it is watched between two actions.
    pub between: Settle,
    /// Actions of one call.
    pub actions: usize,
}

impl Default for Limits {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            command: Duration::from_secs(30),
            command_at_most: Duration::from_secs(600),
            output_bytes: 64 * 1024,
            wait: Duration::from_secs(1),
            wait_at_most: Duration::from_secs(60),
            action: Duration::from_secs(60),
            approval: Duration::from_secs(600),
            questions_a_minute: 20,
            resolve: Duration::from_secs(3),
            settle: Settle {
                quiet: ms(45),
                ceiling: ms(2000),
            },
            between: Settle {
                quiet: ms(40),
                ceiling: ms(500),
            },
            actions: 200,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn screenshots_keep_their_proportions_within_the_limits() {
        let rule = ScreenshotRule {
            max_edge: Some(1568),
            max_pixels: Some(1_150_000),
            ..ScreenshotRule::native()
        };
        assert_eq!(rule.fit(Size::new(1280, 800)), Size::new(1280, 800));
        assert_eq!(rule.fit(Size::new(3840, 2160)), Size::new(1429, 804));
        let edge = ScreenshotRule {
            max_edge: Some(1280),
            ..ScreenshotRule::native()
        };
        assert_eq!(edge.fit(Size::new(2560, 1440)), Size::new(1280, 720));
        assert_eq!(
            ScreenshotRule::native().fit(Size::new(9, 7)),
            Size::new(9, 7)
        );
        let default = ScreenshotRule::default();
        assert_eq!(default.fit(Size::new(2560, 1600)), Size::new(1280, 800));
        assert_eq!(default.fit(Size::new(1000, 2000)), Size::new(1000, 2000));
    }
}
