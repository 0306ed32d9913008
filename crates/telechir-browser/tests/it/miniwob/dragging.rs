//! What is dragged: boxes, shapes, items of lists, corners and selections.

use super::Trouble;
use super::clicking::ordinal;
use super::driver::{Done, Hand, Place};

/// A place of the small box that the large one does not cover, and from there to its inside.
pub(super) async fn boxes(hand: &mut Hand) -> Done {
    let told = hand
        .look(
            "(() => { const [s, l] = ['Small', 'Large'].map(n => document.getElementById('draggable' + n)); \
               const [a, b] = [s, l].map(e => e.getBoundingClientRect()); \
               for (let x = a.x + 2; x < a.right - 1; x++) for (let y = a.y + 2; y < a.bottom - 1; y++) \
                 if (document.elementFromPoint(x, y) === s) \
                   return [Math.round(x), Math.round(y), b.x + 15 - a.x, b.y + 15 - a.y]; \
               return null })()",
        )
        .await?;
    // Nowhere to be taken: the large box covers it whole, so it is inside.
    if let Ok((x, y, dx, dy)) = serde_json::from_value::<(f64, f64, f64, f64)>(told) {
        hand.drag(&[(x, y), (x + dx, y + dy)]).await?;
    }
    hand.press_named("Submit").await
}

pub(super) async fn one_shape(hand: &mut Hand) -> Done {
    let direction = ["left", "right", "up", "down"]
        .into_iter()
        .find(|direction| hand.task.contains(&format!(" {direction} ")));
    let (x, y) = hand.place("#area svg > *").await?;
    let there = match direction {
        Some("left") => (x - 25.0, y),
        Some("right") => (x + 25.0, y),
        Some("up") => (x, y - 25.0),
        Some("down") => (x, y + 25.0),
        _ => return Err(hand.unread()),
    };
    hand.drag(&[(x, y), there]).await?;
    hand.press_named("Submit").await
}

/// The shapes of the picture: tag, colour and middle.
async fn shapes_of(hand: &mut Hand) -> Result<Vec<(String, String, Place)>, Trouble> {
    let told = hand
        .look(
            "all('#area_svg > :not(#shape-container):not([fill=none])').map(e => [e.tagName, e.getAttribute('fill'), mid(e)])",
        )
        .await?;
    serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))
}

/// A shape's tag by its name in the task.
fn tag(kind: &str) -> &str {
    match kind {
        "rectangles" => "rect",
        "circles" => "circle",
        "triangles" => "polygon",
        other => other,
    }
}

pub(super) async fn shapes(hand: &mut Hand) -> Done {
    let kind = hand.between("Drag all ", " into")?;
    let (x, y) = hand.place("#shape-container").await?;
    let wanted = shapes_of(hand).await?;
    let wanted = wanted.iter().filter(|(shape, ..)| *shape == tag(&kind));
    for (nth, (.., place)) in wanted.enumerate() {
        let aside = 14.0 * nth as f64 - 20.0;
        hand.drag(&[*place, (x + aside, y)]).await?;
    }
    hand.press_named("Submit").await
}

/// Those of a kind or a colour to the left, all others to the right.
pub(super) async fn shapes_2(hand: &mut Hand) -> Done {
    let kind = hand.between("Drag all ", " into")?;
    let colour = kind.strip_suffix(" shapes");
    let all = shapes_of(hand).await?;
    let boxes = hand.places("#shape-container").await?;
    for (nth, (shape, fill, place)) in all.iter().enumerate() {
        let is_left = colour.map_or_else(|| shape == tag(&kind), |colour| fill == colour);
        let (x, y) = boxes[usize::from(!is_left)];
        let aside = 11.0 * nth as f64 - 22.0;
        hand.drag(&[*place, (x + aside, y)]).await?;
    }
    hand.press_named("Submit").await
}

/// Drags an item of a sortable list to where another is, and a little beyond.
async fn sort_to(hand: &mut Hand, from: usize, to: usize) -> Done {
    let places = hand.places("#sortable li").await?;
    let (Some(&start), Some(&end)) = (places.get(from), places.get(to)) else {
        return Err(Trouble(format!("no item {from} or {to} in {places:?}")));
    };
    let beyond = |from: f64, to: f64| {
        to + (to - from).signum() * if (to - from).abs() < 2.0 { 0.0 } else { 4.0 }
    };
    let end = (beyond(start.0, end.0), beyond(start.1, end.1));
    hand.drag(&[start, end]).await
}

pub(super) async fn items(hand: &mut Hand) -> Done {
    let names = hand.texts("#sortable li").await?;
    let (name, whereto) = name_and_place(hand)?;
    let from = index_of(&names, &name)?;
    let to = match whereto.as_str() {
        "to the top." => 0,
        "to the bottom." => names.len() - 1,
        "up by one position." => from.saturating_sub(1),
        "down by one position." => from + 1,
        other => ordinal(other),
    };
    sort_to(hand, from, to).await
}

pub(super) async fn items_grid(hand: &mut Hand) -> Done {
    let names = hand.texts("#sortable li").await?;
    let (name, whereto) = name_and_place(hand)?;
    let from = index_of(&names, &name)?;
    let to = match whereto.as_str() {
        "to the top left." => 0,
        "to the top center." => 1,
        "to the top right." => 2,
        "to the center left." => 3,
        "to the center." => 4,
        "to the center right." => 5,
        "to the bottom left." => 6,
        "to the bottom center." => 7,
        "to the bottom right." => 8,
        "up by one." => from.saturating_sub(3),
        "down by one." => from + 3,
        "left by one." => from.saturating_sub(1),
        "right by one." => from + 1,
        _ => return Err(hand.unread()),
    };
    sort_to(hand, from, to).await
}

/// `Drag Ada to the top.`
fn name_and_place(hand: &Hand) -> Result<(String, String), Trouble> {
    let words = hand
        .task
        .strip_prefix("Drag ")
        .ok_or_else(|| hand.unread())?;
    let (name, place) = words.split_once(' ').ok_or_else(|| hand.unread())?;
    Ok((name.to_owned(), place.to_owned()))
}

fn index_of(names: &[String], name: &str) -> Result<usize, Trouble> {
    let place = names.iter().position(|one| one == name);
    place.ok_or_else(|| Trouble(format!("no {name} in {names:?}")))
}

/// The smallest of the rest to the top of it, again and again.
pub(super) async fn sort_numbers(hand: &mut Hand) -> Done {
    for _ in 0..12 {
        let numbers = hand.texts("#sortable li").await?;
        let numbers: Vec<i64> = numbers
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let Some(to) = (0..numbers.len()).find(|&nth| numbers[nth] != sorted[nth]) else {
            return hand.press_named("Submit").await;
        };
        let from = numbers.iter().rposition(|number| *number == sorted[to]);
        sort_to(hand, from.unwrap_or(to), to).await?;
        // It slides home.
        hand.until("!document.querySelector('.ui-sortable-helper')")
            .await?;
        hand.at_rest("#sortable li").await?;
    }
    Err(Trouble("the numbers are never in order".to_owned()))
}

/// Turns the cube until the side that is asked for is in front. It goes on turning for a while.
pub(super) async fn cube(hand: &mut Hand) -> Done {
    let side = hand.quote(0)?;
    let is_there = format!("document.querySelector('.cube-image.active').textContent === '{side}'");
    let (x, y) = hand.place(".viewport").await?;
    // One side is on the other's back; the rest lie around.
    let (dx, dy) = if side == "1" {
        (0.0, -22.0)
    } else {
        (22.0, 0.0)
    };
    for _ in 0..14 {
        if hand.look(&is_there).await? == true {
            return hand.press_named("Submit").await;
        }
        // The cube looks at the pointer fifty times a second: the way to the start is no turn.
        hand.move_to((x - dx, y - dy)).await?;
        hand.at_rest(".cube .side").await?;
        hand.drag_slowly((x - dx, y - dy), (x + dx, y + dy)).await?;
        hand.at_rest(".cube .side").await?;
    }
    Err(Trouble(format!("{side} never comes to the front")))
}

/// By the handle at the edge that is asked for, of which the page shows two pixels.
pub(super) async fn resize(hand: &mut Hand) -> Done {
    let by = if hand.task.contains("larger") {
        12.0
    } else {
        -12.0
    };
    let (edge, dx, dy) = if hand.task.contains("width") {
        ("e", by, 0.0)
    } else {
        ("s", 0.0, by)
    };
    let corner = if edge == "e" {
        "[r.x + 1, r.y + 12]"
    } else {
        "[r.x + 12, r.y + 1]"
    };
    let handle = format!("document.querySelector('.ui-resizable-{edge}').getBoundingClientRect()");
    let told = hand.look(&format!("(r => {corner})({handle})")).await?;
    let (x, y): Place = serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))?;
    hand.drag(&[(x, y), (x + dx, y + dy)]).await?;
    hand.press_named("Submit").await
}

pub(super) async fn highlight(hand: &mut Hand) -> Done {
    mark(hand, "document.getElementById('randomText')").await
}

pub(super) async fn highlight_2(hand: &mut Hand) -> Done {
    let nth = ordinal(&hand.between("in the ", " paragraph")?);
    mark(
        hand,
        &format!("document.querySelectorAll('#randomText p')[{nth}]"),
    )
    .await
}

/// Drags from before the first letter to behind the last.
async fn mark(hand: &mut Hand, element: &str) -> Done {
    let told = hand
        .look(&format!(
            "(e => {{ const range = document.createRange(); range.selectNodeContents(e); \
               const lines = [...range.getClientRects()]; const [a, b] = [lines[0], lines.at(-1)]; \
               return [[a.left, a.top + a.height / 2], [b.right + 2, b.top + b.height / 2]] }})({element})"
        ))
        .await?;
    let path: Vec<Place> =
        serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))?;
    hand.drag(&path).await?;
    hand.press_named("Submit").await
}
