//! JSON Schema of the types whose JSON is written by hand.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::{
    Action, ActionKind, Button, Chord, ClickCount, ComputerCall, Content, Environment, Modifier,
    Point, Region, ScrollUnit, ShellAction, ShellCall, ShellResult, Target,
};

macro_rules! schemas {
    ($($type:ident => |$generator:ident| $schema:expr;)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema($generator: &mut SchemaGenerator) -> Schema {
                $schema
            }
        }
    )*};
}

schemas! {
    Point => |_g| json_schema!({});
    Target => |_g| json_schema!({});
    Region => |_g| json_schema!({});
    Button => |_g| json_schema!({"enum": ["left", "middle", "right", "back", "forward"]});
    ClickCount => |_g| json_schema!({"enum": [1, 2, 3]});
    ScrollUnit => |_g| json_schema!({"enum": ["clicks", "pixels", "thousandths"]});
    Modifier => |_g| json_schema!({"enum": ["ctrl", "alt", "shift", "super"]});
    Chord => |_g| json_schema!({"type": "string"});
    ActionKind => |_g| json_schema!({"type": "string"});
    Environment => |_g| json_schema!({"type": "string"});
    Action => |_g| json_schema!({"type": "object"});
    ShellAction => |_g| json_schema!({});
    ComputerCall => |_g| json_schema!({"type": "object"});
    ShellCall => |_g| json_schema!({"type": "object"});
    ShellResult => |_g| json_schema!({"type": "object"});
    Content => |_g| json_schema!({"type": "object"});
}
