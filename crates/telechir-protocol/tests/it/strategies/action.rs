//! Strategies for actions, targets and chords.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use telechir_protocol::*;

use super::{json_value, name, number, odd_members, text};

pub(crate) fn space() -> impl Strategy<Value = Space> {
    prop_oneof![
        Just(Space::Screenshot),
        Just(Space::Thousandths),
        Just(Space::Screen)
    ]
}

pub(crate) fn point() -> impl Strategy<Value = Point> {
    (number(), number(), space()).prop_map(|(x, y, space)| Point { x, y, space })
}

pub(crate) fn frame() -> impl Strategy<Value = Option<FrameId>> {
    of(name().prop_map(FrameId::from))
}

pub(crate) fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        point().prop_map(Target::Point),
        (any::<u32>(), frame()).prop_map(|(n, frame)| Target::Label { n, frame }),
        (text(), frame()).prop_map(|(id, frame)| Target::Ref { id, frame }),
        named().prop_map(Target::Named),
    ]
}

fn named() -> impl Strategy<Value = NamedElement> {
    let encoded = || of(text());
    (encoded(), encoded(), encoded(), encoded())
        .prop_map(|(name, role, id, window)| NamedElement {
            name,
            role,
            id,
            window,
        })
        .prop_filter("one member identifies the element", |named| {
            named.name.is_some() || named.role.is_some() || named.id.is_some()
        })
}

pub(crate) fn region() -> impl Strategy<Value = Region> {
    (number(), number(), number(), number(), space()).prop_map(|(x0, y0, x1, y1, space)| Region {
        from: Point {
            x: x0,
            y: y0,
            space,
        },
        to: Point {
            x: x1,
            y: y1,
            space,
        },
    })
}

pub(crate) fn modifier() -> impl Strategy<Value = Modifier> {
    proptest::sample::select(Modifier::ALL.to_vec())
}

pub(crate) fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        modifier().prop_map(Key::Modifier),
        proptest::sample::select(NamedKey::ALL.to_vec()).prop_map(Key::Named),
        any::<char>().prop_map(Key::Char),
        "\\PC{1,9}".prop_map(Key::Other),
    ]
}

pub(crate) fn chord() -> impl Strategy<Value = Chord> {
    vec(key(), 1..4).prop_filter_map("all keys have names", Chord::new)
}

pub(crate) fn button() -> impl Strategy<Value = Button> {
    use Button::{Back, Forward, Left, Middle, Right};
    proptest::sample::select(vec![Left, Middle, Right, Back, Forward])
}

pub(crate) fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..100_000u64).prop_map(Duration::from_millis),
        (0..10_000_000_000u64).prop_map(Duration::from_nanos),
    ]
}

pub(crate) fn tab() -> impl Strategy<Value = Option<String>> {
    of(text())
}

pub(crate) fn pointer_action() -> BoxedStrategy<Action> {
    use ClickCount::{Double, Single, Triple};
    let counts = proptest::sample::select(vec![Single, Double, Triple]);
    let units = proptest::sample::select(vec![
        ScrollUnit::Clicks,
        ScrollUnit::Pixels,
        ScrollUnit::Thousandths,
    ]);
    let pressed = || vec(modifier(), 0..3);
    prop_oneof![
        target().prop_map(|at| Action::Move { at }),
        target().prop_map(|at| Action::Hover { at }),
        (of(target()), button(), counts, pressed()).prop_map(|(at, button, count, modifiers)| {
            Action::Click {
                at,
                button,
                count,
                modifiers,
            }
        }),
        (of(target()), button()).prop_map(|(at, button)| Action::MouseDown { at, button }),
        (of(target()), button()).prop_map(|(at, button)| Action::MouseUp { at, button }),
        (vec(target(), 1..4), button(), pressed(), of(duration())).prop_map(
            |(path, button, modifiers, duration)| Action::Drag {
                path,
                button,
                modifiers,
                duration
            }
        ),
        (of(target()), number(), number(), units, pressed()).prop_map(
            |(at, dx, dy, unit, modifiers)| Action::Scroll {
                at,
                dx,
                dy,
                unit,
                modifiers
            }
        ),
        (target(), of(duration())).prop_map(|(at, duration)| Action::LongPress { at, duration }),
        region().prop_map(|region| Action::Zoom { region }),
        Just(Action::Screenshot),
        Just(Action::CursorPosition),
    ]
    .boxed()
}

pub(crate) fn key_action() -> BoxedStrategy<Action> {
    prop_oneof![
        (text(), of(target()), any::<bool>(), any::<bool>()).prop_map(
            |(text, at, clear_first, submit)| Action::Type {
                text,
                at,
                clear_first,
                submit
            }
        ),
        (chord(), 1..9u32).prop_map(|(chord, repeat)| Action::Key { chord, repeat }),
        (chord(), duration()).prop_map(|(chord, duration)| Action::HoldKey { chord, duration }),
        chord().prop_map(|chord| Action::KeyDown { chord }),
        chord().prop_map(|chord| Action::KeyUp { chord }),
        of(duration()).prop_map(|duration| Action::Wait { duration }),
    ]
    .boxed()
}

fn wait_for() -> BoxedStrategy<Action> {
    let given = (of(text()), of(target()), any::<bool>(), of(text()));
    (given, any::<bool>(), of(duration()), tab())
        .prop_map(
            |((text, at, gone, url), idle, duration, tab)| Action::WaitFor {
                text,
                at,
                gone,
                url,
                idle,
                duration,
                tab,
            },
        )
        .boxed()
}

pub(crate) fn page_action() -> BoxedStrategy<Action> {
    prop_oneof![
        (text(), tab()).prop_map(|(url, tab)| Action::Navigate { url, tab }),
        tab().prop_map(|tab| Action::Back { tab }),
        tab().prop_map(|tab| Action::Forward { tab }),
        tab().prop_map(|tab| Action::Reload { tab }),
        tab().prop_map(|tab| Action::PageText { tab }),
        tab().prop_map(|tab| Action::ReadConsole { tab }),
        tab().prop_map(|tab| Action::ReadNetwork { tab }),
        (any::<u32>(), tab()).prop_map(|(request, tab)| Action::ReadRequest { request, tab }),
        (any::<bool>(), of(text()))
            .prop_map(|(accept, text)| Action::AnswerDialog { accept, text }),
        odd_members().prop_map(|settings| Action::Emulate { settings }),
        of(text()).prop_map(|url| Action::ListCookies { url }),
        vec(json_value(), 0..3).prop_map(|cookies| Action::SetCookies { cookies }),
        of(text()).prop_map(|url| Action::ClearCookies { url }),
        of(text()).prop_map(|path| Action::SaveStorageState { path }),
        text().prop_map(|path| Action::LoadStorageState { path }),
        (of(text()), tab()).prop_map(|(path, tab)| Action::SavePdf { path, tab }),
        target().prop_map(|at| Action::CaptureElement { at }),
        of(text()).prop_map(|query| Action::Search { query }),
        of(text()).prop_map(|url| Action::OpenBrowser { url }),
        of(text()).prop_map(|url| Action::NewTab { url }),
        Just(Action::ListTabs),
        text().prop_map(|tab| Action::SwitchTab { tab }),
        text().prop_map(|tab| Action::CloseTab { tab }),
        (tab(), of(any::<u32>()), of(target()), tab()).prop_map(|(filter, depth, root, tab)| {
            Action::ReadPage {
                filter,
                depth,
                root,
                tab,
            }
        }),
        (any::<bool>(), of(text())).prop_map(|(acts, intent)| Action::ObserveScreen {
            mode: if acts {
                ObserveMode::Grounding
            } else {
                ObserveMode::Understanding
            },
            intent,
        }),
        (text(), tab()).prop_map(|(query, tab)| Action::Find { query, tab }),
        (target(), json_value(), tab()).prop_map(|(at, value, tab)| Action::FormInput {
            at,
            value,
            tab
        }),
        (target(), vec(text(), 0..3), vec(text(), 0..3), tab()).prop_map(
            |(at, paths, documents, tab)| Action::FileUpload {
                at,
                paths,
                documents,
                tab
            }
        ),
        (target(), tab()).prop_map(|(at, tab)| Action::ScrollTo { at, tab }),
        wait_for(),
        (text(), tab()).prop_map(|(script, tab)| Action::Javascript { script, tab }),
    ]
    .boxed()
}

pub(crate) fn window_action() -> BoxedStrategy<Action> {
    let window = || of(text());
    prop_oneof![
        Just(Action::ListWindows),
        text().prop_map(|window| Action::FocusWindow { window }),
        window().prop_map(|window| Action::MaximizeWindow { window }),
        window().prop_map(|window| Action::RestoreWindow { window }),
        window().prop_map(|window| Action::MinimizeWindow { window }),
        window().prop_map(|window| Action::CloseWindow { window }),
        (window(), region()).prop_map(|(window, region)| Action::PlaceWindow { window, region }),
        window().prop_map(|window| Action::CaptureWindow { window }),
        Just(Action::ListMonitors),
        of(text()).prop_map(|monitor| Action::CaptureMonitor { monitor }),
        Just(Action::ReadClipboard),
        text().prop_map(|text| Action::WriteClipboard { text }),
        (target(), of(text())).prop_map(|(at, name)| Action::Invoke { at, name }),
        text().prop_map(|name| Action::OpenApp { name }),
    ]
    .boxed()
}

pub(crate) fn action() -> BoxedStrategy<Action> {
    let other =
        ("x_[a-z]{1,9}", odd_members()).prop_map(|(name, args)| Action::Other { name, args });
    prop_oneof![
        pointer_action(),
        key_action(),
        page_action(),
        window_action(),
        other
    ]
    .boxed()
}
