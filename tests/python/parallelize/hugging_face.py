"""Models of the transformers package, in sizes of a few thousand weights, with weights and inputs.

Importing it raises SkipTest where the package is missing.
"""

import torch
from tracing import test_transformers

NAMES = tuple(test_transformers.MODELS)
# Their products of chosen experts exist in 32 bits only.
IN_32_BITS = ("mixtral", "deepseek")


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
