//! Policy files: read strictly, with errors that name file and line.

use telechir_policy::Policy;

#[track_caller]
fn check(text: &str, wanted: &str) {
    let error = Policy::from_toml(text, "policy.toml")
        .unwrap_err()
        .to_string();
    assert!(
        error.contains(wanted),
        "{error}\ndoes not contain {wanted:?}"
    );
}

#[test]
fn a_typing_error_is_refused_with_its_line() {
    check(
        "[[shell]]\nwords = ['ls']\nverdct = 'deny'\nreason = 'x'",
        "policy.toml, line 3: unknown field `verdct`",
    );
    check(
        "\n[[shel]]\nverdict = 'deny'\nreason = 'x'",
        "policy.toml, line 2: unknown field `shel`",
    );
    check(
        "[[shell]]\nverdict = 'alow'\nreason = 'x'",
        "policy.toml, line 2: `verdict`: unknown variant `alow`",
    );
    check(
        "[[computer]]\nactions = ['clik']\nverdict = 'deny'\nreason = 'x'",
        "policy.toml, line 2",
    );
    check("[[shell]\n", "policy.toml, line 1");
}

#[test]
fn an_empty_rule_is_refused() {
    check(
        "[[shell]]\nverdict = 'deny'\nreason = ' '",
        "line 1: the rule's reason is empty",
    );
    check(
        "[[shell]]\nwords = []\nverdict = 'deny'\nreason = 'x'",
        "line 1: `words` is empty",
    );
    check(
        "[[keys]]\nverdict = 'deny'\nreason = 'x'",
        "line 1: a keys rule needs `chords`",
    );
    check(
        "[[keys]]\nchords = ['ctrl+']\nverdict = 'deny'\nreason = 'x'",
        "invalid chord \"ctrl+\"",
    );
    check(
        "[[url]]\nhost = ['a b']\nverdict = 'deny'\nreason = 'x'",
        "invalid host \"a b\"",
    );
    let limit = "[[shell]]\nverdict = 'deny'\nreason = 'x'\nlimit = { count = 1 }";
    check(limit, "line 1: the limit's `then` must be stricter");
}

#[test]
fn a_rule_that_contradicts_its_examples_is_refused() {
    check(
        "[[shell]]\nwords = ['git']\nverdict = 'deny'\nreason = 'x'\nexamples.match = ['gitk']",
        "line 5: the rule does not match its example 'gitk'; change the rule or the example",
    );
    check(
        "[[keys]]\nchords = ['alt+F4']\nverdict = 'deny'\nreason = 'x'\nexamples.not_match = ['Option+f4']",
        "line 5: the rule must not match but matches its example 'Option+f4'",
    );
    check(
        "[[computer]]\nactions = ['click']\nverdict = 'deny'\nreason = 'x'\nexamples.match = [{ action = 'type' }]",
        "line 5: the rule does not match its example { action = 'type' };",
    );
}

#[test]
fn an_asterisk_is_every_host() {
    for kind in ["url", "network"] {
        let rule =
            |host: &str| format!("[[{kind}]]\nhost = ['{host}']\nverdict = 'deny'\nreason = 'x'");
        for host in ["*", "*.example.com", "EXAMPLE.com."] {
            let read = Policy::from_toml(&rule(host), "p.toml");
            assert!(read.is_ok(), "{kind} {host}: {read:?}");
        }
        for host in ["*.", "a.*", "**"] {
            check(&rule(host), &format!("invalid host \"{host}\""));
        }
    }
}

/// A line of several commands is as strict as its strictest part, in examples as well.
#[test]
fn an_example_of_several_commands_is_matched_by_part() {
    let rule = |verdict: &str, examples: &str| {
        format!(
            "[[shell]]\nwords = ['git']\nverdict = '{verdict}'\nreason = 'x'\nexamples.{examples}"
        )
    };
    for (verdict, examples) in [
        ("deny", "match = ['ls; git push']"),
        ("ask", "match = ['git push && ls', 'echo $HOME']"),
        ("deny", "not_match = ['ls; cat git']"),
        ("allow", "match = ['git log; git status']"),
        ("allow", "not_match = ['ls; git log', 'git log $HOME']"),
    ] {
        let read = Policy::from_toml(&rule(verdict, examples), "p.toml");
        assert!(read.is_ok(), "{verdict} {examples}: {read:?}");
    }
    for (verdict, examples) in [
        ("deny", "not_match = ['ls; git push']"),
        ("allow", "match = ['ls; git log']"),
    ] {
        let read = Policy::from_toml(&rule(verdict, examples), "p.toml");
        assert!(read.is_err(), "{verdict} {examples}");
    }
}

#[test]
fn a_message_names_the_line_of_the_wrong_example() {
    let rule = |kind: &str, conditions: &str, examples: &str| {
        format!(
            "[[{kind}]]\n{conditions}\nverdict = 'deny'\nreason = 'x'\n\n[{kind}.examples]\n{examples}"
        )
    };
    let commands = "match = [\n  'git push',\n  'gitk',\n]";
    check(
        &rule("shell", "words = ['git']", commands),
        "line 9: the rule does not match its example 'gitk';",
    );
    let urls = "not_match = ['https://b.example/',\n 'no url at all']";
    check(
        &rule("url", "host = ['a.example']", urls),
        "line 8: the example \"no url at all\" is not a URL",
    );
    let tables = "match = [\n { action = 'click', device = 'desktop' },\n { action = 'clik' }]";
    check(
        &rule("computer", "actions = ['click']", tables),
        "line 9: unknown action `clik`, expected one of screenshot, observe_screen, zoom,",
    );
}

#[test]
fn a_message_is_about_the_file_and_not_about_the_program() {
    check(
        "[[computer]]\nactions = ['clik']\nverdict = 'deny'\nreason = 'x'",
        "line 2: unknown action `clik`, expected one of screenshot, observe_screen, zoom,",
    );
    for (text, wanted) in [
        (
            "[[shell]]\nverdict = 'allow'\nreason = 'x'\nlimit = 5",
            "line 4: `limit`: invalid type: integer `5`, expected a table such as { count = 5,",
        ),
        (
            "[[shell]]\nverdict = 'allow'\nreason = 'x'\nexamples = 5",
            "line 4: `examples`: invalid type: integer `5`, expected a table such as { match = [...]",
        ),
        (
            "[[shell]]\nwords = [5]\nverdict = 'allow'\nreason = 'x'",
            "line 2: a word, or a list of alternative words",
        ),
        (
            "[[computer]]\nverdict = 'ask'\nreason = 'x'\nexamples.match = ['click']",
            "line 4: `examples.match`: invalid type: string \"click\", expected a table such as { action =",
        ),
        (
            "[[shell]]\nverdict = 'ask'\nreason = 'x'\nexcept = ['ls']",
            "line 4: `except`: invalid type: string \"ls\", expected a table with conditions",
        ),
        (
            "trusted = 5",
            "line 1: `trusted`: invalid type: integer `5`, expected a table [trusted] with `host`",
        ),
        (
            "shell = [5]",
            "line 1: `shell`: invalid type: integer `5`, expected a rule, which begins with",
        ),
        (
            "[shell]\nverdict = 'ask'\nreason = 'x'",
            "line 1: invalid type: table, expected rules; write the name of their table in double brackets",
        ),
    ] {
        check(text, wanted);
        let error = Policy::from_toml(text, "policy.toml").unwrap_err();
        let error = error.to_string();
        assert!(
            !error.contains("struct") && !error.contains("enum"),
            "{error}"
        );
    }
}

#[test]
fn every_kind_of_rule_is_read() {
    let text = "
        [[computer]]
        name = 'no scripts'
        actions = ['javascript', 'double_click']
        device = 'browser'
        display = 'private'
        verdict = 'deny'
        reason = 'Not here.'
        examples.match = [{ action = 'javascript', device = 'browser' }]
        examples.not_match = [{ action = 'javascript' }]

        [[keys]]
        chords = ['ctrl+w', 'Control_L+q']
        verdict = 'ask'
        reason = 'They close things.'
        examples.match = ['ctrl+shift+w', 'CTRL+Q']
        examples.not_match = ['w']

        [[url]]
        scheme = ['https']
        host = ['*.example.com', 'BÜCHER.de']
        address = ['public', 'unresolved']
        verdict = 'allow'
        reason = 'Ours.'
        examples.match = ['https://a.example.com', 'https://xn--bcher-kva.de/']
        examples.not_match = ['https://example.com', 'http://a.example.com', 'https://badexample.com']

        [[shell]]
        words = ['git', ['status', 'log']]
        shell = 'sandboxed'
        verdict = 'sandbox'
        reason = 'They look.'
        limit = { count = 100 }
        examples.match = ['git log -1; git status']
        examples.not_match = ['git push', 'git log; rm x', 'git log > f', 'git log $x']
    ";
    Policy::from_toml(text, "policy.toml").unwrap();
}
