//! Queries elements that a cache lacks: some toolkits have none, others fill it gradually.

use std::collections::HashSet;
use std::time::Instant;

use super::node::AccessibleNode;
use super::{ElementMap, is_root};
use crate::bus::{AtSpiBus, within};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Abilities, ObjectRef, PROPERTIES};
use crate::state::{Bits, MANAGES_DESCENDANTS, SHOWING};

/// Maximum number of children of a list that creates them only on request.
const MAX_LIST_CHILDREN: i32 = 500;
/// Number of elements queried between checks of the time limit.
const BATCH_SIZE: usize = 512;

/// What is read of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReadExtent {
    Everything,
    /// What shows, and the hidden elements directly below it: the entries of closed menus.
    Showing,
}

/// Adds the missing elements level by level; false if the time limit was reached.
pub(super) async fn complete(
    bus: &AtSpiBus,
    root: &ObjectRef,
    found: &mut ElementMap,
    extent: ReadExtent,
    until: Instant,
) -> bool {
    let mut parents = incomplete(root, found);
    let left = until.saturating_duration_since(Instant::now());
    let lazy = found.nodes.iter().filter(|node| is_lazy_list(node));
    let lazy = lazy.map(|node| node.object.clone()).collect();
    let short = within("an application", left, async {
        Ok(short_lists(bus, lazy).await)
    });
    let Ok(short) = short.await else { return false };
    parents.extend(short);
    while !parents.is_empty() {
        if Instant::now() >= until || found.is_full() {
            return false;
        }
        let rest = parents.split_off(parents.len().min(BATCH_SIZE));
        let left = until.saturating_duration_since(Instant::now());
        let level = level(bus, &parents, found, extent);
        let level = within("an application", left, level).await;
        let Ok(new) = level else { return false };
        parents = rest;
        parents.extend(new);
    }
    true
}

/// Whether an element in view creates its children on request without placing them in rows and
/// columns, as GTK's list boxes do. Tables are read by their cells.
fn is_lazy_list(node: &AccessibleNode) -> bool {
    let is_lazy = node.bits.has(MANAGES_DESCENDANTS) && node.bits.has(SHOWING);
    is_lazy && !node.abilities.has(Abilities::TABLE)
}

/// Those with few children.
async fn short_lists(bus: &AtSpiBus, mut lists: Vec<ObjectRef>) -> Vec<ObjectRef> {
    let counts = bus.properties::<i32>(&lists, ACCESSIBLE, "ChildCount");
    let mut counts = counts.await.into_iter();
    lists.retain(|_| {
        counts
            .next()
            .flatten()
            .is_some_and(|count| count <= MAX_LIST_CHILDREN)
    });
    lists
}

/// The root, parents with more children than known, and parents whose children report equal
/// indices.
fn incomplete(root: &ObjectRef, found: &ElementMap) -> Vec<ObjectRef> {
    let known = found.by_parent();
    let is_incomplete = |node: &&AccessibleNode| {
        let below = known.get(&node.object).map_or(&[][..], Vec::as_slice);
        // Large tables and lists expose their children only on request.
        let is_endless = node.bits.has(MANAGES_DESCENDANTS);
        let is_disordered = below
            .windows(2)
            .any(|two| found.nodes[two[0]].index == found.nodes[two[1]].index);
        let is_short = node.children.is_some_and(|count| count > below.len());
        !is_endless && !is_root(&node.object) && (is_short || is_disordered)
    };
    let lacking = found.nodes.iter().filter(is_incomplete);
    std::iter::once(root)
        .chain(lacking.map(|node| &node.object))
        .cloned()
        .collect()
}

/// Queries the children of these parents and adds new ones; returns those to query next.
async fn level(
    bus: &AtSpiBus,
    parents: &[ObjectRef],
    found: &mut ElementMap,
    extent: ReadExtent,
) -> Result<Vec<ObjectRef>, BusError> {
    let answers: Vec<Option<Vec<ObjectRef>>> =
        bus.each(parents, ACCESSIBLE, "GetChildren", &()).await;
    let mut new: Vec<(ObjectRef, ObjectRef, i32)> = Vec::new();
    let mut met = HashSet::new();
    for (parent, children) in parents.iter().zip(answers) {
        let mut children = children.unwrap_or_default();
        // Elements of other applications are reported by those.
        children.retain(|child| !child.is_null() && child.bus == parent.bus);
        for (index, child) in (0..).zip(&children) {
            if !found.has(child) && met.insert(child.clone()) {
                new.push((child.clone(), parent.clone(), index));
            }
        }
        found.children.insert(parent.clone(), children);
    }
    describe(bus, new, found, extent).await
}

async fn describe(
    bus: &AtSpiBus,
    new: Vec<(ObjectRef, ObjectRef, i32)>,
    found: &mut ElementMap,
    extent: ReadExtent,
) -> Result<Vec<ObjectRef>, BusError> {
    let objects = || new.iter().map(|(object, ..)| object);
    let (names, roles, states) = tokio::join!(
        bus.each::<zbus::OwnedVariant, _>(objects(), PROPERTIES, "Get", &(ACCESSIBLE, "Name")),
        bus.each::<u32, _>(objects(), ACCESSIBLE, "GetRole", &()),
        bus.each::<Vec<u32>, _>(objects(), ACCESSIBLE, "GetState", &()),
    );
    let states: Vec<Bits> = states
        .into_iter()
        .map(|states| Bits::of(&states.unwrap_or_default()))
        .collect();
    // Where only what shows is read, hidden elements are only named.
    let is_read = |bits: Bits| extent == ReadExtent::Everything || bits.has(SHOWING);
    let read = objects().zip(&states).filter(|(_, bits)| is_read(**bits));
    let read = read.map(|(object, _)| object);
    let mut interfaces = bus
        .each::<Vec<String>, _>(read, ACCESSIBLE, "GetInterfaces", &())
        .await
        .into_iter();
    let answers = names.into_iter().zip(roles).zip(states);
    let mut added = Vec::new();
    for ((object, parent, index), ((name, role), bits)) in new.into_iter().zip(answers) {
        let interfaces = if is_read(bits) {
            interfaces.next().flatten()
        } else {
            None
        };
        // Elements without a role were removed meanwhile.
        let Some(role) = role else { continue };
        let name = name.and_then(|name| String::try_from(name).ok());
        added.push(object.clone());
        found.add(AccessibleNode {
            parent: Some(parent),
            index,
            abilities: Abilities::of(&interfaces.unwrap_or_default()),
            name: name.unwrap_or_default(),
            ..AccessibleNode::bare(object, role, bits)
        });
    }
    let node = |object: &ObjectRef| found.indices.get(object).map(|index| &found.nodes[*index]);
    let lazy = added
        .iter()
        .filter(|object| node(object).is_some_and(is_lazy_list));
    let short = match extent {
        ReadExtent::Everything => short_lists(bus, lazy.cloned().collect()).await,
        ReadExtent::Showing => Vec::new(),
    };
    added.retain(|object| {
        let goes_on =
            |node: &AccessibleNode| is_read(node.bits) && !node.bits.has(MANAGES_DESCENDANTS);
        node(object).is_some_and(goes_on)
    });
    added.extend(short);
    Ok(added)
}
