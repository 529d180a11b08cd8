"""Changes of a graph that keep its values: operators taken apart, views moved, copies left out."""

from .cross_entropy import ShardableCrossEntropy
from .decompositions import decompositions
from .simplify import simplify
from .unflatten import unflatten

__all__ = ["ShardableCrossEntropy", "decompositions", "simplify", "unflatten"]
