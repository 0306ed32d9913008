//! Open and closed shadow roots: everything rendered is read.

use telechir_device::Effect;

use crate::common::{click_on, go, headless, page, perform, read, ref_of, script, scripted};

#[tokio::test]
async fn open_and_closed_roots_are_read_and_clicked() {
    let mut browser = headless().await;
    let html = "<x-open></x-open><x-closed></x-closed><div id=plain></div>\
<section><template shadowrootmode=closed><button>declared</button></template></section><script>\
for (const mode of ['open', 'closed']) customElements.define('x-' + mode, class extends HTMLElement {\
  constructor() { super(); const root = this.attachShadow({ mode }); root.innerHTML = `<button>${mode} one</button>`;\
  root.firstChild.onclick = () => document.title = mode } });\
plain.attachShadow({ mode: 'closed' }).innerHTML = '<button>plain one</button>'</script>";
    go(&mut browser, &page(html)).await.unwrap();
    let brief = read(&mut browser, "").await;
    for name in ["open one", "closed one", "plain one", "declared"] {
        assert!(brief.contains(name), "no {name} in {brief}");
    }
    let all = read(&mut browser, "full").await;
    for name in ["open one", "closed one", "plain one", "declared"] {
        let done = perform(&mut browser, click_on(ref_of(&all, name)))
            .await
            .unwrap();
        assert_eq!(done.effect, Effect::Confirmed, "{name}: {done:?}");
    }
}

#[tokio::test]
async fn slotted_children_are_read_once_where_they_are_rendered() {
    let mut browser = headless().await;
    let html = "<x-card><button>given</button><button slot=none>nowhere</button></x-card><script>\
customElements.define('x-card', class extends HTMLElement { constructor() { super();\
this.attachShadow({ mode: 'open' }).innerHTML = '<h2>Card</h2><slot></slot><button>last</button>' } })</script>";
    go(&mut browser, &page(html)).await.unwrap();
    let all = read(&mut browser, "full").await;
    assert_eq!(all.matches("\"given\"").count(), 1, "{all}");
    assert!(!all.contains("nowhere"), "{all}");
    let at = |fragment| all.find(fragment).unwrap();
    assert!(
        at("Card") < at("given") && at("given") < at("last"),
        "{all}"
    );
}

#[tokio::test]
async fn a_nested_closed_root_that_was_added_later_is_read() {
    let mut browser = scripted().await;
    go(&mut browser, &page("<x-late></x-late><p>before</p>"))
        .await
        .unwrap();
    read(&mut browser, "").await;
    script(
        &mut browser,
        "customElements.define('x-late', class extends HTMLElement { constructor() { super(); const root = this.attachShadow({ mode: 'closed' }); const inner = document.createElement('div'); inner.attachShadow({ mode: 'closed' }).innerHTML = '<button>deep</button>'; root.append(inner) } })",
    )
    .await;
    let brief = read(&mut browser, "").await;
    assert!(brief.contains("\"deep\""), "{brief}");
}

#[tokio::test]
async fn the_full_view_finds_a_closed_root_with_slots() {
    let mut browser = scripted().await;
    go(&mut browser, &page("<div id=d><b>light</b></div>"))
        .await
        .unwrap();
    script(
        &mut browser,
        "d.attachShadow({ mode: 'closed' }).innerHTML = '<slot></slot><button>beside</button>'",
    )
    .await;
    let all = read(&mut browser, "full").await;
    assert!(all.contains("\"beside\"") && all.contains("light"), "{all}");
}
