//! Shapes, letters and colours in a drawing.

use serde::Deserialize;

use super::TaskError;
use super::driver::{Driver, PagePoint, TaskResult};

/// An item in a grid of shapes.
#[derive(Debug, Deserialize)]
struct Shape {
    tag: String,
    fill: String,
    text: String,
    size: f64,
    point: PagePoint,
}

impl Shape {
    /// Whether it matches `large red triangle`, `small item`, `digit` or `Q`.
    fn fits(&self, text: &str) -> bool {
        text.split(' ').all(|word| match word {
            "large" => self.size > 15.0,
            "small" => self.size <= 15.0,
            "item" => true,
            "shape" => self.text.is_empty(),
            "circle" => self.tag == "circle",
            "rectangle" => self.tag == "rect",
            "triangle" => self.tag == "polygon",
            "letter" => self.text.chars().any(char::is_alphabetic),
            "digit" => self.text.chars().any(char::is_numeric),
            other => self.fill == other || self.text == other,
        })
    }
}

/// The items of the drawing. The size of a letter is its font size, because its box is larger.
async fn shapes(driver: &mut Driver) -> Result<Vec<Shape>, TaskError> {
    let value = driver
        .evaluate(
            "all('#area_svg > *').map(e => ({ tag: e.tagName, fill: e.getAttribute('fill'), \
               text: e.textContent, size: parseFloat(e.getAttribute('font-size')) || e.getBoundingClientRect().width, \
               point: mid(e) }))",
        )
        .await?;
    serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))
}

pub(super) async fn click_shape(driver: &mut Driver) -> TaskResult {
    let text = driver.task.trim_start_matches("Click on a ").to_owned();
    let shapes = shapes(driver).await?;
    let shape = shapes.iter().find(|shape| shape.fits(&text));
    let shape = shape.ok_or_else(|| driver.unknown_task())?;
    driver.click(shape.point).await
}

pub(super) async fn count_shape(driver: &mut Driver) -> TaskResult {
    let text = driver.between("How many ", "s are there")?;
    let shapes = shapes(driver).await?;
    let count = shapes.iter().filter(|shape| shape.fits(&text)).count();
    driver.press_named(&count.to_string()).await
}

pub(super) async fn identify_shape(driver: &mut Driver) -> TaskResult {
    let shapes = shapes(driver).await?;
    let kinds = [
        ("rectangle", "Rectangle"),
        ("circle", "Circle"),
        ("triangle", "Triangle"),
        ("letter", "Letter"),
        ("digit", "Number"),
    ];
    let of_it = |kind: &str| shapes.iter().any(|shape| shape.fits(kind));
    let name = kinds.into_iter().find(|(kind, _)| of_it(kind));
    let (_, name) = name.ok_or_else(|| TaskError(format!("unknown shape in {shapes:?}")))?;
    driver.press_named(name).await
}

/// The number of waves of the outline around its centre: the strongest of three to seven.
pub(super) async fn count_sides(driver: &mut Driver) -> TaskResult {
    let sides = driver
        .evaluate(
            "(c => { const dots = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
               const dark = (x, y) => dots[(Math.round(y) * c.width + Math.round(x)) * 4 + 3] > 128; \
               const reach = turn => { for (let r = 45; r > 5; r -= 0.25) \
                 if (dark(75 + r * Math.cos(turn), 50 + r * Math.sin(turn))) return r; return 0 }; \
               const strength = n => { let [a, b] = [0, 0]; for (let i = 0; i < 360; i++) { \
                 const turn = i * Math.PI / 180, r = reach(turn); \
                 a += r * Math.cos(n * turn); b += r * Math.sin(n * turn) } return Math.hypot(a, b) }; \
               return [3, 4, 5, 6, 7].sort((m, n) => strength(n) - strength(m))[0] \
             })(document.getElementById('c'))",
        )
        .await?;
    driver.press_named(&sides.to_string()).await
}

pub(super) async fn grid_coordinate(driver: &mut Driver) -> TaskResult {
    let wanted = driver.between("(", ")")?;
    let wanted: Vec<f64> = wanted
        .split(',')
        .filter_map(|one| one.parse().ok())
        .collect();
    let &[right, up] = &wanted[..] else {
        return Err(driver.unknown_task());
    };
    let points = driver.points("#area svg circle").await?;
    // The middle one of five by five.
    let (x, y) = points
        .get(12)
        .copied()
        .ok_or_else(|| driver.unknown_task())?;
    driver.click((x + right * 30.0, y - up * 30.0)).await
}

pub(super) async fn click_color(driver: &mut Driver) -> TaskResult {
    let wanted = "getComputedStyle(document.querySelector('#query .color, #query .bold'))";
    let by_name = driver.task.contains("colored box") && !driver.task.contains("the colored box");
    let wanted = if by_name {
        format!("'{}'", driver.between("Click on the ", " colored")?)
    } else {
        format!("{wanted}.backgroundColor")
    };
    driver.click_found(&format!(
        "(wanted => all('#area .color').find(e => getComputedStyle(e).backgroundColor === wanted \
           || e.style.backgroundColor === wanted))({wanted})"
    ))
    .await
}

/// A shade has the colour of its strongest component.
pub(super) async fn click_shades(driver: &mut Driver) -> TaskResult {
    let wanted = driver.between("shades of ", " and")?;
    let points = driver
        .evaluate(&format!(
            "all('#area span').filter(e => {{ const c = getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number); \
               return ['red', 'green', 'blue'][c.indexOf(Math.max(...c.slice(0, 3)))] === '{wanted}' }}).map(mid)"
        ))
        .await?;
    let points: Vec<PagePoint> =
        serde_json::from_value(points).map_err(|error| TaskError(error.to_string()))?;
    for point in points {
        driver.click(point).await?;
    }
    driver.press_named("Submit").await
}
