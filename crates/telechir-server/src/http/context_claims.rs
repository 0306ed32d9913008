//! The contexts that requests are working on: until a browser has locked a context's profile, nothing
//! else says that it is taken.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use telechir_host::SessionName;

use super::context_store::ContextKey;

/// The contexts that are being opened or deleted, oldest first.
#[derive(Clone, Debug, Default)]
pub(super) struct ContextClaims {
    claimed: Arc<Mutex<Vec<Claimed>>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Claimed {
    context: ContextKey,
    /// The session that is being opened with it; absent if it is being deleted.
    session: Option<SessionName>,
}

/// A claimed context, which is released on drop.
#[derive(Debug)]
pub(super) struct ContextClaim {
    claims: ContextClaims,
    claimed: Claimed,
    /// Names of the owner's contexts that were claimed before it.
    pub(super) earlier: Vec<String>,
}

impl ContextClaims {
    /// Claims a context for this session, or for its deletion. None if it is claimed already, unless for
    /// the same session: that is the same request, sent again.
    pub(super) fn claim(
        &self,
        context: &ContextKey,
        session: Option<&SessionName>,
    ) -> Option<ContextClaim> {
        let mut all = self.lock();
        let is_other = |other: &Claimed| {
            other.context == *context && (session.is_none() || other.session.as_ref() != session)
        };
        if all.iter().any(is_other) {
            return None;
        }
        let own = all.iter().map(|other| &other.context);
        let own = own.filter(|other| other.owner == context.owner);
        let earlier = own.map(|other| other.name.clone()).collect();
        let claimed = Claimed {
            context: context.clone(),
            session: session.cloned(),
        };
        all.push(claimed.clone());
        Some(ContextClaim {
            claims: self.clone(),
            claimed,
            earlier,
        })
    }

    /// Names of the owner's contexts that are claimed.
    pub(super) fn names(&self, owner: &str) -> Vec<String> {
        let all = self.lock();
        let own = all.iter().map(|claimed| &claimed.context);
        let own = own.filter(|context| context.owner == owner);
        own.map(|context| context.name.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Claimed>> {
        self.claimed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ContextClaim {
    pub(super) fn context(&self) -> &ContextKey {
        &self.claimed.context
    }

    /// Whether the same request, sent again, has it too.
    pub(super) fn is_shared(&self) -> bool {
        let all = self.claims.lock();
        all.iter().filter(|other| **other == self.claimed).count() > 1
    }
}

impl Drop for ContextClaim {
    fn drop(&mut self) {
        let mut all = self.claims.lock();
        let found = all.iter().position(|other| *other == self.claimed);
        if let Some(found) = found {
            all.remove(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_claimed_once_until_it_is_released() {
        let claims = ContextClaims::default();
        let key = |owner: &str, name: &str| ContextKey::new(owner, name).unwrap();
        let session = |name: &str| Some(name.parse::<SessionName>().unwrap());
        let (one, two) = (session("one"), session("two"));
        let shop = key("agent/ann", "shop");
        let first = claims.claim(&shop, one.as_ref()).unwrap();
        assert_eq!(first.earlier, [""; 0]);
        assert!(claims.claim(&shop, two.as_ref()).is_none(), "another one");
        assert!(claims.claim(&shop, None).is_none(), "a deletion");
        let again = claims.claim(&shop, one.as_ref()).unwrap();
        assert!(first.is_shared());
        drop(first);
        assert!(!again.is_shared());
        assert!(claims.claim(&shop, two.as_ref()).is_none(), "the retry");
        // Others are free, and count for their owner.
        let other = claims.claim(&key("agent/ann", "bank"), None).unwrap();
        assert_eq!(other.earlier, ["shop"]);
        let foreign = claims.claim(&key("agent/bob", "shop"), None).unwrap();
        assert_eq!(foreign.earlier, [""; 0]);
        assert_eq!(claims.names(&shop.owner), ["shop", "bank"]);
        drop(again);
        let deletion = claims.claim(&shop, None).unwrap();
        assert!(claims.claim(&shop, None).is_none(), "a second deletion");
        assert!(claims.claim(&shop, one.as_ref()).is_none(), "an opening");
        drop(deletion);
        assert_eq!(claims.names(&shop.owner), ["bank"]);
    }
}
