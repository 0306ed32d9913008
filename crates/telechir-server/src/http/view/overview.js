// All sessions at a glance: a small picture of each, what it is doing, and the questions that wait.

import { get, image } from "./api.js";
import { element, seconds, setText, visible } from "./text.js";

const IMAGE_INTERVAL_MS = 2000;
const RECORDINGS_INTERVAL_MS = 10_000;
/** Recordings that are listed, the newest first. */
const MAX_RECORDINGS = 100;

export class Overview {
  constructor() {
    this.cards = new Map();
    this.list = element("ul", { class: "cards" });
    this.empty = element("p", { class: "quiet" }, "No session is open.");
    this.recordings = element("ul", { class: "recordings" });
    this.recorded = element("section", { hidden: true }, element("h2", {}, "Recordings"), this.recordings);
    this.readAt = -RECORDINGS_INTERVAL_MS;
    this.root = element("section", {}, element("h1", {}, "Sessions"), this.empty, this.list, this.recorded);
  }

  update(sessions, approvals) {
    this.empty.hidden = sessions.length > 0;
    for (const session of sessions) {
      const known = this.cards.get(session.id);
      const card = known ?? new Card(session);
      if (!known) {
        this.cards.set(session.id, card);
        this.list.append(card.root);
      }
      card.update(session, approvals.filter((question) => question.session === session.id).length);
    }
    const open = new Set(sessions.map((session) => session.id));
    for (const [id, card] of this.cards) {
      if (open.has(id)) continue;
      card.close();
      this.cards.delete(id);
    }
    this.refreshRecordings();
  }

  async refreshRecordings() {
    const now = performance.now();
    if (document.hidden || now - this.readAt < RECORDINGS_INTERVAL_MS) return;
    this.readAt = now;
    const { recordings } = await get("/v1/recordings").catch(() => ({ recordings: null }));
    if (!recordings) return;
    this.recorded.hidden = recordings.length === 0;
    const rows = recordings.slice(-MAX_RECORDINGS).reverse().map(recordingRow);
    const older = recordings.length - rows.length;
    if (older > 0) rows.push(element("li", { class: "quiet" }, `${older} older ones are not listed.`));
    this.recordings.replaceChildren(...rows);
  }

  close() {
    for (const card of this.cards.values()) card.close();
  }
}

function recordingRow({ id, bytes, age_seconds: age, in_use: inUse }) {
  const link = element("a", { href: `#/recordings/${encodeURIComponent(id)}` }, visible(id));
  const when = inUse ? "a session writes it" : `${seconds(age)} old`;
  const about = ` ${when} · ${(bytes / 1e6).toFixed(1)} MB`;
  return element("li", {}, link, element("span", { class: "quiet" }, about));
}

class Card {
  constructor(session) {
    this.id = session.id;
    this.etag = null;
    this.imageAt = 0;
    this.state = element("p", { class: "quiet" });
    this.waits = element("p", { class: "waits" });
    const address = `#/sessions/${encodeURIComponent(session.id)}`;
    const link = element("a", { href: address }, visible(session.name ?? session.id));
    this.root = element("li", { class: "card" }, element("h2", {}, link), this.state, this.waits);
    if (session.devices.some((device) => device === "desktop" || device === "browser")) {
      this.image = element("img", { alt: "", hidden: true });
      this.root.append(this.image);
    }
  }

  update(session, questions) {
    const since = session.state === "idle" ? ` for ${seconds(session.idle_seconds)}` : "";
    const queue = session.waiting > 0 ? `, ${session.waiting} more calls wait` : "";
    setText(this.state, `${session.state}${since}${queue} · ${session.devices.join(", ")}`);
    setText(this.waits, questions === 0 ? "" : questions === 1 ? "A question waits" : `${questions} questions wait`);
    this.refresh();
  }

  async refresh() {
    const now = performance.now();
    if (!this.image || document.hidden || now - this.imageAt < IMAGE_INTERVAL_MS) return;
    this.imageAt = now;
    const path = `/v1/sessions/${encodeURIComponent(this.id)}/screenshot?width=320`;
    const next = await image(path, this.etag).catch(() => null);
    if (!next) return;
    this.etag = next.etag;
    showBlob(this.image, next.blob);
  }

  close() {
    if (this.image?.src) URL.revokeObjectURL(this.image.src);
    this.root.remove();
  }
}

/** Shows an image instead of the one before. */
export function showBlob(target, blob) {
  const before = target.src;
  target.src = URL.createObjectURL(blob);
  target.hidden = false;
  if (before) URL.revokeObjectURL(before);
}
