//! One application's elements: its cache in one answer, and what that leaves out asked for.

mod bulk;
mod details;
mod names;
mod walk;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use telechir_device::{Bounds, Detail, Window};

pub(crate) use details::{bounds_of, corner, each_extent, holds_number, holds_text, readable};

use crate::bus::{Bus, within};
use crate::error::BusError;
use crate::object::{APPLICATION, Abilities, CACHE, CacheItem, Object, ROOT};
use crate::refs::Refs;
use crate::state::Bits;

/// The cache's place in each application.
const CACHE_PATH: &str = "/org/a11y/atspi/cache";
/// For the answers to all questions after the first.
const WHOLE: Duration = Duration::from_secs(8);
/// Elements of one application at most.
const MOST: usize = 20_000;
/// Deeper than this is a circle.
const DEEPEST: usize = 200;

/// An element as its application describes it.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) object: Object,
    parent: Option<Object>,
    index: i32,
    /// How many children it says it has; none when it does not say.
    children: Option<usize>,
    pub(crate) abilities: Abilities,
    pub(crate) name: String,
    pub(crate) role: u32,
    pub(crate) bits: Bits,
    pub(crate) depth: usize,
    pub(crate) bounds: Option<Bounds>,
    pub(crate) value: Option<String>,
    pub(crate) automation_id: Option<String>,
    pub(crate) actions: Vec<String>,
}

/// What one application shows.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    /// Parents before their children.
    pub(crate) nodes: Vec<Node>,
    pub(crate) left_off: usize,
    /// Whether it counts pixels from its window's corner and not from the screen's.
    pub(crate) counts_from_window: bool,
}

impl Node {
    /// An element of which nothing more is known yet.
    pub(crate) const fn bare(object: Object, role: u32, bits: Bits) -> Self {
        Self {
            object,
            parent: None,
            index: 0,
            children: None,
            abilities: Abilities::NONE,
            name: String::new(),
            role,
            bits,
            depth: 0,
            bounds: None,
            value: None,
            automation_id: None,
            actions: Vec::new(),
        }
    }
}

/// How an application differs from others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Toolkit {
    /// GTK 4 says "showing" only of windows, and of the rest counts pixels from the window.
    is_gtk4: bool,
    /// Chromium's cache leaves out pages.
    is_chromium: bool,
}

/// Reads an application. `patience` is for its first answer: one that hangs gives none.
pub(crate) async fn read(
    bus: &Bus,
    root: &Object,
    (detail, windows): (Detail, &[Window]),
    patience: Duration,
    refs: &Refs,
) -> Result<Shown, BusError> {
    let first = async { Ok(toolkit(bus, root).await) };
    let toolkit = within("an application", patience, first).await?;
    let told = if toolkit.is_chromium {
        within("an application", WHOLE, bulk::read(bus, root, detail, refs)).await?
    } else {
        None
    };
    let (mut nodes, left_off) = match told {
        Some(told) => told,
        None => walked(bus, root, patience).await?,
    };
    if toolkit.is_gtk4 {
        names::tidy(&mut nodes);
    }
    names::fill(&mut nodes);
    let frame = details::Frame { toolkit, windows };
    within(
        "an application",
        WHOLE,
        details::tell(bus, &mut nodes, &frame, detail),
    )
    .await?;
    Ok(Shown {
        nodes,
        left_off,
        counts_from_window: toolkit.is_gtk4,
    })
}

/// The elements in its cache and those below them, in order, and how many were left off.
async fn walked(
    bus: &Bus,
    root: &Object,
    patience: Duration,
) -> Result<(Vec<Node>, usize), BusError> {
    let items = within("an application", patience, cached(bus, root)).await?;
    let until = Instant::now() + WHOLE;
    let mut found = Found::of(items);
    let is_whole = walk::complete(bus, root, &mut found, until).await;
    let (nodes, cut) = found.in_order(root);
    Ok((nodes, cut + usize::from(!is_whole)))
}

/// What is in its cache; nothing when it keeps none, or one of another form.
async fn cached(bus: &Bus, root: &Object) -> Result<Vec<CacheItem>, BusError> {
    let cache = Object {
        bus: root.bus.clone(),
        path: CACHE_PATH
            .try_into()
            .map_err(|error| BusError::Garbled(format!("{error}")))?,
    };
    match bus.ask(&cache, CACHE, "GetItems", &()).await {
        Ok(answer) => Ok(answer.body().deserialize().unwrap_or_default()),
        Err(BusError::Refused(_)) => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

async fn toolkit(bus: &Bus, root: &Object) -> Toolkit {
    let (name, version) = tokio::join!(
        bus.property::<String>(root, APPLICATION, "ToolkitName"),
        bus.property::<String>(root, APPLICATION, "Version"),
    );
    let name = name.unwrap_or_default();
    let is_gtk = name.eq_ignore_ascii_case("gtk");
    Toolkit {
        is_gtk4: is_gtk && version.is_ok_and(|version| version.starts_with('4')),
        is_chromium: name.eq_ignore_ascii_case("chromium"),
    }
}

/// Elements by their object, in no order yet.
#[derive(Debug, Default)]
struct Found {
    nodes: Vec<Node>,
    places: HashMap<Object, usize>,
    /// Children in their order, where the parent was asked.
    children: HashMap<Object, Vec<Object>>,
}

impl Found {
    fn of(items: Vec<CacheItem>) -> Self {
        let mut found = Self::default();
        for item in items.into_iter().take(MOST) {
            found.add(Node {
                parent: (!item.parent.is_null()).then_some(item.parent),
                index: item.index,
                children: usize::try_from(item.children).ok(),
                abilities: Abilities::of(&item.interfaces),
                name: item.name,
                ..Node::bare(item.object, item.role, Bits::of(&item.states))
            });
        }
        found
    }

    fn add(&mut self, node: Node) {
        if self.places.contains_key(&node.object) {
            return;
        }
        self.places.insert(node.object.clone(), self.nodes.len());
        self.nodes.push(node);
    }

    fn has(&self, object: &Object) -> bool {
        self.places.contains_key(object)
    }

    fn is_full(&self) -> bool {
        self.nodes.len() >= MOST
    }

    /// Children of each by what the children say, ordered by their index.
    fn by_parent(&self) -> HashMap<&Object, Vec<usize>> {
        let mut children: HashMap<&Object, Vec<usize>> = HashMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = &node.parent {
                children.entry(parent).or_default().push(place);
            }
        }
        for places in children.values_mut() {
            places.sort_by_key(|place| self.nodes[*place].index);
        }
        children
    }

    /// All below the root, parents before their children, and how many were left off.
    fn in_order(mut self, root: &Object) -> (Vec<Node>, usize) {
        let said = self.by_parent();
        let mut order: Vec<(usize, usize)> = Vec::with_capacity(self.nodes.len());
        let mut seen = vec![false; self.nodes.len()];
        let mut left_off = 0;
        let below = |object: &Object| -> Vec<usize> {
            if let Some(asked) = self.children.get(object) {
                return asked
                    .iter()
                    .filter_map(|child| self.places.get(child).copied())
                    .collect();
            }
            said.get(object).cloned().unwrap_or_default()
        };
        let mut waiting: Vec<(usize, usize)> =
            below(root).into_iter().rev().map(|at| (at, 0)).collect();
        while let Some((place, depth)) = waiting.pop() {
            // Whoever names its parent as its child would be told without end.
            if std::mem::replace(&mut seen[place], true) {
                continue;
            }
            if depth >= DEEPEST {
                left_off += 1;
                continue;
            }
            order.push((place, depth));
            let children = below(&self.nodes[place].object);
            waiting.extend(children.into_iter().rev().map(|child| (child, depth + 1)));
        }
        let mut nodes: Vec<Option<Node>> = self.nodes.drain(..).map(Some).collect();
        let ordered = order.into_iter().filter_map(|(place, depth)| {
            let node = nodes.get_mut(place)?.take()?;
            Some(Node { depth, ..node })
        });
        (ordered.collect(), left_off)
    }
}

/// Whether the object is the root of its application.
fn is_root(object: &Object) -> bool {
    object.path.as_str() == ROOT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(path: &str) -> Object {
        Object {
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

    fn told(items: Vec<CacheItem>) -> Vec<(String, usize)> {
        let (nodes, _) = Found::of(items).in_order(&object("/root"));
        nodes
            .into_iter()
            .map(|node| (node.name, node.depth))
            .collect()
    }

    #[test]
    fn elements_are_told_in_their_parents_order() {
        let order = told(vec![
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
    fn a_circle_ends() {
        let order = told(vec![
            item("/w", "/root", 0),
            item("/a", "/w", 0),
            item("/a", "/a", 0),
            item("/x", "/y", 0),
            item("/y", "/x", 0),
        ]);
        assert_eq!(order.len(), 2);
    }
}
