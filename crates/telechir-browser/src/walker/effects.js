// What came of a click: changed texts of live regions, changed elements, the focus, invalid fields.
const LIVE_REGIONS = "[role=alert], [role=status], [role=log], [aria-live=polite], [aria-live=assertive], output"
const DIALOGS = "dialog, [role=dialog], [role=alertdialog]"
const MAX_TOUCHED = 1_000
const MAX_ALERTS = 3
let effects = null

const focusedNow = () => {
  let at = activeIn(document)
  for (let inner = at; inner; inner = shadowOf(at)?.activeElement) at = inner
  return at
}
const stateOf = element => {
  const control = hiddenControlOf(element) ?? element
  return statesOf(control, roleOf(control), tagOf(control))
}
// Starts to record the effects of a click on an element.
const startEffects = element => {
  epoch()
  effects = { element, states: stateOf(element), value: valueText(element), name: shownName(element), focus: focusedNow(), title: document.title, added: new Set(), touched: new Set(), removed: 0, invalid: null }
}
const shownName = element => cut(nameOf(element, true) || contentOf(element), 80)
const valueText = element => valueOf(element, roleOf(element), tagOf(element))
const noteInvalid = event => {
  if (effects && event.isTrusted) effects.invalid ??= event.composedPath()[0]
}
// A popover is shown without a change of the document.
const noteOpened = event => {
  if (effects && event.isTrusted && event.newState === "open" && effects.touched.size < MAX_TOUCHED) effects.touched.add(event.composedPath()[0])
}
const noteEffects = records => {
  if (!effects) return
  const { added, touched } = effects
  for (const { type, target, addedNodes, removedNodes, attributeName } of records) {
    if (touched.size + added.size >= MAX_TOUCHED) return
    if (type === "childList") {
      let isText = false
      for (const node of addedNodes) nodeTypeOf(node) === ELEMENT ? added.add(node) : isText ||= nodeTypeOf(node) === TEXT
      for (const node of removedNodes) {
        if (nodeTypeOf(node) === ELEMENT && !added.delete(node)) effects.removed++
        else isText ||= nodeTypeOf(node) === TEXT
      }
      if (isText) touched.add(target)
    } else if (type === "characterData") {
      if (parentOf(target)) touched.add(parentOf(target))
    } else if (!attributeName.startsWith("data-") && target !== rootElement() && target !== bodyElement()) touched.add(target)
  }
}

const reference = element => ({ id: idOf(element), role: roleOf(element), name: shownName(element) })
const isPainted = element => isConnectedNow(element) && element instanceof Element && isShownSomehow(element)
// The effects since `startEffects`, once: none, if a new document has replaced this one.
const takeEffects = () => {
  epoch()
  const record = effects
  effects = null
  if (!record) return {}
  const { element, added, touched } = record
  const changed = [...added, ...touched].filter(one => isPainted(one) && !isWithin(one, element) && !NEVER_RENDERED.has(tagOf(one)))
  const all = new Set(changed)
  const outer = changed.filter(one => {
    for (let at = composedParentOf(one); at; at = composedParentOf(at)) if (all.has(at)) return false
    return true
  })
  const regions = new Set(), dialogs = new Set()
  for (const one of outer) {
    const above = one.closest(LIVE_REGIONS)
    if (above) regions.add(above)
    for (const below of selectAll(one, LIVE_REGIONS)) regions.add(below)
    for (const dialog of [...(isMatch(one, DIALOGS) ? [one] : []), ...selectAll(one, DIALOGS)]) if (isShownSomehow(dialog)) dialogs.add(dialog)
  }
  const alerts = []
  for (const region of regions) {
    const text = isShownSomehow(region) ? contentOf(region) : ""
    if (text && alerts.length < MAX_ALERTS) alerts.push([roleOf(region) || "status", cut(text, 200)])
  }
  const rest = outer.filter(one => !one.closest(LIVE_REGIONS) && ![...dialogs].some(dialog => isWithin(dialog, one) || isWithin(one, dialog)))
  const first = rest.find(one => contentOf(one)) ?? rest[0]
  const focus = focusedNow(), result = { alerts, changed: rest.length, removed: record.removed }
  if (document.title !== record.title) result.title = squeeze(cut(document.title, 100))
  if (dialogs.size) result.dialog = reference([...dialogs][0])
  if (first) result.first = reference(first)
  if (focus !== record.focus) {
    if (!focus || focus === bodyElement()) result.blurred = true
    else result.focus = focus === element ? { own: true } : reference(focus)
  }
  if (isConnectedNow(element)) {
    const value = valueText(element), name = shownName(element)
    const before = record.states.split(" "), now = stateOf(element).split(" ")
    const news = now.filter(state => state && !before.includes(state))
    if (news.length) result.states = news.join(" ")
    const lost = before.filter(state => state && !now.includes(state))
    if (lost.length && !news.length) result.lost = lost.join(" ")
    if (value !== record.value) result.value = cut(value, 100)
    // What changes inside the element counts by its name.
    if (name !== record.name && value === record.value) result.name = name
  }
  const { invalid } = record
  if (invalid && isPainted(invalid)) result.invalid = { ...reference(invalid), message: cut(squeeze(invalid.validationMessage ?? ""), 200) }
  return result
}
