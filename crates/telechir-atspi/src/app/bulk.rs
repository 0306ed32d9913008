//! All elements of Chromium in a handful of answers, however many they are.
//!
//! Its cache leaves out every page that was loaded after somebody first asked, so that thousands
//! of single questions would follow, and is slow to be told. What answers for a whole tree at once
//! says the elements' order and names; who is shown, or in another way not as most are, is found
//! by a search, and only those are asked about one by one.

use std::collections::{HashMap, HashSet};

use telechir_device::Detail;
use zbus::{ObjectPath, Variant};

use super::{DEEPEST, MOST, Node};
use crate::bus::Bus;
use crate::error::BusError;
use crate::object::{ACCESSIBLE, Abilities, COLLECTION, Object};
use crate::refs::Refs;
use crate::state::{Bits, ENABLED, REMARKABLE, SENSITIVE};

/// Of a search: any of these, none of these, and where nothing is looked at.
const ANY: i32 = 2;
const NONE: i32 = 3;
const ALL: i32 = 1;
/// In the order of the tree.
const CANONICAL: u32 = 1;
/// What a tree's answer says of each element. It must not be nothing: that means everything, and
/// Chromium dies of it.
const WANTED: [&str; 2] = ["Name", "Parent"];

/// What a search looks for: states, attributes, roles and interfaces, each with how they have to
/// fit, and whether what does not fit is wanted.
type Rule<'a> = (
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

/// An element in a tree's answer.
type Told<'m> = ((&'m str, ObjectPath<'m>), HashMap<&'m str, Variant<'m>>);

/// The elements below the root, parents before their children, and how many were left off; none
/// when the application does not answer so. Whether what is out of view is disabled is asked only
/// for full detail: it is another search.
pub(super) async fn read(
    bus: &Bus,
    root: &Object,
    detail: Detail,
    refs: &Refs,
) -> Result<Option<(Vec<Node>, usize)>, BusError> {
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
                BusError::Refused(_) | BusError::Garbled(_) => Ok(None),
                BusError::Gone(_) | BusError::Late { .. } => Err(error),
            };
        }
    };
    let mut asked = Vec::new();
    for (place, node) in nodes.iter_mut().enumerate() {
        if remarkable.contains(&node.object) {
            asked.push(place);
        } else if !disabled.contains(&node.object) {
            node.bits = calm;
        }
    }
    describe(bus, &mut nodes, &asked, refs).await;
    Ok(Some((nodes, left_off)))
}

/// Order and names.
async fn tree(bus: &Bus, root: &Object) -> Result<(Vec<Node>, usize), BusError> {
    let everything: Rule<'_> = rule(Bits::default(), ALL);
    let question = (everything, &WANTED[..]);
    let answer = bus.ask(root, COLLECTION, "GetTree", &question).await?;
    let body = answer.body();
    let told: Vec<Told<'_>> = body.deserialize()?;
    let mut nodes = Vec::with_capacity(told.len().min(MOST));
    let mut left_off = 0;
    // The elements that hold the next one, from the root down.
    let mut holders: Vec<ObjectPath<'_>> = Vec::new();
    for ((name, path), properties) in told {
        let parent = match properties.get("Parent") {
            Some(Variant::Structure(parent)) => match parent.fields() {
                [_, Variant::ObjectPath(path)] => Some(path),
                _ => None,
            },
            _ => None,
        };
        // Who names another parent than those it is told below belongs to the last of them.
        let level = holders.iter().rposition(|holder| Some(holder) == parent);
        holders.truncate(level.map_or(holders.len(), |level| level + 1));
        let depth = holders.len();
        holders.push(path.clone());
        if depth == 0 {
            // The application itself.
            continue;
        }
        if depth > DEEPEST || nodes.len() >= MOST {
            left_off += 1;
            continue;
        }
        let object = Object {
            bus: name.to_owned(),
            path: path.into(),
        };
        let mut node = Node::bare(object, 0, Bits::default());
        node.depth = depth - 1;
        if let Some(Variant::Str(name)) = properties.get("Name") {
            node.name = name.as_str().to_owned();
        }
        nodes.push(node);
    }
    Ok((nodes, left_off))
}

/// Those below the root whose states fit.
async fn search(
    bus: &Bus,
    root: &Object,
    states: Bits,
    fit: i32,
) -> Result<HashSet<Object>, BusError> {
    // As many as there are, and what is below what fits too.
    let question = (rule(states, fit), CANONICAL, 0i32, true);
    let found: Vec<Object> = bus.get(root, COLLECTION, "GetMatches", &question).await?;
    Ok(found.into_iter().collect())
}

fn rule<'a>(states: Bits, fit: i32) -> Rule<'a> {
    let nothing: (&[i32], &[&str]) = (&[], &[]);
    (
        states.words().to_vec(),
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

/// The roles of all, states and abilities of those that are asked. The role of an element that is
/// out of view is asked once: it hardly ever changes, and is asked again when the element is shown.
/// So is what an element can do.
async fn describe(bus: &Bus, nodes: &mut [Node], asked: &[usize], refs: &Refs) {
    let is_asked: HashSet<usize> = asked.iter().copied().collect();
    let mut unknown = Vec::new();
    let mut unable = Vec::new();
    for (place, node) in nodes.iter_mut().enumerate() {
        let is_asked = is_asked.contains(&place);
        let known = refs.known(&node.object);
        node.abilities = known.map_or(Abilities::NONE, |known| known.abilities);
        match known {
            Some(known) if !is_asked => node.role = known.role,
            Some(_) | None => unknown.push(place),
        }
        if is_asked && node.abilities == Abilities::NONE {
            unable.push(place);
        }
    }
    let of = |places: &[usize]| -> Vec<&Object> {
        places.iter().map(|place| &nodes[*place].object).collect()
    };
    let (unknowns, askeds, unables) = (of(&unknown), of(asked), of(&unable));
    let (roles, states, interfaces) = tokio::join!(
        bus.each::<u32, _>(unknowns, ACCESSIBLE, "GetRole", &()),
        bus.each::<Vec<u32>, _>(askeds, ACCESSIBLE, "GetState", &()),
        bus.each::<Vec<String>, _>(unables, ACCESSIBLE, "GetInterfaces", &()),
    );
    for (place, role) in unknown.iter().zip(roles) {
        nodes[*place].role = role.unwrap_or_default();
    }
    for (place, states) in asked.iter().zip(states) {
        nodes[*place].bits = Bits::of(&states.unwrap_or_default());
    }
    for (place, interfaces) in unable.iter().zip(interfaces) {
        nodes[*place].abilities = Abilities::of(&interfaces.unwrap_or_default());
    }
}
