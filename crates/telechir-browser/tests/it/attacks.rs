//! Attacks of pages on what lies outside of them.

mod external_programs;
mod greeting;
mod machine;
mod memory;
mod name_resolution;
