//! Reads all elements of Chromium in a few calls, independent of their number.
//!
//! Its cache is slow and omits every page loaded after the first query, which would require
//! thousands of single calls. One call returns the tree with names. A search finds the elements
//! that are shown or have an unusual state; only those are queried one by one.

use std::collections::{HashMap, HashSet};

use telechir_device::Detail;
use zbus::{ObjectPath, Variant};

use super::node::AccessibleNode;
use super::{MAX_DEPTH, MAX_ELEMENTS};
use crate::bus::AtSpiBus;
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Abilities, COLLECTION, ObjectRef};
use crate::refs::ElementRefs;
use crate::state::{Bits, ENABLED, REMARKABLE, SENSITIVE};

/// Match types of a search: any of the states, none of them, or all (with an empty set: no
/// condition).
const ANY: i32 = 2;
const NONE: i32 = 3;
const ALL: i32 = 1;
/// Sort order of the results: tree order.
const CANONICAL: u32 = 1;
/// Properties requested with the tree. The list must not be empty: that requests all properties and
/// crashes Chromium.
const PROPERTIES: [&str; 2] = ["Name", "Parent"];

/// A match rule: states, attributes, roles and interfaces, each with its match type, and whether to
/// invert the match.
type MatchRule<'a> = (
    Vec<i32>,
    i32,
    HashMap<&'a str, &'a str>,
    i32,
    &'a [i32],
    i32,
    &'a [&'a str],
    i32,
    bool,
);

/// One element in the reply of `GetTree`.
type BulkReplyEntry<'m> = ((&'m str, ObjectPath<'m>), HashMap<&'m str, Variant<'m>>);

/// The descendants of the root, parents first, and the number of omitted ones; `None` if the
/// application does not support this. Whether hidden elements are disabled takes another search and
/// is read only for full detail.
pub(super) async fn read(
    bus: &AtSpiBus,
    root: &ObjectRef,
    detail: Detail,
    refs: &ElementRefs,
) -> Result<Option<(Vec<AccessibleNode>, usize)>, BusError> {
    let calm = Bits::of_states(&[ENABLED, SENSITIVE]);
    let disabled = async {
        match detail {
            Detail::Basic => Ok(HashSet::new()),
            Detail::Full => search(bus, root, calm, NONE).await,
        }
    };
    let (tree, remarkable, disabled) = tokio::join!(
        tree(bus, root),
        search(bus, root, REMARKABLE, ANY),
        disabled
    );
    let ((mut nodes, left_off), remarkable, disabled) = match (tree, remarkable, disabled) {
        (Ok(tree), Ok(remarkable), Ok(disabled)) => (tree, remarkable, disabled),
        (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
            return match error {
                BusError::Refused(_) | BusError::Malformed(_) => Ok(None),
                BusError::Gone(_) | BusError::TimedOut { .. } => Err(error),
            };
        }
    };
    let mut requested = Vec::new();
    for (index, node) in nodes.iter_mut().enumerate() {
        if remarkable.contains(&node.object) {
            requested.push(index);
        } else if !disabled.contains(&node.object) {
            node.bits = calm;
        }
    }
    describe(bus, &mut nodes, &requested, refs).await;
    Ok(Some((nodes, left_off)))
}

/// Reads order and names.
async fn tree(bus: &AtSpiBus, root: &ObjectRef) -> Result<(Vec<AccessibleNode>, usize), BusError> {
    let everything: MatchRule<'_> = rule(Bits::default(), ALL);
    let args = (everything, &PROPERTIES[..]);
    let answer = bus.call(root, COLLECTION, "GetTree", &args).await?;
    let body = answer.body();
    let entries: Vec<BulkReplyEntry<'_>> = body.deserialize()?;
    let mut nodes = Vec::with_capacity(entries.len().min(MAX_ELEMENTS));
    let mut left_off = 0;
    // The ancestors of the next element, from the root down.
    let mut holders: Vec<ObjectPath<'_>> = Vec::new();
    for ((name, path), properties) in entries {
        let parent = match properties.get("Parent") {
            Some(Variant::Structure(parent)) => match parent.fields() {
                [_, Variant::ObjectPath(path)] => Some(path),
                _ => None,
            },
            _ => None,
        };
        // An element with an unexpected parent belongs to the previous element.
        let level = holders.iter().rposition(|holder| Some(holder) == parent);
        holders.truncate(level.map_or(holders.len(), |level| level + 1));
        let depth = holders.len();
        holders.push(path.clone());
        if depth == 0 {
            // The application itself.
            continue;
        }
        if depth > MAX_DEPTH || nodes.len() >= MAX_ELEMENTS {
            left_off += 1;
            continue;
        }
        let object = ObjectRef {
            bus: name.to_owned(),
            path: path.into(),
        };
        let mut node = AccessibleNode::bare(object, 0, Bits::default());
        node.depth = depth - 1;
        if let Some(Variant::Str(name)) = properties.get("Name") {
            node.name = name.as_str().to_owned();
        }
        nodes.push(node);
    }
    Ok((nodes, left_off))
}

/// The descendants of the root whose states match.
async fn search(
    bus: &AtSpiBus,
    root: &ObjectRef,
    states: Bits,
    fit: i32,
) -> Result<HashSet<ObjectRef>, BusError> {
    // Without a limit, including descendants of matches.
    let args = (rule(states, fit), CANONICAL, 0i32, true);
    let found: Vec<ObjectRef> = bus.get(root, COLLECTION, "GetMatches", &args).await?;
    Ok(found.into_iter().collect())
}

fn rule<'a>(states: Bits, fit: i32) -> MatchRule<'a> {
    let nothing: (&[i32], &[&str]) = (&[], &[]);
    (
        states.halves().to_vec(),
        fit,
        HashMap::new(),
        ALL,
        nothing.0,
        ALL,
        nothing.1,
        ALL,
        false,
    )
}

/// Reads all roles, and states and abilities of the `requested` elements. The role and abilities of
/// hidden elements are read once and again when they are shown: they rarely change.
async fn describe(
    bus: &AtSpiBus,
    nodes: &mut [AccessibleNode],
    requested: &[usize],
    refs: &ElementRefs,
) {
    let is_requested: HashSet<usize> = requested.iter().copied().collect();
    let mut unknown = Vec::new();
    let mut unable = Vec::new();
    for (index, node) in nodes.iter_mut().enumerate() {
        let is_requested = is_requested.contains(&index);
        let known = refs.target_of(&node.object);
        node.abilities = known.map_or(Abilities::NONE, |known| known.abilities);
        match known {
            Some(known) if !is_requested => node.role = known.role,
            Some(_) | None => unknown.push(index),
        }
        if is_requested && node.abilities == Abilities::NONE {
            unable.push(index);
        }
    }
    let of = |indices: &[usize]| -> Vec<&ObjectRef> {
        indices.iter().map(|index| &nodes[*index].object).collect()
    };
    let (objects_without_role, detailed_objects, objects_without_abilities) =
        (of(&unknown), of(requested), of(&unable));
    let (roles, states, interfaces) = tokio::join!(
        bus.each::<u32, _>(objects_without_role, ACCESSIBLE, "GetRole", &()),
        bus.each::<Vec<u32>, _>(detailed_objects, ACCESSIBLE, "GetState", &()),
        bus.each::<Vec<String>, _>(objects_without_abilities, ACCESSIBLE, "GetInterfaces", &()),
    );
    for (index, role) in unknown.iter().zip(roles) {
        nodes[*index].role = role.unwrap_or_default();
    }
    for (index, states) in requested.iter().zip(states) {
        nodes[*index].bits = Bits::of(&states.unwrap_or_default());
    }
    for (index, interfaces) in unable.iter().zip(interfaces) {
        nodes[*index].abilities = Abilities::of(&interfaces.unwrap_or_default());
    }
}
