//! The ids of tool calls, and which session host has the results of calls that a client may send
//! again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use telechir_host::TurnKey;
use telechir_protocol::{CallId, Content};

/// How many calls are remembered that a client may send again.
const MAX_SENT: usize = 10_000;

/// The refusal of a call whose results only an earlier session had.
const LOST: &str = "The call was sent to an earlier session, which has ended, so its result is lost; \
                    it was not executed again. Observe what it did before you call again with a new id.";

/// A tool's call with an id, and the key of its turn.
#[derive(Clone, Debug)]
pub struct IdentifiedCall {
    /// The call, with the id by which its result is found again.
    pub call: Content,
    /// The key of its turn.
    pub key: TurnKey,
    /// Whether the client gave the id, and so may send the call again.
    pub may_be_retry: bool,
}

impl IdentifiedCall {
    /// Gives a call without an id one of its own: other clients may use the same session, and its run
    /// may be continued later.
    pub fn of(call: Content) -> Self {
        match call_id(&call) {
            Some(id) => Self {
                key: TurnKey::new(id.as_str()),
                call,
                may_be_retry: true,
            },
            None => {
                let key = TurnKey::unique();
                Self {
                    call: with_call_id(call, &format!("mcp-{key}")),
                    key,
                    may_be_retry: false,
                }
            }
        }
    }
}

/// A tool's call under this id.
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "tools make no other contents"
)]
pub(crate) fn with_call_id(mut call: Content, id: &str) -> Content {
    match &mut call {
        Content::ComputerCall(call) => call.call_id = CallId::from(id),
        Content::ShellCall(call) => call.call_id = CallId::from(id),
        _ => {}
    }
    call
}

#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "tools make no other contents"
)]
fn call_id(call: &Content) -> Option<&CallId> {
    let id = match call {
        Content::ComputerCall(call) => &call.call_id,
        Content::ShellCall(call) => &call.call_id,
        _ => return None,
    };
    (!id.as_str().is_empty()).then_some(id)
}

/// The last calls that a client may send again, and the process of the session host that has their
/// results.
#[derive(Debug, Default)]
pub struct SentCalls(Mutex<SentTable>);

#[derive(Debug, Default)]
struct SentTable {
    hosts: HashMap<TurnKey, u32>,
    order: VecDeque<TurnKey>,
}

impl SentCalls {
    /// Notes that a call goes to this session host.
    ///
    /// # Errors
    /// With a sentence for the model, if an earlier session has executed the call, at least in part:
    /// only its recording had the results.
    pub fn check(&self, key: &TurnKey, host: u32) -> Result<(), String> {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match sent.host_of(key, host) == host {
            true => Ok(()),
            false => Err(LOST.to_owned()),
        }
    }
}

impl SentTable {
    /// The session host of a call: that of its first time, or this one.
    fn host_of(&mut self, key: &TurnKey, host: u32) -> u32 {
        if let Some(first) = self.hosts.get(key) {
            return *first;
        }
        if self.order.len() == MAX_SENT
            && let Some(oldest) = self.order.pop_front()
        {
            self.hosts.remove(&oldest);
        }
        self.hosts.insert(key.clone(), host);
        self.order.push_back(key.clone());
        host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_many_calls_are_forgotten() {
        let sent = SentCalls::default();
        let key = |number: usize| TurnKey::new(format!("k{number}"));
        for number in 0..=MAX_SENT {
            assert_eq!(sent.check(&key(number), 1), Ok(()), "{number}");
        }
        assert!(sent.check(&key(1), 2).is_err());
        assert_eq!(sent.check(&key(1), 1), Ok(()));
        assert_eq!(sent.check(&key(0), 2), Ok(()), "as a new one");
    }
}
