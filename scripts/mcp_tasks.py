"""Twenty tasks on local pages, done through the tools of an MCP server by the refs in its answers.

`PAGES` has the pages by path, `TASKS` the tasks, `count` does one and counts the characters of all
results. Used by mcp_bench.py.
"""

import json
import re

ITEMS = ["Lamp", "Chair", "Table", "Clock", "Mirror", "Rug", "Shelf", "Vase", "Stool", "Desk", "Bench", "Couch"]


def page(title, body, script=""):
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title>"
        "<nav><a href=/shop>Shop</a> <a href=/orders>Orders</a> <a href=/help>Help</a> <a href=/settings>Settings</a></nav>"
        f"<main><h1>{title}</h1>{body}</main><footer>A shop for tests</footer><script>{script}</script></html>"
    )


def product(name):
    return (
        f"<article><h3>{name}</h3><p>{name} of oak, made to last. Delivered within five days.</p>"
        f"<a href='/product?{name}'>About {name}</a> <button onclick=\"add('{name}')\">Add {name}</button></article>"
    )


SHOP = page(
    "Shop",
    "<label>Search <input id=q oninput=filter()></label> <p id=basket>Basket: empty</p>"
    f"<section id=list>{''.join(product(name) for name in ITEMS)}</section>",
    "const chosen = [];"
    "function add(name) { chosen.push(name); basket.textContent = 'Basket: ' + chosen.join(', '); }"
    "function filter() { let shown = 0; for (const each of document.querySelectorAll('article')) {"
    " each.hidden = !each.textContent.toLowerCase().includes(q.value.toLowerCase()); shown += !each.hidden; }"
    " basket.textContent = 'Shown: ' + shown; }",
)
ORDERS = page(
    "Orders",
    "<table><thead><tr><th>Number<th><button onclick=order()>Total</button><th>State</thead><tbody id=rows>"
    + "".join(
        f"<tr><td><a href='/order?{number}'>Order {number}</a><td>{(number * 37) % 500 + 12}.50<td>"
        f"{'open' if number % 7 == 0 else 'paid'}"
        for number in range(1001, 1041)
    )
    + "</tbody></table><p id=first></p>",
    "function order() { const all = [...rows.rows]; all.sort((a, b) => b.cells[1].textContent - a.cells[1].textContent);"
    " rows.append(...all); first.textContent = 'Largest: ' + all[0].cells[0].textContent; }",
)
LOGIN = page(
    "Sign in",
    "<form onsubmit=\"event.preventDefault(); out.textContent = user.value && word.value ? 'Welcome, ' + user.value"
    " : 'Both fields are needed'\"><label>User <input id=user></label><label>Password <input id=word type=password>"
    "</label><button>Enter</button></form><p id=out></p>",
)
CHECKOUT = page(
    "Checkout",
    "<form onsubmit=\"event.preventDefault(); out.textContent = [...new FormData(event.target).values()].join(' / ')\">"
    "<label>Name <input name=name></label><label>Street <input name=street></label>"
    "<label>Country <select name=country><option>Austria<option>Italy<option>Spain</select></label>"
    "<label><input type=checkbox name=gift value=gift> Gift</label>"
    "<label><input type=radio name=speed value=slow> Slow</label><label><input type=radio name=speed value=fast> Fast</label>"
    "<label>Remarks <textarea name=remarks></textarea></label><button>Send</button></form><p id=out></p>",
)
SETTINGS = page(
    "Settings",
    "<div role=tablist><button role=tab onclick=show('mail')>Mail</button><button role=tab onclick=show('privacy')>Privacy</button>"
    "</div><section id=mail><label><input type=checkbox id=news onchange=save()> News</label></section>"
    "<section id=privacy hidden><label>Retention <select id=days onchange=save()><option>7<option>30<option>90</select></label>"
    "<button onclick=\"dialog.showModal()\">Delete account</button></section><p id=out></p>"
    "<dialog id=dialog><p>Really?</p><button onclick=\"dialog.close(); out.textContent = 'Nothing was deleted'\">Keep</button></dialog>",
    "function show(id) { mail.hidden = id !== 'mail'; privacy.hidden = id !== 'privacy'; }"
    "function save() { out.textContent = `Saved: ${news.checked} ${days.value}`; }",
)
HELP = page(
    "Help",
    "".join(
        f"<details><summary>Question {n}</summary><p>Answer {n}: call {555_000 + n}.</p></details>" for n in range(1, 16)
    )
    + "<p>" + "Everything that we sell is made of oak and can be returned. " * 40 + "</p>",
)
TODO = page(
    "List",
    "<label>New <input id=text onkeydown=\"if (event.key === 'Enter') add()\"></label><ul id=all></ul><p id=out></p>",
    "function add() { const item = document.createElement('li'); const done = document.createElement('button');"
    " done.textContent = 'Done ' + text.value; done.onclick = () => { item.remove(); count(); };"
    " item.append(done); all.append(item); text.value = ''; count(); }"
    "function count() { out.textContent = 'Left: ' + all.children.length; }",
)
WIZARD = page(
    "Wizard",
    "<section id=s1><label>City <input id=city></label><button onclick=go(2)>Next to dates</button></section>"
    "<section id=s2 hidden><label>Nights <input id=nights type=number></label><button onclick=go(3)>Next to review</button></section>"
    "<section id=s3 hidden><button onclick=\"out.textContent = `Booked ${city.value} for ${nights.value}`\">Book</button></section>"
    "<p id=out></p>",
    "function go(n) { for (const i of [1, 2, 3]) document.getElementById('s' + i).hidden = i !== n; }",
)
PAGES = {
    "/shop": SHOP,
    "/orders": ORDERS,
    "/login": LOGIN,
    "/checkout": CHECKOUT,
    "/settings": SETTINGS,
    "/help": HELP,
    "/todo": TODO,
    "/wizard": WIZARD,
    "/order": page("Order 1013", "<p>State: paid</p><p>Carrier: Blue Van</p><a href=/orders>All orders</a>"),
    "/product": page("Product", "<p>Price: 129</p><button onclick=\"out.textContent = 'Noted'\">Note it</button><p id=out></p>"),
}

# Where a task starts, its steps, and what the page says in the end.
TASKS = [
    ("/shop", [("click", "Add Clock")], "Basket: Clock"),
    ("/shop", [("click", "Add Rug"), ("click", "Add Desk")], "Basket: Rug, Desk"),
    ("/shop", [("fill", "Search", "mirror")], "Shown: 1"),
    ("/shop", [("click", "About Vase")], "Price: 129"),
    ("/shop", [("click", "About Stool"), ("click", "Note it")], "Noted"),
    ("/shop", [("click", "Orders"), ("click", "Order 1013")], "Carrier: Blue Van"),
    ("/orders", [("click", "Total")], "Largest: "),
    ("/orders", [("click", "Order 1013"), ("click", "All orders")], "Order 1040"),
    ("/login", [("fill", "User", "ada"), ("fill", "Password", "oak"), ("click", "Enter")], "Welcome, ada"),
    ("/login", [("fill", "User", "ada"), ("click", "Enter")], "Both fields are needed"),
    ("/checkout", [("fill", "Name", "Ada"), ("fill", "Street", "Elm 3"), ("click", "Send")], "Ada / Elm 3 / Austria"),
    ("/checkout", [("select", "Country", "Spain"), ("click", "Gift"), ("click", "Send")], "Spain / gift"),
    ("/checkout", [("click", "Fast"), ("fill", "Remarks", "Ring twice"), ("click", "Send")], "fast / Ring twice"),
    ("/settings", [("click", "News")], "Saved: true 7"),
    ("/settings", [("click", "Privacy"), ("select", "Retention", "90")], "Saved: false 90"),
    ("/settings", [("click", "Privacy"), ("click", "Delete account"), ("click", "Keep")], "Nothing was deleted"),
    ("/help", [("click", "Question 9")], "call 555009"),
    ("/todo", [("enter", "New", "milk"), ("enter", "New", "bread")], "Left: 2"),
    ("/todo", [("enter", "New", "milk"), ("click", "Done milk")], "Left: 0"),
    (
        "/wizard",
        [
            ("fill", "City", "Graz"),
            ("click", "Next to dates"),
            ("fill", "Nights", "3"),
            ("click", "Next to review"),
            ("click", "Book"),
        ],
        "Booked Graz for 3",
    ),
]


class Telechir:
    """The calls of a task through telechir."""

    def __init__(self, call):
        self.call = call

    async def browser(self, **arguments):
        return await self.call("execute_browser", arguments)

    async def open(self, url):
        await self.browser(action="navigate", url=url)

    async def ref(self, name):
        found = json.loads(await self.browser(action="find", query=name))["stdout"]
        return re.search(rf'"{re.escape(name)}" \[(\w+)\]', found).group(1)

    async def click(self, name):
        await self.browser(action="click", ref=await self.ref(name))

    async def fill(self, name, value):
        await self.browser(action="fill", ref=await self.ref(name), value=value)

    async def select(self, name, value):
        await self.browser(action="select", ref=await self.ref(name), value=value)

    async def enter(self, name, value):
        await self.fill(name, value)
        await self.browser(action="press", key="Enter")

    async def read(self):
        return await self.browser(action="extract_text")


class Playwright:
    """The calls of a task through Playwright MCP, which finds refs in snapshots."""

    def __init__(self, call):
        self.call = call
        self.known = ""

    async def act(self, tool, **arguments):
        # The answer of an action may have a new snapshot.
        self.known = await self.call(tool, arguments)

    async def open(self, url):
        await self.act("browser_navigate", url=url)

    async def ref(self, name):
        pattern = rf'"{re.escape(name)}"[^\n]*\[ref=(\w+)\]'
        if not re.search(pattern, self.known):
            self.known = await self.read()
        return re.search(pattern, self.known).group(1)

    async def target(self, name):
        ref = await self.ref(name)
        return {"element": name, "target": ref, "ref": ref}

    async def click(self, name):
        await self.act("browser_click", **await self.target(name))

    async def fill(self, name, value):
        await self.act("browser_type", text=value, **await self.target(name))

    async def select(self, name, value):
        await self.act("browser_select_option", values=[value], **await self.target(name))

    async def enter(self, name, value):
        await self.act("browser_type", text=value, submit=True, **await self.target(name))

    async def read(self):
        return await self.call("browser_snapshot", {})


async def count(kind, call, base, task):
    """Does a task and returns the characters of all results."""
    characters = 0

    async def counted(tool, arguments):
        nonlocal characters
        text = await call(tool, arguments)
        characters += len(text)
        return text

    path, steps, expected = task
    driver = kind(counted)
    await driver.open(base + path)
    for verb, *arguments in steps:
        await getattr(driver, verb)(*arguments)
    text = await driver.read()
    if expected not in text:
        raise RuntimeError(f"{path} {steps}: expected {expected!r} in {text[:500]}")
    return characters
