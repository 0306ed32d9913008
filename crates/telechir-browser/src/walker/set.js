// Filling in a control, as if a person had.
// A setter of the element's own class: frameworks replace the one on the element to notice writes.
const write = (element, member, value) => {
  const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), member)?.set
  setter ? setter.call(element, value) : element[member] = value
  element.dispatchEvent(new Event("input", { bubbles: true, composed: true }))
  element.dispatchEvent(new Event("change", { bubbles: true }))
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

const choose = (element, value) => {
  const wanted = squeeze(String(value))
  const options = Array.from(element.options)
  const option = options.find(option => option.value === String(value)) ?? options.find(option => squeeze(option.text) === wanted) ??
    options.find(option => squeeze(option.text).toLowerCase() === wanted.toLowerCase())
  if (!option) return { problem: `there is no such option; there are ${options.slice(0, MOST_OPTIONS).map(option => JSON.stringify(cut(squeeze(option.text), 60))).join(", ")}` }
  if (option.disabled) return { problem: "this option is disabled" }
  write(element, "value", option.value)
  if (element.selectedIndex !== option.index) element.selectedIndex = option.index
  return { text: `selected ${JSON.stringify(cut(squeeze(option.text), 100))}` }
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
