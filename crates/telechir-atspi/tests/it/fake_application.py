"""An application without windows that describes elements as unusual toolkits do.

Arguments: its name, and what it describes:
- orphans: elements whose reported parents end in null
- sheet: a table that makes a new object for each request of a cell
- unnamed: fields and buttons that only their labels, descriptions or containers name
It exits when it is asked for its cache. Each action is appended to the file `actions`.
"""
import sys

import gi

gi.require_version("Gio", "2.0")
from gi.repository import Gio, GLib

NAME, KIND = sys.argv[1:]
PATH = "/org/a11y/atspi/accessible/"
NULL = ("", "/org/a11y/atspi/null")
ATSPI = "org.a11y.atspi."
ENABLED, EDITABLE, SHOWING, VISIBLE, LAZY, FOCUSED = 8, 7, 25, 30, 31, 12
FRAME, PANEL, BUTTON, TABLE, CELL, ROOT_PANE, COMBO, TEXT = 23, 39, 43, 55, 56, 46, 11, 61
LABEL = 29

ARGS = {
    "Accessible": {
        "GetChildren": ("", "a(so)"),
        "GetState": ("", "au"),
        "GetRole": ("", "u"),
        "GetInterfaces": ("", "as"),
        "GetIndexInParent": ("", "i"),
        "GetAttributes": ("", "a{ss}"),
        "GetRelationSet": ("", "a(ua(so))"),
    },
    "Component": {"GetExtents": ("u", "(iiii)"), "GetAccessibleAtPoint": ("iiu", "(so)")},
    "Action": {"DoAction": ("i", "b"), "GetActions": ("", "a(sss)")},
    "Table": {
        "GetAccessibleAt": ("ii", "(so)"),
        "GetRowAtIndex": ("i", "i"),
        "GetColumnAtIndex": ("i", "i"),
    },
    "Text": {"GetText": ("ii", "s")},
    "EditableText": {"SetTextContents": ("s", "b")},
    "Cache": {"GetItems": ("", "a(so)")},
}
PROPERTIES = {
    "Accessible": {
        "Name": "s",
        "Parent": "(so)",
        "ChildCount": "i",
        "AccessibleId": "s",
        "Description": "s",
    },
    "Application": {"ToolkitName": "s", "Version": "s"},
    "Table": {"NRows": "i", "NColumns": "i"},
    "Text": {"CharacterCount": "i"},
}


def xml(interfaces):
    text = "<node>"
    for name in interfaces:
        text += f'<interface name="{ATSPI}{name}">'
        for method, (taken, given) in ARGS.get(name, {}).items():
            text += f'<method name="{method}">'
            text += "".join(f'<arg type="{kind}" direction="in"/>' for kind in taken)
            text += f'<arg type="{given}" direction="out"/></method>'
        for member, kind in PROPERTIES.get(name, {}).items():
            text += f'<property name="{member}" type="{kind}" access="read"/>'
        text += "</interface>"
    return Gio.DBusNodeInfo.new_for_xml(text + "</node>").interfaces


class Element:
    def __init__(self, path, role, name, states, extent, reported="listed", interfaces=()):
        self.path = path if path.startswith("/") else PATH + path
        self.role, self.name, self.states, self.extent = role, name, states, extent
        # `listed`, or the parent that it reports instead of the one that lists it.
        self.reported = reported
        self.parent, self.children, self.text = None, [], ""
        self.place = None
        self.description, self.labels = "", None
        self.interfaces = ["Accessible", "Component", *interfaces]
        if path in ("root",):
            self.interfaces = ["Accessible", "Application"]
        for info in xml(self.interfaces):
            BUS.register_object(self.path, info, self.called, self.read, None)

    def add(self, *children):
        for child in children:
            child.parent = self
            self.children.append(child)
        return self

    @property
    def object(self):
        return (BUS.get_unique_name(), self.path)

    def read(self, _bus, _sender, _path, interface, member):
        parent = self.parent.object if self.parent else NULL
        if self.reported != "listed":
            parent = self.reported.object if self.reported else NULL
        value = {
            "Name": ("s", self.name),
            "Parent": ("(so)", parent),
            "ChildCount": ("i", len(self.children)),
            "AccessibleId": ("s", ""),
            "Description": ("s", self.description),
            "ToolkitName": ("s", "fake"),
            "Version": ("s", "1"),
            "NRows": ("i", 1000),
            "NColumns": ("i", 100),
            "CharacterCount": ("i", len(self.text)),
        }[member]
        return GLib.Variant(*value)

    def called(self, _bus, _sender, _path, interface, method, arguments, answer):
        taken = arguments.unpack()
        given = ARGS[interface[len(ATSPI):]][method][1]
        value = getattr(self, method)(*taken)
        answer.return_value(GLib.Variant(f"({given})", (value,)))

    def GetChildren(self):
        return [child.object for child in self.children]

    def GetState(self):
        bits = sum(1 << state for state in self.states)
        return [bits & 0xFFFFFFFF, bits >> 32]

    def GetRole(self):
        return self.role

    def GetInterfaces(self):
        return [ATSPI + name for name in self.interfaces]

    def GetIndexInParent(self):
        return self.place[0] * 100 + self.place[1] if self.place else -1

    def GetAttributes(self):
        return {}

    def GetRelationSet(self):
        return [(1, [self.labels.object])] if self.labels else []

    def GetExtents(self, _kind):
        return self.extent

    def GetActions(self):
        return [("press", "", "")]

    def DoAction(self, _index):
        with open("actions", "a") as file:
            file.write(self.name + "\n")
        if self.name == "Leave":
            self.parent.children.remove(self)
        return True

    def GetText(self, _from, _to):
        return self.text

    def SetTextContents(self, text):
        self.text = text
        return True

    # A sheet of cells of 50 by 20 pixels, in which B2 has content and A3 the focus.
    def GetAccessibleAt(self, row, column):
        global made
        made += 1
        name = f"{chr(65 + column)}{row + 1}"
        extent = (100 + 50 * column, 100 + 20 * row, 50, 20)
        states = SEEN + [FOCUSED] * (name == "A3")
        cell = Element(f"cell{made}", CELL, name, states, extent, interfaces=["Text"])
        cell.parent, cell.place = self, (row, column)
        cell.text = "Apple" if name == "B2" else ""
        return cell.object

    def GetAccessibleAtPoint(self, x, y, _kind):
        return self.GetAccessibleAt((y - 100) // 20, (x - 100) // 50)

    def GetRowAtIndex(self, index):
        return index // 100

    def GetColumnAtIndex(self, index):
        return index % 100

    def GetItems(self):
        sys.exit("the cache was asked for")


def bus_address():
    session = Gio.bus_get_sync(Gio.BusType.SESSION)
    place = ("org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress")
    return session.call_sync(*place, None, None, 0, -1, None).unpack()[0]


FLAGS = Gio.DBusConnectionFlags
BUS = Gio.DBusConnection.new_for_address_sync(
    bus_address(), FLAGS.AUTHENTICATION_CLIENT | FLAGS.MESSAGE_BUS_CONNECTION, None, None
)
made = 0
SEEN = [ENABLED, SHOWING, VISIBLE]

root = Element("root", 75, NAME, [], (0, 0, 0, 0))
frame = Element("frame", FRAME, "Fake", SEEN, (0, 0, 600, 400))
root.add(frame)
if KIND == "orphans":
    action = ["Action"]
    lost = Element("lost", FRAME, "Fake", SEEN, (0, 0, 600, 400), None)
    panel = Element("panel", PANEL, "", SEEN, (0, 0, 600, 400))
    container = Element("container", PANEL, "", SEEN, (0, 40, 600, 360))
    pane = Element("pane", ROOT_PANE, "", SEEN, (0, 10, 600, 360), lost)
    combo = Element("combo", COMBO, "Size", SEEN, (300, 300, 90, 20))
    field = Element(
        "field", TEXT, "", SEEN + [EDITABLE], (300, 300, 80, 20), interfaces=["Text", "EditableText"]
    )
    frame.add(panel.add(
        Element("null", BUTTON, "Null", SEEN, (10, 200, 50, 20), None, action),
        Element("hidden", BUTTON, "Hidden", [ENABLED, VISIBLE], (0, 0, 0, 0), None, action),
        Element("leave", BUTTON, "Leave", [ENABLED, VISIBLE], (0, 0, 0, 0), None, action),
        container.add(pane.add(
            Element("below", BUTTON, "Below", SEEN, (10, 100, 50, 20), interfaces=action),
            combo.add(field),
        )),
    ))
elif KIND == "unnamed":
    label = Element("label", LABEL, "Find:", SEEN, (10, 40, 50, 20))
    box = Element("box", PANEL, "", SEEN, (70, 40, 100, 20)).add(
        Element("drop", BUTTON, "", SEEN, (150, 40, 20, 20)),
        Element("text", TEXT, "", SEEN + [EDITABLE], (70, 40, 80, 20), interfaces=["Text"]),
    )
    label.labels = box
    close = Element("close", BUTTON, "", SEEN, (10, 80, 20, 20))
    close.description = "Close Document"
    bar = Element("bar", PANEL, "Gallery", SEEN, (10, 120, 40, 20)).add(
        Element("inner", PANEL, "", SEEN, (10, 120, 20, 20)).add(
            Element("only", BUTTON, "", SEEN, (10, 120, 20, 20))
        )
    )
    frame.add(label, box, close, bar)
else:
    frame.add(Element(
        "sheet", TABLE, "Sheet", SEEN + [LAZY], (100, 100, 200, 100), interfaces=["Table"]
    ))
for info in xml(["Cache"]):
    BUS.register_object("/org/a11y/atspi/cache", info, root.called, None, None)
registry = (ATSPI + "Registry", PATH + "root", ATSPI + "Socket", "Embed")
BUS.call_sync(*registry, GLib.Variant("((so))", (root.object,)), None, 0, -1, None)
GLib.MainLoop().run()
