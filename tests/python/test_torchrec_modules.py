"""Every kind of module that TorchRec shards goes to the end of `plan()`, in both modes."""

import unittest

import torch
from torchrec.distributed.embedding_tower_sharding import (EmbeddingTowerCollectionSharder,
                                                           EmbeddingTowerSharder)
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
from torchrec.distributed.mc_embeddingbag import ManagedCollisionEmbeddingBagCollectionSharder
from torchrec.distributed.planner import ParameterConstraints
from torchrec.distributed.quant_embeddingbag import QuantEmbeddingBagCollectionSharder
from torchrec.modules.embedding_tower import EmbeddingTowerCollection
from torchrec.modules.feature_processor_ import PositionWeightedModule
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection
from torchrec.modules.mc_embedding_modules import ManagedCollisionEmbeddingBagCollection
from torchrec.modules.mc_modules import (DistanceLFU_EvictionPolicy, ManagedCollisionCollection,
                                         MCHManagedCollisionModule)
from torchrec.quant.embedding_modules import EmbeddingBagCollection as QuantBags
from torchrec_cases import EIGHT, Case, Model, bag_module, bags, tower
from test_torchrec_plans import WORK, described

from shardwright.torchrec import EmbeddingShardingPlanner

META = torch.device("meta")


def managed():
    tables = bags(4, 53, largest=100_000)
    return ManagedCollisionEmbeddingBagCollection(
        bag_module(tables),
        ManagedCollisionCollection(
            managed_collision_modules={table.name: MCHManagedCollisionModule(
                zch_size=table.num_embeddings, device=META, eviction_interval=2, buckets=8,
                eviction_policy=DistanceLFU_EvictionPolicy()) for table in tables},
            embedding_configs=tables))


def processed():
    tables = bags(5, 54)
    return FeatureProcessedEmbeddingBagCollection(
        bag_module(tables, weighted=True),
        {name: PositionWeightedModule(max_feature_length=10, device=META)
         for table in tables for name in table.feature_names})


class Modules(unittest.TestCase):
    def check(self, module, sharder, constraints=None):
        case = Case(Model(own=module), EIGHT, sharders=[sharder, EmbeddingBagCollectionSharder()],
                    constraints=constraints)
        peer, theirs = case.plan()
        planner, ours = case.plan(EmbeddingShardingPlanner, mode="compat")
        self.assertEqual(described(ours), described(theirs))
        self.assertEqual(planner.searched_by, "shardwright")
        best, plan = case.plan(EmbeddingShardingPlanner, work_limit=WORK)
        self.assertEqual(plan.plan.keys(), theirs.plan.keys())
        self.assertLessEqual(best._perf_model.rate(best._best_plan),
                             peer._perf_model.rate(peer._best_plan))

    def test_towers(self):
        self.check(tower(50, "a"), EmbeddingTowerSharder())

    def test_tower_collections(self):
        self.check(EmbeddingTowerCollection(towers=[tower(51, "a"), tower(52, "b")]),
                   EmbeddingTowerCollectionSharder())

    def test_managed_collisions(self):
        self.check(managed(), ManagedCollisionEmbeddingBagCollectionSharder())

    def test_feature_processors(self):
        for constraints in (None, {"t0": ParameterConstraints(sharding_types=["row_wise"])}):
            self.check(processed(), FeatureProcessedEmbeddingBagCollectionSharder(), constraints)

    def test_quantised_tables(self):
        self.check(QuantBags(tables=bags(5, 55), is_weighted=False, device=META),
                   QuantEmbeddingBagCollectionSharder())


if __name__ == "__main__":
    unittest.main()
