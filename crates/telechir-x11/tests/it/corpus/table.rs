//! Renders the corpus results as a Markdown table.

use std::fmt::Write as _;

use super::fixture::Outcome;

/// One row per application and one line per screenshot that was not final.
pub(super) fn table(outcomes: &[Outcome]) -> String {
    let mut text = "| application | actions | final | median | p90 | longest |\n\
                    |---|---|---|---|---|---|\n"
        .to_owned();
    let mut apps: Vec<&str> = outcomes.iter().map(|one| one.app).collect();
    apps.dedup();
    for app in apps {
        let of_it: Vec<&Outcome> = outcomes.iter().filter(|one| one.app == app).collect();
        row(&mut text, app, &of_it);
    }
    row(&mut text, "all", &outcomes.iter().collect::<Vec<_>>());
    let announced = outcomes
        .iter()
        .filter(|one| !one.comes_later && !one.is_final());
    let later = outcomes.iter().filter(|one| one.comes_later);
    for (what, those) in [
        ("Not final", announced.collect::<Vec<_>>()),
        ("Unannounced effect", later.collect()),
    ] {
        for one in those {
            let waited = one.settled.waited.as_millis();
            let end = match one.off {
                None => "no later change".to_owned(),
                Some([left, top, right, bottom]) => {
                    format!("{}x{} pixels changed later", right - left, bottom - top)
                }
            };
            let _infallible = write!(
                text,
                "\n{what}: {}, {}: captured after {waited} ms, {end}.",
                one.app, one.name
            );
        }
    }
    text
}

fn row(text: &mut String, app: &str, outcomes: &[&Outcome]) {
    let known: Vec<&&Outcome> = outcomes.iter().filter(|one| !one.comes_later).collect();
    let final_ones = known.iter().filter(|one| one.is_final()).count();
    let mut waits: Vec<u128> = known
        .iter()
        .map(|one| one.settled.waited.as_millis())
        .collect();
    waits.sort_unstable();
    let at = |percent: usize| {
        waits
            .get(waits.len().saturating_sub(1) * percent / 100)
            .copied()
            .unwrap_or(0)
    };
    let _infallible = writeln!(
        text,
        "| {app} | {} | {final_ones} ({} %) | {} ms | {} ms | {} ms |",
        known.len(),
        final_ones * 100 / known.len().max(1),
        at(50),
        at(90),
        at(100),
    );
}
