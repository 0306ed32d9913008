// Puppeteer drives a session through the gateway. Arguments and output as of playwright.mjs.
import { createRequire } from 'node:module';

const [modules, address, page_url] = process.argv.slice(2);
const puppeteer = createRequire(`${modules}/x.js`)('puppeteer-core');
const seen = {};
const browser = await puppeteer.connect({ browserWSEndpoint: address, defaultViewport: null });
const page = (await browser.pages())[0] ?? (await browser.newPage());
await page.goto(page_url);
seen.title = await page.title();
await page.click('#b');
seen.clicked = await page.title();
await page.type('#t', 'typed');
seen.value = await page.$eval('#t', (field) => field.value);
seen.screenshot = (await page.screenshot()).length;
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
seen.context = await refusal(() => browser.createBrowserContext({ proxyServer: 'http://127.0.0.1:1' }));
seen.still = await page.title();
await browser.disconnect();
console.log(JSON.stringify(seen));
