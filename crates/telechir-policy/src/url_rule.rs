//! Addresses: read as a browser reads them, judged by scheme, host, port and where they lead.

use std::net::IpAddr;

use telechir_protocol::Action;
use url::{Host, Url};

use crate::rule::{Fit, Matcher, RuleReason, Sense};
use crate::{AddressClass, Found, Resolved, Verdict};

/// An address as it will be gone to.
#[derive(Debug)]
pub(crate) struct Destination<'a> {
    url: &'a Url,
    classes: Vec<Sorted>,
}

/// The sort of one address of a host.
#[derive(Clone, Copy, Debug)]
struct Sorted {
    class: AddressClass,
    /// What its range alone would make of it.
    by_range: AddressClass,
}

impl Sorted {
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

/// What a `[[url]]` rule looks at; an absent member fits everything, but for one thing: a rule
/// that lets through and says nothing of addresses means public ones, and those it names itself.
#[derive(Clone, Debug, Default)]
pub(crate) struct UrlMatch {
    pub(crate) scheme: Option<Vec<String>>,
    pub(crate) host: Option<Vec<String>>,
    pub(crate) port: Option<Vec<u16>>,
    pub(crate) address: Option<Vec<AddressClass>>,
}

/// Reads an address as a person would type it: without a scheme it is `https`.
///
/// None when no browser would understand it.
pub(crate) fn read_url(text: &str) -> Option<Url> {
    match Url::parse(text) {
        Ok(url) => Some(url),
        Err(url::ParseError::RelativeUrlWithoutBase) => {
            Url::parse(&format!("https://{}", text.trim())).ok()
        }
        Err(_) => None,
    }
}

/// The address an action goes to, when it names one.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is sorted in `screen_rule`, whose match has no wildcard"
)]
pub(crate) fn url_of(action: &Action) -> Option<&str> {
    match action {
        Action::Navigate { url, .. } => Some(url),
        Action::OpenBrowser { url } | Action::NewTab { url } => url.as_deref(),
        _ => None,
    }
}

/// The same action with its address spelled as it was judged.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "a new action is sorted in `screen_rule`, whose match has no wildcard"
)]
pub(crate) fn with_url(action: &mut Action, canonical: String) {
    match action {
        Action::Navigate { url, .. } => *url = canonical,
        Action::OpenBrowser { url } | Action::NewTab { url } => *url = Some(canonical),
        _ => {}
    }
}

/// The host as rules and people see it: in ASCII, without a dot at its end.
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

    /// As it was found: with all its addresses, of which some may be this machine's own.
    pub(crate) fn found(url: &'a Url, found: &[Found]) -> Self {
        let mut classes = by_name(&host_name(url).unwrap_or_default());
        classes.extend(found.iter().map(|found| match found.is_this_machine {
            true => Sorted::plainly(AddressClass::Loopback),
            false => Sorted::of(found.address),
        }));
        if classes.is_empty() {
            classes.push(Sorted::plainly(AddressClass::Unresolved));
        }
        Self { url, classes }
    }

    /// Whether it has a place on a network at all.
    fn has_host(&self) -> bool {
        self.url.host().is_some()
    }
}

fn classes(url: &Url, resolved: &[Resolved]) -> Vec<Sorted> {
    match url.host() {
        None => Vec::new(),
        Some(Host::Ipv4(address)) => vec![Sorted::of(address.into())],
        Some(Host::Ipv6(address)) => vec![Sorted::of(address.into())],
        Some(Host::Domain(_)) => of_name(&host_name(url).unwrap_or_default(), resolved),
    }
}

fn of_name(name: &str, resolved: &[Resolved]) -> Vec<Sorted> {
    let mut classes = by_name(name);
    let found = resolved.iter().find(|entry| entry.host == name);
    let addresses = found
        .map(|entry| entry.addresses.as_slice())
        .unwrap_or_default();
    classes.extend(addresses.iter().map(|address| Sorted::of(*address)));
    if classes.is_empty() {
        classes.push(Sorted::plainly(AddressClass::Unresolved));
    }
    classes
}

/// Names that mean the same everywhere, whatever they are resolved to.
fn by_name(name: &str) -> Vec<Sorted> {
    if is_localhost(name) {
        return vec![Sorted::plainly(AddressClass::Loopback)];
    }
    if METADATA.contains(&name) {
        return vec![Sorted::plainly(AddressClass::Metadata)];
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

    fn fit(&self, to: &Destination<'_>, sense: Sense) -> Fit {
        let address = match sense {
            Sense::Surely => self.opens(to),
            Sense::Perhaps => self.address.as_ref().is_none_or(|wanted| {
                let is_wanted =
                    |to: &Sorted| wanted.contains(&to.class) || wanted.contains(&to.by_range);
                to.classes.iter().any(is_wanted)
            }),
        };
        if self.fits_name(to.url) && address {
            Fit::Yes
        } else {
            Fit::No
        }
    }
}

impl UrlMatch {
    /// Whether all but the addresses fits.
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

    /// Whether every address of the host is one that the rule names, so that a name which the
    /// rule lets through leads nowhere else by what its owner makes of it. Files, scripts and the
    /// browser's own pages are opened by a rule that names their scheme.
    fn opens(&self, to: &Destination<'_>) -> bool {
        if self.scheme.is_none() && !is_web(to.url) {
            return false;
        }
        if let Some(wanted) = &self.address {
            let is_wanted = |to: &Sorted| wanted.contains(&to.class);
            return !to.classes.is_empty() && to.classes.iter().all(is_wanted);
        }
        let Some(host) = host_name(to.url) else {
            return true;
        };
        let is_named = fits(&self.host, |pattern| *pattern == host) && self.host.is_some();
        let is_literal = !matches!(to.url.host(), Some(Host::Domain(_)));
        let is_named_as = |to: &Sorted| match to.class {
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

/// Whether it is of the web, or the empty page.
fn is_web(url: &Url) -> bool {
    matches!(url.scheme(), "http" | "https") || url.as_str() == "about:blank"
}

fn fits<T>(wanted: &Option<Vec<T>>, is: impl Fn(&T) -> bool) -> bool {
    wanted.as_ref().is_none_or(|wanted| wanted.iter().any(is))
}

/// `example.com` is that host, `*.example.com` every host below it, `*` every host.
fn host_fits(pattern: &str, host: &str) -> bool {
    match pattern.strip_prefix("*.") {
        Some(parent) => host
            .strip_suffix(parent)
            .is_some_and(|head| head.ends_with('.')),
        None => pattern == "*" || pattern == host,
    }
}

/// What no rule of a file can change: a user's name in an address is only ever a disguise.
pub(crate) fn always(url: &Url) -> Option<RuleReason> {
    let has_user = !url.username().is_empty() || url.password().is_some();
    has_user.then(|| {
        let host = host_name(url).unwrap_or_default();
        RuleReason::built_in(
            Verdict::Deny,
            "user in an address",
            format!("The address carries a user name; write it without, as it leads to {host}."),
        )
    })
}

/// What holds where no rule applies.
pub(crate) fn default(to: &Destination<'_>) -> RuleReason {
    let url = to.url;
    let built_in = |verdict, reason: String| RuleReason::built_in(verdict, "address", reason);
    if url.as_str() == "about:blank" {
        return built_in(Verdict::Allow, "An empty page.".to_owned());
    }
    if !is_web(url) || !to.has_host() {
        let scheme = url.scheme();
        return built_in(
            Verdict::Deny,
            format!(
                "Addresses that begin with {scheme}: are not gone to; only http and https are, \
                 and what a [[url]] rule of the policy names by its scheme."
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
            format!(
                "{host} has no address that could be checked; a [[url]] rule of the policy can allow it."
            ),
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
