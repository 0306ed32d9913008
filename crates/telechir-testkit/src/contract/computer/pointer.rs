//! Pointer, buttons and wheel arrive as requested.

use std::time::{Duration, Instant};

use telechir_device::{Computer, ScreenAction, ScreenPoint};
use telechir_protocol::{Action, Button, ClickCount, Modifier, ScrollUnit};

use super::perform::{at, perform, point, seen_all_released, target};
use super::seen::{ObservedInput, StillPressed, Witness};

fn has_motion_at(seen: &[ObservedInput], pixel: ScreenPoint) -> bool {
    seen.contains(&ObservedInput::Motion { at: at(pixel) })
}

fn downs(seen: &[ObservedInput]) -> Vec<(Button, (u32, u32), Vec<Modifier>)> {
    let down = |seen: &ObservedInput| {
        let ObservedInput::ButtonDown {
            button,
            at,
            modifiers,
        } = seen
        else {
            return None;
        };
        Some((*button, *at, modifiers.clone()))
    };
    seen.iter().filter_map(down).collect()
}

fn click_at(pixel: Option<ScreenPoint>, count: ClickCount) -> ScreenAction {
    Action::Click {
        at: pixel.map(target),
        button: Button::Left,
        count,
        modifiers: Vec::new(),
    }
}

/// The pointer arrives at the exact pixel.
pub async fn a_move_arrives_at_its_target(device: &mut impl Computer, witness: &mut impl Witness) {
    for (x, y) in [(5, 7), (390, 290), (200, 11)] {
        let pixel = point(witness, x, y);
        perform(device, Action::Move { at: target(pixel) }).await;
        let seen = witness.observed(&|seen| has_motion_at(seen, pixel)).await;
        assert!(has_motion_at(&seen, pixel), "{pixel:?} is not in {seen:?}");
    }
}

/// Hovering moves the pointer and presses nothing.
pub async fn a_hover_arrives_at_its_target(device: &mut impl Computer, witness: &mut impl Witness) {
    let pixel = point(witness, 33, 44);
    perform(device, Action::Hover { at: target(pixel) }).await;
    let seen = witness.observed(&|seen| has_motion_at(seen, pixel)).await;
    assert!(has_motion_at(&seen, pixel), "{seen:?}");
    assert_eq!(downs(&seen), []);
}

/// One press and one release of that button at that point, for every button.
pub async fn a_click_presses_and_releases_each_button(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let buttons = [
        Button::Left,
        Button::Middle,
        Button::Right,
        Button::Back,
        Button::Forward,
    ];
    for (offset, button) in (0..).zip(buttons) {
        witness.forget().await;
        let pixel = point(witness, 60 + offset * 10, 70);
        let count = ClickCount::Single;
        let action = Action::Click {
            at: Some(target(pixel)),
            button,
            count,
            modifiers: vec![],
        };
        perform(device, action).await;
        let seen = seen_all_released(witness, 1).await;
        assert_eq!(downs(&seen), [(button, at(pixel), vec![])]);
    }
}

/// A double click is two presses, a triple click three, all at the same point.
pub async fn a_multiple_click_is_counted(device: &mut impl Computer, witness: &mut impl Witness) {
    for (count, times) in [(ClickCount::Double, 2), (ClickCount::Triple, 3)] {
        witness.forget().await;
        let pixel = point(witness, 100, 100);
        perform(device, click_at(Some(pixel), count)).await;
        let seen = seen_all_released(witness, times).await;
        assert_eq!(downs(&seen), vec![(Button::Left, at(pixel), vec![]); times]);
    }
}

/// The modifiers are pressed during the click and released afterwards.
pub async fn a_click_carries_its_modifiers(device: &mut impl Computer, witness: &mut impl Witness) {
    let pixel = point(witness, 80, 90);
    let modifiers = vec![Modifier::Ctrl, Modifier::Shift];
    let action = Action::Click {
        at: Some(target(pixel)),
        button: Button::Left,
        count: ClickCount::Single,
        modifiers: modifiers.clone(),
    };
    perform(device, action).await;
    let seen = seen_all_released(witness, 3).await;
    assert_eq!(downs(&seen), [(Button::Left, at(pixel), modifiers)]);
}

/// Without a target, the pointer's position is meant.
pub async fn a_click_without_a_target_is_at_the_pointer(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let pixel = point(witness, 123, 145);
    perform(device, Action::Move { at: target(pixel) }).await;
    perform(device, click_at(None, ClickCount::Single)).await;
    let seen = seen_all_released(witness, 1).await;
    assert_eq!(downs(&seen), [(Button::Left, at(pixel), vec![])]);
}

/// `MouseDown` is meant to last over other actions.
pub async fn a_mouse_button_stays_down_until_mouse_up(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let (from, to) = (point(witness, 50, 50), point(witness, 90, 60));
    let button = Button::Left;
    perform(
        device,
        Action::MouseDown {
            at: Some(target(from)),
            button,
        },
    )
    .await;
    perform(device, Action::Move { at: target(to) }).await;
    let seen = witness.observed(&|seen| has_motion_at(seen, to)).await;
    assert_eq!(StillPressed::after(&seen).buttons, [button], "{seen:?}");
    perform(device, Action::MouseUp { at: None, button }).await;
    let seen = seen_all_released(witness, 1).await;
    assert!(
        seen.contains(&ObservedInput::ButtonUp { button, at: at(to) }),
        "{seen:?}"
    );
}

/// Press at the first point, motions between the points, release at the last.
pub async fn a_drag_passes_through_its_path(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let path = [(20, 20), (220, 20), (220, 180)].map(|(x, y)| point(witness, x, y));
    perform(device, drag(&path, None)).await;
    let seen = seen_all_released(witness, 1).await;
    let down = seen
        .iter()
        .position(ObservedInput::is_press)
        .unwrap_or(seen.len());
    let during = &seen[down..];
    assert_eq!(downs(during), [(Button::Left, at(path[0]), vec![])]);
    assert!(
        has_motion_at(during, path[1]),
        "the corner is missing: {during:?}"
    );
    let motions = during
        .iter()
        .filter(|seen| matches!(seen, ObservedInput::Motion { .. }))
        .count();
    assert!(
        motions >= 10,
        "programs need the motions of a drag: {during:?}"
    );
    let up = ObservedInput::ButtonUp {
        button: Button::Left,
        at: at(path[2]),
    };
    assert!(during.contains(&up), "{during:?}");
}

/// A path of one point starts at the pointer's position.
pub async fn a_drag_with_one_point_starts_at_the_pointer(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let (from, to) = (point(witness, 30, 40), point(witness, 130, 40));
    perform(device, Action::Move { at: target(from) }).await;
    perform(device, drag(&[to], None)).await;
    let seen = seen_all_released(witness, 1).await;
    assert_eq!(downs(&seen), [(Button::Left, at(from), vec![])]);
    let up = ObservedInput::ButtonUp {
        button: Button::Left,
        at: at(to),
    };
    assert!(seen.contains(&up), "{seen:?}");
}

/// A drag with a duration takes that long.
pub async fn a_drag_lasts_its_duration(device: &mut impl Computer, witness: &mut impl Witness) {
    let path = [(10, 10), (110, 10)].map(|(x, y)| point(witness, x, y));
    let duration = Duration::from_millis(250);
    let start = Instant::now();
    perform(device, drag(&path, Some(duration))).await;
    let took = start.elapsed();
    assert!(took >= duration, "it took {took:?}");
    seen_all_released(witness, 1).await;
}

fn drag(path: &[ScreenPoint], duration: Option<Duration>) -> ScreenAction {
    let path = path.iter().copied().map(target).collect();
    Action::Drag {
        path,
        button: Button::Left,
        modifiers: vec![],
        duration,
    }
}

/// The total distance of the wheel.
fn turned(seen: &[ObservedInput]) -> (f64, f64) {
    seen.iter().fold((0.0, 0.0), |sum, seen| {
        let ObservedInput::Scroll { dx, dy, .. } = seen else {
            return sum;
        };
        (sum.0 + dx, sum.1 + dy)
    })
}

fn is_near(one: (f64, f64), other: (f64, f64)) -> bool {
    (one.0 - other.0).abs() < 0.5 && (one.1 - other.1).abs() < 0.5
}

/// Down and right are positive, and a click is a click.
pub async fn a_scroll_turns_the_wheel_in_its_direction(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    for (dx, dy) in [(0.0, 3.0), (0.0, -2.0), (2.0, 0.0), (-1.0, 0.0)] {
        witness.forget().await;
        let at = Some(target(point(witness, 150, 150)));
        let unit = ScrollUnit::Clicks;
        perform(
            device,
            Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers: vec![],
            },
        )
        .await;
        let seen = witness
            .observed(&|seen| is_near(turned(seen), (dx, dy)))
            .await;
        assert!(
            is_near(turned(&seen), (dx, dy)),
            "({dx}, {dy}) became {seen:?}"
        );
    }
}

/// The modifiers are pressed while the wheel turns and released afterwards.
pub async fn a_scroll_carries_its_modifiers(
    device: &mut impl Computer,
    witness: &mut impl Witness,
) {
    let at = Some(target(point(witness, 150, 150)));
    let modifiers = vec![Modifier::Shift];
    let unit = ScrollUnit::Clicks;
    let action = Action::Scroll {
        at,
        dx: 0.0,
        dy: 1.0,
        unit,
        modifiers: modifiers.clone(),
    };
    perform(device, action).await;
    let is_scroll = |seen: &ObservedInput| matches!(seen, ObservedInput::Scroll { .. });
    let seen = witness
        .observed(&|seen| seen.iter().any(is_scroll) && StillPressed::after(seen).is_empty())
        .await;
    let with = seen.iter().find_map(|seen| {
        let ObservedInput::Scroll { modifiers, .. } = seen else {
            return None;
        };
        Some(modifiers.clone())
    });
    assert_eq!(with, Some(modifiers), "{seen:?}");
    assert!(StillPressed::after(&seen).is_empty(), "{seen:?}");
}
