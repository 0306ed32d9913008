//! The parameters of a function as every service accepts them: a schema of an object.

use serde_json::{Map, Value, json};
use telechir_protocol::Tool;

/// Keywords with which a schema describes its properties elsewhere.
const OTHER_SCHEMAS: [&str; 4] = ["$ref", "allOf", "anyOf", "oneOf"];

/// Completes the parameters of a function that lack `type` or `properties`, as those of a function
/// without parameters do. Services reject a schema that is not one of an object.
pub(super) fn complete(tool: &mut Tool) {
    let Tool::Function(function) = tool else {
        return;
    };
    if function.parameters.is_null() {
        function.parameters = Value::Object(Map::new());
    }
    let Some(schema) = function.parameters.as_object_mut() else {
        return;
    };
    if OTHER_SCHEMAS.iter().any(|name| schema.contains_key(*name)) {
        return;
    }
    let has_type = schema.get("type").is_some_and(|kind| !kind.is_null());
    if !has_type {
        schema.shift_remove("type");
        schema.shift_insert(0, "type".to_owned(), "object".into());
    }
    if schema["type"] == "object" && !schema.get("properties").is_some_and(Value::is_object) {
        schema.insert("properties".to_owned(), json!({}));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use telechir_protocol::{FunctionTool, Tool};

    use super::complete;

    fn completed(parameters: Value) -> Value {
        let mut tool = Tool::Function(FunctionTool {
            parameters,
            ..FunctionTool::default()
        });
        complete(&mut tool);
        let Tool::Function(function) = tool else {
            panic!("it was a function");
        };
        function.parameters
    }

    #[test]
    fn no_parameters_are_an_object_without_properties() {
        let empty = json!({"type": "object", "properties": {}});
        for parameters in [
            Value::Null,
            json!({}),
            json!({"type": null}),
            json!({"type": "object"}),
            json!({"type": "object", "properties": null}),
            json!({"properties": {}}),
        ] {
            assert_eq!(completed(parameters.clone()), empty, "{parameters}");
        }
    }

    #[test]
    fn what_a_schema_states_stays() {
        for parameters in [
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}),
            json!({"anyOf": [{"type": "object"}]}),
            json!({"$ref": "#/$defs/Arguments"}),
            json!({"type": "string"}),
            json!(true),
        ] {
            assert_eq!(completed(parameters.clone()), parameters);
        }
        assert_eq!(
            completed(json!({"additionalProperties": {"type": "string"}})),
            json!({"type": "object", "additionalProperties": {"type": "string"}, "properties": {}})
        );
    }
}
