//! Reads what is needed only for visible elements: bounds, values, labels and identifiers.

use telechir_device::{Detail, ElementState, ScreenBounds, Window};

use super::node::AccessibleNode;
use super::{Toolkit, labels};
use crate::bus::AtSpiBus;
use crate::error::BusError;
use crate::object::{ACCESSIBLE, ACTION, Abilities, COMPONENT, ObjectRef, TEXT, VALUE};
use crate::role;
use crate::state::{SHOWING, VISIBLE};

/// Maximum number of characters read from a text.
const MAX_TEXT_CHARS: i32 = 400;
/// Coordinate types of `GetExtents`.
const SCREEN: u32 = 0;
const WINDOW: u32 = 1;

/// What is needed to compute screen positions.
pub(super) struct PositionContext<'a> {
    pub(super) toolkit: Toolkit,
    pub(super) windows: &'a [Window],
}

/// Reads the details of all visible elements.
pub(super) async fn read_details(
    bus: &AtSpiBus,
    nodes: &mut [AccessibleNode],
    context: &PositionContext<'_>,
    detail: Detail,
) -> Result<(), BusError> {
    read_bounds(bus, nodes, context).await;
    clip(nodes);
    let shown = |node: &AccessibleNode| node.bounds.is_some();
    let holding: Vec<usize> = (0..nodes.len()).filter(|at| shown(&nodes[*at])).collect();
    labels::name_unnamed(bus, nodes, &holding).await;
    values(bus, nodes, &holding).await;
    if detail == Detail::Full {
        read_identifiers(bus, nodes, &holding).await;
    }
    Ok(())
}

/// Reads the bounds of each element that reports itself visible.
async fn read_bounds(bus: &AtSpiBus, nodes: &mut [AccessibleNode], context: &PositionContext<'_>) {
    let is_gtk4 = context.toolkit.is_gtk4;
    let (bit, from) = if is_gtk4 {
        (VISIBLE, WINDOW)
    } else {
        (SHOWING, SCREEN)
    };
    let is_positioned =
        |node: &AccessibleNode| node.bits.has(bit) && node.abilities.has(Abilities::COMPONENT);
    let objects = nodes.iter().filter(|node| is_positioned(node));
    let objects = objects.map(|node| &node.object);
    let mut extents = each_extent(bus, objects, from).await.into_iter();
    let mut origin = None;
    let mut undrawn_bar: Option<usize> = None;
    for node in nodes.iter_mut() {
        let extent = is_positioned(node)
            .then(|| extents.next().flatten())
            .flatten();
        if node.depth == 0 && is_gtk4 {
            origin = corner(
                context.windows,
                &node.name,
                extent.map(|(_, _, w, h)| (w, h)),
            );
        }
        // The position of a GTK 4 element is unknown without that of its window.
        let shift = if is_gtk4 { origin } else { Some((0, 0)) };
        node.bounds = extent
            .zip(shift)
            .and_then(|(extent, shift)| bounds_of(extent, shift));
        // LibreOffice has a menu bar of its own beside that of GTK, without a height.
        undrawn_bar = undrawn_bar.filter(|depth| *depth < node.depth);
        node.is_in_undrawn_bar = undrawn_bar.is_some();
        let is_empty = |(_, _, width, height): Extent| width <= 0 || height <= 0;
        if undrawn_bar.is_none() && node.role == role::MENU_BAR && extent.is_some_and(is_empty) {
            undrawn_bar = Some(node.depth);
        }
    }
    correct_root_panes(nodes);
}

/// Moves what is in a root pane to the container that the pane fills.
///
/// LibreOffice counts from the top of its window, as if the menu bar that GTK has above its root
/// pane did not exist.
fn correct_root_panes(nodes: &mut [AccessibleNode]) {
    let mut containers: Vec<Option<ScreenBounds>> = Vec::new();
    let mut pane: Option<(usize, (i32, i32))> = None;
    for node in nodes {
        containers.truncate(node.depth);
        pane = pane.filter(|(depth, _)| *depth < node.depth);
        if pane.is_none()
            && node.role == role::ROOT_PANE
            && let (Some(own), Some(Some(container))) = (node.bounds, containers.last())
            && (own.width, own.height) == (container.width, container.height)
        {
            let shift = |from: i32, to: i32| to.saturating_sub(from);
            let shift = (shift(own.x, container.x), shift(own.y, container.y));
            pane = Some((node.depth, shift));
        }
        if let Some((_, (x, y))) = pane {
            node.shift = (x, y);
            node.bounds = node.bounds.map(|bounds| ScreenBounds {
                x: bounds.x.saturating_add(x),
                y: bounds.y.saturating_add(y),
                ..bounds
            });
        }
        containers.push(node.bounds);
    }
}

/// Left, top, width, height.
pub(crate) type Extent = (i32, i32, i32, i32);

/// The bounds of an extent relative to (`left`, `top`); `None` if it is empty.
pub(crate) fn bounds_of(extent: Extent, (left, top): (i32, i32)) -> Option<ScreenBounds> {
    let (x, y, width, height) = extent;
    let length = |length: i32| u32::try_from(length).ok().filter(|length| *length > 0);
    // GTK 3 reports these for elements without a position.
    if (x, y, width, height) == (-1, -1, 1, 1) || x == i32::MIN || y == i32::MIN {
        return None;
    }
    Some(ScreenBounds {
        x: x.saturating_add(left),
        y: y.saturating_add(top),
        width: length(width)?,
        height: length(height)?,
    })
}

pub(crate) async fn each_extent<'o>(
    bus: &AtSpiBus,
    objects: impl IntoIterator<Item = &'o ObjectRef>,
    from: u32,
) -> Vec<Option<Extent>> {
    let answers = bus.each::<(Extent,), _>(objects, COMPONENT, "GetExtents", &from);
    let answers = answers.await.into_iter();
    answers.map(|answer| Some(answer?.0)).collect()
}

/// The corner of the window with this title; of several windows, the one with this size.
pub(crate) fn corner(
    windows: &[Window],
    title: &str,
    size: Option<(i32, i32)>,
) -> Option<(i32, i32)> {
    let fits = |window: &&Window| window.is_shown && window.title == title;
    let is_as_large = |window: &&Window| {
        let of = |length: i32| u32::try_from(length).ok();
        size.is_some_and(|(width, height)| {
            of(width) == Some(window.content.width) && of(height) == Some(window.content.height)
        })
    };
    let mut fitting = windows.iter().rev().filter(fits);
    let exact = windows.iter().rev().filter(fits).find(is_as_large);
    let window = exact.or_else(|| fitting.next())?;
    Some((window.content.x, window.content.y))
}

/// Clips elements to the visible part of their list or page, whatever they report. Menus may extend
/// beyond their window.
fn clip(nodes: &mut [AccessibleNode]) {
    let mut views: Vec<(usize, Option<ScreenBounds>)> = Vec::new();
    for node in nodes.iter_mut() {
        while views.last().is_some_and(|(depth, _)| *depth >= node.depth) {
            views.pop();
        }
        if let (Some(bounds), Some((_, Some(view)))) = (node.bounds, views.last()) {
            node.bounds = bounds.within(*view);
        }
        let name = role::name(node.role);
        let is_view = matches!(
            &*name,
            "viewport" | "scrollpane" | "document" | "listbox" | "list" | "tree" | "treegrid"
        );
        if is_view && node.bounds.is_some() {
            views.push((node.depth, node.bounds));
        } else if name == "menu" {
            // Its entries are in a popup, wherever the menu itself is.
            views.push((node.depth, None));
        }
    }
}

/// Reads the texts and numbers of elements.
async fn values(bus: &AtSpiBus, nodes: &mut [AccessibleNode], shown: &[usize]) {
    let with = |wanted: fn(&AccessibleNode) -> bool| -> Vec<usize> {
        shown
            .iter()
            .copied()
            .filter(|at| wanted(&nodes[*at]))
            .collect()
    };
    let (texts, numbers) = (with(holds_text), with(holds_number));
    let objects = |indices: &[usize]| -> Vec<ObjectRef> {
        indices.iter().map(|at| nodes[*at].object.clone()).collect()
    };
    let (of_texts, of_numbers) = (objects(&texts), objects(&numbers));
    let (read, counted) = tokio::join!(
        each_text(bus, &of_texts),
        bus.properties::<f64>(&of_numbers, VALUE, "CurrentValue"),
    );
    for (at, text) in texts.into_iter().zip(read) {
        nodes[at].value = text.map(|text| readable(&text));
    }
    for (at, number) in numbers.into_iter().zip(counted) {
        nodes[at].value = number.map(|number| number.to_string());
    }
}

/// The start of each text. Qt returns nothing if more characters are requested than exist.
async fn each_text(bus: &AtSpiBus, objects: &[ObjectRef]) -> Vec<Option<String>> {
    let lengths = bus.properties::<i32>(objects, TEXT, "CharacterCount").await;
    let is_long = |length: &Option<i32>| length.is_none_or(|length| length > MAX_TEXT_CHARS);
    let of = |long: bool| {
        let both = objects.iter().zip(&lengths);
        both.filter(move |(_, length)| is_long(length) == long)
            .map(|(object, _)| object)
    };
    let (long, short) = tokio::join!(
        bus.each::<String, _>(of(true), TEXT, "GetText", &(0i32, MAX_TEXT_CHARS)),
        bus.each::<String, _>(of(false), TEXT, "GetText", &(0i32, -1i32)),
    );
    let (mut long, mut short) = (long.into_iter(), short.into_iter());
    let texts = lengths.iter().map(|length| {
        let next = if is_long(length) {
            long.next()
        } else {
            short.next()
        };
        next.flatten()
    });
    texts.collect()
}

/// Removes object replacement characters, which stand for embedded elements.
pub(crate) fn readable(text: &str) -> String {
    text.replace('\u{fffc}', "")
}

pub(crate) fn holds_text(node: &AccessibleNode) -> bool {
    let role = role::name(node.role);
    let is_field = node.bits.meaning(node.role).has(ElementState::Editable)
        || matches!(&*role, "textbox" | "searchbox" | "terminal");
    node.abilities.has(Abilities::TEXT) && is_field && node.role != role::PASSWORD
}

pub(crate) fn holds_number(node: &AccessibleNode) -> bool {
    let role = role::name(node.role);
    let is_scale = matches!(&*role, "slider" | "spinbutton" | "progressbar" | "levelbar");
    node.abilities.has(Abilities::VALUE) && is_scale
}

/// Reads automation ids and action names.
async fn read_identifiers(bus: &AtSpiBus, nodes: &mut [AccessibleNode], shown: &[usize]) {
    let objects: Vec<ObjectRef> = shown.iter().map(|at| nodes[*at].object.clone()).collect();
    let acting: Vec<usize> = shown
        .iter()
        .copied()
        .filter(|at| nodes[*at].abilities.has(Abilities::ACTION))
        .collect();
    let actors: Vec<ObjectRef> = acting.iter().map(|at| nodes[*at].object.clone()).collect();
    let (ids, attributes, actions) = tokio::join!(
        bus.properties::<String>(&objects, ACCESSIBLE, "AccessibleId"),
        bus.each::<std::collections::HashMap<String, String>, _>(
            &objects,
            ACCESSIBLE,
            "GetAttributes",
            &()
        ),
        bus.each::<Vec<(String, String, String)>, _>(&actors, ACTION, "GetActions", &()),
    );
    for ((at, id), attributes) in shown.iter().zip(ids).zip(attributes) {
        let named = id.filter(|id| !id.is_empty());
        nodes[*at].automation_id = named.or_else(|| attributes?.remove("id"));
    }
    for (at, actions) in acting.into_iter().zip(actions) {
        let names = actions.unwrap_or_default().into_iter();
        nodes[at].actions = names
            .map(|(name, ..)| name)
            .filter(|n| !n.is_empty())
            .collect();
    }
}
