//! Cards, tickets, numbers, dishes and a game.

use super::TaskError;
use super::choosing::number;
use super::driver::{Driver, TaskResult};

/// Turns each card, then the greatest again.
pub(super) async fn find_greatest(driver: &mut Driver) -> TaskResult {
    let cards = driver.points(".card").await?;
    let mut seen = Vec::new();
    for &point in &cards {
        driver.click(point).await?;
        seen.push((number(driver, ".card:not(.hidden)").await?, point));
    }
    let greatest = seen.into_iter().max_by_key(|(number, _)| *number);
    let (_, point) = greatest.ok_or_else(|| TaskError("no cards".to_owned()))?;
    driver.click(point).await?;
    driver.press_named("Submit").await
}

/// Selects by the price on the button or the time beside it.
pub(super) async fn buy_ticket(driver: &mut Driver) -> TaskResult {
    let by_price = driver.task.contains("cost");
    let is_maximum = driver.task.contains("most expensive") || driver.task.contains("longest");
    let amounts = if by_price {
        ".buy-ticket"
    } else {
        ".time-duration"
    };
    let nth = extreme(driver, amounts, is_maximum).await?;
    driver
        .click_found(&format!("all('.buy-ticket')[{nth}]"))
        .await
}

/// The index of the greatest or least amount: a number, or hours and minutes.
pub(super) async fn extreme(
    driver: &mut Driver,
    css: &str,
    is_maximum: bool,
) -> Result<usize, TaskError> {
    let texts = driver.texts(css).await?;
    let amounts = texts.iter().map(|text| {
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        let numbers = numbers.filter_map(|number| number.parse::<i64>().ok());
        numbers.fold(0, |all, number| all * 60 + number)
    });
    let signed = amounts.map(|amount| if is_maximum { amount } else { -amount });
    let found = signed.enumerate().max_by_key(|(_, amount)| *amount);
    let (nth, _) = found.ok_or_else(|| TaskError(format!("no element matches {css}")))?;
    Ok(nth)
}

pub(super) async fn generate_number(driver: &mut Driver) -> TaskResult {
    let bound = |text: &str| {
        let rest = driver.task.split_once(text)?.1;
        rest.split(',').next()?.parse::<i64>().ok()
    };
    let (less, greater) = (bound("less than "), bound("greater than "));
    let (odd, even) = (
        driver.task.contains("an odd"),
        driver.task.contains("an even"),
    );
    for _ in 0..100 {
        driver.press_named("Generate").await?;
        let number = number(driver, "#display-number").await?;
        let fits = less.is_none_or(|less| number < less)
            && greater.is_none_or(|greater| number > greater)
            && !(odd && number % 2 == 0)
            && !(even && number % 2 != 0);
        if fits {
            return driver.press_named("Submit").await;
        }
    }
    Err(driver.unknown_task())
}

/// Bisects by the feedback of the page.
pub(super) async fn guess_number(driver: &mut Driver) -> TaskResult {
    let (mut least, mut maximum) = (0, 9);
    while least <= maximum {
        let guess = i64::midpoint(least, maximum);
        driver.fill_at("#tt", &guess.to_string()).await?;
        driver.press_named("Submit").await?;
        let text = driver.texts("#feedback div").await?.concat();
        if text.contains("lower") {
            maximum = guess - 1;
        } else if text.contains("higher") {
            least = guess + 1;
        } else {
            return Ok(());
        }
    }
    Err(TaskError("no number is left".to_owned()))
}

pub(super) async fn odd_or_even(driver: &mut Driver) -> TaskResult {
    for (nth, text) in driver.texts(".display-number").await?.iter().enumerate() {
        let number: i64 = text.parse().map_err(|_| driver.unknown_task())?;
        let kind = if number % 2 == 0 { "even" } else { "odd" };
        driver
            .click_found(&format!("all('.{kind}')[{nth}]"))
            .await?;
    }
    driver.press_named("Submit").await
}

/// Orders one of each named dish, or a number of a kind.
pub(super) async fn order_food(driver: &mut Driver) -> TaskResult {
    let add = |of: &str| {
        format!(
            "[...document.querySelectorAll('.food-item')].find(e => {of}).querySelector('.add')"
        )
    };
    if let Some((count, kind)) = driver.task.clone().split_once(" items that are ") {
        let count: usize = count
            .trim_start_matches("Order ")
            .parse()
            .map_err(|_| driver.unknown_task())?;
        let dish = add(&format!("e.querySelector('img[alt=\"{kind}\"]')"));
        for _ in 0..count {
            driver.wheel_and_click(&dish).await?;
        }
    } else {
        let names = driver.task.clone();
        let names = names
            .split_once(": ")
            .ok_or_else(|| driver.unknown_task())?
            .1;
        for name in names.split(", ") {
            let name = name.trim();
            let dish = add(&format!(
                "e.querySelector('.item-name').textContent.trim() === {name:?}"
            ));
            driver.wheel_and_click(&dish).await?;
        }
    }
    driver
        .wheel_and_click("document.querySelector('#submit-order button')")
        .await
}

/// The board: 1 is our mark, -1 the opponent's.
async fn board(driver: &mut Driver) -> Result<[i8; 9], TaskError> {
    let value = driver
        .evaluate("all('.ttt-row span').map(e => e.classList.contains('mark-x') ? 1 : e.classList.contains('mark-o') ? -1 : 0)")
        .await?;
    serde_json::from_value(value).map_err(|error| TaskError(error.to_string()))
}

/// Plays the best expected move against an opponent that often moves at random. Some games cannot
/// be won.
pub(super) async fn tic_tac_toe(driver: &mut Driver) -> TaskResult {
    for _ in 0..5 {
        let board = board(driver).await?;
        let moves = free(&board).map(|at| (at, opponent(&with(&board, at, 1))));
        let best = moves.max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((at, _)) = best else { return Ok(()) };
        driver.click_on(&format!("#ttt-{at}")).await?;
        if driver.evaluate("WOB_DONE_GLOBAL").await? == true {
            return Ok(());
        }
    }
    Ok(())
}

const LINES: [[usize; 3]; 8] = [
    [0, 1, 2],
    [3, 4, 5],
    [6, 7, 8],
    [0, 3, 6],
    [1, 4, 7],
    [2, 5, 8],
    [0, 4, 8],
    [2, 4, 6],
];

fn free(board: &[i8; 9]) -> impl Iterator<Item = usize> {
    let board = *board;
    (0..9).filter(move |at| board[*at] == 0)
}

fn with(board: &[i8; 9], at: usize, who: i8) -> [i8; 9] {
    let mut board = *board;
    board[at] = who;
    board
}

fn has_won(board: &[i8; 9], who: i8) -> bool {
    LINES
        .iter()
        .any(|line| line.iter().all(|at| board[*at] == who))
}

/// The reward for a decided board.
fn decided(board: &[i8; 9]) -> Option<f64> {
    match () {
        () if has_won(board, 1) => Some(1.0),
        () if has_won(board, -1) => Some(-0.75),
        () if free(board).next().is_none() => Some(-0.5),
        () => None,
    }
}

/// The expected reward on our move.
fn own(board: &[i8; 9]) -> f64 {
    let best = || {
        free(board)
            .map(|at| opponent(&with(board, at, 1)))
            .reduce(f64::max)
    };
    decided(board).or_else(best).unwrap_or(-0.5)
}

/// The expected reward on the opponent's move: random half of the time, otherwise a winning or
/// blocking move.
fn opponent(board: &[i8; 9]) -> f64 {
    if let Some(reward) = decided(board) {
        return reward;
    }
    let worth: Vec<(usize, f64)> = free(board)
        .map(|at| (at, own(&with(board, at, -1))))
        .collect();
    let mean = worth.iter().map(|(_, worth)| worth).sum::<f64>() / worth.len() as f64;
    let needed = |who| {
        worth
            .iter()
            .find(|(at, _)| has_won(&with(board, *at, who), who))
    };
    let careful = needed(-1)
        .or_else(|| needed(1))
        .map_or(mean, |(_, worth)| *worth);
    0.55 * mean + 0.45 * careful
}
