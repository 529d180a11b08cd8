"""The options and the memory of a problem, read from its file, and what a plan costs."""

import math
from dataclasses import dataclass

GIB = 1 << 30
INPUT_BYTES = 8    # of one index; TorchRec's BIGINT_DTYPE
INPUT_COPIES = 20  # that TorchRec's heuristical reservation keeps


@dataclass(frozen=True)
class Shard:
    rows: int
    columns: int
    row: int
    column: int
    ms: float  # what the rating sums: milliseconds, or bytes of HBM in the storage model
    hbm: int
    ddr: int

    def cost(self):
        return self.ms, self.hbm, self.ddr

    def region(self):
        return self.rows, self.columns, self.row, self.column


@dataclass(frozen=True)
class Option:
    table: str  # as key_of() makes it
    sharding_type: str
    kernel: str
    shards: tuple

    def name(self):
        return f"{self.table} {self.sharding_type}.{self.kernel}"


def key_of(module, name):
    """Several modules may have a table of one name."""
    return f"{module}/{name}"


def name_of(key):
    return key.split("/", 1)[1]


def key_of_table(table):
    module = "ec" if table.get("kind") == "sequence" else "ebc_w" if table.get("weighted") else "ebc"
    return key_of(table.get("module", module), table["name"])


def factor_at(given, key, columns):
    """A calibration factor: a number, or points by columns, linear in between."""
    if given is None:
        return 1.0
    if not isinstance(given, list):
        return float(given)
    below = [p for p in given if p["dim"] <= columns]
    above = [p for p in given if p["dim"] > columns]
    if not below:
        return float(above[0][key])
    if not above:
        return float(below[-1][key])
    low, high = below[-1], above[0]
    share = (columns - low["dim"]) / (high["dim"] - low["dim"])
    return low[key] + (high[key] - low[key]) * share


def read_options(search_space, problem):
    """The options of every table by its key, with measured kernel factors applied."""
    calibration = problem.get("calibration", {})
    by_storage = problem.get("perf_model") == "storage"
    options = {}
    for entry in search_space:
        factors = calibration.get("kernels", {}).get(entry["compute_kernel"], {})
        shards = []
        for shard in entry["shards"]:
            rows, columns = shard["size"]
            time = factor_at(factors.get("time"), "time", columns)
            comms = factor_at(factors.get("comms"), "comms", columns)
            memory = factors.get("memory", 1)
            forward, forward_comms, backward, backward_comms, prefetch = shard["perf"]
            ms = (forward + backward + prefetch) * time + (forward_comms + backward_comms) * comms
            hbm, ddr = math.ceil(shard["hbm"] * memory), math.ceil(shard["ddr"] * memory)
            shards.append(Shard(rows, columns, *shard["offset"], hbm if by_storage else ms, hbm, ddr))
        option = Option(key_of(entry["module"], entry["table"]), entry["sharding_type"], entry["compute_kernel"],
                        tuple(shards))
        options.setdefault(option.table, []).append(option)
    return options


def per_rank(value, world):
    return list(value) if isinstance(value, list) else [value] * world


class Machine:
    """Ranks with the memory that reservation, reserved memory and margin leave, and their speeds."""

    def __init__(self, problem):
        topology = problem["topology"]
        self.world = topology["world_size"]
        self.local = topology["local_world_size"]
        self.hosts = self.world // self.local
        self.on_cpu = topology.get("compute_device", "cuda") == "cpu"
        custom = topology.get("custom", {})
        hbm = custom.get("hbm_cap") or per_rank(topology["hbm_cap"], self.world)
        ddr = custom.get("ddr_cap") or per_rank(topology["ddr_cap"], self.world)
        self.hbm = [0] * self.world if self.on_cpu and not custom else list(hbm)
        self.ddr = list(ddr)
        self.take_reservation(problem)
        # TorchRec plans nothing if the heuristical reservation takes more HBM than the first rank has.
        heuristical = problem["reservation"]["type"] == "heuristical"
        self.overdrawn = max(0, -self.hbm[0]) if heuristical else 0
        reserved = problem.get("reserved_memory", {})
        for tier, left in (("hbm", self.hbm), ("ddr", self.ddr)):
            taken = per_rank(reserved.get(tier, 0), self.world)
            for rank in range(self.world):
                left[rank] -= taken[rank]
                left[rank] -= self.margin(problem.get("memory_margin", 0), tier, left[rank])
        self.speed = [1.0] * self.world
        if problem.get("perf_model") != "storage":
            self.speed = problem.get("calibration", {}).get("ranks", {}).get("time") or self.speed

    @staticmethod
    def margin(margin, tier, left):
        if isinstance(margin, dict):
            margin = margin.get(tier, 0)
        if left <= 0:
            return 0
        return min(left, math.ceil(margin * left) if margin < 1 else margin)

    def take_reservation(self, problem):
        reservation = problem["reservation"]
        if reservation["type"] == "none":
            return
        inputs = 0
        if reservation["type"] == "heuristical":
            samples = sum(t["pooling_factor"] for t in problem["tables"]) * problem["batch_size"]
            inputs = math.ceil(samples * INPUT_BYTES) * INPUT_COPIES
        self.hbm = [int((1 - reservation["percentage"]) * size) for size in self.hbm]
        tier = self.ddr if self.on_cpu else self.hbm
        for rank in range(self.world):
            tier[rank] -= inputs

    def host(self, rank):
        return rank // self.local


def loads(plan, machine):
    """Times, HBM and DDR of every rank."""
    ms, hbm, ddr = ([0] * machine.world for _ in range(3))
    for option, ranks in plan.values():
        for shard, rank in zip(option.shards, ranks):
            ms[rank] += shard.ms
            hbm[rank] += shard.hbm
            ddr[rank] += shard.ddr
    return [t * s for t, s in zip(ms, machine.speed)], hbm, ddr


def excess(plan, machine):
    """Bytes by which ranks are too full. With a reservation that fits, an empty rank is not."""
    _, hbm, ddr = loads(plan, machine)
    over = machine.overdrawn
    for rank in range(machine.world):
        if hbm[rank] or ddr[rank]:
            over += max(hbm[rank] - machine.hbm[rank], 0) + max(ddr[rank] - machine.ddr[rank], 0)
    return over


def rating(plan, machine):
    return max(loads(plan, machine)[0])


def read_plan(entries, options):
    """Finds the options of a plan file; None for a table whose option does not exist."""
    plan = {}
    for entry in entries:
        key = key_of(entry["module"], entry["table"])
        named = [o for o in options.get(key, [])
                 if (o.sharding_type, o.kernel) == (entry["sharding_type"], entry["compute_kernel"])
                 and len(o.shards) == len(entry["ranks"])]
        plan[key] = (named[0], list(entry["ranks"])) if named else None
    return plan
