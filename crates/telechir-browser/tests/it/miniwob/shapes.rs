//! Shapes, letters and colours in a picture.

use serde::Deserialize;

use super::Trouble;
use super::driver::{Done, Hand, Place};

/// A thing in a grid of shapes.
#[derive(Debug, Deserialize)]
struct Shape {
    tag: String,
    fill: String,
    text: String,
    size: f64,
    place: Place,
}

impl Shape {
    /// `large red triangle`, `small item`, `digit`, `Q`.
    fn fits(&self, words: &str) -> bool {
        words.split(' ').all(|word| match word {
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

/// What is in the picture. A letter's box is larger than the letter, so its type size is taken.
async fn shapes(hand: &mut Hand) -> Result<Vec<Shape>, Trouble> {
    let told = hand
        .look(
            "all('#area_svg > *').map(e => ({ tag: e.tagName, fill: e.getAttribute('fill'), \
               text: e.textContent, size: parseFloat(e.getAttribute('font-size')) || e.getBoundingClientRect().width, \
               place: mid(e) }))",
        )
        .await?;
    serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))
}

pub(super) async fn click_shape(hand: &mut Hand) -> Done {
    let words = hand.task.trim_start_matches("Click on a ").to_owned();
    let shapes = shapes(hand).await?;
    let shape = shapes.iter().find(|shape| shape.fits(&words));
    let shape = shape.ok_or_else(|| hand.unread())?;
    hand.click(shape.place).await
}

pub(super) async fn count_shape(hand: &mut Hand) -> Done {
    let words = hand.between("How many ", "s are there")?;
    let shapes = shapes(hand).await?;
    let count = shapes.iter().filter(|shape| shape.fits(&words)).count();
    hand.press_named(&count.to_string()).await
}

pub(super) async fn identify_shape(hand: &mut Hand) -> Done {
    let shapes = shapes(hand).await?;
    let kinds = [
        ("rectangle", "Rectangle"),
        ("circle", "Circle"),
        ("triangle", "Triangle"),
        ("letter", "Letter"),
        ("digit", "Number"),
    ];
    let of_it = |kind: &str| shapes.iter().any(|shape| shape.fits(kind));
    let name = kinds.into_iter().find(|(kind, _)| of_it(kind));
    let (_, name) = name.ok_or_else(|| Trouble(format!("what is {shapes:?}?")))?;
    hand.press_named(name).await
}

/// How many waves the outline has around its middle: the strongest of three to seven.
pub(super) async fn count_sides(hand: &mut Hand) -> Done {
    let sides = hand
        .look(
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
    hand.press_named(&sides.to_string()).await
}

pub(super) async fn grid_coordinate(hand: &mut Hand) -> Done {
    let wanted = hand.between("(", ")")?;
    let wanted: Vec<f64> = wanted
        .split(',')
        .filter_map(|one| one.parse().ok())
        .collect();
    let &[right, up] = &wanted[..] else {
        return Err(hand.unread());
    };
    let points = hand.places("#area svg circle").await?;
    // The middle one of five by five.
    let (x, y) = points.get(12).copied().ok_or_else(|| hand.unread())?;
    hand.click((x + right * 30.0, y - up * 30.0)).await
}

pub(super) async fn click_color(hand: &mut Hand) -> Done {
    let wanted = "getComputedStyle(document.querySelector('#query .color, #query .bold'))";
    let named = hand.task.contains("colored box") && !hand.task.contains("the colored box");
    let wanted = if named {
        format!("'{}'", hand.between("Click on the ", " colored")?)
    } else {
        format!("{wanted}.backgroundColor")
    };
    hand.click_found(&format!(
        "(wanted => all('#area .color').find(e => getComputedStyle(e).backgroundColor === wanted \
           || e.style.backgroundColor === wanted))({wanted})"
    ))
    .await
}

/// A shade is of the colour that it has most of.
pub(super) async fn click_shades(hand: &mut Hand) -> Done {
    let wanted = hand.between("shades of ", " and")?;
    let places = hand
        .look(&format!(
            "all('#area span').filter(e => {{ const c = getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number); \
               return ['red', 'green', 'blue'][c.indexOf(Math.max(...c.slice(0, 3)))] === '{wanted}' }}).map(mid)"
        ))
        .await?;
    let places: Vec<Place> =
        serde_json::from_value(places).map_err(|error| Trouble(error.to_string()))?;
    for place in places {
        hand.click(place).await?;
    }
    hand.press_named("Submit").await
}
