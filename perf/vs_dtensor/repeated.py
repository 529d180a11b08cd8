"""What a question costs that was asked before."""

import json
import subprocess
import time

from torch.distributed.tensor import _redistribute

import shardwright.torch
from dtensor.cases import Pair, Placed, mesh_of

ROUNDS, CALLS = 7, 2000
PAIR = Pair((2, 2, 2), (64, 32, 16), "sum", Placed(("P", 0, 0), (0, 1, 2)),
            Placed((1, "R", 0), (0, 1, 2)))


def microseconds(function, arguments):
    """Of a call; the least of some rounds, as the machine has other load. Each round has new
    arguments.
    """
    function(*arguments())
    least = float("inf")
    for _ in range(ROUNDS):
        calls = [arguments() for _ in range(CALLS)]
        begin = time.process_time()
        for call in calls:
            function(*call)
        least = min(least, time.process_time() - begin)
    return least / CALLS * 1e6


def in_python():
    mesh = mesh_of(PAIR.mesh)
    known = PAIR.specs(mesh)
    torchs = _redistribute._gen_transform_infos
    with shardwright.torch.redistribution():
        ours = _redistribute._gen_transform_infos
    tensor = PAIR.mesh, PAIR.shape, 4
    objects = [placed.placements("sum") for placed in (PAIR.source, PAIR.target)]
    words = [placed.words("sum") for placed in (PAIR.source, PAIR.target)]
    plan = shardwright.torch.plan_redistribution
    return [
        ("torch's own planner, the same specifications", microseconds(torchs, lambda: known)),
        ("... equal ones", microseconds(torchs, lambda: PAIR.specs(mesh))),
        ("drop-in, the same specifications", microseconds(ours, lambda: known)),
        ("... equal ones", microseconds(ours, lambda: PAIR.specs(mesh))),
        ("`plan_redistribution`, torch's placements",
         microseconds(plan, lambda: (*tensor, *objects))),
        ("... words", microseconds(plan, lambda: (*tensor, *words))),
    ]


def in_cpp(program):
    done = subprocess.run(
        [program, "--benchmark_filter=redistribution_", "--benchmark_format=json",
         "--benchmark_min_time=0.2", "--benchmark_repetitions=5"],
        check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    least = {}
    for run in json.loads(done.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            name = run["run_name"]
            least[name] = min(least.get(name, float("inf")), run["cpu_time"])
    return [(f"C++, {'a new question' if 'new' in name else '`RedistributionTable`'}, "
             f"{name.rpartition(':')[2]} axes of 2", time) for name, time in least.items()]
