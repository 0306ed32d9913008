// Playwright as typically used, with one page kept open. Reads one action per line and prints its
// duration in milliseconds or the error.
import { createInterface } from "node:readline"
import { createRequire } from "node:module"

const [folder, program] = process.argv.slice(2)
const { chromium } = createRequire(`${folder}/`)("playwright-core")
let browser, page
const args = process.getuid() === 0 ? ["--no-sandbox"] : []
const viewport = { width: 1280, height: 800 }
const launch = () => chromium.launch({ executablePath: program, args })
const contexts = []
const timed = async work => {
  const start = performance.now()
  await work()
  return performance.now() - start
}
const doing = {
  async open(url) {
    browser ??= await launch()
    page ??= await browser.newPage({ viewport })
    return timed(() => page.goto(url))
  },
  aria: () => timed(() => page.locator("body").ariaSnapshot()),
  async change() {
    await page.evaluate(() => { document.querySelector("h2").textContent += "." })
    return doing.aria()
  },
  click: () => timed(() => page.getByRole("button", { name: "Save" }).click()),
  clickAndShoot: () => timed(async () => {
    await page.getByRole("button", { name: "Save" }).click()
    await page.screenshot()
  }),
  shoot: () => timed(() => page.screenshot()),
  async bare() {
    const session = await page.context().newCDPSession(page)
    const took = await timed(() => session.send("Page.captureScreenshot", { format: "png", optimizeForSpeed: true }))
    await session.detach()
    return took
  },
  async type() {
    const field = page.locator("input").first()
    await field.fill("")
    return timed(() => field.pressSequentially("0123456789".repeat(100), { timeout: 0 }))
  },
  async start(url) {
    let other
    const took = await timed(async () => {
      other = await launch()
      const page = await other.newPage({ viewport })
      await page.goto(url)
    })
    await other.close()
    return took
  },
  async context() {
    let context
    const took = await timed(async () => {
      context = await browser.newContext({ viewport })
      await context.newPage()
    })
    await context.close()
    return took
  },
  // One more context with the page, kept open.
  another: url => timed(async () => {
    const context = await browser.newContext({ viewport })
    contexts.push(context)
    await (await context.newPage()).goto(url)
  }),
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
