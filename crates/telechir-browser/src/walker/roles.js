// Roles of elements by HTML and ARIA.
const INPUT_ROLES = {
  button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox",
  radio: "radio", range: "slider", number: "spinbutton", search: "searchbox", file: "file",
  color: "color", password: "password", hidden: "",
}
const TAG_ROLES = {
  a: e => hasAttribute(e, "href") ? "link" : "", area: e => hasAttribute(e, "href") ? "link" : "",
  article: "article", aside: "complementary", audio: "audio", blockquote: "blockquote",
  button: "button", canvas: "canvas", caption: "caption", dd: "definition", details: "group",
  dialog: "dialog", dt: "term", embed: "embed", fieldset: "group", figure: "figure",
  footer: e => isSectioned(e) ? "" : "contentinfo", form: e => isNamed(e) ? "form" : "",
  frame: "iframe", h1: "heading", h2: "heading", h3: "heading", h4: "heading", h5: "heading",
  h6: "heading", header: e => isSectioned(e) ? "" : "banner", hr: "separator", iframe: "iframe",
  img: e => attributeOf(e, "alt") === "" ? "" : "image", input: e => INPUT_ROLES[e.type] ?? "textbox",
  li: "listitem", main: "main", math: "math", menu: "list", meter: "meter", nav: "navigation",
  object: "object", ol: "list", optgroup: "group", option: "option", output: "status", p: "paragraph",
  progress: "progressbar", search: "search", section: e => isNamed(e) ? "region" : "",
  select: e => e.multiple || e.size > 1 ? "listbox" : "combobox", summary: e => isSummary(e) ? "button" : "",
  svg: e => isNamed(e) || svgTitle(e) ? "image" : "", table: "table", tbody: "rowgroup",
  td: "cell", textarea: "textbox", tfoot: "rowgroup",
  th: e => attributeOf(e, "scope") === "row" ? "rowheader" : "columnheader", thead: "rowgroup",
  tr: "row", ul: "list", video: "video",
}
const ARIA_ROLES = new Set(("alert alertdialog application article banner blockquote button caption cell checkbox code " +
  "columnheader combobox complementary contentinfo definition dialog document feed figure form grid gridcell " +
  "group heading image img link list listbox listitem log main marquee math menu menubar menuitem " +
  "menuitemcheckbox menuitemradio meter navigation none note option paragraph presentation progressbar " +
  "radio radiogroup region row rowgroup rowheader scrollbar search searchbox separator slider spinbutton " +
  "status switch tab table tablist tabpanel term textbox timer toolbar tooltip tree treegrid treeitem").split(" "))
// Aliases of ARIA roles; an empty string means no role.
const ROLE_ALIASES = { img: "image", presentation: "", none: "" }

const INTERACTIVE_ROLES = new Set(("link button textbox combobox checkbox radio slider spinbutton searchbox file color password " +
  "menuitem menuitemcheckbox menuitemradio option switch tab treeitem listbox scrollbar").split(" "))
// Roles whose name is their content.
const ROLES_NAMED_BY_CONTENT = new Set(("link button heading checkbox radio menuitem menuitemcheckbox menuitemradio option switch " +
  "tab treeitem tooltip columnheader rowheader").split(" "))
const SECTIONS = new Set(["article", "aside", "main", "nav", "section"])

const isSectioned = element => {
  for (let at = parentOf(element); at && nodeTypeOf(at) === ELEMENT; at = parentOf(at)) {
    if (SECTIONS.has(tagOf(at))) return true
  }
  return false
}
const isNamed = element => hasAttribute(element, "aria-label") || hasAttribute(element, "aria-labelledby") || hasAttribute(element, "title")
const isSummary = element => parentOf(element) instanceof HTMLDetailsElement
const svgTitle = element => {
  for (let child = firstChildOf(element); child; child = nextSiblingOf(child)) {
    if (child instanceof SVGTitleElement) return squeeze(child.textContent)
  }
  return ""
}

const ownRoleOf = element => {
  const own = TAG_ROLES[tagOf(element)]
  return typeof own === "function" ? own(element) : own ?? ""
}
const roleOf = element => {
  const explicit = attributeOf(element, "role")
  if (!explicit) return ownRoleOf(element)
  for (const token of explicit.toLowerCase().split(/\s+/)) {
    if (!ARIA_ROLES.has(token)) continue
    const role = ROLE_ALIASES[token] ?? token
    // A focusable element keeps its native role, even if the page declares it presentational.
    return role === "" && tabIndexOf(element) >= 0 ? ownRoleOf(element) : role
  }
  return ownRoleOf(element)
}
