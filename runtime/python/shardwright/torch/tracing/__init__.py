"""From a model of PyTorch to the graph that is planned: joint.py traces, document.py writes."""

from .document import TracedModel, trace
from .joint import JointGraph, trace_joint
from .rules import UnknownOperatorWarning

__all__ = ["JointGraph", "TracedModel", "UnknownOperatorWarning", "trace", "trace_joint"]
