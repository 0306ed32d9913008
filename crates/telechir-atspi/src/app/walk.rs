//! Asking for what a cache leaves out: some toolkits keep none, some fill it only by and by.

use std::collections::HashSet;
use std::time::Instant;

use super::{Found, Node, is_root};
use crate::bus::{Bus, within};
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Abilities, Object, PROPERTIES};
use crate::state::{Bits, MANAGES_DESCENDANTS};

/// Elements asked about before the clock is looked at.
const AT_A_TIME: usize = 512;

/// Adds what is missing, level by level; false when the time ends before.
pub(super) async fn complete(bus: &Bus, root: &Object, found: &mut Found, until: Instant) -> bool {
    let mut parents = incomplete(root, found);
    while !parents.is_empty() {
        if Instant::now() >= until || found.is_full() {
            return false;
        }
        let rest = parents.split_off(parents.len().min(AT_A_TIME));
        let left = until.saturating_duration_since(Instant::now());
        let level = within("an application", left, level(bus, &parents, found)).await;
        let Ok(new) = level else { return false };
        parents = rest;
        parents.extend(new);
    }
    true
}

/// The root, whose children are always asked for, whoever has more children than are known, and
/// whose children do not say their order.
fn incomplete(root: &Object, found: &Found) -> Vec<Object> {
    let known = found.by_parent();
    let lacks = |node: &&Node| {
        let below = known.get(&node.object).map_or(&[][..], Vec::as_slice);
        // A table of a million rows gives its rows only to those who ask for one.
        let is_endless = node.bits.has(MANAGES_DESCENDANTS);
        let is_disordered = below
            .windows(2)
            .any(|two| found.nodes[two[0]].index == found.nodes[two[1]].index);
        let is_short = node.children.is_some_and(|said| said > below.len());
        !is_endless && !is_root(&node.object) && (is_short || is_disordered)
    };
    let lacking = found.nodes.iter().filter(lacks);
    std::iter::once(root)
        .chain(lacking.map(|node| &node.object))
        .cloned()
        .collect()
}

/// The children of these: those that are new are added, and given to be asked in turn.
async fn level(bus: &Bus, parents: &[Object], found: &mut Found) -> Result<Vec<Object>, BusError> {
    let answers: Vec<Option<Vec<Object>>> = bus.each(parents, ACCESSIBLE, "GetChildren", &()).await;
    let mut new: Vec<(Object, Object, i32)> = Vec::new();
    let mut met = HashSet::new();
    for (parent, children) in parents.iter().zip(answers) {
        let mut children = children.unwrap_or_default();
        // What is in another application is told by that.
        children.retain(|child| !child.is_null() && child.bus == parent.bus);
        for (index, child) in (0..).zip(&children) {
            if !found.has(child) && met.insert(child.clone()) {
                new.push((child.clone(), parent.clone(), index));
            }
        }
        found.children.insert(parent.clone(), children);
    }
    describe(bus, new, found).await
}

async fn describe(
    bus: &Bus,
    new: Vec<(Object, Object, i32)>,
    found: &mut Found,
) -> Result<Vec<Object>, BusError> {
    let objects = || new.iter().map(|(object, ..)| object);
    let (names, roles, states, interfaces) = tokio::join!(
        bus.each::<zbus::OwnedVariant, _>(objects(), PROPERTIES, "Get", &(ACCESSIBLE, "Name")),
        bus.each::<u32, _>(objects(), ACCESSIBLE, "GetRole", &()),
        bus.each::<Vec<u32>, _>(objects(), ACCESSIBLE, "GetState", &()),
        bus.each::<Vec<String>, _>(objects(), ACCESSIBLE, "GetInterfaces", &()),
    );
    let answers = names.into_iter().zip(roles).zip(states).zip(interfaces);
    let mut added = Vec::new();
    for ((object, parent, index), (((name, role), states), interfaces)) in
        new.into_iter().zip(answers)
    {
        // One without a role went away meanwhile.
        let Some(role) = role else { continue };
        let name = name.and_then(|name| String::try_from(name).ok());
        added.push(object.clone());
        found.add(Node {
            parent: Some(parent),
            index,
            abilities: Abilities::of(&interfaces.unwrap_or_default()),
            name: name.unwrap_or_default(),
            ..Node::bare(object, role, Bits::of(&states.unwrap_or_default()))
        });
    }
    added.retain(|object| {
        let place = found.places.get(object);
        place.is_some_and(|place| !found.nodes[*place].bits.has(MANAGES_DESCENDANTS))
    });
    Ok(added)
}
