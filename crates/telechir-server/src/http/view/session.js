// One session: its screen as it changes, and the calls with what became of them.

import { change, follow, get, isOperator } from "./api.js";
import { PageText } from "./page_text.js";
import { Screen } from "./screen.js";
import { element, setText, visible } from "./text.js";
import { Timeline } from "./timeline.js";

/** Entries of the timeline; the oldest go first. */
const MAX_ENTRIES = 300;

export class SessionView {
  /** `ended` is called when the session is gone. */
  constructor(id, ended) {
    this.id = id;
    this.path = `/v1/sessions/${encodeURIComponent(id)}`;
    this.ended = ended;
    this.abort = new AbortController();
    this.title = element("h1", {}, visible(id));
    this.state = element("p", { class: "quiet" });
    this.cancel = element("button", { type: "button", hidden: true, onclick: () => this.cancelCall() }, "Cancel the call");
    this.screen = new Screen(id, this.path);
    this.timeline = new Timeline({
      max: MAX_ENTRIES,
      choose: (_, digest) => this.screen.showRecorded(digest),
      details: isOperator() ? ({ row }) => get(`${this.path}/calls/${row}`) : null,
      message: (since) => get(`${this.path}/message${since === null ? "" : `?since=${since}`}`),
      output: isOperator() ? (since) => get(`${this.path}/output${since === null ? "" : `?since=${since}`}`) : null,
    });
    const calls = element("section", {}, element("h2", {}, "Calls"), this.timeline.root);
    this.columns = element("div", { class: "session no-screen" }, calls);
    this.root = element("article", {}, this.title, element("div", { class: "bar" }, this.state, this.cancel), this.columns);
  }

  /** Follows the events of a session that is open, from its first one. */
  follow() {
    if (this.isFollowed) return;
    this.isFollowed = true;
    follow(this.id, this.abort.signal, (row, event) => this.timeline.event(row, event)).catch((error) => {
      this.isFollowed = false;
      if (!this.abort.signal.aborted) setText(this.state, error.message);
    });
  }

  update(sessions) {
    const session = sessions.find((one) => one.id === this.id);
    if (!session) return this.end();
    this.isEnded = false;
    this.follow();
    if (session.name) setText(this.title, session.name);
    setText(this.state, `${session.state} · ${session.devices.join(", ")}`);
    this.cancel.hidden = !(isOperator() && session.opened_by && session.running);
    this.screen.update(session);
    if (isOperator() && session.devices.includes("browser") && !this.page) {
      this.page = new PageText(() => get(`${this.path}/page`));
      this.screen.root.append(this.page.root);
    }
    const screens = session.devices.filter((device) => device === "desktop" || device === "browser");
    if (screens.length > 0 && !this.screen.root.isConnected) {
      this.columns.classList.remove("no-screen");
      this.columns.prepend(this.screen.root);
      this.screen.start(screens);
    }
  }

  end() {
    setText(this.state, this.isFollowed ? "This session is closed." : "This session is not open.");
    this.cancel.hidden = true;
    this.screen.stop();
    if (this.isEnded) return;
    this.isEnded = true;
    this.ended(this);
  }

  close() {
    this.abort.abort();
    this.screen.stop();
    this.timeline.close();
  }

  async cancelCall() {
    await change(`${this.path}/cancel`, {}).catch((error) => setText(this.state, error.message));
  }
}
