"""Models of the transformers package, in sizes of a few thousand weights, with weights and inputs.

Importing it raises SkipTest where the package is missing.
"""

import warnings

import torch

from shardwright.torch import trace
from tracing import test_transformers

NAMES = tuple(test_transformers.MODELS)
# Their products of chosen experts exist in 32 bits only.
IN_32_BITS = ("mixtral", "deepseek")


def make_rules():
    """Processes of a group inherit the rules of all models, which take most of the time to make."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in NAMES:
            model, arguments = make(name)
            trace(model, arguments)


def make(name, seed=0):
    """(model, arguments by name), equal in all processes. In evaluation mode, so nothing is dropped out."""
    transformers = test_transformers.transformers
    kind, configuration, options, inputs = test_transformers.MODELS[name]
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(getattr(transformers, configuration)(**options))
    dtype = torch.float32 if name in IN_32_BITS else torch.float64
    arguments = {key: tensor.to(dtype) if tensor.is_floating_point() else tensor
                 for key, tensor in inputs().items()}
    return model.to(dtype).eval(), arguments
