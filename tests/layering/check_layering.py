#!/usr/bin/env python3
"""Checks the structure of the sources: directions of includes (here and in rooms.py), lengths of functions (sizes.py), the top level.

Usage: check_layering.py ROOT. Prints one `file:line: rule: what` per violation and exits 1 when there is one.
"""

import fnmatch
import os
import re
import shutil
import subprocess
import sys

import rooms
import sizes

LAYERS = {"core": ("core",), "search": ("core", "search"), "runtime": ("core", "search", "runtime")}
USERS = ("tests", "perf", "samples")
EDGES = ("cli", "capi", "python")
PUBLIC_RUNTIME_HEADERS = ("runtime/embedding/planner.h", "runtime/embedding/options.h")
SUFFIXES = (".h", ".hpp", ".inc", ".cc", ".cpp")

TOP_LEVEL = {
    "CMakeLists.txt", "core", "search", "runtime", "tests", "perf", "samples", "README.md", "CMakePresets.json",
    ".clang-format", ".clang-tidy", ".gitignore", "LICENSE", "CHANGELOG.md", ".ci",
}

STANDARD = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits
clocale cmath compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio
cstdlib cstring ctime cuchar cwchar cwctype deque exception execution filesystem forward_list fstream functional future
initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex
new numbers numeric optional ostream queue random ranges ratio regex scoped_allocator semaphore set shared_mutex span
sstream stack stdexcept stop_token streambuf string string_view strstream syncstream system_error thread tuple
type_traits typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
""".split())
INPUT_OUTPUT = {"filesystem", "fstream", "iostream", "syncstream"}
THREADS = {"future", "thread"}
CLOCK_HEADERS = {"ctime", "time.h", "sys/time.h"}

# The libraries behind runtime, by the first part of the include path.
MACHINERY = re.compile(r"^(oneapi/|tbb/|spdlog/|fmt/|nlohmann/|mimalloc|CLI/|zlib\.h|mpi\.h|pybind11/|Python\.h)")

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
CLOCK = re.compile(r"\b(?:steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday)\b")


class Include:
    def __init__(self, line, target, quoted):
        self.line = line
        self.target = target
        self.quoted = quoted
        self.layer = target.split("/")[0]
        # A path of ours counts in angle brackets too; otherwise brackets would evade every rule.
        self.ours = quoted or (self.layer in LAYERS and "/" in target)


def without_comments(text):
    """Blanks comments and keeps line breaks, so that line numbers stay."""
    pattern = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)

    def blank(match):
        found = match.group(0)
        return found if found.startswith('"') else "\n" * found.count("\n")

    return pattern.sub(blank, text)


def source_files(root):
    for top in (*LAYERS, *USERS):
        for folder, subfolders, names in os.walk(os.path.join(root, top)):
            subfolders.sort()
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")


def includes_of(lines):
    for number, line in enumerate(lines, start=1):
        match = INCLUDE.match(line)
        if match:
            yield Include(number, match.group(1) or match.group(2), match.group(1) is not None)


def edge_of(path):
    parts = path.split("/")
    return parts[1] if parts[0] == "runtime" and len(parts) > 2 and parts[1] in EDGES else None


def may_read_clock(path):
    return path.startswith("search/budget.") or path.startswith("search/budget_")


def house_rules(path, include):
    """Rules about includes of our own files."""
    layer = path.split("/")[0]
    if include.layer in USERS:
        if layer in LAYERS or include.layer != layer:
            yield "users", f"includes {include.target}; nothing uses {include.layer}"
        return
    if include.layer not in LAYERS:
        # C programs find these headers side by side, wherever they are installed.
        if path.startswith("runtime/capi/shardwright") and include.target.startswith("shardwright"):
            return
        yield "root", f"includes \"{include.target}\"; write the path from the repository's root"
        return
    if layer in LAYERS and include.layer not in LAYERS[layer]:
        yield "layers", f"{layer} includes {include.target}; the layers are core <- search <- runtime"
    mine, theirs = edge_of(path), edge_of(include.target)
    if layer == "runtime" and theirs and mine != theirs:
        who = f"the edge {mine}" if mine else "runtime"
        yield "edges", f"{who} includes {include.target}; only {theirs} itself may"


def outside_rules(path, include):
    """Rules about includes of other people's files."""
    layer, target = path.split("/")[0], include.target
    if layer == "core" and target not in STANDARD and not target.startswith("boost/"):
        yield "core", f"core includes <{target}>; core may include the standard library and Boost only"
    if layer == "core" and target in THREADS:
        yield "core", f"core includes <{target}>; core starts no thread"
    if layer in ("core", "search") and target in INPUT_OUTPUT:
        yield layer, f"{layer} includes <{target}>; {layer} does no input or output"
    if layer in ("core", "search") and target in CLOCK_HEADERS:
        yield "clock", f"{layer} includes <{target}>; only search/budget reads a clock"
    if layer == "search" and MACHINERY.match(target):
        yield "search", f"search includes <{target}>; that library belongs to runtime"


def file_violations(path, lines, includes):
    for include in includes:
        rules = house_rules if include.ours else outside_rules
        for rule, what in rules(path, include):
            yield path, include.line, rule, what
    if path.split("/")[0] in ("core", "search") and not may_read_clock(path):
        for number, line in enumerate(lines, start=1):
            match = CLOCK.search(line)
            if match:
                yield path, number, "clock", f"uses {match.group(0)}; only search/budget reads a clock"


def public_header_violations(includes_by_path):
    """A public header must not include the machinery, not even through other headers of ours."""
    for public in PUBLIC_RUNTIME_HEADERS:
        seen, waiting = {public}, [public]
        while waiting:
            path = waiting.pop()
            for include in includes_by_path.get(path, ()):
                if include.ours and include.target not in seen:
                    seen.add(include.target)
                    waiting.append(include.target)
                elif not include.ours and MACHINERY.match(include.target):
                    yield path, include.line, "public", f"{public} exposes <{include.target}>"


def ignored_at_top_level(root):
    """Returns the patterns of .gitignore for the top level, for a tree that is not a git checkout."""
    patterns = [".git"]
    try:
        with open(os.path.join(root, ".gitignore"), encoding="utf-8") as file:
            patterns += [line.strip().strip("/") for line in file if line.strip() and not line.startswith("#")]
    except FileNotFoundError:
        pass
    return patterns


def top_level_entries(root):
    if os.path.exists(os.path.join(root, ".git")) and shutil.which("git"):
        git = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            capture_output=True, text=True, check=False)
        if git.returncode == 0:
            entries = {path.split("/")[0] for path in git.stdout.split("\0") if path}
            return sorted(entry for entry in entries if os.path.lexists(os.path.join(root, entry)))
    patterns = ignored_at_top_level(root)
    return sorted(entry for entry in os.listdir(root)
                  if not any(fnmatch.fnmatch(entry, pattern) for pattern in patterns))


def violations(root):
    includes_by_path, texts = {}, {}
    for path in source_files(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            texts[path] = file.read()
        lines = without_comments(texts[path]).split("\n")
        includes_by_path[path] = list(includes_of(lines))
        yield from file_violations(path, lines, includes_by_path[path])
    yield from public_header_violations(includes_by_path)
    yield from rooms.violations(root, texts, includes_by_path)
    yield from sizes.violations({path: text for path, text in texts.items() if path.split("/")[0] in LAYERS})
    for entry in top_level_entries(root):
        if entry not in TOP_LEVEL:
            yield entry, 1, "top-level", "the top level is fixed; put this into one of its folders"


def main(arguments):
    if len(arguments) != 1 or not os.path.isdir(os.path.join(arguments[0], "core")):
        print("usage: check_layering.py ROOT", file=sys.stderr)
        return 2
    found = list(violations(arguments[0]))
    for path, line, rule, what in found:
        print(f"{path}:{line}: {rule}: {what}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
