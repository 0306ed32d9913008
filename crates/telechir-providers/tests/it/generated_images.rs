//! Images that a model of one provider made, for models that send none.

use serde_json::{Value, json};
use telechir_protocol::{Content, Role};
use telechir_providers::Dialect;

/// An image of one pixel.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A generated image and one of a code interpreter, with a call and its result after the second.
fn history() -> Value {
    json!([
        {"role": "user", "content": "Draw a lighthouse, then plot the tide."},
        {"type": "image_generation_call", "id": "ig_7", "status": "completed", "result": PIXEL},
        {"role": "user", "content": "And the plot?"},
        {"type": "code_interpreter_call", "id": "ci_8", "container_id": "cntr_1", "status": "completed",
         "code": "plot()", "outputs": [{"type": "image", "url": format!("data:image/png;base64,{PIXEL}")}]},
        {"type": "function_call", "call_id": "call_9", "name": "publish", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "call_9", "output": "Done."},
    ])
}

#[test]
fn they_become_images_of_the_user_with_a_note() {
    let (history, _) = Dialect::OpenaiResponses
        .decode_history(history().to_string())
        .unwrap();
    for to in [
        Dialect::AnthropicMessages,
        Dialect::BedrockMessages,
        Dialect::BedrockInvoke,
        Dialect::BedrockConverse,
        Dialect::GoogleGenerateContent,
        Dialect::GoogleInteractions,
    ] {
        let (written, report) = to.encode_history(&history).unwrap();
        let (back, _) = to.decode_history(written.to_string()).unwrap();
        let is_image = |content: &&Content| matches!(content, Content::Data(_));
        let mut of_user = 0;
        for message in &back.messages {
            let count = message.contents.iter().filter(is_image).count();
            assert!(
                count == 0 || message.role != Role::Assistant,
                "{to}: {written}"
            );
            of_user += count;
        }
        assert_eq!(of_user, 2, "{to}: {written}");
        for id in ["ig_7", "ci_8"] {
            let note = format!("[Image that the assistant made {id}:]");
            assert!(written.to_string().contains(&note), "{to}: {written}");
            let mut losses = report.losses.iter();
            assert!(
                losses.any(|loss| loss.what.contains(id)),
                "{to}: {report:?}"
            );
        }
    }
}
