//! Differences between services that speak chat completions.

use telechir_protocol::Size;

/// A variant of chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Any service or server. Tool messages hold only text, so images follow in a user message.
    Functions,
    /// A server whose models accept images in tool messages.
    Inline,
    /// Mistral chat completions, also behind another server.
    Mistral,
    /// Mistral's Conversations API: entries instead of messages, with the same content parts.
    Conversations,
}

/// Maximum length of the longer and the shorter side, in pixels.
struct MaxImageSides {
    long: u32,
    short: u32,
}

impl Flavour {
    pub(crate) fn dialect(self) -> &'static str {
        match self {
            Self::Functions => "functions",
            Self::Inline => "functions-inline",
            Self::Mistral => "mistral-chat",
            Self::Conversations => "mistral-conversations",
        }
    }

    /// Key under which provider-specific fields are stored in `Meta`.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Functions | Self::Inline => "functions",
            Self::Mistral | Self::Conversations => "mistral",
        }
    }

    /// Whether this service understands unknown parts that a dialect retained. The two APIs of
    /// Mistral have different parts.
    pub(crate) fn accepts_unknown_of(self, dialect: &str) -> bool {
        match self {
            Self::Functions | Self::Inline => {
                [Self::Functions.dialect(), Self::Inline.dialect()].contains(&dialect)
            }
            Self::Mistral | Self::Conversations => dialect == self.dialect(),
        }
    }

    /// Wrapper type for parts whose own type collides with a neutral content type.
    pub(crate) fn wrapped(self) -> &'static str {
        "chat_part"
    }

    /// Whether a call id is accepted: Mistral requires exactly nine letters and digits, other
    /// services allow up to 40 characters.
    pub(crate) fn takes_id(self, id: &str) -> bool {
        match self {
            Self::Functions | Self::Inline => !id.is_empty() && id.len() <= 40,
            Self::Mistral | Self::Conversations => {
                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        }
    }

    /// Maximum number of base64 characters in an image.
    pub(crate) const fn image_base64(self) -> usize {
        match self {
            Self::Mistral | Self::Conversations => 10_000_000,
            Self::Functions | Self::Inline => 20_000_000,
        }
    }

    /// The largest size at which images are not downscaled. Mistral models process up to 1540
    /// pixels per side (the oldest vision model 1024); most others reduce the short side to 768.
    pub(crate) fn screenshot_size(self, model: Option<&str>, size: Size) -> Size {
        let old = model.is_some_and(|model| model.contains("pixtral-12b"));
        let limits = match self {
            Self::Mistral | Self::Conversations if old => MaxImageSides {
                long: 1024,
                short: 1024,
            },
            Self::Mistral | Self::Conversations => MaxImageSides {
                long: 1540,
                short: 1540,
            },
            Self::Functions | Self::Inline => MaxImageSides {
                long: 1366,
                short: 768,
            },
        };
        limits.shrink(size)
    }
}

impl MaxImageSides {
    fn shrink(&self, size: Size) -> Size {
        let (long, short) = (
            size.width.max(size.height).max(1),
            size.width.min(size.height).max(1),
        );
        if long <= self.long && short <= self.short {
            return size;
        }
        // The tighter of the two limits as a fraction, without rounding up.
        let by_long = (u64::from(self.long), u64::from(long));
        let by_short = (u64::from(self.short), u64::from(short));
        let (top, bottom) = if by_long.0 * by_short.1 <= by_short.0 * by_long.1 {
            by_long
        } else {
            by_short
        };
        let scaled = |side: u32| {
            u32::try_from(u64::from(side) * top / bottom)
                .unwrap_or(u32::MAX)
                .max(1)
        };
        Size::new(scaled(size.width), scaled(size.height))
    }
}

#[cfg(test)]
mod tests {
    use telechir_protocol::Size;

    use super::Flavour;

    #[test]
    fn an_image_shrinks_to_the_tighter_limit_and_never_grows() {
        let size = |flavour: Flavour, width, height| {
            let size = flavour.screenshot_size(None, Size::new(width, height));
            (size.width, size.height)
        };
        assert_eq!(size(Flavour::Functions, 1024, 768), (1024, 768));
        assert_eq!(size(Flavour::Functions, 1920, 1080), (1365, 768));
        assert_eq!(size(Flavour::Functions, 1080, 1920), (768, 1365));
        assert_eq!(size(Flavour::Functions, 4000, 1000), (1366, 341));
        assert_eq!(size(Flavour::Mistral, 1920, 1080), (1540, 866));
        assert_eq!(size(Flavour::Mistral, 1280, 800), (1280, 800));
    }
}
