"""Changes of a graph that keep its values: operators taken apart, views moved, copies left out."""

from .decompositions import decompositions
from .modes import ShardableFunctions, SplitExperts
from .sharing import share
from .simplify import simplify
from .unflatten import unflatten

__all__ = ["ShardableFunctions", "SplitExperts", "decompositions",
           "share", "simplify", "unflatten"]
