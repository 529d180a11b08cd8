#!/usr/bin/env python3
"""Opens reports in headless Chromium: an empty console, all parts drawn; search, sort, click and zoom by mouse and keys;
phones, dark screens and print.

Usage: check_report.py COMMAND. If no Chromium is installed, it exits 77 (skipped), and with CI=true
it fails.
"""

import argparse
import os
import shutil
import sys
import tempfile

import check_questions
from chromium import Chromium
from reports import HOSTILE, SAMPLE, Reports, check

SKIPPED = 77
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def check_small(reports):
    path = reports.plan("small", SAMPLE, "--ranks", "8", "--hbm", "80GiB")
    seen = reports.read(path)
    for section in ("ranks", "tables", "heat", "kinds", "search", "memory"):
        check(section in seen["sections"], f"no section {section}")
    check(seen["heading"] == "mlperf_dlrm_dcnv2: sharding plan" and seen["verdict"] == "Proved optimal", seen["verdict"])
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
    # Both hosts may have the large tables; with this seed the first one has.
    path = reports.plan("machine", SAMPLE, "--ranks", "16", "--ranks-per-host", "8", "--hbm", "80GiB", "--seed", "2")
    seen = reports.read(path)
    check(seen["tiles"] == 16, f"{seen['tiles']} tiles for 16 ranks")
    check(0 < len(seen["rowsOfRank"]) < 26, "rank:12 does not search")
    check(seen["found"] == f"{len(seen['rowsOfRank'])} of 26 tables", seen["found"])
    check(set(seen["rowsOfRank"]) < set(seen["rowsOfRanks"]) and len(seen["rowsOfHost"]) < 26, "ranges or hosts do not search")
    check(seen["rowsOfTile"] == seen["rowsOfRank"] and len(seen["rowsAgain"]) == 26, "a tile does not search")
    check(seen["address"] == "#sort-table=-name&find=rank%3A12&open=rank+12" and seen["pressed"].index("true") == 12 and seen["pressed"].count("true") == 1, seen["address"])
    check(seen["about"].startswith("Rank 12: Forward compute"), seen["about"])
    check("the slowest, spends" in seen["limits"] and "TorchRec's own plan" in seen["limits"], seen["limits"])
    check("0–7" in seen["rankRows"], f"equal ranks are not one row: {seen['rankRows']}")
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
    check(seen["heading"].startswith(HOSTILE) and sorted(seen["rows"]) == names, "a name was changed")


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


PARTS = (check_small, check_machine, check_long_names, check_hostile, check_large, check_no_plan, check_model, check_large_model, check_no_model,
         check_hostile_model)


def main(command):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("skipped: none of", ", ".join(BROWSERS), "is installed")
        return 1 if os.environ.get("CI") == "true" else SKIPPED
    with tempfile.TemporaryDirectory() as folder, Chromium(browser, folder) as chromium:
        reports = Reports(command, chromium, folder)
        for part in (*PARTS, *check_questions.PARTS):
            part(reports)
            print("ok:", part.__name__, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
