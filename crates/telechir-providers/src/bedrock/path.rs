//! The path of a model's endpoint.

use std::fmt::Write as _;

/// A model's id as one percent-encoded path segment.
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
    fn a_model_id_is_one_path_segment() {
        let id = "arn:aws:bedrock:us-east-1::foundation-model/a.b-v1:0";
        let path = "arn%3Aaws%3Abedrock%3Aus-east-1%3A%3Afoundation-model%2Fa.b-v1%3A0";
        assert_eq!(super::path_segment(id), path);
    }
}
