//! The live page for everybody: WCAG 2.2 AA by axe-core, in light and dark, wide and narrow.

use std::fs;

use super::page::PageFixture;

/// Installed by `scripts/axe.sh`, as `make test` does.
const AXE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/axe/axe-4.14.1.min.js"
);
const RUN: &str = "axe.run(document, {runOnly: {type: 'tag', \
    values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']}})\
    .then((found) => { globalThis.found = 'violations: ' + JSON.stringify(\
    found.violations.map((one) => [one.id, one.nodes.map((node) => node.html)])); }); 'started'";

/// A page with a question, and everything that axe-core finds in it when it is asked.
struct CheckedPage(PageFixture);

impl CheckedPage {
    fn open(flags: &[&str]) -> Self {
        let page = PageFixture::open("operator", flags);
        page.request("q1", "touch one");
        let question = "document.querySelector('#question').innerText";
        page.wait(question, "touch one");
        Self(page)
    }

    #[track_caller]
    fn assert_passes(&self) {
        assert_passes(&self.0);
    }
}

/// Asserts that axe-core finds nothing in what the page shows.
#[track_caller]
pub(super) fn assert_passes(page: &PageFixture) {
    let axe = fs::read_to_string(AXE).expect("axe-core is installed: run scripts/axe.sh");
    page.script(&format!("{axe}; 'loaded'"));
    page.script(RUN);
    page.wait("globalThis.found ?? 'waits'", "violations");
    let found = page.script("globalThis.found");
    assert!(found.contains("violations: []"), "{found}");
}

#[test]
fn the_list_has_no_violations_in_light_and_wide() {
    let page = CheckedPage::open(&["--color-scheme=light"]);
    page.0
        .wait("document.querySelectorAll('.card').length", "2");
    page.assert_passes();
}

#[test]
fn a_session_has_no_violations_in_dark_and_narrow() {
    let page = CheckedPage::open(&["--color-scheme=dark", "--display=420x800"]);
    page.0.start_screen();
    page.0.show_screen();
    page.0
        .wait("document.querySelectorAll('.call').length > 0", "true");
    page.assert_passes();
    let facts = "[document.documentElement.scrollWidth <= innerWidth, \
                 document.getAnimations().length].join()";
    assert!(
        page.0.script(facts).contains("true,0"),
        "nothing is cut off or moves"
    );
}
