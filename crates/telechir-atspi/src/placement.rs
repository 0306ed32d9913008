//! Finds the window of an element through its parents, which an application may not report.

use std::collections::HashSet;

use telechir_device::DeviceError;
use zbus::OwnedVariant;

use crate::bus::{AtSpiBus, REPLY_TIMEOUT, within};
use crate::element::ElementHandle;
use crate::error::{BusError, stale};
use crate::object::{ACCESSIBLE, ObjectRef, PROPERTIES, ROOT};
use crate::refs::ElementRefs;
use crate::state::{Bits, DEFUNCT, MANAGES_DESCENDANTS};

/// Maximum number of ancestors; more are treated as a cycle.
const MAX_DEPTH: usize = 200;

/// The title of the element's window; empty if its application reports none.
///
/// Reported parents lead to the application. Where they end before it, which AT-SPI permits, the
/// object that listed the element (or the closest such ancestor) as a child continues the way, if
/// it still lists it.
///
/// # Errors
/// [`DeviceError::Stale`] when the element or an ancestor is gone or has left its window.
pub(crate) async fn window_of(
    element: &ElementHandle,
    refs: &ElementRefs,
) -> Result<String, DeviceError> {
    let gone = || stale(element.id());
    let bus = element.bus();
    let target = element.target();
    // The object of a cell is new, but its table is not.
    let cell = target.cell.as_ref();
    let mut at = cell.map_or(&target.object, |cell| &cell.table).clone();
    let mut visited: HashSet<ObjectRef> = HashSet::new();
    // The reported ancestors since the last listed one, the element first.
    let mut reported: Vec<ObjectRef> = Vec::new();
    while visited.len() < MAX_DEPTH && visited.insert(at.clone()) {
        reported.push(at.clone());
        let parent = match parent_of(bus, &at).await {
            Err(BusError::Refused(_)) => return Err(gone()),
            parent => parent?,
        };
        let parent = match parent {
            Some(parent) => parent,
            None => match listing_parent(bus, &reported, refs).await {
                Ok(Some((child, parent))) => {
                    at = child;
                    reported.clear();
                    parent
                }
                Ok(None) => break,
                Err(BusError::Refused(_)) => return Err(gone()),
                Err(error) => return Err(error.into()),
            },
        };
        if parent.path.as_str() != ROOT {
            at = parent;
            continue;
        }
        let windows = within(
            "an application",
            REPLY_TIMEOUT,
            bus.get::<Vec<ObjectRef>, _>(&parent, ACCESSIBLE, "GetChildren", &()),
        );
        if !windows.await?.contains(&at) {
            return Err(gone());
        }
        let name = bus.property::<String>(&at, ACCESSIBLE, "Name");
        return Ok(within("an application", REPLY_TIMEOUT, name).await?);
    }
    Ok(String::new())
}

/// The parent that the object reports; `None` for the null object.
async fn parent_of(bus: &AtSpiBus, object: &ObjectRef) -> Result<Option<ObjectRef>, BusError> {
    let requested = bus.get(object, PROPERTIES, "Get", &(ACCESSIBLE, "Parent"));
    let parent: OwnedVariant = within("an application", REPLY_TIMEOUT, requested).await?;
    Ok(ObjectRef::of(&parent))
}

/// The topmost of these objects that another object listed as a child, and that object; `None` if
/// none of them was.
///
/// # Errors
/// [`BusError::Refused`] when that object is gone or no longer lists the child.
async fn listing_parent(
    bus: &AtSpiBus,
    objects: &[ObjectRef],
    refs: &ElementRefs,
) -> Result<Option<(ObjectRef, ObjectRef)>, BusError> {
    let known = objects.iter().rev().find_map(|object| {
        let parent = refs.target_of(object)?.parent.clone()?;
        (!objects.contains(&parent)).then(|| (object.clone(), parent))
    });
    let Some((child, parent)) = known else {
        return Ok(None);
    };
    let is_listed = async {
        let states: Vec<u32> = bus.get(&parent, ACCESSIBLE, "GetState", &()).await?;
        let bits = Bits::of(&states);
        // A large table cannot list its children.
        if bits.has(MANAGES_DESCENDANTS) {
            return Ok(true);
        }
        let children: Vec<ObjectRef> = bus.get(&parent, ACCESSIBLE, "GetChildren", &()).await?;
        Ok(!bits.has(DEFUNCT) && children.contains(&child))
    };
    if within("an application", REPLY_TIMEOUT, is_listed).await? {
        Ok(Some((child, parent)))
    } else {
        Err(BusError::Refused(
            "the element has left its parent".to_owned(),
        ))
    }
}
