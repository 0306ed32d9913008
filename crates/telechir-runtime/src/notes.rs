//! What a result says in one line besides the output of its actions: why the screen had not settled,
//! that nothing changed, and which windows opened, closed or became active.

use telechir_device::Window;
use telechir_protocol::{Action, ActionKind, ComputerCall, Settling, UnsettledReason};

/// More windows than this are counted, not named.
const MAX_NAMED: usize = 3;
/// Maximum length of a title in characters.
const MAX_TITLE_CHARS: usize = 60;

/// Why a screenshot may be outdated soon, or that it shows no effect of a call's input.
pub(crate) fn of_settling(call: &ComputerCall, settling: &Settling) -> Option<String> {
    let waited = || {
        format!(
            "{:.1} s",
            std::time::Duration::from_millis(settling.settle_ms).as_secs_f64()
        )
    };
    let note = match settling.unsettled {
        Some(UnsettledReason::StillChanging) => {
            format!("The screen was still changing after {}.", waited())
        }
        Some(UnsettledReason::Busy) => {
            format!("The program was still working after {}.", waited())
        }
        Some(UnsettledReason::TimerPending) => {
            format!(
                "The program was still waiting for a timer after {}.",
                waited()
            )
        }
        Some(UnsettledReason::Loading) => {
            format!("The page was still loading after {}.", waited())
        }
        // The rest of the screen has settled, and the region is in the result.
        Some(UnsettledReason::Animated) => return None,
        None => {
            let has_input = call.actions.iter().any(is_input);
            let is_same = has_input && settling.identical_to.is_some();
            return is_same.then(|| "Nothing changed on the screen.".to_owned());
        }
    };
    Some(format!("{note} It may look different by now."))
}

fn is_input(action: &Action) -> bool {
    matches!(
        action.kind(),
        ActionKind::Click
            | ActionKind::Drag
            | ActionKind::Scroll
            | ActionKind::Type
            | ActionKind::Key
    )
}

/// The differences between two lists of windows; none if there are none. `reported` is what the result
/// says already: windows in it are not named again.
pub(crate) fn of_windows(before: &[Window], now: &[Window], reported: &str) -> Option<String> {
    let has = |list: &[Window], window: &Window| list.iter().any(|one| one.id == window.id);
    let is_known = |window: &&Window| reported.contains(&format!("{} \"", window.id));
    let opened: Vec<&Window> = now
        .iter()
        .filter(|window| !has(before, window) && !is_known(window))
        .collect();
    let closed: Vec<&Window> = before
        .iter()
        .filter(|window| !has(now, window) && !is_known(window))
        .collect();
    let active_id = |list: &[Window]| {
        let active = list.iter().find(|window| window.is_active);
        active.map(|window| window.id.clone())
    };
    let mut notes = Vec::new();
    for window in opened.iter().take(MAX_NAMED) {
        let what = if window.is_dialog { "Dialog" } else { "Window" };
        let active = if window.is_active {
            " and is active"
        } else {
            ""
        };
        notes.push(format!("{what} {} opened{active}.", name(window)));
    }
    notes.extend(others(&opened, "opened"));
    for window in closed.iter().take(MAX_NAMED) {
        notes.push(format!("Window {} closed.", name(window)));
    }
    notes.extend(others(&closed, "closed"));
    let active = now.iter().find(|window| window.is_active);
    if active_id(before) != active_id(now)
        && let Some(window) = active.filter(|window| has(before, window) && !is_known(window))
    {
        notes.push(format!("Window {} is active.", name(window)));
    }
    (!notes.is_empty()).then(|| notes.join(" "))
}

fn others(windows: &[&Window], what: &str) -> Option<String> {
    let more = windows
        .len()
        .checked_sub(MAX_NAMED)
        .filter(|more| *more > 0)?;
    Some(format!("{more} more {what}."))
}

/// The id and the title. A title is a program's own text: it stays on one line.
fn name(window: &Window) -> String {
    let title = window.title.chars().map(|c| match c {
        '"' => '\'',
        c if c.is_control() => ' ',
        c => c,
    });
    let mut title: String = title.take(MAX_TITLE_CHARS + 1).collect();
    if title.chars().count() > MAX_TITLE_CHARS {
        title.pop();
        title.push('…');
    }
    format!("{} \"{title}\"", window.id)
}

#[cfg(test)]
mod tests {
    use telechir_device::ScreenBounds;
    use telechir_protocol::{Chord, FrameId};

    use super::*;

    const BOUNDS: ScreenBounds = ScreenBounds {
        x: 0,
        y: 0,
        width: 10,
        height: 10,
    };

    fn window(id: &str, title: &str) -> Window {
        Window {
            id: id.to_owned(),
            title: title.to_owned(),
            class: String::new(),
            instance: String::new(),
            bounds: BOUNDS,
            content: BOUNDS,
            is_active: false,
            is_dialog: false,
            is_shown: true,
        }
    }

    fn active(window: Window) -> Window {
        Window {
            is_active: true,
            ..window
        }
    }

    fn dialog(window: Window) -> Window {
        Window {
            is_dialog: true,
            ..window
        }
    }

    #[test]
    fn unchanged_windows_are_not_reported() {
        let windows = [active(window("w1", "Editor")), window("w2", "Files")];
        assert_eq!(of_windows(&windows, &windows, ""), None);
    }

    #[test]
    fn names_windows_that_open_close_and_become_active() {
        let editor = window("w1", "Editor");
        let save = dialog(active(window("w2", "Save \"As\"\n")));
        let both = [editor.clone(), save.clone()];
        assert_eq!(
            of_windows(&[active(editor.clone())], &both, "").as_deref(),
            Some("Dialog w2 \"Save 'As' \" opened and is active.")
        );
        assert_eq!(
            of_windows(&both, &[active(editor)], "").as_deref(),
            Some("Window w2 \"Save 'As' \" closed. Window w1 \"Editor\" is active.")
        );
    }

    #[test]
    fn what_the_result_contains_already_is_not_repeated() {
        let editor = active(window("w1", "Editor"));
        let reported = "Mousepad was started and shows w1 \"Editor\".";
        assert_eq!(of_windows(&[], &[editor], reported), None);
    }

    #[test]
    fn many_windows_are_counted() {
        let windows: Vec<Window> = (1..=5).map(|n| window(&format!("w{n}"), "x")).collect();
        let note = of_windows(&[], &windows, "").unwrap();
        assert!(
            note.ends_with("Window w3 \"x\" opened. 2 more opened."),
            "{note}"
        );
    }

    fn call(action: Action) -> ComputerCall {
        ComputerCall::new("c1", vec![action])
    }

    #[test]
    fn busy_programs_and_missing_effects_are_reported() {
        let key = call(Action::Key {
            chord: Chord::parse("Down").unwrap(),
            repeat: 1,
        });
        let settled = Settling {
            settled: true,
            settle_ms: 30,
            unsettled: None,
            animated_region: None,
            identical_to: None,
        };
        assert_eq!(of_settling(&key, &settled), None);
        let same = Settling {
            identical_to: Some(FrameId::new("frame_1")),
            ..settled.clone()
        };
        let nothing = "Nothing changed on the screen.";
        assert_eq!(of_settling(&key, &same).as_deref(), Some(nothing));
        assert_eq!(of_settling(&call(Action::Screenshot), &same), None);
        let busy = Settling {
            settled: false,
            settle_ms: 3_004,
            unsettled: Some(UnsettledReason::Busy),
            ..settled
        };
        assert_eq!(
            of_settling(&key, &busy).as_deref(),
            Some("The program was still working after 3.0 s. It may look different by now.")
        );
    }
}
