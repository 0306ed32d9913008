//! Browser flags: profile, attachment to a running browser, limits and emulation.

use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use telechir_browser::{
    ColorScheme, Emulation, Geolocation, HttpCredentials, Permission, ProfileId, ProfileUse,
};

use super::cdp::{CdpArguments, is_variable};
use super::flag_text;
use super::remote::RemoteArguments;
use crate::secrets::Secrets;

#[derive(Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
#[command(next_help_heading = "Browser")]
pub(crate) struct BrowserArguments {
    /// Use this profile with its cookies, storage and logins (create it with
    /// `telechir profiles create`). Without it a fresh profile is used and discarded.
    #[arg(long, value_name = "ID", requires = "browser")]
    #[serde(with = "flag_text")]
    pub(crate) profile: Option<ProfileId>,
    /// Use a copy of the profile and discard the changes.
    #[arg(long, requires = "profile")]
    pub(crate) no_persist: bool,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) attach: CdpArguments,
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) remote: RemoteArguments,
    /// Memory limit in MiB for all browser processes together, enforced where control groups are
    /// available [default: 4096].
    #[arg(long, value_name = "MIB", requires = "browser", conflicts_with_all = ["cdp", "remote"], value_parser = clap::value_parser!(u64).range(256..=1_048_576))]
    pub(crate) browser_memory_limit: Option<u64>,
    /// Screen pixels per CSS pixel, from 0.25 to 4: larger values enlarge pages, which then see a
    /// smaller display.
    #[arg(long, value_name = "FACTOR", requires = "browser", value_parser = scale)]
    pub(crate) scale: Option<f64>,
    /// Locale reported to pages and servers, such as de-AT.
    #[arg(long, value_name = "LOCALE", requires = "browser", value_parser = locale)]
    pub(crate) locale: Option<String>,
    /// Time zone reported to pages, such as Europe/Vienna.
    #[arg(long, value_name = "ZONE", requires = "browser", value_parser = printable)]
    pub(crate) timezone: Option<String>,
    /// User agent reported to pages and servers.
    #[arg(long, value_name = "TEXT", requires = "browser", value_parser = printable)]
    pub(crate) user_agent: Option<String>,
    /// Color scheme that pages should use.
    #[arg(long, value_name = "SCHEME", requires = "browser", value_parser = ["light", "dark"])]
    pub(crate) color_scheme: Option<String>,
    /// Whether pages should avoid motion [default: reduce].
    #[arg(long, value_name = "MOTION", requires = "browser", value_parser = ["reduce", "no-preference"])]
    pub(crate) reduced_motion: Option<String>,
    /// Location of pages, in degrees, with an accuracy in metres; granted to all of them.
    #[arg(long, value_name = "LATITUDE,LONGITUDE[,ACCURACY]", requires = "browser", allow_hyphen_values = true, value_parser = location_text)]
    pub(crate) geolocation: Option<String>,
    /// Grant this permission to all pages, such as camera or clipboard-read; repeatable. Without it
    /// they are denied.
    #[arg(long, value_name = "NAME", requires = "browser", value_parser = permission_name)]
    pub(crate) permission: Vec<String>,
    /// Lay pages out and touch them as on a phone. Combine with --display, --scale and --user-agent.
    #[arg(long, requires = "browser")]
    pub(crate) mobile: bool,
    /// Give pages no network.
    #[arg(long, requires = "browser")]
    pub(crate) offline: bool,
    /// Answer HTTP authentication of this origin with the login in an environment variable, of the
    /// form user:password; repeatable.
    #[arg(long, value_name = "ORIGIN=VARIABLE", requires = "browser", value_parser = login)]
    pub(crate) http_credentials: Vec<String>,
    /// Load cookies and the stored data of pages from this file at the start, in the form of
    /// Playwright's storageState.
    #[arg(long, value_name = "FILE", requires = "browser")]
    #[serde(serialize_with = "flag_text::absolute_path")]
    pub(crate) storage_state: Option<PathBuf>,
    /// Write cookies and the stored data of visited pages to this file at the end, in the same form,
    /// readable only by you. It can hold logins.
    #[arg(long, value_name = "FILE", requires = "browser")]
    #[serde(serialize_with = "flag_text::absolute_path")]
    pub(crate) save_storage_state: Option<PathBuf>,
}

impl BrowserArguments {
    /// The environment variables that the flags name, each with its flag.
    pub(crate) fn secret_names(&self) -> Vec<(&'static str, String)> {
        let logins = self.http_credentials.iter().filter_map(|login| {
            let (_, variable) = login.rsplit_once('=')?;
            Some(("--http-credentials", variable.to_owned()))
        });
        self.attach
            .secret_names()
            .into_iter()
            .chain(logins)
            .chain(self.remote.secret_names())
            .collect()
    }

    /// A given flag that only a browser with pages of ours has.
    pub(crate) fn flag_of_own_browser(&self) -> Option<&'static str> {
        let given = [
            (self.scale.is_some(), "--scale"),
            (self.locale.is_some(), "--locale"),
            (self.timezone.is_some(), "--timezone"),
            (self.user_agent.is_some(), "--user-agent"),
            (self.color_scheme.is_some(), "--color-scheme"),
            (self.reduced_motion.is_some(), "--reduced-motion"),
            (self.geolocation.is_some(), "--geolocation"),
            (!self.permission.is_empty(), "--permission"),
            (self.mobile, "--mobile"),
            (self.offline, "--offline"),
            (!self.http_credentials.is_empty(), "--http-credentials"),
            (self.storage_state.is_some(), "--storage-state"),
            (self.save_storage_state.is_some(), "--save-storage-state"),
        ];
        let given = given.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }

    /// Whether changes to the profile are kept.
    pub(crate) fn profile_use(&self) -> ProfileUse {
        if self.no_persist {
            ProfileUse::ReadOnly
        } else {
            ProfileUse::Persist
        }
    }

    /// What pages see instead of the browser's defaults.
    ///
    /// # Errors
    /// When the variable of a login has no login.
    pub(crate) fn emulation(&self, secrets: &Secrets) -> Result<Emulation, String> {
        let logins = self.http_credentials.iter();
        let logins = logins.filter_map(|login| login.rsplit_once('='));
        let credentials = logins
            .map(|(origin, variable)| HttpCredentials::new(origin, secrets.get(variable)))
            .collect::<Result<_, _>>()?;
        let permissions = self.permission.iter();
        let permissions = permissions.map(|name| Permission::parse(name));
        let scheme = self.color_scheme.as_deref();
        let schemes = [ColorScheme::Light, ColorScheme::Dark];
        Ok(Emulation {
            locale: self.locale.clone(),
            timezone: self.timezone.clone(),
            user_agent: self.user_agent.clone(),
            color_scheme: schemes
                .into_iter()
                .find(|known| Some(known.name()) == scheme),
            reduced_motion: self.reduced_motion.as_deref().map(|text| text == "reduce"),
            geolocation: self.geolocation.as_deref().and_then(location),
            permissions: permissions.collect::<Result<_, _>>()?,
            is_mobile: self.mobile,
            is_offline: self.offline,
            credentials,
        })
    }
}

/// Latitude, longitude and perhaps an accuracy.
fn location(text: &str) -> Option<Geolocation> {
    let numbers: Option<Vec<f64>> = text
        .split(',')
        .map(|part| part.trim().parse().ok())
        .collect();
    match numbers?.as_slice() {
        [latitude, longitude] => Geolocation::new(*latitude, *longitude, 0.0),
        [latitude, longitude, accuracy] => Geolocation::new(*latitude, *longitude, *accuracy),
        _ => None,
    }
}

fn location_text(text: &str) -> Result<String, String> {
    let expected = "expected latitude (-90 to 90) and longitude (-180 to 180), such as 48.21,16.37";
    location(text)
        .map(|_| text.to_owned())
        .ok_or_else(|| expected.to_owned())
}

fn permission_name(text: &str) -> Result<String, String> {
    Permission::parse(text).map(|_| text.to_owned())
}

fn login(text: &str) -> Result<String, String> {
    let (origin, variable) = text.rsplit_once('=').unwrap_or_default();
    if !is_variable(variable) {
        let expected = "expected an origin and the name of an environment variable, such as \
                        https://example.com=EXAMPLE_LOGIN; the variable has user:password";
        return Err(expected.to_owned());
    }
    HttpCredentials::new(origin, ":").map(|_| text.to_owned())
}

fn scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok();
    scale
        .filter(|scale| (0.25..=4.0).contains(scale))
        .ok_or_else(|| "expected a number from 0.25 to 4, e.g. 2".to_owned())
}

fn locale(text: &str) -> Result<String, String> {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if text.split('-').all(is_part) {
        Ok(text.to_owned())
    } else {
        Err("expected a language with an optional region, such as de or de-AT".to_owned())
    }
}

/// Checks text that becomes an HTTP header or an environment variable.
fn printable(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("expected one or more printable ASCII characters".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_scale_locale_and_text_are_refused() {
        assert_eq!(scale("1.5"), Ok(1.5));
        assert!(
            ["0", "9", "NaN", "x"]
                .iter()
                .all(|text| scale(text).is_err())
        );
        assert!(
            ["de", "de-AT", "zh-Hant-TW"]
                .iter()
                .all(|text| locale(text).is_ok())
        );
        assert!(
            ["", "de_AT", "de-", "-"]
                .iter()
                .all(|text| locale(text).is_err())
        );
        assert!(
            ["", "a\nb", "é"]
                .iter()
                .all(|text| printable(text).is_err())
        );
        assert!(
            ["48.2,16.4", "-48.2, -16.4, 5"]
                .iter()
                .all(|text| location_text(text).is_ok())
        );
        assert!(
            ["91,0", "1", "a,b", "1,2,-3"]
                .iter()
                .all(|text| location_text(text).is_err())
        );
        assert!(login("https://h.example:8443=LOGIN").is_ok());
        assert!(
            ["https://h", "h=LOGIN", "https://h=user:pass"]
                .iter()
                .all(|text| login(text).is_err())
        );
    }
}
