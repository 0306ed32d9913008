// Clicks of Playwright's connectOverCDP. Arguments: the folder of node_modules, the port of the proxy, its
// path, the page and how many clicks. Prints the times in milliseconds and the messages sent, as JSON.
import { createRequire } from 'node:module';

const [modules, port, path, url, count] = process.argv.slice(2);
const { chromium } = createRequire(`${modules}/x.js`)('playwright-core');
const browser = await chromium.connectOverCDP(`ws://127.0.0.1:${port}${path}`, { timeout: 60000 });
const page = await browser.contexts()[0].newPage();
await page.goto(url);
const sent = async () => Number(await (await fetch(`http://127.0.0.1:${port}/commands`)).text());
const box = await page.locator('#b').boundingBox();
const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
const seen = {};
for (const [name, click] of [
  ['element', () => page.locator('#b').click()],
  ['point', () => page.mouse.click(x, y)],
]) {
  await click();
  const [before, times] = [await sent(), []];
  for (let i = 0; i < count; i++) {
    const started = performance.now();
    await click();
    times.push(performance.now() - started);
  }
  seen[name] = { times, commands: ((await sent()) - before) / count };
}
seen.clicks = Number(await page.title());
await page.close();
await browser.close();
console.log(JSON.stringify(seen));
