//! Judges the page of `--browser=URL` before any device starts, so that a denied one starts none.

use std::time::Duration;

use telechir_egress::{Resolve as _, SystemResolver};
use telechir_policy::{
    Device, DisplayOwner, Judge, Judgement, Policy, Resolved, ScreenFacts, ScreenProposal,
    ScreenWindows,
};
use telechir_protocol::{Action, CallId};

use crate::error::CliError;

/// The id of the call that opens the page.
pub(crate) const CALL_ID: &str = "telechir-open";

/// The action that opens the page.
pub(crate) fn action(url: &str) -> Action {
    Action::Navigate {
        url: url.to_owned(),
        tab: None,
    }
}

/// Refuses a page that the policy denies. Whoever must be asked about a page is asked once the
/// session runs, which judges the page again.
pub(crate) async fn check(
    url: &str,
    policy: &Policy,
    resolve_timeout: Duration,
) -> Result<(), CliError> {
    let actions = vec![action(url)];
    let mut judge = Judge::new(policy.clone());
    let mut resolved = Vec::new();
    for host in judge.hosts_to_resolve(&actions) {
        let found = tokio::time::timeout(resolve_timeout, SystemResolver.resolve(&host)).await;
        let addresses = found.ok().and_then(Result::ok).unwrap_or_default();
        resolved.push(Resolved { host, addresses });
    }
    let proposal = ScreenProposal {
        call_id: CallId::from(CALL_ID),
        device: Device::Browser,
        actions,
        safety_checks: Vec::new(),
    };
    let facts = ScreenFacts {
        display: DisplayOwner::Private,
        pressed: Vec::new(),
        resolved,
        windows: ScreenWindows::None,
        is_untrusted: false,
        now: Duration::ZERO,
    };
    match judge.screen(proposal, &facts) {
        Judgement::Denied(_, denial) => Err(refused(url, &format!("Not executed: {denial}"))),
        Judgement::Allowed(_) | Judgement::Ask(_) => Ok(()),
    }
}

/// The error if the page is not opened.
pub(crate) fn refused(url: &str, reason: &impl std::fmt::Display) -> CliError {
    CliError::message(format!("--browser={url}: {reason}"))
}
