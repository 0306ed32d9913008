//! Reads the elements of one application: its cache in one call, then what the cache lacks.

mod bulk;
pub(crate) mod cells;
mod details;
mod labels;
mod names;
mod node;
mod walk;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use telechir_device::{Detail, Window};

pub(crate) use cells::part_names;
pub(crate) use details::{bounds_of, corner, each_extent, holds_number, holds_text, readable};
pub(crate) use node::AccessibleNode;

use crate::bus::{AtSpiBus, within};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, APPLICATION, Abilities, CACHE, CacheItem, ObjectRef, ROOT};
use crate::refs::ElementRefs;
use crate::state::Bits;

/// Object path of the cache in every application.
const CACHE_PATH: &str = "/org/a11y/atspi/cache";
/// Maximum time for all calls after the first.
const READ_TIMEOUT: Duration = Duration::from_secs(8);
/// Maximum number of elements of one application.
const MAX_ELEMENTS: usize = 20_000;
/// Maximum nesting of elements; deeper trees are treated as cycles.
const MAX_DEPTH: usize = 200;

/// The elements that one application exposes.
#[derive(Debug, Default)]
pub(crate) struct ApplicationElements {
    /// Parents precede their children.
    pub(crate) nodes: Vec<AccessibleNode>,
    pub(crate) left_off: usize,
    /// Whether bounds are relative to the window instead of the screen.
    pub(crate) counts_from_window: bool,
}

/// Differences between toolkits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Toolkit {
    /// GTK 4 sets "showing" only for windows and reports bounds relative to the window.
    is_gtk4: bool,
    /// Chromium's cache omits pages.
    is_chromium: bool,
    /// LibreOffice lists elements in its cache that it has already destroyed: it crashes when it is
    /// asked for the cache, a few dialogs later.
    has_unsafe_cache: bool,
}

/// Reads an application. `timeout` limits its first reply, so that a hanging application is skipped
/// early.
pub(crate) async fn read(
    bus: &AtSpiBus,
    root: &ObjectRef,
    (detail, windows): (Detail, &[Window]),
    timeout: Duration,
    refs: &ElementRefs,
) -> Result<ApplicationElements, BusError> {
    let first = async { Ok(toolkit(bus, root).await) };
    let toolkit = within("an application", timeout, first).await?;
    let entries = if toolkit.is_chromium {
        within(
            "an application",
            READ_TIMEOUT,
            bulk::read(bus, root, detail, refs),
        )
        .await?
    } else {
        None
    };
    let (mut nodes, left_off) = match entries {
        Some(entries) => entries,
        None => read_tree(bus, root, timeout, toolkit.has_unsafe_cache).await?,
    };
    if toolkit.is_gtk4 {
        names::tidy(&mut nodes);
    }
    names::fill(&mut nodes);
    let context = details::PositionContext { toolkit, windows };
    within(
        "an application",
        READ_TIMEOUT,
        details::read_details(bus, &mut nodes, &context, detail),
    )
    .await?;
    nodes.retain(|node| !node.is_in_undrawn_bar);
    let unread_cells = within("an application", READ_TIMEOUT, cells::read(bus, &mut nodes)).await?;
    Ok(ApplicationElements {
        nodes,
        left_off: left_off + unread_cells,
        counts_from_window: toolkit.is_gtk4,
    })
}

/// The elements of its cache and their missing descendants in tree order, and the number of omitted
/// ones.
async fn read_tree(
    bus: &AtSpiBus,
    root: &ObjectRef,
    timeout: Duration,
    has_unsafe_cache: bool,
) -> Result<(Vec<AccessibleNode>, usize), BusError> {
    let (items, extent) = if has_unsafe_cache {
        (Vec::new(), walk::ReadExtent::Showing)
    } else {
        let items = within("an application", timeout, cached(bus, root)).await?;
        (items, walk::ReadExtent::Everything)
    };
    let until = Instant::now() + READ_TIMEOUT;
    let mut found = ElementMap::of(items);
    let is_complete = walk::complete(bus, root, &mut found, extent, until).await;
    let (nodes, cut) = found.in_order(root);
    Ok((nodes, cut + usize::from(!is_complete)))
}

/// The content of its cache; empty if it has none or uses another format.
async fn cached(bus: &AtSpiBus, root: &ObjectRef) -> Result<Vec<CacheItem>, BusError> {
    let cache = ObjectRef {
        bus: root.bus.clone(),
        path: CACHE_PATH
            .try_into()
            .map_err(|error| BusError::Malformed(format!("{error}")))?,
    };
    match bus.call(&cache, CACHE, "GetItems", &()).await {
        Ok(answer) => Ok(answer.body().deserialize().unwrap_or_default()),
        Err(BusError::Refused(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn toolkit(bus: &AtSpiBus, root: &ObjectRef) -> Toolkit {
    let (application, name, version) = tokio::join!(
        bus.property::<String>(root, ACCESSIBLE, "Name"),
        bus.property::<String>(root, APPLICATION, "ToolkitName"),
        bus.property::<String>(root, APPLICATION, "Version"),
    );
    let name = name.unwrap_or_default();
    let is_gtk = name.eq_ignore_ascii_case("gtk");
    Toolkit {
        is_gtk4: is_gtk && version.is_ok_and(|version| version.starts_with('4')),
        is_chromium: name.eq_ignore_ascii_case("chromium"),
        // It reports GTK's name, but most of its elements are its own.
        has_unsafe_cache: application.is_ok_and(|name| name == "soffice"),
    }
}

/// Elements by object, not ordered yet.
#[derive(Debug, Default)]
struct ElementMap {
    nodes: Vec<AccessibleNode>,
    indices: HashMap<ObjectRef, usize>,
    /// Ordered children of the parents that were queried.
    children: HashMap<ObjectRef, Vec<ObjectRef>>,
}

impl ElementMap {
    fn of(items: Vec<CacheItem>) -> Self {
        let mut found = Self::default();
        for item in items.into_iter().take(MAX_ELEMENTS) {
            found.add(AccessibleNode {
                parent: (!item.parent.is_null()).then_some(item.parent),
                index: item.index,
                children: usize::try_from(item.children).ok(),
                abilities: Abilities::of(&item.interfaces),
                name: item.name,
                ..AccessibleNode::bare(item.object, item.role, Bits::of(&item.states))
            });
        }
        found
    }

    fn add(&mut self, node: AccessibleNode) {
        if self.indices.contains_key(&node.object) {
            return;
        }
        self.indices.insert(node.object.clone(), self.nodes.len());
        self.nodes.push(node);
    }

    fn has(&self, object: &ObjectRef) -> bool {
        self.indices.contains_key(object)
    }

    fn is_full(&self) -> bool {
        self.nodes.len() >= MAX_ELEMENTS
    }

    /// Children by parent according to the children themselves, ordered by their index.
    fn by_parent(&self) -> HashMap<&ObjectRef, Vec<usize>> {
        let mut children: HashMap<&ObjectRef, Vec<usize>> = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = &node.parent {
                children.entry(parent).or_default().push(index);
            }
        }
        for indices in children.values_mut() {
            indices.sort_by_key(|index| self.nodes[*index].index);
        }
        children
    }

    /// All descendants of the root, parents first, and the number of omitted elements.
    fn in_order(mut self, root: &ObjectRef) -> (Vec<AccessibleNode>, usize) {
        let by_parent = self.by_parent();
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(self.nodes.len());
        let mut visited = vec![false; self.nodes.len()];
        let mut left_off = 0;
        let below = |object: &ObjectRef| -> Vec<usize> {
            if let Some(children) = self.children.get(object) {
                return children
                    .iter()
                    .filter_map(|child| self.indices.get(child).copied())
                    .collect();
            }
            by_parent.get(object).cloned().unwrap_or_default()
        };
        let mut waiting: Vec<(usize, usize)> =
            below(root).into_iter().rev().map(|at| (at, 0)).collect();
        while let Some((index, depth)) = waiting.pop() {
            // An element may be its own descendant: visit it once.
            if std::mem::replace(&mut visited[index], true) {
                continue;
            }
            if depth >= MAX_DEPTH {
                left_off += 1;
                continue;
            }
            order.push((index, depth));
            let children = below(&self.nodes[index].object);
            waiting.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
        let mut nodes: Vec<Option<AccessibleNode>> = self.nodes.drain(..).map(Some).collect();
        let ordered = order.into_iter().filter_map(|(index, depth)| {
            let node = nodes.get_mut(index)?.take()?;
            Some(AccessibleNode { depth, ..node })
        });
        (ordered.collect(), left_off)
    }
}

/// Whether the object is the root of its application.
fn is_root(object: &ObjectRef) -> bool {
    object.path.as_str() == ROOT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(path: &str) -> ObjectRef {
        ObjectRef {
            bus: ":1.1".to_owned(),
            path: path.try_into().unwrap(),
        }
    }

    fn item(path: &str, parent: &str, index: i32) -> CacheItem {
        CacheItem {
            object: object(path),
            _application: object("/root"),
            parent: object(parent),
            index,
            children: 0,
            interfaces: Vec::new(),
            name: path.to_owned(),
            role: 43,
            _description: String::new(),
            states: vec![0, 0],
        }
    }

    fn ordered(items: Vec<CacheItem>) -> Vec<(String, usize)> {
        let (nodes, _) = ElementMap::of(items).in_order(&object("/root"));
        nodes
            .into_iter()
            .map(|node| (node.name, node.depth))
            .collect()
    }

    #[test]
    fn orders_elements_below_their_parents() {
        let order = ordered(vec![
            item("/b", "/w", 1),
            item("/c", "/a", 0),
            item("/w", "/root", 0),
            item("/a", "/w", 0),
            item("/lost", "/nowhere", 0),
        ]);
        let expected = [("/w", 0), ("/a", 1), ("/c", 2), ("/b", 1)];
        assert_eq!(
            order,
            expected.map(|(name, depth)| (name.to_owned(), depth))
        );
    }

    #[test]
    fn cycles_are_cut() {
        let order = ordered(vec![
            item("/w", "/root", 0),
            item("/a", "/w", 0),
            item("/a", "/a", 0),
            item("/x", "/y", 0),
            item("/y", "/x", 0),
        ]);
        assert_eq!(order.len(), 2);
    }
}
