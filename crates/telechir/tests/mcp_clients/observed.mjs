// The calls that every client makes, and what it received, as one JSON object on stdout.

// What the user answers, in order: a client can accept with a value, or decline.
const ANSWERS = [
  { action: "accept", content: { answer: "yes" } },
  { action: "decline" },
];

// Answers the questions of one client, one after the other.
export function answers() {
  const left = [...ANSWERS];
  return () => left.shift();
}

// Most clients pass only some variables on.
export function environment() {
  const names = ["PATH", "HOME", "TMPDIR", "XDG_RUNTIME_DIR"];
  return Object.fromEntries(names.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
}

// `call` returns the content blocks and whether the result is an error.
export async function observe(tools, call, { hasUser, protocol = null }) {
  const steps = [
    ["page", "execute_browser", { action: "open_tab" }],
    ["look", "observe_screen", {}],
    ["mistake", "wait", { seconds: 99 }],
    ["asked", "execute_cli", { command: "echo approved" }],
  ];
  if (hasUser) steps.push(["declined", "execute_cli", { command: "echo declined" }]);
  const results = {};
  for (const [step, tool, input] of steps) {
    const [blocks, isError] = await call(tool, input);
    results[step] = { blocks, is_error: isError ?? null };
  }
  process.stdout.write(JSON.stringify({ protocol, tools, results }));
}
