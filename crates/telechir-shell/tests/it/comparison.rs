//! The comparison table in the documentation matches the corpus.

use serde_json::Value;

const CASES: &str = include_str!("../corpus/commands.json");
const TABLE: &str = include_str!("../../../../benchmarks/shell-comparison.md");

/// The expected cell of telechir's column.
fn expected_cell(case: &Value) -> String {
    let text = |member: &str| case.get(member).and_then(Value::as_str).unwrap_or_default();
    match text("outcome") {
        "awaiting_input" => match text("prompt") {
            "" => format!("awaiting input: {}", text("kind")),
            prompt => format!("awaiting input: {}, “{prompt}”", text("kind")),
        },
        "timeout" => "timeout, session continues".to_owned(),
        _ if case.get("lost").is_some() => {
            format!("exit {}, reports a new shell", case["exit"])
        }
        _ => format!("exit {}", case["exit"]),
    }
}

#[test]
fn the_table_lists_every_command_with_its_outcome() {
    let cases: Vec<Value> = serde_json::from_str(CASES).unwrap();
    let rows: Vec<&str> = TABLE
        .lines()
        .filter(|line| line.contains(" | `` "))
        .collect();
    assert_eq!(rows.len(), cases.len(), "run scripts/shell-comparison.sh");
    for (case, row) in cases.iter().zip(rows) {
        let begin = format!("| {} | `` ", case["name"].as_str().unwrap());
        assert!(row.starts_with(&begin), "{row}");
        let text = format!(" `` | {} | ", expected_cell(case));
        assert!(row.contains(&text), "{text} is not in {row}");
    }
}
