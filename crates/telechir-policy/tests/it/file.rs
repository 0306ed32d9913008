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
        "policy.toml, line 2: unknown variant `alow`",
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
        "line 1: the rule does not match its example \"gitk\"",
    );
    check(
        "[[keys]]\nchords = ['alt+F4']\nverdict = 'deny'\nreason = 'x'\nexamples.not_match = ['Option+f4']",
        "line 1: the rule must not match but matches its example",
    );
    check(
        "[[computer]]\nactions = ['click']\nverdict = 'deny'\nreason = 'x'\nexamples.match = [{ action = 'type' }]",
        "line 1: the rule does not match its example",
    );
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
