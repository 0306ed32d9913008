//! Strategies for arbitrary values of the vocabulary.

mod action;
mod content;
mod shell;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use serde_json::{Map, Value};
use telechir_protocol::{CallId, Failure, FailureKind, Meta, Raw};

pub(crate) use action::*;
pub(crate) use content::*;
pub(crate) use shell::*;

/// Text with characters that often break: quotes, escapes, controls, other scripts.
pub(crate) fn text() -> BoxedStrategy<String> {
    prop_oneof![
        "[a-z ]{0,8}",
        "[\\PC\n\t\"\\\\]{0,8}",
        Just("\u{0}\u{1b}[2J\u{202e}".to_owned()),
        Just(String::new()),
    ]
    .boxed()
}

pub(crate) fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9_]{0,8}"
}

pub(crate) fn json_value() -> BoxedStrategy<Value> {
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
    .boxed()
}

pub(crate) fn members_of(
    values: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Map<String, Value>> {
    vec((name(), values), 0..3).prop_map(Map::from_iter)
}

/// Members that no known type has: their names start with `x_`.
pub(crate) fn unknown_members() -> impl Strategy<Value = Map<String, Value>> {
    vec(("x_[a-z]{1,5}", json_value()), 0..3).prop_map(Map::from_iter)
}

/// Arguments that conflict with the name member, or look like nested arguments.
pub(crate) fn odd_members() -> impl Strategy<Value = Map<String, Value>> {
    let name = || proptest::sample::select(vec!["action", "name", "path", "args", "x_more"]);
    let own = vec((name(), json_value()), 0..3);
    let within = vec((name(), json_value()), 0..3);
    (own, of(within)).prop_map(|(own, within)| {
        let named = |members: Vec<(&str, Value)>| {
            Map::from_iter(
                members
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value)),
            )
        };
        match within {
            Some(within) => Map::from_iter([("args".to_owned(), named(within).into())]),
            None => named(own),
        }
    })
}

pub(crate) fn meta() -> BoxedStrategy<Meta> {
    let raw = ("[a-z-]{1,9}", json_value()).prop_map(|(dialect, json)| Raw::new(dialect, json));
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

pub(crate) fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        (-3000..3000i32).prop_map(f64::from),
        -1e9..1e9f64,
        Just(0.0)
    ]
}

pub(crate) fn failure() -> impl Strategy<Value = Failure> {
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

pub(crate) fn call_id() -> impl Strategy<Value = CallId> {
    text().prop_map(CallId::from)
}
