//! Flags for a browser that is rented at a service.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use telechir_protocol::Size;
use telechir_remote::{ContextUse, Proxy, RemoteService, RentalPlan, SERVICES, StoredContext};

use crate::env;

const HEADING: &str = "Remote browser";

/// The time of a rented browser if no flag names one, in seconds.
const DEFAULT_SECONDS: u64 = 900;
/// Rented browsers at a time if no flag names a number.
const DEFAULT_MAX_RENTED: usize = 3;
/// The AWS variable of a secret that not every key has.
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

#[derive(Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RemoteArguments {
    /// Rent the browser at a service: steel, browserbase, browser-engine, agentcore, kernel or
    /// hyperbrowser. It is released at the end. =SERVICE:SESSION uses a session that exists, which
    /// is not released. The key comes from the service's environment variable; see docs/remote.md.
    #[arg(long, help_heading = HEADING, value_name = "SERVICE[:SESSION]", requires = "browser", conflicts_with_all = ["cdp", "headless", "profile", "no_sandbox"], value_parser = service_and_session)]
    pub(crate) remote: Option<String>,
    /// How long the rented browser may run [default: 900]. It is extended while it is used, where
    /// the service can.
    #[arg(long, help_heading = HEADING, value_name = "SECONDS", requires = "remote", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) remote_timeout: Option<u64>,
    /// Region of the rented browser, as the service names it.
    #[arg(long, help_heading = HEADING, value_name = "REGION", requires = "remote", value_parser = word)]
    pub(crate) remote_region: Option<String>,
    /// Load its pages through a proxy of the service; =CC in this country, such as DE.
    #[arg(long, help_heading = HEADING, value_name = "COUNTRY", num_args = 0..=1, require_equals = true, default_missing_value = "", requires = "remote", value_parser = country)]
    pub(crate) remote_proxy: Option<String>,
    /// Use this stored data of pages at the service (its context or profile) and save changes to
    /// it; `ID,read-only` drops them.
    #[arg(long, help_heading = HEADING, value_name = "ID[,read-only]", requires = "remote", value_parser = context_text)]
    pub(crate) remote_context: Option<String>,
    /// Label of the session at the service; repeatable.
    #[arg(long, help_heading = HEADING, value_name = "NAME=VALUE", requires = "remote", value_parser = label)]
    pub(crate) remote_label: Vec<String>,
    /// Rent no browser if you rent this many already, in all sessions together [default: 3].
    #[arg(long, help_heading = HEADING, value_name = "N", requires = "remote")]
    pub(crate) max_rented: Option<usize>,
}

impl RemoteArguments {
    /// The service, and the session to attach to.
    pub(crate) fn service(&self) -> Option<(&'static RemoteService, Option<&str>)> {
        let (name, session) = split(self.remote.as_deref()?);
        Some((RemoteService::named(name)?, session))
    }

    /// The environment variables of the service's key, each with the flag that needs it.
    pub(crate) fn secret_names(&self) -> Vec<(&'static str, String)> {
        let Some((service, _)) = self.service() else {
            return Vec::new();
        };
        let required = service.required_variables().iter().copied();
        let also = service.optional_variables().into_iter();
        let token = also.filter(|name| *name == SESSION_TOKEN && env::variable(name).is_some());
        let names = required.chain(token);
        names.map(|name| ("--remote", name.to_owned())).collect()
    }

    /// The environment variables of the service's address and region.
    pub(crate) fn setting_names(&self) -> Vec<&'static str> {
        let names = self
            .service()
            .map(|(service, _)| service.optional_variables());
        let names = names.unwrap_or_default().into_iter();
        names.filter(|name| *name != SESSION_TOKEN).collect()
    }

    /// What is asked of the service, for a browser of this size.
    pub(crate) fn plan(&self, size: Size) -> RentalPlan {
        let labels = self.remote_label.iter();
        let labels = labels.filter_map(|label| label.split_once('='));
        RentalPlan {
            size,
            timeout: Duration::from_secs(self.remote_timeout.unwrap_or(DEFAULT_SECONDS)),
            region: self.remote_region.clone(),
            proxy: self.remote_proxy.as_deref().map(|country| match country {
                "" => Proxy::Anywhere,
                country => Proxy::Country(country.to_owned()),
            }),
            context: self.remote_context.as_deref().map(|text| {
                let (id, use_) = match text.strip_suffix(",read-only") {
                    Some(id) => (id, ContextUse::ReadOnly),
                    None => (text, ContextUse::Persist),
                };
                StoredContext {
                    id: id.to_owned(),
                    use_,
                }
            }),
            labels: labels
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    /// How many browsers may be rented at a time.
    pub(crate) fn max_rented(&self) -> usize {
        self.max_rented.unwrap_or(DEFAULT_MAX_RENTED)
    }

    /// Checks that the service can do what the flags ask for, before anything is opened.
    ///
    /// # Errors
    /// With everything that it cannot do.
    pub(crate) fn check(&self, size: Size) -> Result<(), String> {
        let Some((service, session)) = self.service() else {
            return Ok(());
        };
        if let Some(session) = session {
            let given = [
                (self.remote_timeout.is_some(), "--remote-timeout"),
                (self.remote_proxy.is_some(), "--remote-proxy"),
                (self.remote_context.is_some(), "--remote-context"),
                (!self.remote_label.is_empty(), "--remote-label"),
            ];
            let given = given.into_iter().find(|(is_given, _)| *is_given);
            return given.map_or(Ok(()), |(_, flag)| {
                Err(format!(
                    "{flag}: the session {session} exists already and stays as it is; omit the flag"
                ))
            });
        }
        let unsupported = service.unsupported(&self.plan(size)).into_iter();
        let unsupported: Vec<String> = unsupported.map(|lack| lack.to_string()).collect();
        match unsupported.is_empty() {
            true => Ok(()),
            false => Err(format!("{}; nothing was opened", unsupported.join("; "))),
        }
    }
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, session)) => (name, Some(session)),
        None => (text, None),
    }
}

fn service_and_session(text: &str) -> Result<String, String> {
    let (name, session) = split(text);
    if RemoteService::named(name).is_none() {
        let names = SERVICES.iter().map(|service| service.name);
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(format!("expected one of {names}, found {name:?}"));
    }
    let is_id = |id: &str| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        !id.is_empty() && id.bytes().all(is_part)
    };
    match session {
        Some(id) if !is_id(id) => Err(
            "expected the id of a session after the colon, of letters, digits and -_.".to_owned(),
        ),
        _ => Ok(text.to_owned()),
    }
}

fn word(text: &str) -> Result<String, String> {
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    match !text.is_empty() && text.bytes().all(is_word) {
        true => Ok(text.to_owned()),
        false => Err("expected letters, digits and hyphens".to_owned()),
    }
}

fn country(text: &str) -> Result<String, String> {
    let is_code = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_alphabetic());
    match text.is_empty() || is_code {
        true => Ok(text.to_ascii_uppercase()),
        false => Err("expected two letters, such as DE".to_owned()),
    }
}

fn context_text(text: &str) -> Result<String, String> {
    let id = text.strip_suffix(",read-only").unwrap_or(text);
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    match !id.is_empty() && id.bytes().all(is_part) {
        true => Ok(text.to_owned()),
        false => Err("expected an id, and perhaps `,read-only` after it".to_owned()),
    }
}

fn label(text: &str) -> Result<String, String> {
    let is_label = text
        .split_once('=')
        .is_some_and(|(name, _)| !name.is_empty() && name != "telechir");
    match is_label {
        true => Ok(text.to_owned()),
        false => Err("expected NAME=VALUE; the name `telechir` is taken".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_is_a_service_and_perhaps_a_session() {
        for text in ["steel", "kernel:abc_1.2-3"] {
            assert_eq!(service_and_session(text).as_deref(), Ok(text));
        }
        for wrong in ["", "nobody", "steel:", "steel:a/b", "steel:a?b"] {
            assert!(service_and_session(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn flags_become_a_plan() {
        let arguments = RemoteArguments {
            remote: Some("steel".to_owned()),
            remote_proxy: Some("DE".to_owned()),
            remote_context: Some("p1,read-only".to_owned()),
            remote_label: vec!["a=b=c".to_owned()],
            ..RemoteArguments::default()
        };
        let plan = arguments.plan(Size::new(1, 2));
        assert_eq!(plan.proxy, Some(Proxy::Country("DE".to_owned())));
        let context = plan.context.expect("a context");
        assert_eq!(
            (context.id.as_str(), context.use_),
            ("p1", ContextUse::ReadOnly)
        );
        assert_eq!(plan.labels["a"], "b=c");
        let error = arguments.check(Size::new(1, 2)).expect_err("refused");
        assert!(error.contains("--remote-label: steel"), "{error}");
        let attached = RemoteArguments {
            remote: Some("steel:s1".to_owned()),
            remote_timeout: Some(5),
            ..RemoteArguments::default()
        };
        let error = attached.check(Size::new(1, 2)).expect_err("refused");
        assert!(error.contains("--remote-timeout"), "{error}");
    }
}
