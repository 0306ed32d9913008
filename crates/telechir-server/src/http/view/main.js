// Starts the page: exchanges the ticket, shows what the address names, and keeps lists up to date.

import { exchange, get, isOperator } from "./api.js";
import { Overview } from "./overview.js";
import { Questions } from "./question.js";
import { RecordingView } from "./recording.js";
import { SessionView } from "./session.js";
import { element, setText } from "./text.js";

const INTERVAL_MS = 1000;

const main = document.querySelector("#main");
const status = document.querySelector("#status");
const questions = new Questions(document.querySelector("#question"), update);
let view = null;
let timer = null;

async function start() {
  const ticket = new URLSearchParams(location.hash.slice(1)).get("ticket");
  if (ticket) {
    const names = new URLSearchParams(location.hash.slice(1));
    const kind = ["session", "recording"].find((name) => names.has(name));
    const address = kind ? `#/${kind}s/${encodeURIComponent(names.get(kind))}` : "#/";
    // The ticket must not stay in the history, and counts once anyway.
    history.replaceState(null, "", address);
    await exchange(ticket);
  }
  addEventListener("hashchange", show);
  document.addEventListener("visibilitychange", update);
  show();
}

function show() {
  view?.close();
  const [, kind, encoded] = location.hash.match(/^#\/(sessions|recordings)\/(.+)$/) ?? [];
  const id = encoded && decodeURIComponent(encoded);
  if (kind === "sessions") view = new SessionView(id, goOver);
  else if (kind === "recordings") view = recording(new RecordingView(id));
  else view = new Overview();
  main.replaceChildren(view.root);
  update();
}

/** Says why a recording cannot be shown. */
function recording(shown) {
  shown.loaded.catch((error) => setText(shown.state, error.message));
  return shown;
}

/** The page of a session that has ended goes over into its recording, if there is one, once that is read:
 * the page shows something at any time. */
async function goOver(session) {
  const next = new RecordingView(session.id, session.title.textContent);
  try {
    await next.loaded;
  } catch {
    return next.close();
  }
  if (view !== session) return next.close();
  view.close();
  view = next;
  history.replaceState(null, "", `#/recordings/${encodeURIComponent(session.id)}`);
  const hadFocus = main.contains(document.activeElement);
  main.replaceChildren(view.root);
  if (hadFocus) next.slider.focus();
}

/** Reads the lists again, and once more after a while. Nobody looks at a hidden page: only its title
 * says whether a question waits. */
async function update() {
  clearTimeout(timer);
  try {
    const approvals = isOperator() ? (await get("/v1/approvals")).approvals : [];
    const { sessions } = await get("/v1/sessions");
    questions.show(approvals, sessions);
    view?.update(sessions, approvals);
    setText(status, "");
  } catch (error) {
    if (error.status === 401) return fail(error);
    setText(status, `No connection: ${error.message}`);
  }
  clearTimeout(timer);
  timer = setTimeout(update, document.hidden ? 5 * INTERVAL_MS : INTERVAL_MS);
}

function fail(error) {
  view?.close();
  questions.show([]);
  const text = element("p", {}, `${error.message}.`);
  main.replaceChildren(element("h1", {}, "This page is not open"), text);
}

start().catch(fail);
