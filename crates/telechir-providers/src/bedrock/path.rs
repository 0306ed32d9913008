//! Where a model is asked, and the key it is asked with.

use std::fmt::Write as _;

/// The header that carries a Bedrock key.
pub(super) fn key_header(key: &str) -> (&'static str, String) {
    ("authorization", format!("Bearer {key}"))
}

/// A model's id as one segment of a path: `:` is `%3A`.
pub(super) fn path_segment(model: &str) -> String {
    let mut path = String::new();
    for byte in model.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            path.push(char::from(byte));
        } else {
            let _never_fails = write!(path, "%{byte:02X}");
        }
    }
    path
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_models_id_is_one_segment() {
        let id = "arn:aws:bedrock:us-east-1::foundation-model/a.b-v1:0";
        let path = "arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2Fa.b-v1%3A0";
        assert_eq!(super::path_segment(id), path);
    }
}
