//! What was told of each tab's page, and the names of the tellings.

use std::collections::HashMap;

use super::document::Documents;
use super::node::{DocumentId, ElementId, Node, Tree};
use super::refs::{Meaning, Refs};
use super::{article, changes, compact, json, outline};
use crate::tab_registry::Book;

/// How a page is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum View {
    /// All that can be acted on, and as much beside as has room: what a model sees by default.
    #[default]
    Brief,
    /// Everything, as an outline.
    All,
    /// Only what can be acted on, as an outline.
    Interactive,
    /// What is otherwise than when it was told last.
    Changes,
    /// The whole tree as JSON, with places.
    Json,
}

impl View {
    /// Every view by the name it is asked for.
    pub(crate) const NAMED: [(&str, Self); 5] = [
        ("brief", Self::Brief),
        ("all", Self::All),
        ("interactive", Self::Interactive),
        ("changes", Self::Changes),
        ("json", Self::Json),
    ];

    /// The view with this name; none when there is no such view.
    pub(crate) fn named(name: &str) -> Option<Self> {
        if name.is_empty() {
            return Some(Self::default());
        }
        let known = Self::NAMED.iter().find(|(known, _)| *known == name);
        known.map(|(_, view)| *view)
    }
}

/// What to tell of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) view: View,
    /// Levels of an outline.
    pub(crate) depth: Option<u32>,
    /// The only part told.
    pub(crate) root: Option<ElementId>,
}

/// All that was read and told of a browser's pages.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    pub(crate) documents: Documents,
    refs: Refs,
    /// By Chromium's names of the tabs.
    tabs: HashMap<String, Told>,
    told: u64,
    epoch: u64,
}

/// The page of one tab as it was told last.
#[derive(Debug, Default)]
struct Told {
    name: String,
    nodes: Vec<Node>,
    main: Option<DocumentId>,
    epoch: u64,
    changes: Vec<(DocumentId, u64)>,
}

impl Snapshots {
    /// Forgets what is gone.
    pub(crate) fn prune(&mut self, book: &Book) {
        for gone in self.documents.prune(book) {
            self.refs.forget(gone);
        }
        self.tabs.retain(|target, _| book.target(target).is_some());
    }

    /// What a ref means.
    pub(crate) fn meaning(&self, id: &str) -> Meaning {
        self.refs.meaning(id)
    }

    /// The ref of a node.
    pub(crate) fn ref_of(&mut self, node: &Node) -> String {
        self.refs.of(node)
    }

    /// A node as one line with its ref.
    pub(crate) fn line(&mut self, node: &Node) -> String {
        outline::line(node, &mut self.refs, None)
    }

    /// The name of what was told last of this tab.
    pub(crate) fn newest(&self, target: &str) -> Option<&str> {
        let told = self.tabs.get(target)?;
        (!told.name.is_empty()).then_some(told.name.as_str())
    }

    /// The page's epoch, given how often its documents changed.
    pub(crate) fn epoch(&mut self, target: &str, changes: Vec<(DocumentId, u64)>) -> u64 {
        let told = self.tabs.entry(target.to_owned()).or_default();
        if told.epoch == 0 || told.changes != changes {
            self.epoch += 1;
            told.epoch = self.epoch;
            told.changes = changes;
        }
        told.epoch
    }

    /// Tells a page; none when it has no such part.
    pub(crate) fn tell(&mut self, target: &str, tree: &Tree, wanted: Wanted) -> Option<String> {
        let nodes = match wanted.root {
            Some(root) => tree.below(root)?,
            None => &tree.nodes,
        };
        self.told += 1;
        let name = format!("snapshot_{}", self.told);
        let told = self.tabs.entry(target.to_owned()).or_default();
        let before = std::mem::replace(&mut told.name, name.clone());
        let main = tree.nodes.first().map(|node| node.element.document);
        let is_other = told.main.is_none() || told.main != main;
        let old = std::mem::replace(&mut told.nodes, tree.nodes.clone());
        told.main = main;
        let about = About {
            name: &name,
            tree,
            is_part: wanted.root.is_some(),
        };
        let refs = &mut self.refs;
        Some(match wanted.view {
            View::Changes if !is_other => changes::tell(&about, &before, &old, refs),
            View::Brief | View::Changes => compact::tell(&about, nodes, refs),
            View::All => outline::tell(&about, nodes, wanted.depth, false, refs),
            View::Interactive => outline::tell(&about, nodes, None, true, refs),
            View::Json => json::tell(&about, nodes, refs),
        })
    }
}

/// What every view says first.
#[derive(Clone, Copy, Debug)]
pub(super) struct About<'a> {
    pub(super) name: &'a str,
    pub(super) tree: &'a Tree,
    /// Whether only a part is told.
    pub(super) is_part: bool,
}

impl About<'_> {
    /// The first line: which snapshot of which page, and what of it is in view.
    pub(super) fn line(&self) -> String {
        let head = &self.tree.head;
        let title = super::bounded_text::quoted(&super::bounded_text::cut(&head.title, 100));
        // What a page says of itself in its address is said below.
        let is_whole = head.url.starts_with("data:") || head.url.starts_with("blob:");
        let url = super::bounded_text::cut(&head.url, if is_whole { 20 } else { 200 });
        let [width, height] = head.view;
        let [x, y] = head.scroll;
        let [_, whole] = head.extent;
        let scrolled = if whole > height || x > 0 || y > 0 {
            format!(", scrolled to {x},{y} of a page {whole} high")
        } else {
            String::new()
        };
        let part = if self.is_part { "part of " } else { "" };
        format!(
            "{}, epoch {}: {part}{title} <{url}>, view {width}x{height}{scrolled}",
            self.name, self.tree.epoch
        )
    }
}

/// A page's text.
pub(crate) fn text(tree: &Tree) -> String {
    article::tell(tree)
}
