"""Runs a planned graph on a mesh: parallel.py is the way in, building.py makes the programs."""

from .model import ParallelModel
from .parallel import parallelize

__all__ = ["ParallelModel", "parallelize"]
