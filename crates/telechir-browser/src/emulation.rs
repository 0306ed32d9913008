//! Emulated locale, time zone, user agent and colour scheme.

use serde_json::{Value, json};
use telechir_device::DeviceError;

use crate::cdp_session::CdpSession;

/// The value of `prefers-color-scheme`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorScheme {
    /// Dark text on a light background.
    Light,
    /// Light text on a dark background.
    Dark,
}

impl ColorScheme {
    /// The CSS name, `light` or `dark`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// The properties of the browser that pages see; `None` keeps Chromium's own value.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Emulation {
    /// Language and region, such as `de-AT`, for `navigator.language`, `Intl` and
    /// `Accept-Language`.
    pub locale: Option<String>,
    /// An IANA time zone, such as `Europe/Vienna`.
    pub timezone: Option<String>,
    /// The value of `navigator.userAgent` and of the `User-Agent` header.
    pub user_agent: Option<String>,
    /// The value of `prefers-color-scheme`.
    pub color_scheme: Option<ColorScheme>,
}

impl Emulation {
    /// The value of `Accept-Language`, the preferred language first.
    pub(crate) fn languages(&self) -> Option<String> {
        let locale = self.locale.as_deref()?;
        Some(match locale.split_once('-') {
            Some((language, _)) => format!("{locale},{language}"),
            None => locale.to_owned(),
        })
    }

    /// Command line flags that apply to all of Chromium.
    pub(crate) fn flags(&self) -> Vec<String> {
        let languages = self.languages();
        let locale = self.locale.as_deref();
        // The headless shell knows the colour scheme only by this flag.
        let scheme = self.color_scheme.map(|scheme| match scheme {
            ColorScheme::Dark => "preferredColorScheme=0",
            ColorScheme::Light => "preferredColorScheme=1",
        });
        [
            ("lang", locale),
            ("accept-lang", languages.as_deref()),
            ("user-agent", self.user_agent.as_deref()),
            ("blink-settings", scheme),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some(format!("--{name}={}", value?)))
        .collect()
    }

    /// Environment variables that apply to all of Chromium.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let language = self
            .locale
            .as_deref()
            .map(|locale| locale.replace('-', "_"));
        let zone = self.timezone.clone();
        // `LANGUAGE` is ignored if `LANG` is the C locale.
        let lang = language
            .as_deref()
            .map(|language| format!("{language}.UTF-8"));
        [("LANGUAGE", language), ("LANG", lang), ("TZ", zone)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// CDP commands beside the flags: the region of the locale.
    pub(crate) fn locale_override(&self) -> Vec<(&'static str, Value)> {
        let locale = self.locale.as_deref();
        locale
            .map(|locale| (LOCALE, json!({ "locale": locale })))
            .into_iter()
            .collect()
    }

    /// CDP commands for one page. `browser` is Chromium's own user agent.
    pub(crate) fn commands(&self, browser: &str) -> Vec<(&'static str, Value)> {
        let mut commands = Vec::new();
        if self.user_agent.is_some() || self.locale.is_some() {
            let mut agent = json!({ "userAgent": self.user_agent.as_deref().unwrap_or(browser) });
            if let Some(languages) = self.languages() {
                agent["acceptLanguage"] = languages.into();
            }
            commands.push(("Emulation.setUserAgentOverride", agent));
        }
        commands.extend(self.locale_override());
        if let Some(zone) = &self.timezone {
            commands.push((
                "Emulation.setTimezoneOverride",
                json!({ "timezoneId": zone }),
            ));
        }
        if let Some(scheme) = self.color_scheme {
            let feature = json!({ "name": "prefers-color-scheme", "value": scheme.name() });
            commands.push((
                "Emulation.setEmulatedMedia",
                json!({ "features": [feature] }),
            ));
        }
        commands
    }

    /// Checks that Chromium knows the locale and the time zone, which flags do not report.
    pub(crate) async fn check(&self, page: &CdpSession) -> Result<(), DeviceError> {
        let wanted = [
            ("locale", &self.locale, KNOWS_LOCALE, "de-AT"),
            ("timezone", &self.timezone, KNOWS_ZONE, "Europe/Vienna"),
        ];
        for (what, value, knows, example) in wanted {
            let Some(value) = value else { continue };
            let expression = format!("({knows})({})", json!(value));
            if page.evaluate(&expression).await? != true {
                return Err(DeviceError::Unavailable {
                    what: "Chromium",
                    message: format!("unknown {what} {value:?}; use one such as {example}"),
                });
            }
        }
        Ok(())
    }
}

const LOCALE: &str = "Emulation.setLocaleOverride";
const KNOWS_LOCALE: &str = "name => { \
    try { return Intl.DateTimeFormat.supportedLocalesOf([name]).length > 0 } \
    catch { return false } }";
const KNOWS_ZONE: &str = "name => { \
    try { return !!Intl.DateTimeFormat('en', { timeZone: name }) } catch { return false } }";
