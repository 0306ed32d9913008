//! Dates, times and a day's calendar.

use super::Trouble;
use super::driver::{Done, Hand};
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

/// A month, a day and a year.
type Date = (usize, u32, u32);

/// The date in words such as `02/28/2016`.
fn read_date(words: &str) -> Option<Date> {
    let parts: Vec<u32> = words
        .split('/')
        .filter_map(|part| part.parse().ok())
        .collect();
    match parts[..] {
        [month @ 1..=12, day, year] => Some((month as usize, day, year)),
        _ => None,
    }
}

fn date(hand: &Hand, before: &str) -> Result<Date, Trouble> {
    let words = hand.between(before, " as the date")?;
    read_date(&words).ok_or_else(|| hand.unread())
}

pub(super) async fn choose_date(hand: &mut Hand) -> Done {
    let date = date(hand, "Select ")?;
    pick(hand, date).await?;
    hand.press_named("Submit").await
}

/// Opens the calendar and goes back month by month.
async fn pick(hand: &mut Hand, (month, day, year): Date) -> Done {
    let wanted = format!("{} {year}", MONTHS[month - 1]);
    hand.click_on("#datepicker").await?;
    hand.until("all('.ui-datepicker-title').length").await?;
    hand.at_rest("#ui-datepicker-div").await?;
    for _ in 0..12 {
        let shown = hand.texts(".ui-datepicker-title").await?.concat();
        if shown.replace('\u{a0}', " ") == wanted {
            break;
        }
        hand.click_on(".ui-datepicker-prev").await?;
        hand.until(&format!(
            "all('.ui-datepicker-title').map(e => e.textContent).join('') !== {shown:?}"
        ))
        .await?;
    }
    hand.click_found(&format!(
        "all('.ui-datepicker-calendar a').find(e => e.textContent === '{day}')"
    ))
    .await?;
    hand.until("!all('#ui-datepicker-div').length").await
}

/// Takes both cities from what is offered, the day from the calendar, and the best flight.
pub(super) async fn book_flight(hand: &mut Hand) -> Done {
    let (from, to) = (
        hand.between("flight from: ", " to: ")?,
        hand.between(" to: ", " on ")?,
    );
    let words = hand.task.rsplit(" on ").next().unwrap_or_default();
    let date = read_date(words.trim_end_matches('.')).ok_or_else(|| hand.unread())?;
    for (css, city) in [("#flight-from", from), ("#flight-to", to)] {
        hand.fill_at(css, &city).await?;
        hand.settle().await?;
        let item = format!(
            "all('.ui-menu-item').find(e => e.textContent.startsWith({city:?} + ' (') || e.textContent.endsWith('(' + {city:?} + ')'))"
        );
        hand.until(&item).await?;
        hand.at_rest(".ui-menu-item").await?;
        hand.wheel_and_click(&item).await?;
        hand.until("!all('.ui-menu-item').length").await?;
    }
    pick(hand, date).await?;
    hand.press_named("Search").await?;
    hand.until("all('.flight').length").await?;
    let by_price = hand.task.contains("cheapest");
    let amounts = if by_price {
        ".flight-price"
    } else {
        ".time-duration"
    };
    let nth = extreme(hand, amounts, false).await?;
    hand.wheel_and_click(&format!(
        "document.querySelectorAll('.flight-price')[{nth}]"
    ))
    .await
}

/// The field's first part takes the month, and each goes on to the next.
pub(super) async fn enter_date(hand: &mut Hand) -> Done {
    let (month, day, year) = date(hand, "Enter ")?;
    begin_of_field(hand).await?;
    hand.write(&format!("{month:02}{day:02}{year}")).await?;
    hand.press_named("Submit").await
}

pub(super) async fn enter_time(hand: &mut Hand) -> Done {
    let time = hand
        .between("Enter ", " as the time")?
        .replace('\u{202f}', " ");
    let (clock, half) = time.split_once(' ').ok_or_else(|| hand.unread())?;
    let (hours, minutes) = clock.split_once(':').ok_or_else(|| hand.unread())?;
    begin_of_field(hand).await?;
    hand.write(&format!("{hours:0>2}{minutes}{half}")).await?;
    hand.press_named("Submit").await
}

async fn begin_of_field(hand: &mut Hand) -> Done {
    let place = hand
        .look("(r => [r.x + 8, r.y + r.height / 2])(document.getElementById('tt').getBoundingClientRect())")
        .await?;
    let place = serde_json::from_value(place).map_err(|error| Trouble(error.to_string()))?;
    hand.click(place).await
}

/// Drags over free half-hours of the window that is asked for, names the event and creates it.
pub(super) async fn daily_calendar(hand: &mut Hand) -> Done {
    let length = hand.between("Create a ", " event")?;
    let halves = match length.split(' ').next() {
        Some("30" | "0.5") => 1,
        Some("60" | "1") => 2,
        Some("90" | "1.5") => 3,
        _ => return Err(hand.unread()),
    };
    let first = match hand.between("between ", " and")?.as_str() {
        "8AM" => 16,
        "12PM" => 24,
        "4PM" => 32,
        _ => return Err(hand.unread()),
    };
    let name = hand.quote(0)?;
    let half = |nth: usize| format!("document.getElementById('hh-{nth}')");
    for start in first..=first + 8 - halves {
        // The next hour's label, which no event covers.
        let hour = (start + halves - 1) / 2 + 1;
        hand.wheel_to(&format!(
            "document.querySelector('[data-hour=\"{hour}\"] .hour-label')"
        ))
        .await?;
        let bottom = hand.find(&half(start + halves - 1)).await?;
        let top = hand.find(&half(start)).await?;
        let is_free = format!(
            "[[{}, {}], [{}, {}]].every(([x, y]) => document.elementFromPoint(x, y)?.className === 'half-hour')",
            top.0, top.1, bottom.0, bottom.1
        );
        if hand.look(&is_free).await? != true {
            continue;
        }
        hand.press_down(top).await?;
        hand.move_to((top.0, top.1 + 3.0)).await?;
        hand.move_to(bottom).await?;
        // The event is drawn beside its half-hours and wants the release for itself.
        let event = hand.place("#newEvent").await?;
        hand.let_go(event).await?;
        hand.until("document.getElementById('event-name')").await?;
        hand.fill_at("#event-name", &name).await?;
        let create = "document.querySelector('#controls .create')";
        return hand.wheel_and_click(create).await;
    }
    Err(Trouble("no half-hour is free".to_owned()))
}
