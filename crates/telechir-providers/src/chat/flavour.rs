//! What differs between services that speak chat completions.

use telechir_protocol::Size;

/// Whose chat completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flavour {
    /// Any service's or server's. A tool's message has only words, so pictures follow it in a
    /// message of the user.
    Functions,
    /// A server's whose models see pictures in the message of a tool.
    Inline,
    /// Mistral's, also behind another server.
    Mistral,
    /// Mistral's conversations: no chat completions, but entries with the same parts.
    Conversations,
}

/// Pixels of the longer and the shorter side, at most.
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

    /// Under this name contents keep what only such services say.
    pub(crate) fn provider(self) -> &'static str {
        match self {
            Self::Functions | Self::Inline => "functions",
            Self::Mistral | Self::Conversations => "mistral",
        }
    }

    /// The type of a content that holds a part whose own type means something else among ours.
    pub(crate) fn wrapped(self) -> &'static str {
        "chat_part"
    }

    /// Whether a call's id can be sent: Mistral demands nine letters and digits, others have a
    /// limit of forty characters.
    pub(crate) fn takes_id(self, id: &str) -> bool {
        match self {
            Self::Functions | Self::Inline => !id.is_empty() && id.len() <= 40,
            Self::Mistral | Self::Conversations => {
                id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
            }
        }
    }

    /// Characters of base64 that a picture may have.
    pub(crate) const fn image_base64(self) -> usize {
        match self {
            Self::Mistral | Self::Conversations => 10_000_000,
            Self::Functions | Self::Inline => 20_000_000,
        }
    }

    /// The size at which pictures come through as they are. Models of Mistral see at most 1540
    /// pixels a side, its oldest one with eyes 1024; of most others no more than a short side of
    /// 768 is left.
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
