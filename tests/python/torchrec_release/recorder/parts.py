"""The parts of TorchRec's planner that a problem names: reservation, estimators, proposers, partitioner, perf model."""

import copy

from torchrec.distributed.planner.constants import DEFAULT_PERF_ESTIMATOR
from torchrec.distributed.planner.estimator import EmbeddingPerfEstimatorFactory
from torchrec.distributed.planner.partitioners import (GreedyPerfPartitioner,
                                                       MemoryBalancedPartitioner, SortBy)
from torchrec.distributed.planner.perf_models import NoopPerfModel, NoopStorageModel
from torchrec.distributed.planner.proposers import (DynamicProgrammingProposer,
                                                    EmbeddingOffloadScaleupProposer,
                                                    GreedyProposer, GridSearchProposer,
                                                    UniformProposer)
from torchrec.distributed.planner.shard_estimators import (EmbeddingPerfEstimator,
                                                           EmbeddingStorageEstimator)
from torchrec.distributed.planner.storage_reservations import (
    FixedAbsoluteStorageReservation, FixedPercentageStorageReservation,
    HeuristicalStorageReservation, InferenceStorageReservation, SKUAwareStorageReservation)
from torchrec.distributed.planner.types import StorageReservation
from torchrec.distributed.types import PipelineType

from recorder.hardware import config

# Problem key -> constructor. The other keys of the object are the constructor's arguments.
RESERVATIONS = {"heuristical": HeuristicalStorageReservation,
                "fixed": FixedPercentageStorageReservation,
                "inference": InferenceStorageReservation,
                "fixed_absolute": FixedAbsoluteStorageReservation,
                "sku_aware": SKUAwareStorageReservation}
PERCENTAGES = ("heuristical", "fixed", "inference")
PROPOSERS = {"grid": GridSearchProposer, "greedy": GreedyProposer, "uniform": UniformProposer,
             "dp": DynamicProgrammingProposer, "scaleup": EmbeddingOffloadScaleupProposer}
PARTITIONERS = {"greedy": GreedyPerfPartitioner, "memory_balanced": MemoryBalancedPartitioner}
PERF_MODELS = {"perf": NoopPerfModel, "storage": NoopStorageModel}


class NoReservation(StorageReservation):
    """Leaves the whole memory to the tables."""

    last_reserved_topology = None

    def reserve(self, topology, batch_size, module, sharders, constraints=None):
        return copy.deepcopy(topology)


def arguments_of(given):
    return {key: value for key, value in given.items() if key != "type"}


def reservation(problem):
    given = problem.get("reservation", {})
    kind = given.get("type", "heuristical")
    if kind == "none":
        return NoReservation()
    arguments = arguments_of(given)
    if kind in PERCENTAGES:
        arguments.setdefault("percentage", 0.15)
    return RESERVATIONS[kind](**arguments)


def proposers(problem):
    """Returns None for TorchRec's four defaults."""
    given = problem.get("proposers")
    return [PROPOSERS[p["type"]](**arguments_of(p)) for p in given] if given else None


def partitioner(problem):
    given = problem.get("partitioner", {})
    arguments = arguments_of(given)
    if "sort_by" in arguments:
        arguments["sort_by"] = SortBy(arguments["sort_by"])
    return PARTITIONERS[given.get("type", "greedy")](**arguments)


def perf_model(problem, topology):
    return PERF_MODELS[problem.get("perf_model", "perf")](topology)


def storage_estimator(problem, topology, constraints):
    given = dict(problem.get("storage_estimator", {}))
    if "pipeline_type" in given:
        given["pipeline_type"] = PipelineType(given["pipeline_type"])
    return EmbeddingStorageEstimator(topology, constraints, **given)


def perf_estimator(problem, topology, constraints):
    """TorchRec's class for users takes no options of the hardware's estimator; with these, the latter is used."""
    given = dict(problem.get("perf_estimator", {}))
    if set(given) <= {"is_inference"}:
        return EmbeddingPerfEstimator(topology, constraints, **given)
    options = {"topology": topology, "constraints": constraints, **given}
    if "config" not in given:
        return EmbeddingPerfEstimatorFactory.create(DEFAULT_PERF_ESTIMATOR, **options)
    options["config"] = config(given["config"], topology.compute_device)
    return EmbeddingPerfEstimatorFactory.create_with_config(**options)
