//! What messages of Ollama's own chat have besides those of other services: images in a field of
//! their own, arguments as objects, and results with the name of their function.

use serde_json::Value;
use telechir_protocol::{Content, DataContent};

use super::Flavour;
use crate::json::{Fields, list, object, owned, raw_of};

/// The field that names the function of a result.
pub(super) const TOOL_NAME: &str = "tool_name";
/// The field that holds images in base64 without their type.
pub(super) const IMAGES: &str = "images";

/// The start of an image in base64, and its type.
const SIGNATURES: [(&str, &str); 4] = [
    ("iVBORw0K", "image/png"),
    ("/9j/", "image/jpeg"),
    ("R0lGOD", "image/gif"),
    ("UklGR", "image/webp"),
];

/// The name of the called function, if its arguments came as an object: results name it then.
pub(super) fn function_name(flavour: Flavour, call: &Content) -> Option<String> {
    if !matches!(flavour, Flavour::Functions | Flavour::Inline) {
        return None;
    }
    let entry = raw_of(call.meta()?, flavour.dialect())?.as_object()?;
    let function = object(entry, "function")?;
    object(function, "arguments")?;
    owned(function, "name")
}

/// The images of a message.
pub(super) fn images(message: &Fields) -> Vec<Content> {
    let images = list(message, IMAGES).iter().filter_map(Value::as_str);
    images.map(image).collect()
}

fn image(base64: &str) -> Content {
    let known = SIGNATURES
        .iter()
        .find(|(start, _)| base64.starts_with(start));
    let media_type = known.map_or("application/octet-stream", |(_, kind)| kind);
    Content::Data(DataContent::from_base64(media_type, base64))
}
