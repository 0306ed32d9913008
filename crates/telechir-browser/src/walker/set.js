// Filling in a control, as if a person had.
const announce = element => {
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }))
  element.dispatchEvent(new Event("change", { bubbles: true }))
}
// A setter of the element's own class: frameworks replace the one on the element to notice writes.
const write = (element, member, value) => {
  const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), member)?.set
  setter ? setter.call(element, value) : element[member] = value
  announce(element)
}
const isYes = value => value === true || ["true", "on", "yes", "checked", "1"].includes(String(value).toLowerCase())

const setValue = (id, value) => {
  const element = find(id)
  if (!element) return { gone: true }
  const tag = tagOf(element)
  if (isDisabled(element, tag) || (CONTROLS.has(tag) && element.readOnly)) return { problem: "the control is disabled or read-only" }
  scrollTo(element, { block: "nearest", behavior: "instant" })
  focusOn(element)
  if (tag === "select") return choose(element, value)
  if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) {
    if (element.checked !== isYes(value)) element.click()
    return element.checked === isYes(value) ? { text: element.checked ? "checked" : "unchecked" } : { problem: "the control did not take it" }
  }
  if (tag === "input" && element.type === "file") return { problem: "a file control takes files, not a value" }
  if (tag !== "input" && tag !== "textarea") {
    if (!isEditable(element)) return { problem: "the element is no form control" }
    element.textContent = String(value)
    element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }))
    return { text: "set" }
  }
  write(element, "value", String(value))
  if (element.value === String(value)) return { text: "set" }
  return { problem: `the control holds ${JSON.stringify(cut(element.type === "password" ? "(hidden)" : element.value, 100))} instead` }
}

const optionOf = (options, value) => {
  const wanted = squeeze(String(value))
  return options.find(option => option.value === String(value)) ?? options.find(option => squeeze(option.text) === wanted) ??
    options.find(option => squeeze(option.text).toLowerCase() === wanted.toLowerCase())
}
const named = option => JSON.stringify(cut(squeeze(option.text), 100))

// One option by its value or its text, or, in a list that takes several, exactly those of a JSON array.
const choose = (element, value) => {
  const options = Array.from(element.options)
  const values = Array.isArray(value) ? value : [value]
  if (values.length !== 1 && !element.multiple) return { problem: "the list takes one option" }
  const chosen = values.map(one => optionOf(options, one))
  const missing = chosen.findIndex(option => !option)
  if (missing >= 0) {
    const there = options.slice(0, MOST_OPTIONS).map(option => JSON.stringify(cut(squeeze(option.text), 60)))
    return { problem: `there is no option ${JSON.stringify(cut(String(values[missing]), 60))}; there are ${there.join(", ")}` }
  }
  const barred = chosen.find(option => option.disabled)
  if (barred) return { problem: `the option ${named(barred)} is disabled` }
  if (Array.isArray(value) && element.multiple) {
    options.forEach(option => option.selected = chosen.includes(option))
    announce(element)
  } else {
    write(element, "value", chosen[0].value)
    if (element.selectedIndex !== chosen[0].index) element.selectedIndex = chosen[0].index
  }
  const told = options.filter(option => chosen.includes(option)).map(named)
  return { text: `selected ${told.join(", ") || "nothing"}` }
}

// The control that takes files for this element: itself, or what it labels.
const fileControlOf = element => {
  const control = element instanceof HTMLLabelElement ? element.control : element
  return control instanceof HTMLInputElement && control.type === "file" ? control : null
}
const fileElement = id => fileControlOf(find(id))
const fileControl = id => {
  const element = find(id)
  if (!element) return { gone: true }
  const control = fileControlOf(element)
  return control ? { multiple: control.multiple, disabled: isDisabled(control, "input") } : { none: true }
}
