// The calls of a session with what became of them, from its events: the same live and recorded.

import { asTerminal, diffOf, outputOf } from "./details.js";
import { element, milliseconds, visible, visibleText } from "./text.js";

/** Longest text of a model or of the system that a note shows. */
const MAX_NOTE = 2000;
/** Commands that end within this time show their output only afterwards. */
const FOLLOW_MS = 300;
/** How long after a failure the output is read again. */
const RETRY_MS = 1000;
/** What ends the message that the model writes, or interrupts it. */
const ENDS_MESSAGE = new Set(["assistant_message", "response_received", "task_ended", "task_started", "session_closed"]);

export class Timeline {
  /** `max` entries are kept, the oldest go first. `choose` is called with the call and the screenshot that
   * somebody wants to see; `details` reads the call and its result by the call's row, or is absent;
   * `output` waits for what the running command has printed since a version, and `message` for what the
   * model has written; in a recording both are absent. */
  constructor({ max, choose, details, output, message }) {
    this.max = max;
    this.choose = choose;
    this.details = details;
    this.output = output;
    this.message = message;
    this.root = element("ol", { class: "calls", "aria-label": "Calls, the newest first" });
    /** The calls in order. */
    this.calls = [];
    /** By their ids, which a later call may have again. */
    this.byId = new Map();
    this.entries = [];
    this.seen = new IntersectionObserver((changes) => {
      for (const { target, isIntersecting } of changes) if (isIntersecting) this.show(target);
    });
  }

  event(row, event) {
    if (event.event === "call_received") return this.addCall(row, event);
    if (event.event === "request_sent") return this.followMessage();
    if (ENDS_MESSAGE.has(event.event)) this.request = null;
    const note = noteOf(event);
    if (note) return this.add(new Note(event, note));
    this.byId.get(event.call_id)?.event(event);
  }

  /** Shows what the model writes while it writes; the complete message is an event. A response that comes
   * soon shows nothing. */
  async followMessage() {
    if (!this.message) return;
    const request = {};
    this.request = request;
    const isOver = () => this.request !== request || this.isClosed;
    await pause(FOLLOW_MS);
    const text = runningText("What the model writes");
    const shown = element("li", { class: "call" }, text);
    await showAsItComes(text, this.message, isOver, () => document.hidden, (newest) => {
      if (!newest.is_writing) return shown.remove();
      if (!shown.isConnected) this.root.prepend(shown);
      return newest.text;
    });
    shown.remove();
  }

  addCall(row, event) {
    const call = new Call(row, event, this);
    this.byId.set(event.call_id, call);
    this.calls.push(call);
    this.add(call);
  }

  add(entry) {
    this.root.prepend(entry.root);
    this.entries.push(entry);
    if (this.entries.length <= this.max) return;
    const oldest = this.entries.shift();
    oldest.root.remove();
    if (this.calls[0] === oldest) this.calls.shift();
    if (this.byId.get(oldest.id) === oldest) this.byId.delete(oldest.id);
  }

  /** Marks the call that is shown, and no other. */
  mark(call) {
    for (const marked of this.root.querySelectorAll("[aria-current]")) marked.removeAttribute("aria-current");
    call?.root.setAttribute("aria-current", "step");
  }

  /** Reads what belongs to a call once somebody can see it. */
  show(details) {
    this.seen.unobserve(details);
    this.calls.find((call) => call.root === details.parentElement)?.load();
  }

  close() {
    this.isClosed = true;
    this.seen.disconnect();
  }
}

/** What happened between calls, as a sentence. */
function noteOf(event) {
  switch (event.event) {
    case "task_started":
      return `Task for ${event.model}: ${event.task}`;
    case "task_ended":
      return `The task ended: ${event.reason}`;
    case "assistant_message":
      return event.text;
    case "control_taken":
      return `${event.by} took control`;
    case "control_given_back":
      return `${event.by} gave control back after ${milliseconds(event.ms)}`;
    case "policy_reloaded":
      return "The policy was reloaded";
    case "device_lost":
      return `The ${event.device} is gone: ${event.message}`;
    case "untrusted_content":
      return `Untrusted content was read: ${event.source}`;
    case "warning":
      return event.message;
    default:
      return null;
  }
}

class Note {
  constructor(event, text) {
    const shown = text.length > MAX_NOTE ? `${text.slice(0, MAX_NOTE)} […${text.length - MAX_NOTE} characters]` : text;
    this.root = element("li", { class: "call quiet" }, `${timeOf(event)} · `, visible(shown));
  }
}

class Call {
  constructor(row, event, timeline) {
    this.row = row;
    this.id = event.call_id;
    this.kind = event.kind;
    this.at = timeOf(event);
    this.steps = event.steps;
    this.timeline = timeline;
    /** Digests of the screenshots that the model got. */
    this.screenshots = [];
    this.facts = new Map();
    this.factLine = element("p", { class: "facts" });
    const steps = event.steps.map((step) => element("p", {}, element("code", {}, visible(step))));
    const head = element("p", { class: "quiet" }, `${this.at} · ${event.kind}`);
    this.root = element("li", { class: "call" }, head, ...steps, this.factLine);
  }

  event(event) {
    switch (event.event) {
      case "call_judged":
        this.fact("verdict", event.verdict, event.verdict, `${event.rule}: ${event.reason}`);
        break;
      case "question_asked":
        this.showQuestion(event);
        break;
      case "question_answered":
        this.answered(event);
        break;
      case "action_started":
        this.fact("effect", "running", "");
        this.isRunning = true;
        this.follow();
        break;
      case "action_finished":
        this.isRunning = false;
        this.fact("effect", event.effect, event.effect, event.failure?.message);
        if (event.outcome) this.fact("outcome", event.outcome, "");
        break;
      case "screenshot_taken":
        this.screenshot(event);
        break;
      case "call_answered":
        this.isRunning = false;
        if (this.question && !this.answer) this.fact("answer", "was not answered", "");
        this.fact("time", milliseconds(event.ms), "");
        if (event.failure) this.fact("failure", event.failure.message, "failed");
        this.completed();
        break;
    }
  }

  /** Shows the question where it was asked; its complete text is never recorded as an event. */
  showQuestion(event) {
    this.question = event.reasons.join(" ");
    this.fact("answer", "waits for an answer", "ask");
    this.root.insertBefore(element("p", { class: "reasons" }, visible(`Question: ${this.question}`)), this.factLine);
  }

  answered(event) {
    const by = event.origin ? ` by ${event.origin.by}` : "";
    const [word, name] = event.approved ? ["approved", "allowed"] : ["denied", "denied"];
    this.answer = `${word}${by}${event.reason ? `: ${event.reason}` : ""}`;
    this.fact("answer", `${word}${by}`, name, event.reason);
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
    this.screenshots.push(event.blob);
    const onclick = () => this.timeline.choose(this, event.blob);
    const button = element("button", { type: "button", onclick }, "Screenshot");
    this.facts.get("screenshot")?.remove();
    this.facts.set("screenshot", button);
    this.factLine.append(button);
  }

  /** Shows what a command prints while it runs: its end, as it is now. One that ends soon shows nothing. */
  async follow() {
    if (!this.timeline.output || this.kind !== "shell" || this.isFollowed) return;
    this.isFollowed = true;
    await pause(FOLLOW_MS);
    const shown = runningText("Output so far");
    const isOver = () => !this.isRunning || this.timeline.isClosed;
    const isPaused = () => document.hidden || this.isBehind();
    await showAsItComes(shown, this.timeline.output, isOver, isPaused, ({ text }) => {
      if (text && !shown.isConnected) this.root.append(shown);
      return asTerminal(text);
    });
    shown.remove();
    this.isFollowed = false;
  }

  /** Whether this is not the newest call: it is read from the past, and its output is gone. */
  isBehind() {
    return this.timeline.calls.at(-1) !== this;
  }

  /** Offers what the call printed, or shows what it changed; both are read when somebody looks. */
  completed() {
    if (!this.timeline.details || this.kind === "computer") return;
    const isEdit = this.kind === "edit";
    this.text = element("pre", { tabindex: "0" }, "…");
    const details = element("details", { open: isEdit }, element("summary", {}, isEdit ? "Changes" : "Output"), this.text);
    details.addEventListener("toggle", () => details.open && this.load());
    this.root.append(details);
    if (isEdit) this.timeline.seen.observe(details);
  }

  async load() {
    if (this.isLoaded) return;
    this.isLoaded = true;
    try {
      const { call, result } = await this.timeline.details(this);
      const changes = this.kind === "edit" ? diffOf(call, result) : null;
      this.text.replaceChildren(changes ?? visible(outputOf(result)));
    } catch (error) {
      this.isLoaded = false;
      this.text.replaceChildren(visible(error.message));
    }
  }
}

/** An element for a text that grows, of which a screen reader does not read out each change. */
function runningText(label) {
  return element("pre", { class: "running", tabindex: "0", role: "log", "aria-live": "off", "aria-label": label });
}

/** Reads a text that grows, and shows in `target` what `shownOf` makes of its newest version; of none
 * nothing. */
async function showAsItComes(target, read, isOver, isPaused, shownOf) {
  let version = null;
  while (!isOver()) {
    const newest = isPaused() ? null : await read(version).catch(() => null);
    if (!newest) {
      await pause(RETRY_MS);
      continue;
    }
    version = newest.version;
    const text = isOver() ? "" : shownOf(newest);
    if (!text) continue;
    const isAtEnd = target.scrollTop + target.clientHeight >= target.scrollHeight - 4;
    const left = newest.omitted_bytes > 0 ? `[…${newest.omitted_bytes} bytes]\n` : "";
    target.replaceChildren(visible(left + text));
    if (isAtEnd) target.scrollTop = target.scrollHeight;
  }
}

const timeOf = (event) => new Date(event.at_ms).toLocaleTimeString();
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
