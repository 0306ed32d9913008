//! Browser flags: profile, attachment to a running browser, limits and emulation.

use clap::Args;
use serde::{Deserialize, Serialize};
use telechir_browser::{ColorScheme, Emulation, ProfileId, ProfileUse};

use super::flag_text;

#[derive(Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct BrowserArguments {
    /// Use this profile with its cookies, storage and logins (create it with
    /// `telechir profiles create`). Without it a fresh profile is used and discarded.
    #[arg(long, value_name = "ID", requires = "browser")]
    #[serde(with = "flag_text")]
    pub(crate) profile: Option<ProfileId>,
    /// Use a copy of the profile and discard the changes.
    #[arg(long, requires = "profile")]
    pub(crate) no_persist: bool,
    /// Attach to a running browser by its DevTools URL, such as http://127.0.0.1:9222 or ws://…,
    /// in a separate browser context. Its requests bypass the egress proxy, its sandbox is its
    /// own, and the policy asks for approval before actions.
    #[arg(long, value_name = "ADDRESS", requires = "browser", conflicts_with_all = ["headless", "profile", "no_sandbox"])]
    pub(crate) cdp: Option<String>,
    /// Memory limit in MiB for all browser processes together, enforced where control groups are
    /// available [default: 4096].
    #[arg(long, value_name = "MIB", requires = "browser", conflicts_with = "cdp", value_parser = clap::value_parser!(u64).range(256..=1_048_576))]
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
}

impl BrowserArguments {
    /// Whether changes to the profile are kept.
    pub(crate) fn profile_use(&self) -> ProfileUse {
        if self.no_persist {
            ProfileUse::ReadOnly
        } else {
            ProfileUse::Persist
        }
    }

    /// What pages see instead of the browser's defaults.
    pub(crate) fn emulation(&self) -> Emulation {
        let scheme = self.color_scheme.as_deref();
        let schemes = [ColorScheme::Light, ColorScheme::Dark];
        Emulation {
            locale: self.locale.clone(),
            timezone: self.timezone.clone(),
            user_agent: self.user_agent.clone(),
            color_scheme: schemes
                .into_iter()
                .find(|known| Some(known.name()) == scheme),
        }
    }
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
    }
}
