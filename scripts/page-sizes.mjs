// Serves the pages of the tests on loopback and counts what each tool sends to a model for them.
import { execFileSync, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { createServer } from "node:http"
import { tmpdir } from "node:os"
import { createInterface } from "node:readline"

const [peers, ours] = process.argv.slice(2)
const CHROMIUM = "/usr/lib/chromium/chromium"
const FOLDER = "crates/telechir-testkit/src/page"
const PAGES = ["orders", "shop", "article"]
const isRoot = process.getuid() === 0
const scratch = mkdtempSync(`${tmpdir()}/page-sizes-`)

const server = createServer((request, response) => {
  response.setHeader("content-type", "text/html;charset=utf-8")
  const name = request.url.slice(1)
  response.end(PAGES.includes(name) ? readFileSync(`${FOLDER}/${name}.html`) : "")
})
await new Promise(done => server.listen(0, "127.0.0.1", done))
const url = page => `http://127.0.0.1:${server.address().port}/${page}`

const run = (program, args, env = {}) => new Promise((done, fail) => {
  const child = spawn(program, args, { env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "inherit"] })
  const pieces = []
  child.stdout.on("data", piece => pieces.push(piece))
  child.on("error", fail)
  child.on("close", code => code === 0 ? done(Buffer.concat(pieces).toString()) : fail(new Error(`${program} exited with code ${code}`)))
})

const telechir = view => async page => {
  const text = await run(ours, [url(page), view])
  return { text, refs: text.match(view === "brief" ? /(?<![\w"])[blcrtse]\d+(?= |$)/gm : /\[[blcrtse]\d+\]/g)?.length ?? 0 }
}

const agentBrowser = flags => async page => {
  const program = `${peers}/node_modules/.bin/agent-browser`
  const env = { AGENT_BROWSER_EXECUTABLE_PATH: CHROMIUM, ...(isRoot ? { AGENT_BROWSER_ARGS: "--no-sandbox" } : {}) }
  await run(program, ["open", url(page)], env)
  const text = await run(program, ["snapshot", ...flags], env)
  await run(program, ["close"], env)
  return { text, refs: text.match(/\[?ref=e\d+/g)?.length ?? 0 }
}

const playwright = async page => {
  const args = ["--headless", "--isolated", "--executable-path", CHROMIUM, "--output-dir", scratch, ...(isRoot ? ["--no-sandbox"] : [])]
  const child = spawn(`${peers}/node_modules/.bin/playwright-mcp`, args, { stdio: ["pipe", "pipe", "inherit"] })
  const answers = new Map()
  createInterface({ input: child.stdout }).on("line", line => {
    const message = JSON.parse(line)
    answers.get(message.id)?.(message)
  })
  let id = 0
  const ask = (method, params) => new Promise(done => {
    answers.set(++id, done)
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`)
  })
  const clientInfo = { name: "page-sizes", version: "1" }
  await ask("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo })
  child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" })}\n`)
  const call = (name, args) => ask("tools/call", { name, arguments: args })
  await call("browser_navigate", { url: url(page) })
  const answer = await call("browser_snapshot", {})
  child.stdin.end()
  const text = answer.result.content.map(part => part.text ?? "").join("\n")
  return { text, refs: text.match(/\[ref=/g)?.length ?? 0 }
}

const version = name => JSON.parse(readFileSync(`${peers}/node_modules/${name}/package.json`)).version
const tools = [
  ["telechir `brief` (the default)", telechir("brief")],
  ["telechir `interactive`", telechir("interactive")],
  ["telechir `full`", telechir("full")],
  [`agent-browser ${version("agent-browser")} \`snapshot -i\``, agentBrowser(["-i"])],
  [`agent-browser \`snapshot\``, agentBrowser([])],
  [`Playwright MCP ${version("@playwright/mcp")} \`browser_snapshot\``, playwright],
]
const count = text => [...text].length
const rows = []
for (const [name, snapshot] of tools) {
  const cells = []
  for (const page of PAGES) {
    try {
      const { text, refs } = await snapshot(page)
      cells.push(`${count(text).toLocaleString("en")} (${refs})`)
    } catch (error) {
      cells.push(`missing: ${String(error.message).split("\n")[0]}`)
    }
  }
  rows.push(`| ${name} | ${cells.join(" | ")} |`)
}
const chromium = execFileSync(CHROMIUM, ["--version"]).toString().trim()
console.log(`# Page snapshots in characters

Written by \`scripts/page-sizes.sh\`: the number of characters a model receives for the same page, with the number of element refs in parentheses. The pages are those of the tests (\`${FOLDER}\`). By tag and role they have 667 (\`orders\`, 2,012 elements), 216 (\`shop\`, shadow roots included) and 128 (\`article\`) interactive elements; tools that also give refs to other elements have more. ${chromium}, headless, 1280x800.

| | ${PAGES.map(page => `\`${page}\``).join(" | ")} |
|---|---|---|---|
${rows.join("\n")}`)
rmSync(scratch, { recursive: true })
server.close()
