"""On which dimensions an operator's tensors may be sharded, and what comes out of it then."""

from .entries import Entry, Rule, placeholder_rule
from .lookup import rule_of

__all__ = ["Entry", "Rule", "placeholder_rule", "rule_of"]
