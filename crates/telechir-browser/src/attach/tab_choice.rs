//! Finds the existing tab in which an attached browser is used.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use telechir_device::DeviceError;
use url::Url;

use crate::attachment::{AttachedTabs, TabChoice};
use crate::cdp_session::{CdpSession, PROBE_TIMEOUT};
use crate::client::{CdpClient, text};
use crate::context::ExistingTabs;
use crate::error::CdpError;

/// Open tabs that an error lists.
const MAX_LISTED_TABS: usize = 10;
/// Pages of the browser itself and of extensions.
const OWN_PAGES: [&str; 6] = [
    "about:",
    "chrome:",
    "chrome-extension:",
    "chrome-untrusted:",
    "devtools:",
    "view-source:",
];

/// An open page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OpenTab {
    target: String,
    context: String,
    url: String,
}

/// Finds the tab. `earlier` is the one of an earlier connection.
pub(super) async fn choose(
    client: &CdpClient,
    tabs: &AttachedTabs,
    earlier: Option<&str>,
    limit: Duration,
) -> Result<ExistingTabs, DeviceError> {
    let contexts = client
        .call(None, "Target.getBrowserContexts", json!({}), limit)
        .await?;
    let created: Vec<String> = contexts["browserContextIds"]
        .as_array()
        .into_iter()
        .flatten()
        .map(text)
        .collect();
    let open = open_tabs(client, limit).await?;
    let is_default = |tab: &&OpenTab| !created.contains(&tab.context);
    let again = open.iter().find(|tab| Some(tab.target.as_str()) == earlier);
    let chosen = match (again, tabs) {
        (Some(tab), _) => tab.clone(),
        (None, AttachedTabs::Existing(_)) if earlier.is_some() => {
            return Err(unavailable("its tab was closed".to_owned()));
        }
        (None, AttachedTabs::Existing(TabChoice::Url(url))) => by_url(&open, url)?,
        (None, AttachedTabs::Existing(TabChoice::Active)) => active(client, &open).await?,
        (None, AttachedTabs::Default | AttachedTabs::Isolated) => {
            match first_page(open.iter().filter(is_default)) {
                Some(tab) => tab.clone(),
                None => new_tab(client, limit).await?,
            }
        }
    };
    let open = open.into_iter().map(|tab| tab.target);
    let open = open.chain([chosen.target.clone()]).collect();
    Ok(ExistingTabs {
        created_context: created
            .contains(&chosen.context)
            .then(|| chosen.context.clone()),
        context: chosen.context,
        target: chosen.target,
        has_all_tabs: !matches!(tabs, AttachedTabs::Existing(_)),
        open,
    })
}

async fn open_tabs(client: &CdpClient, limit: Duration) -> Result<Vec<OpenTab>, CdpError> {
    let filter = json!([{ "type": "page", "exclude": false }, { "exclude": true }]);
    let targets = client
        .call(
            None,
            "Target.getTargets",
            json!({ "filter": filter }),
            limit,
        )
        .await?;
    let infos = targets["targetInfos"].as_array().into_iter().flatten();
    let pages = infos.filter(|info| info["type"] == "page");
    Ok(pages
        .map(|info| OpenTab {
            target: text(&info["targetId"]),
            context: text(&info["browserContextId"]),
            url: text(&info["url"]),
        })
        .filter(|tab| !tab.url.starts_with("devtools:"))
        .collect())
}

async fn new_tab(client: &CdpClient, limit: Duration) -> Result<OpenTab, DeviceError> {
    let params = json!({ "url": "about:blank" });
    let made = client
        .call(None, "Target.createTarget", params, limit)
        .await?;
    let open = open_tabs(client, limit).await?;
    let target = text(&made["targetId"]);
    let found = open.into_iter().find(|tab| tab.target == target);
    found.ok_or_else(|| unavailable("it opened no page".to_owned()))
}

/// The page to start in: a web page if there is one.
fn first_page<'a>(open: impl Iterator<Item = &'a OpenTab> + Clone) -> Option<&'a OpenTab> {
    let is_own = |tab: &&OpenTab| OWN_PAGES.iter().any(|scheme| tab.url.starts_with(scheme));
    open.clone()
        .find(|tab| tab.url.starts_with("http:") || tab.url.starts_with("https:"))
        .or_else(|| open.clone().find(|tab| !is_own(tab)))
        .or_else(|| open.clone().next())
}

/// The tab with this URL, or the only one whose URL starts with it.
fn by_url(open: &[OpenTab], url: &str) -> Result<OpenTab, DeviceError> {
    let canonical = Url::parse(url).map_or_else(|_| url.to_owned(), String::from);
    let exact: Vec<_> = open.iter().filter(|tab| tab.url == canonical).collect();
    let with_prefix: Vec<_> = open
        .iter()
        .filter(|tab| tab.url.starts_with(&canonical) || tab.url.starts_with(url))
        .collect();
    let found = if exact.is_empty() { with_prefix } else { exact };
    match found.as_slice() {
        [tab] => Ok((*tab).clone()),
        [] => Err(unavailable(format!(
            "no open tab shows {}; open are {}",
            without_query(url),
            listed(open)
        ))),
        several => Err(unavailable(format!(
            "{} open tabs show {}; close all but one, or give a longer URL",
            several.len(),
            without_query(url)
        ))),
    }
}

/// The tab that the user sees.
async fn active(client: &CdpClient, open: &[OpenTab]) -> Result<OpenTab, DeviceError> {
    let states = join_all(open.iter().map(|tab| visibility(client, tab))).await;
    let found = active_of(&states).and_then(|found| open.get(found));
    found.cloned().ok_or_else(|| {
        unavailable(format!(
            "it is not certain which tab is active; give its URL instead of `active`: open are {}",
            listed(open)
        ))
    })
}

/// The only tab that has the focus; else the only one that is visible, or may be.
fn active_of(states: &[Visibility]) -> Option<usize> {
    let with = |wanted: Visibility| {
        let mut tabs = (0..states.len()).filter(|tab| states[*tab] >= wanted);
        tabs.next().filter(|_| tabs.next().is_none())
    };
    with(Visibility::Focused)
        .or_else(|| with(Visibility::Unknown).filter(|tab| states[*tab] == Visibility::Visible))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Visibility {
    Hidden,
    /// It did not answer: it may be visible.
    Unknown,
    Visible,
    Focused,
}

/// Asks a page whether it is visible and focused.
async fn visibility(client: &CdpClient, tab: &OpenTab) -> Visibility {
    let attach = json!({ "targetId": tab.target, "flatten": true });
    let attached = client
        .call(None, "Target.attachToTarget", attach, PROBE_TIMEOUT)
        .await;
    let Ok(attached) = attached else {
        return Visibility::Unknown;
    };
    let session = text(&attached["sessionId"]);
    let page = CdpSession::new(client, &session, PROBE_TIMEOUT);
    let state = page
        .evaluate("(document.visibilityState === 'visible') + document.hasFocus()")
        .await;
    let detach = json!({ "sessionId": session });
    client.notify(None, "Target.detachFromTarget", detach);
    match state.ok().and_then(|state| state.as_u64()) {
        Some(2) => Visibility::Focused,
        Some(1) => Visibility::Visible,
        Some(_) => Visibility::Hidden,
        None => Visibility::Unknown,
    }
}

/// The error for a browser that cannot be used as wanted.
pub(super) fn unavailable(message: String) -> DeviceError {
    DeviceError::Unavailable {
        what: "a session in the running browser",
        message,
    }
}

fn listed(open: &[OpenTab]) -> String {
    let shown: Vec<&str> = open
        .iter()
        .take(MAX_LISTED_TABS)
        .map(|tab| without_query(&tab.url))
        .collect();
    let more = open.len().saturating_sub(MAX_LISTED_TABS);
    match (shown.is_empty(), more) {
        (true, _) => "none".to_owned(),
        (false, 0) => shown.join(", "),
        (false, more) => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A URL without what may be secret.
fn without_query(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or(url)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tabs(urls: &[&str]) -> Vec<OpenTab> {
        let tab = |(index, url): (usize, &&str)| OpenTab {
            target: format!("t{index}"),
            context: "c".to_owned(),
            url: (*url).to_owned(),
        };
        urls.iter().enumerate().map(tab).collect()
    }

    #[test]
    fn a_web_page_is_preferred_to_a_page_of_the_browser() {
        let first = |urls: &[&str]| first_page(tabs(urls).iter()).map(|tab| tab.url.clone());
        let own = ["about:blank", "chrome://newtab/", "devtools://x"];
        assert_eq!(
            first(&[&own[..], &["data:,x", "https://a.example/"]].concat()).as_deref(),
            Some("https://a.example/")
        );
        assert_eq!(
            first(&[&own[..], &["data:,x"]].concat()).as_deref(),
            Some("data:,x")
        );
        assert_eq!(first(&own).as_deref(), Some("about:blank"));
        assert_eq!(first(&[]), None);
    }

    #[test]
    fn a_tab_that_did_not_answer_may_be_the_active_one() {
        use Visibility::{Focused, Hidden, Unknown, Visible};
        for (states, expected) in [
            (&[Hidden, Visible][..], Some(1)),
            (&[Visible, Visible], None),
            (&[Visible, Focused, Unknown], Some(1)),
            (&[Focused, Focused], None),
            (&[Visible, Unknown], None),
            (&[Hidden, Unknown], None),
            (&[Unknown], None),
            (&[Hidden], None),
            (&[], None),
        ] {
            assert_eq!(active_of(states), expected, "{states:?}");
        }
    }

    #[test]
    fn a_url_names_one_tab() {
        let open = tabs(&[
            "https://a.example/",
            "https://a.example/cart?id=secret",
            "https://b.example/x",
            "https://b.example/y",
        ]);
        let found = |url: &str| by_url(&open, url).map(|tab| tab.target);
        assert_eq!(found("https://a.example").unwrap(), "t0");
        assert_eq!(found("https://a.example/cart").unwrap(), "t1");
        assert_eq!(found("https://b.example/y").unwrap(), "t3");
        let none = found("https://c.example/?key=k3y").unwrap_err().to_string();
        assert!(none.contains("https://a.example/cart"), "{none}");
        assert!(!none.contains("secret") && !none.contains("k3y"), "{none}");
        let several = found("https://b.example").unwrap_err().to_string();
        assert!(several.contains("2 open tabs"), "{several}");
    }
}
