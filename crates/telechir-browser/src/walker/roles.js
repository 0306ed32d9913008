// Roles of elements by html-aam 1.0 and core-aam 1.2.
const INPUT_ROLES = {
  button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox",
  radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", file: "file",
  color: "color", password: "password", hidden: "",
}
const TAG_ROLES = {
  a: e => hasAttribute(e, "href") || (hasAttribute(e, "xlink:href") && e instanceof SVGElement) ? "link" : "", area: e => hasAttribute(e, "href") ? "link" : "",
  address: "group", article: "article", aside: e => isAside(e) ? "complementary" : "", audio: "audio", blockquote: "blockquote",
  button: "button", canvas: "canvas", caption: "caption", dd: "definition", del: "deletion", details: "group",
  dialog: "dialog", dt: "term", embed: "embed", fieldset: "group", figure: "figure",
  footer: e => isSectioned(e) ? "" : "contentinfo", form: e => isNamed(e) ? "form" : "",
  frame: "iframe", g: e => isSvgNamed(e) ? "group" : "", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading",
  h6: "heading", header: e => isSectioned(e) ? "" : "banner", hgroup: "group", hr: "separator", iframe: "iframe",
  image: e => e instanceof SVGElement ? "image" : "",
  img: e => attributeOf(e, "alt") === "" && !isLabelled(e) && !isFocusable(e) ? "" : "image", input: e => inputRole(e), ins: "insertion",
  li: e => isListed(e) ? "listitem" : "", main: "main", math: "math", menu: "list", meter: "meter", nav: "navigation",
  object: "object", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
  progress: "progressbar", s: "deletion", search: "search", section: e => isNamed(e) ? "region" : "",
  select: e => e.multiple || e.size > 1 ? "listbox" : "combobox", summary: e => isSummary(e) ? "button" : "",
  svg: e => isNamed(e) ? "image" : "", table: "table", tbody: e => tabular(e, "rowgroup"),
  td: e => tabular(e, "cell"), textarea: "textbox", tfoot: e => tabular(e, "rowgroup"),
  th: e => tabular(e, isRowHeader(e) ? "rowheader" : "columnheader"), thead: e => tabular(e, "rowgroup"),
  tr: e => tabular(e, "row"), ul: "list", video: "video",
}
// By svg-aam 1.0 a shape is exposed only with a name.
for (const tag of ["circle", "ellipse", "line", "path", "polygon", "polyline", "rect", "use"]) TAG_ROLES[tag] = e => isSvgNamed(e) ? "graphics-symbol" : ""
const ARIA_ROLES = new Set(("alert alertdialog application article banner blockquote button caption cell checkbox code " +
  "columnheader combobox comment complementary contentinfo definition deletion dialog directory document emphasis feed figure form grid gridcell " +
  "generic group heading image img insertion link list listbox listitem log main mark marquee math menu menubar menuitem " +
  "menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar " +
  "radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton " +
  "status strong subscript suggestion superscript switch tab table tablist tabpanel term textbox time timer toolbar tooltip tree treegrid treeitem").split(" "))
// Aliases of ARIA roles; an empty string means no role.
const ROLE_ALIASES = { directory: "list", generic: "", img: "image", presentation: "", none: "" }
// These are landmarks only with a name.
const NAMED_LANDMARKS = new Set(["form", "region"])
// Global attributes of ARIA, which make a presentational role void.
const GLOBAL_ATTRIBUTES = ("aria-label aria-labelledby aria-describedby aria-description aria-details aria-live aria-atomic aria-busy " +
  "aria-labeledby aria-relevant aria-controls aria-owns aria-flowto aria-current aria-keyshortcuts aria-roledescription").split(" ")

const INTERACTIVE_ROLES = new Set(("link button textbox combobox checkbox radio slider spinbutton searchbox file color password " +
  "menuitem menuitemcheckbox menuitemradio option switch tab treeitem listbox scrollbar").split(" "))
// Roles whose name is their content.
const ROLES_NAMED_BY_CONTENT = new Set(("link button heading checkbox radio menuitem menuitemcheckbox menuitemradio option switch " +
  "tab treeitem tooltip columnheader rowheader").split(" "))
const SECTIONING = new Set(["article", "aside", "nav", "section"])
const SECTION_ROLES = new Set(["article", "complementary", "main", "navigation", "region"])

const isWithinTags = (element, isOne) => {
  for (let at = parentOf(element); at && nodeTypeOf(at) === ELEMENT; at = parentOf(at)) if (isOne(at)) return true
  return false
}
const isSectioned = element => isWithinTags(element, at => {
  const tag = tagOf(at)
  return SECTIONING.has(tag) || tag === "main" || (hasAttribute(at, "role") && SECTION_ROLES.has(attributeOf(at, "role").trim().toLowerCase()))
})
// Names may ask for roles, which may ask for other names, in circles: one is asked for at a time. No
// role that is read inside a name depends on another element's name.
let isNameRead = false
const isNamed = element => {
  if (tagOf(element) === "svg" && svgTitle(element) !== "") return true
  if (isNameRead || !hasAttributes(element)) return false
  isNameRead = true
  try {
    return nameOf(element, false) !== ""
  } finally {
    isNameRead = false
  }
}
const isLabelled = element => Boolean(attributeOf(element, "aria-label")?.trim() || labelledByOf(element)?.trim())
const isAside = element => !isWithinTags(element, at => SECTIONING.has(tagOf(at))) || isNamed(element)
// The child of a list, which is one only without a presentational role.
const isListed = element => {
  const parent = parentOf(element)
  if (!(parent instanceof HTMLElement)) return parent instanceof ShadowRoot
  const role = attributeOf(parent, "role")
  if (role !== null) return roleOf(parent) === "list"
  return ["ul", "ol", "menu", "slot"].includes(tagOf(parent))
}
const inputRole = element => {
  const role = INPUT_ROLES[element.type] ?? "textbox"
  return hasAttribute(element, "list") && element.list && (role === "textbox" || role === "searchbox") ? "combobox" : role
}
// The role of a part of a table, by the role of the table.
const tabular = (element, role) => {
  for (let at = parentOf(element); at && nodeTypeOf(at) === ELEMENT; at = parentOf(at)) {
    if (tagOf(at) !== "table") continue
    const table = hasAttribute(at, "role") ? roleOf(at) : "table"
    return table === "table" ? role : table === "grid" || table === "treegrid" ? (role === "cell" ? "gridcell" : role) : ""
  }
  return role
}
// By its scope; without one a header heads its row if it stands beside the row's data, other than an
// empty corner, or before it.
const isRowHeader = element => {
  const scope = attributeOf(element, "scope")?.trim().toLowerCase()
  if (scope === "row" || scope === "rowgroup") return true
  if (scope === "col" || scope === "colgroup") return false
  const row = parentOf(element)
  if (!(row instanceof HTMLTableRowElement)) return false
  if (isDataCell(previousElementOf(element)) || isDataCell(nextElementOf(element))) return true
  if (row.parentNode?.localName === "thead") return false
  for (let cell = nextSiblingOf(element); cell; cell = nextSiblingOf(cell)) {
    if (nodeTypeOf(cell) === ELEMENT && tagOf(cell) === "td") return childOf(row, HTMLTableCellElement) === element
  }
  return false
}
const isDataCell = cell => cell !== null && tagOf(cell) === "td" && textContentOf(cell).trim() !== ""
// A details element has one summary, its first.
const isSummary = element => summaryOf(parentOf(element)) === element
const summaryOf = details => {
  if (!(details instanceof HTMLDetailsElement)) return null
  for (let child = firstChildOf(details); child; child = nextSiblingOf(child)) {
    if (nodeTypeOf(child) === ELEMENT && tagOf(child) === "summary") return child
  }
  return null
}
const svgTitle = element => {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
    if (child instanceof SVGTitleElement) return squeeze(child.textContent)
  }
  return ""
}

const svgNameOf = element => svgTitle(element) || squeeze(attributeOf(element, "xlink:title") ?? "")
const isSvgNamed = element => element instanceof SVGElement && (svgTitle(element) !== "" || isLabelled(element))

const ownRoleOf = element => {
  const own = TAG_ROLES[tagOf(element)]
  return typeof own === "function" ? own(element) : own ?? ""
}
const roleOf = element => {
  const explicit = attributeOf(element, "role")
  if (!explicit) return ownRoleOf(element)
  for (const token of explicit.toLowerCase().split(/\s+/)) {
    if (!ARIA_ROLES.has(token)) continue
    if (NAMED_LANDMARKS.has(token) && !isNamed(element)) continue
    const role = ROLE_ALIASES[token] ?? token
    return role === "" && token !== "generic" && isRoleRetained(element) ? ownRoleOf(element) : role
  }
  return ownRoleOf(element)
}
// A focusable element keeps its native role, even if the page declares it presentational, and so
// does one with a global attribute.
const isFocusable = element => (tabIndexOf(element) >= 0 || hasAttribute(element, "tabindex")) && !(CONTROLS.has(tagOf(element)) && isMatch(element, ":disabled"))
const isRoleRetained = element => isFocusable(element) || GLOBAL_ATTRIBUTES.some(name => attributeOf(element, name)?.trim())
