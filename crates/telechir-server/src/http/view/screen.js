// The screen of a session, drawn as it changes, or a recorded screenshot of it.

import { image, isOperator, screenSocket } from "./api.js";
import { showBlob } from "./overview.js";
import { Takeover } from "./takeover.js";
import { element, setText } from "./text.js";

/** How long after a lost connection another one is opened. */
const RETRY_MS = 1000;
/** A page that is hidden for this long looks at nothing. */
const HIDDEN_MS = 5000;
/** The server sends something this often, also when nothing changes. */
const SILENCE_MS = 12_000;
/** Length of the numbers before an image. */
const HEAD_BYTES = 16;
/** What a message contains. */
const PNG = 1;
const JPEG = 2;
const SIZE = 5;
const END = 6;

export class Screen {
  constructor(id, path) {
    this.path = path;
    this.device = null;
    this.socket = null;
    this.recorded = null;
    this.canvas = element("canvas", { role: "img", "aria-label": "The screen", hidden: true });
    this.context = this.canvas.getContext("2d", { alpha: false });
    this.image = element("img", { alt: "A recorded screenshot", hidden: true });
    this.note = element("p", { class: "quiet", role: "status" });
    this.back = element("button", { type: "button", hidden: true, onclick: () => this.showNow() }, "Back to now");
    this.takeover = new Takeover(id, this.canvas, (message) => this.send(message));
    this.devices = element("div", { class: "bar" }, this.back, this.takeover.button, this.takeover.state);
    const view = element("div", { class: "view" }, this.canvas, this.takeover.keys);
    this.root = element("section", { "aria-label": "Screen" }, this.devices, view, this.image, this.note);
    this.look = () => this.visibilityChanged();
  }

  start(devices) {
    this.device = devices[0];
    if (devices.length > 1) {
      const choose = (device) => () => {
        this.device = device;
        this.showNow();
        this.connect();
      };
      this.devices.prepend(...devices.map((device) => element("button", { type: "button", onclick: choose(device) }, device)));
    }
    document.addEventListener("visibilitychange", this.look);
    this.visibilityChanged();
  }

  stop() {
    document.removeEventListener("visibilitychange", this.look);
    clearTimeout(this.hiding);
    this.device = null;
    this.disconnect();
  }

  /** Shows who has control of the session. */
  update(session) {
    this.takeover.update(session.control, isOperator());
  }

  send(message) {
    const isOpen = this.socket?.readyState === WebSocket.OPEN;
    if (isOpen) this.socket.send(JSON.stringify(message));
    return isOpen;
  }

  visibilityChanged() {
    clearTimeout(this.hiding);
    if (document.hidden) {
      this.hiding = setTimeout(() => this.disconnect(), HIDDEN_MS);
    } else if (!this.socket) {
      this.connect();
    } else {
      this.grant();
    }
  }

  connect() {
    this.disconnect();
    if (!this.device) return;
    const socket = screenSocket(this.path, this.device);
    socket.binaryType = "arraybuffer";
    this.socket = socket;
    this.takeover.device = this.device;
    this.isGranted = false;
    this.areas = [];
    const isCurrent = () => this.socket === socket;
    socket.onopen = () => isCurrent() && this.grant();
    socket.onmessage = ({ data }) => isCurrent() && this.receive(data);
    socket.onclose = () => {
      if (!isCurrent()) return;
      this.disconnect();
      setText(this.note, "No connection to the screen. Another one is opened.");
      this.retry = setTimeout(() => !document.hidden && this.connect(), RETRY_MS);
    };
  }

  disconnect() {
    clearTimeout(this.retry);
    clearTimeout(this.silence);
    const socket = this.socket;
    this.socket = null;
    socket?.close();
    this.takeover.failed();
  }

  /** Lets the server send one update: what it has by then is the newest, and nothing waits. */
  grant() {
    if (this.isGranted || document.hidden || this.socket?.readyState !== WebSocket.OPEN) return;
    this.isGranted = true;
    this.socket.send(JSON.stringify({ grant: 1 }));
    clearTimeout(this.silence);
    this.silence = setTimeout(() => setText(this.note, "The screen does not answer."), SILENCE_MS);
  }

  receive(data) {
    if (typeof data === "string") {
      const { control, control_problem: refusal, problem } = JSON.parse(data);
      if (control) return this.takeover.answered(control);
      if (refusal) this.takeover.failed();
      setText(this.note, refusal ?? problem);
      if (refusal) return;
      this.isGranted = false;
      clearTimeout(this.silence);
      this.retry = setTimeout(() => this.grant(), RETRY_MS);
      return;
    }
    const head = new DataView(data);
    const [x, y, width, height] = [8, 10, 12, 14].map((at) => head.getUint16(at, true));
    switch (head.getUint8(0)) {
      case PNG:
      case JPEG:
        this.areas.push({ x, y, bitmap: createImageBitmap(new Blob([data.slice(HEAD_BYTES)])) });
        break;
      case SIZE:
        this.areas.push({ width, height });
        break;
      case END:
        this.draw(this.socket, this.areas.splice(0));
        break;
    }
  }

  /** Draws an update at once, so that nobody sees half of it. */
  async draw(socket, areas) {
    const bitmaps = await Promise.all(areas.map((area) => area.bitmap));
    if (this.socket !== socket) return;
    for (const [index, { x, y, width, height }] of areas.entries()) {
      if (!bitmaps[index]) {
        if (this.canvas.width !== width || this.canvas.height !== height) {
          this.canvas.width = width;
          this.canvas.height = height;
        }
        continue;
      }
      this.context.drawImage(bitmaps[index], x, y);
      bitmaps[index].close();
    }
    this.canvas.hidden = this.recorded !== null;
    setText(this.note, "");
    this.isGranted = false;
    this.grant();
  }

  async showRecorded(digest) {
    this.recorded = digest;
    this.back.hidden = false;
    try {
      const shown = await image(`${this.path}/screenshots/${digest}`, null);
      if (this.recorded !== digest) return;
      showBlob(this.image, shown.blob);
      this.canvas.hidden = true;
    } catch (error) {
      setText(this.note, error.message);
    }
  }

  showNow() {
    this.recorded = null;
    this.back.hidden = true;
    this.image.hidden = true;
    this.canvas.hidden = this.canvas.width === 0;
  }
}
