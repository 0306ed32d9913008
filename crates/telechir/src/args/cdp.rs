//! Flags for attaching to a running browser.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use telechir_browser::{AttachedTabs, Attachment, CdpEndpoint, InvalidEndpoint, TabChoice};
use telechir_policy::Digest;

use crate::secrets::Secrets;

/// Digits of a digest that stands for the secret part of an address.
const SHOWN_DIGITS: usize = 16;

const HEADING: &str = "Existing browser";

#[derive(Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CdpArguments {
    /// Attach to a running browser by its DevTools URL, such as http://127.0.0.1:9222 or
    /// wss://HOST/?token=${NAME}, in a separate browser context. ${NAME} is the value of that
    /// environment variable. Its requests bypass the egress proxy, its sandbox is its own, and the
    /// policy asks for approval before actions.
    #[arg(long, help_heading = HEADING, value_name = "ADDRESS", requires = "browser", conflicts_with_all = ["headless", "profile", "no_sandbox"], value_parser = address)]
    pub(crate) cdp: Option<String>,
    /// Send this header with the value of an environment variable to the address of --cdp;
    /// repeatable.
    #[arg(long, help_heading = HEADING, value_name = "NAME=VARIABLE", requires = "cdp", value_parser = header)]
    pub(crate) cdp_header: Vec<String>,
    /// Work in an existing tab of the attached browser with its cookies and logins: in the `active`
    /// one, or the one that shows URL. It stays open at the end.
    #[arg(long, help_heading = HEADING, value_name = "active|URL", requires = "cdp", value_parser = tab)]
    pub(crate) cdp_tab: Option<String>,
    /// The attached browser was started for this session, as hosted browsers are: work in its
    /// default context and first page, without asking because it is somebody's.
    #[arg(long, help_heading = HEADING, requires = "cdp", conflicts_with = "cdp_tab")]
    pub(crate) cdp_dedicated: bool,
}

impl CdpArguments {
    /// The environment variables that the flags name, each with its flag.
    pub(crate) fn secret_names(&self) -> Vec<(&'static str, String)> {
        let in_address = self.cdp.iter().flat_map(|address| variables(address));
        let in_address = in_address.map(|name| ("--cdp", name));
        let in_headers = self.cdp_header.iter().filter_map(|header| {
            let (_, name) = header.split_once('=')?;
            Some(("--cdp-header", name.to_owned()))
        });
        in_address.chain(in_headers).collect()
    }

    /// The address without what may be secret in it, and still another one for each address.
    pub(crate) fn shown_address(&self) -> Option<String> {
        let address = self.cdp.as_deref()?;
        let Ok(endpoint) = CdpEndpoint::new(address) else {
            return Some(address.to_owned());
        };
        if !variables(address).is_empty() || endpoint.has_no_secret() {
            return Some(address.to_owned());
        }
        let mut digest = Digest::of_json(&Value::from(address)).to_string();
        digest.truncate(SHOWN_DIGITS);
        Some(format!("{}/…{digest}", endpoint.origin()))
    }

    /// The browser to attach to, if one is given.
    pub(crate) fn attachment(
        &self,
        secrets: &Secrets,
    ) -> Result<Option<Attachment>, InvalidEndpoint> {
        let Some(address) = &self.cdp else {
            return Ok(None);
        };
        let mut endpoint = CdpEndpoint::new(&expanded(address, secrets))?;
        for header in &self.cdp_header {
            if let Some((name, variable)) = header.split_once('=') {
                endpoint = endpoint.with_header(name, secrets.get(variable))?;
            }
        }
        let tabs = match self.cdp_tab.as_deref() {
            Some("active") => AttachedTabs::Existing(TabChoice::Active),
            Some(url) => AttachedTabs::Existing(TabChoice::Url(url.to_owned())),
            None if self.cdp_dedicated => AttachedTabs::Default,
            None => AttachedTabs::Isolated,
        };
        Ok(Some(Attachment { endpoint, tabs }))
    }
}

/// The parts of a text: literal ones, and the names in `${NAME}`.
fn parts(text: &str) -> Vec<(&str, Option<&str>)> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((literal, after)) = rest.split_once("${") {
        let Some((name, after)) = after.split_once('}') else {
            break;
        };
        parts.push((literal, Some(name)));
        rest = after;
    }
    parts.push((rest, None));
    parts
}

fn variables(text: &str) -> Vec<String> {
    let names = parts(text).into_iter().filter_map(|(_, name)| name);
    names.map(str::to_owned).collect()
}

fn expanded(text: &str, secrets: &Secrets) -> String {
    let expand = |(literal, name): (&str, Option<&str>)| {
        format!("{literal}{}", name.map_or("", |name| secrets.get(name)))
    };
    parts(text).into_iter().map(expand).collect()
}

pub(super) fn is_variable(name: &str) -> bool {
    !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn address(text: &str) -> Result<String, String> {
    if let Some(name) = variables(text).iter().find(|name| !is_variable(name)) {
        return Err(format!(
            "expected the name of an environment variable in ${{…}}, found {name:?}"
        ));
    }
    // Variables may be any part of the address, also all of it.
    if variables(text).is_empty() {
        CdpEndpoint::new(text).map_err(|error| error.to_string())?;
    }
    Ok(text.to_owned())
}

fn header(text: &str) -> Result<String, String> {
    let is_valid = text.split_once('=').is_some_and(|(name, variable)| {
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !name.is_empty() && name.bytes().all(is_token) && is_variable(variable)
    });
    is_valid.then(|| text.to_owned()).ok_or_else(|| {
        "expected a header and the name of an environment variable, such as \
         Authorization=CDP_AUTHORIZATION; the variable has the value"
            .to_owned()
    })
}

fn tab(text: &str) -> Result<String, String> {
    if text == "active" || text.contains(':') {
        Ok(text.to_owned())
    } else {
        Err("expected `active` or a URL such as https://example.com/".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn secrets() -> Secrets {
        let mut config = json!({"secrets": {"A": "one", "B_2": "two"}});
        Secrets::take_from(&mut config)
    }

    #[test]
    fn variables_in_an_address_are_replaced() {
        for (text, names, expected) in [
            (
                "ws://h/?t=${A}&u=${B_2}",
                &["A", "B_2"][..],
                "ws://h/?t=one&u=two",
            ),
            ("${A}", &["A"], "one"),
            ("ws://h/${A", &[], "ws://h/${A"),
            ("ws://h/$A", &[], "ws://h/$A"),
        ] {
            assert_eq!(variables(text), names, "{text}");
            assert_eq!(expanded(text, &secrets()), expected);
        }
        assert!(address("ws://${A}/").is_ok() && address("ws://h/${a b}").is_err());
        assert!(address("ftp://h").is_err());
    }

    #[test]
    fn an_address_is_shown_without_the_token_that_it_contains() {
        let shown = |address: &str| {
            let arguments = CdpArguments {
                cdp: Some(address.to_owned()),
                ..CdpArguments::default()
            };
            arguments.shown_address().unwrap()
        };
        for address in [
            "127.0.0.1:9222",
            "ws://h/",
            "wss://h/?token=${A}&b=c",
            "${A}",
        ] {
            assert_eq!(shown(address), address);
        }
        let addresses = [
            "wss://h:1/?t=one1",
            "wss://h:1/?t=two2",
            "wss://u:one1@h:1/",
            "wss://h:1/one1",
        ];
        for address in addresses {
            let text = shown(address);
            assert!(text.starts_with("wss://h:1/…"), "{text}");
            assert!(!text.contains("one1") && !text.contains("two2"), "{text}");
            let same = addresses.iter().filter(|other| shown(other) == text);
            assert_eq!(same.count(), 1, "{text}");
        }
    }

    #[test]
    fn a_header_names_a_variable_and_no_value() {
        for valid in ["Authorization=AUTH", "x-key=K_1"] {
            assert!(header(valid).is_ok(), "{valid}");
        }
        for wrong in [
            "Authorization",
            "Authorization=Bearer abc",
            "=A",
            "a b=A",
            "a=",
        ] {
            assert!(header(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_attachment_has_the_values_of_its_variables() {
        let arguments = CdpArguments {
            cdp: Some("wss://h/?t=${A}".to_owned()),
            cdp_header: vec!["x-key=B_2".to_owned()],
            ..CdpArguments::default()
        };
        let names = [
            ("--cdp", "A".to_owned()),
            ("--cdp-header", "B_2".to_owned()),
        ];
        assert_eq!(arguments.secret_names(), names);
        let endpoint = CdpEndpoint::new("wss://h/?t=one").unwrap();
        let endpoint = endpoint.with_header("x-key", "two").unwrap();
        assert_eq!(
            arguments.attachment(&secrets()).unwrap(),
            Some(Attachment::isolated(endpoint))
        );
        assert_eq!(CdpArguments::default().attachment(&secrets()), Ok(None));
    }
}
