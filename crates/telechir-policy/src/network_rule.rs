//! Judges connections of programs where they are opened.
//!
//! A name is judged twice: before it is resolved, since DNS requests can carry data too, and with
//! all its addresses.

use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::rule::{MatchCertainty, Matcher, Polarity, RateCounter, Rule, RuleContext, RuleTable};
use crate::url_rule::{self, Destination, UrlMatch};
use crate::{ContentTrust, Policy, RuleReason, Verdict, navigation, summary};

/// The program that opens a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NetworkClient {
    /// The browser: each of its requests, by the rules for URLs.
    Browser,
    /// An application of the desktop.
    Desktop,
    /// A command of the sandboxed shell.
    Shell,
}

impl NetworkClient {
    /// The name in policy files and events.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Browser => "browser",
            Self::Desktop => "desktop",
            Self::Shell => "shell",
        }
    }
}

/// A resolved address of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedAddress {
    /// The address, resolved from a name or given literally.
    pub address: IpAddr,
    /// Whether it leads back to this machine, whatever its range.
    pub is_this_machine: bool,
}

/// The host and port that a program requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    url: Url,
}

/// Why a request has no valid host and port. The text is for the program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The target is invalid or ambiguous.
    #[error("read {0:?} as a host and a port")]
    Unreadable(String),
    /// The URL has a user name, which only disguises its host.
    #[error("accept a URL with user info; its actual host is {0}")]
    User(String),
    /// The scheme is not `http`.
    #[error(
        "fetch a URL with the scheme {0:?}; only http is fetched, everything else needs a tunnel"
    )]
    Scheme(String),
}

impl Remote {
    /// Parses the target of a tunnel: a host and a port, such as `example.com:443` or
    /// `[2001:db8::1]:443`.
    ///
    /// # Errors
    /// When it is anything else.
    pub fn for_tunnel(authority: &str) -> Result<Self, RemoteError> {
        let unreadable = || RemoteError::Unreadable(summary::escape(authority));
        let is_plain = |c: u8| c.is_ascii_alphanumeric() || b".-_:[]".contains(&c);
        let (host, port) = authority.rsplit_once(':').ok_or_else(unreadable)?;
        let port: u16 = match port.parse() {
            Ok(0) | Err(_) => return Err(unreadable()),
            Ok(port) => port,
        };
        // A sign is refused, too: some parsers read `+80` as a number, others do not.
        if !authority.bytes().all(is_plain) || (host.contains(':') != host.starts_with('[')) {
            return Err(unreadable());
        }
        Self::at(host, port).ok_or_else(unreadable)
    }

    /// Creates a target from a separate host, as other protocols have it.
    ///
    /// # Errors
    /// When the host is invalid.
    pub fn host_and_port(host: &str, port: u16) -> Result<Self, RemoteError> {
        match host.parse::<IpAddr>() {
            Ok(IpAddr::V6(_)) => Self::for_tunnel(&format!("[{host}]:{port}")),
            Ok(IpAddr::V4(_)) | Err(_) => Self::for_tunnel(&format!("{host}:{port}")),
        }
    }

    /// Parses the URL of a request without a tunnel.
    ///
    /// # Errors
    /// When it is not an `http` URL, or has user info.
    pub fn for_fetch(address: &str) -> Result<Self, RemoteError> {
        let unreadable = || RemoteError::Unreadable(summary::escape(address));
        let is_plain = |c: u8| c.is_ascii_graphic() && c != b'\\';
        let url = Url::parse(address).map_err(|_| unreadable())?;
        if url.scheme() != "http" {
            return Err(RemoteError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let host = url_rule::host_name(&url).unwrap_or_default();
            return Err(RemoteError::User(host));
        }
        if !address.bytes().all(is_plain) {
            return Err(unreadable());
        }
        let port = url.port_or_known_default().unwrap_or(80);
        let host = url.host_str().ok_or_else(unreadable)?;
        let mut remote = Self::at(host, port).ok_or_else(unreadable)?;
        let _http_is_as_special = remote.url.set_scheme("http");
        // The other scheme's default port was only a placeholder.
        let _it_has_a_host = remote.url.set_port(Some(port));
        Ok(remote)
    }

    /// The target of a URL that a browser navigates to; none if it needs no network.
    pub fn for_navigation(address: &str) -> Option<Self> {
        let url = navigation::read_url(address)?;
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        Self::at(url.host_str()?, url.port_or_known_default()?)
    }

    fn at(host: &str, port: u16) -> Option<Self> {
        let url = Url::parse(&format!("https://{host}:{port}/")).ok()?;
        // Nothing of the host's text became another part of the URL.
        let is_bare = url.username().is_empty()
            && url.path() == "/"
            && url.query().is_none()
            && url.fragment().is_none();
        is_bare.then_some(Self { url })
    }

    /// The canonical host: lower case, ASCII, without a trailing dot.
    pub fn host(&self) -> String {
        url_rule::host_name(&self.url).unwrap_or_default()
    }

    /// The IP address, if the host is one.
    pub fn literal(&self) -> Option<IpAddr> {
        match self.url.host() {
            Some(Host::Ipv4(address)) => Some(address.into()),
            Some(Host::Ipv6(address)) => Some(address.into()),
            Some(Host::Domain(_)) | None => None,
        }
    }

    pub(crate) const fn url(&self) -> &Url {
        &self.url
    }

    /// The port of the target.
    pub fn port(&self) -> u16 {
        self.url.port_or_known_default().unwrap_or(443)
    }
}

/// Judges one client's connections by the rules of a policy.
#[derive(Clone, Debug)]
pub struct Gate {
    client: NetworkClient,
    table: RuleTable<UrlMatch>,
    /// Patterns of the hosts whose content is trusted; a host must fit one of each list.
    trusted: Vec<Vec<String>>,
    trust: Option<ContentTrust>,
    tally: RateCounter,
}

/// The conditions of a `[[network]]` rule: targets and clients.
#[derive(Clone, Debug, Default)]
pub(crate) struct NetworkMatch {
    pub(crate) from: Option<Vec<NetworkClient>>,
    pub(crate) to: UrlMatch,
}

/// Only the target: the rules of other clients are not in a client's gate.
impl Matcher for NetworkMatch {
    type Subject<'a> = Destination<'a>;

    fn fit(&self, to: &Destination<'_>, sense: Polarity) -> MatchCertainty {
        self.to.fit(to, sense)
    }
}

impl Policy {
    /// The gate of a client. The browser's gate uses the rules for URLs, so that a page reaches no
    /// more than a model may navigate to.
    pub fn gate(&self, client: NetworkClient) -> Gate {
        let table = match client {
            // Their limits count the model's navigations, not the requests of a page.
            NetworkClient::Browser => self.url.map(&|rule| Some(without_limit(rule.clone()))),
            NetworkClient::Desktop | NetworkClient::Shell => {
                let is_for = |rule: &Rule<NetworkMatch>| match &rule.matcher.from {
                    Some(clients) => clients.contains(&client),
                    None => true,
                };
                self.network
                    .map(&|rule| is_for(rule).then(|| rule.clone().map(|matcher| matcher.to)))
            }
        };
        Gate {
            client,
            table,
            trusted: self.trusted.clone(),
            trust: None,
            tally: RateCounter::default(),
        }
    }

    /// Whether the policy trusts the content of this host.
    pub(crate) fn trusts(&self, host: &str) -> bool {
        is_trusted(&self.trusted, host)
    }
}

fn is_trusted(lists: &[Vec<String>], host: &str) -> bool {
    let fits = |patterns: &Vec<String>| {
        let mut patterns = patterns.iter();
        patterns.any(|pattern| url_rule::host_fits(pattern, host))
    };
    lists.iter().all(fits)
}

fn without_limit(mut rule: Rule<UrlMatch>) -> Rule<UrlMatch> {
    rule.limit = None;
    rule
}

impl Gate {
    /// The same gate for a session that shares this state: a connection to a host that the policy
    /// does not trust makes the session untrusted, and rules for that case count from then on.
    #[must_use]
    pub fn with_trust(mut self, trust: ContentTrust) -> Self {
        self.trust = Some(trust);
        self
    }

    /// The client of this gate.
    pub const fn client(&self) -> NetworkClient {
        self.client
    }

    /// Its rules, in tables of which each must permit a connection.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &RuleTable<UrlMatch>> {
        self.table.all()
    }

    /// Whether any connection may be allowed. Otherwise the client needs no network at all.
    pub fn is_open(&self) -> bool {
        let is_open = |table: &RuleTable<UrlMatch>| table.rules.iter().any(lets_through);
        self.client == NetworkClient::Browser || self.tables().all(is_open)
    }

    /// Why this target is denied whatever its addresses are; none if they must be resolved.
    pub fn refusal_by_name(&self, remote: &Remote) -> Option<RuleReason> {
        self.refusal_of(&remote.url)
    }

    /// Why this URL is denied whatever the addresses of its host are.
    pub(crate) fn refusal_of(&self, url: &Url) -> Option<RuleReason> {
        self.tables().find_map(|table| self.refusal_by(table, url))
    }

    fn refusal_by(&self, table: &RuleTable<UrlMatch>, url: &Url) -> Option<RuleReason> {
        let is_untrusted = self.is_untrusted();
        let counts = |rule: &&Rule<UrlMatch>| is_untrusted || !rule.after_untrusted;
        let refuses = |rule: &&Rule<UrlMatch>| {
            let matcher = &rule.matcher;
            let may_be_excepted = || rule.except.iter().any(|except| except.fits_name(url));
            rule.verdict == Verdict::Deny
                && matcher.address.is_none()
                && matcher.fits_name(url)
                && !may_be_excepted()
        };
        if let Some(rule) = table.rules.iter().filter(counts).find(refuses) {
            return Some(rule.to_reason());
        }
        let opens = |rule: &Rule<UrlMatch>| {
            let is_excepted = |except: &UrlMatch| except.address.is_none() && except.fits_name(url);
            lets_through(rule)
                && rule.matcher.fits_name(url)
                && !rule.except.iter().any(is_excepted)
        };
        if table.rules.iter().any(opens) {
            return None;
        }
        match self.client {
            NetworkClient::Browser => {
                // Even a request for the address of a name tells the name.
                let default = table.default.as_ref()?;
                let requests = |rule: &&Rule<UrlMatch>| rule.verdict == Verdict::Ask;
                let mut requests = table.rules.iter().filter(requests);
                let is_closed = default.verdict == Verdict::Deny
                    && !requests.any(|rule| rule.matcher.fits_name(url));
                is_closed.then(|| default.to_reason())
            }
            NetworkClient::Desktop | NetworkClient::Shell => {
                let host = url_rule::host_name(url).unwrap_or_default();
                Some(table.otherwise(self.closed(&host)))
            }
        }
    }

    /// The verdict on this target with all its resolved addresses.
    pub fn judge(
        &mut self,
        remote: &Remote,
        found: &[ResolvedAddress],
        now: Duration,
    ) -> RuleReason {
        let to = Destination::found(&remote.url, found);
        let closed = match self.client {
            NetworkClient::Browser => url_rule::default(&to),
            NetworkClient::Desktop | NetworkClient::Shell => self.closed(&remote.host()),
        };
        let context = RuleContext {
            now,
            is_untrusted: self.is_untrusted(),
            is_confined: false,
        };
        let reason = self
            .table
            .judge(&to, &mut self.tally, context, || closed.clone());
        // A connection that a person approved by navigating there reads content, too.
        if reason.verdict < Verdict::Deny {
            self.note_content(&remote.host());
        }
        reason
    }

    fn is_untrusted(&self) -> bool {
        self.trust.as_ref().is_some_and(ContentTrust::is_untrusted)
    }

    fn note_content(&self, host: &str) {
        if let Some(trust) = &self.trust
            && !is_trusted(&self.trusted, host)
        {
            let client = self.client.name();
            trust.note_untrusted(&format!("the {client} reached {host}"));
        }
    }

    fn closed(&self, host: &str) -> RuleReason {
        let client = self.client.name();
        RuleReason::built_in(
            Verdict::Deny,
            "network",
            format!(
                "No [[network]] rule of the policy allows the {client} to reach {host} at these addresses."
            ),
        )
    }
}

fn lets_through(rule: &Rule<UrlMatch>) -> bool {
    rule.verdict < Verdict::Ask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_host_and_a_port_and_nothing_else() {
        for host in ["u@example.com", "a/b", "a?b", "a#b", "", "a b"] {
            assert_eq!(Remote::at(host, 443), None, "{host:?}");
        }
        let remote = Remote::at("Example.com.", 80).map(|remote| remote.host());
        assert_eq!(remote.as_deref(), Some("example.com"));
    }

    /// A DNS request tells the name, so a name that no rule can permit is not resolved.
    #[test]
    fn a_rule_that_denies_opens_nothing() {
        let rule = |kind: &str, verdict: &str| {
            format!("[[{kind}]]\naddress = ['private']\nverdict = '{verdict}'\nreason = 'x'\n")
        };
        let gate = |rules: &str, client| Policy::from_toml(rules, "p.toml").unwrap().gate(client);
        let remote = Remote::for_tunnel("a.example:443").unwrap();
        for client in [NetworkClient::Shell, NetworkClient::Desktop] {
            let denies = gate(&rule("network", "deny"), client);
            assert!(!denies.is_open());
            assert!(denies.refusal_by_name(&remote).is_some());
            let allows = gate(&rule("network", "allow"), client);
            assert!(allows.is_open());
            assert!(allows.refusal_by_name(&remote).is_none());
        }
        let closed = "[[url]]\ndefault = 'deny'\nreason = 'Only the listed.'\n";
        for (verdict, is_refused) in [("deny", true), ("ask", false), ("allow", false)] {
            let rules = format!("{closed}{}", rule("url", verdict));
            let refusal = gate(&rules, NetworkClient::Browser).refusal_by_name(&remote);
            assert_eq!(refusal.is_some(), is_refused, "{verdict}");
        }
    }

    #[test]
    fn a_refused_connection_reads_no_content() {
        let trust = ContentTrust::default();
        let rules = "[[network]]\nhost = ['a.example']\nverdict = 'allow'\nreason = 'x'\n";
        let policy = Policy::from_toml(rules, "p.toml").unwrap();
        let mut gate = policy.gate(NetworkClient::Shell).with_trust(trust.clone());
        let mut verdict = |target: &str, address: [u8; 4]| {
            let found = [ResolvedAddress {
                address: address.into(),
                is_this_machine: false,
            }];
            let remote = Remote::for_tunnel(target).unwrap();
            gate.judge(&remote, &found, Duration::ZERO).verdict
        };
        assert_eq!(verdict("a.example:443", [10, 0, 0, 1]), Verdict::Deny);
        assert_eq!(verdict("b.example:443", [93, 184, 216, 34]), Verdict::Deny);
        assert!(!trust.is_untrusted());
        assert_eq!(verdict("a.example:443", [93, 184, 216, 34]), Verdict::Allow);
        assert!(trust.is_untrusted());
    }

    #[test]
    fn a_page_s_target_is_its_host_and_the_port_of_its_scheme() {
        let target = |url: &str| {
            let remote = Remote::for_navigation(url)?;
            Some((remote.host(), remote.port()))
        };
        let at = |host: &str, port| Some((host.to_owned(), port));
        assert_eq!(target("HTTPS://Example.com./x"), at("example.com", 443));
        assert_eq!(target("http://example.com"), at("example.com", 80));
        assert_eq!(target("example.com:8443/x"), None);
        assert_eq!(target("http://0x7f.1:81/"), at("127.0.0.1", 81));
        assert_eq!(target("about:blank"), None);
        assert_eq!(target("ws://example.com/"), None);
    }

    #[test]
    fn a_port_is_a_number_without_a_sign() {
        for authority in [
            "a.example:+443",
            "a.example:0",
            "a.example:65536",
            "a.example:",
            "a.example",
        ] {
            assert!(Remote::for_tunnel(authority).is_err(), "{authority}");
        }
        assert!(Remote::for_tunnel("a.example:443").is_ok());
    }
}
