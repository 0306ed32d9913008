//! Judges URLs, parsed as a browser parses them, by scheme, host, port and addresses.

use std::net::IpAddr;

use serde::Deserialize;
use url::{Host, Url};

use crate::rule::{MatchCertainty, Matcher, Polarity, RuleReason};
use crate::{AddressClass, Resolved, ResolvedAddress, Verdict};

/// A URL as it will be navigated to.
#[derive(Debug)]
pub(crate) struct Destination<'a> {
    url: &'a Url,
    classes: Vec<ClassifiedAddress>,
}

/// The class of one address of a host.
#[derive(Clone, Copy, Debug)]
struct ClassifiedAddress {
    class: AddressClass,
    /// The class by range alone.
    by_range: AddressClass,
}

impl ClassifiedAddress {
    const fn plainly(class: AddressClass) -> Self {
        Self {
            class,
            by_range: class,
        }
    }

    fn of(address: IpAddr) -> Self {
        Self {
            class: AddressClass::of(address),
            by_range: AddressClass::by_range(address),
        }
    }
}

/// The conditions of a `[[url]]` rule; an absent one matches everything, with one exception: a
/// permissive rule without addresses means public ones and those that it names itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct UrlMatch {
    pub(crate) scheme: Option<Vec<String>>,
    pub(crate) host: Option<Vec<String>>,
    pub(crate) port: Option<Vec<u16>>,
    pub(crate) address: Option<Vec<AddressClass>>,
    /// Not a condition: what a tunnel that this rule permits may carry.
    pub(crate) tunnel: TunnelContent,
}

/// What a tunnel to a named host may carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum TunnelContent {
    /// TLS or HTTP whose first bytes name this host, and no encrypted name.
    #[default]
    Named,
    /// Anything.
    Any,
}

/// The host as rules and users see it: in ASCII, without a trailing dot.
pub(crate) fn host_name(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    Some(host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase())
}

impl<'a> Destination<'a> {
    pub(crate) fn new(url: &'a Url, resolved: &[Resolved]) -> Self {
        Self {
            url,
            classes: classes(url, resolved),
        }
    }

    /// A destination with all resolved addresses, of which some may be this machine's own.
    pub(crate) fn found(url: &'a Url, found: &[ResolvedAddress]) -> Self {
        let mut classes = by_name(&host_name(url).unwrap_or_default());
        classes.extend(found.iter().map(|found| match found.is_this_machine {
            true => ClassifiedAddress::plainly(AddressClass::Loopback),
            false => ClassifiedAddress::of(found.address),
        }));
        if classes.is_empty() {
            classes.push(ClassifiedAddress::plainly(AddressClass::Unresolved));
        }
        Self { url, classes }
    }
}

fn classes(url: &Url, resolved: &[Resolved]) -> Vec<ClassifiedAddress> {
    match url.host() {
        None => Vec::new(),
        Some(Host::Ipv4(address)) => vec![ClassifiedAddress::of(address.into())],
        Some(Host::Ipv6(address)) => vec![ClassifiedAddress::of(address.into())],
        Some(Host::Domain(_)) => of_name(&host_name(url).unwrap_or_default(), resolved),
    }
}

fn of_name(name: &str, resolved: &[Resolved]) -> Vec<ClassifiedAddress> {
    let mut classes = by_name(name);
    let found = resolved.iter().find(|entry| entry.host == name);
    let addresses = found
        .map(|entry| entry.addresses.as_slice())
        .unwrap_or_default();
    classes.extend(
        addresses
            .iter()
            .map(|address| ClassifiedAddress::of(*address)),
    );
    if classes.is_empty() {
        classes.push(ClassifiedAddress::plainly(AddressClass::Unresolved));
    }
    classes
}

/// Names with a fixed meaning, whatever they resolve to.
fn by_name(name: &str) -> Vec<ClassifiedAddress> {
    if is_localhost(name) {
        return vec![ClassifiedAddress::plainly(AddressClass::Loopback)];
    }
    if METADATA.contains(&name) {
        return vec![ClassifiedAddress::plainly(AddressClass::Metadata)];
    }
    Vec::new()
}

const METADATA: [&str; 5] = [
    "instance-data",
    "instance-data.ec2.internal",
    "metadata",
    "metadata.goog",
    "metadata.google.internal",
];

fn is_localhost(name: &str) -> bool {
    name == "localhost" || name.ends_with(".localhost")
}

impl Matcher for UrlMatch {
    type Subject<'a> = Destination<'a>;

    fn fit(&self, to: &Destination<'_>, sense: Polarity) -> MatchCertainty {
        let address = match sense {
            Polarity::Permits => self.opens(to),
            Polarity::Restricts => self.address.as_ref().is_none_or(|wanted| {
                let is_wanted = |to: &ClassifiedAddress| {
                    wanted.contains(&to.class) || wanted.contains(&to.by_range)
                };
                to.classes.iter().any(is_wanted)
            }),
        };
        if self.fits_name(to.url) && address {
            MatchCertainty::Yes
        } else {
            MatchCertainty::No
        }
    }
}

impl UrlMatch {
    /// Whether everything but the addresses matches.
    pub(crate) fn fits_name(&self, url: &Url) -> bool {
        let host = host_name(url);
        let scheme = fits(&self.scheme, |scheme| scheme == url.scheme());
        let at_host = fits(&self.host, |pattern| {
            host.as_deref().is_some_and(|host| host_fits(pattern, host))
        });
        let port = fits(&self.port, |port| {
            url.port_or_known_default() == Some(*port)
        });
        scheme && at_host && port
    }

    /// Whether the rule names every address of the host, so that the owner of a permitted name
    /// cannot point it elsewhere. Files, scripts and the browser's own pages are permitted by a
    /// rule that names their scheme.
    fn opens(&self, to: &Destination<'_>) -> bool {
        if self.scheme.is_none() && !is_web(to.url) {
            return false;
        }
        if let Some(wanted) = &self.address {
            let is_wanted = |to: &ClassifiedAddress| wanted.contains(&to.class);
            return !to.classes.is_empty() && to.classes.iter().all(is_wanted);
        }
        let Some(host) = host_name(to.url) else {
            return true;
        };
        let is_named = fits(&self.host, |pattern| *pattern == host) && self.host.is_some();
        let is_literal = !matches!(to.url.host(), Some(Host::Domain(_)));
        let is_named_as = |to: &ClassifiedAddress| match to.class {
            AddressClass::Public | AddressClass::Unresolved => true,
            AddressClass::Loopback => is_named && (is_literal || is_localhost(&host)),
            AddressClass::Private
            | AddressClass::LinkLocal
            | AddressClass::Metadata
            | AddressClass::Special => is_named && is_literal,
        };
        to.classes.iter().all(is_named_as)
    }
}

/// Whether it is a web page or the empty page.
fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") || url.as_str() == "about:blank"
}

fn fits<T>(wanted: &Option<Vec<T>>, is: impl Fn(&T) -> bool) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted.iter().any(is))
}

/// `example.com` is that host, `*.example.com` every host below it, `*` every host.
pub(crate) fn host_fits(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(parent) => host
            .strip_suffix(parent)
            .is_some_and(|head| head.ends_with('.')),
        None => pattern == "*" || pattern == host,
    }
}

/// The verdict that no rule can relax: a user name in a URL only disguises its host.
pub(crate) fn always(url: &Url) -> Option<RuleReason> {
    let has_user = !url.username().is_empty() || url.password().is_some();
    has_user.then(|| {
        let host = host_name(url).unwrap_or_default();
        RuleReason::built_in(
            Verdict::Deny,
            "user info in a URL",
            format!("The URL has a user name; omit it, as the actual host is {host}."),
        )
    })
}

/// The verdict if no rule matches.
pub(crate) fn default(to: &Destination<'_>) -> RuleReason {
    let url = to.url;
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "address", reason);
    if url.as_str() == "about:blank" {
        return built_in(Verdict::Allow, "An empty page.".to_owned());
    }
    if !is_web(url) {
        let scheme = url.scheme();
        return built_in(
            Verdict::Deny,
            format!(
                "Navigation to {scheme}: URLs is not allowed; only http and https are, \
                 unless a [[url]] policy rule names the scheme."
            ),
        );
    }
    let host = host_name(url).unwrap_or_default();
    let classes = to.classes.iter().map(|sorted| sorted.class);
    let worst = classes.max_by_key(|class| strictness(*class));
    match worst {
        Some(AddressClass::Public) => {
            built_in(Verdict::Allow, format!("{host} is a public address."))
        }
        Some(AddressClass::Unresolved) | None => built_in(
            Verdict::Ask,
            format!("{host} has no address to check; a [[url]] rule of the policy can allow it."),
        ),
        Some(class) => built_in(
            Verdict::Deny,
            format!(
                "{host} is a {} address; a [[url]] rule of the policy that names it can allow it.",
                class.name()
            ),
        ),
    }
}

fn strictness(class: AddressClass) -> u8 {
    match class {
        AddressClass::Public => 0,
        AddressClass::Unresolved => 1,
        AddressClass::Private
        | AddressClass::Loopback
        | AddressClass::LinkLocal
        | AddressClass::Special => 2,
        AddressClass::Metadata => 3,
    }
}
