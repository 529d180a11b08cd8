"""Changes of a graph that keep its values: operators taken apart, views moved, copies left out."""

from .cross_entropy import ShardableCrossEntropy
from .decompositions import decompositions
from .recompute import recompute
from .sharing import share
from .simplify import simplify
from .split_experts import SplitExperts
from .unflatten import unflatten

__all__ = ["ShardableCrossEntropy", "SplitExperts", "decompositions", "recompute", "share", "simplify",
           "unflatten"]
