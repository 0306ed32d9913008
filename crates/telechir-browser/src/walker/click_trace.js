// Records the trusted events of a click before the page's scripts, which could stop them.
const clickTrace = { expected: null, events: [], notify: null }
const MAX_TRACED_EVENTS = 64
const record = event => {
  const { expected, events } = clickTrace
  if (!expected || !event.isTrusted || events.length >= MAX_TRACED_EVENTS) return
  events.push([event.type, event.composedPath()[0]])
  clickTrace.notify?.()
}
for (const kind of ["mousemove", "mousedown", "click", "auxclick", "contextmenu", "dblclick"]) addEventListener(kind, record, { capture: true, passive: true })
