//! The turns of a session that have ended, by their keys: the newest in full, and of older ones only that
//! the recording may have them.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::BuildHasher as _;

use telechir_policy::Digest;

use crate::{HostError, TurnKey};

/// Number of turns that are known in full.
const MAX_KNOWN: usize = 4096;
/// Number of older turns whose keys are recognised; beyond it every unknown key is looked up.
const MAX_RECOGNISED: usize = 1 << 20;

/// What is known of a turn that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum EndedTurn {
    /// Its results are in the recording.
    Answered,
    Cancelled,
    Failed(HostError),
}

/// The ended turns, in memory of a fixed size.
#[derive(Debug, Default)]
pub(super) struct EndedTurns {
    known: HashMap<TurnKey, (Digest, EndedTurn)>,
    /// The keys of the known turns, the oldest first.
    order: VecDeque<TurnKey>,
    /// Hashes of the keys of older turns. Two keys can have the same: the recording decides.
    recognised: HashSet<u64>,
    hasher: RandomState,
}

impl EndedTurns {
    /// Adds a turn; the oldest is then left to the recording.
    pub(super) fn insert(&mut self, key: TurnKey, digest: Digest, end: EndedTurn) {
        if self.known.insert(key.clone(), (digest, end)).is_none() {
            self.order.push_back(key);
        }
        while self.known.len() > MAX_KNOWN {
            let Some(oldest) = self.order.pop_front() else {
                return;
            };
            self.known.remove(&oldest);
            if self.recognised.len() < MAX_RECOGNISED {
                self.recognised.insert(self.hasher.hash_one(&oldest));
            }
        }
    }

    /// The turn with this key, if it is one of the newest.
    pub(super) fn get(&self, key: &TurnKey) -> Option<&(Digest, EndedTurn)> {
        self.known.get(key)
    }

    /// Whether the recording has to be asked for a turn with this key.
    pub(super) fn may_be_recorded(&self, key: &TurnKey) -> bool {
        let is_recognised = self.recognised.len() >= MAX_RECOGNISED
            || self.recognised.contains(&self.hasher.hash_one(key));
        is_recognised && !self.known.contains_key(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_turns_are_left_to_the_recording() {
        let mut ended = EndedTurns::default();
        let key = |number: usize| TurnKey::new(format!("k{number}"));
        let digest = Digest::of_json(&"x".into());
        for number in 0..MAX_KNOWN + 10 {
            ended.insert(key(number), digest, EndedTurn::Cancelled);
        }
        assert_eq!(ended.known.len(), MAX_KNOWN);
        assert_eq!(ended.order.len(), MAX_KNOWN);
        for number in [0, 9] {
            assert_eq!(ended.get(&key(number)), None, "{number}");
            assert!(ended.may_be_recorded(&key(number)), "{number}");
        }
        for number in [10, MAX_KNOWN + 9] {
            let known = Some(&(digest, EndedTurn::Cancelled));
            assert_eq!(ended.get(&key(number)), known, "{number}");
            assert!(!ended.may_be_recorded(&key(number)), "{number}");
        }
        assert!(!ended.may_be_recorded(&TurnKey::new("other")));
    }

    #[test]
    fn a_key_that_comes_again_is_counted_once() {
        let mut ended = EndedTurns::default();
        let digest = Digest::of_json(&"x".into());
        for _ in 0..2 * MAX_KNOWN {
            ended.insert(TurnKey::new("k"), digest, EndedTurn::Answered);
        }
        assert_eq!((ended.known.len(), ended.order.len()), (1, 1));
    }
}
