//! The id that we give a session before it exists.

use std::fmt::{self, Display};
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom as _, SystemRandom};
use serde::{Deserialize, Serialize};

/// The id that we give a session before it exists, as a UUID: by it a session is found whose
/// creation was never answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RentalMark(String);

impl RentalMark {
    /// A new id, version 4 of RFC 9562.
    pub fn unique() -> Self {
        let mut bytes = [0_u8; 16];
        if SystemRandom::new().fill(&mut bytes).is_err() {
            // It need not be secret, only different from others.
            let now = SystemTime::now().duration_since(UNIX_EPOCH);
            let nanos = now.unwrap_or_default().as_nanos() ^ (u128::from(std::process::id()) << 96);
            bytes = nanos.to_be_bytes();
        }
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32];
        Self(parts.map(|part| hex[part].to_owned()).join("-"))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it can be part of a file's name and of a path, as all of ours.
    pub(crate) fn is_valid(&self) -> bool {
        !self.0.is_empty()
            && self
                .0
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    }
}

impl Display for RentalMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mark_is_another_uuid() {
        let (one, two) = (RentalMark::unique(), RentalMark::unique());
        assert_ne!(one, two);
        assert!(one.is_valid() && one.as_str().len() == 36, "{one}");
        assert_eq!(one.as_str().as_bytes()[14], b'4');
        assert!(!RentalMark("../x".to_owned()).is_valid());
    }
}
