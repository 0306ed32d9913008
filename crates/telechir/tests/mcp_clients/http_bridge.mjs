// Streamable HTTP in front of a server that speaks on standard input and output, for the official
// conformance suite, which speaks HTTP alone: `http_bridge.mjs PROGRAM ARGUMENT…`. Prints its URL.
//
// Requests of the version without a handshake share one process; each handshake starts its own.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { randomUUID } from "node:crypto";
import { createInterface } from "node:readline";

const [command, ...args] = process.argv.slice(2);
const MODERN = "2026-07-28";
const META = "io.modelcontextprotocol/";
// The status of an answer that is an error, by its code.
const STATUS = { [-32601]: 404, [-32602]: 400, [-32020]: 400, [-32021]: 400, [-32022]: 400, [-32600]: 400 };

class Server {
  constructor() {
    this.child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = new Map();
    this.next = 1;
    // A test's binary also prints lines of its own.
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      if (line.startsWith("{")) this.receive(JSON.parse(line));
    });
  }

  // Requests of several clients may have the same id. `notify` gets what comes before the answer.
  request(message, response, notify) {
    const id = this.next++;
    const token = message.params?._meta?.progressToken;
    const isStream = message.method === "subscriptions/listen";
    response.on("close", () => {
      if (!this.waiting.delete(id)) return;
      this.send({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: id } });
    });
    return new Promise((resolve) => {
      this.waiting.set(id, { id: message.id, token, isStream, notify, resolve });
      this.send({ ...message, id });
    });
  }

  receive(message) {
    const waiting = this.waiting.get(message.id);
    if (waiting && !message.method) {
      this.waiting.delete(message.id);
      waiting.resolve({ ...message, id: waiting.id });
      return;
    }
    const stream = message.params?._meta?.[`${META}subscriptionId`];
    const token = message.params?.progressToken;
    for (const [id, each] of this.waiting) {
      const isFor = stream === undefined ? !each.isStream : id === stream;
      if (isFor && (token === undefined || each.token === token)) each.notify(message);
    }
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }
}

const shared = new Server();
const sessions = new Map();

function error(id, code, message) {
  return { jsonrpc: "2.0", id: id ?? null, error: { code, message } };
}

function reply(response, status, body, headers = {}) {
  const text = body === undefined ? "" : JSON.stringify(body);
  response.writeHead(status, { "Content-Type": "application/json", ...headers });
  response.end(text);
}

// A page of another site must not reach the server, whatever name leads to this address.
function isLocal(request) {
  const local = /^(localhost|127\.0\.0\.1|\[::1\])(:\d+)?$/;
  const origin = request.headers.origin;
  return local.test(request.headers.host ?? "") && (!origin || local.test(origin.replace(/^https?:\/\//, "")));
}

async function post(request, response) {
  let text = "";
  for await (const chunk of request) text += chunk;
  const message = JSON.parse(text);
  const session = request.headers["mcp-session-id"];
  const version = message.params?._meta?.[`${META}protocolVersion`];
  const header = request.headers["mcp-protocol-version"];
  const isModern = header === MODERN || version !== undefined;
  if (version !== undefined && header !== version) {
    return reply(response, 400, error(message.id, -32020, "the header names another version than the request"));
  }
  let server = isModern ? shared : sessions.get(session);
  const headers = {};
  if (!isModern && message.method === "initialize") {
    server = new Server();
    headers["Mcp-Session-Id"] = randomUUID();
    sessions.set(headers["Mcp-Session-Id"], server);
  }
  if (!server) return reply(response, session ? 404 : 400, error(null, -32600, "no session"));
  if (message.id === undefined || !message.method) {
    server.send(message);
    return reply(response, 202);
  }
  // The answer is a stream as soon as something comes before it.
  const send = (event) => {
    if (!response.headersSent) response.writeHead(200, { "Content-Type": "text/event-stream", ...headers });
    response.write(`event: message\ndata: ${JSON.stringify(event)}\n\n`);
  };
  const answer = await server.request(message, response, send);
  if (!response.headersSent) {
    const status = isModern && answer.error ? (STATUS[answer.error.code] ?? 200) : 200;
    return reply(response, status, answer, headers);
  }
  send(answer);
  response.end();
}

const http = createServer((request, response) => {
  if (!isLocal(request)) {
    reply(response, 403, error(null, -32600, "not a local address"));
  } else if (request.method === "POST") {
    post(request, response).catch((problem) => reply(response, 400, error(null, -32700, String(problem))));
  } else if (request.method === "DELETE") {
    const server = sessions.get(request.headers["mcp-session-id"]);
    sessions.delete(request.headers["mcp-session-id"]);
    server?.child.stdin.end();
    reply(response, server ? 200 : 404);
  } else {
    reply(response, 405, undefined, { Allow: "POST, DELETE" });
  }
});
http.listen(0, "127.0.0.1", () => console.log(`http://127.0.0.1:${http.address().port}/mcp`));
// The end of standard input ends the bridge and its servers.
process.stdin.on("end", () => process.exit()).resume();
