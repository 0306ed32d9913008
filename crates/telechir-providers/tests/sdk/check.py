"""Checks documents against the types of the providers' own SDKs.

Reads one JSON document a line from standard input: {"name", "kind", "document"}. Writes one line
for each that the SDK refuses: {"name", "problem"}. The argument says which SDK. Unknown members
are mistakes: what the SDK would drop or refuse, the service may refuse too.
"""

import importlib
import json
import sys


def main(sdk):
    kinds = importlib.import_module("sdk_" + sdk).KINDS
    checked = 0
    for line in sys.stdin:
        entry = json.loads(line)
        try:
            kinds[entry["kind"]](entry["document"])
        except Exception as error:  # every SDK has errors of its own
            problem = f"{type(error).__name__}: {error}"
            print(json.dumps({"name": entry["name"], "problem": problem[:600]}))
        checked += 1
    print(json.dumps({"checked": checked}))


main(sys.argv[1])
