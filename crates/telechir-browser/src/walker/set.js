// Input and change events, as after input by the user.
const dispatchChange = element => {
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }))
  element.dispatchEvent(new Event("change", { bubbles: true }))
}
// Uses the setter of the element's class: frameworks override the one on the element to detect
// writes.
const setProperty = (element, member, value) => {
  const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), member)?.set
  setter ? setter.call(element, value) : element[member] = value
  dispatchChange(element)
}
const isYes = value => value === true || ["true", "on", "yes", "checked", "1"].includes(String(value).toLowerCase())

const setValue = (id, value) => {
  const found = find(id)
  if (!found) return { gone: true }
  const element = hiddenControlOf(found) ?? found
  const tag = tagOf(element)
  if (isDisabled(element, tag) || (CONTROLS.has(tag) && element.readOnly)) return { problem: "the control is disabled or read-only" }
  scrollTo(element, { block: "nearest", behavior: "instant" })
  focusOn(element)
  if (tag === "select") return choose(element, value)
  if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) {
    if (element.checked !== isYes(value)) element.click()
    return element.checked === isYes(value) ? { text: element.checked ? "checked" : "unchecked" } : { problem: "the control rejected the value" }
  }
  if (tag === "input" && element.type === "file") return { problem: "a file control takes files, not a value" }
  if (tag !== "input" && tag !== "textarea") {
    if (!isEditable(element)) return { problem: "the element is not a form control" }
    element.textContent = String(value)
    element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }))
    return { text: "set" }
  }
  setProperty(element, "value", String(value))
  if (element.value === String(value)) return { text: "set" }
  return { problem: `the control holds ${JSON.stringify(cut(element.type === "password" ? "(hidden)" : element.value, 100))} instead` }
}

const optionOf = (options, value) => {
  const wanted = squeeze(String(value))
  return options.find(option => option.value === String(value)) ?? options.find(option => squeeze(option.text) === wanted) ??
    options.find(option => squeeze(option.text).toLowerCase() === wanted.toLowerCase())
}
const named = option => JSON.stringify(cut(squeeze(option.text), 100))

// Selects one option by value or text, or in a multiple select exactly those of a JSON array.
const choose = (element, value) => {
  const options = Array.from(element.options)
  const values = Array.isArray(value) ? value : [value]
  if (values.length !== 1 && !element.multiple) return { problem: "the select takes one option" }
  const chosen = values.map(one => optionOf(options, one))
  const missing = chosen.findIndex(option => !option)
  if (missing >= 0) {
    const available = options.slice(0, MAX_OPTIONS).map(option => JSON.stringify(cut(squeeze(option.text), 60)))
    return { problem: `there is no option ${JSON.stringify(cut(String(values[missing]), 60))}; there are ${available.join(", ")}` }
  }
  const disabledOption = chosen.find(option => option.disabled)
  if (disabledOption) return { problem: `the option ${named(disabledOption)} is disabled` }
  if (Array.isArray(value) && element.multiple) {
    options.forEach(option => option.selected = chosen.includes(option))
    dispatchChange(element)
  } else {
    setProperty(element, "value", chosen[0].value)
    if (element.selectedIndex !== chosen[0].index) element.selectedIndex = chosen[0].index
  }
  const selected = options.filter(option => chosen.includes(option)).map(named)
  return { text: `selected ${selected.join(", ") || "nothing"}` }
}

// The file control that this element is or labels.
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
