"""Validates documents with the types of the providers' SDKs.

Reads one JSON document per line from stdin: {"name", "kind", "document"}. Prints one line for each
document that the SDK rejects: {"name", "problem"}. The argument selects the SDK. Unknown fields are
errors, because the service may reject what the SDK would drop.
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
        except Exception as error:  # each SDK has its own exceptions
            problem = f"{type(error).__name__}: {error}"
            print(json.dumps({"name": entry["name"], "problem": problem[:600]}))
        checked += 1
    print(json.dumps({"checked": checked}))


main(sys.argv[1])
