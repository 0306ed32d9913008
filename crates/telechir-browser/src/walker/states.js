// States and values of elements.
const ariaState = (element, name, yes, no) => {
  const attribute = attributeOf(element, name)
  return attribute === "true" ? yes : attribute === "false" ? no : ""
}
const checkedState = (element, role) => {
  if (element instanceof HTMLInputElement && (element.type === "checkbox" || element.type === "radio")) {
    return element.indeterminate ? "mixed" : element.checked ? "checked" : "unchecked"
  }
  const attribute = attributeOf(element, "aria-checked")
  return attribute === "mixed" ? "mixed" : attribute === "true" ? "checked" : "unchecked"
}
// The checkbox, radio button or file control that is not shown and operated through this label.
const hiddenControlOf = label => {
  const control = label instanceof HTMLLabelElement ? label.control : null
  const isOne = control instanceof HTMLInputElement && ["checkbox", "radio", "file"].includes(control.type)
  return isOne && !isDrawn(control) ? control : null
}
// Whether the popover is open that this button opens.
const popoverState = (element, tag) => {
  if (tag !== "button" && tag !== "input") return ""
  const popover = element.popoverTargetElement ?? (/-popover$/.test(element.command) ? element.commandForElement : null)
  if (!popover || element.popoverTargetAction === "hide" || element.command === "hide-popover") return ""
  return isMatch(popover, ":popover-open") ? "expanded" : "collapsed"
}
const SORTED = { __proto__: null, ascending: "ascending", descending: "descending", other: "sorted" }
const CHECKABLE = new Set(["checkbox", "radio", "switch", "menuitemcheckbox", "menuitemradio"])
const CONTROLS = new Set(["input", "select", "textarea", "button", "fieldset", "option", "optgroup"])

const statesOf = (element, role, tag) => {
  let states = ""
  const add = state => { if (state) states += states ? ` ${state}` : state }
  if (CHECKABLE.has(role)) add(checkedState(element, role))
  add(ariaState(element, "aria-pressed", "pressed", "unpressed"))
  if (tag === "summary" && role === "button") add(parentOf(element).open ? "expanded" : "collapsed")
  else add(ariaState(element, "aria-expanded", "expanded", "collapsed") || popoverState(element, tag))
  if (tag === "option" ? element.selected : attributeOf(element, "aria-selected") === "true") add("selected")
  if (isDisabled(element, tag)) add("disabled")
  if (CONTROLS.has(tag)) {
    if (element.required) add("required")
    if (element.readOnly) add("readonly")
  }
  if (attributeOf(element, "aria-required") === "true") add("required")
  if (attributeOf(element, "aria-readonly") === "true") add("readonly")
  const invalid = attributeOf(element, "aria-invalid")
  if (invalid && invalid !== "false") add("invalid")
  const current = attributeOf(element, "aria-current")
  if (current && current !== "false") add("current")
  if (attributeOf(element, "aria-busy") === "true") add("busy")
  if (role === "columnheader" || role === "rowheader") add(SORTED[attributeOf(element, "aria-sort")] ?? "")
  const position = attributeOf(element, "aria-rowindex")
  if (position && /^\d+$/.test(position) && role === "row") add(`row=${position}`)
  if (role === "heading") add(`level=${levelOf(element, tag)}`)
  return states
}
const isDisabled = (element, tag) => (CONTROLS.has(tag) && isMatch(element, ":disabled")) || isAriaDisabled(element)
// By core-aam the state of the closest element that has it, which counts for what a person operates.
const isAriaDisabled = element => {
  const own = attributeOf(element, "aria-disabled")
  if (own !== null) return own === "true"
  if (!INTERACTIVE_ROLES.has(roleOf(element))) return false
  const above = composedParentOf(element)
  const closest = above instanceof Element ? above.closest("[aria-disabled]") : null
  return closest !== null && attributeOf(closest, "aria-disabled") === "true"
}
const levelOf = (element, tag) => {
  const level = Number.parseInt(attributeOf(element, "aria-level") ?? "", 10)
  if (level > 0) return Math.min(level, 99)
  return /^h[1-6]$/.test(tag) ? tag[1] : "2"
}

const ROLES_WITH_VALUE = new Set(["textbox", "searchbox", "spinbutton", "slider", "color", "scrollbar", "progressbar", "meter"])
const valueOf = (element, role, tag) => {
  if (role === "password") return element.value ? "(hidden)" : ""
  if (tag === "select") return chosenIn(element)
  if (tag === "video" || tag === "audio") return element.paused ? "paused" : "playing"
  if (role === "file") return Array.from(element.files ?? [], file => file.name).join(", ")
  if (role === "combobox" && element instanceof HTMLInputElement) return element.value
  if (!ROLES_WITH_VALUE.has(role)) return ""
  if (tag === "input" || tag === "textarea" || tag === "progress" || tag === "meter") {
    return element.type === "password" ? (element.value ? "(hidden)" : "") : String(element.value)
  }
  const attribute = attributeOf(element, "aria-valuetext") ?? attributeOf(element, "aria-valuenow")
  if (attribute !== null) return attribute
  return role === "textbox" || role === "searchbox" ? contentOf(element) : ""
}

const MAX_OPTIONS = 50
// Details beside the name: the target of a link or frame, the options of a select.
const detailOf = (element, role, tag, name) => {
  if (tag === "a" || tag === "area") return role === "link" ? cut(String(element instanceof SVGElement ? element.href.baseVal : element.href), 400) : ""
  if (tag === "iframe" || tag === "frame") return cut(String(element.src), 400)
  if (tag === "select") {
    const options = Array.from(element.options).slice(0, MAX_OPTIONS)
    return options.map(option => cut(optionText(option), 60).replaceAll("|", "\u00a6")).join("|")
  }
  if (tag === "input" || tag === "textarea") return CHECKABLE.has(role) ? "" : wantedBy(element, tag, name)
  if (tag === "canvas" || tag === "video") {
    const box = boxOf(element)
    return `${Math.round(box.width)}x${Math.round(box.height)}`
  }
  if (role === "table" || role === "grid" || role === "treegrid") return totalOf(element)
  return ""
}
// The size of a table of which the page holds only a part.
const totalOf = element => {
  const count = name => {
    const attribute = attributeOf(element, name)
    return attribute && /^\d+$/.test(attribute) ? Number(attribute) : 0
  }
  const parts = [[count("aria-rowcount"), "rows"], [count("aria-colcount"), "columns"]]
  return parts.filter(([total]) => total).map(([total, what]) => `${total} ${what}`).join(", ")
}
