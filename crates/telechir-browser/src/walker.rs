//! The scripts that listen in a page, read it and act in it, in a world of their own that no page can
//! reach.
//!
//! `click_trace.js` listens to what a press does, and `permission_denials.js` to what the page is denied. `primordials.js`
//! says how a page is kept from fooling the walker, `snapshot.js` reads, `roles.js`, `names.js` and
//! `states.js` say what an element is, `act.js` and `set.js` act on one.

macro_rules! ears {
    () => {
        concat!(
            "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirEars\")) return\n",
            include_str!("walker/permission_denials.js"),
            include_str!("walker/click_trace.js"),
            include_str!("walker/listeners.js"),
            "})();\n"
        )
    };
}

/// What must be in a document before its own scripts. Run again in the same world, it does nothing.
pub(crate) const EARS: &str = ears!();

/// The ears and the walker, for a document that is read. Most frames never are, and it takes
/// milliseconds and a megabyte of each. Run again in the same world, it does nothing.
pub(crate) const WALKER: &str = concat!(
    ears!(),
    "(() => { \"use strict\"; if (Object.hasOwn(globalThis, \"telechirWalker\")) return\n",
    "const { press } = telechirEars\n",
    include_str!("walker/primordials.js"),
    include_str!("walker/roles.js"),
    include_str!("walker/names.js"),
    include_str!("walker/states.js"),
    include_str!("walker/snapshot.js"),
    include_str!("walker/act.js"),
    include_str!("walker/set.js"),
    include_str!("walker/main.js"),
    "})();\n"
);

// Of others Chromium keeps two bytes a character.
const _: () = assert!(WALKER.is_ascii());
