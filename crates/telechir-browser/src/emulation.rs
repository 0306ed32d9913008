//! What pages are told of whoever looks at them: language, time, program, colours.

use serde_json::{Value, json};
use telechir_device::DeviceError;

use crate::cdp_session::Page;

/// Which colours a page is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColorScheme {
    /// Dark words on a light ground.
    Light,
    /// Light words on a dark ground.
    Dark,
}

impl ColorScheme {
    /// The name that pages know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

/// What pages are told of whoever looks at them; what is absent is Chromium's own.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Emulation {
    /// Language and region, such as `de-AT`: of texts, numbers and dates, and what servers are
    /// asked for.
    pub locale: Option<String>,
    /// A zone of the IANA database, such as `Europe/Vienna`.
    pub timezone: Option<String>,
    /// What the browser says it is.
    pub user_agent: Option<String>,
    /// Which colours a page is asked for.
    pub color_scheme: Option<ColorScheme>,
}

impl Emulation {
    /// The languages to ask servers for, the best first.
    pub(crate) fn languages(&self) -> Option<String> {
        let locale = self.locale.as_deref()?;
        Some(match locale.split_once('-') {
            Some((language, _)) => format!("{locale},{language}"),
            None => locale.to_owned(),
        })
    }

    /// Flags that have all of Chromium say so from its beginning.
    pub(crate) fn flags(&self) -> Vec<String> {
        let languages = self.languages();
        let locale = self.locale.as_deref();
        // A Chromium without windows knows the scheme by this alone.
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

    /// Variables that do.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        let language = self
            .locale
            .as_deref()
            .map(|locale| locale.replace('-', "_"));
        let zone = self.timezone.clone();
        // The first is not looked at where the second says that there is no language.
        let lang = language
            .as_deref()
            .map(|language| format!("{language}.UTF-8"));
        [("LANGUAGE", language), ("LANG", lang), ("TZ", zone)]
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }

    /// The command for what flags do not say to a page: the region beside the language.
    pub(crate) fn beside_flags(&self) -> Vec<(&'static str, Value)> {
        let locale = self.locale.as_deref();
        locale
            .map(|locale| (LOCALE, json!({ "locale": locale })))
            .into_iter()
            .collect()
    }

    /// Commands that have one page say so. `browser` is what Chromium says it is.
    pub(crate) fn commands(&self, browser: &str) -> Vec<(&'static str, Value)> {
        let mut commands = Vec::new();
        if self.user_agent.is_some() || self.locale.is_some() {
            let mut agent = json!({ "userAgent": self.user_agent.as_deref().unwrap_or(browser) });
            if let Some(languages) = self.languages() {
                agent["acceptLanguage"] = languages.into();
            }
            commands.push(("Emulation.setUserAgentOverride", agent));
        }
        commands.extend(self.beside_flags());
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

    /// Asks Chromium whether it knows the locale and the zone, which flags do not tell.
    pub(crate) async fn check(&self, page: &Page) -> Result<(), DeviceError> {
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
                    message: format!("it knows no {what} {value:?}; name one such as {example}"),
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
