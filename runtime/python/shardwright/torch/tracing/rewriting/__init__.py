"""Changes of a graph that keep its values: operators taken apart, views moved, copies left out."""

from .decompositions import decompositions
from .recompute import recompute
from .sharing import share
from .simplify import simplify
from .unflatten import unflatten

__all__ = ["decompositions", "recompute", "share", "simplify", "unflatten"]
