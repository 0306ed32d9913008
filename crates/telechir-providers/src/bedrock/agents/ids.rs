//! Ids of calls. An invocation has one id for up to five calls.

/// Prefix of an invocation id that encodes the call ids of another dialect.
const ENCODED_PREFIX: &str = "tcids:";

/// Ids of an invocation's calls, in order.
pub(super) fn of_invocation(invocation: &str, count: usize) -> Vec<String> {
    if let Some(encoded) = invocation.strip_prefix(ENCODED_PREFIX) {
        let ids: Vec<String> = serde_json::from_str(encoded).unwrap_or_default();
        if ids.len() == count {
            return ids;
        }
    }
    if count == 1 {
        return vec![invocation.to_owned()];
    }
    (1..=count).map(|at| format!("{invocation}_{at}")).collect()
}

/// Id of an invocation whose calls have these ids.
pub(super) fn invocation(ids: &[String]) -> String {
    let base = ids
        .first()
        .and_then(|id| id.strip_suffix("_1"))
        .filter(|base| of_invocation(base, ids.len()) == ids);
    match (ids, base) {
        ([only], _) => only.clone(),
        (_, Some(base)) => base.to_owned(),
        _ => format!("{ENCODED_PREFIX}{}", serde_json::json!(ids)),
    }
}

#[cfg(test)]
mod tests {
    use super::{invocation, of_invocation};

    #[test]
    fn an_invocation_id_decodes_to_its_call_ids() {
        for ids in [
            vec!["toolu_1"],
            vec!["i-8_1", "i-8_2"],
            vec!["a", "b,\"", "c"],
        ] {
            let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
            assert_eq!(of_invocation(&invocation(&ids), ids.len()), ids);
        }
        assert_eq!(invocation(&["i-8_1".to_owned(), "i-8_2".to_owned()]), "i-8");
    }
}
