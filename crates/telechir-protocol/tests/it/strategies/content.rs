//! Strategies for contents and tools.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use telechir_protocol::*;

use super::*;
use serde_json::json;

pub(crate) fn data() -> impl Strategy<Value = DataContent> {
    ("[A-Za-z0-9+/]{0,8}", of(name()), meta()).prop_map(|(base64, name, meta)| DataContent {
        name,
        meta,
        ..DataContent::from_base64("image/png", &base64)
    })
}

pub(crate) fn uri() -> impl Strategy<Value = UriContent> {
    (text(), of(text()), meta()).prop_map(|(uri, media_type, meta)| UriContent {
        uri,
        media_type,
        meta,
    })
}

pub(crate) fn hosted_file() -> impl Strategy<Value = HostedFileContent> {
    (text(), of(text()), of(text()), meta()).prop_map(|(file_id, media_type, name, meta)| {
        HostedFileContent {
            file_id,
            media_type,
            name,
            meta,
        }
    })
}

pub(crate) fn media() -> BoxedStrategy<Media> {
    prop_oneof![
        data().prop_map(Media::Data),
        uri().prop_map(Media::Uri),
        hosted_file().prop_map(Media::HostedFile),
    ]
    .boxed()
}

pub(crate) fn safety_check() -> impl Strategy<Value = SafetyCheck> {
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
    let description = (of(text()), of(text()), of(text()), of(text()), of(text()));
    (
        call_id(),
        vec(action(), 1..4),
        vec(safety_check(), 0..2),
        of(name()),
        description,
        meta(),
    )
        .prop_map(
            |(call_id, actions, pending_safety_checks, target, description, meta)| ComputerCall {
                item_id: description.0,
                pending_safety_checks,
                intent: description.1,
                target: target.map(TargetId::from),
                group: description.2,
                status: description.3,
                exception: description.4,
                meta,
                ..ComputerCall::new(call_id, actions)
            },
        )
        .boxed()
}

pub(crate) fn step() -> impl Strategy<Value = StepOutcome> {
    let state = prop_oneof![
        Just(StepState::Delivered),
        Just(StepState::Confirmed),
        failure().prop_map(|failure| StepState::Failed { failure }),
        Just(StepState::NotStarted),
    ];
    (name(), state, of(text()), of(media()), of(any::<u64>()))
        .prop_map(
            |(action, state, text, screenshot, duration_ms)| StepOutcome {
                action,
                state,
                text,
                screenshot,
                duration_ms,
            },
        )
        .boxed()
}

pub(crate) fn computer_result() -> BoxedStrategy<ComputerResult> {
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
                group: family,
                meta,
                ..ComputerResult::new(call_id)
            },
        )
        .boxed()
}

pub(crate) fn function_call() -> BoxedStrategy<FunctionCall> {
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

pub(crate) fn function_result(
    parts: impl Strategy<Value = Content>,
) -> impl Strategy<Value = FunctionResult> {
    // A result of null decodes as no result.
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

pub(crate) fn edit_call() -> BoxedStrategy<EditCall> {
    let tools = proptest::sample::select(vec![EditTool::Patch, EditTool::Editor, EditTool::Memory]);
    let operation = (name(), of(text()), odd_members())
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

pub(crate) fn hosted_call(
    parts: impl Strategy<Value = Content>,
) -> impl Strategy<Value = HostedCall> {
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

pub(crate) fn simple_content() -> BoxedStrategy<Content> {
    let other =
        ("x_[a-z]{1,9}", unknown_members(), of(text())).prop_map(|(kind, mut json, dialect)| {
            json.insert("type".to_owned(), json!(kind));
            Content::Other(UnknownContent {
                dialect,
                ..json.into()
            })
        });
    let untyped = unknown_members().prop_map(UnknownContent::from);
    prop_oneof![
        (text(), meta())
            .prop_map(|(text, meta)| Content::Text(TextContent { text, meta }))
            .boxed(),
        (of(text()), of(text()), of(text()), meta())
            .prop_map(|(text, item_id, protected_data, meta)| Content::Reasoning(
                ReasoningContent {
                    text,
                    item_id,
                    protected_data,
                    meta
                }
            ))
            .boxed(),
        media().prop_map(Content::from).boxed(),
        function_call().prop_map(Content::FunctionCall).boxed(),
        computer_call().prop_map(Content::ComputerCall).boxed(),
        computer_result().prop_map(Content::ComputerResult).boxed(),
        shell_call().prop_map(Content::ShellCall).boxed(),
        shell_result().prop_map(Content::ShellResult).boxed(),
        edit_call().prop_map(Content::EditCall).boxed(),
        (call_id(), of(text()), of(failure()), meta())
            .prop_map(|(call_id, text, error, meta)| {
                Content::EditResult(EditResult {
                    call_id,
                    text,
                    error,
                    meta,
                })
            })
            .boxed(),
        (of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), meta())
            .prop_map(|(input, output, total, meta)| Content::Usage(UsageContent {
                input_token_count: input,
                output_token_count: output,
                total_token_count: total,
                meta
            }))
            .boxed(),
        (text(), of(text()), meta())
            .prop_map(|(message, error_code, meta)| {
                Content::Error(ErrorContent {
                    message,
                    error_code,
                    error_details: None,
                    meta,
                })
            })
            .boxed(),
        other.boxed(),
        untyped.prop_map(Content::Other).boxed(),
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
        1 => function_result(part()).prop_map(Content::FunctionResult).boxed(),
        1 => hosted_call(part()).prop_map(Content::CommandCall).boxed(),
        1 => hosted_call(part()).prop_map(Content::CommandResult).boxed(),
        1 => hosted_call(part()).prop_map(Content::ImageGenerationCall).boxed(),
        1 => hosted_call(part()).prop_map(Content::ImageGenerationResult).boxed(),
        1 => request.prop_map(Content::ApprovalRequest).boxed(),
        1 => response.prop_map(Content::ApprovalResponse).boxed(),
    ]
    .boxed()
}

pub(crate) fn tool() -> BoxedStrategy<Tool> {
    use ApprovalMode::{Always, Never, Policy};
    let mode = || proptest::sample::select(vec![Always, Never, Policy]);
    let description =
        ["browser", "mac", "windows", "linux", "mobile", "x_board"].map(Environment::from);
    let environments = proptest::sample::select(description.to_vec());
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
