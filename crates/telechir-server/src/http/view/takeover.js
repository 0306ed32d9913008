// Control of a session by a person: what they do on the screen reaches the session's devices, and its
// calls wait.

import { element, setText } from "./text.js";

const BUTTONS = ["left", "middle", "right", "back", "forward"];
/** A second Escape this soon leaves the screen, so that nobody is caught in it with a keyboard. */
const LEAVE_MS = 500;
/** The lists of sessions that are read this soon after an answer may be older than it. */
const ANSWER_MS = 3000;
/** Desktops have wheels of whole clicks of this many pixels. */
const CLICK_PX = 100;
/** Pixels of a line, if the browser counts the wheel in lines. */
const LINE_PX = 33;
/** Longest text of one message. */
const MAX_TEXT = 50_000;

export class Takeover {
  /** `send` sends a message to the session, and says whether there is a connection. */
  constructor(id, canvas, send) {
    this.storage = `telechir-control-${id}`;
    this.canvas = canvas;
    this.send = send;
    this.device = null;
    this.pointer = null;
    this.wheel = { dx: 0, dy: 0 };
    this.escapedAt = -LEAVE_MS;
    this.answeredAt = -ANSWER_MS;
    this.button = element("button", { type: "button", hidden: true, onclick: () => this.toggle() });
    this.state = element("p", { class: "quiet", role: "status" });
    this.keys = element("textarea", {
      class: "keys", hidden: true, "aria-label": "Keyboard of the screen. Press Escape twice to leave.",
      autocapitalize: "off", autocomplete: "off", autocorrect: "off", spellcheck: "false",
    });
    this.listen();
  }

  get control() {
    return sessionStorage.getItem(this.storage);
  }

  /** Shows who has control, for everybody. */
  update(control, isOperator) {
    // A list that was read before the answer says nothing about it.
    if (!control && performance.now() - this.answeredAt > ANSWER_MS) this.end();
    if (!control && this.control) return;
    const isOwn = control && this.control;
    this.isTaken = Boolean(control);
    this.button.hidden = !isOperator;
    setText(this.button, control ? "Give back" : this.isWaiting ? "Waiting for the running step" : "Take over");
    setText(this.state, !control ? "" : isOwn
      ? "You have control, and calls wait. Press Escape twice to leave the screen."
      : `${control.by} has control, and calls wait.`);
    this.show();
  }

  toggle() {
    if (this.isTaken) {
      this.send("give");
    } else if (!this.isWaiting) {
      this.isWaiting = this.send("take");
    }
  }

  /** The session answered: with an id this page has control, without one nobody has. */
  answered({ id }) {
    this.isWaiting = false;
    this.answeredAt = performance.now();
    if (id) sessionStorage.setItem(this.storage, id);
    else this.end();
    this.isTaken = Boolean(id);
    setText(this.button, id ? "Give back" : "Take over");
    this.show();
    if (id) this.keys.focus({ preventScroll: true });
  }

  /** The request did not succeed, or its answer will not come. */
  failed() {
    this.isWaiting = false;
  }

  end() {
    sessionStorage.removeItem(this.storage);
    this.show();
  }

  show() {
    this.keys.hidden = !this.control;
    this.canvas.classList.toggle("controlled", Boolean(this.control));
  }

  /** Sends input of a person, never of a script. */
  input(event, input) {
    if (event.isTrusted && this.control) this.send({ input: { control: this.control, input } });
  }

  listen() {
    const on = (name, handle, target = this.canvas) => {
      const guarded = (event) => this.control && event.isTrusted && handle(event);
      target.addEventListener(name, guarded, { passive: false });
    };
    on("pointermove", (event) => this.moved(event));
    on("pointerdown", (event) => this.pressed(event));
    on("pointerup", (event) => this.released(event));
    on("pointercancel", (event) => this.released(event));
    on("contextmenu", (event) => event.preventDefault());
    on("wheel", (event) => this.scrolled(event));
    on("keydown", (event) => this.key(event), this.keys);
    on("input", (event) => event.isComposing || this.text(event), this.keys);
    on("compositionend", (event) => this.text(event), this.keys);
  }

  /** The pixel of the screen at an event. */
  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const along = (distance, shown, pixels) => Math.min(Math.max(Math.floor((distance / shown) * pixels), 0), pixels - 1);
    return {
      x: along(event.clientX - box.left - this.canvas.clientLeft, this.canvas.clientWidth, this.canvas.width),
      y: along(event.clientY - box.top - this.canvas.clientTop, this.canvas.clientHeight, this.canvas.height),
    };
  }

  /** Moves are sent once for each image that the browser shows. */
  moved(event) {
    const isFirst = !this.pointer;
    this.pointer = event;
    if (isFirst) requestAnimationFrame(() => this.flushMove());
  }

  flushMove() {
    const event = this.pointer;
    this.pointer = null;
    if (event) this.input(event, { move: this.point(event) });
  }

  pressed(event) {
    event.preventDefault();
    this.canvas.setPointerCapture(event.pointerId);
    this.keys.style.translate = `${event.offsetX}px ${event.offsetY}px`;
    this.keys.focus({ preventScroll: true });
    this.flushMove();
    this.modifiers = modifiersOf(event);
    this.buttonOf(event, "press");
  }

  released(event) {
    this.flushMove();
    this.buttonOf(event, "release");
  }

  buttonOf(event, name) {
    // A pointer that the browser took away names no button.
    const button = BUTTONS[Math.max(event.button, 0)];
    if (button) this.input(event, { [name]: { ...this.point(event), button, modifiers: this.modifiers ?? [] } });
  }

  scrolled(event) {
    event.preventDefault();
    const unit = [1, LINE_PX, this.canvas.height][event.deltaMode];
    this.wheel.dx += event.deltaX * unit;
    this.wheel.dy += event.deltaY * unit;
    const clicks = (distance) => (this.device === "desktop" ? Math.trunc(distance / CLICK_PX) * CLICK_PX : distance);
    const [dx, dy] = [clicks(this.wheel.dx), clicks(this.wheel.dy)];
    if (dx === 0 && dy === 0) return;
    this.wheel.dx -= dx;
    this.wheel.dy -= dy;
    this.input(event, { scroll: { ...this.point(event), dx, dy } });
  }

  /** Keys that enter no text, and shortcuts. What enters text arrives as text, from whatever layout, dead
   * key or input method. */
  key(event) {
    if (event.isComposing || ["Process", "Dead", "Unidentified"].includes(event.key)) return;
    if (["Shift", "Control", "Alt", "AltGraph", "Meta", "CapsLock"].includes(event.key)) return;
    const isCharacter = [...event.key].length === 1;
    const isAltText = event.getModifierState("AltGraph") || (event.altKey && !event.ctrlKey && event.key > "~");
    const isShortcut = (event.ctrlKey || event.metaKey || event.altKey) && !isAltText;
    if (isCharacter && !isShortcut) return;
    if (isCharacter && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "v") return;
    event.preventDefault();
    if (event.key === "Escape") {
      const isSecond = event.timeStamp - this.escapedAt < LEAVE_MS;
      this.escapedAt = event.timeStamp;
      if (isSecond) return this.button.focus();
    }
    const name = isCharacter ? shortcutKey(event) : event.key;
    this.input(event, { key: { chord: [...modifiersOf(event), name].join("+") } });
  }

  /** Text that was typed, composed or pasted. */
  text(event) {
    const text = [...this.keys.value];
    this.keys.value = "";
    while (text.length > 0) this.input(event, { text: { text: text.splice(0, MAX_TEXT).join("") } });
  }
}

/** The key of a shortcut: layouts without Latin letters have those of the keys' usual places. */
function shortcutKey({ key, code }) {
  if (key === " ") return "Space";
  const latin = key > "~" ? code.match(/^(?:Key|Digit)([A-Z0-9])$/)?.[1] : null;
  return (latin ?? key).toLowerCase();
}

function modifiersOf(event) {
  const names = { ctrlKey: "ctrl", altKey: "alt", shiftKey: "shift", metaKey: "super" };
  return Object.keys(names).filter((name) => event[name]).map((name) => names[name]);
}
