//! Attacks on the policy: each was possible once, or is one that others suffered.

mod allow_lists;
mod approval_text;
mod denials;
mod pressed_keys;
mod shell_words;
mod terminals;
mod untrusted;
