// A recording: its calls in the same timeline as live, and the screen as it was at each of them.

import { get, image, isOperator } from "./api.js";
import { showBlob } from "./overview.js";
import { element, setText, visible } from "./text.js";
import { Timeline } from "./timeline.js";

/** Entries of the timeline. */
const MAX_ENTRIES = 10_000;
/** How often a recording that a session still writes is read again. */
const INTERVAL_MS = 2000;
/** How long one call is shown when the recording plays. */
const PLAY_MS = 1000;
/** Rows that are searched for a call and its result, in one request and in all. */
const DETAIL_ROWS = 200;
const MAX_DETAIL_ROWS = 20_000;

export class RecordingView {
  constructor(id, title = id) {
    this.path = `/v1/recordings/${encodeURIComponent(id)}`;
    this.id = id;
    this.next = 1;
    this.current = null;
    this.state = element("p", { class: "quiet", role: "status" }, "The recording is read.");
    this.live = element("p", { hidden: true }, element("a", { href: `#/sessions/${encodeURIComponent(id)}` }, "Show the session as it is now"));
    this.timeline = new Timeline({
      max: MAX_ENTRIES,
      choose: (call, digest) => this.choose(call, digest),
      details: isOperator() ? (call) => this.details(call) : null,
    });
    this.buildPlayer();
    const calls = element("section", {}, element("h2", {}, "Calls"), this.timeline.root);
    const columns = element("div", { class: "session" }, this.player, calls);
    const heading = element("h1", {}, "Recording of ", visible(title));
    this.root = element("article", {}, heading, element("div", { class: "bar" }, this.state, this.live), columns);
    this.timeline.root.addEventListener("click", (event) => this.clicked(event));
    this.loaded = this.load();
  }

  buildPlayer() {
    const button = (label, act) => element("button", { type: "button", onclick: act }, label);
    this.slider = element("input", {
      type: "range", min: "1", max: "1", value: "1", disabled: true, "aria-label": "Call",
      oninput: () => this.showAt(Number(this.slider.value) - 1),
    });
    this.play = button("Play", () => (this.playing ? this.pause() : this.start()));
    const step = (by) => () => this.showAt(this.index() + by);
    const bar = element("div", { class: "bar" }, button("Previous", step(-1)), this.play, button("Next", step(1)), this.slider);
    this.where = element("p");
    this.steps = element("pre", { tabindex: "0" });
    this.question = element("p", { class: "reasons", hidden: true });
    this.image = element("img", { alt: "The screen at this call", hidden: true });
    this.note = element("p", { class: "quiet" });
    this.player = element("section", { class: "player", "aria-label": "Player" }, bar, this.where, this.question, this.image, this.note, this.steps);
  }

  /** Reads the events, and again as long as a session writes them. Shows the last call, as live does. */
  async load() {
    let inUse;
    do {
      const isAtEnd = this.index() === this.timeline.calls.length - 1;
      // Before the rows: what is written after this is read the next time.
      ({ in_use: inUse } = await get(this.path));
      await this.readEvents();
      this.slider.max = String(Math.max(this.timeline.calls.length, 1));
      this.slider.disabled = this.timeline.calls.length === 0;
      if (isAtEnd) this.showAt(this.timeline.calls.length - 1);
      const count = this.timeline.calls.length;
      setText(this.state, `${count} ${count === 1 ? "call" : "calls"}${inUse ? "; the session goes on" : ""}`);
    } while (inUse && !this.isClosed && !this.later());
  }

  /** Reads the rest after a while, without anybody who waits for it. */
  later() {
    this.timer = setTimeout(() => this.load().catch((error) => setText(this.state, error.message)), INTERVAL_MS);
    return true;
  }

  async readEvents() {
    for (;;) {
      const { rows, next } = await get(`${this.path}/rows?kind=event&from=${this.next}`);
      for (const { row, at_ms, body } of rows) this.timeline.event(row, { ...body, at_ms });
      this.next = next;
      if (rows.length === 0 || this.isClosed) return;
    }
  }

  update(sessions) {
    this.live.hidden = !sessions.some((session) => session.id === this.id);
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.pause();
    this.timeline.close();
    if (this.image.src) URL.revokeObjectURL(this.image.src);
  }

  index() {
    return this.timeline.calls.indexOf(this.current);
  }

  /** A call of the timeline is chosen by a click on it that does nothing else. */
  clicked(event) {
    if (event.target.closest("button, details, a")) return;
    const entry = event.target.closest("li");
    const call = this.timeline.calls.find((one) => one.root === entry);
    if (call) this.showAt(this.timeline.calls.indexOf(call));
  }

  choose(call, digest) {
    this.showAt(this.timeline.calls.indexOf(call));
    this.showScreenshot(digest, "");
  }

  start() {
    if (this.index() >= this.timeline.calls.length - 1) this.showAt(0);
    this.playing = setInterval(() => {
      if (this.index() >= this.timeline.calls.length - 1) this.pause();
      else this.showAt(this.index() + 1);
    }, PLAY_MS);
    setText(this.play, "Pause");
  }

  pause() {
    clearInterval(this.playing);
    this.playing = null;
    setText(this.play, "Play");
  }

  /** Shows a call, its question, and the newest screenshot that the model had by then. */
  showAt(index) {
    const { calls } = this.timeline;
    const call = calls[Math.min(Math.max(index, 0), calls.length - 1)];
    this.timeline.mark(call);
    if (!call) return setText(this.note, "The recording has no calls.");
    this.current = call;
    const number = calls.indexOf(call) + 1;
    this.slider.value = String(number);
    const where = `Call ${number} of ${calls.length} · ${call.at} · ${call.kind}`;
    this.slider.setAttribute("aria-valuetext", where);
    setText(this.where, where);
    setText(this.steps, call.steps.join("\n") || "no steps");
    this.question.hidden = !call.question;
    setText(this.question, `Question: ${call.question ?? ""} – ${call.answer ?? "not answered"}`);
    keepInSight(call.root, this.timeline.root);
    const shown = calls.slice(0, number).findLast((one) => one.screenshots.length > 0);
    if (!shown) return this.showScreenshot(null, "There is no screenshot so far.");
    const age = number - 1 - calls.indexOf(shown);
    const note = age === 0 ? "" : `This call has no screenshot. It shows the screen ${age === 1 ? "one call" : `${age} calls`} before.`;
    this.showScreenshot(shown.screenshots.at(-1), note);
  }

  async showScreenshot(digest, note) {
    this.shown = digest;
    setText(this.note, note);
    if (!digest) {
      this.image.hidden = true;
      return;
    }
    try {
      const { blob } = await image(`${this.path}/screenshots/${digest}`, null);
      if (this.shown === digest && !this.isClosed) showBlob(this.image, blob);
    } catch (error) {
      if (this.shown !== digest) return;
      this.image.hidden = true;
      setText(this.note, error.message);
    }
  }

  /** The call and its result: the rows of these kinds next to the call's event. */
  async details({ row, id }) {
    const found = { call: null, result: null };
    const first = Math.max(row - DETAIL_ROWS / 2, 1);
    let from = first;
    while (!found.result && from < first + MAX_DETAIL_ROWS) {
      const { rows, next } = await get(`${this.path}/rows?from=${from}&limit=${DETAIL_ROWS}`);
      for (const { row: number, kind, body } of rows) {
        if (body.call_id !== id) continue;
        if (kind === "call" && number < row) found.call = body;
        if (kind === "answer" && number > row) found.result ??= body;
      }
      if (rows.length === 0) break;
      from = next;
    }
    return found;
  }
}

/** Scrolls a list to an entry, and nothing else of the page. */
function keepInSight(entry, list) {
  const [inner, outer] = [entry.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top < outer.top || inner.bottom > outer.bottom) list.scrollTop += inner.top - outer.top;
}
