//! File trees that a session's programs can change: walked by descriptors alone.
//!
//! A path is resolved again with every use, and whoever can rename a folder chooses where it leads.
//! Here only the top of a tree is opened by its path. Everything below is reached by one name from
//! an open folder, never through a link and never on another mount, and what a descriptor shows is
//! what is changed. Trees of any depth are walked with a bounded number of descriptors.

mod beneath;
mod copy;
mod location;
mod owner;
mod remove;
mod walk;

pub(crate) use beneath::{allow_owner, entries, inodes, open_beneath, open_parent};
pub use copy::copy;
pub use location::Location;
pub use owner::{Owner, give, give_back, take};
pub use remove::{remove, remove_of, remove_path};
pub use walk::{contains_file, open_folder, size_bytes};
