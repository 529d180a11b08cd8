"""The cases that are compared: models on data, tensor and pipeline parallel ranks."""

from models import Placement
from recorder import Case

# Stages of (data, tensor) ranks. Paddle refuses to train across stages that split the batch differently.
TRAINED = (
    ((2, 1),), ((1, 2),), ((2, 2),), ((1, 4),),
    ((1, 1), (1, 1)), ((2, 1), (2, 1)), ((1, 2), (1, 2)), ((2, 2), (2, 2)), ((1, 2), (1, 4)),
)
DIVIDED = (((1, 2),), ((2, 2),), ((1, 4),), ((2, 2), (2, 2)))
# Booleans are sent, but never gathered; search/program/README.md says why.
MASKED = (((1, 1), (1, 1)), ((2, 1), (2, 1)))


def placements(model):
    if model == "masked_transformer":
        return [Placement(stages) for stages in MASKED]
    dims = (1,) if model == "mlp" else (1, 2)
    return ([Placement(stages) for stages in TRAINED] +
            [Placement(stages, dim) for stages in DIVIDED for dim in dims])


def some_ranks(placement):
    """The first, the last and one between, since ranks of one kind get programs of one kind."""
    count = len(placement.ranks)
    return sorted({0, (count - 1) // 2, count - 1})


def cases():
    for model in ("mlp", "transformer", "masked_transformer"):
        for layers in (1, 2):
            for placement in placements(model):
                for rank in some_ranks(placement):
                    yield Case(model, layers, placement, rank)
