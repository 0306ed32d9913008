//! Image limits of dialects and models (the table in docs/desktop.md), and image formats.

use std::fs;
use std::path::Path;

use telechir_protocol::{
    Action, ComputerCall, ComputerResult, Content, DataContent, Media, Message, Role, Size,
};
use telechir_providers::{Dialect, Envelope, History};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/desktop.md");
const BEGIN: &str = "<!-- image limits -->\n";
const END: &str = "<!-- end of image limits -->\n";

/// One model for each set of limits.
fn models(dialect: Dialect) -> &'static [Option<&'static str>] {
    match dialect {
        Dialect::AnthropicMessages | Dialect::BedrockMessages | Dialect::BedrockInvoke => {
            &[Some("claude-sonnet-4-5"), Some("claude-opus-4-7")]
        }
        Dialect::BedrockConverse | Dialect::BedrockAgents => &[
            Some("anthropic.claude-sonnet-4-5-20250929-v1:0"),
            Some("anthropic.claude-opus-4-7-v1:0"),
        ],
        Dialect::MistralChat | Dialect::MistralConversations => &[Some("pixtral-12b"), None],
        Dialect::OpenaiResponses
        | Dialect::GoogleGenerateContent
        | Dialect::GoogleInteractions
        | Dialect::AgentFramework
        | Dialect::Functions
        | Dialect::FunctionsInline
        | Dialect::Neutral => &[None],
    }
}

fn table() -> String {
    let mut table = "| dialect | model | 1920x1080 screen | 2560x1600 screen | 3840x2160 screen | max image size | WebP |\n|---|---|---|---|---|---|---|\n".to_owned();
    for dialect in Dialect::ALL {
        for model in models(dialect) {
            let seen = |width, height| {
                let size = dialect.screenshot_size(*model, Size::new(width, height));
                format!("{}x{}", size.width, size.height)
            };
            let sizes = [seen(1920, 1080), seen(2560, 1600), seen(3840, 2160)];
            let model = match models(dialect) {
                [_] => "any".to_owned(),
                _ => model.map_or_else(|| "others".to_owned(), |model| format!("`{model}`")),
            };
            let megabytes = dialect.max_image_bytes() as f64 / 1e6;
            let webp = match dialect.accepts_webp() {
                true => "yes",
                false => "no",
            };
            table.push_str(&format!(
                "| `{}` | {model} | {} | {megabytes:.1} MB | {webp} |\n",
                dialect.name(),
                sizes.join(" | ")
            ));
        }
    }
    table
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "UPDATE=1 makes this test rewrite the table"
)]
fn the_table_of_image_limits_is_current() {
    let page = fs::read_to_string(Path::new(PAGE)).unwrap();
    let (head, rest) = page.split_once(BEGIN).unwrap();
    let (old, tail) = rest.split_once(END).unwrap();
    let table = table();
    if std::env::var("UPDATE").is_ok() {
        fs::write(PAGE, format!("{head}{BEGIN}{table}{END}{tail}")).unwrap();
        return;
    }
    assert_eq!(old, table, "{PAGE} is stale: run this test with UPDATE=1");
}

#[test]
fn webp_is_for_services_whose_documents_name_it_for_results() {
    let accepting = Dialect::ALL
        .into_iter()
        .filter(|dialect| dialect.accepts_webp());
    assert_eq!(
        accepting.map(Dialect::name).collect::<Vec<_>>(),
        [
            "anthropic-messages",
            "bedrock-converse",
            "bedrock-messages",
            "bedrock-invoke",
            "bedrock-agents"
        ]
    );
}

#[test]
fn every_dialect_encodes_png_jpeg_and_webp_and_reports_an_uncertain_webp() {
    for media_type in ["image/png", "image/jpeg", "image/webp"] {
        // Long enough not to occur in an id by chance.
        let base64 = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAGCAIAAABxZ0is";
        let mut result = ComputerResult::new("call_1");
        let data = DataContent::from_base64(media_type, base64);
        result.screenshot = Some(Media::Data(data));
        let call = ComputerCall::new("call_1", vec![Action::Screenshot]);
        let history = History {
            messages: vec![
                Message::new(Role::User, vec![Content::text("Look.")]),
                Message::new(Role::Assistant, vec![Content::ComputerCall(call)]),
                Message::new(Role::User, vec![Content::ComputerResult(result)]),
            ],
            envelope: Envelope::List,
        };
        for dialect in Dialect::ALL {
            let (written, report) = dialect.encode_history(&history).unwrap();
            let written = written.to_string();
            let format = media_type.trim_start_matches("image/");
            assert!(
                written.contains(base64) && written.contains(format),
                "{dialect} {media_type}: {written}"
            );
            let webp = report.losses.iter().find(|loss| loss.what == "WebP image");
            let is_uncertain = media_type == "image/webp" && !dialect.accepts_webp();
            assert_eq!(webp.is_some(), is_uncertain, "{dialect}: {report:?}");
            let location = webp.map(|loss| loss.location.as_str());
            assert!(location.is_none_or(|location| location == "call call_1"));
        }
    }
}
