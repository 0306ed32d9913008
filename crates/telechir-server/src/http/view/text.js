// Elements from texts. Whatever comes from a session is a text node, never HTML.

/** Characters that cannot be seen, change the direction of text, or look like another one. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u00a0\u115f\u1160\u2000-\u200a\u202f\u205f\u2800\u3000\u3164\ufe00-\ufe0f\uffa0\u{e0100}-\u{e01ef}]/gu;

/** An element with attributes, listeners (`onclick`) and children: nodes, or texts. Hidden characters of
 * both are visible. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, visibleText(String(value)));
  }
  const shown = children.filter((child) => child != null);
  made.append(...shown.map((child) => (typeof child === "string" ? visible(child) : child)));
  return made;
}

/** A text in which hidden characters are visible; line breaks and tabs stay. */
export function visible(text) {
  const shown = document.createDocumentFragment();
  let end = 0;
  for (const match of text.matchAll(HIDDEN)) {
    if (isBlank(match[0])) continue;
    shown.append(text.slice(end, match.index));
    shown.append(element("span", { class: "hidden" }, codeOf(match[0])));
    end = match.index + match[0].length;
  }
  shown.append(text.slice(end));
  return shown;
}

/** The same for a tooltip or a label. */
export function visibleText(text) {
  return text.replace(HIDDEN, (hidden) => (isBlank(hidden) ? hidden : codeOf(hidden)));
}

const isBlank = (character) => character === "\n" || character === "\t";
const codeOf = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

/** Replaces the text of an element if it differs, so that readers are not told it again. */
export function setText(target, text) {
  if (target.textContent !== visibleText(text)) target.replaceChildren(visible(text));
}

export function milliseconds(ms) {
  return ms < 10_000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`;
}

export function seconds(count) {
  if (count < 120) return `${count} s`;
  return count < 7200 ? `${Math.floor(count / 60)} min` : `${Math.floor(count / 3600)} h`;
}
