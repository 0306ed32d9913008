// Prints the role and the name that Playwright computes for `#t` of each HTML text in a JSON array on
// standard input. Arguments: the folder with playwright-core, the name of Chromium's program.
import { existsSync } from "node:fs"
import { createRequire } from "node:module"
import { text } from "node:stream/consumers"

const [folder, name] = process.argv.slice(2)
// Playwright takes a path, no name.
const program = process.env.PATH.split(":").map((folder) => `${folder}/${name}`).find(existsSync)
const { chromium } = createRequire(`${folder}/`)("playwright-core")
// Chromium's own sandbox cannot start as root; the pages are the cases beside this file.
const args = process.getuid() === 0 ? ["--no-sandbox"] : []
const browser = await chromium.launch({ executablePath: program, args })
const page = await browser.newPage({ viewport: { width: 1024, height: 768 } })
const element = page.locator("#t")

// What an assertion that fails received; Playwright has no other function for one element alone.
const received = async (expression) => {
  const options = { expectedText: [{ string: "\u0000" }], isNot: false, timeout: 1 }
  return (await element._expect(expression, options)).received?.value ?? ""
}

const computed = []
for (const html of JSON.parse(await text(process.stdin))) {
  await page.evaluate((html) => document.body.setHTMLUnsafe(html), html)
  computed.push([await received("to.have.role"), await received("to.have.accessible.name")])
}
console.log(JSON.stringify(computed))
await browser.close()
