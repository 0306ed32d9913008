"""Walks all elements of a desktop with pyatspi, as scripts do: one line in, one line out."""

import sys

import pyatspi


def walk(element):
    count = 1
    element.name
    element.getRole()
    if element.getState().contains(pyatspi.STATE_SHOWING):
        try:
            element.queryComponent().getExtents(pyatspi.DESKTOP_COORDS)
        except NotImplementedError:
            pass
    for child in element:
        if child is not None:
            count += walk(child)
    return count


for _ in sys.stdin:
    # Otherwise pyatspi would return cached elements.
    desktop = pyatspi.Registry.getDesktop(0)
    for application in desktop:
        application.clearCache()
    print(sum(walk(application) for application in desktop), flush=True)
