//! The contents inside of a content.

use telechir_protocol::Content;

/// The lists of contents inside a content, with the names of their fields. The call of an approval
/// is a list of one.
pub(crate) fn nested(content: &Content) -> Vec<(&'static str, &[Content])> {
    if let Content::FunctionResult(result) = content {
        vec![("items", &result.items)]
    } else if let Content::CommandCall(call)
    | Content::CommandResult(call)
    | Content::ImageGenerationCall(call)
    | Content::ImageGenerationResult(call) = content
    {
        vec![("inputs", &call.inputs), ("results", &call.results)]
    } else if let Content::ApprovalRequest(request) = content {
        vec![("call", std::slice::from_ref(request.call.as_ref()))]
    } else if let Content::ApprovalResponse(response) = content {
        let call = response.call.as_deref().map(std::slice::from_ref);
        call.map(|call| ("call", call)).into_iter().collect()
    } else {
        Vec::new()
    }
}

/// The same lists to change, without the call of an approval.
pub(crate) fn nested_lists(content: &mut Content) -> Vec<(&'static str, &mut Vec<Content>)> {
    if let Content::FunctionResult(result) = content {
        vec![("items", &mut result.items)]
    } else if let Content::CommandCall(call)
    | Content::CommandResult(call)
    | Content::ImageGenerationCall(call)
    | Content::ImageGenerationResult(call) = content
    {
        vec![("inputs", &mut call.inputs), ("results", &mut call.results)]
    } else {
        Vec::new()
    }
}
