"""Changes of a graph that keep its values: operators taken apart, views moved, copies left out."""

from .cross_entropy import ShardableCrossEntropy
from .decompositions import decompositions
from .embedding_bag import ShardableEmbeddingBag
from .recompute import is_in, recompute
from .sharing import share
from .simplify import simplify
from .split_experts import SplitExperts
from .unflatten import unflatten

__all__ = ["ShardableCrossEntropy", "ShardableEmbeddingBag", "SplitExperts", "decompositions", "is_in",
           "recompute", "share", "simplify", "unflatten"]
