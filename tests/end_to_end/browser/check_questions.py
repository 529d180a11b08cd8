"""The pages that answer questions of a plan: why this option, what changes, which machine; driven by mouse and keys."""

import json
import os

from reports import HOSTILE, SAMPLE, check

CONTROL = 2  # a modifier
MACHINE = ("--ranks", "16", "--ranks-per-host", "8", "--hbm", "80GiB")
SHOWN = "!document.getElementById('panel').hidden"
FOCUSED = "document.activeElement.textContent"


def rows(page, section):
    return page.texts(f"#{section} tbody th")


def check_why(reports):
    """A click on a table tells why it is sharded so; Escape closes the panel, and the address opens it again."""
    path = reports.plan("machine", SAMPLE, *MACHINE)
    with reports.open(path) as page:
        first = rows(page, "tables")[0]
        page.click("#tables tbody .open")
        check(page.evaluate(SHOWN) and page.text("#panel-title") == first, "a click on a table opens no panel")
        check(page.text("#panel .standing") == "chosen", "the chosen option is not marked")
        check("No other of the 16 options rates as well" in page.text("#panel .reason"), page.text("#panel .reason"))
        check(page.evaluate("document.querySelector('#panel .list').textContent").count("ms") > 0 and page.count("#panel tbody tr") == 12, "options are missing")
        check(page.evaluate(FOCUSED) == first, "the panel has not the focus")
        address = page.evaluate("location.hash")
        check(address == "#open=table+" + first, address)
        page.press("Escape")
        check(not page.evaluate(SHOWN) and page.evaluate("location.hash") == "", "Escape does not close the panel")
        check(page.evaluate(FOCUSED) == first, "the focus does not return")
        page.press("Enter")
        check(page.evaluate(SHOWN), "Enter on a name does not open the panel")
        page.click("#panel .close")
        check(not page.evaluate(SHOWN), "the button does not close the panel")
    with reports.open(path, address=address) as page:
        check(page.text("#panel-title") == first, "the address does not open the panel")
        page.evaluate("location.hash = '#find=rank%3A3'")
        page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))")
        check(not page.evaluate(SHOWN) and page.text("#tables .count").endswith("of 26 tables"), "a changed address is not read")


def check_rank(reports):
    """A click on a rank finds its tables and lists what takes the most there."""
    with reports.open(reports.plan("machine", SAMPLE, *MACHINE)) as page:
        page.click("#machine .tile", 3)
        check(page.text("#panel-title") == "Rank 3" and page.count("#panel tbody tr") == page.count("#tables tbody tr") > 0, "the tables of a rank are missing")
        page.click("#panel tbody .open")
        name = page.text("#panel-title")
        check(name in rows(page, "tables") and page.evaluate("location.hash") == f"#find=rank%3A3&open=table+{name}", page.evaluate("location.hash"))
        page.evaluate("document.querySelector('#machine .host-name').focus()")
        page.press("Enter")
        check(page.evaluate("document.querySelector('#tables input').value") == "host:0", "a host is not searched for")


def check_keys_and_mouse(reports):
    """Typing searches; the heat map is walked by keys, zoomed by the wheel, dragged and clicked."""
    with reports.open(reports.plan("machine", SAMPLE, *MACHINE)) as page:
        page.click("#tables input[type=search]")
        page.type("data_parallel")
        check(0 < len(rows(page, "tables")) < 26 and page.text("#tables .count") == "14 of 26 tables", page.text("#tables .count"))
        page.evaluate("document.querySelector('#tables thead button').focus()")
        page.press("Enter")
        check(rows(page, "tables") == sorted(rows(page, "tables")), "Enter on a head does not sort")
        page.evaluate("document.querySelector('canvas').focus()")
        page.press("ArrowDown", 3)
        page.press("ArrowRight", 2)
        readout = page.text("#heat .readout")
        check("on rank 2" in readout, readout)
        page.press("Enter")
        check(page.text("#panel-title") in readout, "Enter on a cell opens no panel")
        page.press("Escape")
        page.click("canvas")
        check(page.evaluate(SHOWN), "a click on a cell opens no panel")


def check_zoom(reports):
    """The wheel zooms a large map, and dragging moves it."""
    tables = [{"name": f"t{i}", "num_embeddings": 1000 + 37 * i, "embedding_dim": 64} for i in range(600)]
    problem = reports.write("zoom.json", {"tables": tables})
    with reports.open(reports.plan("zoom", problem, "--ranks", "64", "--ranks-per-host", "8", "--mode", "compat")) as page:
        picture = "document.querySelector('canvas').toDataURL()"
        before = page.evaluate(picture)
        page.wheel("canvas", -400, modifiers=CONTROL)
        page.evaluate("new Promise((resolve) => setTimeout(resolve, 100))")
        zoomed = page.evaluate(picture)
        check(zoomed != before, "the wheel with Ctrl does not zoom")
        x, y = page.place("canvas")
        page.mouse("mousePressed", x, y)
        for step in range(1, 5):
            page.mouse("mouseMoved", x - 30 * step, y)
        page.mouse("mouseReleased", x - 120, y)
        check(page.evaluate(picture) != zoomed and not page.evaluate(SHOWN), "dragging does not move the map, or opens a panel")


def check_explain(reports):
    """The page of an explanation has the next best option of every table; without a plan, what would help."""
    plan = reports.plan_file("after", SAMPLE, *MACHINE)
    path = reports.make("explain", "explain", SAMPLE, plan, *MACHINE)
    with reports.open(path) as page:
        check(page.texts("section")[0].startswith("Why every table is sharded so"), "tables are not first")
        check(page.texts("#tables thead button")[-2:] == ["Next best", "costs"], page.texts("#tables thead button"))
        check(all(text == "equal" or text.endswith(" ms") for text in page.texts("#tables td.change")), page.texts("#tables td.change"))
    small = ("--ranks", "2", "--hbm", "8GiB", "--ddr", "4GiB", "--mode", "compat")
    tables = [{"name": f"t{i}", "num_embeddings": 30_000_000, "embedding_dim": 64} for i in range(4)]
    path = reports.make("why_not", "explain", reports.write("why_not.json", {"tables": tables}), *small, status=3)
    with reports.open(path) as page:
        check(page.text(".verdict") == "No plan" and page.count("#remedies tbody tr") > 0, "nothing is said to help")
        check(any("--hbm" in text for text in page.texts("#remedies code")), page.texts("#remedies code"))
        check(page.count("#needs .need") == 2 and page.count("#needs .marked") == 2, "need and have are not one bar each")


def check_large_explanation(reports):
    """5,384 tables on 1,024 ranks stay below 5 MB with the options of every table."""
    tables = [{"name": f"t{i}", "num_embeddings": 1000 + 37 * i, "embedding_dim": 64, "pooling_factor": 1 + i % 30} for i in range(5384)]
    problem = reports.write("large_explained.json", {"tables": tables})
    flags = ("--ranks", "1024", "--ranks-per-host", "8", "--mode", "compat", "--batch-size", "32")
    plan = reports.plan_file("large_plan", problem, *flags, "--work-limit", "60000000")
    path = reports.make("large_explain", "explain", problem, plan, *flags)
    check(os.path.getsize(path) < 5_000_000, f"the report has {os.path.getsize(path)} bytes")
    with reports.open(path) as page:
        page.click("#tables tbody .open")
        check(page.count("#panel tbody tr") >= 4 and "are left out of this page" in page.text("#panel .panel-body"), "options are missing")
    other = reports.plan_file("other_plan", problem, *flags, "--work-limit", "6000000")
    path = reports.make("large_diff", "diff", plan, other)
    check(os.path.getsize(path) < 5_000_000, f"the report has {os.path.getsize(path)} bytes")
    with reports.open(path) as page:
        check(page.text("h1") == "Before and after", "the page is not drawn")


def check_change(reports):
    """What moves, who sends it to whom, and ranks before and after; the same for a replan."""
    before = reports.plan_file("before", SAMPLE, *MACHINE, "--mode", "compat")
    after = reports.plan_file("after", SAMPLE, *MACHINE)
    path = reports.make("diff", "diff", before, after)
    with reports.open(path) as page:
        check(page.evaluate("[...document.querySelectorAll('section')].map((node) => node.id)") == ["moves", "flows", "before-after"], "a section is missing")
        moves = page.count("#moves tbody tr")
        check(f"{moves} tables of 26 move" in page.text(".lead") and "8.116 ms to 7.097 ms" in page.text(".lead"), page.text(".lead"))
        moved = page.evaluate("change.moved_bytes")
        check(page.evaluate("change.flows.reduce((sum, flow) => sum + flow[2], 0)") == moved > 0, "the flows are not what moves")
        page.click("#moves input[type=search]")
        page.type("rank:12")
        check("rank%3A12" in page.evaluate("location.hash") and 0 < page.count("#moves tbody tr") < moves, "moves are not found by rank")
        page.click("#flows summary")
        check(page.count("#flows tbody tr") > 0 and page.count(".matrix .flow") == page.evaluate("change.flows.length"), "flows are missing")
    with open(SAMPLE, encoding="utf-8") as file:
        problem = json.load(file)
    gone = problem["tables"].pop(5)
    problem["tables"].append({**gone, "name": HOSTILE})
    path = reports.make("replan", "replan", reports.write("grown.json", problem), before, *MACHINE, "--migration-weight", "0.01", "--work-limit", "3000000")
    with reports.open(path) as page:
        check(page.text("#migration h2") == "What moves, and what it is worth" and "If everything stayed" in page.text("#migration"), page.text("#migration"))
        check(f"ebc.{HOSTILE}" in rows(page, "moves") and page.count("img") == 0, "a name was changed")
        check(page.count(".matrix .flow") > 0 and page.count("#before-after .line.before") == 2, "ranks before and after are missing")
    path = reports.make("problems", "diff", SAMPLE, os.path.join(reports.folder, "grown.json"), "--ranks", "16")
    with reports.open(path) as page:
        check(rows(page, "added") == [f"ebc.{HOSTILE}"] and rows(page, "removed") == ["ebc." + gone["name"]], "tables are missing")


def check_sweep(reports):
    """Machines as points: what beats what, what does not fit; measures are chosen, points are clicked."""
    path = reports.make("sweep", "sweep", SAMPLE, "--ranks", "1..16:x2", "--ranks-per-host", "8", "--ddr", "16GiB", "--hbm", "20GiB,80GiB", "--batch-size", "512",
                        "--price", "1,2.9", "--work-limit", "400000")
    with reports.open(path) as page:
        points = page.evaluate("answer.points.length")
        misfits = page.evaluate("answer.points.filter((point) => !point.fits).length")
        check(points == 10 and misfits > 0 and page.count(".scatter .point") == points, "points are missing")
        check(page.count(".scatter .point.failed") == misfits, "points that do not fit are not marked")
        check(page.count(".scatter .point.front") == page.evaluate("answer.points.filter((point) => point.pareto).length") > 1, "the front is not marked")
        check(page.count(".line.front") == 1 and "The fastest is" in page.text(".lead"), page.text(".lead"))
        page.evaluate("document.querySelector('.scatter .point.front').focus()")
        page.press("Enter")
        check("rank" in page.text("#panel-title") and "shardwright plan PROBLEM --ranks" in page.text("#panel pre"), "a point opens no panel")
        check(page.count(".scatter [aria-current=true]") == 1, "the point is not marked")
        page.press("Escape")
        page.evaluate("(() => { const select = document.querySelectorAll('#chart select')[1]; select.value = 'Ranks'; select.dispatchEvent(new Event('change')); })()")
        check(page.evaluate("location.hash") == "#x=ranks", page.evaluate("location.hash"))
        page.click("#machines input[type=search]")
        page.type("front")
        check(page.count("#machines tbody tr") == page.count(".scatter .point.front"), "the search does not find the front")
    with reports.open(path, address="#x=hbm&y=price") as page:
        check(page.evaluate("[...document.querySelectorAll('#chart select')].map((node) => node.value)") == ["Price per hour", "HBM per rank"], "measures are not read from the address")


def check_meshes(reports):
    """Meshes of a traced model as points."""
    path = reports.make("meshes", "operators", "sweep", "samples/data/traced_mlp.json", "--devices", "8", "--memory", "16GiB")
    with reports.open(path) as page:
        check(page.count(".scatter .point") == 4 and page.count("#meshes tbody tr") == 4, "meshes are missing")
        check("a step" in page.text(".lead"), page.text(".lead"))
        page.click("#meshes tbody .open", 1)
        check("operators plan GRAPH --mesh" in page.text("#panel pre"), "a mesh opens no panel")
    path = reports.make("no_mesh", "operators", "sweep", "samples/data/traced_mlp.json", "--devices", "8", "--memory", "100KiB", status=3)
    with reports.open(path) as page:
        check("are needed" in page.text("#meshes") and "are enough" in page.text("#meshes"), page.text("#meshes"))
    path = reports.make("hidden", "operators", "plan", "samples/data/traced_mlp.json", "--mesh", "2x2", "--memory", "1MiB", "--overlap", "1")
    with reports.open(path) as page:
        check("Operators hide" in page.text(".limits"), page.text(".limits"))


def check_program(reports):
    """Answers without drawings: their figures, and their lists as tables."""
    data = "samples/data/"
    for name, section, arguments in (
            ("apply", "programs", ("apply", data + "program.json", "--full")),
            ("reshard", "entries", ("reshard", data + "reshard.json")),
            ("redistribute", "steps", ("redistribute", data + "redistribution.json")),
            ("transfer", "transfers", ("transfer", data + "transfer.json"))):
        for width in (500, 1200):
            with reports.open(reports.program(name, *arguments), width) as page:
                check(page.count(f"section#{section} tbody tr") > 0, f"{name}: no rows of {section}")
                check("From" not in page.text(".subtitle"), page.text(".subtitle"))


def check_sorted(reports):
    """How a list is sorted stands in the address, and a link shows it so."""
    path = reports.plan("machine", SAMPLE, *MACHINE)
    with reports.open(path) as page:
        first = rows(page, "tables")
        page.click("#tables thead button")
        check(page.evaluate("location.hash") == "#sort-table=name", page.evaluate("location.hash"))
        page.click("#tables thead button")
        backwards = rows(page, "tables")
        check(page.evaluate("location.hash") == "#sort-table=-name" and backwards != first, page.evaluate("location.hash"))
    with reports.open(path, address="#sort-table=-name") as page:
        check(rows(page, "tables") == backwards and page.evaluate("document.querySelector('#tables th').getAttribute('aria-sort')") == "descending", "the address does not sort")
        page.click("#tables thead .ms button")
        check(rows(page, "tables") == first and page.evaluate("location.hash") == "", "the order of the page itself stands in the address")
    with reports.open(path, address="#sort-table=nothing") as page:
        check(rows(page, "tables") == first, "an unknown column sorts")


def check_saved(reports):
    """Saved answers: the pages of sweeps and differences again, figures and lists of all others."""
    plan = reports.plan_file("saved_plan", SAMPLE, *MACHINE, "--work-limit", "100000")
    other = reports.plan_file("saved_other", SAMPLE, "--ranks", "8", "--hbm", "80GiB", "--work-limit", "100000")
    data = "samples/data/"
    with reports.open(reports.saved("diff", "diff", plan, other)) as page:
        check(page.text("h1") == "Before and after" and page.count("#moves tbody tr") > 0, page.text("h1"))
    small = reports.write("small_problem.json", {"tables": [{"name": "ads", "num_embeddings": 1000, "embedding_dim": 64}]})
    with reports.open(reports.saved("problems", "diff", SAMPLE, small, "--ranks", "16")) as page:
        check(page.text("h1") == "Two problems" and rows(page, "added") == ["ebc.ads"] and page.count("#differences tbody tr") > 0, page.text("h1"))
    with reports.open(reports.saved("machines", "sweep", SAMPLE, "--ranks", "8,16", "--ranks-per-host", "8", "--work-limit", "100000")) as page:
        check(page.count("#machines tbody tr") == 2 and "The fastest is" in page.text(".lead"), page.text(".lead"))
    with reports.open(reports.saved("meshes", "operators", "sweep", data + "traced_mlp.json", "--devices", "8")) as page:
        check(page.count("#meshes tbody tr") == 4 and page.text(".subtitle").startswith("8 devices: 4 ways"), page.text(".subtitle"))
    with reports.open(reports.saved("explain", "explain", SAMPLE, plan, *MACHINE)) as page:
        check(page.text("h1") == "Explanation" and page.count("#tables tbody tr") == 25, page.text("h1"))
        name = page.text("#tables tbody td.table")
        page.click("#tables tbody .open")
        check(page.text("#panel-title") == name and page.count("#panel tbody tr") > 3, page.text("#panel-title"))
        page.press("Escape")
        page.click("#tables input[type=search]")
        page.type("cat_19")
        check(page.count("#tables tbody tr") == 1 and page.evaluate("location.hash") == "#find-tables=cat_19", page.evaluate("location.hash"))
    instance = reports.answer_file("saved_instance", "operators", "build", data + "mlp_graph.json", "--mesh", "2x2")
    for name, title, section, arguments in (
            ("solution", "Solution of a cost instance", "figures", ("operators", "solve", instance)),
            ("strategies", "Answer of operators strategies", "records", ("operators", "strategies", data + "linear.json")),
            ("paths", "List of resharding paths", "entries", ("operators", "paths", data + "paths.json")),
            ("autoshard", "Answer of operators autoshard", "table", ("operators", "autoshard", data + "autoshard_mlp.json", "--devices", "4")),
            ("model", "Plan of a traced model", "nodes", ("operators", "plan", data + "traced_mlp.json", "--mesh", "4x2")),
            ("apply", "Program", "programs", ("program", "apply", data + "program.json")),
            ("experts", "Plan of experts", "gpu-loads", ("experts", "plan", data + "experts.json")),
            ("transfer", "Answer of program transfer", "transfers", ("program", "transfer", data + "transfer.json"))):
        with reports.open(reports.saved(name, *arguments)) as page:
            check(page.text("h1") == title, page.text("h1"))
            check(page.count(f"section#{section}") == 1, f"{name}: no section {section}")
    hostile = reports.write("saved_hostile.json", {"status": HOSTILE, "objective": 1.0, "names": [HOSTILE] * 9, HOSTILE: 1})
    with reports.open(reports.make("saved_hostile", "report", hostile)) as page:
        check(page.count("img") == 0 and page.evaluate("document.title") != "owned", "a text became markup")


def contrasts(page):
    """The least contrast of texts with their grounds, of the colours that the page defines."""
    return page.evaluate("""(() => {
      const probe = document.createElement("i");
      document.body.append(probe);
      const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const light = (name) => {
        probe.style.color = `var(${name})`;
        canvas.fillStyle = getComputedStyle(probe).color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const found = ["--text", "--muted", "--accent", "--good", "--fair", "--bad"].flatMap((ink) => ["--ground", "--card"].map((ground) => contrast(light(ink), light(ground))));
      probe.remove();
      return Math.min(...found);
    })()""")


def cut_off(page):
    """The sections whose lists are wider than the screen. Those of slices may be: slices are not broken."""
    return page.evaluate("""[...document.querySelectorAll(".scroll")].filter((list) => list.querySelector("table") && list.scrollWidth > list.clientWidth)
      .map((list) => list.closest("section")?.id).filter((id) => id !== "holdings")""")


def check_screens(reports):
    """Every page so far on a phone, in the dark and in print."""
    pages = sorted(name for name in os.listdir(reports.folder) if name.endswith(".html"))
    check(len(pages) > 20, f"only {len(pages)} pages")
    for name in pages:
        path = os.path.join(reports.folder, name)
        with reports.open(path, 390, height=844, touch=True) as page:
            check(page.overflow() <= 0, f"{name}: {page.overflow()} pixels wider than a phone")
            check(not cut_off(page), f"{name}: on a phone, columns are cut off in {cut_off(page)}")
        with reports.open(path, dark=True) as page:
            check(not cut_off(page), f"{name}: columns are cut off in {cut_off(page)}")
            check(contrasts(page) >= 4.5, f"{name}: a text in the dark has a contrast of {contrasts(page)}")
            page.emulate()
            check(contrasts(page) >= 4.5, f"{name}: a text has a contrast of {contrasts(page)}")
            page.emulate(media="print", dark=True)
            styles = page.evaluate("[getComputedStyle(document.querySelector('nav')).display, getComputedStyle(document.querySelector('thead') ?? document.body).display, "
                                   "getComputedStyle(document.body).backgroundColor]")
            check(styles[0] == "none" and styles[1] in ("table-header-group", "block") and styles[2] == "rgba(0, 0, 0, 0)", f"{name}: printed with {styles}")
            check(page.pdf().startswith(b"%PDF"), f"{name}: is not printed")


PARTS = (check_why, check_rank, check_keys_and_mouse, check_zoom, check_explain, check_change, check_sweep, check_meshes, check_program, check_sorted, check_saved,
         check_large_explanation, check_screens)
