//! Attacks on a session: each was possible once, or is one that others suffered.

mod moved_focus;
mod untrusted;
