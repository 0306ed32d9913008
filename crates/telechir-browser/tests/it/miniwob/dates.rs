//! Dates, times and a daily calendar.

use super::TaskError;
use super::driver::{Driver, TaskResult};
use super::lists::extreme;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Month, day and year.
type Date = (usize, u32, u32);

/// Parses a date such as `02/28/2016`.
fn read_date(text: &str) -> Option<Date> {
    let parts: Vec<u32> = text
        .split('/')
        .filter_map(|part| part.parse().ok())
        .collect();
    match parts[..] {
        [month @ 1..=12, day, year] => Some((month as usize, day, year)),
        _ => None,
    }
}

fn date(driver: &Driver, before: &str) -> Result<Date, TaskError> {
    let text = driver.between(before, " as the date")?;
    read_date(&text).ok_or_else(|| driver.unknown_task())
}

pub(super) async fn choose_date(driver: &mut Driver) -> TaskResult {
    let date = date(driver, "Select ")?;
    pick(driver, date).await?;
    driver.press_named("Submit").await
}

/// Opens the calendar and goes back month by month.
async fn pick(driver: &mut Driver, (month, day, year): Date) -> TaskResult {
    let wanted = format!("{} {year}", MONTHS[month - 1]);
    driver.click_on("#datepicker").await?;
    driver.until("all('.ui-datepicker-title').length").await?;
    driver.until_still("#ui-datepicker-div").await?;
    for _ in 0..12 {
        let shown = driver.texts(".ui-datepicker-title").await?.concat();
        if shown.replace('\u{a0}', " ") == wanted {
            break;
        }
        driver.click_on(".ui-datepicker-prev").await?;
        driver
            .until(&format!(
                "all('.ui-datepicker-title').map(e => e.textContent).join('') !== {shown:?}"
            ))
            .await?;
    }
    driver
        .click_found(&format!(
            "all('.ui-datepicker-calendar a').find(e => e.textContent === '{day}')"
        ))
        .await?;
    driver.until("!all('#ui-datepicker-div').length").await
}

/// Selects both cities from the suggestions, the day in the calendar, and the best flight.
pub(super) async fn book_flight(driver: &mut Driver) -> TaskResult {
    let (from, to) = (
        driver.between("flight from: ", " to: ")?,
        driver.between(" to: ", " on ")?,
    );
    let text = driver.task.rsplit(" on ").next().unwrap_or_default();
    let date = read_date(text.trim_end_matches('.')).ok_or_else(|| driver.unknown_task())?;
    for (css, city) in [("#flight-from", from), ("#flight-to", to)] {
        driver.fill_at(css, &city).await?;
        driver.settle().await?;
        let item = format!(
            "all('.ui-menu-item').find(e => e.textContent.startsWith({city:?} + ' (') || e.textContent.endsWith('(' + {city:?} + ')'))"
        );
        driver.until(&item).await?;
        driver.until_still(".ui-menu-item").await?;
        driver.wheel_and_click(&item).await?;
        driver.until("!all('.ui-menu-item').length").await?;
    }
    pick(driver, date).await?;
    driver.press_named("Search").await?;
    driver.until("all('.flight').length").await?;
    let by_price = driver.task.contains("cheapest");
    let amounts = if by_price {
        ".flight-price"
    } else {
        ".time-duration"
    };
    let nth = extreme(driver, amounts, false).await?;
    driver
        .wheel_and_click(&format!(
            "document.querySelectorAll('.flight-price')[{nth}]"
        ))
        .await
}

/// The first part of the field takes the month, and each part moves to the next.
pub(super) async fn enter_date(driver: &mut Driver) -> TaskResult {
    let (month, day, year) = date(driver, "Enter ")?;
    begin_of_field(driver).await?;
    driver.write(&format!("{month:02}{day:02}{year}")).await?;
    driver.press_named("Submit").await
}

pub(super) async fn enter_time(driver: &mut Driver) -> TaskResult {
    let time = driver
        .between("Enter ", " as the time")?
        .replace('\u{202f}', " ");
    let (clock, half) = time.split_once(' ').ok_or_else(|| driver.unknown_task())?;
    let (hours, minutes) = clock.split_once(':').ok_or_else(|| driver.unknown_task())?;
    begin_of_field(driver).await?;
    driver.write(&format!("{hours:0>2}{minutes}{half}")).await?;
    driver.press_named("Submit").await
}

async fn begin_of_field(driver: &mut Driver) -> TaskResult {
    let point = driver
        .evaluate("(r => [r.x + 8, r.y + r.height / 2])(document.getElementById('tt').getBoundingClientRect())")
        .await?;
    let point = serde_json::from_value(point).map_err(|error| TaskError(error.to_string()))?;
    driver.click(point).await
}

/// Drags over free half-hours of the requested window, names the event and creates it.
pub(super) async fn daily_calendar(driver: &mut Driver) -> TaskResult {
    let length = driver.between("Create a ", " event")?;
    let halves = match length.split(' ').next() {
        Some("30" | "0.5") => 1,
        Some("60" | "1") => 2,
        Some("90" | "1.5") => 3,
        _ => return Err(driver.unknown_task()),
    };
    let first = match driver.between("between ", " and")?.as_str() {
        "8AM" => 16,
        "12PM" => 24,
        "4PM" => 32,
        _ => return Err(driver.unknown_task()),
    };
    let name = driver.quote(0)?;
    let half = |nth: usize| format!("document.getElementById('hh-{nth}')");
    for start in first..=first + 8 - halves {
        // The label of the next hour, which no event covers.
        let hour = (start + halves - 1) / 2 + 1;
        driver
            .wheel_to(&format!(
                "document.querySelector('[data-hour=\"{hour}\"] .hour-label')"
            ))
            .await?;
        let bottom = driver.find(&half(start + halves - 1)).await?;
        let top = driver.find(&half(start)).await?;
        let is_free = format!(
            "[[{}, {}], [{}, {}]].every(([x, y]) => document.elementFromPoint(x, y)?.className === 'half-hour')",
            top.0, top.1, bottom.0, bottom.1
        );
        if driver.evaluate(&is_free).await? != true {
            continue;
        }
        driver.press_down(top).await?;
        driver.move_to((top.0, top.1 + 3.0)).await?;
        driver.move_to(bottom).await?;
        // The event is drawn beside its half-hours and must receive the release.
        let event = driver.point("#newEvent").await?;
        driver.release_at(event).await?;
        driver
            .until("document.getElementById('event-name')")
            .await?;
        driver.fill_at("#event-name", &name).await?;
        let create = "document.querySelector('#controls .create')";
        return driver.wheel_and_click(create).await;
    }
    Err(TaskError("no half-hour is free".to_owned()))
}
