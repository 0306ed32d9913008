//! What a rented browser should be like, and what a service cannot do of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde_json::{Map, Value};
use telechir_protocol::Size;

use crate::json_path;
use crate::mark::RentalMark;
use crate::service::{MemberSource, RemoteService, TimeUnit};

/// What a rented browser should be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RentalPlan {
    /// The size of its pages in pixels.
    pub size: Size,
    /// How long it may run; where the service has no such limit, how long it may be idle.
    pub timeout: Duration,
    /// The region, as the service names it.
    pub region: Option<String>,
    /// The service's proxy, through which its pages load.
    pub proxy: Option<Proxy>,
    /// Stored data of pages that outlives the session.
    pub context: Option<StoredContext>,
    /// Patterns of the only hosts that its pages may reach, for a service that enforces such a list;
    /// none if every host may be.
    pub hosts: Option<BTreeSet<String>>,
    /// Labels by which the user finds the session at the service.
    pub labels: BTreeMap<String, String>,
}

/// Where the service's proxy is, through which pages load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proxy {
    /// Wherever the service chooses.
    Anywhere,
    /// In this country, as two capital letters of ISO 3166.
    Country(String),
}

/// Stored data of pages at the service: its context or profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredContext {
    /// By which the service knows it.
    pub id: String,
    /// Whether changes are kept.
    pub use_: ContextUse,
}

/// Whether changes of a context are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ContextUse {
    /// They are saved when the session ends.
    #[default]
    Persist,
    /// They are dropped when the session ends.
    ReadOnly,
}

/// An option of a plan that a service cannot honour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// The option, as its flag names it without `--`.
    pub option: &'static str,
    /// What the service lacks, as a clause.
    pub reason: String,
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--{}: {}", self.option, self.reason)
    }
}

impl RemoteService {
    /// What of a plan this service cannot honour; known before anything is opened.
    pub fn unsupported(&self, plan: &RentalPlan) -> Vec<Unsupported> {
        let has = |source: MemberSource| self.members.iter().any(|(known, _)| *known == source);
        let mut found = Vec::new();
        let mut lacks = |is_wanted: bool, can: bool, option, reason: String| {
            if is_wanted && !can {
                found.push(Unsupported { option, reason });
            }
        };
        let name = self.name;
        let seconds = plan.timeout.as_secs();
        let (least, most) = self.timeout_range;
        lacks(
            true,
            (least..=most).contains(&seconds),
            "remote-timeout",
            format!("{name} accepts {least} to {most} seconds, found {seconds}"),
        );
        lacks(
            plan.region.is_some(),
            has(MemberSource::Region) || self.has_region_in_base(),
            "remote-region",
            format!("{name} has no choice of regions"),
        );
        let country = matches!(plan.proxy, Some(Proxy::Country(_)));
        let can_proxy = has(MemberSource::ProxyAnywhere) || has(MemberSource::ProxyOn);
        lacks(
            plan.proxy.is_some(),
            can_proxy,
            "remote-proxy",
            format!("{name} has no proxies of its own"),
        );
        lacks(
            country && can_proxy,
            has(MemberSource::Country),
            "remote-proxy",
            format!("{name} has no choice of countries"),
        );
        lacks(
            plan.context.is_some(),
            has(MemberSource::Context),
            "remote-context",
            format!("{name} stores no data of pages"),
        );
        let persists = |use_| {
            plan.context
                .as_ref()
                .is_some_and(|context| context.use_ == use_)
        };
        lacks(
            persists(ContextUse::Persist),
            has(MemberSource::Persist) || self.save.is_some(),
            "remote-context",
            format!("{name} cannot save the data; add ,read-only"),
        );
        lacks(
            !plan.labels.is_empty(),
            has(MemberSource::Labels),
            "remote-label",
            format!("{name} has no labels"),
        );
        found
    }

    /// The request that creates a session.
    pub(crate) fn creation(&self, plan: &RentalPlan, mark: &RentalMark) -> Value {
        let mut body = Value::Object(Map::new());
        for (source, path) in self.members {
            if let Some(value) = source.value(plan, mark) {
                match (source, json_path::get(&body, path)) {
                    // Beside the mark, which is a label, too, and is not replaced.
                    (MemberSource::Labels, Value::Object(known)) => {
                        let mut all = value.as_object().cloned().unwrap_or_default();
                        all.extend(known.clone());
                        json_path::set(&mut body, path, Value::Object(all));
                    }
                    _ => json_path::set(&mut body, path, value),
                }
            }
        }
        body
    }
}

impl MemberSource {
    /// The value for this plan; none if the member is left out.
    fn value(&self, plan: &RentalPlan, mark: &RentalMark) -> Option<Value> {
        let country = match &plan.proxy {
            Some(Proxy::Country(country)) => Some(country),
            Some(Proxy::Anywhere) | None => None,
        };
        match self {
            Self::Width => Some(plan.size.width.into()),
            Self::Height => Some(plan.size.height.into()),
            Self::Timeout(unit) => Some(unit.of(plan.timeout).into()),
            Self::Region => plan.region.clone().map(Value::from),
            Self::ProxyAnywhere => (plan.proxy == Some(Proxy::Anywhere)).then(|| true.into()),
            Self::ProxyOn => plan.proxy.is_some().then(|| true.into()),
            Self::Country => country.cloned().map(Value::from),
            Self::IfCountry(text) => country.map(|_| (*text).into()),
            Self::Context => plan
                .context
                .as_ref()
                .map(|context| context.id.clone().into()),
            Self::Persist => plan
                .context
                .as_ref()
                .map(|context| (context.use_ == ContextUse::Persist).into()),
            Self::Hosts => plan.hosts.as_ref().map(|hosts| {
                let hosts = hosts.iter().map(String::as_str);
                listed(hosts.collect())
            }),
            Self::Domains => plan.hosts.as_ref().map(|hosts| {
                let domains = hosts
                    .iter()
                    .map(|host| host.strip_prefix("*.").unwrap_or(host));
                listed(domains.collect())
            }),
            Self::IfHosts(flag) => plan.hosts.as_ref().map(|_| (*flag).into()),
            Self::Labels => {
                let labels = plan.labels.iter();
                let labels = labels.map(|(name, value)| (name.clone(), value.clone().into()));
                (!plan.labels.is_empty()).then(|| Value::Object(labels.collect()))
            }
            Self::Mark => Some(mark.as_str().into()),
            Self::Text(text) => Some((*text).into()),
            Self::Flag(flag) => Some((*flag).into()),
        }
    }
}

/// The hosts of a list. Services take an empty one for no list, so it has a name that does not exist.
fn listed(mut hosts: BTreeSet<&str>) -> Value {
    if hosts.is_empty() {
        hosts.insert("nothing.invalid");
    }
    hosts.into_iter().map(Value::from).collect()
}

impl TimeUnit {
    /// A duration in this unit, rounded up.
    pub(crate) fn of(self, duration: Duration) -> u64 {
        let seconds = duration.as_secs();
        match self {
            Self::Milliseconds => seconds.saturating_mul(1000),
            Self::Seconds => seconds,
            Self::Minutes => seconds.div_ceil(60),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{HostRestriction, SERVICES};

    fn plan() -> RentalPlan {
        RentalPlan {
            size: Size::new(1280, 800),
            timeout: Duration::from_secs(900),
            region: None,
            proxy: None,
            context: None,
            hosts: None,
            labels: BTreeMap::new(),
        }
    }

    fn hosts(hosts: &[&str]) -> Option<BTreeSet<String>> {
        Some(hosts.iter().map(|host| (*host).to_owned()).collect())
    }

    fn full() -> RentalPlan {
        RentalPlan {
            region: Some("us-west-2".to_owned()),
            proxy: Some(Proxy::Country("DE".to_owned())),
            context: Some(StoredContext {
                id: "ctx".to_owned(),
                use_: ContextUse::Persist,
            }),
            hosts: hosts(&["*.example.com", "shop.test"]),
            labels: BTreeMap::from([("run".to_owned(), "r1".to_owned())]),
            ..plan()
        }
    }

    fn creation(service: &str, plan: &RentalPlan) -> Value {
        let service = RemoteService::named(service).expect("a service");
        let mark: RentalMark = serde_json::from_value("m-1".into()).expect("a mark");
        service.creation(plan, &mark)
    }

    #[test]
    fn a_creation_has_the_members_of_its_service() {
        let viewport = json!({"width": 1280, "height": 800});
        for (service, expected) in [
            (
                "browserbase",
                json!({
                    "keepAlive": true, "timeout": 900, "region": "us-west-2",
                    "browserSettings": {
                        "viewport": viewport, "solveCaptchas": false,
                        "context": {"id": "ctx", "persist": true},
                        "allowedDomains": ["example.com", "shop.test"],
                    },
                    "proxies": [{"type": "browserbase", "geolocation": {"country": "DE"}}],
                    "userMetadata": {"telechir": "m-1", "run": "r1"},
                }),
            ),
            (
                "steel",
                json!({
                    "sessionId": "m-1", "dimensions": viewport, "timeout": 900_000,
                    "region": "us-west-2", "useProxy": {"geolocation": {"country": "DE"}},
                    "profileId": "ctx", "persistProfile": true,
                }),
            ),
            (
                "browser-engine",
                json!({
                    "viewport": viewport, "initial_url": "about:blank", "timeout": 900,
                    "metadata": {"telechir": "m-1", "run": "r1"},
                    "proxy": {"enabled": true, "country": "DE"},
                    "context": {"id": "ctx", "persist": true},
                }),
            ),
            (
                "agentcore",
                json!({
                    "name": "telechir", "sessionTimeoutSeconds": 900, "viewPort": viewport,
                    "profileConfiguration": {"profileIdentifier": "ctx"}, "clientToken": "m-1",
                }),
            ),
            (
                "kernel",
                json!({
                    "name": "m-1", "viewport": viewport, "timeout_seconds": 900,
                    "region": "us-west-2", "tags": {"run": "r1"},
                    "profile": {"id": "ctx", "save_changes": true},
                    "network": {"allowed_hosts": ["*.example.com", "shop.test"]},
                }),
            ),
            (
                "hyperbrowser",
                json!({
                    "screen": viewport, "timeoutMinutes": 15, "region": "us-west-2",
                    "useProxy": true, "proxyCountry": "DE",
                    "profile": {"id": "ctx", "persistChanges": true},
                    "allowInternetAccess": false, "allowOut": ["*.example.com", "shop.test"],
                }),
            ),
        ] {
            assert_eq!(creation(service, &full()), expected, "{service}");
        }
        assert_eq!(
            creation("steel", &plan()),
            json!({"sessionId": "m-1", "dimensions": viewport, "timeout": 900_000})
        );
        let anywhere = RentalPlan {
            proxy: Some(Proxy::Anywhere),
            ..plan()
        };
        assert_eq!(creation("browserbase", &anywhere)["proxies"], true);
        assert_eq!(creation("steel", &anywhere)["useProxy"], true);
        // A service would take an empty list for no list.
        let nowhere = RentalPlan {
            hosts: hosts(&[]),
            ..plan()
        };
        let network = &creation("kernel", &nowhere)["network"];
        assert_eq!(*network, json!({"allowed_hosts": ["nothing.invalid"]}));
    }

    #[test]
    fn only_a_service_with_a_list_of_hosts_enforces_them() {
        use HostRestriction::{Listed, Other, Unrestricted};
        for service in &SERVICES {
            let has_list = matches!(service.name, "kernel" | "hyperbrowser");
            assert_eq!(service.unenforced(Unrestricted), None, "{}", service.name);
            assert_eq!(
                service.unenforced(Listed).is_none(),
                has_list,
                "{}",
                service.name
            );
            let text = service.unenforced(Other).expect("a sentence");
            assert!(
                text.contains("WebSockets") && text.contains(service.title),
                "{text}"
            );
        }
    }

    #[test]
    fn what_a_service_cannot_do_is_known_beforehand() {
        let lacking = |service: &str| {
            let service = RemoteService::named(service).expect("a service");
            let found = service.unsupported(&full()).into_iter();
            found.map(|found| found.option).collect::<Vec<_>>()
        };
        assert_eq!(lacking("browserbase"), Vec::<&str>::new());
        assert_eq!(lacking("steel"), ["remote-label"]);
        assert_eq!(lacking("browser-engine"), ["remote-region"]);
        assert_eq!(lacking("agentcore"), ["remote-proxy", "remote-label"]);
        assert_eq!(lacking("kernel"), ["remote-proxy"]);
        assert_eq!(lacking("hyperbrowser"), ["remote-label"]);
        for service in &SERVICES {
            assert_eq!(service.unsupported(&plan()), [], "{}", service.name);
            let endless = RentalPlan {
                timeout: Duration::from_secs(u64::MAX),
                ..plan()
            };
            let found = service.unsupported(&endless);
            assert_eq!(found.len(), 1, "{}", service.name);
            assert_eq!(found[0].option, "remote-timeout");
        }
    }
}
