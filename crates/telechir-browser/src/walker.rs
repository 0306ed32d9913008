//! The scripts that observe, read and operate a page from an isolated world.
//!
//! `click_trace.js` records the events of a click and `permission_denials.js` denied permissions.
//! `primordials.js` protects the scripts against hostile pages, `snapshot.js` reads the page,
//! `roles.js`, `names.js`, `states.js` and `boxes.js` describe elements, `act.js` and `set.js` act on them,
//! `effects.js` observes what came of a click.

macro_rules! listeners {
    () => {
        concat!(
            "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirListeners\")) return\n",
            include_str!("walker/permission_denials.js"),
            include_str!("walker/click_trace.js"),
            include_str!("walker/listeners.js"),
            "})();\n"
        )
    };
}

/// The listeners, which run in every document before its own scripts. Running them again in the
/// same world has no effect.
pub(crate) const LISTENERS: &str = listeners!();

/// The listeners and the walker, for a document that is read. Most frames never are, and the walker
/// costs milliseconds and a megabyte in each. Running it again in the same world has no effect.
pub(crate) const WALKER: &str = concat!(
    listeners!(),
    "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirWalker\")) return\n",
    "const { clickTrace } = telechirListeners\n",
    include_str!("walker/primordials.js"),
    include_str!("walker/roles.js"),
    include_str!("walker/names.js"),
    include_str!("walker/boxes.js"),
    include_str!("walker/states.js"),
    include_str!("walker/snapshot.js"),
    include_str!("walker/effects.js"),
    include_str!("walker/act.js"),
    include_str!("walker/set.js"),
    include_str!("walker/main.js"),
    "})();\n"
);

// Chromium stores non-ASCII scripts with two bytes per character.
const _: () = assert!(WALKER.is_ascii());
