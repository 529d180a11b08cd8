"""Writes reports and opens them as a reader of the page would."""

import contextlib
import json
import os
import subprocess

SAMPLE = "samples/data/mlperf_dlrm_dcnv2.json"
HOSTILE = "</script><img src=x onerror=\"document.title='owned'\">\x1b[31m&amp;"

# Acts as a reader of the page and notes what it saw.
READER = r"""(() => {
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
  seen.rowsOfRank = find("rank:12");
  seen.found = text("#tables .count");
  seen.rowsOfRanks = find("rank:12-13");
  seen.rowsOfHost = find("host:1");
  find("");
  seen.tiles = document.querySelectorAll("#machine .tile").length;
  const tile = document.querySelectorAll("#machine .tile")[12];
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
return seen;
})()"""


def check(condition, what):
    if not condition:
        raise AssertionError(what)


class Reports:
    """Writes reports with the command and opens them in the browser."""

    def __init__(self, command, browser, folder):
        self.command = command
        self.browser = browser
        self.folder = folder

    def make(self, name, *arguments, status=0):
        """Asks the command for a report, once for each name. Returns its path."""
        path = os.path.join(self.folder, name + ".html")
        if os.path.exists(path):
            return path
        run = subprocess.run([self.command, *arguments, "--report", path], capture_output=True, text=True)
        check(run.returncode == status, f"{name}: exit status {run.returncode}: {run.stderr}")
        with open(path, encoding="utf-8") as page:
            check(f"UTC by: shardwright {arguments[0]} " in page.read(), f"{name}: no command line in the footer")
        return path

    def plan(self, name, problem, *flags, status=0):
        return self.make(name, "plan", problem, *flags, status=status)

    def operators(self, name, graph, *flags, status=0):
        return self.make(name, "operators", "plan", graph, *flags, status=status)

    def program(self, name, subcommand, source, *flags):
        return self.make(name, "program", subcommand, source, *flags)

    def plan_file(self, name, problem, *flags):
        """Plans, once for each name. Returns the path of the plan."""
        return self.answer_file(name, "plan", problem, *flags)

    def answer_file(self, name, *arguments):
        """The answer of a command as a file, asked for once for each name. Returns its path."""
        path = os.path.join(self.folder, name + ".json")
        if os.path.exists(path):
            return path
        run = subprocess.run([self.command, *arguments, "-o", path], capture_output=True, text=True)
        check(run.returncode == 0, f"{name}: exit status {run.returncode}: {run.stderr}")
        return path

    def saved(self, name, *arguments):
        """The report of a saved answer."""
        return self.make("saved_" + name, "report", self.answer_file("answer_" + name, *arguments))

    def write(self, name, problem):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            json.dump(problem, file)
        return path

    @contextlib.contextmanager
    def open(self, path, width=1200, **screen):
        """The page of a report, drawn, which must not write to the console until it is closed."""
        with self.browser.page(path, width, **screen) as page:
            check(page.evaluate("document.documentElement.dataset.rendered > 0"), f"{path}: the page was not drawn: {page.console()}")
            yield page
            check(not page.console(), f"{path}: the console is not empty: {page.console()}")

    def read(self, path, width=1200, address=""):
        """What the reader script notes on the page."""
        with self.open(path, width, address=address) as page:
            notes = page.evaluate(READER)
            check(notes["unnamed"] == 0, f"{path}: a drawing has no text")
            return notes
