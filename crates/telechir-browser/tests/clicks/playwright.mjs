// Clicks the targets of `situations.txt` with Playwright's `locator.click` and prints a Markdown table
// with telechir's results beside them. Arguments: the folder with playwright-core, Chromium's program,
// the file with what telechir's tests printed.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"

const [folder, program, ours] = process.argv.slice(2)
const { chromium } = createRequire(`${folder}/`)("playwright-core")
const read = name => readFileSync(new URL(name, import.meta.url), "utf8")
const witness = read("witness.html")
const situations = read("situations.txt").trim().split("\n").map(line => {
  const [expected, name, ...html] = line.split(" | ")
  return { expected, name, html: html.join(" | ") }
})
// The name of a test may precede its first line.
const results = new Map(readFileSync(ours, "utf8").split("\n").map(line => line.split("click | ")[1]?.split(" | ") ?? [])
  .map(([name, ...result]) => [name, result.join(" | ")]))

// Chromium's own sandbox cannot start as root; the pages are the situations.
const args = process.getuid() === 0 ? ["--no-sandbox"] : []
const browser = await chromium.launch({ executablePath: program, args })
const page = await browser.newPage({ viewport: { width: 1024, height: 768 } })
// The time that telechir waits, with that for the click itself.
page.setDefaultTimeout(3_000)
const chars = text => String(text).replaceAll("|", "\\|")

// The frame that has the target, once it is loaded.
const targetOf = async () => {
  for (let attempt = 0; attempt < 40; attempt++) {
    for (const frame of page.frames()) {
      const target = frame.locator("#t")
      if (await target.count()) return target
    }
    await page.waitForTimeout(25)
  }
  throw new Error("no target")
}
const clicked = async ({ expected, html }) => {
  await page.goto(`data:text/html;charset=utf-8,${encodeURIComponent(witness + html)}`)
  const target = await targetOf()
  await page.evaluate(() => { arm() })
  const error = await target.click().then(() => null, error => error)
  await page.waitForTimeout(20)
  const received = await page.evaluate(() => got.join())
  const isHit = received === "t" || received === "label,t"
  if (error) {
    const lines = error.message.split("\n").map(line => line.replace(/\u001b\[\d+m/g, "").trim())
    const reason = lines.findLast(line => /^- .*(intercepts|not enabled|not visible|outside|not stable|detached)/.test(line)) ?? lines[0]
    return [expected !== "hit" && received === "", received ? `fails, but the page received ${received}` : `fails: ${reason.replace(/^- /, "")}`]
  }
  // A locator finds an element that was exchanged anew.
  if (isHit) return [expected === "hit" || expected === "stale", "clicks"]
  return [false, received ? `clicks, but the page received ${received}` : "clicks, but the page received nothing"]
}

const rows = []
let rightOurs = 0, rightTheirs = 0
for (const situation of situations) {
  const own = results.get(situation.name) ?? "**missing**"
  const [isRight, theirs] = await clicked(situation).catch(error => [false, `fails: ${error.message.split("\n")[0]}`])
  rightOurs += own === "right"
  rightTheirs += isRight
  const [kind, ...reason] = situation.expected.split(" ")
  const wanted = { hit: "clicks", stale: "stale ref", refused: `refuses: ${reason.join(" ")}` }[kind]
  rows.push(`| ${chars(situation.name)} | ${chars(wanted)} | ${own === "right" ? "right" : chars(own)} | ${isRight ? "right" : chars(theirs)} |`)
}
const { version } = JSON.parse(readFileSync(`${folder}/playwright-core/package.json`))
console.log(`# Clicks

Written by \`scripts/clicks.sh\`: ${situations.length} situations of \`crates/telechir-browser/tests/clicks\`, each with a witness in the page that records which element received the click. telechir clicks a ref, Playwright ${version} the locator \`#t\` with a limit of 3 s, both in Chromium ${browser.version()} without a window. "Right" is a click that its target received and that is reported as done, or, where a person could not click either, an error and no click; a locator may also find an element that replaced the target.

| | right |
|---|---|
| telechir | ${rightOurs} of ${situations.length} |
| Playwright | ${rightTheirs} of ${situations.length} |

| situation | expected | telechir | Playwright |
|---|---|---|---|
${rows.join("\n")}`)
await browser.close()
