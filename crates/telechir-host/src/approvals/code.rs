//! Short codes by which a person names a question.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Digits and letters that nobody confuses: no 0 and O, no 1, I and L, no U beside V.
const ALPHABET: &[u8; 30] = b"23456789ABCDEFGHJKMNPQRSTVWXYZ";
/// Makes 729 million codes: two open questions of a user practically never have the same one. If they
/// do, an answer that names no session is refused.
const LENGTH: usize = 6;

/// The code of a question: six digits and letters.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ApprovalCode(String);

impl ApprovalCode {
    /// Creates a random code.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn random() -> io::Result<Self> {
        let mut random = File::open("/dev/urandom")?;
        let mut code = String::with_capacity(LENGTH);
        while code.len() < LENGTH {
            let mut byte = [0];
            random.read_exact(&mut byte)?;
            // 240 is a multiple of 30, so that every character is equally likely.
            let index = usize::from(byte[0]);
            if index < 240 {
                code.push(char::from(ALPHABET[index % ALPHABET.len()]));
            }
        }
        Ok(Self(code))
    }
}

/// Reads a code as people type it: in lower case, with spaces or hyphens.
impl FromStr for ApprovalCode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let typed = text.chars().filter(|c| !matches!(c, ' ' | '-'));
        let code: String = typed.map(|c| c.to_ascii_uppercase()).collect();
        let is_known = |c: char| u8::try_from(c).is_ok_and(|byte| ALPHABET.contains(&byte));
        if code.len() == LENGTH && code.chars().all(is_known) {
            Ok(Self(code))
        } else {
            Err(format!(
                "expected the code of a question, {LENGTH} letters or digits such as K7QM2X"
            ))
        }
    }
}

impl TryFrom<String> for ApprovalCode {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<ApprovalCode> for String {
    fn from(code: ApprovalCode) -> Self {
        code.0
    }
}

impl fmt::Display for ApprovalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_codes_are_valid_and_differ() {
        let codes: Vec<_> = (0..100).map(|_| ApprovalCode::random().unwrap()).collect();
        for (at, code) in codes.iter().enumerate() {
            assert_eq!(code.to_string().parse().as_ref(), Ok(code));
            assert!(!codes[..at].contains(code), "{code}");
        }
    }

    #[test]
    fn codes_are_read_as_people_type_them() {
        let code = "K7QM2X".parse::<ApprovalCode>().unwrap();
        for text in ["k7qm2x", "K7Q-M2X", " k7q m2x "] {
            assert_eq!(text.parse().as_ref(), Ok(&code), "{text}");
        }
        for text in [
            "", "K7QM2", "K7QM2XX", "K7QM20", "K7QM2O", "K7QM2é", "K7Q/2X",
        ] {
            assert!(text.parse::<ApprovalCode>().is_err(), "{text}");
        }
    }
}
