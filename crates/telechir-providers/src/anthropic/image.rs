//! Image sizes above which the provider shrinks or rejects an image.

use telechir_protocol::Size;

use super::models;
use crate::image_size::size_of;

/// The largest image that a model processes at full size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ImageTier {
    /// Models up to 4.6, and Sonnet and Haiku 4.5: long edge up to 1568 pixels, 1568 tokens.
    Standard,
    /// Models from 4.7 on, and all with toolsets: long edge up to 2576 pixels, 4784 tokens.
    High,
}

/// Longest side of any image, in pixels.
const MAX_SIDE_PX: u32 = 8000;
/// Maximum size of one image in bytes of base64.
pub(super) const MAX_BASE64_BYTES: usize = 10 * 1024 * 1024;
/// Side length in pixels of the square that costs one visual token.
const TOKEN_SIDE_PX: u32 = 28;

impl ImageTier {
    /// The tier of a model; [`ImageTier::High`] for an unknown or absent one.
    pub(super) fn for_model(model: Option<&str>) -> Self {
        match model.and_then(models::parse_model) {
            Some(model) if model.number < (4, 7) => Self::Standard,
            Some(_) | None => Self::High,
        }
    }

    const fn max_edge_px(self) -> u32 {
        match self {
            Self::Standard => 1568,
            Self::High => 2576,
        }
    }

    const fn max_tokens(self) -> u64 {
        match self {
            Self::Standard => 1568,
            Self::High => 4784,
        }
    }
}

/// Cost of an image: one token for each started square of 28 by 28 pixels.
fn visual_tokens(size: Size) -> u64 {
    u64::from(size.width.div_ceil(TOKEN_SIDE_PX)) * u64::from(size.height.div_ceil(TOKEN_SIDE_PX))
}

/// Whether an image of this size is processed at full size.
fn image_fits(tier: ImageTier, size: Size) -> bool {
    size.width.max(size.height) <= tier.max_edge_px() && visual_tokens(size) <= tier.max_tokens()
}

/// The largest size of the same aspect ratio that fits.
fn largest_fitting(tier: ImageTier, size: Size) -> Size {
    if image_fits(tier, size) || size.width == 0 || size.height == 0 {
        return size;
    }
    if size.height > size.width {
        let turned = largest_fitting(tier, Size::new(size.height, size.width));
        return Size::new(turned.height, turned.width);
    }
    let fitting = |width: u32| {
        // Rounds half up: 2000 by 1500 becomes 1269 by 952.
        let doubled = 2 * u64::from(width) * u64::from(size.height) + u64::from(size.width);
        let height = u32::try_from(doubled / (2 * u64::from(size.width))).unwrap_or(u32::MAX);
        Size::new(width, height.max(1))
    };
    let widths = (1..=size.width.min(tier.max_edge_px())).rev();
    widths
        .map(fitting)
        .find(|fitted| image_fits(tier, *fitted))
        .unwrap_or(Size::new(1, 1))
}

/// The largest size up to `size` at which this model processes an image without shrinking it.
pub(crate) fn screenshot_size(model: Option<&str>, size: Size) -> Size {
    largest_fitting(ImageTier::for_model(model), size)
}

/// Why an image in base64 cannot be sent unchanged, as a predicate ("is 1 by 2, …"); none if it can.
pub(super) fn problem(tier: ImageTier, base64: &str) -> Option<String> {
    if let Some(problem) = hard_limit_problem(base64) {
        return Some(problem);
    }
    let Size { width, height } = size_of(base64)?;
    let fitting = largest_fitting(tier, Size::new(width, height));
    (fitting != Size::new(width, height)).then(|| {
        format!(
            "is {width} by {height}, larger than {} by {}",
            fitting.width, fitting.height
        )
    })
}

/// Why no model accepts an image, not even shrunk; none if it is accepted.
pub(super) fn hard_limit_problem(base64: &str) -> Option<String> {
    let length = base64.len();
    if length > MAX_BASE64_BYTES {
        return Some(format!(
            "has {length} bytes of base64, more than {MAX_BASE64_BYTES}"
        ));
    }
    let Size { width, height } = size_of(base64)?;
    (width.max(height) > MAX_SIDE_PX)
        .then(|| format!("is {width} by {height}, with a side over {MAX_SIDE_PX}"))
}

#[cfg(test)]
mod tests {
    use telechir_protocol::Size;

    use super::{ImageTier, image_fits, largest_fitting};

    #[test]
    fn shrinks_to_the_documented_sizes() {
        use ImageTier::{High, Standard};
        let table = [
            (Standard, (1920, 1080), (1456, 819)),
            (High, (3840, 2160), (2576, 1449)),
            (Standard, (2000, 1500), (1269, 952)),
            (Standard, (1500, 2000), (952, 1269)),
            (Standard, (1024, 768), (1024, 768)),
            (Standard, (1280, 720), (1280, 720)),
            (High, (1920, 1080), (1920, 1080)),
            (High, (1, 30000), (1, 2576)),
        ];
        for (tier, (width, height), (fit_width, fit_height)) in table {
            let size = Size::new(width, height);
            let fitted = largest_fitting(tier, size);
            assert_eq!(
                fitted,
                Size::new(fit_width, fit_height),
                "{tier:?} {width}x{height}"
            );
            assert_eq!(
                image_fits(tier, size),
                fitted == size,
                "{tier:?} {width}x{height}"
            );
        }
    }

    #[test]
    fn the_tier_follows_the_model() {
        let standard = [
            "claude-opus-4-6",
            "claude-sonnet-4-5-20250929",
            "claude-haiku-4-5",
        ];
        for model in standard {
            assert_eq!(
                ImageTier::for_model(Some(model)),
                ImageTier::Standard,
                "{model}"
            );
        }
        for model in [
            "claude-opus-4-7",
            "claude-sonnet-5",
            "claude-haiku-5-5",
            "unknown-model",
        ] {
            assert_eq!(
                ImageTier::for_model(Some(model)),
                ImageTier::High,
                "{model}"
            );
        }
    }
}
