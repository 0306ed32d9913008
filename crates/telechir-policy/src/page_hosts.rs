//! The hosts that pages of a browser may reach by a policy, for services that limit them themselves.

use std::collections::BTreeSet;

use crate::rule::{Rule, RuleTable};
use crate::url_rule::UrlMatch;
use crate::{Policy, Verdict};

/// The hosts that pages may reach by the `[[url]]` rules of a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHosts {
    /// Patterns of the only hosts that may be permitted, such as `example.com` and `*.example.com`;
    /// none if any host may be. Rules can restrict them further.
    pub listed: Option<BTreeSet<String>>,
    /// Whether rules restrict pages in a way that this list does not say, such as by `except`, by
    /// ports, or by a question. Rules about private addresses alone do not count.
    pub is_narrower: bool,
}

impl PageHosts {
    /// Whether the policy restricts hosts at all, apart from private addresses.
    pub fn is_restricted(&self) -> bool {
        self.listed.is_some() || self.is_narrower
    }
}

impl Policy {
    /// The hosts that pages may reach.
    pub fn page_hosts(&self) -> PageHosts {
        let tables = || self.url.all();
        PageHosts {
            // Each table must permit a host, so that each list has all that may be permitted.
            listed: tables().find_map(listed),
            is_narrower: tables().any(is_narrower) || tables().filter_map(listed).count() > 1,
        }
    }
}

/// The hosts of a table that is closed otherwise.
fn listed(table: &RuleTable<UrlMatch>) -> Option<BTreeSet<String>> {
    if table.default.as_ref()?.verdict != Verdict::Deny {
        return None;
    }
    let mut hosts = BTreeSet::new();
    for rule in permitting(table) {
        let patterns = rule.matcher.host.as_ref()?;
        if patterns.iter().any(|pattern| pattern == "*") {
            return None;
        }
        hosts.extend(patterns.iter().cloned());
    }
    Some(hosts)
}

fn permitting(table: &RuleTable<UrlMatch>) -> impl Iterator<Item = &Rule<UrlMatch>> {
    let mut rules = table.rules.iter();
    std::iter::from_fn(move || rules.find(|rule| rule.verdict < Verdict::Deny))
}

/// Whether a table restricts pages otherwise than by a list of the hosts that it permits.
fn is_narrower(table: &RuleTable<UrlMatch>) -> bool {
    let restricts = |rule: &Rule<UrlMatch>| {
        let UrlMatch {
            scheme, host, port, ..
        } = &rule.matcher;
        let is_about_addresses = rule.matcher.address.is_some();
        let has_other = scheme.is_some() || host.is_some() || port.is_some();
        rule.verdict >= Verdict::Ask && (has_other || !is_about_addresses)
    };
    let permits_a_part = |rule: &Rule<UrlMatch>| {
        let UrlMatch {
            scheme,
            port,
            address,
            ..
        } = &rule.matcher;
        let has_conditions = scheme.is_some() || port.is_some() || address.is_some();
        has_conditions || !rule.except.is_empty() || rule.limit.is_some() || rule.after_untrusted
    };
    let default = table.default.as_ref().map(|default| default.verdict);
    let is_closed = default >= Some(Verdict::Ask);
    table.rules.iter().any(restricts)
        || (is_closed && (listed(table).is_none() || permitting(table).any(permits_a_part)))
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
        let exact = |listed: BTreeSet<String>| PageHosts {
            listed: Some(listed),
            is_narrower: false,
        };
        assert_eq!(hosts(&(allows.clone() + CLOSED)), exact(listed));
        assert_eq!(hosts(CLOSED), exact(BTreeSet::new()));
        for open in ["", &allows, &rule("address = ['private']", "deny")] {
            assert_eq!(hosts(open), PageHosts::default(), "{open}");
            assert!(!hosts(open).is_restricted(), "{open}");
        }
        let denied = hosts(&(rule("host = ['d.example']", "deny") + CLOSED));
        assert_eq!(denied.listed, Some(BTreeSet::new()));
    }

    /// What a list of hosts does not say must not count as enforced by a list.
    #[test]
    fn a_policy_is_narrower_than_its_list_where_a_rule_has_more_than_a_host() {
        let a = "host = ['a.example']";
        for (rules, is_listed) in [
            (rule(a, "deny"), false),
            (rule(a, "ask"), false),
            (rule("port = [80]", "deny"), false),
            (rule("scheme = ['http']", "ask"), false),
            (rule("after_untrusted = true", "deny"), false),
            (rule(&format!("except = [{{ {a} }}]"), "deny"), false),
            (rule(&format!("{a}\naddress = ['private']"), "deny"), false),
            (CLOSED.replace("deny", "ask"), false),
            (rule(a, "allow") + &CLOSED.replace("deny", "ask"), false),
            (rule("host = ['*']", "allow") + CLOSED, false),
            (rule("port = [443]", "allow") + CLOSED, false),
            (rule(&format!("{a}\nport = [443]"), "allow") + CLOSED, true),
            (
                rule(&format!("{a}\nscheme = ['https']"), "allow") + CLOSED,
                true,
            ),
            (
                rule(&format!("{a}\naddress = ['public']"), "allow") + CLOSED,
                true,
            ),
            (
                rule(
                    "host = ['*.b.example']\nexcept = [{ host = ['c.b.example'] }]",
                    "allow",
                ) + CLOSED,
                true,
            ),
            (
                rule(&format!("{a}\nlimit = {{ count = 1 }}"), "allow") + CLOSED,
                true,
            ),
            (rule(a, "ask") + CLOSED, true),
        ] {
            let hosts = hosts(&rules);
            assert!(hosts.is_narrower && hosts.is_restricted(), "{rules}");
            assert_eq!(hosts.listed.is_some(), is_listed, "{rules}");
        }
    }

    #[test]
    fn of_two_policies_the_closed_one_lists_the_hosts() {
        let closed = |host: &str| rule(&format!("host = ['{host}']"), "allow") + CLOSED;
        let joined = |one: &str, two: &str| {
            let one = Policy::from_toml(one, "one").unwrap();
            one.tightened(&Policy::from_toml(two, "two").unwrap())
                .page_hosts()
        };
        let only_a = Some(BTreeSet::from(["a.example".to_owned()]));
        let both = joined(&rule("host = ['b.example']", "deny"), &closed("a.example"));
        assert_eq!((both.listed, both.is_narrower), (only_a.clone(), true));
        let both = joined("", &closed("a.example"));
        assert_eq!((both.listed, both.is_narrower), (only_a.clone(), false));
        let both = joined(&closed("a.example"), &closed("b.example"));
        assert_eq!((both.listed, both.is_narrower), (only_a, true));
    }
}
