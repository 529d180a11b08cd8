"""The rooms of the sources: which folder may include which (rooms.txt), and that each file is listed."""

import os
import re

FLOORS = ("core", "search", "runtime")
TABLE = "tests/layering/rooms.txt"
# Leaves without C++ of their own.
OPTIONAL = ("runtime/python",)
LISTED = re.compile(r"(?<![\w./*$}-])[\w./-]+\.(?:h|cc|c)\b")


def read_table(root):
    rows, room = {}, None
    with open(os.path.join(root, TABLE), encoding="utf-8") as file:
        for line in file:
            text = line.split("#")[0].rstrip()
            if text and not text[0].isspace():
                room, _, text = text.partition(":")
                rows[room] = []
            if room is not None:
                rows[room] += text.split()
    return rows


def room_of(folder, rooms):
    while folder and folder not in rooms:
        folder = os.path.dirname(folder)
    return folder or None


def direction_violations(includes_by_path, rooms):
    """Reports includes that no row allows, and folders that belong to no room."""
    for path, includes in includes_by_path.items():
        folder = os.path.dirname(path)
        if path.split("/")[0] not in FLOORS:
            continue
        mine = room_of(folder, rooms)
        if mine is None or (mine in FLOORS and folder != mine):
            yield path, 1, "rooms", f"{folder} belongs to no room; give it a row in {TABLE}"
            continue
        for include in includes:
            if not include.ours or include.target.split("/")[0] != path.split("/")[0]:
                continue
            theirs = room_of(os.path.dirname(include.target), rooms)
            if theirs not in (mine, *rooms[mine]):
                yield (path, include.line, "rooms",
                       f"{mine} includes {include.target}; its row in {TABLE} does not allow {theirs}")


def table_violations(folders, rooms):
    """Reports rows of rooms that do not exist."""
    for room, allowed in rooms.items():
        if room not in OPTIONAL and not any(folder == room or folder.startswith(room + "/") for folder in folders):
            yield TABLE, 1, "rooms", f"{room} has a row and no files"
        for name in allowed:
            if name not in rooms:
                yield TABLE, 1, "rooms", f"the row of {room} allows {name}, which has no row"


def graph_of_folders(includes_by_path):
    graph = {}
    for path, includes in includes_by_path.items():
        folder = os.path.dirname(path)
        if path.split("/")[0] in FLOORS:
            for include in includes:
                target = os.path.dirname(include.target)
                if include.ours and target and target != folder:
                    graph.setdefault(folder, {}).setdefault(target, (path, include))
    return graph


def cycle_violations(includes_by_path):
    """Reports each include that closes a cycle of folders, with the path back."""
    graph = graph_of_folders(includes_by_path)
    for folder in sorted(graph):
        for target, (path, include) in sorted(graph[folder].items()):
            way = way_between(graph, target, folder)
            if way:
                yield (path, include.line, "cycle",
                       f"includes {include.target}, and {' -> '.join(way)} leads back")


def way_between(graph, start, goal):
    before, waiting = {start: None}, [start]
    while waiting:
        folder = waiting.pop(0)
        if folder == goal:
            way = []
            while folder is not None:
                way.append(folder)
                folder = before[folder]
            return way[::-1]
        for following in sorted(graph.get(folder, ())):
            if following not in before:
                before[following] = folder
                waiting.append(following)
    return None


def listing_violations(root, paths):
    """Checks that the CMakeLists.txt of its folder, or of one above, lists each source file once."""
    listed = {}
    for floor in FLOORS:
        for folder, _, names in os.walk(os.path.join(root, floor)):
            if "CMakeLists.txt" in names:
                where = os.path.relpath(os.path.join(folder, "CMakeLists.txt"), root).replace(os.sep, "/")
                with open(os.path.join(folder, "CMakeLists.txt"), encoding="utf-8") as file:
                    text = re.sub(r"#[^\n]*", "", file.read())
                for name in LISTED.findall(text):
                    path = os.path.normpath(os.path.join(os.path.dirname(where), name)).replace(os.sep, "/")
                    listed.setdefault(path, []).append(where)
    for path in paths:
        if path.split("/")[0] in FLOORS and len(listed.get(path, ())) != 1:
            found = ", ".join(listed.get(path, ())) or "none"
            yield path, 1, "listing", f"one CMakeLists.txt lists a file; here: {found}"


def test_violations(root, texts):
    """Checks that the tests of a floor are in the same folders as the sources, each file in a namespace of its own."""
    for path, text in texts.items():
        folder, name = os.path.split(path)
        if not path.startswith("tests/") or not name.endswith("_test.cc"):
            continue
        tested = folder.removeprefix("tests/")
        if tested.split("/")[0] in FLOORS and not os.path.isdir(os.path.join(root, tested)):
            yield path, 1, "mirror", f"there is no folder {tested}"
        if not re.search(rf"^namespace shardwright::(?:\w+::)*{name[:-3]} {{", text, re.MULTILINE):
            yield path, 1, "namespace", f"several tests are one translation unit; wrap this in shardwright::{name[:-3]}"


def violations(root, texts, includes_by_path):
    rooms = read_table(root)
    yield from direction_violations(includes_by_path, rooms)
    yield from table_violations({os.path.dirname(path) for path in texts}, rooms)
    yield from cycle_violations(includes_by_path)
    yield from listing_violations(root, texts)
    yield from test_violations(root, texts)
