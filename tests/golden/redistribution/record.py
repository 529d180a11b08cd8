#!/usr/bin/env python3
"""Records what AutoParallel and PyTorch's DTensor take collectives and redistributions to cost, for random questions.

Usage: record.py --autoparallel CHECKOUT [--folder FOLDER] [--seed N]

CHECKOUT is a checkout of https://github.com/meta-pytorch/autoparallel; the recorded answers are of its commit a54c2529.
Needs torch 2.13 (a build for CPUs), no GPU and no processes beside this one. Writes the files named in main().
autoparallel_nccl.json.gz is not among them: its rows were recorded apart from this script.
"""

import argparse
import contextlib
import gzip
import importlib
import json
import math
import os
import random
import sys
import types

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor import _collective_utils as collective_utils
from torch.distributed.tensor._dtensor_spec import DTensorSpec, TensorMeta
from torch.testing._internal.distributed.fake_pg import FakeStore

WORLD = 512
COLLECTIVES = ("allgather", "reduce_scatter", "allreduce", "all_to_all")
REDUCE_OPS = ("sum", "avg", "min", "max", "product")
DTYPES = (torch.int8, torch.bfloat16, torch.float32, torch.float64)
HOSTS = (1, 2, 4, 8, 72)
DEVICES = ("H100", "B200", "A100", "T4", "AMD Instinct MI300X")


def load_autoparallel(checkout):
    """Imports the cost models alone; the package itself would import the whole of AutoParallel."""
    for name in ("autoparallel", "autoparallel.cost_models"):
        package = types.ModuleType(name)
        package.__path__ = [os.path.join(checkout, *name.split("."))]
        sys.modules[name] = package
    return types.SimpleNamespace(
        nccl=importlib.import_module("autoparallel.cost_models.nccl_cost_model"),
        compute=importlib.import_module("autoparallel.cost_models.compute_estimation"),
        collectives=importlib.import_module("autoparallel.cost_models.collective_runtime_estimation"))


class Meshes:
    """Meshes of ranks that do not exist. Topologies are cached per mesh upstream, so the cache is emptied."""

    def __init__(self):
        dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=WORLD)
        self.by_shape = {}

    def get(self, shape):
        if shape not in self.by_shape:
            ranks = torch.arange(math.prod(shape)).reshape(shape)
            self.by_shape[shape] = DeviceMesh("cpu", ranks)
        return self.by_shape[shape]


@contextlib.contextmanager
def devices_per_host(count):
    resources = collective_utils._mesh_resources
    kept = resources.num_devices_per_host
    collective_utils.MeshTopoInfo.build_from_mesh.cache_clear()
    resources.num_devices_per_host = lambda device_type: count
    yield
    resources.num_devices_per_host = kept
    collective_utils.MeshTopoInfo.build_from_mesh.cache_clear()


def random_mesh(rng, sizes, axes=(1, 2, 3)):
    while True:
        shape = tuple(rng.choice(sizes) for _ in range(rng.choice(axes)))
        if math.prod(shape) <= WORLD:
            return shape


def random_bytes(rng):
    """Any order of magnitude, powers of two and their neighbours."""
    size = rng.choice((0, 1, -1)) + 2 ** rng.randrange(0, 38) if rng.random() < 0.5 else int(2 ** rng.uniform(0, 38))
    return max(size, 0)


def finite(microseconds):
    return microseconds if math.isfinite(microseconds) else None


def as_text(placement):
    if isinstance(placement, Shard):
        return f"S{placement.dim}"
    return "R" if isinstance(placement, Replicate) else f"P{placement.reduce_op}"


def random_nccl_config(rng, nccl):
    """Returns a configuration, with every field that costs depend on, as JSON and as upstream's object."""
    architecture = rng.choice(("AMPERE", "HOPPER", "BLACKWELL"))
    config = {
        "architecture": architecture,
        "gpus_per_node": rng.choice((1, 2, 4, 6, 8, 16, 72, 256)),
        "bw_intra": rng.choice((87.7, 320.0, 640.0, 10 ** rng.uniform(-3, 3))),
        "bw_inter": rng.choice((25.0, 50.0, 10 ** rng.uniform(-3, 2))),
        "num_channels": rng.choice((None, None, None, 1, 2, 24, 32)),
        "has_nvswitch": rng.random() < 0.6,
        "has_collnet": rng.random() < 0.3,
        "net_latency": rng.choice((0.0, 0.0, rng.uniform(0, 10))),
    }
    fields = dict(config, arch=nccl.GpuArch[architecture], num_nodes=1)
    del fields["architecture"]
    return config, nccl.NCCLTopoConfig(**fields)


def random_nccl_question(rng, nccl, collectives):
    """Returns a row of configuration, mesh, axis, collective, bytes, and upstream's objects for it."""
    config, upstream = random_nccl_config(rng, nccl)
    mesh = tuple(rng.choice((1, 2, 3, 4, 5, 8, 12, 16, 32, 64, 128, 256)) for _ in range(rng.choice((1, 2, 3))))
    axis, collective, size = rng.randrange(len(mesh)), rng.choice(collectives), random_bytes(rng)
    topology = nccl.derive_mesh_dim_topo(upstream, mesh, axis)
    if rng.random() < 0.1:  # where the plateau of rings begins
        size = 64 * topology.n_channels * topology.n_ranks + rng.choice((-1, 0, 1))
    return [config, mesh, axis, collective, size], topology, upstream


def nccl_variants(rng, autoparallel, _):
    """Rows of configuration, mesh, axis, collective, bytes, microseconds."""
    nccl = autoparallel.nccl
    costs = dict(zip(COLLECTIVES, (nccl.nccl_allgather_cost, nccl.nccl_reduce_scatter_cost, nccl.nccl_allreduce_cost,
                                   nccl.nccl_all_to_all_cost)))
    rows = []
    while len(rows) < 6000:
        row, topology, upstream = random_nccl_question(rng, nccl, COLLECTIVES)
        # Upstream divides by zero for a ring of one rank.
        with contextlib.suppress(ZeroDivisionError):
            rows.append([*row, finite(costs[row[3]](row[4], topology, upstream))])
    return rows


def nccl_methods(rng, autoparallel, _):
    """The same of one algorithm and protocol: rows of the question, algorithm, protocol, microseconds."""
    nccl = autoparallel.nccl
    functions = dict(zip(COLLECTIVES, (nccl.NCCLFunc.ALLGATHER, nccl.NCCLFunc.REDUCESCATTER, nccl.NCCLFunc.ALLREDUCE)))
    rows = []
    while len(rows) < 3000:
        row, topology, upstream = random_nccl_question(rng, nccl, tuple(functions))
        function = functions[row[3]]
        algorithm = rng.choice(nccl._eligible_algos(function, upstream, topology.n_nodes))
        protocol = rng.choice(nccl._eligible_protos(algorithm))
        with contextlib.suppress(ZeroDivisionError):
            microseconds = nccl._nccl_algo_time(function, algorithm, protocol, row[4], topology, upstream)
            rows.append([*row, algorithm.name, protocol.name, finite(microseconds)])
    return rows


def flat(rng, autoparallel, meshes):
    """Rows of devices per host, mesh, axis, collective, bytes, microseconds."""
    rows = []
    autoparallel.collectives.set_nccl_topo_config(None)
    for _ in range(600):
        mesh, host = random_mesh(rng, (1, 2, 3, 4, 5, 8, 16)), rng.choice(HOSTS)
        axis, collective, size = rng.randrange(len(mesh)), rng.choice(COLLECTIVES), random_bytes(rng)
        with devices_per_host(host):
            topology = collective_utils.MeshTopoInfo.build_from_mesh(meshes.get(mesh))
            microseconds = autoparallel.collectives.collective_comm_cost(collective, size, mesh, axis, topology)
        rows.append([host, mesh, axis, collective, size, microseconds])
    return rows


def dtensor_collectives(rng, _, meshes):
    """Rows of devices per host, mesh, axis, collective, bytes (with a fraction), microseconds."""
    costs = {"allgather": collective_utils.allgather_cost, "reduce_scatter": collective_utils.reduce_scatter_cost,
             "allreduce": collective_utils.allreduce_cost}
    rows = []
    for _ in range(600):
        mesh, host = random_mesh(rng, (1, 2, 3, 4, 5, 8, 16)), rng.choice(HOSTS)
        axis, collective = rng.randrange(len(mesh)), rng.choice(tuple(costs))
        gb = 2 ** rng.uniform(-30, 8)
        with devices_per_host(host):
            topology = collective_utils.MeshTopoInfo.build_from_mesh(meshes.get(mesh))
            rows.append([host, mesh, axis, collective, gb * 2**30, costs[collective](gb, topology, axis)])
    return rows


def random_placement(rng, dims):
    kind = rng.choice("RSSP")
    if kind == "S":
        return Shard(rng.randrange(dims))
    return Replicate() if kind == "R" else Partial(rng.choice(REDUCE_OPS) if rng.random() < 0.3 else "sum")


def random_tensor(rng):
    shape = [rng.choice((1, 2, 3, 8, 60, 256, 1000, 4096)) for _ in range(rng.choice((1, 2, 3)))]
    strides, step = [0] * len(shape), 1
    order = list(range(len(shape)))[::-1]
    if rng.random() < 0.4:
        rng.shuffle(order)
    for dim in order:
        strides[dim] = step
        step *= shape[dim]
    return TensorMeta(torch.Size(shape), tuple(strides), rng.choice(DTYPES))


class Question:
    """One tensor on one mesh with two placements."""

    def __init__(self, rng, meshes):
        self.mesh, self.host = random_mesh(rng, (1, 2, 3, 4, 5, 8)), rng.choice(HOSTS)
        self.device_mesh, self.tensor = meshes.get(self.mesh), random_tensor(rng)
        dims = len(self.tensor.shape)
        self.source = tuple(random_placement(rng, dims) for _ in self.mesh)
        self.target = tuple(random_placement(rng, dims) if rng.random() < 0.7 else source for source in self.source)

    def spec(self, placements):
        return DTensorSpec(self.device_mesh, placements, tensor_meta=self.tensor)

    def row(self, *more):
        return [self.mesh, self.tensor.shape, self.tensor.stride, self.tensor.dtype.itemsize,
                [as_text(placement) for placement in self.source], [as_text(placement) for placement in self.target],
                *more]


def autoparallel_redistribution(rng, autoparallel, meshes):
    """Rows of the question, the model ("flat" or an architecture), devices per host, device, microseconds."""
    nccl, limits = autoparallel.nccl, {limit.name: limit for limit in autoparallel.compute.DEVICE_LIMITS}
    configs = {"flat": lambda host: None, "a100": nccl.a100_topo_config, "h100": nccl.h100_topo_config,
               "gb200": nccl.gb200_topo_config}
    rows = []
    while len(rows) < 3000:
        question, model, device = Question(rng, meshes), rng.choice(tuple(configs)), rng.choice(DEVICES)
        if model != "flat" and 1 in question.mesh:
            continue  # see nccl_variants
        bandwidth = limits[device].gmem_bandwidth
        autoparallel.compute._get_device_gmem_bandwidth = lambda: bandwidth
        # Also empties the cache, which does not know the mesh.
        autoparallel.collectives.set_nccl_topo_config(
            configs[model](gpus_per_node=question.host) if model != "flat" else None)
        with devices_per_host(question.host):
            microseconds = autoparallel.collectives.estimate_strategy_comms_cost(
                question.spec(question.source), question.spec(question.target))
        rows.append(question.row(model, question.host, device, finite(microseconds)))
    return rows


def dtensor_redistribution(rng, _, meshes):
    """Rows of the question, devices per host, microseconds."""
    rows = []
    for _ in range(3000):
        question = Question(rng, meshes)
        with devices_per_host(question.host):
            microseconds = collective_utils.redistribute_cost(
                question.spec(question.source), question.spec(question.target))
        rows.append(question.row(question.host, finite(microseconds)))
    return rows


def dtensor_steps(rng, _, meshes):
    """The same, of single steps in the search for a cheapest plan."""
    rows = []
    for _ in range(1000):
        question = Question(rng, meshes)
        axis = rng.randrange(len(question.mesh))
        question.target = (*question.source[:axis], random_placement(rng, len(question.tensor.shape)),
                           *question.source[axis + 1:])
        with devices_per_host(question.host):
            microseconds = collective_utils.one_step_redistribute_cost(
                question.spec(question.source), question.spec(question.target))
        rows.append(question.row(question.host, finite(microseconds)))
    return rows


def write(path, recorded):
    """Each row on a line of its own. Doubles are written so that they are read back exactly."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in recorded.pop("rows"))
    head = json.dumps(recorded)[:-1]
    with open(path, "wb") as file:
        file.write(gzip.compress(f'{head}, "rows": [\n{lines}\n]}}\n'.encode(), mtime=0))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--autoparallel", required=True)
    parser.add_argument("--folder", default=os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    autoparallel, meshes = load_autoparallel(arguments.autoparallel), Meshes()
    for name, record in (("autoparallel_nccl_variants", nccl_variants),
                         ("autoparallel_nccl_methods", nccl_methods), ("autoparallel_flat", flat),
                         ("autoparallel_redistribution", autoparallel_redistribution),
                         ("dtensor_collectives", dtensor_collectives),
                         ("dtensor_redistribution", dtensor_redistribution), ("dtensor_steps", dtensor_steps)):
        rows = record(random.Random(f"{arguments.seed} {name}"), autoparallel, meshes)
        finite_rows = sum(row[-1] is not None for row in rows)
        print(f"{name}: {len(rows)} rows, {finite_rows} of them finite")
        write(os.path.join(arguments.folder, name + ".json.gz"),
              {"torch": torch.__version__, "seed": arguments.seed, "rows": rows})


if __name__ == "__main__":
    main()
