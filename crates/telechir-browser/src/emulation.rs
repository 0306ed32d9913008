//! Emulated properties of the browser and its surroundings: locale, location, network and so on.

use std::fmt;

use serde_json::{Value, json};
use telechir_device::DeviceError;
use url::Url;

use crate::cdp_session::CdpSession;

mod permission;
mod settings;

pub use permission::Permission;
pub(crate) use settings::{InitialSettings, PageSettings};

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

/// A position on Earth that pages are given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geolocation {
    /// Degrees north of the equator, from -90 to 90.
    pub latitude: f64,
    /// Degrees east of Greenwich, from -180 to 180.
    pub longitude: f64,
    /// Metres, at least 0.
    pub accuracy: f64,
}

impl Geolocation {
    /// The position, if Chromium accepts it.
    pub fn new(latitude: f64, longitude: f64, accuracy: f64) -> Option<Self> {
        let is_valid = (-90.0..=90.0).contains(&latitude)
            && (-180.0..=180.0).contains(&longitude)
            && accuracy >= 0.0
            && accuracy.is_finite();
        is_valid.then_some(Self {
            latitude,
            longitude,
            accuracy,
        })
    }
}

/// A user name and a password for the HTTP authentication of one origin.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpCredentials {
    origin: String,
    user_name: String,
    password: String,
}

impl HttpCredentials {
    /// The origin that gets them.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// Credentials for a server. `login` is `user:password`; a password may have colons.
    ///
    /// # Errors
    /// If the origin is no `http` or `https` URL, or the login has no colon. The text does not
    /// contain the login.
    pub fn new(origin: &str, login: &str) -> Result<Self, String> {
        let url = Url::parse(origin).ok();
        let url = url.filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host());
        let url = url.ok_or_else(|| {
            format!("expected an origin such as https://example.com, found {origin:?}")
        })?;
        let (user_name, password) = login
            .split_once(':')
            .ok_or_else(|| format!("the login for {origin} is not of the form user:password"))?;
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            user_name: user_name.to_owned(),
            password: password.to_owned(),
        })
    }

    /// The answer to a challenge of this origin; `None` for other origins and for proxies.
    pub(crate) fn answer(&self, challenge: &Value) -> Option<Value> {
        let is_ours =
            challenge["origin"] == self.origin.as_str() && challenge["source"] == "Server";
        is_ours.then(|| {
            json!({
                "response": "ProvideCredentials",
                "username": self.user_name, "password": self.password,
            })
        })
    }
}

impl fmt::Debug for HttpCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HttpCredentials({})", self.origin)
    }
}

/// The properties of the browser that pages see; `None` keeps Chromium's own value.
#[derive(Clone, Debug, PartialEq, Default)]
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
    /// Whether `prefers-reduced-motion` is `reduce`.
    pub reduced_motion: Option<bool>,
    /// Where pages are; granted to all of them.
    pub geolocation: Option<Geolocation>,
    /// Granted to all pages.
    pub permissions: Vec<Permission>,
    /// Whether pages are laid out and touched as on a phone.
    pub is_mobile: bool,
    /// Whether pages have no network.
    pub is_offline: bool,
    /// Logins for HTTP authentication.
    pub credentials: Vec<HttpCredentials>,
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

    /// CDP commands for a page of a Chromium whose flags set the rest.
    pub(crate) fn commands_beside_flags(&self) -> Vec<(&'static str, Value)> {
        let mut commands = Vec::new();
        if self.locale.is_some() {
            commands.push(self.locale_override());
        }
        if self.reduced_motion.is_some() {
            commands.push(self.media());
        }
        commands.extend(self.state_commands());
        commands
    }

    /// CDP commands for one page. `browser` is Chromium's own user agent.
    pub(crate) fn commands(&self, browser: &str) -> Vec<(&'static str, Value)> {
        let mut commands = Vec::new();
        if self.user_agent.is_some() || self.locale.is_some() {
            commands.push(self.agent_override(browser));
        }
        if self.locale.is_some() {
            commands.push(self.locale_override());
        }
        if self.timezone.is_some() {
            commands.push(self.timezone_override());
        }
        if self.color_scheme.is_some() || self.reduced_motion.is_some() {
            commands.push(self.media());
        }
        commands.extend(self.state_commands());
        commands
    }

    /// CDP commands that change a page with `self` to `next`. `browser` is Chromium's own user
    /// agent.
    pub(crate) fn changes_to(&self, next: &Self, browser: &str) -> Vec<(&'static str, Value)> {
        let mut commands = Vec::new();
        let has_other_locale = self.locale != next.locale;
        if has_other_locale || self.user_agent != next.user_agent {
            commands.push(next.agent_override(browser));
        }
        if has_other_locale {
            commands.push(next.locale_override());
        }
        if self.timezone != next.timezone {
            commands.push(next.timezone_override());
        }
        if (self.color_scheme, self.reduced_motion) != (next.color_scheme, next.reduced_motion) {
            commands.push(next.media());
        }
        if self.geolocation != next.geolocation {
            commands.push(next.geolocation_override());
        }
        if self.is_mobile != next.is_mobile {
            commands.push(next.touch());
        }
        if self.is_offline != next.is_offline {
            commands.extend(next.network());
        }
        commands
    }

    /// The commands for what no flag can set.
    fn state_commands(&self) -> Vec<(&'static str, Value)> {
        let mut commands = Vec::new();
        if self.geolocation.is_some() {
            commands.push(self.geolocation_override());
        }
        if self.is_mobile {
            commands.push(self.touch());
        }
        if self.is_offline {
            commands.extend(self.network());
        }
        if !self.credentials.is_empty() {
            commands.push(self.authentication());
        }
        commands
    }

    fn agent_override(&self, browser: &str) -> (&'static str, Value) {
        let mut agent = json!({ "userAgent": self.user_agent.as_deref().unwrap_or(browser) });
        if let Some(languages) = self.languages() {
            agent["acceptLanguage"] = languages.into();
        }
        ("Emulation.setUserAgentOverride", agent)
    }

    fn locale_override(&self) -> (&'static str, Value) {
        let locale = self.locale.as_deref();
        let params = locale.map_or_else(|| json!({}), |locale| json!({ "locale": locale }));
        ("Emulation.setLocaleOverride", params)
    }

    fn timezone_override(&self) -> (&'static str, Value) {
        let zone = self.timezone.as_deref().unwrap_or_default();
        (
            "Emulation.setTimezoneOverride",
            json!({ "timezoneId": zone }),
        )
    }

    fn media(&self) -> (&'static str, Value) {
        let scheme = self.color_scheme.map(ColorScheme::name);
        let motion = self.reduced_motion.map(|is_reduced| match is_reduced {
            true => "reduce",
            false => "no-preference",
        });
        let features: Vec<Value> = [
            ("prefers-color-scheme", scheme),
            ("prefers-reduced-motion", motion),
        ]
        .into_iter()
        .map(|(name, value)| json!({ "name": name, "value": value.unwrap_or_default() }))
        .collect();
        (
            "Emulation.setEmulatedMedia",
            json!({ "features": features }),
        )
    }

    fn geolocation_override(&self) -> (&'static str, Value) {
        match self.geolocation {
            Some(at) => (
                "Emulation.setGeolocationOverride",
                json!({
                    "latitude": at.latitude, "longitude": at.longitude, "accuracy": at.accuracy,
                }),
            ),
            None => ("Emulation.clearGeolocationOverride", json!({})),
        }
    }

    fn touch(&self) -> (&'static str, Value) {
        (
            "Emulation.setTouchEmulationEnabled",
            json!({ "enabled": self.is_mobile, "maxTouchPoints": 5 }),
        )
    }

    /// The domain must be enabled in each session; that of a page is.
    fn network(&self) -> [(&'static str, Value); 2] {
        let conditions = json!({
            "offline": self.is_offline, "latency": 0,
            "downloadThroughput": -1, "uploadThroughput": -1,
        });
        [
            (
                "Network.enable",
                json!({ "maxTotalBufferSize": NETWORK_BUFFER_BYTES }),
            ),
            ("Network.emulateNetworkConditions", conditions),
        ]
    }

    /// Only requests of the origins with credentials pass through us.
    fn authentication(&self) -> (&'static str, Value) {
        let origins = self.credentials.iter();
        let patterns: Vec<Value> = origins
            .map(|credentials| json!({ "urlPattern": format!("{}/*", credentials.origin) }))
            .collect();
        (
            "Fetch.enable",
            json!({ "handleAuthRequests": true, "patterns": patterns }),
        )
    }

    /// The permissions as CDP names them, that of the location included.
    pub(crate) fn granted(&self) -> Vec<&'static str> {
        let location = self.geolocation.map(|_| Permission::Geolocation);
        let granted = self.permissions.iter().copied().chain(location);
        granted.map(Permission::cdp_name).collect()
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

/// Bodies of a page's responses that Chromium keeps for `read_request`, together.
pub(crate) const NETWORK_BUFFER_BYTES: u32 = 4 << 20;
const KNOWS_LOCALE: &str = "name => { \
    try { return Intl.DateTimeFormat.supportedLocalesOf([name]).length > 0 } \
    catch { return false } }";
const KNOWS_ZONE: &str = "name => { \
    try { return !!Intl.DateTimeFormat('en', { timeZone: name }) } catch { return false } }";
