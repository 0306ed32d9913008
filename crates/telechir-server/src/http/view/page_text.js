// The page of a session's browser as text, read when a person asks for it.

import { element, visible } from "./text.js";

export class PageText {
  /** `read` answers with the page as it is now. */
  constructor(read) {
    this.read = read;
    this.text = element("pre", { tabindex: "0", "aria-label": "The page as text", "aria-live": "polite" });
    const again = element("button", { type: "button", onclick: () => this.load() }, "Read again");
    this.root = element("details", {}, element("summary", {}, "Page as text"), element("div", { class: "bar" }, again), this.text);
    this.root.addEventListener("toggle", () => this.root.open && this.load());
  }

  async load() {
    try {
      this.text.replaceChildren(visible((await this.read()).text));
    } catch (error) {
      this.text.replaceChildren(visible(error.message));
    }
  }
}
