// One session: its screen as it changes, and the calls with what became of them.

import { change, follow, get, isOperator } from "./api.js";
import { Screen } from "./screen.js";
import { element, milliseconds, setText, visible, visibleText } from "./text.js";

/** Calls that are listed; the oldest go first. */
const MAX_CALLS = 300;

export class SessionView {
  constructor(id) {
    this.id = id;
    this.path = `/v1/sessions/${encodeURIComponent(id)}`;
    this.abort = new AbortController();
    /** By their ids, which a later call may have again. */
    this.calls = new Map();
    this.shown = [];
    this.turn = null;
    this.title = element("h1", {}, visible(id));
    this.state = element("p", { class: "quiet" });
    this.cancel = element("button", { type: "button", hidden: true, onclick: () => this.cancelCall() }, "Cancel the call");
    this.screen = new Screen(id, this.path);
    this.list = element("ol", { class: "calls", "aria-label": "Calls, the newest first" });
    const calls = element("section", {}, element("h2", {}, "Calls"), this.list);
    this.columns = element("div", { class: "session no-screen" }, calls);
    this.root = element("article", {}, this.title, element("div", { class: "bar" }, this.state, this.cancel), this.columns);
    follow(id, this.abort.signal, (event) => this.event(event)).catch((error) => {
      if (!this.abort.signal.aborted) setText(this.state, error.message);
    });
  }

  update(sessions) {
    const session = sessions.find((one) => one.id === this.id);
    if (!session) {
      setText(this.state, "This session is closed.");
      this.cancel.hidden = true;
      this.screen.stop();
      return;
    }
    if (session.name) setText(this.title, session.name);
    setText(this.state, `${session.state} · ${session.devices.join(", ")}`);
    this.cancel.hidden = !(isOperator() && session.opened_by && session.running);
    this.screen.update(session);
    const screens = session.devices.filter((device) => device === "desktop" || device === "browser");
    if (screens.length > 0 && !this.screen.root.isConnected) {
      this.columns.classList.remove("no-screen");
      this.columns.prepend(this.screen.root);
      this.screen.start(screens);
    }
  }

  close() {
    this.abort.abort();
    this.screen.stop();
  }

  async cancelCall() {
    await change(`${this.path}/cancel`, {}).catch((error) => setText(this.state, error.message));
  }

  event(event) {
    switch (event.event) {
      case "turn_started":
        this.turn = { key: event.key, calls: [] };
        break;
      case "call_received":
        this.add(event);
        break;
      case "turn_completed":
        for (const call of this.turn?.calls ?? []) call.completed(this.path, this.turn.key);
        this.turn = null;
        break;
      case "control_taken":
        this.show(new Note(event, `${event.by} took control`));
        break;
      case "control_given_back":
        this.show(new Note(event, `${event.by} gave control back after ${milliseconds(event.ms)}`));
        break;
      default:
        this.calls.get(event.call_id)?.event(event);
    }
  }

  add(event) {
    const call = new Call(event, (digest) => this.screen.showRecorded(digest));
    this.calls.set(event.call_id, call);
    this.turn?.calls.push(call);
    this.show(call);
  }

  show(entry) {
    this.list.prepend(entry.root);
    this.shown.push(entry);
    if (this.shown.length > MAX_CALLS) {
      const oldest = this.shown.shift();
      oldest.root.remove();
      if (this.calls.get(oldest.id) === oldest) this.calls.delete(oldest.id);
    }
  }
}

/** What happened between calls. */
class Note {
  constructor(event, text) {
    const time = new Date(event.at_ms).toLocaleTimeString();
    this.root = element("li", { class: "call quiet" }, `${time} · `, visible(text));
  }
}

/** One call of the timeline. */
class Call {
  constructor(event, showScreenshot) {
    this.id = event.call_id;
    this.kind = event.kind;
    this.showScreenshot = showScreenshot;
    this.facts = new Map();
    this.factLine = element("p", { class: "facts" });
    const time = new Date(event.at_ms).toLocaleTimeString();
    const steps = event.steps.map((step) => element("p", {}, element("code", {}, visible(step))));
    const head = element("p", { class: "quiet" }, `${time} · ${event.kind}`);
    this.root = element("li", { class: "call" }, head, ...steps, this.factLine);
  }

  event(event) {
    switch (event.event) {
      case "call_judged":
        this.fact("verdict", event.verdict, event.verdict, `${event.rule}: ${event.reason}`);
        break;
      case "question_asked":
        this.fact("answer", "waits for an answer", "ask");
        break;
      case "question_answered": {
        const by = event.origin ? ` by ${event.origin.by}` : "";
        const [word, name] = event.approved ? ["approved", "allowed"] : ["denied", "denied"];
        this.fact("answer", `${word}${by}`, name, event.reason);
        break;
      }
      case "action_started":
        this.fact("effect", "running", "");
        break;
      case "action_finished":
        this.fact("effect", event.effect, event.effect, event.failure?.message);
        if (event.outcome) this.fact("outcome", event.outcome, "");
        break;
      case "screenshot_taken":
        this.screenshot(event);
        break;
      case "call_answered":
        this.fact("time", milliseconds(event.ms), "");
        if (event.failure) this.fact("failure", event.failure.message, "failed");
        break;
    }
  }

  fact(name, text, style, hint) {
    let shown = this.facts.get(name);
    if (!shown) {
      shown = element("span");
      this.facts.set(name, shown);
      this.factLine.append(shown);
    }
    shown.className = style;
    shown.replaceChildren(visible(text));
    if (hint) shown.title = visibleText(hint);
  }

  screenshot(event) {
    const settled = event.settled ? `settled in ${milliseconds(event.settle_ms)}` : `not settled: ${event.unsettled}`;
    this.fact("settled", settled, event.settled ? "" : "ask");
    const onclick = () => this.showScreenshot(event.blob);
    const button = element("button", { type: "button", onclick }, "Screenshot");
    this.facts.get("screenshot")?.remove();
    this.facts.set("screenshot", button);
    this.factLine.append(button);
  }

  /** Offers the call's output, which is read when somebody wants to see it. */
  completed(path, key) {
    if (!key || this.kind === "computer" || !isOperator()) return;
    const output = element("pre", {}, "…");
    const details = element("details", {}, element("summary", {}, "Output"), output);
    details.addEventListener("toggle", async () => {
      if (!details.open || this.results) return;
      this.results = get(`${path}/turns/${encodeURIComponent(key)}`);
      const text = await this.results.then((turn) => outputOf(turn.results, this.id), (error) => error.message);
      output.replaceChildren(visible(text));
    });
    this.root.append(details);
  }
}

/** The texts of a call's result: what commands printed, or what an edit changed. */
function outputOf(results, id) {
  const result = results.find((one) => one.call_id === id);
  const texts = [];
  const collect = (value, name) => {
    if (typeof value === "string" && ["stdout", "stderr", "text", "output", "diff"].includes(name)) texts.push(value);
    else if (Array.isArray(value)) value.forEach((item) => collect(item, name));
    else if (value && typeof value === "object") Object.entries(value).forEach(([key, item]) => collect(item, key));
  };
  collect(result, "");
  return texts.filter((text) => text !== "").join("\n") || "no output";
}
