//! What moves, changes or is hidden while the clock runs.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Trouble;
use super::driver::{Done, Hand, Place};

/// Longer than any episode of these.
const WHOLE: Duration = Duration::from_secs(16);

async fn is_over(hand: &mut Hand) -> Result<bool, Trouble> {
    Ok(hand.look("WOB_DONE_GLOBAL").await? == true)
}

pub(super) async fn chase_circle(hand: &mut Hand) -> Done {
    let end = Instant::now() + WHOLE;
    while Instant::now() < end && !is_over(hand).await? {
        let place = hand.place("#circ").await?;
        hand.move_to(place).await?;
    }
    Ok(())
}

/// Clicks whatever is well in sight.
pub(super) async fn moving_items(hand: &mut Hand) -> Done {
    let end = Instant::now() + WHOLE;
    while Instant::now() < end && !is_over(hand).await? {
        let places = hand.places("#area_svg .item").await?;
        let is_in_sight = |(x, y): &&Place| (12.0..148.0).contains(x) && (60.0..205.0).contains(y);
        if let Some(place) = places.iter().find(is_in_sight) {
            hand.click(*place).await?;
        }
    }
    Ok(())
}

/// Goes over the field until it is warm, and around there until it is hot.
pub(super) async fn hot_cold(hand: &mut Hand) -> Done {
    let field = |step: usize, (left, right): (u32, u32), (top, bottom): (u32, u32)| -> Vec<Place> {
        let rows = (top..bottom).step_by(step);
        let row = move |y| {
            (left..right)
                .step_by(step)
                .map(move |x| (f64::from(x), f64::from(y)))
        };
        rows.flat_map(row).collect()
    };
    let mut near = None;
    for place in field(13, (6, 156), (56, 176)) {
        hand.move_to(place).await?;
        let said = hand.texts("#signal").await?.concat();
        if said == "WARM" || said == "HOT" {
            near = Some(place);
            break;
        }
    }
    let (x, y) = near.ok_or_else(|| Trouble("it is warm nowhere".to_owned()))?;
    for dy in [0, -3, 3, -6, 6, -9, 9] {
        for dx in [0, -3, 3, -6, 6, -9, 9] {
            let place = ((x + f64::from(dx)).max(4.0), y + f64::from(dy));
            hand.move_to(place).await?;
            if hand.texts("#signal").await?.concat() == "HOT" {
                return hand.click(place).await;
            }
        }
    }
    Err(Trouble("it is hot nowhere".to_owned()))
}

/// Watches which buttons light up, until none has for a while.
pub(super) async fn simon_says(hand: &mut Hand) -> Done {
    let (mut seen, mut lit) = (Vec::new(), None);
    let mut last = Instant::now();
    while seen.is_empty() || last.elapsed() < Duration::from_millis(1_200) {
        let now = hand
            .look("all('#area button.push').map(e => e.id)[0] ?? null")
            .await?;
        let now = now.as_str().map(str::to_owned);
        if now != lit {
            last = Instant::now();
            seen.extend(now.clone());
            lit = now;
        }
        if last.elapsed() > WHOLE {
            return Err(Trouble("nothing lights up".to_owned()));
        }
        sleep(Duration::from_millis(10)).await;
    }
    for id in seen {
        hand.click_on(&format!("#{id}")).await?;
    }
    Ok(())
}

/// Buys in the moment after the price has become low enough.
pub(super) async fn stock_market(hand: &mut Hand) -> Done {
    let bound = hand
        .task
        .split("less than $")
        .nth(1)
        .map(|words| words.trim_end_matches('.'));
    let bound: f64 = bound
        .and_then(|words| words.parse().ok())
        .ok_or_else(|| hand.unread())?;
    let buy = hand.place("#buy").await?;
    hand.move_to(buy).await?;
    let end = Instant::now() + WHOLE;
    while Instant::now() < end {
        let price = hand.texts("#stock-price").await?.concat();
        let price: Option<f64> = price.trim_start_matches('$').parse().ok();
        if price.is_some_and(|price| price <= bound) {
            return hand.click(buy).await;
        }
    }
    Err(Trouble("the price never fell".to_owned()))
}
