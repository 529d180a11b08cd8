"""Models of the transformers package, in sizes of a few thousand weights, with weights and inputs."""

import torch
from tracing import test_transformers

NAMES = tuple(test_transformers.MODELS)


def make(name, seed=0):
    """(model, arguments by name), equal in all processes. All numbers have 64 bits."""
    transformers = test_transformers.transformers
    kind, configuration, options, inputs = test_transformers.MODELS[name]
    torch.manual_seed(seed)
    model = getattr(transformers, kind)(getattr(transformers, configuration)(**options))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    arguments = {key: tensor.double() if tensor.is_floating_point() else tensor
                 for key, tensor in inputs().items()}
    return model.double().eval(), arguments
