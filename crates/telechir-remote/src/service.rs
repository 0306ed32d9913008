//! What a row of the table of services consists of.

/// A service that rents browsers.
#[derive(Debug)]
pub struct RemoteService {
    /// The service as the flag `--remote` names it.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Variables of its key.
    pub keys: Keys,
    /// Variable of its base URL, for gateways and tests.
    pub base_variable: &'static str,
    /// Its base URL; `{region}` stands for a region.
    pub(crate) base: &'static str,
    pub(crate) auth: Auth,
    pub(crate) create: CallTemplate,
    /// The members of the request that creates a session, each with its path.
    pub(crate) members: &'static [(MemberSource, &'static str)],
    pub(crate) describe: CallTemplate,
    pub(crate) release: CallTemplate,
    pub(crate) extend: Option<Extend>,
    /// Saves the context before the release, where the service does not do so itself.
    pub(crate) save: Option<CallTemplate>,
    pub(crate) live_view: Option<LiveViewTable>,
    pub(crate) find: Find,
    pub(crate) answer: AnswerTable,
    pub(crate) dial: DialTable,
    pub(crate) clock: Clock,
    /// For what the service enforces a list of permitted hosts.
    pub(crate) host_list: HostList,
    /// What the service charges for, by its own documentation of November 2026; continues "billed".
    pub billing: &'static str,
    /// The least and the longest timeout in seconds.
    pub(crate) timeout_range: (u64, u64),
}

/// What Chromium sends without a request that can be judged.
const UNENFORCED: &str = "WebSockets, WebTransport, WebRTC and early connections of its pages, and what \
    they request while no connection to the browser is open, reach hosts that the policy denies";

/// How a policy restricts the hosts of pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostRestriction {
    /// Every public host is permitted.
    Unrestricted,
    /// Only listed hosts are permitted.
    Listed,
    /// Rules restrict hosts in a way that a list of permitted hosts does not say.
    Other,
}

impl RemoteService {
    /// The service with this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        crate::SERVICES.iter().find(|service| service.name == name)
    }

    /// The service of a recorded session: of a browser or of a shell.
    pub fn recorded(name: &str) -> Option<&'static Self> {
        let shell = (crate::INTERPRETER.name == name).then_some(&crate::INTERPRETER);
        Self::named(name).or(shell)
    }

    /// Variables that must be set.
    pub fn required_variables(&self) -> &[&'static str] {
        match &self.keys {
            Keys::One(name) => std::slice::from_ref(name),
            Keys::Aws => &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"],
        }
    }

    /// Variables that are used if they are set.
    pub fn optional_variables(&self) -> Vec<&'static str> {
        let aws: &[&str] = match self.keys {
            Keys::One(_) => &[],
            Keys::Aws => &["AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION"],
        };
        let base = [self.base_variable].into_iter();
        base.chain(aws.iter().copied()).collect()
    }

    /// Whether its timeout is the time without a client, so that a browser in use runs on.
    pub fn ends_when_idle(&self) -> bool {
        self.clock == Clock::Idle
    }

    /// Whether a session's time can be extended.
    pub fn can_extend(&self) -> bool {
        self.extend.is_some()
    }

    /// What of a browser there reaches hosts although a policy denies them, as a sentence; none if
    /// the service enforces these hosts itself, or if every host is permitted.
    ///
    /// The requests of its pages are judged apart from that.
    pub fn unenforced(&self, hosts: HostRestriction) -> Option<String> {
        let title = self.title;
        let why = match (hosts, self.host_list) {
            (HostRestriction::Unrestricted, _) | (HostRestriction::Listed, HostList::Requests) => {
                return None;
            }
            (HostRestriction::Other, HostList::Requests) => {
                format!("{title} takes a list of permitted hosts alone")
            }
            (HostRestriction::Listed | HostRestriction::Other, HostList::Pages) => {
                format!("{title} limits the hosts of the pages that tabs load alone")
            }
            (HostRestriction::Listed | HostRestriction::Other, HostList::Nothing) => {
                format!("{title} takes no list of permitted hosts")
            }
        };
        Some(format!("{UNENFORCED}: {why}."))
    }

    pub(crate) fn has_region_in_base(&self) -> bool {
        self.base.contains("{region}")
    }
}

/// Where a service's key comes from.
#[derive(Debug)]
pub enum Keys {
    /// One variable has the key.
    One(&'static str),
    /// The variables of AWS.
    Aws,
}

/// How a request shows that it may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Auth {
    /// The key is the value of this header.
    Header(&'static str),
    /// The key is a bearer token.
    Bearer,
    /// Signature version 4 of AWS, for the service of this name.
    SigV4(&'static str),
}

/// A request. `{id}` is the session's id, `{mark}` our own, `{context}` that of the stored data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallTemplate {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The members of its body, with the same placeholders; none for a request without a body.
    pub(crate) body: Option<&'static [(&'static str, &'static str)]>,
}

/// Where the value of a member comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemberSource {
    Width,
    Height,
    Timeout(TimeUnit),
    Region,
    /// True for a proxy without a country.
    ProxyAnywhere,
    /// True for any proxy.
    ProxyOn,
    Country,
    /// This text if there is a country.
    IfCountry(&'static str),
    Context,
    /// Whether changes of the context are kept.
    Persist,
    /// The permitted hosts, as patterns.
    Hosts,
    /// The permitted hosts without patterns: each stands for those below it, too.
    Domains,
    /// This flag if only some hosts are permitted.
    IfHosts(bool),
    Labels,
    Mark,
    Text(&'static str),
    Flag(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimeUnit {
    Milliseconds,
    Seconds,
    Minutes,
}

/// How a session's time is extended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extend {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    /// The member that has the time.
    pub(crate) member: &'static str,
    pub(crate) unit: TimeUnit,
}

/// Where the address is at which people watch a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveViewTable {
    pub(crate) call: CallTemplate,
    /// The member that has the address.
    pub(crate) member: &'static str,
}

/// How a session is found whose creation was not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Find {
    /// Its id or its name is our mark.
    ByMark,
    /// The same request is made again: the service knows it by the mark.
    CreateAgain,
    /// Among those of a list, by the mark at this path of an item.
    List {
        /// Path and query, with `{mark}`.
        path: &'static str,
        /// Where the items are; empty for the document itself.
        items: &'static str,
        mark: &'static str,
    },
    /// Not at all.
    Impossible,
}

/// The members of an answer that describe a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AnswerTable {
    /// The member that may have the session in it.
    pub(crate) envelope: Option<&'static str>,
    pub(crate) id: &'static str,
    /// The state; none if every session that can be described is alive.
    pub(crate) state: Option<&'static str>,
    pub(crate) alive: &'static [&'static str],
    pub(crate) starting: &'static [&'static str],
    /// Why it ended.
    pub(crate) reason: Option<&'static str>,
}

/// How the browser's address is made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DialTable {
    /// The member that has the address.
    pub(crate) address: &'static str,
    /// Parameters that are added to it, unless it has them.
    pub(crate) query: &'static [(&'static str, DialValue)],
    /// Whether the handshake is signed.
    pub(crate) is_signed: bool,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum DialValue {
    Key,
    Id,
    /// A member of the session.
    Member(&'static str),
}

/// For what a service enforces a list of permitted hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostList {
    /// It takes no such list.
    Nothing,
    /// For the pages that tabs load, not for what these request.
    Pages,
    /// For all requests of pages and for their WebSockets.
    Requests,
}

/// What a service measures with the timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// The session's whole time.
    Total,
    /// The time without a client.
    Idle,
}
