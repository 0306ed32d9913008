//! Which tunnels may carry what names no server.

use crate::rule::Rule;
use crate::url_rule::{Destination, TunnelContent, UrlMatch};
use crate::{Gate, Remote, ResolvedAddress, Verdict};

impl Gate {
    /// Whether a rule that does not deny this target lets a tunnel carry what names no server.
    pub fn allows_any_tunnel(&self, remote: &Remote, found: &[ResolvedAddress]) -> bool {
        let to = Destination::found(remote.url(), found);
        let allows = |rule: &Rule<UrlMatch>| {
            rule.matcher.tunnel == TunnelContent::Any
                && rule
                    .verdict_on(&to)
                    .is_some_and(|verdict| verdict < Verdict::Deny)
        };
        self.tables().all(|table| table.rules.iter().any(allows))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;
    use crate::{NetworkClient, Policy};

    const RULES: &str = "
        [[network]]
        host = ['git.example']
        port = [22]
        tunnel = 'any'
        verdict = 'allow'
        reason = 'SSH.'

        [[network]]
        host = ['git.example', 'www.example']
        tunnel = 'named'
        verdict = 'allow'
        reason = 'HTTPS.'

        [[url]]
        host = ['odd.example']
        tunnel = 'any'
        verdict = 'ask'
        reason = 'Odd.'

        [[url]]
        host = ['closed.example']
        tunnel = 'any'
        verdict = 'deny'
        reason = 'Closed.'
    ";

    #[track_caller]
    fn check(client: NetworkClient, target: &str, address: &str, allowed: bool) {
        let gate = Policy::from_toml(RULES, "test").unwrap().gate(client);
        let address: IpAddr = address.parse().unwrap();
        let found = ResolvedAddress {
            address,
            is_this_machine: false,
        };
        let remote = Remote::for_tunnel(target).unwrap();
        assert_eq!(
            gate.allows_any_tunnel(&remote, &[found]),
            allowed,
            "{target}"
        );
    }

    #[test]
    fn only_a_fitting_rule_with_the_key_allows_any_tunnel() {
        check(
            NetworkClient::Shell,
            "git.example:22",
            "93.184.216.34",
            true,
        );
        check(
            NetworkClient::Shell,
            "git.example:443",
            "93.184.216.34",
            false,
        );
        check(
            NetworkClient::Shell,
            "www.example:22",
            "93.184.216.34",
            false,
        );
        // Without `address` the rule means public ones.
        check(NetworkClient::Shell, "git.example:22", "10.0.0.1", false);
        check(
            NetworkClient::Browser,
            "odd.example:443",
            "93.184.216.34",
            true,
        );
        check(
            NetworkClient::Browser,
            "closed.example:443",
            "93.184.216.34",
            false,
        );
        check(
            NetworkClient::Browser,
            "git.example:22",
            "93.184.216.34",
            false,
        );
    }

    #[test]
    fn an_exception_with_a_tunnel_is_refused() {
        for table in ["network", "url"] {
            let text = format!(
                "[[{table}]]\nhost = ['git.example']\nverdict = 'deny'\nreason = 'No.'\n\
                 except = [{{ tunnel = 'any' }}]"
            );
            let error = Policy::from_toml(&text, "test").unwrap_err();
            assert!(error.to_string().contains("`tunnel`"), "{error}");
        }
    }

    #[test]
    fn other_values_are_refused() {
        let error = Policy::from_toml(&RULES.replace("'named'", "'open'"), "test").unwrap_err();
        assert!(error.to_string().contains("open"), "{error}");
    }
}
