//! The resolved settings of a session.

use std::time::Duration;

use telechir_device::Settle;
use telechir_image::Format;
use telechir_protocol::Size;

/// Which results include a screenshot that the call did not request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AutoScreenshot {
    /// Every result, also of failed calls: for dialects that require a screenshot in each result.
    #[default]
    EveryCall,
    /// The last computer call of each tool group in a turn, and every failed call.
    LastOfBatch,
    /// None: only actions that take a screenshot return one.
    OnRequest,
    /// None, and actions that take one fail: for models that read only text.
    Never,
}

/// Maximum size and encoding of screenshots. A larger screen is scaled down proportionally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScreenshotRule {
    /// Maximum width in pixels; absent means no limit.
    pub max_width: Option<u32>,
    /// Maximum length of the longer edge in pixels; absent means no limit.
    pub max_edge: Option<u32>,
    /// Maximum number of pixels; absent means no limit.
    pub max_pixels: Option<u64>,
    /// Encoding that the user chose. If absent, a PNG of the browser is sent as it is, another
    /// screenshot as lossless WebP if the service accepts that, else as PNG: an image is sent again
    /// with every later request, so its bytes cost more than its encoding.
    pub format: Option<Format>,
    /// Whether the service accepts WebP.
    pub accepts_webp: bool,
    /// Maximum encoded size in bytes; a larger screenshot is encoded in another format. Absent
    /// means no limit.
    pub max_bytes: Option<usize>,
}

/// Screenshots up to 1280 pixels wide: the width most used with every model, and readable.
impl Default for ScreenshotRule {
    fn default() -> Self {
        Self {
            max_width: Some(1280),
            ..Self::native()
        }
    }
}

impl ScreenshotRule {
    /// Screenshots at the screen's own size, as PNG for a service that accepts nothing else.
    pub const fn native() -> Self {
        Self {
            max_width: None,
            max_edge: None,
            max_pixels: None,
            format: None,
            accepts_webp: false,
            max_bytes: None,
        }
    }

    /// The rule for a zoomed part of the screen: as wide as the model accepts.
    pub(crate) const fn of_part(self) -> Self {
        Self {
            max_width: None,
            ..self
        }
    }

    /// The formats to try until one is small enough, best first.
    pub(crate) fn formats(&self) -> Vec<Format> {
        let lossless = match self.accepts_webp {
            true => Format::Webp,
            false => Format::Png,
        };
        let first = self.format.unwrap_or(lossless);
        let smaller = [Format::Webp].into_iter().chain(Format::JPEGS);
        let smaller = smaller
            .filter(|format| *format != first && (self.accepts_webp || *format != Format::Webp));
        std::iter::once(first).chain(smaller).collect()
    }

    /// The size of the screenshot of a screen of this size; never larger than the screen.
    pub fn fit(&self, screen: Size) -> Size {
        let (width, height) = (f64::from(screen.width), f64::from(screen.height));
        let wide = self
            .max_width
            .map_or(1.0, |max_width| f64::from(max_width) / width);
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
    reason = "the value is between 1 and u32::MAX"
)]
fn floor(value: f64) -> u32 {
    // Slightly more than the product, so that rounding does not miss an exact limit.
    (value + 1e-6).floor().max(1.0) as u32
}

/// Limits on the time, size and number of everything a session does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionLimits {
    /// Timeout of a command if the call names none.
    pub command_timeout: Duration,
    /// Maximum total time of all commands of a call, also if the call names more.
    pub max_command_timeout: Duration,
    /// Maximum retained output of a command in bytes, stdout and stderr together.
    pub max_output_bytes: usize,
    /// Duration of a wait action that names none.
    pub default_wait: Duration,
    /// Maximum duration of a wait action.
    pub max_wait: Duration,
    /// Timeout of a device action, in addition to the action's own duration.
    pub action_timeout: Duration,
    /// How long to wait for the user's decision; after that the answer is no.
    pub approval_timeout: Duration,
    /// Maximum number of approval questions per minute; further ones are denied.
    pub max_questions_per_minute: usize,
    /// Timeout for resolving a host name.
    pub resolve_timeout: Duration,
    /// How long to wait for the screen to settle before a screenshot.
    pub settle: Settle,
    /// How long to wait for the screen to settle between two actions.
    pub settle_between_actions: Settle,
    /// Maximum number of actions per call.
    pub max_actions: usize,
}

impl Default for SessionLimits {
    fn default() -> Self {
        let ms = Duration::from_millis;
        Self {
            command_timeout: Duration::from_secs(30),
            max_command_timeout: Duration::from_secs(600),
            max_output_bytes: 64 * 1024,
            default_wait: Duration::from_secs(1),
            max_wait: Duration::from_secs(60),
            action_timeout: Duration::from_secs(60),
            approval_timeout: Duration::from_secs(300),
            max_questions_per_minute: 20,
            resolve_timeout: Duration::from_secs(3),
            settle: Settle {
                quiet: ms(45),
                ceiling: ms(3000),
            },
            settle_between_actions: Settle {
                quiet: ms(40),
                ceiling: ms(500),
            },
            max_actions: 200,
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

    #[test]
    fn the_users_format_comes_first_and_webp_only_where_it_is_accepted() {
        let formats = |format: Option<Format>, accepts_webp: bool| {
            let rule = ScreenshotRule {
                format,
                accepts_webp,
                ..ScreenshotRule::native()
            };
            rule.formats()
        };
        let then_jpeg = |first: &[Format]| [first, &Format::JPEGS].concat();
        let (png, webp, jpeg) = (Format::Png, Format::Webp, Format::JPEGS[0]);
        assert_eq!(formats(None, false), then_jpeg(&[png]));
        assert_eq!(formats(None, true), then_jpeg(&[webp]));
        assert_eq!(formats(Some(png), true), then_jpeg(&[png, webp]));
        assert_eq!(formats(Some(webp), false), then_jpeg(&[webp]));
        assert_eq!(formats(Some(jpeg), false), Format::JPEGS);
    }
}
