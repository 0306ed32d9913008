// The question that waits: everything that the approval covers, and the answers. One at a time, so that
// nothing moves under the pointer when another one comes or goes.

import { change } from "./api.js";
import { element, seconds, setText, visible } from "./text.js";

/** No answer counts this early after something appeared or moved: it was meant for what was there. */
const ARM_MS = 500;
/** Lines that are shown of the beginning and of the end of what is long, and characters of a line. */
const SHOWN_LINES = 12;
const SHOWN_CHARACTERS = 1000;
const DEFAULT_REASON = "no reason was given";

export class Questions {
  constructor(container, changed) {
    this.container = container;
    this.changed = changed;
    this.card = null;
    document.addEventListener("visibilitychange", () => this.card?.arm());
    addEventListener("focus", () => this.card?.arm());
  }

  /** Shows the oldest question, or the one before if it still waits. */
  show(approvals, sessions = []) {
    document.title = approvals.length === 0 ? "telechir" : `● (${approvals.length}) telechir`;
    const current = approvals.find((question) => question.id === this.card?.id);
    const next = current ?? approvals[0];
    if (!next) {
      this.card = null;
      this.container.replaceChildren();
    } else if (!current) {
      const session = sessions.find((one) => one.id === next.session);
      this.card = new Card(next, session?.name ?? next.session, this.changed);
      this.container.replaceChildren(this.card.root);
      this.card.arm();
      this.card.follow();
      if (document.activeElement === document.body) this.card.root.focus();
    }
    if (next) this.card.update(next, approvals.length);
  }
}

class Card {
  constructor(question, session, changed) {
    this.id = question.id;
    this.question = question;
    this.changed = changed;
    this.armedAt = Infinity;
    this.isAnswered = false;
    this.left = element("p", { class: "quiet left", "aria-live": "off" });
    this.message = element("p", { role: "status" });
    this.position = "";
    this.reason = element("input", { id: "reason", maxlength: "500", autocomplete: "off" });
    this.once = this.button("Allow once (a)", () => this.approve("once"));
    this.buttons = [this.once];
    const answers = element("div", { class: "bar" }, this.once);
    const shape = question.session_shape;
    if (shape) {
      this.forSession = this.button("Allow for this session (s)", () => this.approve("session"));
      this.buttons.push(this.forSession);
      answers.append(this.forSession);
    }
    this.no = this.button("Deny (d)", () => this.deny());
    this.buttons.push(this.no);
    answers.append(this.no);
    this.text = element("div");
    this.showText(false);
    this.root = element(
      "section",
      { class: "question", tabindex: "-1", "aria-labelledby": "question-title" },
      element("h2", { id: "question-title" }, visible(session), " asks"),
      this.text,
      shape ? element("p", { class: "quiet" }, "For this session would allow: ", element("code", {}, visible(shape))) : null,
      question.approve_at ? element("p", {}, `The policy wants this approved at: ${question.approve_at}. Here it can only be denied.`) : null,
      element("p", {}, element("label", { for: "reason" }, "Reason of a denial, for the model "), this.reason),
      answers,
      this.message,
      this.left,
    );
    this.root.addEventListener("keydown", (event) => this.key(event));
  }

  button(label, act) {
    const onclick = (event) => this.isArmed(event) && act();
    return element("button", { type: "button", disabled: true, onclick }, label);
  }

  /** Shows the question's lines; what is long by its beginning and end, until all of it is wanted. */
  showText(isComplete) {
    const lines = this.question.text;
    const between = lines.length - 2 * SHOWN_LINES;
    const isLong = between > 0 || lines.some((line) => line.length > 2 * SHOWN_CHARACTERS);
    this.isComplete = isComplete || !isLong;
    if (this.isComplete) {
      this.text.replaceChildren(element("pre", {}, visible(lines.join("\n"))));
      return;
    }
    const cut = (line) => {
      const left = line.length - 2 * SHOWN_CHARACTERS;
      if (left <= 0) return line;
      return `${line.slice(0, SHOWN_CHARACTERS)} […${left} characters…] ${line.slice(-SHOWN_CHARACTERS)}`;
    };
    const part = (some) => element("pre", {}, visible(some.map(cut).join("\n")));
    const all = element("button", { type: "button", onclick: () => this.showAll() }, `Show all ${lines.length} lines, to allow it`);
    const parts = between > 0 ? [part(lines.slice(0, SHOWN_LINES)), all, part(lines.slice(-SHOWN_LINES))] : [part(lines), all];
    this.text.replaceChildren(...parts);
  }

  showAll() {
    this.showText(true);
    this.arm();
    this.root.focus();
  }

  /** Looks before each image of the page whether something moved the answers, such as a new size of the
   * window or a line above: they wait again, because the pointer may be over another one now. */
  follow() {
    if (!this.root.isConnected) return;
    if (this.hasMoved()) this.arm();
    requestAnimationFrame(() => this.follow());
  }

  /** Whether the answers are elsewhere on the screen than when they were looked at last. */
  hasMoved() {
    const boxes = this.buttons.map((button) => button.getBoundingClientRect());
    const sides = boxes.map(({ x, y, width, height }) => [x, y, width, height]);
    const position = [...sides, screenX, screenY, devicePixelRatio].join();
    const hasMoved = position !== this.position;
    this.position = position;
    return hasMoved;
  }

  /** From now on the answers wait again until a person can have seen what is there. */
  arm() {
    this.armedAt = performance.now() + ARM_MS;
    for (const button of this.buttons) button.disabled = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.enable(), ARM_MS);
  }

  enable() {
    if (this.isAnswered) return;
    const mayApprove = this.isComplete && !this.question.approve_at;
    for (const button of this.buttons) button.disabled = button !== this.no && !mayApprove;
  }

  /** Whether an input came when the answers had been there for a while; it says itself when it came. */
  isArmed(event) {
    if (this.hasMoved()) this.arm();
    return event.isTrusted && event.timeStamp >= this.armedAt && !this.isAnswered;
  }

  key(event) {
    const isTyping = event.target === this.reason;
    if (event.repeat || event.ctrlKey || event.altKey || event.metaKey || isTyping || !this.isArmed(event)) return;
    const buttons = { a: this.once, s: this.forSession, d: this.no };
    const button = buttons[event.key];
    if (!button || button.disabled) return;
    event.preventDefault();
    if (button === this.no) this.deny();
    else this.approve(button === this.once ? "once" : "session");
  }

  approve(scope) {
    this.answer({ decision: "approve", digest: this.question.digest, scope }, "Allowed.");
  }

  deny() {
    const reason = this.reason.value.trim() || DEFAULT_REASON;
    this.answer({ decision: "deny", digest: this.question.digest, reason }, "Denied.");
  }

  async answer(body, done) {
    this.isAnswered = true;
    for (const button of this.buttons) button.disabled = true;
    try {
      await change(`/v1/approvals/${encodeURIComponent(this.id)}`, body);
      setText(this.message, done);
    } catch (error) {
      setText(this.message, `The answer does not count: ${error.message}.`);
      this.isAnswered = false;
      this.arm();
    }
    this.changed();
  }

  update(question, count) {
    const others = count > 1 ? ` · ${count - 1} more wait` : "";
    const waits = question.is_waiting ? "" : " · the next call with the same action uses the answer";
    setText(this.left, `${seconds(Math.floor(question.expires_in_ms / 1000))} left${others}${waits}`);
  }
}
