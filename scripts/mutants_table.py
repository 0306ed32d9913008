"""Writes docs/design/mutants.md from the results of cargo-mutants.

Arguments: the folder with a folder for each crate, which has one for each part; the document; the
crates. What the document says about a crate's run, and its reasons for survivors, are kept. Exits
with 1 if a crate is below the goal, a part is missing, or a survivor has no reason.
"""

import json
import pathlib
import re
import sys

GOAL = 97
NO_REASON = "none yet"
NO_SURVIVOR = "None survives."
INTRODUCTION = """# Mutation testing

`make mutants` changes one expression of a crate at a time, such as `||` to `&&`, and runs the crate's own tests; for `telechir-process` those of `telechir-shell`, too, which tries what the sandbox withstands. If none of them fails, the mutant survives: nothing checks that expression. The goal is that at most 3 % survive in the crates that decide, filter, record and confine, and that each survivor has its reason here.

A timeout counts as caught: the tests noticed that the program no longer ends. Mutants that do not compile do not count. Where not all mutants of a crate ran, those that ran are a sample: every Nth, in one or more parts.
"""


def results(folder):
    """Outcomes of a crate by mutant name, and the parts that are missing."""
    outcomes, seen, total = {}, set(), 0
    for part in sorted(folder.glob("*-of-*")):
        number, total = map(int, part.name.split("-of-"))
        file = part / "mutants.out" / "outcomes.json"
        if not file.exists():
            continue
        seen.add((number, total))
        for outcome in json.loads(file.read_text())["outcomes"]:
            scenario = outcome["scenario"]
            if isinstance(scenario, dict):
                outcomes[name(scenario["Mutant"])] = outcome["summary"]
    totals = {total for _, total in seen}
    is_complete = len(totals) == 1 and len(seen) == totals.pop()
    return outcomes, is_complete


def ran(folder, crate, outcomes):
    """How many mutants ran of how many."""
    total = folder / f"{crate}.total"
    return f"{len(outcomes)} of {total.read_text().strip()}" if total.exists() else f"{len(outcomes)}"


def name(mutant):
    """The file and what is changed, with the line in its function instead of in the file."""
    function = mutant.get("function") or {}
    line = mutant["span"]["start"]["line"]
    first = (function.get("span") or mutant["span"])["start"]["line"]
    path = mutant["file"].split("/src/")[-1]
    text = re.sub(r"^[^ ]+:\d+(:\d+)?: ", "", mutant["name"])
    # One line may have the same operator twice.
    column = mutant["span"]["start"]["column"]
    return f"{path}: {text} (line {line - first + 1}, column {column})"


def old_note(document, crate):
    """The paragraph under a crate's heading, which says how its mutants ran."""
    found = re.search(rf"^## {crate}\n\n(?!\|)(.+)\n", document, re.M)
    return [found[1] + "\n"] if found and found[1] != NO_SURVIVOR else []


def old_reasons(document):
    """Reasons by crate and survivor."""
    found, crate = {}, None
    for line in document.splitlines():
        if line.startswith("## "):
            crate = line[3:]
        cells = re.match(r"^\| `` (.+) `` \| (.+) \|$", line)
        if cells and cells[2] != NO_REASON:
            found[crate, cells[1].replace("\\|", "|")] = cells[2]
    return found


def main():
    folder, document = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    crates = sys.argv[3:]
    text = document.read_text() if document.exists() else ""
    reasons = old_reasons(text)
    rows, sections, is_good = [], [], True
    for crate in crates:
        outcomes, is_complete = results(folder / crate)
        count = lambda *summaries: sum(summary in summaries for summary in outcomes.values())
        caught, missed = count("CaughtMutant"), count("MissedMutant")
        timeouts, unviable = count("Timeout"), count("Unviable")
        viable = caught + missed + timeouts
        if not viable:
            # Not run here: what the document says stays.
            rows += [line for line in text.splitlines() if line.startswith(f"| `{crate}` |")]
            section = re.search(rf"^## {crate}\n.*?(?=^## |\Z)", text, re.M | re.S)
            sections += [section[0].rstrip() + "\n"] if section else []
            continue
        share = 100 * (caught + timeouts) / viable
        note = "" if is_complete else ", incomplete"
        done = ran(folder, crate, outcomes)
        rows.append(f"| `{crate}` | {done} | {unviable} | {caught} | {timeouts} | {missed} | {share:.1f} %{note} |")
        survivors = sorted(mutant for mutant, summary in outcomes.items() if summary == "MissedMutant")
        lines = [f"## {crate}\n", *old_note(text, crate)]
        if survivors:
            lines += ["| survivor | reason |", "|---|---|"]
        else:
            lines.append(NO_SURVIVOR)
        for mutant in survivors:
            reason = reasons.get((crate, mutant), NO_REASON)
            is_good &= reason != NO_REASON
            escaped = mutant.replace("|", "\\|")
            lines.append(f"| `` {escaped} `` | {reason} |")
        sections.append("\n".join(lines) + "\n")
        is_good &= share >= GOAL and is_complete
    table = ["| crate | mutants that ran | do not compile | caught | timeouts | survived | caught of the rest |",
             "|---|---|---|---|---|---|---|", *rows]
    parts = [INTRODUCTION, "\n".join(table) + "\n", *sections]
    document.write_text("\n".join(parts))
    print("\n".join(table))
    if not is_good:
        sys.exit(f"mutants: below {GOAL} %, a part is missing, or a survivor has no reason in {document}")


if __name__ == "__main__":
    main()
