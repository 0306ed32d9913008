//! The fuzzer's initial corpus: vectors of the dialects and inputs of other tests.

use std::path::Path;

use telechir_host::message_properties;
use telechir_providers::Dialect;

use crate::{HEAD, TARGETS, greetings, messages, patches, vectors};

/// Longer inputs are slow to mutate and find nothing that shorter ones do not.
const MAX_SEED_BYTES: usize = 16 * 1024;

/// The seed inputs of each target, by target name.
pub fn all(project: &Path) -> Vec<(&'static str, Vec<Vec<u8>>)> {
    let files = vectors::files(&project.join("crates/telechir-providers/tests/vectors"));
    TARGETS
        .iter()
        .map(|target| {
            let mut inputs = match target.name {
                "neutral" => neutral(&files),
                "shell" => commands(project),
                "patch" => diffs(),
                "policy_file" => plain(policies(project)),
                "greeting" => plain(greetings::seeds()),
                "cdp" => plain(messages::seeds()),
                "host" => plain(message_properties::seeds()),
                "sse" | "frames" | "pieces" | "envelope_stream" => {
                    with_heads(target.dialects, |dialect| vectors::streams(&files, dialect))
                }
                _ => with_heads(target.dialects, |dialect| {
                    vectors::documents(&files, dialect)
                }),
            };
            inputs.retain(|input| input.len() <= MAX_SEED_BYTES);
            (target.name, inputs)
        })
        .collect()
}

fn headed(which: usize, at: usize, bytes: Vec<u8>) -> Vec<u8> {
    let head: [u8; HEAD] = [which as u8, (at % 251) as u8];
    [head.to_vec(), bytes].concat()
}

fn with_heads(dialects: &[Dialect], of: impl Fn(Dialect) -> Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let inputs = |(which, dialect): (usize, &Dialect)| {
        let inputs = of(*dialect).into_iter().enumerate();
        let headed = inputs.map(move |(at, bytes)| headed(which, at, bytes));
        headed.collect::<Vec<_>>()
    };
    dialects.iter().enumerate().flat_map(inputs).collect()
}

/// Every dialect's documents in the neutral vocabulary.
fn neutral(files: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let (mut messages, mut contents) = (Vec::new(), Vec::new());
    for dialect in Dialect::ALL {
        for document in vectors::documents(files, dialect) {
            crate::neutral::seeds(dialect, &document, &mut messages, &mut contents);
        }
    }
    let messages = messages.into_iter().map(|bytes| headed(0, 0, bytes));
    let contents = contents.into_iter().map(|bytes| headed(1, 0, bytes));
    messages.chain(contents).collect()
}

/// The labelled commands of the policy's tests.
fn commands(project: &Path) -> Vec<Vec<u8>> {
    let file = project.join("crates/telechir-policy/tests/corpus/commands.tsv");
    let text = std::fs::read_to_string(file).expect("the corpus of commands");
    let command = |line: &str| serde_json::from_str::<String>(line.split_once('\t')?.1).ok();
    let commands = text.lines().filter_map(command).enumerate();
    commands
        .map(|(at, command)| headed(at % 4, 0, command.into_bytes()))
        .collect()
}

fn plain(inputs: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
    let inputs = inputs.into_iter().enumerate();
    inputs.map(|(at, bytes)| headed(0, at, bytes)).collect()
}

/// The examples of the policy's documentation.
fn policies(project: &Path) -> Vec<Vec<u8>> {
    let text = std::fs::read_to_string(project.join("docs/policy.md")).expect("the documentation");
    let examples = text.split("```toml\n").skip(1);
    let examples = examples.filter_map(|example| example.split("```").next());
    examples
        .map(|example| example.as_bytes().to_vec())
        .collect()
}

fn diffs() -> Vec<Vec<u8>> {
    const PAIRS: [(&str, &str); 8] = [
        ("a\nb\nc\n", "@@\n a\n-b\n+B\n c\n"),
        ("a\nb\na\nb\n", "@@\n-b\n+1\n@@\n-b\n+2\n+3\n"),
        (
            "class A\n def f\n  pass\nclass B\n def f\n  pass\n",
            "@@ class B\n@@  def f\n-  pass\n+  return\n",
        ),
        ("x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n"),
        ("a  \n\tb\nc\n", " a\n b\n-c\n+C\n"),
        ("a\r\nb\r\n", " a\r\n+x\r\n"),
        (
            "",
            "*** Begin Patch\n*** Add File: a\n+a\n+\n+b\n*** End Patch\n",
        ),
        ("a", "+b\n*** End of File"),
    ];
    let pair = |(file, diff): (&str, &str)| {
        headed(
            0,
            0,
            [file.as_bytes(), patches::BETWEEN, diff.as_bytes()].concat(),
        )
    };
    PAIRS.map(pair).to_vec()
}
