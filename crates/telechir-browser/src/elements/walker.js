// Names a page's elements and says what they are. Lives in a world of its own: the page neither
// sees it nor can change it, and it changes nothing of the page.
(() => {
  const WALKER_VERSION = 1
  if (globalThis.telechirWalker?.version === WALKER_VERSION) return
  const byRef = new Map()
  const refs = new WeakMap()
  let next = 1

  const refOf = element => {
    let ref = refs.get(element)
    if (!ref) {
      ref = `ref_${next++}`
      refs.set(element, ref)
      byRef.set(ref, new WeakRef(element))
    }
    return ref
  }

  const find = ref => {
    const element = byRef.get(ref)?.deref()
    return element?.isConnected ? element : null
  }

  const squeeze = text => text.replace(/\s+/g, " ").trim()
  const cut = (text, length) => text.length > length ? text.slice(0, length) + "…" : text

  const isShown = element => {
    if (element.checkVisibility) {
      return element.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true })
    }
    return element.getClientRects().length > 0
  }

  const INPUT_ROLES = {
    button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox",
    radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", file: "file",
  }
  const ROLES = {
    A: "link", BUTTON: "button", TEXTAREA: "textbox", SELECT: "combobox", OPTION: "option",
    SUMMARY: "button", IMG: "image", H1: "heading", H2: "heading", H3: "heading", H4: "heading",
    H5: "heading", H6: "heading", NAV: "navigation", MAIN: "main", HEADER: "banner",
    FOOTER: "contentinfo", UL: "list", OL: "list", LI: "listitem", TABLE: "table", TR: "row",
    TD: "cell", TH: "columnheader", FORM: "form", LABEL: "label", P: "paragraph",
    DIALOG: "dialog", IFRAME: "iframe", VIDEO: "video", AUDIO: "audio",
  }
  const INTERACTIVE = new Set([
    "link", "button", "textbox", "combobox", "checkbox", "radio", "slider", "spinbutton",
    "searchbox", "file", "menuitem", "menuitemcheckbox", "menuitemradio", "option", "switch", "tab",
    "treeitem",
  ])

  const roleOf = element => {
    const named = element.getAttribute("role")
    if (named) return squeeze(named).split(" ")[0]
    if (element.tagName === "INPUT") {
      return element.type === "hidden" ? "" : INPUT_ROLES[element.type] ?? "textbox"
    }
    if (element.tagName === "A" && !element.hasAttribute("href")) return ""
    return ROLES[element.tagName] ?? ""
  }

  const isInteractive = (element, role) =>
    INTERACTIVE.has(role) || element.isContentEditable && !element.parentElement?.isContentEditable ||
    element.hasAttribute("onclick") || element.tabIndex >= 0 && element.hasAttribute("tabindex")

  const ownText = element => {
    let text = ""
    for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) text += node.data
    return squeeze(text)
  }

  const nameOf = (element, role) => {
    const label = element.getAttribute("aria-label")
    if (label) return squeeze(label)
    const by = element.getAttribute("aria-labelledby")
    if (by) {
      const text = by.split(/\s+/).map(id => element.getRootNode().getElementById?.(id)?.innerText ?? "")
      if (squeeze(text.join(" "))) return squeeze(text.join(" "))
    }
    if (element.labels?.length) return squeeze([...element.labels].map(label => label.innerText).join(" "))
    if (element.alt) return squeeze(element.alt)
    if (element.tagName === "INPUT" && role === "button") return squeeze(element.value)
    const whole = INTERACTIVE.has(role) && element.tagName !== "SELECT" && element.tagName !== "TEXTAREA" || role === "heading"
    const text = whole ? squeeze(element.innerText ?? "") : ownText(element)
    return text || squeeze(element.placeholder ?? "") || squeeze(element.title ?? "")
  }

  const valueOf = (element, role) => {
    if (element.type === "password") return element.value ? "(hidden)" : ""
    if (role === "checkbox" || role === "radio" || role === "switch") {
      return element.checked ?? element.ariaChecked === "true" ? "checked" : "unchecked"
    }
    if (element.tagName === "SELECT") return [...element.selectedOptions].map(option => option.text).join(", ")
    if ("value" in element && ["textbox", "searchbox", "spinbutton", "slider"].includes(role)) return element.value
    return ""
  }

  const describe = element => {
    const role = roleOf(element) || element.tagName.toLowerCase()
    let line = role
    const name = nameOf(element, role)
    if (name) line += ` ${JSON.stringify(cut(name, 200))}`
    line += ` [${refOf(element)}]`
    const value = valueOf(element, role)
    if (value) line += ` value=${JSON.stringify(cut(value, 200))}`
    if (element.disabled) line += " disabled"
    if (element.tagName === "A" && element.href) line += ` href=${JSON.stringify(cut(element.href, 200))}`
    if (element.tagName === "SELECT") {
      line += ` options=${JSON.stringify([...element.options].slice(0, 50).map(option => option.text))}`
    }
    return line
  }

  const childrenOf = element => element.shadowRoot ? element.shadowRoot.children : element.children

  const read = (rootRef, onlyInteractive, depth, limit) => {
    const root = rootRef ? find(rootRef) : document.body
    if (!root) return { stale: true }
    const lines = []
    let length = 0
    let isCut = false
    const walk = (element, level, indent) => {
      if (isCut || level > depth || ["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE"].includes(element.tagName)) return
      if (!isShown(element) && element.tagName !== "OPTION") return
      const role = roleOf(element)
      const interactive = isInteractive(element, role)
      const told = interactive || !onlyInteractive && (role || ownText(element))
      if (told) {
        const line = "  ".repeat(indent) + describe(element)
        length += line.length + 1
        if (length > limit) { isCut = true; return }
        lines.push(line)
      }
      if (element.tagName === "SELECT") return
      for (const child of childrenOf(element)) walk(child, level + 1, indent + (told ? 1 : 0))
    }
    walk(root, 0, 0)
    return { text: lines.join("\n"), isCut }
  }

  const search = (query, most) => {
    const words = squeeze(query).toLowerCase().split(" ")
    const hits = []
    const walk = element => {
      if (!isShown(element)) return
      const role = roleOf(element)
      if (role || ownText(element)) {
        const said = `${role} ${nameOf(element, role)} ${valueOf(element, role)} ${element.id} ${element.name ?? ""}`.toLowerCase()
        const score = words.filter(word => said.includes(word)).length
        if (score > 0) hits.push({ element, score: score * 2 + (isInteractive(element, role) ? 1 : 0) })
      }
      for (const child of childrenOf(element)) walk(child)
    }
    if (document.body) walk(document.body)
    hits.sort((one, other) => other.score - one.score)
    const best = hits.filter(hit => hit.score >= words.length * 2)
    const told = (best.length ? best : hits).slice(0, most)
    return { text: told.map(hit => describe(hit.element)).join("\n"), count: told.length }
  }

  const locate = ref => {
    const element = find(ref)
    if (!element) return { stale: true }
    if (!isShown(element)) return { hidden: true }
    element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" })
    for (const rect of element.getClientRects()) {
      const left = Math.max(rect.left, 0), right = Math.min(rect.right, innerWidth)
      const top = Math.max(rect.top, 0), bottom = Math.min(rect.bottom, innerHeight)
      if (right - left >= 1 && bottom - top >= 1) {
        const x = Math.floor((left + right) / 2), y = Math.floor((top + bottom) / 2)
        const root = element.getRootNode()
        const hit = root.elementFromPoint?.(x, y)
        const covered = hit && !element.contains(hit) && !hit.contains(element) && !(element.labels && [...element.labels].some(label => label.contains(hit)))
        return { x, y, coveredBy: covered ? describe(hit) : undefined }
      }
    }
    return { hidden: true }
  }

  const scrollTo = ref => {
    const element = find(ref)
    if (!element) return { stale: true }
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" })
    return {}
  }

  // A setter of the element's own class: frameworks replace the one on the element to notice writes.
  const write = (element, member, value) => {
    const setter = Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), member)?.set
    setter ? setter.call(element, value) : element[member] = value
    element.dispatchEvent(new Event("input", { bubbles: true, composed: true }))
    element.dispatchEvent(new Event("change", { bubbles: true }))
  }

  const isChecked = value => value === true || ["true", "on", "yes", "checked", "1"].includes(String(value).toLowerCase())

  const setValue = (ref, value) => {
    const element = find(ref)
    if (!element) return { stale: true }
    if (element.disabled || element.readOnly) return { problem: "the control is disabled or read-only" }
    element.scrollIntoView({ block: "nearest", behavior: "instant" })
    element.focus()
    if (element.tagName === "SELECT") {
      const wanted = squeeze(String(value))
      const options = [...element.options]
      const option = options.find(option => option.value === String(value)) ?? options.find(option => squeeze(option.text) === wanted)
      if (!option) return { problem: `there is no such option; there are ${options.slice(0, 50).map(option => JSON.stringify(option.text)).join(", ")}` }
      write(element, "value", option.value)
      if (element.selectedIndex !== option.index) element.selectedIndex = option.index
      return { text: `selected ${JSON.stringify(option.text)}` }
    }
    if (element.type === "checkbox" || element.type === "radio") {
      if (element.checked !== isChecked(value)) element.click()
      return element.checked === isChecked(value) ? { text: element.checked ? "checked" : "unchecked" } : { problem: "the control did not take it" }
    }
    if (element.type === "file") return { problem: "a file control takes files, not a value" }
    if (element.isContentEditable) {
      element.textContent = String(value)
      element.dispatchEvent(new InputEvent("input", { bubbles: true, composed: true }))
      return { text: "set" }
    }
    if (!("value" in element)) return { problem: "the element is no form control" }
    write(element, "value", String(value))
    return element.value === String(value) ? { text: "set" } : { problem: `the control holds ${JSON.stringify(cut(element.value, 100))} instead` }
  }

  const text = limit => {
    const whole = document.body?.innerText ?? ""
    return { text: whole.slice(0, limit), isCut: whole.length > limit }
  }

  // Refs are counted over all documents: one of an older document never names another element.
  const begin = first => { next = Math.max(next, first) }
  const count = () => next

  globalThis.telechirWalker = { version: WALKER_VERSION, begin, count, read, search, locate, scrollTo, setValue, text }
})()
