//! What the flags say of the browser: whose it is, what it keeps, and what pages are told.

use clap::Args;
use telechir_browser::{ColorScheme, Emulation, ProfileId, ProfileUse};

#[derive(Debug, Args)]
pub(crate) struct BrowserArguments {
    /// Give the browser this profile, with the cookies, storage and logins that pages left in it;
    /// made with `telechir profiles create`. Without it the browser knows nothing and forgets all.
    #[arg(long, value_name = "ID", requires = "browser")]
    pub(crate) profile: Option<ProfileId>,
    /// Give the browser a copy of the profile, which is thrown away.
    #[arg(long, requires = "profile")]
    pub(crate) no_persist: bool,
    /// Attach to a browser that runs already, by the address of its DevTools, such as
    /// http://127.0.0.1:9222 or ws://…, and use a context of its own there. Its requests pass no
    /// filtering proxy, its sandbox is its owner's, and the policy asks before it acts.
    #[arg(long, value_name = "ADDRESS", requires = "browser", conflicts_with_all = ["headless", "profile", "no_sandbox"])]
    pub(crate) cdp: Option<String>,
    /// Mebibytes of memory that all processes of the browser may use together, where a control
    /// group can be had; 4096 unless given.
    #[arg(long, value_name = "MIB", requires = "browser", conflicts_with = "cdp", value_parser = clap::value_parser!(u64).range(256..=1_048_576))]
    pub(crate) browser_memory_limit: Option<u64>,
    /// Pixels of the screen to one of a page, from 0.25 to 4: pages are drawn larger, and a page
    /// sees a display that is as much smaller.
    #[arg(long, value_name = "FACTOR", requires = "browser", value_parser = scale)]
    pub(crate) scale: Option<f64>,
    /// Language and region that pages and servers are told, such as de-AT.
    #[arg(long, value_name = "LOCALE", requires = "browser", value_parser = locale)]
    pub(crate) locale: Option<String>,
    /// Time zone that pages are told, such as Europe/Vienna.
    #[arg(long, value_name = "ZONE", requires = "browser", value_parser = printable)]
    pub(crate) timezone: Option<String>,
    /// What the browser says it is, to pages and servers.
    #[arg(long, value_name = "TEXT", requires = "browser", value_parser = printable)]
    pub(crate) user_agent: Option<String>,
    /// Colours that pages are asked for.
    #[arg(long, value_name = "SCHEME", requires = "browser", value_parser = ["light", "dark"])]
    pub(crate) color_scheme: Option<String>,
}

impl BrowserArguments {
    /// What the browser does with its profile.
    pub(crate) fn profile_use(&self) -> ProfileUse {
        if self.no_persist {
            ProfileUse::ReadOnly
        } else {
            ProfileUse::Persist
        }
    }

    /// What pages are told.
    pub(crate) fn persona(&self) -> Emulation {
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
        .ok_or_else(|| "give a number from 0.25 to 4, such as 2".to_owned())
}

fn locale(text: &str) -> Result<String, String> {
    let is_part =
        |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if text.split('-').all(is_part) {
        Ok(text.to_owned())
    } else {
        Err("write a language, and a region after a hyphen, such as de or de-AT".to_owned())
    }
}

/// Text for a header or a variable.
fn printable(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.chars().all(|c| c == ' ' || c.is_ascii_graphic()) {
        Ok(text.to_owned())
    } else {
        Err("write at least one character, and only printable ones of ASCII".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_scale_locale_or_text_is_refused() {
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
