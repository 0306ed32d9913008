//! Any value of the vocabulary, for properties.

use std::time::Duration;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use telechir_protocol::*;

/// Text with what tends to break: quotes, escapes, controls, other scripts.
pub(crate) fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z ]{0,8}",
        "[\\PC\n\t\"\\\\]{0,8}",
        Just("\u{0}\u{1b}[2J\u{202e}".to_owned()),
        Just(String::new()),
    ]
}

fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,8}"
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6f64).prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            members_of(inner).prop_map(Value::from),
        ]
    })
}

fn members_of(values: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    vec((name(), values), 0..3).prop_map(Map::from_iter)
}

/// Members that no type of ours has: their names start with `x_`.
pub(crate) fn unknown_members() -> impl Strategy<Value = Map<String, Value>> {
    vec(("x_[a-z]{1,5}", json_value()), 0..3).prop_map(Map::from_iter)
}

pub(crate) fn meta() -> BoxedStrategy<Meta> {
    let raw = ("[a-z-]{1,9}", json_value()).prop_map(|(dialect, json)| Raw { dialect, json });
    (
        vec(json_value(), 0..2),
        unknown_members(),
        of(raw),
        unknown_members(),
    )
        .prop_map(
            |(annotations, additional_properties, raw_representation, extra)| Meta {
                annotations,
                additional_properties,
                raw_representation,
                extra,
            },
        )
        .boxed()
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3000..3000i32).prop_map(f64::from),
        -1e9..1e9f64,
        Just(0.0)
    ]
}

fn space() -> impl Strategy<Value = Space> {
    prop_oneof![
        Just(Space::Picture),
        Just(Space::Thousandths),
        Just(Space::Screen)
    ]
}

fn point() -> impl Strategy<Value = Point> {
    (number(), number(), space()).prop_map(|(x, y, space)| Point { x, y, space })
}

fn frame() -> impl Strategy<Value = Option<FrameId>> {
    of(name().prop_map(FrameId::from))
}

pub(crate) fn target() -> impl Strategy<Value = Target> {
    prop_oneof![
        point().prop_map(Target::Point),
        (any::<u32>(), frame()).prop_map(|(n, frame)| Target::Label { n, frame }),
        (text(), frame()).prop_map(|(id, frame)| Target::Ref { id, frame }),
    ]
}

fn region() -> impl Strategy<Value = Region> {
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

fn modifier() -> impl Strategy<Value = Modifier> {
    proptest::sample::select(Modifier::ALL.to_vec())
}

fn key() -> impl Strategy<Value = Key> {
    prop_oneof![
        modifier().prop_map(Key::Modifier),
        proptest::sample::select(NamedKey::ALL.to_vec()).prop_map(Key::Named),
        any::<char>().prop_map(Key::Char),
        "\\PC{1,9}".prop_map(Key::Other),
    ]
}

pub(crate) fn chord() -> impl Strategy<Value = Chord> {
    vec(key(), 1..4).prop_filter_map("a chord has keys with names", Chord::new)
}

fn button() -> impl Strategy<Value = Button> {
    use Button::{Back, Forward, Left, Middle, Right};
    proptest::sample::select(vec![Left, Middle, Right, Back, Forward])
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![
        (0..100_000u64).prop_map(Duration::from_millis),
        (0..10_000_000_000u64).prop_map(Duration::from_nanos),
    ]
}

fn tab() -> impl Strategy<Value = Option<String>> {
    of(text())
}

fn pointer_action() -> BoxedStrategy<Action> {
    use ClickCount::{Double, Single, Triple};
    let counts = proptest::sample::select(vec![Single, Double, Triple]);
    let units = proptest::sample::select(vec![
        ScrollUnit::Clicks,
        ScrollUnit::Pixels,
        ScrollUnit::Thousandths,
    ]);
    let held = || vec(modifier(), 0..3);
    prop_oneof![
        target().prop_map(|at| Action::Move { at }),
        target().prop_map(|at| Action::Hover { at }),
        (of(target()), button(), counts, held()).prop_map(|(at, button, count, modifiers)| {
            Action::Click {
                at,
                button,
                count,
                modifiers,
            }
        }),
        (of(target()), button()).prop_map(|(at, button)| Action::MouseDown { at, button }),
        (of(target()), button()).prop_map(|(at, button)| Action::MouseUp { at, button }),
        (vec(target(), 1..4), button(), held(), of(duration())).prop_map(
            |(path, button, modifiers, duration)| Action::Drag {
                path,
                button,
                modifiers,
                duration
            }
        ),
        (of(target()), number(), number(), units, held()).prop_map(
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

fn key_action() -> BoxedStrategy<Action> {
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

fn page_action() -> BoxedStrategy<Action> {
    prop_oneof![
        (text(), tab()).prop_map(|(url, tab)| Action::Navigate { url, tab }),
        tab().prop_map(|tab| Action::Back { tab }),
        tab().prop_map(|tab| Action::Forward { tab }),
        tab().prop_map(|tab| Action::Reload { tab }),
        tab().prop_map(|tab| Action::PageText { tab }),
        tab().prop_map(|tab| Action::ReadConsole { tab }),
        tab().prop_map(|tab| Action::ReadNetwork { tab }),
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
        (text(), tab()).prop_map(|(script, tab)| Action::Javascript { script, tab }),
        text().prop_map(|name| Action::OpenApp { name }),
    ]
    .boxed()
}

pub(crate) fn action() -> BoxedStrategy<Action> {
    let other =
        ("x_[a-z]{1,9}", unknown_members()).prop_map(|(name, args)| Action::Other { name, args });
    prop_oneof![pointer_action(), key_action(), page_action(), other].boxed()
}

fn failure() -> impl Strategy<Value = Failure> {
    let kinds = vec![
        FailureKind::InvalidInput,
        FailureKind::Denied,
        FailureKind::Unsupported,
        FailureKind::Stale,
        FailureKind::Device,
        FailureKind::Timeout,
        FailureKind::Cancelled,
        FailureKind::NotExecuted,
        FailureKind::Interrupted,
    ];
    (proptest::sample::select(kinds), text()).prop_map(|(kind, text)| Failure::new(kind, text))
}

fn data() -> impl Strategy<Value = DataContent> {
    ("[A-Za-z0-9+/]{0,8}", of(name()), meta()).prop_map(|(base64, name, meta)| DataContent {
        name,
        meta,
        ..DataContent::from_base64("image/png", &base64)
    })
}

fn uri() -> impl Strategy<Value = UriContent> {
    (text(), of(text()), meta()).prop_map(|(uri, media_type, meta)| UriContent {
        uri,
        media_type,
        meta,
    })
}

fn hosted_file() -> impl Strategy<Value = HostedFileContent> {
    (text(), of(text()), of(text()), meta()).prop_map(|(file_id, media_type, name, meta)| {
        HostedFileContent {
            file_id,
            media_type,
            name,
            meta,
        }
    })
}

fn media() -> BoxedStrategy<Media> {
    prop_oneof![
        data().prop_map(Media::Data),
        uri().prop_map(Media::Uri),
        hosted_file().prop_map(Media::HostedFile),
    ]
    .boxed()
}

fn call_id() -> impl Strategy<Value = CallId> {
    text().prop_map(CallId::from)
}

fn safety_check() -> impl Strategy<Value = SafetyCheck> {
    use SafetySource::{Google, Openai, Policy};
    let sources = proptest::sample::select(vec![Google, Openai, Policy]);
    (text(), of(text()), of(text()), sources).prop_map(|(id, code, message, source)| SafetyCheck {
        id,
        code,
        message,
        source,
    })
}

pub(crate) fn computer_call() -> BoxedStrategy<ComputerCall> {
    let words = (of(text()), of(text()), of(text()), of(text()), of(text()));
    (
        call_id(),
        vec(action(), 1..4),
        vec(safety_check(), 0..2),
        of(name()),
        words,
        meta(),
    )
        .prop_map(
            |(call_id, actions, pending_safety_checks, target, words, meta)| ComputerCall {
                item_id: words.0,
                pending_safety_checks,
                intent: words.1,
                target: target.map(TargetId::from),
                family: words.2,
                status: words.3,
                exception: words.4,
                meta,
                ..ComputerCall::new(call_id, actions)
            },
        )
        .boxed()
}

fn step() -> impl Strategy<Value = StepOutcome> {
    let state = prop_oneof![
        Just(StepState::Delivered),
        Just(StepState::Confirmed),
        failure().prop_map(|failure| StepState::Failed { failure }),
        Just(StepState::NotStarted),
    ];
    (name(), state, of(text()), of(media()), of(any::<u64>())).prop_map(
        |(action, state, text, picture, duration_ms)| StepOutcome {
            action,
            state,
            text,
            picture,
            duration_ms,
        },
    )
}

fn computer_result() -> BoxedStrategy<ComputerResult> {
    let tab =
        (text(), text(), text(), any::<bool>()).prop_map(|(tab_id, title, url, active)| TabState {
            tab_id,
            title,
            url,
            active,
        });
    let size = (any::<u32>(), any::<u32>()).prop_map(|(w, h)| Size::new(w, h));
    let seen = (of(media()), frame(), of(size), of(text()), vec(tab, 0..2));
    let done = (
        of(text()),
        of(failure()),
        vec(step(), 0..2),
        vec(safety_check(), 0..2),
    );
    (call_id(), of(text()), of(name()), seen, done, meta())
        .prop_map(
            |(call_id, item_id, family, seen, done, meta)| ComputerResult {
                item_id,
                screenshot: seen.0,
                frame: seen.1,
                display: seen.2,
                current_url: seen.3,
                tabs: seen.4,
                text_output: done.0,
                error: done.1,
                steps: done.2,
                acknowledged_safety_checks: done.3,
                family,
                meta,
                ..ComputerResult::new(call_id)
            },
        )
        .boxed()
}

fn shell_action() -> impl Strategy<Value = ShellAction> {
    prop_oneof![
        Just(ShellAction::Execute),
        Just(ShellAction::Restart),
        text().prop_map(ShellAction::SendText),
        text().prop_map(ShellAction::SendKey),
        Just(ShellAction::CloseInput),
        Just(ShellAction::Interrupt),
        Just(ShellAction::Start),
        Just(ShellAction::List),
        text().prop_map(ShellAction::Read),
        text().prop_map(ShellAction::Stop),
        "x_[a-z]{1,9}".prop_map(ShellAction::Other),
    ]
}

pub(crate) fn shell_call() -> BoxedStrategy<ShellCall> {
    let command = prop_oneof![
        text().prop_map(Command::Line),
        vec(text(), 0..3).prop_map(Command::Argv),
    ];
    let environment = prop_oneof![
        Just(ShellEnvironment::Local),
        of(text()).prop_map(|container_id| ShellEnvironment::Hosted { container_id }),
    ];
    let words = (of(text()), of(text()), of(text()), of(text()), of(text()));
    let limits = (
        of(any::<u64>()),
        of(any::<u64>()),
        members_of(json_value()),
        environment,
    );
    (
        call_id(),
        shell_action(),
        vec(command, 0..3),
        words,
        limits,
        meta(),
    )
        .prop_map(
            |(call_id, action, commands, words, limits, meta)| ShellCall {
                item_id: words.0,
                action,
                timeout_ms: limits.0,
                max_output: limits.1,
                cwd: words.1,
                env: limits.2,
                user: words.2,
                environment: limits.3,
                status: words.3,
                exception: words.4,
                meta,
                ..ShellCall::execute(call_id, commands)
            },
        )
        .boxed()
}

fn outcome() -> impl Strategy<Value = ShellOutcome> {
    prop_oneof![
        Just(ShellOutcome::Success),
        Just(ShellOutcome::Error),
        Just(ShellOutcome::Timeout),
        Just(ShellOutcome::Cancelled),
        Just(ShellOutcome::NotStarted),
        Just(ShellOutcome::AwaitingInput),
    ]
}

/// Output with lines like those we write ourselves.
fn stream() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        text(),
        Just("\n".to_owned()),
        "(\\[stderr'{0,2}\\]|\\[no newline'?\\]|\\[exit -?[0-9]'?\\]|\\[timeout\\])\n?",
    ];
    vec(line, 0..5).prop_map(|lines| lines.concat())
}

pub(crate) fn command_output() -> BoxedStrategy<CommandOutput> {
    let counts = (
        of(any::<i32>()),
        of(1..64i32),
        any::<u64>(),
        of(any::<u64>()),
    );
    (stream(), stream(), outcome(), counts)
        .prop_map(|(stdout, stderr, outcome, counts)| CommandOutput {
            stdout,
            stderr,
            exit_code: counts.0,
            signal: counts.1,
            outcome,
            truncated_bytes: counts.2,
            duration_ms: counts.3,
        })
        .boxed()
}

pub(crate) fn shell_result() -> BoxedStrategy<ShellResult> {
    let words = (
        of(text()),
        of(text()),
        of(any::<u64>()),
        of(failure()),
        any::<bool>(),
    );
    (call_id(), vec(command_output(), 0..3), words, meta())
        .prop_map(|(call_id, outputs, words, meta)| ShellResult {
            item_id: words.0,
            cwd: words.1,
            max_output: words.2,
            error: words.3,
            combined: words.4,
            meta,
            ..ShellResult::new(call_id, outputs)
        })
        .boxed()
}

fn function_call() -> BoxedStrategy<FunctionCall> {
    let arguments = prop_oneof![
        text().prop_map(Arguments::Text),
        members_of(json_value()).prop_map(Arguments::Json),
    ];
    let flags = (any::<bool>(), any::<bool>());
    (
        of(call_id()),
        of(text()),
        text(),
        arguments,
        flags,
        of(text()),
        meta(),
    )
        .prop_map(
            |(call_id, item_id, name, arguments, flags, exception, meta)| FunctionCall {
                call_id,
                item_id,
                name,
                arguments,
                requires_local_execution: flags.0,
                could_be_structured_output: flags.1,
                exception,
                meta,
            },
        )
        .boxed()
}

fn function_result(parts: impl Strategy<Value = Content>) -> impl Strategy<Value = FunctionResult> {
    // A result of null is read as no result.
    let result = of(json_value().prop_filter("null is absent", |value| !value.is_null()));
    (
        of(call_id()),
        of(text()),
        vec(parts, 0..2),
        result,
        of(failure()),
        meta(),
    )
        .prop_map(
            |(call_id, name, items, result, error, meta)| FunctionResult {
                call_id,
                name,
                items,
                result,
                error,
                meta,
            },
        )
}

fn edit_call() -> BoxedStrategy<EditCall> {
    let tools = proptest::sample::select(vec![EditTool::Patch, EditTool::Editor, EditTool::Memory]);
    let operation = (name(), of(text()), unknown_members())
        .prop_map(|(name, path, args)| EditOperation { name, path, args });
    (
        call_id(),
        of(text()),
        tools,
        vec(operation, 0..3),
        of(text()),
        meta(),
    )
        .prop_map(
            |(call_id, item_id, tool, operations, exception, meta)| EditCall {
                call_id,
                item_id,
                tool,
                operations,
                exception,
                meta,
            },
        )
        .boxed()
}

fn hosted_call(parts: impl Strategy<Value = Content>) -> impl Strategy<Value = HostedCall> {
    let parts = vec(parts, 0..3);
    (of(call_id()), parts, any::<bool>(), of(text()), meta()).prop_map(
        |(call_id, parts, is_call, status, meta)| {
            let (inputs, results) = if is_call {
                (parts, vec![])
            } else {
                (vec![], parts)
            };
            HostedCall {
                call_id,
                inputs,
                results,
                status,
                meta,
            }
        },
    )
}

fn simple_content() -> BoxedStrategy<Content> {
    let other = ("x_[a-z]{1,9}", unknown_members()).prop_map(|(kind, mut json)| {
        json.insert("type".to_owned(), json!(kind));
        Content::Other(OtherContent {
            kind: Some(kind),
            json,
        })
    });
    let untyped = unknown_members().prop_map(|json| OtherContent { kind: None, json });
    prop_oneof![
        (text(), meta()).prop_map(|(text, meta)| Content::Text(TextContent { text, meta })),
        (of(text()), of(text()), of(text()), meta()).prop_map(
            |(text, item_id, protected_data, meta)| Content::Reasoning(ReasoningContent {
                text,
                item_id,
                protected_data,
                meta
            })
        ),
        media().prop_map(Content::from),
        function_call().prop_map(Content::FunctionCall),
        computer_call().prop_map(Content::ComputerCall),
        computer_result().prop_map(Content::ComputerResult),
        shell_call().prop_map(Content::ShellCall),
        shell_result().prop_map(Content::ShellResult),
        edit_call().prop_map(Content::EditCall),
        (call_id(), of(text()), of(failure()), meta()).prop_map(|(call_id, text, error, meta)| {
            Content::EditResult(EditResult {
                call_id,
                text,
                error,
                meta,
            })
        }),
        (of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), meta()).prop_map(
            |(input, output, total, meta)| Content::Usage(UsageContent {
                input_token_count: input,
                output_token_count: output,
                total_token_count: total,
                meta
            })
        ),
        (text(), of(text()), meta()).prop_map(|(message, error_code, meta)| {
            Content::Error(ErrorContent {
                message,
                error_code,
                error_details: None,
                meta,
            })
        }),
        other,
        untyped.prop_map(Content::Other),
    ]
    .boxed()
}

pub(crate) fn content() -> BoxedStrategy<Content> {
    let part = || simple_content().boxed();
    let request = (
        text(),
        part(),
        vec(safety_check(), 0..2),
        of(text()),
        of(text()),
        meta(),
    )
        .prop_map(
            |(id, call, safety_checks, reason, digest, meta)| ApprovalRequest {
                id,
                call: Box::new(call),
                safety_checks,
                reason,
                digest,
                meta,
            },
        );
    let response = (text(), any::<bool>(), of(text()), of(part()), meta()).prop_map(
        |(id, approved, reason, call, meta)| ApprovalResponse {
            id,
            approved,
            reason,
            call: call.map(Box::new),
            meta,
        },
    );
    prop_oneof![
        6 => part(),
        1 => function_result(part()).prop_map(Content::FunctionResult),
        1 => hosted_call(part()).prop_map(Content::CommandCall),
        1 => hosted_call(part()).prop_map(Content::CommandResult),
        1 => hosted_call(part()).prop_map(Content::ImageGenerationCall),
        1 => hosted_call(part()).prop_map(Content::ImageGenerationResult),
        1 => request.prop_map(Content::ApprovalRequest),
        1 => response.prop_map(Content::ApprovalResponse),
    ]
    .boxed()
}

pub(crate) fn tool() -> BoxedStrategy<Tool> {
    use ApprovalMode::{Always, Never, Policy};
    let mode = || proptest::sample::select(vec![Always, Never, Policy]);
    let words = ["browser", "mac", "windows", "linux", "mobile", "x_board"].map(Environment::from);
    let environments = proptest::sample::select(words.to_vec());
    let computer = (
        of(any::<u32>()),
        of(any::<u32>()),
        of(environments),
        vec(name(), 0..2),
    );
    let plain = (computer, unknown_members()).prop_map(|(computer, additional_properties)| {
        ComputerUseTool {
            display_width: computer.0,
            display_height: computer.1,
            environment: computer.2,
            excluded_actions: computer.3,
            additional_properties,
        }
    });
    prop_oneof![
        plain.prop_map(Tool::ComputerUse),
        (mode(), unknown_members()).prop_map(|(approval_mode, additional_properties)| {
            Tool::Shell(ShellTool {
                approval_mode,
                additional_properties,
            })
        }),
        unknown_members().prop_map(|additional_properties| Tool::ImageGeneration {
            additional_properties
        }),
        unknown_members().prop_map(|additional_properties| Tool::CodeInterpreter {
            additional_properties
        }),
        (name(), unknown_members()).prop_map(|(hosted_type, additional_properties)| {
            Tool::Hosted(HostedTool {
                hosted_type,
                additional_properties,
            })
        }),
        (
            name(),
            of(text()),
            members_of(json_value()),
            mode(),
            unknown_members()
        )
            .prop_map(
                |(name, description, parameters, approval_mode, additional_properties)| {
                    Tool::Function(FunctionTool {
                        name,
                        description,
                        parameters: parameters.into(),
                        approval_mode,
                        additional_properties,
                    })
                }
            ),
        (
            name(),
            json_value().prop_filter("a declaration", |json| !json.is_null())
        )
            .prop_map(|(dialect, json)| Tool::Raw(RawTool { dialect, json })),
    ]
    .boxed()
}
