"""Checks what Playwright and Puppeteer saw through the gateway, and prints it as a page.

Arguments: the JSON that playwright.mjs and puppeteer.mjs print, and that of Playwright without telechir.
"""

import json
import sys

playwright, puppeteer, alone = (json.loads(text) for text in sys.argv[1:])

for name, seen in [("Playwright", playwright), ("Puppeteer", puppeteer)]:
    expected = {"title": "start", "clicked": "clicked true", "still": "clicked true"}
    for member, value in expected.items():
        assert seen[member] == value, f"{name}: {member}: {seen[member]!r}"
    assert seen["screenshot"] > 1000, name
    assert "Nobody goes there" in seen["denied"], f"{name}: {seen['denied']}"
    assert "can be opened" in seen["file"], f"{name}: {seen['file']}"
    assert "one browser context" in seen["context"], f"{name}: {seen['context']}"
assert playwright["value"] == "filled and typed", playwright["value"]
assert puppeteer["value"] == "typed", puppeteer["value"]

print("# Programs at the CDP gateway\n")
print(
    "Written by `make cdp-clients`: Playwright 1.65.1 and Puppeteer 24.43.1 drive a session of "
    "`telechir serve --cdp-gateway`, on a page with a button and a text field.\n"
)
print("| step | Playwright | Puppeteer |")
print("|---|---|---|")
rows = [
    ("title of the page", "title"),
    ("after a click", "clicked"),
    ("text field", "value"),
    ("a host that the policy denies", "denied"),
    ("a `file:` URL", "file"),
    ("a context with a proxy of its own", "context"),
]
for text, member in rows:
    cells = [seen[member].split(" (policy")[0].replace("|", "\\|") for seen in (playwright, puppeteer)]
    print(f"| {text} | {cells[0]} | {cells[1]} |")
print(
    f"\nA click of Playwright took {playwright['click_ms']} ms (median of ten), and "
    f"{alone.get('click_ms', '–')} ms without telechir, in the same run: each script and each input is "
    "recorded before the browser gets it."
)
