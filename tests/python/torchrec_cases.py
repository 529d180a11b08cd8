"""Modules, machines and constraints that planners are compared on."""

import logging
import random
import warnings
from dataclasses import dataclass, field

warnings.simplefilter("ignore")
logging.disable(logging.ERROR)

import torch
from torch import nn
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embedding_tower_sharding import (EmbeddingTowerCollectionSharder,
                                                           EmbeddingTowerSharder)
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.planner import EmbeddingShardingPlanner, ParameterConstraints, Topology
from torchrec.distributed.planner.enumerators import EmbeddingEnumerator
from torchrec.distributed.planner.partitioners import (GreedyPerfPartitioner,
                                                       MemoryBalancedPartitioner, SortBy)
from torchrec.distributed.planner.perf_models import NoopStorageModel
from torchrec.distributed.planner.proposers import (DynamicProgrammingProposer,
                                                    EmbeddingOffloadScaleupProposer,
                                                    GreedyProposer, UniformProposer)
from torchrec.distributed.planner.shard_estimators import (EmbeddingOffloadStats,
                                                           EmbeddingPerfEstimator,
                                                           EmbeddingStorageEstimator)
from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation
from torchrec.distributed.planner.types import CustomTopologyData
from torchrec.distributed.types import CacheParams, PipelineType
from torchrec.modules.embedding_configs import DataType, EmbeddingBagConfig, EmbeddingConfig
from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
from torchrec.modules.embedding_tower import EmbeddingTower, EmbeddingTowerCollection

GIB = 1 << 30
DIMS = (4, 16, 32, 64, 96, 128, 256, 384, 512)
EIGHT = {"world_size": 8, "local_world_size": 4}


def bags(count, seed=0, largest=20_000_000, data_type=DataType.FP32, prefix="t", dims=DIMS):
    chance = random.Random(seed)
    return [EmbeddingBagConfig(
        name=f"{prefix}{i}", num_embeddings=chance.randint(3, largest) >> chance.randint(0, 8) or 1,
        embedding_dim=chance.choice(dims), feature_names=[f"{prefix}f{i}"], data_type=data_type)
        for i in range(count)]


class Model(nn.Module):
    """Modules by name; `over` and `under` lie on two levels."""

    def __init__(self, **modules):
        super().__init__()
        for name, module in modules.items():
            setattr(self, name, module)
        self.dense = nn.Linear(16, 16)


def bag_module(tables, weighted=False):
    return EmbeddingBagCollection(tables=tables, is_weighted=weighted, device=torch.device("meta"))


def bag_model(count=6, seed=40):
    """A model of `count` tables t0, t1, ... in the module ebc."""
    return Model(ebc=bag_module(bags(count, seed)))


def sequence_module(count, seed=0, prefix="s"):
    tables = [EmbeddingConfig(name=t.name, num_embeddings=t.num_embeddings, embedding_dim=64,
                              feature_names=t.feature_names)
              for t in bags(count, seed, 500_000, prefix=prefix)]
    return EmbeddingCollection(tables=tables, device=torch.device("meta"))


def tower(seed, prefix):
    return EmbeddingTower(embedding_module=bag_module(bags(3, seed, prefix=prefix)),
                          interaction_module=nn.Identity())


def sharders(**options):
    return [EmbeddingBagCollectionSharder(**options), EmbeddingCollectionSharder()]


@dataclass
class Case:
    """A planning problem of TorchRec; `planner` takes the class of the planner."""

    module: nn.Module
    topology: dict
    sharders: list = field(default_factory=sharders)
    constraints: dict | None = None
    batch_size: int = 512
    estimators: object = None  # topology, constraints -> list
    proposers: object = None  # () -> list
    partitioner: object = None
    performance_model: object = None
    options: dict = field(default_factory=dict)

    def make_topology(self):
        return Topology(**{"compute_device": "cuda", "hbm_cap": 40 * GIB, **self.topology})

    def planner(self, kind=EmbeddingShardingPlanner, **more):
        topology = self.make_topology()
        enumerator = None
        if self.estimators is not None:
            enumerator = EmbeddingEnumerator(
                topology, self.batch_size, self.constraints,
                self.estimators(topology, self.constraints))
        model = self.performance_model(topology) if self.performance_model else None
        return kind(topology=topology, batch_size=self.batch_size, enumerator=enumerator,
                    proposer=self.proposers() if self.proposers else None,
                    partitioner=self.partitioner() if self.partitioner else None,
                    performance_model=model, constraints=self.constraints, debug=False, stats=[],
                    storage_reservation=FixedPercentageStorageReservation(0.15),
                    **self.options, **more)

    def plan(self, kind=EmbeddingShardingPlanner, **more):
        planner = self.planner(kind, **more)
        return planner, planner.plan(self.module, self.sharders)


def _constraints():
    return {
        "t0": ParameterConstraints(sharding_types=["table_wise", "column_wise"], min_partition=32),
        "t1": ParameterConstraints(compute_kernels=["fused_uvm_caching"],
                                   cache_params=CacheParams(load_factor=0.3)),
        "t2": ParameterConstraints(pooling_factors=[30.0], num_poolings=[2.0], batch_sizes=[256]),
        "t3": ParameterConstraints(sharding_types=["grid_shard", "row_wise"], min_partition=64),
        "t4": ParameterConstraints(pooling_factors=[0.25], output_dtype=DataType.FP16),
        "t5": ParameterConstraints(compute_kernels=["fused_uvm", "dense", "fused"],
                                   sharding_types=["row_wise", "data_parallel", "table_row_wise"]),
        "t6": ParameterConstraints(
            compute_kernels=["fused_uvm_caching", "fused"],
            cache_params=CacheParams(load_factor=0.1, stats=EmbeddingOffloadStats(
                cacheability=0.4, expected_lookups=1000, mrc_hist_counts=torch.tensor([3, 2, 1]),
                height=10))),
    }


def _estimators(pipeline):
    def make(topology, constraints):
        return [EmbeddingPerfEstimator(topology, constraints),
                EmbeddingStorageEstimator(topology, constraints, pipeline_type=pipeline,
                                          run_embedding_at_peak_memory=True)]
    return make


def _with_optimizers():
    module = bag_module(bags(8, 3))
    optimizers = [torch.optim.SGD, torch.optim.Adam, torch.optim.Adagrad]
    for i, parameter in enumerate(module.parameters()):
        parameter._optimizer_classes = [optimizers[i % 3]]
    return module


def scaled_caches():
    """Six tables in caches that TorchRec's proposer scales up."""
    constraints = {f"t{i}": ParameterConstraints(
        compute_kernels=["fused_uvm_caching"], cache_params=CacheParams(
            load_factor=0.1, stats=EmbeddingOffloadStats(
                cacheability=0.4, expected_lookups=1000,
                mrc_hist_counts=torch.tensor([3, 2, 1]), height=10))) for i in range(6)}
    return Case(bag_model(), EIGHT, constraints=constraints,
                proposers=lambda: [EmbeddingOffloadScaleupProposer(), GreedyProposer()])


def cases():
    """Returns cases by name. Each takes TorchRec's planner a few seconds at most."""
    eight = {"world_size": 8, "local_world_size": 4}
    return {
        "two_tables_grid": Case(Model(ebc=bag_module(bags(2, 1))), eight),
        "bags": Case(Model(ebc=bag_module(bags(14, 2))), {"world_size": 16, "local_world_size": 8}),
        "module_itself": Case(bag_module(bags(5, 4)), eight),
        "one_rank": Case(Model(ebc=bag_module(bags(5, 5))), {"world_size": 1}),
        "equal_tables": Case(Model(ebc=bag_module([
            EmbeddingBagConfig(name=f"t{i}", num_embeddings=100_000 if i % 2 else 10,
                               embedding_dim=64, feature_names=[f"f{i}"]) for i in range(10)])),
            eight),
        "many_modules": Case(Model(
            over=Model(under=bag_module(bags(4, 6, prefix="a")), next=sequence_module(3, 7)),
            weighted=bag_module(bags(3, 8, prefix="w"), weighted=True),
            half=bag_module(bags(3, 9, prefix="h", data_type=DataType.FP16))), eight),
        "constraints": Case(Model(ebc=bag_module(bags(8, 10))),
                            {"world_size": 16, "local_world_size": 4}, constraints=_constraints()),
        "optimizers": Case(Model(ebc=_with_optimizers()), eight),
        "fused_params": Case(Model(ebc=bag_module(bags(6, 11))), eight, sharders=sharders(
            fused_params={"cache_load_factor": 0.5, "prefetch_pipeline": True})),
        "prefetch_pipeline": Case(Model(ebc=bag_module(bags(6, 12))), eight,
                                  estimators=_estimators(PipelineType.TRAIN_PREFETCH_SPARSE_DIST)),
        "sparse_pipeline": Case(Model(ebc=bag_module(bags(6, 13))), eight,
                                estimators=_estimators(PipelineType.TRAIN_SPARSE_DIST)),
        "memory_by_rank": Case(Model(ebc=bag_module(bags(8, 14))), {
            **eight, "custom_topology_data": CustomTopologyData(
                {"hbm_cap": [(4 + 4 * i) * GIB for i in range(8)]}, 8)}),
        "tight": Case(Model(ebc=bag_module(bags(10, 15, dims=(128, 256)))),
                      {**eight, "hbm_cap": 6 * GIB, "ddr_cap": 20 * GIB}),
        "cpu": Case(Model(ebc=bag_module(bags(5, 16))), {**eight, "compute_device": "cpu"}),
        "uneven_rows": Case(Model(ebc=bag_module([
            EmbeddingBagConfig(name=f"t{i}", num_embeddings=rows, embedding_dim=36 + 4 * i,
                               feature_names=[f"f{i}"])
            for i, rows in enumerate((1, 5, 9, 10, 17))])),
            {"world_size": 12, "local_world_size": 4}),
        "threshold": Case(Model(ebc=bag_module(bags(9, 17))), eight,
                          proposers=lambda: [GreedyProposer(threshold=20), UniformProposer()]),
        "dynamic_programming": Case(Model(ebc=bag_module(bags(6, 18))), eight,
                                    proposers=lambda: [DynamicProgrammingProposer(20)]),
        "memory_balanced": Case(Model(ebc=bag_module(bags(7, 19))), eight,
                                partitioner=lambda: MemoryBalancedPartitioner(tolerance=0.05)),
        "sorted_by_perf": Case(Model(
            a=bag_module(bags(5, 20, prefix="a")), b=bag_module(bags(2, 21, prefix="b"))), eight,
            partitioner=lambda: GreedyPerfPartitioner(SortBy.PERF, balance_modules=True)),
        "towers": Case(Model(
            one=tower(70, "a"), ebc=bag_module(bags(4, 71)),
            many=EmbeddingTowerCollection(towers=[tower(72, "b"), tower(73, "c")]),
            words=EmbeddingTower(embedding_module=sequence_module(2, 74),
                                 interaction_module=nn.Identity())),
            {"world_size": 16, "local_world_size": 4},
            sharders=[*sharders(), EmbeddingTowerSharder(), EmbeddingTowerCollectionSharder()],
            constraints={
                "a0": ParameterConstraints(is_weighted=True, pooling_factors=[7.0]),
                "b1": ParameterConstraints(sharding_types=["table_column_wise"], min_partition=8,
                                           compute_kernels=["fused_uvm", "fused"])}),
        "towers_on_cpu": Case(Model(one=tower(75, "a")), {**eight, "compute_device": "cpu"},
                              sharders=[EmbeddingTowerSharder()]),
        "storage_model": Case(Model(ebc=bag_module(bags(6, 22))), eight,
                              performance_model=NoopStorageModel),
    }
