//! Cards, tickets, numbers, dishes and a game.

use super::Trouble;
use super::choosing::number;
use super::driver::{Done, Hand};

/// Turns each card, then the greatest again.
pub(super) async fn find_greatest(hand: &mut Hand) -> Done {
    let cards = hand.places(".card").await?;
    let mut seen = Vec::new();
    for &place in &cards {
        hand.click(place).await?;
        seen.push((number(hand, ".card:not(.hidden)").await?, place));
    }
    let greatest = seen.into_iter().max_by_key(|(number, _)| *number);
    let (_, place) = greatest.ok_or_else(|| Trouble("no cards".to_owned()))?;
    hand.click(place).await?;
    hand.press_named("Submit").await
}

/// By the price on the button or the time beside it.
pub(super) async fn buy_ticket(hand: &mut Hand) -> Done {
    let by_price = hand.task.contains("cost");
    let is_most = hand.task.contains("most expensive") || hand.task.contains("longest");
    let amounts = if by_price {
        ".buy-ticket"
    } else {
        ".time-duration"
    };
    let nth = extreme(hand, amounts, is_most).await?;
    hand.click_found(&format!("all('.buy-ticket')[{nth}]"))
        .await
}

/// Which of these has the most or the least: a number, or hours and minutes.
pub(super) async fn extreme(hand: &mut Hand, css: &str, is_most: bool) -> Result<usize, Trouble> {
    let texts = hand.texts(css).await?;
    let amounts = texts.iter().map(|text| {
        let numbers = text.split(|c: char| !c.is_ascii_digit());
        let numbers = numbers.filter_map(|number| number.parse::<i64>().ok());
        numbers.fold(0, |all, number| all * 60 + number)
    });
    let signed = amounts.map(|amount| if is_most { amount } else { -amount });
    let found = signed.enumerate().max_by_key(|(_, amount)| *amount);
    let (nth, _) = found.ok_or_else(|| Trouble(format!("nothing is {css}")))?;
    Ok(nth)
}

pub(super) async fn generate_number(hand: &mut Hand) -> Done {
    let bound = |words: &str| {
        let rest = hand.task.split_once(words)?.1;
        rest.split(',').next()?.parse::<i64>().ok()
    };
    let (less, greater) = (bound("less than "), bound("greater than "));
    let (odd, even) = (hand.task.contains("an odd"), hand.task.contains("an even"));
    for _ in 0..100 {
        hand.press_named("Generate").await?;
        let number = number(hand, "#display-number").await?;
        let fits = less.is_none_or(|less| number < less)
            && greater.is_none_or(|greater| number > greater)
            && !(odd && number % 2 == 0)
            && !(even && number % 2 != 0);
        if fits {
            return hand.press_named("Submit").await;
        }
    }
    Err(hand.unread())
}

/// Halves what is left, by what the page says of each guess.
pub(super) async fn guess_number(hand: &mut Hand) -> Done {
    let (mut least, mut most) = (0, 9);
    while least <= most {
        let guess = i64::midpoint(least, most);
        hand.fill_at("#tt", &guess.to_string()).await?;
        hand.press_named("Submit").await?;
        let said = hand.texts("#feedback div").await?.concat();
        if said.contains("lower") {
            most = guess - 1;
        } else if said.contains("higher") {
            least = guess + 1;
        } else {
            return Ok(());
        }
    }
    Err(Trouble("no number is left".to_owned()))
}

pub(super) async fn odd_or_even(hand: &mut Hand) -> Done {
    for (nth, text) in hand.texts(".display-number").await?.iter().enumerate() {
        let number: i64 = text.parse().map_err(|_| hand.unread())?;
        let kind = if number % 2 == 0 { "even" } else { "odd" };
        hand.click_found(&format!("all('.{kind}')[{nth}]")).await?;
    }
    hand.press_named("Submit").await
}

/// One of each that is named, or so many of a kind.
pub(super) async fn order_food(hand: &mut Hand) -> Done {
    let add = |of: &str| {
        format!(
            "[...document.querySelectorAll('.food-item')].find(e => {of}).querySelector('.add')"
        )
    };
    if let Some((count, kind)) = hand.task.clone().split_once(" items that are ") {
        let count: usize = count
            .trim_start_matches("Order ")
            .parse()
            .map_err(|_| hand.unread())?;
        let dish = add(&format!("e.querySelector('img[alt=\"{kind}\"]')"));
        for _ in 0..count {
            hand.wheel_and_click(&dish).await?;
        }
    } else {
        let names = hand.task.clone();
        let names = names.split_once(": ").ok_or_else(|| hand.unread())?.1;
        for name in names.split(", ") {
            let name = name.trim();
            let dish = add(&format!(
                "e.querySelector('.item-name').textContent.trim() === {name:?}"
            ));
            hand.wheel_and_click(&dish).await?;
        }
    }
    hand.wheel_and_click("document.querySelector('#submit-order button')")
        .await
}

/// The board as it is drawn: 1 ours, -1 theirs.
async fn board(hand: &mut Hand) -> Result<[i8; 9], Trouble> {
    let told = hand
        .look("all('.ttt-row span').map(e => e.classList.contains('mark-x') ? 1 : e.classList.contains('mark-o') ? -1 : 0)")
        .await?;
    serde_json::from_value(told).map_err(|error| Trouble(error.to_string()))
}

/// Plays what promises most against one who often moves at random. Some games cannot be won.
pub(super) async fn tic_tac_toe(hand: &mut Hand) -> Done {
    for _ in 0..5 {
        let board = board(hand).await?;
        let moves = free(&board).map(|at| (at, theirs(&with(&board, at, 1))));
        let best = moves.max_by(|one, other| one.1.total_cmp(&other.1));
        let Some((at, _)) = best else { return Ok(()) };
        hand.click_on(&format!("#ttt-{at}")).await?;
        if hand.look("WOB_DONE_GLOBAL").await? == true {
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

/// What the page gives for a board that is decided.
fn decided(board: &[i8; 9]) -> Option<f64> {
    match () {
        () if has_won(board, 1) => Some(1.0),
        () if has_won(board, -1) => Some(-0.75),
        () if free(board).next().is_none() => Some(-0.5),
        () => None,
    }
}

/// What a board promises when we are to move.
fn ours(board: &[i8; 9]) -> f64 {
    let best = || {
        free(board)
            .map(|at| theirs(&with(board, at, 1)))
            .reduce(f64::max)
    };
    decided(board).or_else(best).unwrap_or(-0.5)
}

/// The same when they are: at random half of the time, otherwise what wins or keeps us from it.
fn theirs(board: &[i8; 9]) -> f64 {
    if let Some(reward) = decided(board) {
        return reward;
    }
    let worth: Vec<(usize, f64)> = free(board)
        .map(|at| (at, ours(&with(board, at, -1))))
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
