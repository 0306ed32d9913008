//! Dragging of boxes, shapes, list items, corners and selections.

use super::TaskError;
use super::clicking::ordinal;
use super::driver::{Driver, PagePoint, TaskResult};

/// Drags the small box, at a point that the large one does not cover, into the large one.
pub(super) async fn boxes(driver: &mut Driver) -> TaskResult {
    let value = driver
        .evaluate(
            "(() => { const [s, l] = ['Small', 'Large'].map(n => document.getElementById('draggable' + n)); \
               const [a, b] = [s, l].map(e => e.getBoundingClientRect()); \
               for (let x = a.x + 2; x < a.right - 1; x++) for (let y = a.y + 2; y < a.bottom - 1; y++) \
                 if (document.elementFromPoint(x, y) === s) \
                   return [Math.round(x), Math.round(y), b.x + 15 - a.x, b.y + 15 - a.y]; \
               return null })()",
        )
        .await?;
    // If the large box covers it completely, it is already inside.
    if let Ok((x, y, dx, dy)) = serde_json::from_value::<(f64, f64, f64, f64)>(value) {
        driver.drag(&[(x, y), (x + dx, y + dy)]).await?;
    }
    driver.press_named("Submit").await
}

pub(super) async fn one_shape(driver: &mut Driver) -> TaskResult {
    let direction = ["left", "right", "up", "down"]
        .into_iter()
        .find(|direction| driver.task.contains(&format!(" {direction} ")));
    let (x, y) = driver.point("#area svg > *").await?;
    let there = match direction {
        Some("left") => (x - 25.0, y),
        Some("right") => (x + 25.0, y),
        Some("up") => (x, y - 25.0),
        Some("down") => (x, y + 25.0),
        _ => return Err(driver.unknown_task()),
    };
    driver.drag(&[(x, y), there]).await?;
    driver.press_named("Submit").await
}

/// The shapes of the drawing: tag, colour and centre.
async fn shapes_of(driver: &mut Driver) -> Result<Vec<(String, String, PagePoint)>, TaskError> {
    let value = driver
        .evaluate(
            "all('#area_svg > :not(#shape-container):not([fill=none])').map(e => [e.tagName, e.getAttribute('fill'), mid(e)])",
        )
        .await?;
    serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))
}

/// The tag of a shape by its name in the task.
fn tag(kind: &str) -> &str {
    match kind {
        "rectangles" => "rect",
        "circles" => "circle",
        "triangles" => "polygon",
        other => other,
    }
}

pub(super) async fn shapes(driver: &mut Driver) -> TaskResult {
    let kind = driver.between("Drag all ", " into")?;
    let (x, y) = driver.point("#shape-container").await?;
    let wanted = shapes_of(driver).await?;
    let wanted = wanted.iter().filter(|(shape, ..)| *shape == tag(&kind));
    for (nth, (.., point)) in wanted.enumerate() {
        let aside = 14.0 * nth as f64 - 20.0;
        driver.drag(&[*point, (x + aside, y)]).await?;
    }
    driver.press_named("Submit").await
}

/// Sorts shapes of a kind or a colour to the left, all others to the right.
pub(super) async fn shapes_2(driver: &mut Driver) -> TaskResult {
    let kind = driver.between("Drag all ", " into")?;
    let colour = kind.strip_suffix(" shapes");
    let all = shapes_of(driver).await?;
    let boxes = driver.points("#shape-container").await?;
    for (nth, (shape, fill, point)) in all.iter().enumerate() {
        let is_left = colour.map_or_else(|| shape == tag(&kind), |colour| fill == colour);
        let (x, y) = boxes[usize::from(!is_left)];
        let aside = 11.0 * nth as f64 - 22.0;
        driver.drag(&[*point, (x + aside, y)]).await?;
    }
    driver.press_named("Submit").await
}

/// Drags an item of a sortable list to the position of another, and a little beyond.
async fn sort_to(driver: &mut Driver, from: usize, to: usize) -> TaskResult {
    let points = driver.points("#sortable li").await?;
    let (Some(&start), Some(&end)) = (points.get(from), points.get(to)) else {
        return Err(TaskError(format!("no item {from} or {to} in {points:?}")));
    };
    let beyond = |from: f64, to: f64| {
        to + (to - from).signum() * if (to - from).abs() < 2.0 { 0.0 } else { 4.0 }
    };
    let end = (beyond(start.0, end.0), beyond(start.1, end.1));
    driver.drag(&[start, end]).await
}

pub(super) async fn items(driver: &mut Driver) -> TaskResult {
    let names = driver.texts("#sortable li").await?;
    let (name, whereto) = name_and_target(driver)?;
    let from = index_of(&names, &name)?;
    let to = match whereto.as_str() {
        "to the top." => 0,
        "to the bottom." => names.len() - 1,
        "up by one position." => from.saturating_sub(1),
        "down by one position." => from + 1,
        other => ordinal(other),
    };
    sort_to(driver, from, to).await
}

pub(super) async fn items_grid(driver: &mut Driver) -> TaskResult {
    let names = driver.texts("#sortable li").await?;
    let (name, whereto) = name_and_target(driver)?;
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
        _ => return Err(driver.unknown_task()),
    };
    sort_to(driver, from, to).await
}

/// Parses `Drag Ada to the top.`
fn name_and_target(driver: &Driver) -> Result<(String, String), TaskError> {
    let text = driver
        .task
        .strip_prefix("Drag ")
        .ok_or_else(|| driver.unknown_task())?;
    let (name, target) = text.split_once(' ').ok_or_else(|| driver.unknown_task())?;
    Ok((name.to_owned(), target.to_owned()))
}

fn index_of(names: &[String], name: &str) -> Result<usize, TaskError> {
    let index = names.iter().position(|one| one == name);
    index.ok_or_else(|| TaskError(format!("no {name} in {names:?}")))
}

/// Moves the smallest remaining number to the top, repeatedly.
pub(super) async fn sort_numbers(driver: &mut Driver) -> TaskResult {
    for _ in 0..12 {
        let numbers = driver.texts("#sortable li").await?;
        let numbers: Vec<i64> = numbers
            .iter()
            .filter_map(|text| text.parse().ok())
            .collect();
        let mut sorted = numbers.clone();
        sorted.sort_unstable();
        let Some(to) = (0..numbers.len()).find(|&nth| numbers[nth] != sorted[nth]) else {
            return driver.press_named("Submit").await;
        };
        let from = numbers.iter().rposition(|number| *number == sorted[to]);
        sort_to(driver, from.unwrap_or(to), to).await?;
        // The item slides to its position.
        driver
            .until("!document.querySelector('.ui-sortable-helper')")
            .await?;
        driver.until_still("#sortable li").await?;
    }
    Err(TaskError("the numbers were not sorted".to_owned()))
}

/// Rotates the cube until the requested side faces the viewer. It keeps rotating for a while.
pub(super) async fn cube(driver: &mut Driver) -> TaskResult {
    let side = driver.quote(0)?;
    let is_there = format!("document.querySelector('.cube-image.active').textContent === '{side}'");
    let (x, y) = driver.point(".viewport").await?;
    // One side is opposite; the others are adjacent.
    let (dx, dy) = if side == "1" {
        (0.0, -22.0)
    } else {
        (22.0, 0.0)
    };
    for _ in 0..14 {
        if driver.evaluate(&is_there).await? == true {
            return driver.press_named("Submit").await;
        }
        // The cube samples the pointer fifty times a second: moving to the start does not rotate
        // it.
        driver.move_to((x - dx, y - dy)).await?;
        driver.until_still(".cube .side").await?;
        driver
            .drag_slowly((x - dx, y - dy), (x + dx, y + dy))
            .await?;
        driver.until_still(".cube .side").await?;
    }
    Err(TaskError(format!("cannot rotate to {side}")))
}

/// Drags the handle at the requested edge, of which the page shows two pixels.
pub(super) async fn resize(driver: &mut Driver) -> TaskResult {
    let by = if driver.task.contains("larger") {
        12.0
    } else {
        -12.0
    };
    let (edge, dx, dy) = if driver.task.contains("width") {
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
    let value = driver
        .evaluate(&format!("(r => {corner})({handle})"))
        .await?;
    let (x, y): PagePoint =
        serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))?;
    driver.drag(&[(x, y), (x + dx, y + dy)]).await?;
    driver.press_named("Submit").await
}

pub(super) async fn highlight(driver: &mut Driver) -> TaskResult {
    mark(driver, "document.getElementById('randomText')").await
}

pub(super) async fn highlight_2(driver: &mut Driver) -> TaskResult {
    let nth = ordinal(&driver.between("in the ", " paragraph")?);
    mark(
        driver,
        &format!("document.querySelectorAll('#randomText p')[{nth}]"),
    )
    .await
}

/// Drags from before the first letter to after the last.
async fn mark(driver: &mut Driver, element: &str) -> TaskResult {
    let value = driver
        .evaluate(&format!(
            "(e => {{ const range = document.createRange(); range.selectNodeContents(e); \
               const lines = [...range.getClientRects()]; const [a, b] = [lines[0], lines.at(-1)]; \
               return [[a.left, a.top + a.height / 2], [b.right + 2, b.top + b.height / 2]] }})({element})"
        ))
        .await?;
    let path: Vec<PagePoint> =
        serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))?;
    driver.drag(&path).await?;
    driver.press_named("Submit").await
}
