//! Text recognition on real pixels, in a sandbox.

mod reading;
