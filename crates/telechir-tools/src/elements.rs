//! Elements in the texts that devices return, as JSON objects.
//!
//! Devices list elements as lines such as `button "Save" [e5] value="x" focused`, on a labelled
//! screenshot as `3: button "Save" [e5] at 24,38`.

use serde_json::{Map, Value};

/// Maximum number of elements in an answer; the rest is counted.
const MAX_ELEMENTS: usize = 200;

/// The elements of a text.
#[derive(Debug, Default)]
pub(crate) struct ElementList {
    /// The first elements, each with `type`, and with `ref`, `name`, `level` and others if known.
    pub(crate) elements: Vec<Value>,
    /// Number of all elements of the text.
    pub(crate) count: usize,
    /// The lines that list no element.
    pub(crate) rest: String,
}

impl ElementList {
    /// Reads the lines of a text.
    pub(crate) fn of(text: &str) -> Self {
        let mut list = Self::default();
        for line in text.lines() {
            match element(line) {
                Some(element) => {
                    list.count += 1;
                    if list.elements.len() < MAX_ELEMENTS {
                        list.elements.push(Value::Object(element));
                    }
                }
                None => {
                    if !list.rest.is_empty() {
                        list.rest.push('\n');
                    }
                    list.rest.push_str(line);
                }
            }
        }
        list
    }

    /// The first element with this state.
    pub(crate) fn with_state(&self, state: &str) -> Option<&Value> {
        self.elements.iter().find(|element| {
            let states = element.get("states").and_then(Value::as_array);
            states.is_some_and(|states| states.iter().any(|s| s == state))
        })
    }
}

fn element(line: &str) -> Option<Map<String, Value>> {
    let indented = line.trim_start_matches(' ');
    let level = (line.len() - indented.len()) / 2;
    let (label, rest) = match indented.split_once(": ") {
        Some((number, rest)) if is_number(number) => (number.parse::<u64>().ok(), rest),
        _ => (None, indented),
    };
    let mut reader = LineReader { rest };
    let mut members = Map::new();
    if let Some(label) = label {
        members.insert("label".to_owned(), label.into());
    }
    let role = reader.word();
    if role.is_empty() && !reader.rest.starts_with('"') {
        return None;
    }
    let is_role = role.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    if !is_role {
        return None;
    }
    members.insert(
        "type".to_owned(),
        if role.is_empty() { "text" } else { role }.into(),
    );
    let name = reader.quoted();
    let id = reader.bracketed();
    if name.is_none() && id.is_none() {
        return None;
    }
    members.extend(id.map(|id| ("ref".to_owned(), id.into())));
    members.extend(name.map(|name| ("name".to_owned(), name.into())));
    if level > 0 {
        members.insert("level".to_owned(), level.into());
    }
    reader.attributes(&mut members)?;
    Some(members)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Reads a line from left to right.
struct LineReader<'a> {
    rest: &'a str,
}

impl<'a> LineReader<'a> {
    /// The characters until a space, a quote or a bracket.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find([' ', '"', '[', '=']);
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        word
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// A quoted text, if it stands next.
    fn quoted(&mut self) -> Option<String> {
        self.skip_spaces();
        let inner = self.rest.strip_prefix('"')?;
        let mut text = String::new();
        let mut chars = inner.char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.rest = &inner[at + 1..];
                    return Some(text);
                }
                '\\' => text.push(escaped(&mut chars)?),
                c => text.push(c),
            }
        }
        None
    }

    /// What stands in brackets, if it stands next.
    fn bracketed(&mut self) -> Option<&'a str> {
        self.skip_spaces();
        let (inner, rest) = self.rest.strip_prefix('[')?.split_once(']')?;
        self.rest = rest;
        Some(inner)
    }

    /// `value="…"`, `at 24,38` and states; none for a line of another form.
    fn attributes(&mut self, members: &mut Map<String, Value>) -> Option<()> {
        let mut states = Vec::new();
        loop {
            self.skip_spaces();
            if self.rest.is_empty() {
                break;
            }
            let word = self.word();
            if word == "at" {
                self.skip_spaces();
                let (x, y) = self.rest.split_once(',')?;
                members.insert("x".to_owned(), x.parse::<i64>().ok()?.into());
                members.insert("y".to_owned(), y.parse::<i64>().ok()?.into());
                break;
            }
            match self.rest.strip_prefix('=') {
                Some(value) if !word.is_empty() => {
                    self.rest = value;
                    let value = match value.starts_with('[') {
                        true => self.list()?,
                        false => self.quoted()?.into(),
                    };
                    let name = if word == "id" { "automation_id" } else { word };
                    members.insert(name.to_owned(), value);
                }
                _ if word.is_empty() => return None,
                _ => states.push(Value::from(word)),
            }
        }
        if !states.is_empty() {
            members.insert("states".to_owned(), Value::Array(states));
        }
        Some(())
    }

    /// `["a", "b"]`.
    fn list(&mut self) -> Option<Value> {
        self.rest = self.rest.strip_prefix('[')?;
        let mut items = Vec::new();
        loop {
            self.skip_spaces();
            if let Some(rest) = self.rest.strip_prefix(']') {
                self.rest = rest;
                return Some(Value::Array(items));
            }
            items.push(self.quoted()?.into());
            self.rest = self.rest.strip_prefix(',').unwrap_or(self.rest);
        }
    }
}

/// The character of an escape sequence after its backslash.
fn escaped(chars: &mut std::str::CharIndices<'_>) -> Option<char> {
    let (_, c) = chars.next()?;
    Some(match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        '0' => '\0',
        'u' => {
            let mut digits = chars.map(|(_, c)| c).skip_while(|c| *c == '{');
            let code: String = digits.by_ref().take_while(|c| *c != '}').collect();
            u32::from_str_radix(&code, 16)
                .ok()
                .and_then(char::from_u32)?
        }
        c => c,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_of_elements_are_read_and_others_remain() {
        let text = concat!(
            "snapshot_2, epoch 3: \"Cart: [sum]\" <http://shop/>, view 800x600\n",
            "window \"Untitled - Pad\" [e1] active\n",
            "    [A1 to B2 in view; find empty cells by name]\n",
            "  textbox [e315] value=\"Zo\u{eb} \\\"Z\\\"\" focused\n",
            "    combobox \"Size\" [b4] options=[\"S, M\", \"L\"] collapsed\n",
            "  link \"more\" [b5] href=\"/a?b=c\"\n",
            "  \"Just text\"\n",
            "12: button \"Save\" [e5] id=\"go\" at 24,38\n",
            "[3 more elements; request a part]",
        );
        let list = ElementList::of(text);
        assert_eq!(
            Value::Array(list.elements.clone()),
            json!([
                {"type": "window", "ref": "e1", "name": "Untitled - Pad", "states": ["active"]},
                {"type": "textbox", "ref": "e315", "level": 1, "value": "Zo\u{eb} \"Z\"",
                 "states": ["focused"]},
                {"type": "combobox", "ref": "b4", "name": "Size", "level": 2,
                 "options": ["S, M", "L"], "states": ["collapsed"]},
                {"type": "link", "ref": "b5", "name": "more", "level": 1, "href": "/a?b=c"},
                {"type": "text", "name": "Just text", "level": 1},
                {"label": 12, "type": "button", "ref": "e5", "name": "Save",
                 "automation_id": "go", "x": 24, "y": 38},
            ])
        );
        assert_eq!(
            list.rest.lines().collect::<Vec<_>>(),
            [
                "snapshot_2, epoch 3: \"Cart: [sum]\" <http://shop/>, view 800x600",
                "    [A1 to B2 in view; find empty cells by name]",
                "[3 more elements; request a part]"
            ]
        );
        let focused = list.with_state("focused").map(|element| &element["ref"]);
        assert_eq!(focused, Some(&json!("e315")));
    }

    #[test]
    fn elements_beyond_the_limit_are_counted() {
        let text: String = (0..300)
            .map(|n| format!("button \"b{n}\" [e{n}]\n"))
            .collect();
        let list = ElementList::of(&text);
        assert_eq!((list.elements.len(), list.count), (MAX_ELEMENTS, 300));
    }

    #[test]
    fn no_text_panics() {
        for text in [
            "\"",
            "button \"\\",
            "a [",
            "1: ",
            "x at ,",
            "b \"\\u{110000}\"",
            "é \"x\"",
        ] {
            assert_eq!(ElementList::of(text).count, 0, "{text}");
        }
    }
}
