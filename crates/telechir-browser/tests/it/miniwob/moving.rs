//! Elements that move, change or are hidden during an episode.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::TaskError;
use super::driver::{Driver, PagePoint, TaskResult};

/// Longer than any episode of these tasks.
const EPISODE: Duration = Duration::from_secs(16);

async fn is_over(driver: &mut Driver) -> Result<bool, TaskError> {
    Ok(driver.evaluate("WOB_DONE_GLOBAL").await? == true)
}

pub(super) async fn chase_circle(driver: &mut Driver) -> TaskResult {
    let end = Instant::now() + EPISODE;
    while Instant::now() < end && !is_over(driver).await? {
        let point = driver.point("#circ").await?;
        driver.move_to(point).await?;
    }
    Ok(())
}

/// Clicks whatever is fully visible.
pub(super) async fn moving_items(driver: &mut Driver) -> TaskResult {
    let end = Instant::now() + EPISODE;
    while Instant::now() < end && !is_over(driver).await? {
        let points = driver.points("#area_svg .item").await?;
        let is_in_sight =
            |(x, y): &&PagePoint| (12.0..148.0).contains(x) && (60.0..205.0).contains(y);
        if let Some(point) = points.iter().find(is_in_sight) {
            driver.click(*point).await?;
        }
    }
    Ok(())
}

/// Searches the field until it is warm, then nearby until it is hot.
pub(super) async fn hot_cold(driver: &mut Driver) -> TaskResult {
    let field =
        |step: usize, (left, right): (u32, u32), (top, bottom): (u32, u32)| -> Vec<PagePoint> {
            let rows = (top..bottom).step_by(step);
            let row = move |y| {
                (left..right)
                    .step_by(step)
                    .map(move |x| (f64::from(x), f64::from(y)))
            };
            rows.flat_map(row).collect()
        };
    let mut near = None;
    for point in field(13, (6, 156), (56, 176)) {
        driver.move_to(point).await?;
        let text = driver.texts("#signal").await?.concat();
        if text == "WARM" || text == "HOT" {
            near = Some(point);
            break;
        }
    }
    let (x, y) = near.ok_or_else(|| TaskError("it is warm nowhere".to_owned()))?;
    for dy in [0, -3, 3, -6, 6, -9, 9] {
        for dx in [0, -3, 3, -6, 6, -9, 9] {
            let point = ((x + f64::from(dx)).max(4.0), y + f64::from(dy));
            driver.move_to(point).await?;
            if driver.texts("#signal").await?.concat() == "HOT" {
                return driver.click(point).await;
            }
        }
    }
    Err(TaskError("it is hot nowhere".to_owned()))
}

/// Records which buttons light up, until none has for a while.
pub(super) async fn simon_says(driver: &mut Driver) -> TaskResult {
    let (mut seen, mut lit) = (Vec::new(), None);
    let mut last = Instant::now();
    while seen.is_empty() || last.elapsed() < Duration::from_millis(1_200) {
        let now = driver
            .evaluate("all('#area button.push').map(e => e.id)[0] ?? null")
            .await?;
        let now = now.as_str().map(str::to_owned);
        if now != lit {
            last = Instant::now();
            seen.extend(now.clone());
            lit = now;
        }
        if last.elapsed() > EPISODE {
            return Err(TaskError("nothing lights up".to_owned()));
        }
        sleep(Duration::from_millis(10)).await;
    }
    for id in seen {
        driver.click_on(&format!("#{id}")).await?;
    }
    Ok(())
}

/// Buys as soon as the price is low enough.
pub(super) async fn stock_market(driver: &mut Driver) -> TaskResult {
    let bound = driver
        .task
        .split("less than $")
        .nth(1)
        .map(|text| text.trim_end_matches('.'));
    let bound: f64 = bound
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| driver.unknown_task())?;
    let buy = driver.point("#buy").await?;
    driver.move_to(buy).await?;
    let end = Instant::now() + EPISODE;
    while Instant::now() < end {
        let price = driver.texts("#stock-price").await?.concat();
        let price: Option<f64> = price.trim_start_matches('$').parse().ok();
        if price.is_some_and(|price| price <= bound) {
            return driver.click(buy).await;
        }
    }
    Err(TaskError("the price never fell".to_owned()))
}
