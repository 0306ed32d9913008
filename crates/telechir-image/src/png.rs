//! PNG, in two levels that share rows, filters and chunks.
//!
//! The `png` crate's fast level is as fast, but needs the complete image as RGB first; here each
//! row is converted and filtered while it is in the cache. No crate compresses one PNG on several
//! cores and chooses its effort by the content of the rows.

mod chunk;
mod fast;
mod filter;
mod rows;
mod small;

pub(crate) use fast::encode as fast;
pub(crate) use small::encode as small;
