//! Pages as a model reads them: elements with refs, in every frame and shadow root.
//!
//! `document` asks one document, `page` puts a tab's documents together, `refs` keeps what refs
//! mean; the others say a tree in words: `compact`, `outline`, `changes`, `prose`, `whole`.

mod changes;
mod compact;
mod document;
mod files;
mod find;
mod node;
mod outline;
mod page;
mod article;
mod refs;
mod shadow;
mod history;
mod json;
mod bounded_text;

pub(crate) use files::{GROUP, Given, Sent};
pub(crate) use find::search;
pub(crate) use node::{ElementId, Node, Tree};
pub(crate) use page::{Reader, Scope};
pub(crate) use refs::Meaning;
pub(crate) use history::{Snapshots, View, Wanted, text};
pub(crate) use bounded_text::cut;
