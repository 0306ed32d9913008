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
// The status of an answer that is an error, by its code.
const STATUS = { [-32601]: 404, [-32602]: 400, [-32020]: 400, [-32021]: 400, [-32022]: 400, [-32600]: 400 };

class Server {
  constructor() {
    this.child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
    this.waiting = new Map();
    this.next = 1;
    createInterface({ input: this.child.stdout }).on("line", (line) => this.receive(JSON.parse(line)));
  }

  // Requests of several clients may have the same id.
  request(message, notify) {
    const id = this.next++;
    const token = message.params?._meta?.progressToken;
    return new Promise((resolve) => {
      this.waiting.set(id, { id: message.id, token, notify, resolve });
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
    const token = message.params?.progressToken;
    for (const each of this.waiting.values()) {
      if (token === undefined || each.token === token) each.notify(message);
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

async function post(request, response) {
  let text = "";
  for await (const chunk of request) text += chunk;
  const message = JSON.parse(text);
  const session = request.headers["mcp-session-id"];
  const isModern = request.headers["mcp-protocol-version"] === MODERN || message.params?._meta?.[
    "io.modelcontextprotocol/protocolVersion"
  ] !== undefined;
  const version = message.params?._meta?.["io.modelcontextprotocol/protocolVersion"];
  const isNamedOtherwise = version !== undefined && request.headers["mcp-protocol-version"] !== version;
  if (isNamedOtherwise) return reply(response, 400, error(message.id, -32020, "the header names another version than the request"));
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
  const events = [];
  const answer = await server.request(message, (notification) => events.push(notification));
  if (isModern && answer.error) return reply(response, STATUS[answer.error.code] ?? 200, answer);
  if (events.length === 0) return reply(response, 200, answer, headers);
  response.writeHead(200, { "Content-Type": "text/event-stream", ...headers });
  for (const event of [...events, answer]) response.write(`event: message\ndata: ${JSON.stringify(event)}\n\n`);
  response.end();
}

const http = createServer((request, response) => {
  if (request.method === "POST") {
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
