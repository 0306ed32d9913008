// Playwright's connectOverCDP drives a session through the gateway. Arguments: the folder of
// node_modules, the address, a page with a button and a text field, and `clicks` to leave out what the
// gateway refuses. Prints what it saw as JSON.
import { createRequire } from 'node:module';

const [modules, address, page_url, only_clicks] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/x.js`)('playwright-core');
const seen = {};
const browser = await chromium.connectOverCDP(address, { timeout: 30000 });
try {
  const context = browser.contexts()[0];
  const page = context.pages()[0] ?? (await context.newPage());
  const first = performance.now();
  await page.goto(page_url);
  seen.title = await page.title();
  await page.locator('#b').click();
  seen.clicked = await page.title();
  await page.locator('#t').fill('filled');
  await page.locator('#t').press('End');
  await page.keyboard.type(' and typed');
  seen.value = await page.locator('#t').inputValue();
  seen.screenshot = (await page.screenshot()).length;
  const times = [];
  for (let i = 0; i < 10; i++) {
    const started = performance.now();
    await page.locator('#b').click();
    times.push(performance.now() - started);
  }
  seen.click_ms = Math.round(times.sort((a, b) => a - b)[5]);
  const other = await context.newPage();
  await other.goto(page_url);
  seen.pages = context.pages().length;
  await other.close();
  if (!only_clicks) {
    const refusal = async (attempt) => {
      try {
        await attempt();
        return 'done';
      } catch (error) {
        return error.message.split('\n')[0];
      }
    };
    seen.denied = await refusal(() => page.goto('http://denied.example/'));
    seen.file = await refusal(() => page.goto('file:///etc/passwd'));
    seen.context = await refusal(() => browser.newContext({ proxy: { server: 'http://127.0.0.1:1' } }));
    await page.goto(page_url);
    await page.locator('#b').click();
    seen.still = await page.title();
  }
  seen.ms = Math.round(performance.now() - first);
} finally {
  await browser.close();
}
console.log(JSON.stringify(seen));
