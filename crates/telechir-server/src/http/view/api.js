// Requests to the server. The page session has two secrets: a cookie, which scripts cannot read, and
// this key, which belongs to the page's origin.

const KEY = "telechir-view-key";
const ROLE = "telechir-view-role";

/** An answer that is not a success, with the server's sentence about it. */
export class Refused extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

export const isOperator = () => localStorage.getItem(ROLE) === "operator";

/** Exchanges a ticket for a page session. */
export async function exchange(ticket) {
  const answer = await fetch("/view/session", post({ ticket }));
  if (!answer.ok) throw await refusal(answer);
  const { key, role } = await answer.json();
  localStorage.setItem(KEY, key);
  localStorage.setItem(ROLE, role ?? "");
}

export async function get(path) {
  return (await send(path)).json();
}

export async function change(path, body) {
  await send(path, post(body));
}

/** An image that differs from the one with this `etag`; none if it is the same. */
export async function image(path, etag) {
  const answer = await send(path, { headers: etag ? { "If-None-Match": etag } : {} });
  if (answer.status === 304) return null;
  return { etag: answer.headers.get("ETag"), blob: await answer.blob() };
}

/** A connection that sends what changes on a screen. Browsers let scripts add no header to it: the key is
 * one of its subprotocols. */
export function screenSocket(path, device) {
  const address = new URL(`/view${path.replace(/^\/v1/, "")}/screen?device=${device}`, location.href);
  address.protocol = address.protocol.replace("http", "ws");
  const key = localStorage.getItem(KEY) ?? "";
  return new WebSocket(address, ["telechir.screen", `telechir.key.${key}`]);
}

/** Calls `each` with the row of every event of a session and the event, from its first one, and connects
 * again when cut off. */
export async function follow(id, signal, each) {
  let last = null;
  while (!signal.aborted) {
    const headers = last === null ? {} : { "Last-Event-ID": last };
    const path = `/v1/sessions/${encodeURIComponent(id)}/events${last === null ? "?from=1" : ""}`;
    try {
      const answer = await send(path, { headers, signal });
      for await (const { row, event } of parse(answer.body)) {
        last = row;
        each(Number(row), event);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refused) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function* parse(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = new Map(block.split("\n").map((line) => line.split(/: (.*)/s).slice(0, 2)));
      if (fields.has("data")) yield { row: fields.get("id"), event: JSON.parse(fields.get("data")) };
    }
  }
}

async function send(path, options = {}) {
  const headers = { ...options.headers, "X-Telechir-View": localStorage.getItem(KEY) ?? "" };
  const answer = await fetch(path, { ...options, headers, cache: "no-store" });
  if (answer.ok || answer.status === 304) return answer;
  throw await refusal(answer);
}

function post(body) {
  const headers = { "Content-Type": "application/json" };
  return { method: "POST", headers, body: JSON.stringify(body) };
}

async function refusal(answer) {
  const problem = await answer.json().catch(() => ({}));
  return new Refused(answer.status, problem.detail ?? `the server answered ${answer.status}`);
}
