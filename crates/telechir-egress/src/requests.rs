//! Judges requests that a browser elsewhere is about to make, one by one.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use telechir_policy::Remote;

use crate::Egress;
use crate::connect::{judge, refused, resolve};
use crate::decision::ConnectionDecision;
use crate::egress::{EgressShared, lock};
use crate::refusal::ProxyRefusal;

/// How long the addresses of a name are remembered: a page requests many things of a host.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);
/// Names and permitted targets that are remembered.
const MAX_REMEMBERED: usize = 1024;

/// Judges the requests of a browser whose connections do not pass through the proxy. Its answers are
/// those of the proxy, and so are its decisions; a target that stays permitted is reported once.
#[derive(Debug)]
pub struct RequestJudge {
    shared: Arc<EgressShared>,
    addresses: Mutex<HashMap<String, (Instant, Vec<IpAddr>)>>,
    permitted: Mutex<HashSet<(String, u16, String)>>,
}

impl Egress {
    /// Judges requests instead of connections, by the same rules.
    pub fn request_judge(&self) -> RequestJudge {
        RequestJudge {
            shared: self.shared(),
            addresses: Mutex::default(),
            permitted: Mutex::default(),
        }
    }
}

impl RequestJudge {
    /// Whether a request for this URL may be made. URLs without a host, such as `data:`, may.
    ///
    /// Addresses of names are those that this machine finds; a name that has none here is judged as
    /// one whose addresses are unknown.
    pub async fn permits(&self, url: &str) -> bool {
        let Some(remote) = Remote::for_navigation(url) else {
            return !is_of_network(url);
        };
        let shared = &self.shared;
        match self.judge(&remote).await {
            Ok(decision) => {
                let key = (remote.host(), remote.port(), decision.rule.clone());
                let is_new = {
                    let mut permitted = lock(&self.permitted);
                    if permitted.len() >= MAX_REMEMBERED {
                        permitted.clear();
                    }
                    permitted.insert(key)
                };
                if is_new {
                    shared.report(decision);
                }
                true
            }
            Err(refusal) => {
                shared.report(refused(shared, &remote, &refusal));
                false
            }
        }
    }

    async fn judge(&self, remote: &Remote) -> Result<ConnectionDecision, ProxyRefusal> {
        let host = remote.host();
        let found = async { Ok(self.addresses_of(&host).await) };
        let (_, reason) = judge(&self.shared, remote, found).await?;
        Ok(ConnectionDecision::passed(
            self.shared.client,
            remote,
            reason,
        ))
    }

    async fn addresses_of(&self, host: &str) -> Vec<IpAddr> {
        let known = lock(&self.addresses).get(host).cloned();
        if let Some((found_at, addresses)) = known
            && found_at.elapsed() < REMEMBERED_FOR
        {
            return addresses;
        }
        let addresses = resolve(&self.shared, host).await.unwrap_or_default();
        let mut known = lock(&self.addresses);
        if known.len() >= MAX_REMEMBERED {
            known.clear();
        }
        known.insert(host.to_owned(), (Instant::now(), addresses.clone()));
        addresses
    }
}

/// Whether a URL without a valid host is one that a network is needed for.
fn is_of_network(url: &str) -> bool {
    let scheme = url.split(':').next().unwrap_or_default();
    let schemes = ["http", "https", "ws", "wss", "ftp"];
    schemes
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use std::io;

    use telechir_policy::{NetworkClient, Policy};

    use super::*;
    use crate::{Resolve, ResolveFuture};

    /// Counts what is asked, and knows the addresses of one name.
    #[derive(Debug, Default)]
    struct CountingResolver(Arc<Mutex<Vec<String>>>);

    impl Resolve for CountingResolver {
        fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
            lock(&self.0).push(host.to_owned());
            Box::pin(async move {
                match host {
                    "public.example" => Ok(vec![[93, 184, 215, 14].into()]),
                    "inner.example" => Ok(vec![[10, 0, 0, 1].into()]),
                    _ => Err(io::ErrorKind::NotFound.into()),
                }
            })
        }
    }

    const RULES: &str = "[[url]]\nhost = ['bad.example', '*.bad.example']\nverdict = 'deny'\n\
        reason = 'Bad.'\n\
        [[url]]\nhost = ['named.example']\nverdict = 'allow'\nreason = 'Named.'\n";

    #[tokio::test]
    async fn a_request_is_judged_as_a_connection_of_the_proxy_is() {
        let policy = Policy::from_toml(RULES, "test").unwrap();
        let (lookups, decisions) = (
            Arc::<Mutex<Vec<String>>>::default(),
            Arc::<Mutex<Vec<String>>>::default(),
        );
        let reported = Arc::clone(&decisions);
        let egress = Egress::new(policy.gate(NetworkClient::Browser))
            .with_resolver(CountingResolver(Arc::clone(&lookups)))
            .on_decision(move |decision| lock(&reported).push(decision.to_string()));
        let judge = egress.request_judge();
        for (url, is_permitted) in [
            ("https://public.example/a", true),
            ("https://public.example/b", true),
            ("https://inner.example/", false),
            ("http://169.254.169.254/latest/meta-data", false),
            ("http://[::1]:9222/json", false),
            ("https://bad.example/", false),
            ("wss://a.bad.example/", false),
            ("https://named.example/", true),
            ("https://unknown.example/", false),
            ("https://public.example@bad.example/", false),
            ("http://", false),
            ("data:text/html,x", true),
            ("blob:https://bad.example/1-2", true),
            ("about:blank", true),
            ("https://public.example/c", true),
        ] {
            assert_eq!(judge.permits(url).await, is_permitted, "{url}");
        }
        // Neither a host that is denied anyway nor one that is known.
        assert_eq!(
            *lock(&lookups),
            [
                "public.example",
                "inner.example",
                "named.example",
                "unknown.example"
            ]
        );
        let decisions = lock(&decisions).clone();
        let of = |host: &str| {
            let is_of = |decision: &&String| decision.contains(&format!(" to {host}:"));
            decisions.iter().filter(is_of).count()
        };
        assert_eq!((of("public.example"), of("bad.example")), (1, 2));
        assert!(egress.last_refusal("https://bad.example/").is_some());
        egress.grant("https://unknown.example/");
        assert!(judge.permits("https://unknown.example/x").await);
        egress.set_gate(
            Policy::from_toml("", "test")
                .unwrap()
                .gate(NetworkClient::Browser),
        );
        assert!(!judge.permits("https://named.example/").await);
    }
}
