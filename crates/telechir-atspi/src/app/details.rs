//! What is asked only about elements that are shown: where they are and what they hold.

use telechir_device::{Bounds, Detail, State, Window};

use super::{Node, Toolkit};
use crate::bus::Bus;
use crate::error::BusError;
use crate::object::{ACCESSIBLE, ACTION, Abilities, COMPONENT, Object, TEXT, VALUE};
use crate::role;
use crate::state::{SHOWING, VISIBLE};

/// Characters of a text that are read.
const LONGEST: i32 = 400;
/// The number of the relation to the words that name an element.
const LABELLED_BY: u32 = 2;
/// Of the screen, and of the window.
const SCREEN: u32 = 0;
const WINDOW: u32 = 1;

/// What is needed to say where an application's elements are.
pub(super) struct Frame<'a> {
    pub(super) toolkit: Toolkit,
    pub(super) windows: &'a [Window],
}

/// Asks about all that is shown.
pub(super) async fn tell(
    bus: &Bus,
    nodes: &mut [Node],
    frame: &Frame<'_>,
    detail: Detail,
) -> Result<(), BusError> {
    place(bus, nodes, frame).await;
    clip(nodes);
    let shown = |node: &Node| node.bounds.is_some();
    let holding: Vec<usize> = (0..nodes.len()).filter(|at| shown(&nodes[*at])).collect();
    labels(bus, nodes, &holding).await;
    values(bus, nodes, &holding).await;
    if detail == Detail::Full {
        names(bus, nodes, &holding).await;
    }
    Ok(())
}

/// Where each element that says it is shown is.
async fn place(bus: &Bus, nodes: &mut [Node], frame: &Frame<'_>) {
    let is_gtk4 = frame.toolkit.is_gtk4;
    let (bit, from) = if is_gtk4 {
        (VISIBLE, WINDOW)
    } else {
        (SHOWING, SCREEN)
    };
    let says_so = |node: &Node| node.bits.has(bit) && node.abilities.has(Abilities::COMPONENT);
    let objects = nodes.iter().filter(|node| says_so(node));
    let objects = objects.map(|node| &node.object);
    let mut extents = each_extent(bus, objects, from).await.into_iter();
    let mut origin = None;
    for node in nodes {
        let extent = says_so(node).then(|| extents.next().flatten()).flatten();
        if node.depth == 0 && is_gtk4 {
            origin = corner(frame.windows, &node.name, extent.map(|(_, _, w, h)| (w, h)));
        }
        // Without its window's place nothing is known of where an element of GTK 4 is.
        let shift = if is_gtk4 { origin } else { Some((0, 0)) };
        node.bounds = extent
            .zip(shift)
            .and_then(|(extent, shift)| bounds_of(extent, shift));
    }
}

/// Left, top, width, height.
pub(crate) type Extent = (i32, i32, i32, i32);

/// The bounds of an extent counted from `left` and `top`; none when it is nowhere.
pub(crate) fn bounds_of(extent: Extent, (left, top): (i32, i32)) -> Option<Bounds> {
    let (x, y, width, height) = extent;
    let length = |length: i32| u32::try_from(length).ok().filter(|length| *length > 0);
    // What GTK 3 says of something that has no place.
    if (x, y, width, height) == (-1, -1, 1, 1) {
        return None;
    }
    Some(Bounds {
        x: x.saturating_add(left),
        y: y.saturating_add(top),
        width: length(width)?,
        height: length(height)?,
    })
}

pub(crate) async fn each_extent<'o>(
    bus: &Bus,
    objects: impl IntoIterator<Item = &'o Object>,
    from: u32,
) -> Vec<Option<Extent>> {
    let answers = bus.each::<(Extent,), _>(objects, COMPONENT, "GetExtents", &from);
    let answers = answers.await.into_iter();
    answers.map(|answer| Some(answer?.0)).collect()
}

/// The corner of the window with this title, of several the one of this size.
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

/// What lies outside of the part of a list or a page that is in view is not shown, whatever is
/// said of it. Menus may reach out of their window.
fn clip(nodes: &mut [Node]) {
    let mut views: Vec<(usize, Option<Bounds>)> = Vec::new();
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
        }
    }
}

/// A sort of relation and whom it is to.
type Relation = (u32, Vec<Object>);

/// Who is named by the words beside it has those for its name.
async fn labels(bus: &Bus, nodes: &mut [Node], shown: &[usize]) {
    let is_nameless = |node: &Node| {
        node.name.is_empty()
            && matches!(
                &*role::name(node.role),
                "textbox" | "combobox" | "slider" | "spinbutton" | "password" | "searchbox"
            )
    };
    let nameless: Vec<usize> = shown
        .iter()
        .copied()
        .filter(|at| is_nameless(&nodes[*at]))
        .collect();
    let objects = nameless.iter().map(|at| &nodes[*at].object);
    let relations = bus.each::<Vec<Relation>, _>(objects, ACCESSIBLE, "GetRelationSet", &());
    let relations = relations.await;
    for (at, relations) in nameless.into_iter().zip(relations) {
        let by = relations.unwrap_or_default().into_iter();
        let by: Vec<Object> = by
            .filter(|(kind, _)| *kind == LABELLED_BY)
            .flat_map(|(_, objects)| objects)
            .collect();
        let words = nodes.iter().filter(|node| by.contains(&node.object));
        let words: Vec<&str> = words.map(|node| node.name.as_str()).collect();
        nodes[at].name = words.join(" ");
    }
}

/// The texts and numbers that elements hold.
async fn values(bus: &Bus, nodes: &mut [Node], shown: &[usize]) {
    let with = |wanted: fn(&Node) -> bool| -> Vec<usize> {
        shown
            .iter()
            .copied()
            .filter(|at| wanted(&nodes[*at]))
            .collect()
    };
    let (texts, numbers) = (with(holds_text), with(holds_number));
    let objects = |places: &[usize]| -> Vec<Object> {
        places.iter().map(|at| nodes[*at].object.clone()).collect()
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

/// The beginning of each text. Qt gives nothing when more is asked for than there is.
async fn each_text(bus: &Bus, objects: &[Object]) -> Vec<Option<String>> {
    let lengths = bus.properties::<i32>(objects, TEXT, "CharacterCount").await;
    let is_long = |length: &Option<i32>| length.is_none_or(|length| length > LONGEST);
    let of = |long: bool| {
        let both = objects.iter().zip(&lengths);
        both.filter(move |(_, length)| is_long(length) == long)
            .map(|(object, _)| object)
    };
    let (long, short) = tokio::join!(
        bus.each::<String, _>(of(true), TEXT, "GetText", &(0i32, LONGEST)),
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

/// Without the marks that stand for elements inside of a text.
pub(crate) fn readable(text: &str) -> String {
    text.replace('\u{fffc}', "")
}

pub(crate) fn holds_text(node: &Node) -> bool {
    let role = role::name(node.role);
    let is_field = node.bits.meaning(node.role).has(State::Editable)
        || matches!(&*role, "textbox" | "searchbox" | "terminal");
    node.abilities.has(Abilities::TEXT) && is_field && node.role != role::PASSWORD
}

pub(crate) fn holds_number(node: &Node) -> bool {
    let role = role::name(node.role);
    let is_scale = matches!(&*role, "slider" | "spinbutton" | "progressbar" | "levelbar");
    node.abilities.has(Abilities::VALUE) && is_scale
}

/// Ids and names of actions of what can be acted on.
async fn names(bus: &Bus, nodes: &mut [Node], shown: &[usize]) {
    let objects: Vec<Object> = shown.iter().map(|at| nodes[*at].object.clone()).collect();
    let acting: Vec<usize> = shown
        .iter()
        .copied()
        .filter(|at| nodes[*at].abilities.has(Abilities::ACTION))
        .collect();
    let actors: Vec<Object> = acting.iter().map(|at| nodes[*at].object.clone()).collect();
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
