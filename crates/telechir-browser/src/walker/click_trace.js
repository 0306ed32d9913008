// Records the trusted events of a click before the page's scripts, which could stop them. A guarded
// press that misses its target is kept from the page: the target has moved, or was covered meanwhile.
const clickTrace = { expected: null, events: [], notify: null, isExpected: null, guardedUntil: 0, pressed: "", missed: null }
const MAX_TRACED_EVENTS = 64
const TRACED = ["mousemove", "mousedown", "click", "auxclick", "contextmenu", "dblclick", "drop", "mouseup"]
const PRESSES = ["pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "contextmenu", "dblclick"]
const isMiss = (event, target) => {
  if (performance.now() > clickTrace.guardedUntil) return false
  // The first press decides: later events may rightly go elsewhere, such as to the control of a label.
  if (clickTrace.pressed === "" && event.type.endsWith("down")) {
    clickTrace.pressed = clickTrace.isExpected(target, clickTrace.expected) ? "hit" : "missed"
    if (clickTrace.pressed === "missed") clickTrace.missed = target
  }
  return clickTrace.pressed === "missed"
}
const record = event => {
  const { expected, events } = clickTrace
  if (!expected || !event.isTrusted) return
  const target = event.composedPath()[0]
  if (PRESSES.includes(event.type) && isMiss(event, target)) {
    event.preventDefault()
    event.stopImmediatePropagation()
  }
  if (!TRACED.includes(event.type) || events.length >= MAX_TRACED_EVENTS) return
  events.push([event.type, target])
  clickTrace.notify?.()
}
for (const kind of new Set([...TRACED, ...PRESSES])) addEventListener(kind, record, { capture: true, passive: false })
