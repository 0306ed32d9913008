//! Computer calls: what reaches the device and what the result contains.

use serde_json::json;
use telechir_policy::Policy;
use telechir_protocol::{ComputerCall, ComputerResult, FailureKind, Media, Size, StepState};
use telechir_runtime::{AutoScreenshot, DeviceKind, ScreenshotRule, Session, SessionEvent};

use crate::fakes::{
    FakeScreen, Log, action_json, call, click, desktop, log_of, on_screen, open_policy,
};

fn states(result: &ComputerResult) -> Vec<&'static str> {
    let name = |state: &StepState| match state {
        StepState::Delivered => "delivered",
        StepState::Confirmed => "confirmed",
        StepState::Failed { .. } => "failed",
        StepState::NotStarted => "not started",
    };
    result.steps.iter().map(|step| name(&step.state)).collect()
}

fn png_size(media: &Media) -> Size {
    let Media::Data(data) = media else {
        panic!("not inside the message")
    };
    assert_eq!(data.media_type(), Some("image/png"));
    use base64::Engine as _;
    let png = base64::engine::general_purpose::STANDARD
        .decode(data.base64().unwrap())
        .unwrap();
    let reader = png::Decoder::new(std::io::Cursor::new(png))
        .read_info()
        .unwrap();
    Size::new(reader.info().width, reader.info().height)
}

#[tokio::test]
async fn a_screenshot_is_the_screen_itself() {
    let (builder, log) = desktop(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let result = on_screen(&mut session, call("c1", &[action_json("screenshot")])).await;
    assert_eq!(result.error, None);
    assert_eq!(
        png_size(result.screenshot.as_ref().unwrap()),
        Size::new(64, 48)
    );
    assert_eq!(result.display, Some(Size::new(64, 48)));
    assert_eq!(result.frame.unwrap().as_str(), "frame_1");
    assert_eq!(log_of(&log), ["capture"]);
}

#[tokio::test]
async fn a_batch_acts_in_order_and_ends_with_one_fresh_screenshot() {
    let (builder, log) = desktop(Policy::default_policy());
    let mut session = builder.build().unwrap();
    let steps = [
        click(0, 0),
        json!({ "action": "type", "text": "hi" }),
        action_json("cursor_position"),
    ];
    let result = on_screen(&mut session, call("c1", &steps)).await;
    assert_eq!(
        log_of(&log),
        ["click 0,0", "type", "cursor_position", "capture"]
    );
    assert_eq!(states(&result), ["delivered", "delivered", "confirmed"]);
    assert_eq!(result.text_output.as_deref(), Some("X=1,Y=2"));
    assert!(result.screenshot.is_some());
}

#[tokio::test]
async fn a_batch_stops_at_the_first_failure_and_shows_the_screen() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let result = on_screen(
        &mut session,
        call("c1", &[click(1, 1), action_json("back"), click(2, 2)]),
    )
    .await;
    assert_eq!(log_of(&log), ["click 1,1", "back", "capture"]);
    assert_eq!(states(&result), ["delivered", "failed", "not started"]);
    let error = result.error.unwrap();
    assert_eq!(
        (error.kind, error.message.as_str()),
        (FailureKind::InvalidInput, "There is no page before.")
    );
    assert!(result.screenshot.is_some());
}

#[tokio::test]
async fn an_unsupported_action_stops_the_batch_before_it() {
    for (step, kind) in [
        (click(64, 0), FailureKind::InvalidInput),
        (action_json("dance"), FailureKind::InvalidInput),
        (
            json!({ "action": "open_app", "name": "x" }),
            FailureKind::Unsupported,
        ),
    ] {
        let (builder, log) = desktop(open_policy());
        let mut session = builder.build().unwrap();
        let result = on_screen(&mut session, call("c1", &[click(1, 1), step, click(2, 2)])).await;
        assert_eq!(log_of(&log), ["click 1,1", "capture"]);
        assert_eq!(states(&result), ["delivered", "failed", "not started"]);
        assert_eq!(result.error.unwrap().kind, kind);
    }
}

/// By the default policy a key whose effect is unknown needs an approval.
#[tokio::test]
async fn a_key_that_does_not_exist_is_an_error_without_a_question() {
    for key in [
        json!({ "action": "key", "key": "ctrl+Foo" }),
        json!({ "action": "hold_key", "key": "Entr", "duration": 1 }),
        json!({ "action": "key_down", "key": "Foo" }),
        json!({ "action": "key_up", "key": "Foo" }),
    ] {
        let (builder, log) = desktop(Policy::default_policy());
        let mut session = builder.build().unwrap();
        let result = on_screen(&mut session, call("c1", &[key, click(1, 1)])).await;
        let error = result.error.as_ref().unwrap();
        assert_eq!(error.kind, FailureKind::InvalidInput, "{error:?}");
        assert!(
            error.message.starts_with("There is no key \""),
            "{}",
            error.message
        );
        assert_eq!(states(&result), ["failed", "not started"]);
        assert_eq!(log_of(&log), ["capture"]);
    }
}

#[tokio::test]
async fn a_call_that_was_not_understood_does_nothing() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let mut odd = call("c1", &[]);
    odd.exception = Some("`coordinate` is missing".to_owned());
    let result = on_screen(&mut session, odd).await;
    assert_eq!(log_of(&log), ["capture"]);
    let message = result.error.unwrap().message;
    assert_eq!(
        message,
        "The call was not understood and nothing was done: `coordinate` is missing"
    );
}

#[tokio::test]
async fn points_are_of_the_screenshot_and_pixels_of_the_screen() {
    let log = Log::default();
    let screen = FakeScreen {
        size: Size::new(256, 128),
        ..FakeScreen::new(&log)
    };
    let screenshot = ScreenshotRule {
        max_edge: Some(64),
        ..ScreenshotRule::native()
    };
    let mut session = Session::builder(open_policy())
        .desktop(Box::new(screen))
        .screenshot(screenshot)
        .build()
        .unwrap();
    assert_eq!(
        session.screenshot_size(DeviceKind::Desktop),
        Some(Size::new(64, 32))
    );
    let result = on_screen(&mut session, call("c1", &[click(10, 20)])).await;
    assert_eq!(log_of(&log)[0], "click 40,80");
    assert_eq!(
        png_size(result.screenshot.as_ref().unwrap()),
        Size::new(64, 32)
    );
}

#[tokio::test]
async fn an_unchanged_screen_is_not_encoded_again() {
    let log = Log::default();
    let screen = FakeScreen {
        is_still: true,
        ..FakeScreen::new(&log)
    };
    let mut session = Session::builder(open_policy())
        .desktop(Box::new(screen))
        .build()
        .unwrap();
    let mut events = session.subscribe();
    let questions = action_json("screenshot");
    let first = on_screen(&mut session, call("c1", std::slice::from_ref(&questions))).await;
    let second = on_screen(&mut session, call("c2", &[questions])).await;
    assert_eq!(first.screenshot, second.screenshot);
    assert_ne!(first.frame, second.frame);
    let record = |result: ComputerResult| result.settling.unwrap();
    assert_eq!(record(first.clone()).identical_to, None);
    assert_eq!(record(second).identical_to, first.frame);
    session.close().await.unwrap();
    let mut taken = Vec::new();
    while let Some(event) = events.next().await {
        if let SessionEvent::ScreenshotTaken { identical_to, .. } = &*event {
            taken.push(identical_to.clone());
        }
    }
    assert_eq!(taken, [None, first.frame]);
}

#[tokio::test]
async fn a_zoom_shows_its_part_at_full_resolution() {
    let log = Log::default();
    let screen = FakeScreen {
        size: Size::new(256, 128),
        ..FakeScreen::new(&log)
    };
    let screenshot = ScreenshotRule {
        max_edge: Some(64),
        ..ScreenshotRule::native()
    };
    let mut session = Session::builder(open_policy())
        .desktop(Box::new(screen))
        .screenshot(screenshot)
        .build()
        .unwrap();
    let zoom = json!({ "action": "zoom", "region": [0, 0, 10, 10] });
    let result = on_screen(&mut session, call("c1", &[zoom])).await;
    assert_eq!(
        png_size(result.screenshot.as_ref().unwrap()),
        Size::new(40, 40)
    );
    assert_eq!(result.frame, None, "points never belong to a part");
}

#[tokio::test]
async fn a_captured_window_or_monitor_is_that_part_of_the_screen() {
    for (step, size, text) in [
        (
            json!({ "action": "capture_window", "window": "Mousepad" }),
            Size::new(20, 10),
            "Mousepad",
        ),
        (
            json!({ "action": "capture_monitor", "monitor": "left" }),
            Size::new(32, 48),
            "the left monitor",
        ),
    ] {
        let log = Log::default();
        let screen = FakeScreen {
            focus: vec!["Mousepad"],
            ..FakeScreen::new(&log)
        };
        let builder = Session::builder(open_policy()).desktop(Box::new(screen));
        let mut session = builder.build().unwrap();
        let result = on_screen(&mut session, call("c1", &[step])).await;
        assert_eq!(states(&result), ["confirmed"]);
        assert_eq!(result.text_output.as_deref(), Some(text));
        assert_eq!(png_size(result.screenshot.as_ref().unwrap()), size);
        assert_eq!(log_of(&log), ["capture"]);
        let absent = json!({ "action": "capture_window", "window": "XTerm" });
        let result = on_screen(&mut session, call("c2", &[absent])).await;
        let error = result.error.map(|error| error.message);
        assert_eq!(error.as_deref(), Some("There is no such window."));
    }
}

#[tokio::test]
async fn a_captured_element_is_its_part_of_the_screen() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let capture = |x: u32| json!({ "action": "capture_element", "coordinate": [x, 8] });
    let result = on_screen(&mut session, call("c1", &[capture(8)])).await;
    assert_eq!(states(&result), ["confirmed"]);
    assert_eq!(result.text_output.as_deref(), Some("button \"Save\""));
    let size = png_size(result.screenshot.as_ref().unwrap());
    assert_eq!(size, Size::new(8, 10));
    assert_eq!(log_of(&log), ["capture"]);
    let result = on_screen(&mut session, call("c2", &[capture(40)])).await;
    let error = result.error.map(|error| error.message);
    assert_eq!(error.as_deref(), Some("There is no element."));
}

#[tokio::test]
async fn a_missing_device_is_named_with_its_flag() {
    let mut session = Session::builder(open_policy()).build().unwrap();
    let check = async |session: &mut Session, target: Option<&str>| {
        let questions = ComputerCall {
            target: target.map(Into::into),
            ..call("c1", &[action_json("screenshot")])
        };
        on_screen(session, questions).await.error.unwrap().message
    };
    assert!(
        check(&mut session, None)
            .await
            .contains("--desktop or --browser")
    );
    assert!(
        check(&mut session, Some("browser"))
            .await
            .contains("--browser")
    );
    assert!(
        check(&mut session, Some("desktop"))
            .await
            .contains("--desktop")
    );
    assert!(
        check(&mut session, Some("fridge"))
            .await
            .contains("no computer named \"fridge\"")
    );
}

#[tokio::test]
async fn a_call_without_a_target_prefers_the_desktop() {
    let (desktop_log, browser_log) = (Log::default(), Log::default());
    let url = Some("https://example.com/".to_owned());
    let browser = FakeScreen {
        url: url.clone(),
        ..FakeScreen::new(&browser_log)
    };
    let mut session = Session::builder(open_policy())
        .browser(Box::new(browser))
        .desktop(Box::new(FakeScreen::new(&desktop_log)))
        .build()
        .unwrap();
    on_screen(&mut session, call("c1", &[click(1, 1)])).await;
    let questions = ComputerCall {
        target: Some("browser".into()),
        ..call("c2", &[click(2, 2)])
    };
    let result = on_screen(&mut session, questions).await;
    assert_eq!(
        (
            log_of(&desktop_log)[0].as_str(),
            log_of(&browser_log)[0].as_str()
        ),
        ("click 1,1", "click 2,2")
    );
    assert_eq!((result.current_url, result.tabs.len()), (url, 1));
}

#[tokio::test]
async fn settling_is_once_per_action_and_longest_before_a_screenshot() {
    let log = Log::default();
    let screen = FakeScreen::new(&log);
    let watched = std::sync::Arc::clone(&screen.watched);
    let mut session = Session::builder(open_policy())
        .desktop(Box::new(screen))
        .build()
        .unwrap();
    on_screen(&mut session, call("c1", &[click(1, 1), click(2, 2)])).await;
    assert_eq!(log_of(&log), ["click 1,1", "click 2,2", "capture"]);
    assert_eq!(*watched.lock().unwrap(), [(40, 1), (45, 2)]);
}

#[tokio::test]
async fn nothing_settles_after_an_action_that_only_reads() {
    let log = Log::default();
    let screen = FakeScreen::new(&log);
    let settles = std::sync::Arc::clone(&screen.watched);
    let mut session = Session::builder(open_policy())
        .desktop(Box::new(screen))
        .auto_screenshot(AutoScreenshot::OnRequest)
        .build()
        .unwrap();
    let read = action_json("cursor_position");
    let actions = [click(1, 1), read.clone(), read, click(2, 2)];
    on_screen(&mut session, call("c1", &actions)).await;
    let performed_before: Vec<_> = settles.lock().unwrap().iter().map(|(_, at)| *at).collect();
    assert_eq!(performed_before, [1, 4]);
}

#[tokio::test]
async fn losing_a_device_is_reported_once() {
    let (builder, _log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let mut reader = session.subscribe();
    on_screen(&mut session, call("c1", &[action_json("reload")])).await;
    on_screen(&mut session, call("c2", &[click(1, 1)])).await;
    session.close().await.unwrap();
    let mut lost = 0;
    while let Some(event) = reader.next().await {
        lost += usize::from(matches!(&*event, SessionEvent::DeviceLost { .. }));
    }
    assert_eq!(lost, 1);
}

#[tokio::test]
async fn a_lost_device_answers_every_later_call_with_an_error() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let first = on_screen(&mut session, call("c1", &[action_json("reload")])).await;
    assert_eq!(first.error.unwrap().kind, FailureKind::Device);
    assert_eq!(first.screenshot, None);
    let later = on_screen(&mut session, call("c2", &[click(1, 1)])).await;
    assert_eq!(
        later.error.unwrap().message,
        "The desktop is gone: failed to reach the browser: it is gone."
    );
    assert_eq!(log_of(&log), ["reload"]);
}

#[tokio::test(start_paused = true)]
async fn a_device_that_hangs_is_timed_out() {
    let (builder, _log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let result = on_screen(&mut session, call("c1", &[action_json("forward")])).await;
    assert_eq!(result.error.unwrap().kind, FailureKind::Timeout);
}

#[tokio::test(start_paused = true)]
async fn a_capped_wait_is_reported() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    let day = json!({ "action": "wait", "duration": 86_400_000 });
    let result = on_screen(&mut session, call("c1", &[day])).await;
    assert_eq!(
        result.text_output.as_deref(),
        Some("Waited 60000 ms instead of 86400000 ms: 60000 ms is the limit of a wait.")
    );
    let short = json!({ "action": "wait", "duration": 500 });
    let result = on_screen(&mut session, call("c2", &[short])).await;
    assert_eq!(result.text_output, None);
    assert_eq!(log_of(&log), ["capture", "capture"]);
}

#[tokio::test]
async fn closing_releases_keys_before_it_ends_the_device() {
    let (builder, log) = desktop(open_policy());
    let mut session = builder.build().unwrap();
    on_screen(
        &mut session,
        call("c1", &[json!({ "action": "key_down", "key": "shift" })]),
    )
    .await;
    session.close().await.unwrap();
    assert_eq!(log_of(&log), ["key_down", "capture", "release", "close"]);
}
