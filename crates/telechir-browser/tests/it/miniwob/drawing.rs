//! Points, lines and circles on a picture.

use super::Trouble;
use super::driver::{Done, Hand, Place};

/// Where the pages take the picture to begin, whatever its own corner is.
const TOP: f64 = 50.0;

/// The middles of circles, in the picture's own measure.
async fn circles(hand: &mut Hand, css: &str) -> Result<Vec<Place>, Trouble> {
    let told = hand
        .look(&format!(
            "all(`{css}`).map(e => [+e.getAttribute('cx'), +e.getAttribute('cy')])"
        ))
        .await?;
    serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))
}

/// Clicks a point of the picture and presses Submit.
async fn mark(hand: &mut Hand, (x, y): Place) -> Done {
    hand.click((x, y + TOP)).await?;
    hand.press_named("Submit").await
}

/// The angle at a vertex between two points, in degrees.
fn angle(one: Place, vertex: Place, other: Place) -> f64 {
    let to = |(x, y): Place| (y - vertex.1).atan2(x - vertex.0).to_degrees();
    let between = (to(one) - to(other)).abs();
    between.min(360.0 - between)
}

/// The pixel of the picture, not too near to the vertex, of which this is least.
fn best(vertex: Place, badness: impl Fn(Place) -> f64) -> Place {
    let points = (4..146).flat_map(|x| (4..124).map(move |y| (f64::from(x), f64::from(y))));
    let far = points.filter(|point| (point.0 - vertex.0).hypot(point.1 - vertex.1) > 15.0);
    far.min_by(|one, other| badness(*one).total_cmp(&badness(*other)))
        .unwrap_or(vertex)
}

pub(super) async fn bisect_angle(hand: &mut Hand) -> Done {
    let (vertex, ends) = (
        circles(hand, ".init-blue").await?,
        circles(hand, ".init-black").await?,
    );
    let (&[vertex], &[one, other]) = (&vertex[..], &ends[..]) else {
        return Err(Trouble("three points were expected".to_owned()));
    };
    let whole = angle(one, vertex, other);
    let larger = |point| angle(one, vertex, point).max(angle(other, vertex, point));
    mark(
        hand,
        best(vertex, |point| (larger(point) - whole / 2.0).abs()),
    )
    .await
}

pub(super) async fn right_angle(hand: &mut Hand) -> Done {
    let (vertex, end) = (
        circles(hand, "#init-blue").await?,
        circles(hand, "#init-black").await?,
    );
    let (&[vertex], &[end]) = (&vertex[..], &end[..]) else {
        return Err(Trouble("two points were expected".to_owned()));
    };
    mark(
        hand,
        best(vertex, |point| (angle(end, vertex, point) - 90.0).abs()),
    )
    .await
}

pub(super) async fn circle_center(hand: &mut Hand) -> Done {
    let circles = circles(hand, "#area circle").await?;
    let middle = circles.first().copied();
    mark(hand, middle.ok_or_else(|| Trouble("no circle".to_owned()))?).await
}

pub(super) async fn find_midpoint(hand: &mut Hand) -> Done {
    let ends = circles(hand, ".black-circle").await?;
    let &[one, other] = &ends[..] else {
        return Err(Trouble("two points were expected".to_owned()));
    };
    mark(
        hand,
        (f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1)),
    )
    .await
}

/// Remembers where the numbers are, for the first click hides them.
pub(super) async fn ascending_numbers(hand: &mut Hand) -> Done {
    for place in hand.places("#area_svg text").await? {
        hand.click(place).await?;
    }
    Ok(())
}

pub(super) async fn draw_circle(hand: &mut Hand) -> Done {
    let (x, y) = hand.place("#circ").await?;
    let around = (0..=24).map(|nth| f64::from(nth * 15).to_radians());
    let path: Vec<Place> = around
        .map(|turn| (x + 22.0 * turn.cos(), y + 22.0 * turn.sin()))
        .collect();
    hand.drag(&path).await?;
    hand.press_named("Submit").await
}

pub(super) async fn draw_line(hand: &mut Hand) -> Done {
    let (x, y) = hand.place("#circ").await?;
    let (dx, dy) = if hand.task.contains("horizontal") {
        (24.0, 0.0)
    } else {
        (0.0, 24.0)
    };
    hand.drag(&[(x - dx, y - dy), (x, y), (x + dx, y + dy)])
        .await?;
    hand.press_named("Submit").await
}
