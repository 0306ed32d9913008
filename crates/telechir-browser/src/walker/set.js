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
// Dates and times in any clear form: 2026-03-09, 9 March 2026, March 9, 2026, 09.03.2026, 21:05, 9:05 pm.
const MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
const two = number => String(number).padStart(2, "0")
const dateIn = (year, month, day) => {
  const [y, m, d] = [year, month, day].map(Number)
  const date = new Date(Date.UTC(y, m - 1, d))
  if (y < 1 || date.getUTCMonth() !== m - 1 || date.getUTCDate() !== d) return null
  return `${String(y).padStart(4, "0")}-${two(m)}-${two(d)}`
}
const dateOf = text => {
  let found = text.match(/\b(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)/) ?? text.match(/\b(\d{4})(\d\d)(\d\d)\b/)
  if (found) return dateIn(found[1], found[2], found[3])
  found = text.match(/\b(\d{1,2})\.\s?(\d{1,2})\.\s?(\d{4})\b/)
  if (found) return dateIn(found[3], found[2], found[1])
  found = text.match(/\b(\d{1,2})[-/](\d{1,2})[-/](\d{4})\b/)
  if (found) {
    // Day or month first: clear only if one of them is no month, or both are equal.
    const [, a, b, year] = found.map(Number)
    return a > 12 || a === b ? dateIn(year, b, a) : b > 12 ? dateIn(year, a, b) : null
  }
  const month = text.toLowerCase().match(/\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b/)
  const year = text.match(/\b\d{4}\b/), day = text.match(/\b(\d{1,2})(?:st|[nr]d|th)?\b(?!:)(?!\s?[ap]\.?m)/i)
  return month && year && day ? dateIn(year[0], MONTHS.indexOf(month[1]) + 1, day[1]) : null
}
const monthOf = text => {
  const found = text.match(/^\s*(\d{4})[-/.](\d{1,2})\s*$/) ?? text.match(/^\s*(\d{1,2})[-/.](\d{4})\s*$/)
  if (found) {
    const [year, month] = found[1].length === 4 ? [found[1], found[2]] : [found[2], found[1]]
    return dateIn(year, month, 1)?.slice(0, 7) ?? null
  }
  const named = text.toLowerCase().match(/\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?\s+(\d{4})\b/)
  return named ? dateIn(named[2], MONTHS.indexOf(named[1]) + 1, 1).slice(0, 7) : dateOf(text)?.slice(0, 7) ?? null
}
const timeOf = text => {
  const found = text.match(/\b(\d{1,2})[:.h](\d{2})(?:[:.](\d{2}))?\s*([ap])?\.?m?\.?\s*$/i) ?? text.match(/\b(\d{1,2})()()\s*([ap])\.?m\.?\s*$/i)
  if (!found) return /\bnoon\b/i.test(text) ? "12:00" : /\bmidnight\b/i.test(text) ? "00:00" : null
  let hours = Number(found[1])
  const half = found[4]?.toLowerCase()
  if (half && (hours < 1 || hours > 12)) return null
  if (half) hours = hours % 12 + (half === "p" ? 12 : 0)
  if (hours > 23 || Number(found[2]) > 59 || Number(found[3] ?? 0) > 59) return null
  return `${two(hours)}:${found[2] || "00"}${found[3] ? `:${found[3]}` : ""}`
}
const weekOf = text => {
  const found = text.match(/(\d{4})\s*-?\s*W\s?(\d{1,2})/i)
  if (found) return `${found[1]}-W${two(found[2])}`
  const date = dateOf(text)
  if (!date) return null
  // ISO 8601: the week of a day is that of its Thursday.
  const day = new Date(`${date}T00:00:00Z`)
  day.setUTCDate(day.getUTCDate() + 4 - (day.getUTCDay() || 7))
  const start = Date.UTC(day.getUTCFullYear(), 0, 1)
  return `${day.getUTCFullYear()}-W${two(Math.ceil(((day - start) / 86_400_000 + 1) / 7))}`
}
const colorOf = text => {
  if (!CSS.supports("color", text)) return null
  const context = new OffscreenCanvas(1, 1).getContext("2d")
  context.fillStyle = text
  return /^#[0-9a-f]{6}$/.test(context.fillStyle) ? context.fillStyle : null
}
// The forms of input types: what to write, and how to read it.
const FORMS = {
  date: ["date YYYY-MM-DD", dateOf],
  month: ["month YYYY-MM", monthOf],
  week: ["week YYYY-Www", weekOf],
  time: ["time HH:MM", timeOf],
  "datetime-local": ["date and time YYYY-MM-DDTHH:MM", given => {
    const text = given.replace(/(\d)T(\d)/, "$1 $2")
    const time = timeOf(text), date = dateOf(text.replace(/\d{1,2}[:.h]\d{2}([:.]\d{2})?\s*([ap]\.?m\.?)?\s*$/i, " "))
    return date && time ? `${date}T${time}` : null
  }],
  color: ["color #rrggbb", colorOf],
  number: ["number", text => Number.isFinite(Number(text.trim() || NaN)) ? text.trim() : null],
  range: ["number", text => Number.isFinite(Number(text.trim() || NaN)) ? text.trim() : null],
}
const limitsOf = ({ min, max, step, type }) => {
  const limits = min && max ? ` from ${min} to ${max}` : min ? ` from ${min}` : max ? ` to ${max}` : ""
  return limits + (step && step !== "any" && type !== "range" ? ` in steps of ${step}` : "")
}
// What a text field wants beside its name: the form of its value, its limits, its placeholder, the error.
const wantedBy = (element, tag, name) => {
  const parts = []
  const { type } = element
  if (tag === "input" && FORMS[type]) {
    const limits = limitsOf(element)
    // The role of a number field says that it is one.
    if (FORMS[type][0] !== "number" || limits) parts.push(`${FORMS[type][0]}${limits}`)
  } else if (tag === "input" && ["email", "url", "tel"].includes(type)) parts.push(type)
  else if (tag === "input" && type === "file") {
    if (element.accept) parts.push(squeeze(element.accept))
    if (element.multiple) parts.push("several files")
  }
  const placeholder = squeeze(attributeOf(element, "placeholder") ?? "")
  if (placeholder && placeholder !== name) parts.push(placeholder)
  if (tag === "input" && attributeOf(element, "pattern")) parts.push(`pattern ${squeeze(element.pattern)}`)
  if ((tag === "input" || tag === "textarea") && element.maxLength > 0 && element.maxLength < 5_000) parts.push(`at most ${element.maxLength} characters`)
  const invalid = attributeOf(element, "aria-invalid")
  if (invalid && invalid !== "false") {
    const ids = attributeOf(element, "aria-errormessage") || attributeOf(element, "aria-describedby")
    const error = ids ? squeeze(referencedBy(element, ids).filter(isShownSomehow).map(contentOf).join(" ")) : ""
    if (error) parts.push(`error: ${error}`)
  }
  return cut(parts.join("; "), 200)
}
const YES = ["true", "on", "yes", "checked", "1"], NO = ["false", "off", "no", "unchecked", "0", ""]
// Whether a value means checked or unchecked; null if neither.
const flagOf = value => {
  const word = String(value).toLowerCase()
  return YES.includes(word) ? true : NO.includes(word) ? false : null
}
const given = value => typeof value === "string" ? JSON.stringify(cut(value, 60)) : cut(JSON.stringify(value), 60)
const NO_FIELDS = new Set(["button", "submit", "reset", "image", "hidden"])

const setValue = (id, value) => {
  const found = find(id)
  if (!found) return { gone: true }
  const element = hiddenControlOf(found) ?? found
  const tag = tagOf(element), role = roleOf(element)
  if (tag === "button" || (tag === "input" && NO_FIELDS.has(element.type))) return { problem: "it is a button, which has no value; click it" }
  if (isDisabled(element, tag)) return { problem: `it is disabled${stateNow(element, tag, role)}` }
  if (attributeOf(element, "aria-readonly") === "true" || (CONTROLS.has(tag) && element.readOnly)) return { problem: `it is read-only${stateNow(element, tag, role)}` }
  if (tag === "input" && element.type === "file") return { problem: `it takes files of the workspace, by file_upload, not a value${stateNow(element, tag, role)}` }
  const isList = Array.isArray(value)
  if (value === null || (typeof value === "object" && !(isList && tag === "select"))) return { problem: `it takes one text, number or boolean, not ${given(value)}${stateNow(element, tag, role)}` }
  scrollTo(element, { block: "nearest", behavior: "instant" })
  focusOn(element)
  if (tag === "select") return choose(element, value)
  if (tag === "input" && (element.type === "checkbox" || element.type === "radio")) return check(element, value)
  if (tag !== "input" && CHECKABLE.has(role) && attributeOf(element, "aria-checked") !== null) return checkRole(element, role, value)
  if (tag !== "input" && tag !== "textarea") return isEditable(element) ? write(element, String(value)) : { problem: problemOf(element, role) }
  return setText(element, tag, role, value)
}
const setText = (element, tag, role, value) => {
  const form = tag === "input" && String(value) !== "" ? FORMS[element.type] : null
  const text = form ? form[1](String(value)) : String(value)
  if (form && (text === null || !isTaken(element, text))) return { problem: `it takes a ${form[0]}${limitsOf(element)}, not ${given(value)}${stateNow(element, tag, role)}` }
  if (element.maxLength >= 0 && text.length > element.maxLength) return { problem: `it takes at most ${element.maxLength} characters, not ${text.length}${stateNow(element, tag, role)}` }
  setProperty(element, "value", text)
  if (element.value.replace(/\r/g, "") !== text.replace(/\r/g, "") && !isSameNumber(element, text)) return { problem: `it did not take ${given(value)}${stateNow(element, tag, role)}` }
  const message = element.validity.valid ? "" : squeeze(element.validationMessage)
  const written = text === String(value) ? "set" : `set to ${JSON.stringify(element.value)}`
  return { text: message ? `${written}, but invalid: ${message}` : written }
}
// Whether a field of this type and with these limits keeps a value, tried on another one.
const isTaken = (element, text) => {
  const probe = document.createElement("input")
  for (const name of ["type", "min", "max", "step"]) if (element[name]) probe[name] = element[name]
  probe.value = text
  return probe.value === text || isSameNumber(probe, text) || (element.type !== "range" && probe.value !== "")
}
// What a control has, at the end of a sentence about a value that it did not take.
const stateNow = (element, tag, role) => {
  if (tag === "select") return `; it has ${Array.from(element.selectedOptions, named).join(", ") || "nothing"} now`
  if (tag === "input" && element.type === "file") return `; it has ${Array.from(element.files, file => JSON.stringify(file.name)).join(", ") || "no file"} now`
  if (CHECKABLE.has(role)) return `; it is ${checkedState(element, role)} now`
  if (tag === "input" || tag === "textarea") return `; it has ${now(element)} now`
  return isEditable(element) ? `; it has ${JSON.stringify(cut(squeeze(element.innerText), 100))} now` : ""
}
const noFlag = (element, role, value) => ({ problem: `it takes true or false, not ${given(value)}${stateNow(element, tagOf(element), role)}` })
// A checkbox, radio button or switch of ARIA, which its script sets when it is clicked.
const checkRole = (element, role, value) => {
  const flag = flagOf(value)
  if (flag === null) return noFlag(element, role, value)
  const isChecked = () => attributeOf(element, "aria-checked") === "true"
  if (isChecked() !== flag) element.click()
  return { text: isChecked() === flag ? (isChecked() ? "checked" : "unchecked") : `clicked; it is ${checkedState(element, role)} now` }
}
const now = element => element.type === "password" ? "another value" : JSON.stringify(cut(element.value, 100))
const isSameNumber = (element, text) => ["number", "range"].includes(element.type) && element.value !== "" && Number(element.value) === Number(text)
const problemOf = (element, role) => {
  if (role === "combobox" || role === "listbox") return "it is not a form control; click it and its option"
  if (role === "slider" || role === "spinbutton") return "it is not a form control; click it and press arrow keys"
  return "the element is not a form control"
}

// Checks or unchecks; a radio button also by the value or label of one in its group.
const check = (element, value) => {
  if (element.type === "radio" && typeof value !== "boolean") {
    const word = normalized(String(value))
    const root = element.getRootNode(), radios = "input[type=radio]"
    const group = Array.from(root instanceof ShadowRoot ? root.querySelectorAll(radios) : selectAll(rootElement(), radios)).filter(one => one === element || (one.name && one.name === element.name && one.form === element.form))
    const label = one => nameOf(one, true) || one.value
    const other = group.find(one => normalized(one.value) === word) ?? group.find(one => normalized(label(one)) === word)
    if (other) {
      if (isDisabled(other, "input")) return { problem: `${JSON.stringify(label(other))} is disabled` }
      if (!other.checked) other.click()
      if (other.checked) return { text: `selected ${JSON.stringify(label(other))}` }
    }
    if (other || flagOf(value) === null) {
      const chosen = group.find(one => one.checked)
      const options = group.slice(0, MAX_OPTIONS).map(one => JSON.stringify(cut(label(one), 60))).join(", ")
      return { problem: `${other ? "its group did not take" : "its group has no"} ${given(value)}; it has ${options}; ${chosen ? JSON.stringify(cut(label(chosen), 60)) : "none"} is selected now` }
    }
  }
  const flag = flagOf(value)
  if (flag === null) return noFlag(element, "checkbox", value)
  if (element.checked !== flag) element.click()
  if (element.checked === flag) return { text: flag ? "checked" : "unchecked" }
  const hint = element.type === "radio" && !flag ? "a radio button is unchecked by selecting another one of its group" : "it did not change"
  return { problem: `${hint}${stateNow(element, "input", "checkbox")}` }
}

// Replaces the content of an editing host as typing does, so that editors notice; a line break starts
// a new line.
const write = (element, text) => {
  const selection = getSelection()
  selection.selectAllChildren(element)
  const isWritten = text === "" ? document.execCommand("delete") : document.execCommand("insertText", false, text)
  const lines = content => content.replace(/\r/g, "").split("\n").map(squeeze).filter(line => line).join("\n")
  if (!isWritten || lines(element.innerText) !== lines(text)) {
    if (isWritten && element.innerText.trim() !== "") return { problem: `it has ${JSON.stringify(cut(squeeze(element.innerText), 100))} now` }
    element.innerText = text
    element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }))
  }
  return { text: "set" }
}

// A text as it is compared with what a model writes, as in telechir-device's `normalized`.
const normalized = text => squeeze(text
  .replace(/\u2026/g, "...")
  .replace(/[\u2018-\u201b\u2032]/g, "'")
  .replace(/[\u201c-\u201f\u2033]/g, '"')
  .replace(/[\u2010-\u2014\u2212]/g, "-")
  .replace(/[\u00ad\u200b-\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/g, "")).toLowerCase()

const optionOf = (options, value) => {
  const wanted = squeeze(String(value))
  return options.find(option => option.value === String(value)) ?? options.find(option => optionText(option) === wanted) ??
    options.find(option => normalized(optionText(option)) === normalized(wanted)) ?? options.find(option => squeeze(option.text) === wanted)
}
const named = option => JSON.stringify(cut(optionText(option), 100))

// Selects one option by value or text, or in a multiple select exactly those of a list, which may be
// written as JSON: in the schemas of some tools a value is a text.
const listIn = text => {
  try {
    const list = JSON.parse(text)
    return Array.isArray(list) && list.every(one => typeof one === "string") ? list : null
  } catch {
    return null
  }
}
const choose = (element, wanted) => {
  const options = Array.from(element.options)
  const value = element.multiple && typeof wanted === "string" && !optionOf(options, wanted) ? listIn(wanted) ?? wanted : wanted
  const values = Array.isArray(value) ? value : [value]
  const has = () => stateNow(element, "select", "")
  if (values.length !== 1 && !element.multiple) return { problem: `it takes one option${has()}` }
  const chosen = values.map(one => optionOf(options, one))
  const missing = chosen.findIndex(option => !option)
  if (missing >= 0) {
    const available = options.slice(0, MAX_OPTIONS).map(option => JSON.stringify(cut(optionText(option), 60)))
    const rest = options.length > MAX_OPTIONS ? ` and ${options.length - MAX_OPTIONS} more` : ""
    return { problem: `there is no option ${given(values[missing])}; there are ${available.join(", ")}${rest}${has()}` }
  }
  const disabledOption = chosen.find(option => isMatch(option, ":disabled") || isMatch(option, "optgroup:disabled *"))
  if (disabledOption) return { problem: `the option ${named(disabledOption)} is disabled${has()}` }
  if (Array.isArray(value) && element.multiple) {
    options.forEach(option => option.selected = chosen.includes(option))
    dispatchChange(element)
  } else setProperty(element, "selectedIndex", chosen[0].index)
  const isChosen = Array.from(element.selectedOptions).length === new Set(chosen).size && chosen.every(option => option.selected)
  if (!isChosen) return { problem: `it did not take ${given(value)}${has()}` }
  return { text: `selected ${options.filter(option => chosen.includes(option)).map(named).join(", ") || "nothing"}` }
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
