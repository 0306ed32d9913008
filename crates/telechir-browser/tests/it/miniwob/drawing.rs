//! Points, lines and circles in a drawing.

use super::TaskError;
use super::driver::{Driver, PagePoint, TaskResult};

/// The top of the drawing according to the pages, whatever its actual corner is.
const TOP: f64 = 50.0;

/// The centres of circles, in coordinates of the drawing.
async fn circles(driver: &mut Driver, css: &str) -> Result<Vec<PagePoint>, TaskError> {
    let value = driver
        .evaluate(&format!(
            "all(`{css}`).map(e => [+e.getAttribute('cx'), +e.getAttribute('cy')])"
        ))
        .await?;
    serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))
}

/// Clicks a point of the drawing and presses Submit.
async fn mark(driver: &mut Driver, (x, y): PagePoint) -> TaskResult {
    driver.click((x, y + TOP)).await?;
    driver.press_named("Submit").await
}

/// The angle at a vertex between two points, in degrees.
fn angle(one: PagePoint, vertex: PagePoint, other: PagePoint) -> f64 {
    let to = |(x, y): PagePoint| (y - vertex.1).atan2(x - vertex.0).to_degrees();
    let between = (to(one) - to(other)).abs();
    between.min(360.0 - between)
}

/// The pixel with the least badness that is not too near to the vertex.
fn best(vertex: PagePoint, badness: impl Fn(PagePoint) -> f64) -> PagePoint {
    let points = (4..146).flat_map(|x| (4..124).map(move |y| (f64::from(x), f64::from(y))));
    let far = points.filter(|point| (point.0 - vertex.0).hypot(point.1 - vertex.1) > 15.0);
    far.min_by(|one, other| badness(*one).total_cmp(&badness(*other)))
        .unwrap_or(vertex)
}

pub(super) async fn bisect_angle(driver: &mut Driver) -> TaskResult {
    let (vertex, ends) = (
        circles(driver, ".init-blue").await?,
        circles(driver, ".init-black").await?,
    );
    let (&[vertex], &[one, other]) = (&vertex[..], &ends[..]) else {
        return Err(TaskError("three points were expected".to_owned()));
    };
    let full = angle(one, vertex, other);
    let larger = |point| angle(one, vertex, point).max(angle(other, vertex, point));
    mark(
        driver,
        best(vertex, |point| (larger(point) - full / 2.0).abs()),
    )
    .await
}

pub(super) async fn right_angle(driver: &mut Driver) -> TaskResult {
    let (vertex, end) = (
        circles(driver, "#init-blue").await?,
        circles(driver, "#init-black").await?,
    );
    let (&[vertex], &[end]) = (&vertex[..], &end[..]) else {
        return Err(TaskError("two points were expected".to_owned()));
    };
    mark(
        driver,
        best(vertex, |point| (angle(end, vertex, point) - 90.0).abs()),
    )
    .await
}

pub(super) async fn circle_center(driver: &mut Driver) -> TaskResult {
    let circles = circles(driver, "#area circle").await?;
    let middle = circles.first().copied();
    mark(
        driver,
        middle.ok_or_else(|| TaskError("no circle".to_owned()))?,
    )
    .await
}

pub(super) async fn find_midpoint(driver: &mut Driver) -> TaskResult {
    let ends = circles(driver, ".black-circle").await?;
    let &[one, other] = &ends[..] else {
        return Err(TaskError("two points were expected".to_owned()));
    };
    mark(
        driver,
        (f64::midpoint(one.0, other.0), f64::midpoint(one.1, other.1)),
    )
    .await
}

/// Remembers the positions, because the first click hides the numbers.
pub(super) async fn ascending_numbers(driver: &mut Driver) -> TaskResult {
    for point in driver.points("#area_svg text").await? {
        driver.click(point).await?;
    }
    Ok(())
}

pub(super) async fn draw_circle(driver: &mut Driver) -> TaskResult {
    let (x, y) = driver.point("#circ").await?;
    let around = (0..=24).map(|nth| f64::from(nth * 15).to_radians());
    let path: Vec<PagePoint> = around
        .map(|turn| (x + 22.0 * turn.cos(), y + 22.0 * turn.sin()))
        .collect();
    driver.drag(&path).await?;
    driver.press_named("Submit").await
}

pub(super) async fn draw_line(driver: &mut Driver) -> TaskResult {
    let (x, y) = driver.point("#circ").await?;
    let (dx, dy) = if driver.task.contains("horizontal") {
        (24.0, 0.0)
    } else {
        (0.0, 24.0)
    };
    driver
        .drag(&[(x - dx, y - dy), (x, y), (x + dx, y + dy)])
        .await?;
    driver.press_named("Submit").await
}
