//! Removes unknown contents of other providers from a history before it is encoded, and reports them.

use telechir_protocol::{Content, Message, UnknownContent};

use crate::content_text;
use crate::nested_contents::{nested, nested_lists};
use crate::report::Report;

/// Whether unknown contents of this dialect are accepted.
type Accepts<'a> = &'a dyn Fn(&str) -> bool;

/// The messages without the unknown contents that are not accepted, and a report of them; `None`
/// if there are none. An unknown content without a dialect remains.
pub(crate) fn remove(messages: &[Message], accepts: Accepts<'_>) -> Option<(Vec<Message>, Report)> {
    let mut contents = messages.iter().flat_map(|message| &message.contents);
    if !contents.any(|content| contains_foreign(content, accepts)) {
        return None;
    }
    let mut remaining = messages.to_vec();
    let mut report = Report::default();
    for (at, message) in remaining.iter_mut().enumerate() {
        let location = format!("messages[{at}].contents");
        remove_from(&mut message.contents, accepts, &location, &mut report);
    }
    Some((remaining, report))
}

fn is_foreign(content: &Content, accepts: Accepts<'_>) -> bool {
    let Content::Other(other) = content else {
        return false;
    };
    let dialect = other.dialect.as_deref();
    dialect.is_some_and(|dialect| !accepts(dialect))
}

fn contains_foreign(content: &Content, accepts: Accepts<'_>) -> bool {
    is_foreign(content, accepts)
        || nested(content)
            .into_iter()
            .flat_map(|(_, inner)| inner)
            .any(|inner| contains_foreign(inner, accepts))
}

fn remove_from(
    contents: &mut Vec<Content>,
    accepts: Accepts<'_>,
    location: &str,
    report: &mut Report,
) {
    let mut at = 0;
    contents.retain_mut(|content| {
        let location = format!("{location}[{at}]");
        at += 1;
        if is_foreign(content, accepts) {
            let Content::Other(other) = &*content else {
                return false;
            };
            let fields = content_text::field_names(&other.json);
            let what = format!("content of type `{}`{fields}", name_of(other));
            let owner = other.dialect.as_deref().unwrap_or_default();
            let why = format!("only {owner} has it");
            let Some(text) = content_text::as_text(content) else {
                report.lost(what, &location, why);
                return false;
            };
            report.preserved(what, &location, why, "as a link in a text");
            *content = Content::text(text);
            return true;
        }
        for (name, inner) in nested_lists(content) {
            remove_from(inner, accepts, &format!("{location}.{name}"), report);
        }
        true
    });
}

/// The provider's name of the object: its `type`, else its first field.
fn name_of(other: &UnknownContent) -> String {
    // Objects that a decoder had to name are inside one of these.
    let inner = ["part", "step", "item"]
        .into_iter()
        .filter(|_| other.json.len() == 2)
        .find_map(|name| other.json.get(name)?.as_object());
    let object = inner.unwrap_or(&other.json);
    let kind = object.get("type").and_then(serde_json::Value::as_str);
    let kind = kind.map(|kind| kind.strip_prefix("bedrock_").unwrap_or(kind));
    let first_field = || object.iter().find(|(_, value)| value.is_object());
    let field = || first_field().or_else(|| object.iter().next());
    kind.or_else(|| Some(field()?.0.as_str()))
        .unwrap_or_default()
        .to_owned()
}
