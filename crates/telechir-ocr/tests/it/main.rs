//! Words are read off real pixels, in a confinement.
#![expect(clippy::unwrap_used, reason = "a test fails by a panic")]

mod reading;
