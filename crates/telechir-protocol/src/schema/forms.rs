//! Schemas of members that no type describes, and changes to derived schemas.

use schemars::{Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use crate::ClickCount;

/// Milliseconds, with or without a fraction.
pub(crate) fn milliseconds(_generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "number", "minimum": 0, "description": "Milliseconds."})
}

/// The action of a shell call, as members of the call.
pub(crate) fn shell_action(_generator: &mut SchemaGenerator) -> Schema {
    let text = || json!({"type": "string"});
    json_schema!({
        "type": "object",
        "properties": {"action": text(), "text": text(), "key": text(), "job": text()},
        "required": ["action"],
    })
}

/// Removes null from the schemas of members.
pub(crate) fn never_null(schema: &mut Schema) {
    let mut object = std::mem::take(schema).to_value();
    without_null(&mut object);
    if let Ok(object) = Schema::try_from(object) {
        *schema = object;
    }
}

/// The forms of an action: a click has one for each count, and an unknown name has any members.
pub(crate) fn action_forms(schema: &mut Schema) {
    let derived = schema.remove("oneOf").unwrap_or_default();
    let mut forms: Vec<Value> = Vec::new();
    for mut form in derived.as_array().cloned().unwrap_or_default() {
        without_null(&mut form);
        if form["properties"]["action"]["const"] != "click" {
            forms.push(form);
            continue;
        }
        for count in [ClickCount::Single, ClickCount::Double, ClickCount::Triple] {
            form["properties"]["action"]["const"] = count.action_name().into();
            forms.push(form.clone());
        }
    }
    let names: Vec<&Value> = forms
        .iter()
        .map(|form| &form["properties"]["action"]["const"])
        .collect();
    let other = json!({"type": "string", "not": {"enum": names}});
    forms.push(object(&[("action", true, other)]));
    schema.insert("anyOf".to_owned(), forms.into());
}

/// Removes null from the schemas of members: it is read, but never written.
fn without_null(object: &mut Value) {
    let members = object.get_mut("properties").and_then(Value::as_object_mut);
    for member in members.into_iter().flat_map(Map::values_mut) {
        if member.get("default").is_some_and(Value::is_null) {
            member
                .as_object_mut()
                .map(|member| member.remove("default"));
        }
        let null = |form: &Value| form == "null" || form["type"] == "null";
        for alternatives in ["type", "anyOf"] {
            let Some(forms) = member.get_mut(alternatives).and_then(Value::as_array_mut) else {
                continue;
            };
            forms.retain(|form| !null(form));
            if let [only] = forms.as_mut_slice() {
                let only = only.take();
                if only.is_object() {
                    *member = only;
                } else {
                    member[alternatives] = only;
                }
            }
        }
    }
}

/// A member's name, whether it is required, and its schema.
pub(super) type SchemaMember<'a> = (&'a str, bool, Value);

pub(super) fn object(members: &[SchemaMember<'_>]) -> Value {
    let properties: Map<String, Value> = members
        .iter()
        .map(|(name, _, schema)| ((*name).to_owned(), schema.clone()))
        .collect();
    let needed: Vec<&str> = members
        .iter()
        .filter(|(_, needed, _)| *needed)
        .map(|(name, _, _)| *name)
        .collect();
    json!({"type": "object", "properties": properties, "required": needed})
}
