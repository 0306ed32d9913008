// Drives a server as an agent of Vercel's AI SDK does, and prints what its model would receive:
// `ai_sdk.mjs PROGRAM ARGUMENT…`.
import { createRequire } from "node:module";

import { environment, observe } from "./observed.mjs";

const installed = createRequire(process.env.TELECHIR_CLIENTS);
const { createMCPClient } = await import(installed.resolve("@ai-sdk/mcp"));
const { Experimental_StdioMCPTransport: Transport } = await import(installed.resolve("@ai-sdk/mcp/mcp-stdio"));

const [command, ...args] = process.argv.slice(2);
const client = await createMCPClient({ transport: new Transport({ command, args, env: environment() }) });
const tools = await client.tools();
const call = async (name, input) => {
  const output = await tools[name].execute(input, { toolCallId: "1", messages: [] });
  const seen = await tools[name].toModelOutput({ toolCallId: "1", input, output });
  return [seen.value, output.isError];
};
await observe(Object.keys(tools), call, { hasUser: false });
await client.close();
