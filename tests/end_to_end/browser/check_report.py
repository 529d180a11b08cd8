#!/usr/bin/env python3
"""Opens reports in headless Chromium: an empty console, all parts drawn, search, sort and heat map working.

Usage: check_report.py COMMAND. If no Chromium is installed, it exits 77 (skipped), and with CI=true
it fails.
"""

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SAMPLE = "samples/data/mlperf_dlrm_dcnv2.json"
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">\x1b[31m&amp;"

# Acts as a reader of the page and notes what it saw on the root element, as JSON.
READER = r"""
<script>
"use strict";
const seen = { drawn_ms: performance.now() };
const text = (selector) => document.querySelector(selector)?.textContent ?? null;
const firstCells = () => [...document.querySelectorAll("#tables tbody th")].map((cell) => cell.textContent);
const canvas = document.querySelector("canvas");
const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, cancelable: true }));
seen.title = document.title;
seen.heading = text("h1");
seen.images = document.querySelectorAll("img").length;
seen.sections = [...document.querySelectorAll("section")].map((section) => section.id);
seen.verdict = text(".verdict");
seen.message = text("#failure .message");
const hidden = (node) => node.scrollWidth - node.clientWidth;
seen.overflow = hidden(document.documentElement);
seen.cutOff = Math.max(...[...document.querySelectorAll(".scroll")].map(hidden));
const search = document.querySelector("#tables input[type=search]");
if (search) {
  seen.rows = firstCells();
  const byName = [...document.querySelectorAll("#tables thead button")][0];
  byName.click();
  seen.rowsByName = firstCells();
  seen.sortOfName = document.querySelector("#tables thead th").getAttribute("aria-sort");
  byName.click();
  seen.rowsByNameBackwards = firstCells();
  search.value = "rank:0 " + seen.rows[0].slice(0, 3);
  search.dispatchEvent(new Event("input"));
  seen.rowsFound = firstCells();
  search.value = "no table has this name";
  search.dispatchEvent(new Event("input"));
  seen.rowsNotFound = firstCells();
  search.value = "";
  search.dispatchEvent(new Event("input"));
  const find = (words) => {
    search.value = words;
    search.dispatchEvent(new Event("input"));
    return firstCells();
  };
  seen.rowsOfRank = find("rank:3");
  seen.found = text("#tables .count");
  seen.rowsOfRanks = find("rank:2-3");
  seen.rowsOfHost = find("host:1");
  find("");
  seen.tiles = document.querySelectorAll("#machine .tile").length;
  const tile = document.querySelectorAll("#machine .tile")[3];
  if (tile) {
    tile.click();
    seen.rowsOfTile = firstCells();
    seen.address = location.hash;
    seen.pressed = [...document.querySelectorAll("#machine .tile")].map((node) => node.getAttribute("aria-pressed"));
    seen.about = text("#machine .about");
    tile.click();
    seen.rowsAgain = firstCells();
  }
  seen.csv = csvText(TABLE_COLUMNS_OF_CSV, tables.slice(0, 2));
  seen.limits = text(".limits");
  seen.rankRows = [...document.querySelectorAll("#ranks tbody th")].map((cell) => cell.textContent);
  const time = document.querySelector("#tables thead th.time");
  time.querySelector("button").click();
  seen.sortOfTime = time.getAttribute("aria-sort");
  seen.rowsByTime = firstCells();
  press("ArrowDown");
  const pixels = canvas.getContext("2d");
  const image = pixels.getImageData(0, 0, pixels.canvas.width, pixels.canvas.height).data;
  seen.colours = new Set(new Uint32Array(image.buffer)).size;
  seen.readout = text(".readout");
  press("+");
  press("ArrowRight");
  seen.readoutAfter = text(".readout");
}
const follow = document.querySelector("#path input");
if (follow) {
  const labels = () => [...document.querySelectorAll("#path .tensor")].map((tensor) => tensor.querySelectorAll("rect.cell").length);
  seen.ranks = document.querySelectorAll(".mesh rect").length;
  seen.cells = labels();
  seen.hatched = document.querySelectorAll(".tensor .hatch").length;
  seen.texts = [...document.querySelectorAll("#path .tensor:first-of-type text.holder")].map((node) => node.textContent);
  follow.value = "6";
  follow.dispatchEvent(new Event("input"));
  seen.outlined = document.querySelectorAll(".tensor .cell.lit").length;
  seen.held = [...document.querySelectorAll("#path .held:not([hidden])")].map((node) => node.textContent);
  seen.holdings = [...document.querySelectorAll("#holdings tbody tr")].map((row) => row.textContent);
  const [, other] = document.querySelectorAll("#front button.choice");
  if (other) {
    other.click();
    seen.cellsOfOther = labels();
    seen.shown = [...document.querySelectorAll("#front button.choice")].map((node) => node.getAttribute("aria-pressed"));
  }
}
if (document.querySelector(".matrix")) {
  seen.flows = document.querySelectorAll(".matrix .flow").length;
  seen.amounts = [...document.querySelectorAll(".matrix .amount")].map((node) => node.textContent);
  seen.hosts = document.querySelectorAll(".matrix .host").length;
  seen.tensors = [...document.querySelectorAll("#tensors tbody th")].map((node) => node.textContent);
  seen.meshes = [...document.querySelectorAll("#meshes tbody th")].map((node) => node.textContent);
}
const tree = document.querySelector("table.tree");
if (tree) {
  const rows = () => [...tree.querySelectorAll("tbody tr")].map((row) => row.querySelector("th").textContent);
  const type = (selector, words) => {
    const input = document.querySelector(selector);
    input.value = words;
    input.dispatchEvent(new Event("input"));
  };
  seen.lead = text(".lead");
  seen.limits = text(".limits");
  seen.modules = rows();
  seen.areas = document.querySelectorAll("#memory .area").length;
  seen.peak = text("#memory .mark");
  seen.moves = [...document.querySelectorAll("#moves tbody tr")].map((row) => row.textContent);
  tree.querySelector('button[aria-expanded="true"]').click();
  seen.modulesFolded = rows();
  tree.querySelector('button[aria-expanded="false"]').click();
  type("#modules input[type=search]", "weight parameter");
  seen.modulesFound = rows();
  type("#modules input[type=search]", "no module has this name");
  seen.modulesNotFound = rows();
  type("#modules input[type=search]", "");
  seen.modulesAgain = rows();
  if (seen.moves.length > 0) {
    type("#moves input[type=search]", "backward");
    seen.movesFound = [...document.querySelectorAll("#moves tbody tr")].map((row) => row.textContent);
  }
}
// Drawings say in words what they show.
seen.unnamed = [...document.querySelectorAll("svg, canvas, [role=img]")].filter((node) => !node.getAttribute("aria-label")).length;
document.documentElement.dataset.seen = JSON.stringify(seen);
</script>
"""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Reports:
    def __init__(self, command, browser, folder):
        self.command = command
        self.browser = browser
        self.folder = folder

    def plan(self, name, problem, *flags, status=0):
        """Plans with a report. Returns its path."""
        path = os.path.join(self.folder, name + ".html")
        run = subprocess.run([self.command, "plan", problem, *flags, "--report", path], capture_output=True, text=True)
        check(run.returncode == status, f"{name}: exit status {run.returncode}: {run.stderr}")
        return path

    def operators(self, name, graph, *flags, status=0):
        """Plans a traced model with a report. Returns its path."""
        path = os.path.join(self.folder, name + ".html")
        run = subprocess.run([self.command, "operators", "plan", graph, *flags, "--report", path], capture_output=True, text=True)
        check(run.returncode == status, f"{name}: exit status {run.returncode}: {run.stderr}")
        return path

    def program(self, name, subcommand, source, *flags):
        """Plans a redistribution or a transfer with a report. Returns its path."""
        path = os.path.join(self.folder, name + ".html")
        run = subprocess.run([self.command, "program", subcommand, source, *flags, "--report", path], capture_output=True, text=True)
        check(run.returncode == 0, f"{name}: exit status {run.returncode}: {run.stderr}")
        return path

    def write(self, name, problem):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(problem, file)
        return path

    def read(self, path, width=1200, address=""):
        """Opens a copy that contains the reader script. Returns what the script noted."""
        with open(path, encoding="utf-8") as file:
            page = file.read()
        copy = path.replace(".html", ".read.html")
        with open(copy, "w", encoding="utf-8") as file:
            file.write(page.replace("</body>", READER + "</body>"))
        run = subprocess.run(
            [self.browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=" + self.folder + "/profile",
             "--enable-logging=stderr", "--v=0", "--virtual-time-budget=5000", f"--window-size={width},900",
             "--dump-dom", "file://" + copy + address],
            capture_output=True, text=True, timeout=120)
        console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
        check(not console, f"{path}: the console is not empty: {console}")
        check("data-rendered=" in run.stdout, f"{path}: the page was not drawn: {run.stderr[-2000:]}")
        seen = re.search(r'data-seen="([^"]*)"', run.stdout)
        check(seen, f"{path}: the reader did not come to its end")
        notes = json.loads(html.unescape(seen.group(1)))
        check(notes["unnamed"] == 0, f"{path}: a drawing has no text")
        return notes


def check_small(reports):
    path = reports.plan("small", SAMPLE, "--ranks", "8", "--hbm", "80GiB")
    seen = reports.read(path)
    for section in ("ranks", "tables", "heat", "kinds", "search", "memory"):
        check(section in seen["sections"], f"no section {section}")
    check(seen["heading"] == "mlperf_dlrm_dcnv2" and seen["verdict"] == "Proved optimal", seen["verdict"])
    check(len(seen["rows"]) == 26 and seen["rows"] != seen["rowsByName"], "tables are not sorted by what they cost")
    check(seen["sortOfName"] == "ascending", "aria-sort does not follow")
    check(seen["rowsByName"] == sorted(seen["rows"]), "sorting by name does not sort")
    check(seen["rowsByNameBackwards"] == sorted(seen["rows"], reverse=True), "sorting again does not turn round")
    check(0 < len(seen["rowsFound"]) <= 26 and seen["rowsNotFound"] == [], "search does not search")
    check(seen["colours"] >= 4, "the heat map is empty")
    check(" on rank 0" in seen["readout"] and " on rank 1" in seen["readoutAfter"], "the cursor does not move")
    for width in (500, 1200):
        check(reports.read(path, width)["overflow"] <= 0, f"wider than a window of {width}")


def check_machine(reports):
    """A click on a rank finds its tables, and the address can be passed on."""
    path = reports.plan("machine", SAMPLE, "--ranks", "16", "--ranks-per-host", "8", "--hbm", "80GiB")
    seen = reports.read(path)
    check(seen["tiles"] == 16, f"{seen['tiles']} tiles for 16 ranks")
    check(0 < len(seen["rowsOfRank"]) < 26, "rank:3 does not search")
    check(seen["found"] == f"{len(seen['rowsOfRank'])} of 26 tables", seen["found"])
    check(set(seen["rowsOfRank"]) < set(seen["rowsOfRanks"]) and len(seen["rowsOfHost"]) < 26, "ranges or hosts do not search")
    check(seen["rowsOfTile"] == seen["rowsOfRank"] and len(seen["rowsAgain"]) == 26, "a tile does not search")
    check(seen["address"] == "#find=rank%3A3" and seen["pressed"].index("true") == 3 and seen["pressed"].count("true") == 1, seen["address"])
    check(seen["about"].startswith("Rank 3: Forward compute"), seen["about"])
    check(seen["limits"].startswith("Rank ") and "communication" in seen["limits"], seen["limits"])
    check("8–15" in seen["rankRows"], f"equal ranks are not one row: {seen['rankRows']}")
    head, first, _ = seen["csv"].split("\n", 2)
    check(head.startswith("table,module,rows,columns,sharding_type,") and first.startswith("cat_0,ebc,40000000,128,"), seen["csv"])
    check(seen["sortOfTime"] == "descending" and seen["rowsByTime"] == seen["rows"], "time does not sort the largest first")
    found = reports.read(path, address=seen["address"])["rows"]
    check(sorted(found) == sorted(seen["rowsOfRank"]), "the address does not search")


def check_long_names(reports):
    """A long name leaves room for the figures beside it, since the page is about times."""
    tables = [{"name": f"t{i}", "num_embeddings": 100_000_000, "embedding_dim": 64} for i in range(5)]
    tables[2]["name"] = "a_table_whose_name_says_at_length_which_features_of_which_users_it_embeds_" * 2
    problem = reports.write("long.json", {"tables": tables})
    for name, hbm, status in (("long", "80GiB", 0), ("long_none", "1GiB", 3)):
        path = reports.plan(name, problem, "--ranks", "16", "--hbm", hbm, "--ddr", "1GiB", status=status)
        for width in (500, 1200):
            seen = reports.read(path, width)
            check(seen["overflow"] <= 0 and seen["cutOff"] <= 0, f"columns are cut off in a window of {width}")


def check_hostile(reports):
    tables = [{"name": HOSTILE + str(i), "num_embeddings": 1000 + i, "embedding_dim": 64} for i in range(3)]
    problem = reports.write("hostile.json", {"name": HOSTILE, "tables": tables})
    seen = reports.read(reports.plan("hostile", problem, "--ranks", "2"))
    check(seen["images"] == 0 and seen["title"] != "owned", "a name became markup")
    names = [HOSTILE + str(i) for i in range(3)]
    check(seen["heading"] == HOSTILE and sorted(seen["rows"]) == names, "a name was changed")


def check_large(reports):
    tables = [{"name": f"t{i}", "num_embeddings": 1000 + 37 * i, "embedding_dim": 64, "pooling_factor": 1 + i % 30}
              for i in range(5384)]
    problem = reports.write("large.json", {"tables": tables})
    path = reports.plan("large", problem, "--ranks", "1024", "--ranks-per-host", "8", "--mode", "compat",
                        "--batch-size", "32", "--work-limit", "60000000")
    check(os.path.getsize(path) < 5_000_000, "the report is too large")
    seen = reports.read(path)
    check(seen["drawn_ms"] < 10_000, f"drawn after {seen['drawn_ms']} ms")  # under 2 s on an idle machine
    check(len(seen["rows"]) == 30 and seen["colours"] >= 4, "tables are not drawn")


def check_no_plan(reports):
    small = ("--mode", "compat", "--ranks", "4", "--hbm", "8GiB", "--ddr", "4GiB")
    seen = reports.read(reports.plan("none", SAMPLE, *small, status=3))
    check(seen["verdict"] == "No plan" and "short" in seen["message"], "does not say why")
    check("needs" in seen["sections"] and "tables" not in seen["sections"], "shows what is not there")
    seen = reports.read(reports.plan("reserved", SAMPLE, "--ranks", "4", "--hbm", "1MiB", status=3))
    check(seen["verdict"] == "No plan" and "memory" in seen["sections"], "a failed reservation is not shown")


def check_redistribution(reports):
    path = reports.program("path", "redistribute", "samples/data/redistribution.json")
    for width in (500, 1200):
        seen = reports.read(path, width)
        check(seen["overflow"] <= 0, f"wider than a window of {width}")
        check(seen["sections"] == ["mesh", "path", "holdings"], seen["sections"])
        check(seen["ranks"] == 16 and seen["cells"] == [8, 16, 16, 16, 8], seen["cells"])
        check(seen["hatched"] == 8 and "6+14" in seen["texts"], "partial values are not marked")
        check(seen["outlined"] == 5 and seen["held"][0] == "Rank 6: [3072:3584, :], 16.0 MiB", seen["held"])
        check(seen["holdings"][6].startswith("6[3072:3584, :] +[3072:3584, 0:8192]"), seen["holdings"][6])


def check_front(reports):
    """Another path of the front can be looked at."""
    links = [{"latency_us": latency, "bandwidth_gb_per_s": bandwidth} for latency, bandwidth in ((3, 400), (1, 25), (10, 200))]
    case = reports.write("front.json", {
        "mesh": [2, 2, 2], "shape": [4096, 4096], "data_type": "bfloat16", "source": ["S(0)", "S(1)", "P(sum)"],
        "target": ["R", "R", "R"], "costs": {"model": "rings", "groups": True, "links": links}})
    seen = reports.read(reports.program("front", "redistribute", case, "--front"))
    check("front" in seen["sections"], "no front")
    check(seen["cells"] == [4, 8, 4, 2, 1] and seen["cellsOfOther"] == [4, 8, 4, 1], seen["cellsOfOther"])
    check(seen["shown"] == ["false", "true", "false"], seen["shown"])


def check_large_meshes(reports):
    """Three sharded dimensions and 1,024 ranks are drawn; more ranks are only listed by step."""
    case = {"mesh": [8, 16, 8], "shape": [64, 2050, 1024], "data_type": "bfloat16", "source": ["S(0)", "S(1)", "P(avg)"],
            "target": ["S(2)", "S(1)", "S(0)"]}
    path = reports.program("mesh", "redistribute", reports.write("mesh.json", case), "--front")
    check(os.path.getsize(path) < 1_000_000, "the report is too large")
    seen = reports.read(path)
    check(seen["ranks"] == 1024 and max(seen["cells"]) == 1024 and seen["overflow"] <= 0, seen["cells"])
    case["mesh"] = [64, 16, 8]
    seen = reports.read(reports.program("huge", "redistribute", reports.write("huge.json", case)))
    check(seen["sections"] == ["mesh", "path"], seen["sections"])


def check_transfer(reports):
    path = reports.program("move", "transfer", "samples/data/transfer.json")
    for width in (500, 1200):
        seen = reports.read(path, width)
        check(seen["overflow"] <= 0, f"wider than a window of {width}")
        check(seen["sections"] == ["flows", "ports", "loads", "rounds", "tensors", "meshes"], seen["sections"])
        check(seen["flows"] == 12 and seen["hosts"] == 1, "the matrix lacks flows")
        check(sorted(set(seen["amounts"])) == ["16.0 MiB", "24.0 MiB"], seen["amounts"])
        check(seen["verdict"] == "Proved: no plan is better balanced", seen["verdict"])


def check_large_transfer(reports):
    tensors = [{"name": f"layer{i}.weight", "shape": [4096 + 64 * i, 4096], "data_type": "bfloat16",
                "source": {"mesh": "old", "placements": ["S(0)", "R"]}, "target": {"mesh": "new", "placements": ["S(1)", "S(0)"]}}
               for i in range(400)]
    problem = reports.write("large_transfer.json", {
        "meshes": {"old": {"shape": [64, 16], "ranks": "0-1023"}, "new": {"shape": [8, 32], "ranks": "1024-1279"}},
        "hosts": {"ranks_per_host": 8, "intra_host_bw": 4.5e8, "inter_host_bw": 5e7}, "tensors": tensors})
    path = reports.program("large_transfer", "transfer", problem, "--memory", "16MiB")
    check(os.path.getsize(path) < 1_000_000, "the report is too large")
    seen = reports.read(path)
    check(seen["drawn_ms"] < 10_000, f"drawn after {seen['drawn_ms']} ms")  # under 1 s on an idle machine
    check(seen["flows"] >= 64 and seen["overflow"] <= 0, "the matrix is not drawn")


def check_hostile_transfer(reports):
    layout = {"placements": ["S(0)"]}
    problem = reports.write("hostile_transfer.json", {
        "meshes": {HOSTILE: {"shape": [2], "ranks": "0-1"}, "new": {"shape": [2], "ranks": "2-3"}},
        "tensors": [{"name": HOSTILE, "shape": [64], "data_type": "float32", "source": {"mesh": HOSTILE, **layout},
                     "target": {"mesh": "new", **layout}}]})
    seen = reports.read(reports.program("hostile_transfer", "transfer", problem))
    check(seen["images"] == 0 and seen["title"] != "owned", "a name became markup")
    check(seen["tensors"] == [HOSTILE] and HOSTILE in seen["meshes"], "a name was changed")


def transformer(**sizes):
    """A graph of tests/support/operators, with the sizes of Llama unless told."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "support", "operators"))
    import aten_transformer
    llama = {"blocks": 32, "width": 4096, "hidden": 14336, "heads": 32, "batch": 16, "tokens": 4096, "vocabulary": 128256,
             "dtype": "bfloat16"}
    return aten_transformer.document(argparse.Namespace(**{**llama, **sizes}))


def check_model(reports):
    path = reports.operators("model", "samples/data/traced_mlp.json", "--mesh", "4x2", "--memory", "16GiB")
    for width in (500, 1200):
        seen = reports.read(path, width)
        check(seen["overflow"] <= 0, f"wider than a window of {width}")
        check(seen["sections"] == ["modules", "memory", "moves"], seen["sections"])
        check(seen["verdict"] == "Proved optimal" and "proved: no plan takes less time" in seen["lead"], seen["lead"])
        check("limits the step" in seen["limits"], seen["limits"])
        check(seen["areas"] == 6 and seen["peak"].startswith("peak "), "memory is not drawn")
        check(len(seen["modulesFolded"]) < len(seen["modules"]) == len(seen["modulesAgain"]), "modules do not fold")
        check(any("weightparameter" in row for row in seen["modulesFound"]), seen["modulesFound"])
        check(seen["modulesNotFound"] == [], "the filter does not filter")


def check_large_model(reports):
    """Equal blocks are one row, so that a page is small and quickly drawn."""
    graph = reports.write("llama.json", transformer())
    path = reports.operators("llama", graph, "--mesh", "4x2")
    check(os.path.getsize(path) < 1_000_000, f"the report has {os.path.getsize(path)} bytes")
    seen = reports.read(path)
    check(seen["drawn_ms"] < 10_000, f"drawn after {seen['drawn_ms']} ms")  # under 1 s on an idle machine
    check(any("equal blocks" in row for row in seen["modules"]) and len(seen["modules"]) < 40, seen["modules"])
    check(len(seen["moves"]) > 3 and len(seen["movesFound"]) > 0, seen["moves"])


def check_no_model(reports):
    path = reports.operators("no_model", "samples/data/traced_mlp.json", "--mesh", "4x2", "--memory", "1KiB", status=3)
    seen = reports.read(path)
    check(seen["verdict"] == "No plan" and "No plan fits" in seen["message"], seen["message"])
    check(seen["sections"] == ["failure"], seen["sections"])


def check_hostile_model(reports):
    graph = transformer(blocks=1, width=64, hidden=64, heads=2, batch=4, tokens=8, vocabulary=64)
    graph["model"] = HOSTILE
    for node in graph["nodes"]:
        if node.get("module") == "output":
            node["module"] = HOSTILE
    seen = reports.read(reports.operators("hostile_model", reports.write("hostile_model.json", graph), "--mesh", "2"))
    check(seen["images"] == 0 and seen["title"] != "owned", "a name became markup")
    check(seen["heading"] == HOSTILE, "a name was changed")


def main(command):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("skipped: none of", ", ".join(BROWSERS), "is installed")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    with tempfile.TemporaryDirectory() as folder:
        reports = Reports(command, browser, folder)
        for part in (check_small, check_machine, check_long_names, check_hostile, check_large, check_no_plan, check_redistribution, check_front,
                     check_large_meshes, check_transfer, check_large_transfer, check_hostile_transfer, check_model, check_large_model, check_no_model,
                     check_hostile_model):
            part(reports)
            print("ok:", part.__name__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
