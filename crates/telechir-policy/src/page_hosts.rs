//! The hosts that pages of a browser may reach by a policy, for services that limit them themselves.

use std::collections::BTreeSet;

use crate::rule::RuleTable;
use crate::url_rule::UrlMatch;
use crate::{Policy, Verdict};

/// The hosts that pages may reach by the `[[url]]` rules of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHosts {
    /// Patterns of the only hosts that may be permitted, such as `example.com` and `*.example.com`;
    /// none if any host may be. Rules can restrict them further.
    pub listed: Option<BTreeSet<String>>,
    /// Whether a rule denies hosts by their names.
    pub has_denied: bool,
}

impl PageHosts {
    /// Whether the policy restricts hosts at all, apart from private addresses.
    pub fn is_restricted(&self) -> bool {
        self.listed.is_some() || self.has_denied
    }
}

impl Policy {
    /// The hosts that pages may reach.
    pub fn page_hosts(&self) -> PageHosts {
        let tables = || self.url.all();
        let denies = |table: &RuleTable<UrlMatch>| {
            let mut rules = table.rules.iter();
            rules.any(|rule| rule.verdict >= Verdict::Ask && rule.matcher.host.is_some())
        };
        PageHosts {
            // Each table must permit a host, so that each list has all that may be permitted.
            listed: tables().find_map(listed),
            has_denied: tables().any(denies),
        }
    }
}

/// The hosts of a table that is closed otherwise.
fn listed(table: &RuleTable<UrlMatch>) -> Option<BTreeSet<String>> {
    let default = table.default.as_ref()?;
    if default.verdict != Verdict::Deny {
        return None;
    }
    let mut hosts = BTreeSet::new();
    for rule in table
        .rules
        .iter()
        .filter(|rule| rule.verdict < Verdict::Deny)
    {
        let patterns = rule.matcher.host.as_ref()?;
        if patterns.iter().any(|pattern| pattern == "*") {
            return None;
        }
        hosts.extend(patterns.iter().cloned());
    }
    Some(hosts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &str = "[[url]]\ndefault = 'deny'\nreason = 'x'\n";

    fn hosts(rules: &str) -> PageHosts {
        Policy::from_toml(rules, "test").unwrap().page_hosts()
    }

    fn rule(hosts: &str, verdict: &str) -> String {
        format!("[[url]]\n{hosts}\nverdict = '{verdict}'\nreason = 'x'\n")
    }

    #[test]
    fn only_a_closed_policy_lists_its_hosts() {
        let allows = rule("host = ['a.example', '*.b.example']", "allow");
        let listed = BTreeSet::from(["a.example", "*.b.example"].map(str::to_owned));
        assert_eq!(hosts(&allows).listed, None);
        assert_eq!(hosts(&(allows.clone() + CLOSED)).listed, Some(listed));
        assert_eq!(hosts(CLOSED).listed, Some(BTreeSet::new()));
        assert!(!hosts("").is_restricted());
        for open in [rule("host = ['*']", "allow"), rule("port = [443]", "allow")] {
            assert_eq!(hosts(&(open + CLOSED)).listed, None);
        }
        let on_request = rule("host = ['c.example']", "ask");
        let listed = hosts(&(on_request + CLOSED));
        assert!(
            listed
                .listed
                .is_some_and(|hosts| hosts.contains("c.example"))
        );
        assert!(hosts(&rule("host = ['d.example']", "deny")).is_restricted());
    }

    #[test]
    fn of_two_policies_the_closed_one_lists_the_hosts() {
        let closed = Policy::from_toml(&(rule("host = ['a.example']", "allow") + CLOSED), "one");
        let open = Policy::from_toml(&rule("host = ['b.example']", "deny"), "two");
        let both = open.unwrap().tightened(&closed.unwrap()).page_hosts();
        assert_eq!(both.listed, Some(BTreeSet::from(["a.example".to_owned()])));
        assert!(both.has_denied);
    }
}
