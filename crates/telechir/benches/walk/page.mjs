// Playwright, as it is used: one page that stays. Told what to do in lines, answers how long it
// took in milliseconds, or what is wrong.
import { createInterface } from "node:readline"
import { createRequire } from "node:module"

const [folder, program] = process.argv.slice(2)
const { chromium } = createRequire(`${folder}/`)("playwright-core")
let browser, page
const timed = async work => {
  const start = performance.now()
  await work()
  return performance.now() - start
}
const doing = {
  async open(url) {
    const args = process.getuid() === 0 ? ["--no-sandbox"] : []
    browser ??= await chromium.launch({ executablePath: program, args })
    page ??= await browser.newPage({ viewport: { width: 1280, height: 800 } })
    return timed(() => page.goto(url))
  },
  aria: () => timed(() => page.locator("body").ariaSnapshot()),
  async change() {
    await page.evaluate(() => { document.querySelector("h2").textContent += "." })
    return doing.aria()
  },
  click: () => timed(() => page.getByRole("button", { name: "Save" }).click()),
}
for await (const line of createInterface({ input: process.stdin })) {
  const [what, ...rest] = line.split(" ")
  try {
    console.log(`ok ${await doing[what](...rest)}`)
  } catch (error) {
    console.log(String(error.message).split("\n")[0])
  }
}
await browser?.close()
