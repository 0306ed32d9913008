//! Adds a server to the text of a client's configuration. Everything else stays as it is.

use jsonc_parser::cst::{CstInputValue, CstRootNode};
use jsonc_parser::{ParseOptions, parse_to_serde_value};
use serde_json::{Map, Value};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

use crate::mcp_client::ConfigFormat;

/// The mark that some editors put at the beginning of a file.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A configuration with only this server.
pub(crate) fn block(
    format: ConfigFormat,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, String> {
    with_server(format, "", servers, name, entry)
}

/// The text with this server under `servers`. A server of the same name is replaced.
///
/// # Errors
/// If the text cannot be parsed, or has something else where the server belongs.
pub(crate) fn with_server(
    format: ConfigFormat,
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, String> {
    let (mark, text) = match text.strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) => (BYTE_ORDER_MARK.to_string(), rest),
        None => (String::new(), text),
    };
    let (before, edited, after) = match format {
        ConfigFormat::Json => {
            let before = json_value(text)?;
            let edited = json_with_server(text, servers, name, entry)?;
            let after = json_value(&edited)?;
            (before, edited, after)
        }
        ConfigFormat::Toml => {
            let before = toml_value(text)?;
            let edited = toml_with_server(text, servers, name, entry)?;
            let after = toml_value(&edited)?;
            (before, edited, after)
        }
    };
    // A duplicate key, for example, would hide the entry or another value from the client.
    if after != expected(before, servers, name, entry) {
        return Err(format!(
            "`{servers}` cannot be edited without changing other values, for example because a key \
             is there twice; edit the file by hand"
        ));
    }
    Ok(mark + &edited)
}

/// The value that the edited text must have.
fn expected(before: Value, servers: &str, name: &str, entry: &Map<String, Value>) -> Value {
    let mut all = if let Value::Object(members) = before {
        members
    } else {
        Map::new()
    };
    let list = all
        .entry(servers)
        .or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(list) = list {
        list.insert(name.to_owned(), Value::Object(entry.clone()));
    }
    Value::Object(all)
}

/// JSON with comments and trailing commas, which is what the clients read.
const JSON_OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_loose_object_property_names: false,
    allow_trailing_commas: true,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

fn json_value(text: &str) -> Result<Value, String> {
    parse_to_serde_value(text, &JSON_OPTIONS).map_err(|error| error.to_string())
}

fn json_with_server(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, String> {
    let root = CstRootNode::parse(text, &JSON_OPTIONS).map_err(|error| error.to_string())?;
    let members = root
        .object_value_or_create()
        .ok_or("expected an object, found another value")?;
    let list = members
        .object_value_or_create(servers)
        .ok_or_else(|| format!("`{servers}`: expected an object, found another value"))?;
    let entry = input(&Value::Object(entry.clone()));
    match list.get(name) {
        Some(found) => found.set_value(entry),
        None => {
            list.append(name, entry);
        }
    }
    let mut edited = root.to_string();
    if text.is_empty() {
        edited.push('\n');
    }
    Ok(edited)
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| (name.clone(), input(value));
            CstInputValue::Object(members.iter().map(member).collect())
        }
    }
}

fn toml_value(text: &str) -> Result<Value, String> {
    let value: toml::Value = toml::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

fn toml_with_server(
    text: &str,
    servers: &str,
    name: &str,
    entry: &Map<String, Value>,
) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())?;
    let list = document.entry(servers).or_insert_with(|| {
        let mut table = Table::new();
        // Only the servers in it are written as tables.
        table.set_implicit(true);
        Item::Table(table)
    });
    let list: &mut dyn TableLike = list
        .as_table_like_mut()
        .ok_or_else(|| format!("`{servers}`: expected a table, found another value"))?;
    let mut table = Table::new();
    for (name, value) in entry {
        table.insert(name, toml_item(value)?);
    }
    match list.get_mut(name) {
        Some(found) => match found.as_table_like_mut() {
            // Its comments and its position stay.
            Some(found) => {
                let names: Vec<String> = found.iter().map(|(name, _)| name.to_owned()).collect();
                for old in names.iter().filter(|old| !entry.contains_key(*old)) {
                    found.remove(old);
                }
                for (name, value) in entry {
                    found.insert(name, toml_item(value)?);
                }
            }
            None => *found = Item::Table(table),
        },
        None => {
            list.insert(name, Item::Table(table));
        }
    }
    Ok(document.to_string())
}

fn toml_item(value: &Value) -> Result<Item, String> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    match value {
        Value::String(text) => Ok(toml_edit::value(text.as_str())),
        Value::Bool(flag) => Ok(toml_edit::value(*flag)),
        Value::Array(items) => {
            let items: Option<Array> = items.iter().map(text).collect();
            let items = items.ok_or("expected a list of strings")?;
            Ok(toml_edit::value(items))
        }
        Value::Null | Value::Number(_) | Value::Object(_) => {
            Err("expected a string, a list or a flag".to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Map<String, Value> {
        let entry = json!({"command": "/bin/telechir", "args": ["mcp", "--shell"]});
        entry.as_object().expect("an object").clone()
    }

    fn json(text: &str) -> Result<String, String> {
        with_server(ConfigFormat::Json, text, "mcpServers", "telechir", &entry())
    }

    fn toml(text: &str) -> Result<String, String> {
        with_server(
            ConfigFormat::Toml,
            text,
            "mcp_servers",
            "telechir",
            &entry(),
        )
    }

    /// Whether `after` has all lines of `before` in their order; a line may have got a comma.
    fn retains(before: &str, after: &str) -> bool {
        let without_commas = |line: &str| line.replace(',', "");
        let mut lines = after.lines();
        before
            .lines()
            .all(|line| lines.any(|other| without_commas(other) == without_commas(line)))
    }

    #[test]
    fn comments_and_other_values_of_json_stay_as_they_are() {
        for text in [
            "{\n  // fonts\n  \"size\": 1.50, /* px */\n  \"x\": [1,2 , 3],\n}\n",
            "{\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\"} // mine\n\t}\n}",
            "{\n    \"mcpServers\": {\n    },\n    \"last\": \"\\u00e9\\/\"\n}\n\n",
            "{\r\n  \"a\": 1\r\n}\r\n",
            "\u{feff}{\n  \"a\": 1\n}\n",
            "// only a comment\n{}\n",
        ] {
            let after = json(text).expect("an edited text");
            let is_single_line = text.lines().count() < 3;
            assert!(is_single_line || retains(text, &after), "{text}\n{after}");
            assert_eq!(
                json(&after).as_ref(),
                Ok(&after),
                "a second time changes nothing"
            );
            assert_eq!(text.contains('\r'), after.contains('\r'), "{after}");
        }
    }

    #[test]
    fn an_empty_json_file_gets_the_block() {
        let value: Value = serde_json::from_str(&json("").expect("a block")).expect("JSON");
        assert_eq!(value, json!({"mcpServers": {"telechir": entry()}}));
    }

    #[test]
    fn a_json_server_of_the_same_name_is_replaced() {
        let text = "{\"mcpServers\": {\"telechir\": {\"command\": \"old\"}, \"b\": {}}}";
        let value: Value = serde_json::from_str(&json(text).expect("JSON")).expect("JSON");
        assert_eq!(value, json!({"mcpServers": {"telechir": entry(), "b": {}}}));
    }

    #[test]
    fn a_json_file_that_is_not_understood_is_refused() {
        for text in [
            "[]",
            "{\"mcpServers\": []}",
            "{\"a\": }",
            "{a: 1}",
            "{\"mcpServers\": {}, \"mcpServers\": {\"x\": {}}}",
            "{} {}",
            "not JSON",
        ] {
            json(text).expect_err(text);
        }
    }

    #[test]
    fn comments_and_other_values_of_toml_stay_as_they_are() {
        for text in [
            "# mine\nmodel = \"m\" # this one\n\n[tui]\ncolour = 'x'\n",
            "[mcp_servers.other] # o\ncommand = \"x\"\nargs = [ \"a\",\n  \"b\" ]\n",
            "[mcp_servers]\nfirst = { command = \"x\" }\n",
            "\u{feff}a = 1\n",
        ] {
            let after = toml(text).expect("an edited text");
            assert!(retains(text, &after), "{text}\n{after}");
            assert!(after.contains("[mcp_servers.telechir]"), "{after}");
            assert_eq!(
                toml(&after).as_ref(),
                Ok(&after),
                "a second time changes nothing"
            );
        }
        let inline = toml("mcp_servers = { a = { command = \"x\" } }\n").expect("an edited text");
        let value = toml_value(&inline).expect("TOML");
        assert_eq!(value["mcp_servers"]["telechir"], Value::Object(entry()));
    }

    #[test]
    fn a_toml_server_of_the_same_name_is_replaced_in_its_position() {
        let text =
            "[mcp_servers.telechir]\n# why\ncommand = \"old\" # here\nenv = {A = \"b\"}\n\n[z]\n";
        let after = toml(text).expect("an edited text");
        assert!(after.ends_with("\n[z]\n") && after.starts_with("[mcp_servers.telechir]\n"));
        assert!(!after.contains("old") && !after.contains("env"), "{after}");
    }

    #[test]
    fn a_toml_file_that_is_not_understood_is_refused() {
        for text in [
            "a = ",
            "mcp_servers = 3\n",
            "[mcp_servers]\ntelechir = 1\n[mcp_servers]\n",
        ] {
            toml(text).expect_err(text);
        }
    }
}
