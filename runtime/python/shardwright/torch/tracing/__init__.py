"""From a model of PyTorch to the graph that is planned: joint.py traces, document.py writes."""

from .document import TracedModel, UnknownOperatorWarning, trace
from .joint import JointGraph, trace_joint

__all__ = ["JointGraph", "TracedModel", "UnknownOperatorWarning", "trace", "trace_joint"]
