// Drives a server with the official TypeScript SDK: `typescript_sdk.mjs ERA PROGRAM ARGUMENT…`.
import { createRequire } from "node:module";

import { answers, environment, observe } from "./observed.mjs";

const installed = createRequire(process.env.TELECHIR_CLIENTS);
const { Client } = await import(installed.resolve("@modelcontextprotocol/client"));
const { StdioClientTransport } = await import(installed.resolve("@modelcontextprotocol/client/stdio"));

const [era, command, ...args] = process.argv.slice(2);
const negotiation = era === "modern" ? { versionNegotiation: { mode: "auto" } } : {};
const client = new Client(
  { name: "test", version: "1" },
  { capabilities: { elicitation: { form: {} } }, ...negotiation },
);
const answer = answers();
client.setRequestHandler("elicitation/create", async () => answer());
await client.connect(new StdioClientTransport({ command, args, env: environment() }));
const { tools } = await client.listTools();
const call = async (name, input) => {
  const result = await client.callTool({ name, arguments: input });
  return [result.content, result.isError];
};
await observe(
  tools.map((tool) => tool.name),
  call,
  { hasUser: true, protocol: client.getNegotiatedProtocolVersion?.() ?? null },
);
await client.close();
