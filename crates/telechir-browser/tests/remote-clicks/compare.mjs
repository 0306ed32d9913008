// Runs the clicks of both clients with and without a delay, and prints a table. Arguments: the folder of
// node_modules, telechir's example, the DevTools address.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const [modules, example, address] = process.argv.slice(2);
const here = dirname(fileURLToPath(import.meta.url));
const { port, pathname } = new URL(address);
const page = 'data:text/html,' + encodeURIComponent(
  '<title>0</title><style>button{position:fixed;left:10px;top:10px;width:100px;height:60px}</style>' +
  '<button id=b onclick="document.title=Number(document.title)+1">Click</button>',
);
const CLICKS = 20;
const ROUND_TRIP = 30;
// So long that all else hardly counts.
const LONG = 300;

async function through(delay, clicks) {
  const proxy = spawn('node', [`${here}/delay.mjs`, port, String(delay)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const [first] = await once(proxy.stdout, 'data');
  const own = String(first).trim();
  const run = (command, before) => {
    const ran = spawnSync(command, [...before, own, pathname, page, String(clicks)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
    if (ran.status !== 0) throw new Error(`${command} failed`);
    return JSON.parse(ran.stdout.trim().split('\n').pop());
  };
  try {
    return { telechir: run(example, []), playwright: run('node', [`${here}/playwright.mjs`, modules]) };
  } finally {
    proxy.kill();
  }
}

const median = (times) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)];
const near = await through(0, CLICKS);
const far = await through(ROUND_TRIP / 2, CLICKS);
const longest = await through(LONG / 2, 5);
const version = createRequire(`${modules}/x.js`)('playwright-core/package.json').version;
console.log(`# Clicks over a distance

Written by \`scripts/remote-clicks.sh\`: telechir and Playwright ${version} (\`connectOverCDP\`) click a button of one Chromium ${CLICKS} times through a proxy that delays each direction by ${ROUND_TRIP / 2} ms, so that a round trip takes ${ROUND_TRIP} ms, and through the same proxy without a delay. A click is over when the client's call returns. Round trips one after the other are what a delay of ${LONG} ms adds, divided by it, in the same run. Medians; messages per click include those that wait for no answer. Both clients ran on the same machine one after the other.

| click | client | without a delay, ms | with ${ROUND_TRIP} ms, ms | round trips in sequence | messages |
|---|---|---|---|---|---|`);
for (const [kind, title] of [['element', 'on an element'], ['point', 'at a point']]) {
  for (const [client, name] of [['telechir', '**telechir**'], ['playwright', 'Playwright']]) {
    const [a, b] = [median(near[client][kind].times), median(far[client][kind].times)];
    const trips = ((median(longest[client][kind].times) - a) / LONG).toFixed(1);
    console.log(`| ${title} | ${name} | ${a.toFixed(1)} | ${b.toFixed(1)} | ${trips} | ${far[client][kind].commands.toFixed(1)} |`);
  }
}
