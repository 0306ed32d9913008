//! From here to another dialect and back.
