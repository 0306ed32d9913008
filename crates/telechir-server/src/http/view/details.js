// What a call printed or changed, from its arguments and its result.

import { element, visible } from "./text.js";

/** Lines of the changes of one call, and characters of one line. */
const MAX_LINES = 400;
const MAX_LINE = 500;

/** The texts of a call's result. */
export function outputOf(result) {
  const texts = [];
  const collect = (value, name) => {
    if (typeof value === "string" && ["stdout", "stderr", "text", "output"].includes(name)) texts.push(value);
    else if (Array.isArray(value)) value.forEach((item) => collect(item, name));
    else if (value && typeof value === "object") Object.entries(value).forEach(([key, item]) => collect(item, key));
  };
  collect(result, "");
  const text = asTerminal(texts.filter((one) => one !== "").join("\n"));
  return text || result?.error?.message || "no output";
}

/** The text without the sequences that colour a terminal or move its cursor (ECMA-48). */
function plain(text) {
  return text
    .replace(/\u001b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[ -/]*[0-~])/g, "")
    .replace(/\r+\n/g, "\n");
}

/** The text as a terminal shows it at the end: a line that is written again replaces the one before. */
export function asTerminal(text) {
  return plain(text)
    .split("\n")
    .map((line) => line.replace(/\r+$/, "").split("\r").at(-1))
    .join("\n");
}

/** The changes of an edit as lines with `+` and `-`; none if it changes nothing, such as a view. */
export function diffOf(call, result) {
  const lines = (call?.operations ?? []).flatMap(linesOf);
  if (lines.length === 0) return null;
  const shown = document.createDocumentFragment();
  if (result?.error) shown.append(visible(`Not complete: ${result.error.message}\n`));
  for (const line of lines.slice(0, MAX_LINES)) shown.append(lineElement(line), "\n");
  if (lines.length > MAX_LINES) shown.append(`[…${lines.length - MAX_LINES} lines]`);
  return shown;
}

function lineElement(line) {
  const left = line.length - MAX_LINE;
  const text = visible(left > 0 ? `${line.slice(0, MAX_LINE)} […${left} characters]` : line);
  if (line.startsWith("+")) return element("ins", {}, text);
  if (line.startsWith("-")) return element("del", {}, text);
  return text;
}

/** One operation of an editor, by the names of its provider. */
function linesOf(operation) {
  const { name, path = "", old_path: from = path, new_path: to = "" } = operation;
  const text = (member) => (typeof operation[member] === "string" ? operation[member] : "");
  switch (name) {
    case "create":
      return [`@@ new file ${path}`, ...marked("+", text("file_text"))];
    case "str_replace":
      return [`@@ ${path}`, ...replaced(split(text("old_str")), split(text("new_str")))];
    case "insert":
      return [`@@ ${path}, after line ${operation.insert_line}`, ...marked("+", text("insert_text") || text("new_str"))];
    case "create_file":
      return [`@@ new file ${path}`, ...split(text("diff"))];
    case "update_file":
      return [`@@ ${path}`, ...split(text("diff"))];
    case "delete":
    case "delete_file":
      return [`@@ deletes ${path}`];
    case "rename":
      return [`@@ renames ${from} to ${to}`];
    case "undo_edit":
      return [`@@ undoes the last change of ${path}`];
    default:
      return [];
  }
}

/** The old lines and the new ones, between the lines at both ends that are the same. */
function replaced(before, after) {
  const shorter = Math.min(before.length, after.length);
  let start = 0;
  while (start < shorter && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < shorter - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const same = (line) => ` ${line}`;
  return [
    ...before.slice(0, start).map(same),
    ...before.slice(start, before.length - end).map((line) => `-${line}`),
    ...after.slice(start, after.length - end).map((line) => `+${line}`),
    ...before.slice(before.length - end).map(same),
  ];
}

const marked = (sign, text) => split(text).map((line) => `${sign}${line}`);

/** The lines of a text; a line break at its end begins none. */
function split(text) {
  if (text === "") return [];
  return text.replace(/\n$/, "").split("\n");
}
