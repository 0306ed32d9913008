//! The views of a page, and the last snapshot of each tab.

use std::collections::HashMap;

use telechir_device::AmbiguousMatch;
use telechir_protocol::NamedElement;

use super::bounded_text::{cut, quoted};
use super::document::DocumentCache;
use super::node::{DocumentId, ElementId, PageNode, PageTree};
use super::refs::{ElementRefs, RefTarget};
use super::render_context::RenderContext;
use super::{article, changes, compact, find, json, named, outline};
use crate::tab_registry::TabRegistry;

/// Refs that the error about an unknown one lists, and the length of their names.
const MAX_KNOWN_REFS: usize = 10;
const MAX_KNOWN_NAME_CHARS: usize = 40;

/// A view of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) enum SnapshotView {
    /// All interactive elements, and as much of the rest as fits; the default.
    #[default]
    Brief,
    /// Everything, as an outline.
    Full,
    /// Interactive elements only, one per line.
    Interactive,
    /// Changes since the last snapshot.
    Changes,
    /// The complete tree as JSON, with positions.
    Json,
}

impl SnapshotView {
    /// All views with their names in calls.
    pub(crate) const NAMED: [(&str, Self); 5] = [
        ("brief", Self::Brief),
        ("full", Self::Full),
        ("interactive", Self::Interactive),
        ("changes", Self::Changes),
        ("json", Self::Json),
    ];

    /// The view with this name; `None` if there is none.
    pub(crate) fn named(name: &str) -> Option<Self> {
        match name {
            "" => return Some(Self::default()),
            // The value that Anthropic's `read_page` defines for it.
            "all" => return Some(Self::Full),
            _ => {}
        }
        let known = Self::NAMED.iter().find(|(known, _)| *known == name);
        known.map(|(_, view)| *view)
    }
}

/// What to read of a page.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SnapshotRequest {
    pub(crate) view: SnapshotView,
    /// Maximum levels of an outline; `None` means the default.
    pub(crate) depth: Option<u32>,
    /// The element to which the snapshot is limited.
    pub(crate) root: Option<ElementId>,
}

/// The cached documents, refs and last snapshots of a browser.
#[derive(Debug, Default)]
pub(crate) struct Snapshots {
    pub(crate) documents: DocumentCache,
    refs: ElementRefs,
    /// By CDP target id.
    tabs: HashMap<String, RenderedSnapshot>,
    last_number: u64,
    epoch: u64,
}

/// The last snapshot of a tab.
#[derive(Debug, Default)]
struct RenderedSnapshot {
    name: String,
    nodes: Vec<PageNode>,
    main: Option<DocumentId>,
    epoch: u64,
    changes: Vec<(DocumentId, u64)>,
}

impl Snapshots {
    /// Forgets documents and tabs that are gone.
    pub(crate) fn prune(&mut self, registry: &TabRegistry) {
        for gone in self.documents.prune(registry) {
            self.refs.forget(gone);
        }
        self.tabs
            .retain(|target, _| registry.by_target(target).is_some());
    }

    /// Resolves a ref to its element.
    pub(crate) fn resolve(&self, id: &str) -> RefTarget {
        self.refs.resolve(id)
    }

    /// Refs of the last snapshot of a tab, for one that does not exist: those of the same letter first.
    pub(crate) fn known_refs(&mut self, target: &str, id: &str) -> Vec<String> {
        let letter = id.chars().next().unwrap_or_default();
        let nodes = self.tabs.get(target).map(|rendered| &rendered.nodes);
        let interactive = nodes.into_iter().flatten();
        let interactive = interactive.filter(|node| node.is_interactive());
        let mut lines: Vec<String> = interactive
            .map(|node| {
                let name = quoted(&cut(&node.name, MAX_KNOWN_NAME_CHARS));
                format!("{} {name}", self.refs.of(node))
            })
            .collect();
        lines.sort_by_key(|line| !line.starts_with(letter));
        lines.truncate(MAX_KNOWN_REFS);
        lines
    }

    /// The ref of a node.
    pub(crate) fn ref_of(&mut self, node: &PageNode) -> String {
        self.refs.of(node)
    }

    /// The ref of an element with this role.
    pub(crate) fn ref_of_element(&mut self, element: ElementId, role: &str) -> String {
        self.refs.of_element(element, role)
    }

    /// A node as one line with its ref.
    pub(crate) fn line(&mut self, node: &PageNode) -> String {
        outline::line(node, &mut self.refs, None)
    }

    /// The elements and texts that match the words of a query, one per line with their refs.
    pub(crate) fn search(&mut self, tree: &PageTree, query: &str) -> String {
        find::search(tree, query, &mut self.refs)
    }

    /// The ref of the element that a name means.
    pub(crate) fn named(
        &mut self,
        tree: &PageTree,
        named: &NamedElement,
    ) -> Result<String, AmbiguousMatch> {
        named::choose(tree, named, &mut self.refs)
    }

    /// The name of the last snapshot of this tab.
    pub(crate) fn newest(&self, target: &str) -> Option<&str> {
        let rendered = self.tabs.get(target)?;
        (!rendered.name.is_empty()).then_some(rendered.name.as_str())
    }

    /// The page's epoch, which increases when the change counts of its documents differ.
    pub(crate) fn epoch(&mut self, target: &str, changes: Vec<(DocumentId, u64)>) -> u64 {
        let rendered = self.tabs.entry(target.to_owned()).or_default();
        if rendered.epoch == 0 || rendered.changes != changes {
            self.epoch += 1;
            rendered.epoch = self.epoch;
            rendered.changes = changes;
        }
        rendered.epoch
    }

    /// Renders a snapshot; `None` if the page does not contain the requested root.
    pub(crate) fn render(
        &mut self,
        target: &str,
        tree: &PageTree,
        wanted: SnapshotRequest,
    ) -> Option<String> {
        let nodes = match wanted.root {
            Some(root) => tree.below(root)?,
            None => &tree.nodes,
        };
        self.last_number += 1;
        let name = format!("snapshot_{}", self.last_number);
        let rendered = self.tabs.entry(target.to_owned()).or_default();
        let before = std::mem::replace(&mut rendered.name, name.clone());
        let main = tree.nodes.first().map(|node| node.element.document);
        let is_other = rendered.main.is_none() || rendered.main != main;
        let old = std::mem::replace(&mut rendered.nodes, tree.nodes.clone());
        rendered.main = main;
        let context = RenderContext {
            name: &name,
            tree,
            is_part: wanted.root.is_some(),
        };
        let refs = &mut self.refs;
        Some(match wanted.view {
            SnapshotView::Changes if !is_other => changes::render(&context, &before, &old, refs),
            SnapshotView::Brief | SnapshotView::Changes => compact::render(&context, nodes, refs),
            SnapshotView::Full => outline::render(&context, nodes, wanted.depth, false, refs),
            SnapshotView::Interactive => outline::render(&context, nodes, None, true, refs),
            SnapshotView::Json => json::render(&context, nodes, refs),
        })
    }
}

/// The elements of a page for people, one in each line.
pub(crate) fn outline_for_people(tree: &PageTree) -> String {
    outline::render_for_people(tree)
}

/// The main text of a page.
pub(crate) fn article_text(tree: &PageTree) -> String {
    article::render(tree)
}
