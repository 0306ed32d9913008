//! Flags for a browser that is rented at a service.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use telechir_policy::{PageHosts, RentedCeiling};
use telechir_protocol::Size;
use telechir_remote::{
    ContextUse, HostRestriction, Proxy, RemoteService, RentalLimits, RentalPlan, SERVICES,
    StoredContext,
};
use telechir_remote_devices::ActionServiceAddress;
use telechir_server::http::RemoteChoice;

use crate::env;

const HEADING: &str = "Remote browser";

/// The time of a rented browser if no flag names one, in seconds.
const DEFAULT_SECONDS: u64 = 900;
/// Rented browsers at a time if no flag names a number.
const DEFAULT_MAX_RENTED: usize = 3;
/// The screen of an action service, as the flag names it.
const ACTION_SERVICE: &str = "action";
/// Variables of its address, which can be a secret, and of its token.
const ACTION_SERVICE_URL: &str = "ACTION_SERVICE_URL";
const ACTION_SERVICE_TOKEN: &str = "ACTION_SERVICE_TOKEN";
/// The AWS variable of a secret that not every key has.
const SESSION_TOKEN: &str = "AWS_SESSION_TOKEN";

#[derive(Clone, Debug, Args, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct RemoteArguments {
    /// Rent the browser at a service: steel, browserbase, browser-engine, agentcore, kernel or
    /// hyperbrowser. It is released at the end. =SERVICE:SESSION uses a session that exists, which
    /// is not released. The key comes from the service's environment variable; see docs/remote.md.
    /// =action:URL uses the screen of an action service; without a URL, of ACTION_SERVICE_URL.
    #[arg(long, help_heading = HEADING, value_name = "SERVICE[:SESSION]", requires = "browser", conflicts_with_all = ["cdp", "headless", "profile", "no_sandbox"], value_parser = service_and_session)]
    pub(crate) remote: Option<String>,
    /// How long the rented browser or shell may run [default: 900]. It is extended while it is used,
    /// where the service can.
    #[arg(long, help_heading = HEADING, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) remote_timeout: Option<u64>,
    /// Region of the rented browser, as the service names it; without one, of the rented shell.
    #[arg(long, help_heading = HEADING, value_name = "REGION", value_parser = word)]
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
    /// Rent or use a remote browser only if its service enforces the hosts of the policy itself, for
    /// WebSockets, too. Otherwise only the requests of its pages are judged.
    #[arg(long, help_heading = HEADING, requires = "remote")]
    pub(crate) remote_strict: bool,
    /// Let whoever opens a session (over HTTP, or a model by `browser_session`) choose the context, the
    /// proxy and its country, and a shorter time. Whoever may choose the context can use every login
    /// that is stored at the service.
    #[arg(long, help_heading = HEADING, requires = "remote")]
    pub(crate) remote_choices: bool,
    /// Rent no browser if you rent this many already, in all sessions together [default: 3].
    #[arg(long, help_heading = HEADING, value_name = "N")]
    pub(crate) max_rented: Option<usize>,
    /// Rent browsers for this time at most in 24 hours, in all sessions together: a browser that may
    /// run for longer than what is left is not rented, and not extended.
    #[arg(long, help_heading = HEADING, value_name = "MINUTES")]
    pub(crate) max_rented_minutes: Option<u64>,
}

impl RemoteArguments {
    /// The service, and the session to attach to.
    pub(crate) fn service(&self) -> Option<(&'static RemoteService, Option<&str>)> {
        let (name, session) = split(self.remote.as_deref()?);
        Some((RemoteService::named(name)?, session))
    }

    /// The URL of an action service, if the screen is one's; none inside if a variable has it.
    pub(crate) fn action_service(&self) -> Option<Option<&str>> {
        match split(self.remote.as_deref()?) {
            (ACTION_SERVICE, address) => Some(address),
            _ => None,
        }
    }

    /// Uses a remote browser only if the hosts of the policy are enforced there.
    pub(crate) fn make_strict(&mut self) {
        self.remote_strict = self.remote.is_some();
    }

    /// What reaches hosts there although the policy denies them, as a sentence.
    pub(crate) fn unenforced(&self, hosts: &PageHosts) -> Option<String> {
        if self.action_service().is_some() {
            let what = "What the screen of an action service reaches is not judged by the policy.";
            return hosts.is_restricted().then(|| what.to_owned());
        }
        let (service, session) = self.service()?;
        service.unenforced(match (&hosts.listed, hosts.is_narrower) {
            (None, false) => HostRestriction::Unrestricted,
            (Some(_), false) if session.is_none() => HostRestriction::Listed,
            // The list of a session that exists is not ours.
            _ => HostRestriction::Other,
        })
    }

    /// The flags, by their names without `--`, that a choice changes.
    ///
    /// # Errors
    /// If nothing can be chosen here, or the service cannot do it; nothing was opened.
    pub(crate) fn chosen(
        &self,
        choice: &RemoteChoice,
        size: Size,
    ) -> Result<Vec<(&'static str, Value)>, String> {
        if !matches!(self.service(), Some((_, None))) {
            return Err("no browser is rented for a session here; omit it".to_owned());
        }
        if !self.remote_choices {
            let why = "the flags decide about the rented browser: --remote-choices was not given";
            return Err(why.to_owned());
        }
        let mut changed = self.clone();
        if let Some(seconds) = choice.timeout_seconds {
            let most = self.remote_timeout.unwrap_or(DEFAULT_SECONDS);
            if !(1..=most).contains(&seconds) {
                return Err(format!(
                    "timeout: expected 1 to {most} seconds, found {seconds}"
                ));
            }
            changed.remote_timeout = Some(seconds);
        }
        match (choice.proxy, &choice.country) {
            (Some(false), Some(_)) => {
                return Err("country: a country needs a proxy".to_owned());
            }
            (Some(false), None) => changed.remote_proxy = None,
            (_, Some(code)) => {
                let code = country(code).ok().filter(|code| !code.is_empty());
                let code = code.ok_or("country: expected two letters, such as DE")?;
                changed.remote_proxy = Some(code);
            }
            (Some(true), None) => {
                changed.remote_proxy.get_or_insert_default();
            }
            (None, None) => {}
        }
        match (&choice.context, choice.persist) {
            (Some(id), persist) => {
                let use_ = if persist == Some(false) {
                    ",read-only"
                } else {
                    ""
                };
                let text = context_text(&format!("{id}{use_}")).ok();
                let text = text.filter(|_| !id.contains(','));
                changed.remote_context = Some(text.ok_or("context: expected an id")?);
            }
            (None, Some(_)) => return Err("persist: it needs a context".to_owned()),
            (None, None) => {}
        }
        changed.check(size)?;
        let text = |value: Option<String>| value.map_or(Value::Null, Value::from);
        Ok(vec![
            (
                "remote_timeout",
                changed.remote_timeout.map_or(Value::Null, Value::from),
            ),
            ("remote_proxy", text(changed.remote_proxy)),
            ("remote_context", text(changed.remote_context)),
        ])
    }

    /// A given flag about what is rented, that a browser and a shell have.
    pub(crate) fn limit_flag(&self) -> Option<&'static str> {
        let given = [
            (self.remote_timeout.is_some(), "--remote-timeout"),
            (self.remote_region.is_some(), "--remote-region"),
            (self.max_rented.is_some(), "--max-rented"),
            (self.max_rented_minutes.is_some(), "--max-rented-minutes"),
        ];
        let given = given.into_iter().find(|(is_given, _)| *is_given);
        given.map(|(_, flag)| flag)
    }

    /// The region of a rented shell.
    pub(crate) fn shell_region(&self) -> Option<&str> {
        let region = self.remote_region.as_deref();
        region.filter(|_| self.remote.is_none())
    }

    /// What is asked for a rented shell.
    pub(crate) fn shell_plan(&self) -> RentalPlan {
        RentalPlan {
            size: Size::new(1, 1),
            timeout: Duration::from_secs(self.remote_timeout.unwrap_or(DEFAULT_SECONDS)),
            region: None,
            proxy: None,
            context: None,
            hosts: None,
            labels: BTreeMap::new(),
        }
    }

    /// The environment variables of the service's key, each with the flag that needs it.
    pub(crate) fn secret_names(&self) -> Vec<(&'static str, String)> {
        match (self.service(), self.action_service()) {
            (Some((service, _)), _) => key_names(service, "--remote"),
            (None, Some(None)) => vec![("--remote", ACTION_SERVICE_URL.to_owned())],
            (None, Some(Some(_)) | None) => Vec::new(),
        }
    }

    /// The environment variables of the service's address and region.
    pub(crate) fn setting_names(&self) -> Vec<&'static str> {
        if self.action_service().is_some() {
            return vec![ACTION_SERVICE_TOKEN];
        }
        let service = self.service();
        service.map_or_else(Vec::new, |(service, _)| settings_of(service))
    }

    /// The address of the action service, with its token.
    ///
    /// # Errors
    /// If the address or the token cannot be used.
    pub(crate) fn action_service_address(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<ActionServiceAddress>, String> {
        let Some(given) = self.action_service() else {
            return Ok(None);
        };
        let base = match given {
            Some(base) => base.to_owned(),
            None => variable(ACTION_SERVICE_URL).unwrap_or_default(),
        };
        let token = variable(ACTION_SERVICE_TOKEN);
        ActionServiceAddress::new(&base, token.as_deref()).map(Some)
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
            hosts: None,
            labels: labels
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    /// How much may be rented: what the flags say, and no more than the policy does.
    pub(crate) fn limits(&self, policy: RentedCeiling) -> RentalLimits {
        let lower = |flag: Option<u64>, policy: Option<u64>| flag.into_iter().chain(policy).min();
        let sessions = self.max_rented.into_iter().chain(policy.sessions).min();
        RentalLimits {
            sessions: sessions.unwrap_or(DEFAULT_MAX_RENTED),
            minutes: lower(self.max_rented_minutes, policy.minutes),
        }
    }

    /// Checks that the service can do what the flags ask for, before anything is opened.
    ///
    /// # Errors
    /// With everything that it cannot do.
    pub(crate) fn check(&self, size: Size) -> Result<(), String> {
        let given = [
            (self.remote_timeout.is_some(), "--remote-timeout"),
            (self.remote_proxy.is_some(), "--remote-proxy"),
            (self.remote_context.is_some(), "--remote-context"),
            (!self.remote_label.is_empty(), "--remote-label"),
        ];
        let mut given = given.into_iter().filter(|(is_given, _)| *is_given);
        if self.action_service().is_some() {
            return given.next().map_or(Ok(()), |(_, flag)| {
                Err(format!(
                    "{flag}: an action service has one screen, which stays as it is; omit the flag"
                ))
            });
        }
        let Some((service, session)) = self.service() else {
            return Ok(());
        };
        if let Some(session) = session {
            return given.next().map_or(Ok(()), |(_, flag)| {
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

/// The variables of a service's key, each with the flag that needs it.
pub(crate) fn key_names(
    service: &RemoteService,
    flag: &'static str,
) -> Vec<(&'static str, String)> {
    let required = service.required_variables().iter().copied();
    let also = service.optional_variables().into_iter();
    let token = also.filter(|name| *name == SESSION_TOKEN && env::variable(name).is_some());
    let names = required.chain(token);
    names.map(|name| (flag, name.to_owned())).collect()
}

/// The variables of a service's address and region.
pub(crate) fn settings_of(service: &RemoteService) -> Vec<&'static str> {
    let names = service.optional_variables().into_iter();
    names.filter(|name| *name != SESSION_TOKEN).collect()
}

fn split(text: &str) -> (&str, Option<&str>) {
    match text.split_once(':') {
        Some((name, session)) => (name, Some(session)),
        None => (text, None),
    }
}

fn service_and_session(text: &str) -> Result<String, String> {
    let (name, session) = split(text);
    if name == ACTION_SERVICE {
        let checked = session.map(|base| ActionServiceAddress::new(base, None));
        return checked.transpose().map(|_| text.to_owned());
    }
    if RemoteService::named(name).is_none() {
        let names = SERVICES.iter().map(|service| service.name);
        let names = names.collect::<Vec<_>>().join(", ");
        return Err(format!(
            "expected one of {names} or {ACTION_SERVICE}, found {name:?}"
        ));
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
        for text in [
            "steel",
            "kernel:abc_1.2-3",
            "action",
            "action:https://h.example/base",
            "action:http://127.0.0.1:80/x",
        ] {
            assert_eq!(service_and_session(text).as_deref(), Ok(text));
        }
        for wrong in [
            "",
            "nobody",
            "steel:",
            "steel:a/b",
            "steel:a?b",
            "action:",
            "action:http://h.example/",
            "action:ws://127.0.0.1/",
            "action:https://h.example/?token=1",
            "action:https://me:secret@h.example/",
        ] {
            assert!(service_and_session(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_choice_changes_flags_where_it_is_permitted() {
        let size = Size::new(1280, 800);
        let steel = RemoteArguments {
            remote: Some("steel".to_owned()),
            remote_choices: true,
            ..RemoteArguments::default()
        };
        let choice = RemoteChoice {
            context: Some("shop".to_owned()),
            persist: Some(false),
            timeout_seconds: Some(60),
            proxy: None,
            country: Some("de".to_owned()),
        };
        assert_eq!(
            steel.chosen(&choice, size).expect("flags"),
            [
                ("remote_timeout", 60.into()),
                ("remote_proxy", "DE".into()),
                ("remote_context", "shop,read-only".into()),
            ]
        );
        let of = |service: &str, remote_choices| RemoteArguments {
            remote: Some(service.to_owned()),
            remote_choices,
            ..RemoteArguments::default()
        };
        for (arguments, choice, problem) in [
            (of("steel", false), choice.clone(), "--remote-choices"),
            (of("steel:s1", true), choice.clone(), "no browser is rented"),
            (of("action", true), choice.clone(), "no browser is rented"),
            (RemoteArguments::default(), choice.clone(), "no browser"),
            (of("kernel", true), choice.clone(), "--remote-proxy: kernel"),
            (
                of("steel", true),
                RemoteChoice {
                    timeout_seconds: Some(901),
                    ..RemoteChoice::default()
                },
                "1 to 900",
            ),
            (
                of("steel", true),
                RemoteChoice {
                    context: Some("a,read-only".to_owned()),
                    ..RemoteChoice::default()
                },
                "context",
            ),
            (
                of("steel", true),
                RemoteChoice {
                    country: Some("Germany".to_owned()),
                    ..RemoteChoice::default()
                },
                "two letters",
            ),
        ] {
            let error = arguments.chosen(&choice, size).expect_err(problem);
            assert!(error.contains(problem), "{error}");
        }
    }

    #[test]
    fn the_lower_of_two_limits_holds() {
        let limits = |flags: (Option<usize>, Option<u64>), policy: (Option<usize>, Option<u64>)| {
            let arguments = RemoteArguments {
                max_rented: flags.0,
                max_rented_minutes: flags.1,
                ..RemoteArguments::default()
            };
            let limits = arguments.limits(RentedCeiling {
                sessions: policy.0,
                minutes: policy.1,
            });
            (limits.sessions, limits.minutes)
        };
        assert_eq!(limits((None, None), (None, None)), (3, None));
        assert_eq!(
            limits((Some(2), Some(60)), (Some(9), Some(30))),
            (2, Some(30))
        );
        assert_eq!(limits((None, Some(60)), (Some(5), None)), (5, Some(60)));
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
