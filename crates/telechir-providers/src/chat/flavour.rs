//! Differences between services that speak chat completions.

use telechir_protocol::Size;

use crate::ScreenshotWhen;
use crate::codec::ScreenshotRules;

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
    pub(crate) const fn dialect(self) -> &'static str {
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

    /// The dialects whose unknown parts this service understands. The two APIs of Mistral have
    /// different parts.
    pub(crate) const fn understands(self) -> &'static [&'static str] {
        const COMPLETIONS: &[&str] = &[Flavour::Functions.dialect(), Flavour::Inline.dialect()];
        const MISTRAL: &[&str] = &[Flavour::Mistral.dialect()];
        const CONVERSATIONS: &[&str] = &[Flavour::Conversations.dialect()];
        match self {
            Self::Functions | Self::Inline => COMPLETIONS,
            Self::Mistral => MISTRAL,
            Self::Conversations => CONVERSATIONS,
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

    /// The screenshots that the service accepts. Many servers speak this format, and not all of them
    /// decode WebP; no document names the formats of Mistral's `image_url`.
    pub(crate) const fn screenshots(self) -> ScreenshotRules {
        let completions = ScreenshotRules {
            size: |_model, size| MaxImageSides::COMPLETIONS.shrink(size),
            max_base64: 20_000_000,
            accepts_webp: false,
            when: ScreenshotWhen::LastOfBatch,
        };
        match self {
            Self::Functions | Self::Inline => completions,
            Self::Mistral | Self::Conversations => ScreenshotRules {
                size: |model, size| MaxImageSides::of_mistral(model).shrink(size),
                max_base64: 10_000_000,
                ..completions
            },
        }
    }
}

impl MaxImageSides {
    /// Most models reduce the short side to 768 pixels.
    const COMPLETIONS: Self = Self {
        long: 1366,
        short: 768,
    };

    /// Mistral's models process up to 1540 pixels per side, the oldest vision model 1024.
    fn of_mistral(model: Option<&str>) -> Self {
        let is_oldest = model.is_some_and(|model| model.contains("pixtral-12b"));
        let side = if is_oldest { 1024 } else { 1540 };
        Self {
            long: side,
            short: side,
        }
    }

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
            let size = (flavour.screenshots().size)(None, Size::new(width, height));
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
