"""Where a node of a graph comes from: module, and line of the model's code."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from types import FrameType
from typing import Any, Iterator

import torch
import torch.fx
import torch.fx.traceback
from torch._subclasses.fake_tensor import (DataDependentOutputException, DynamicOutputShapeException,
                                           FakeTensorDeviceMismatchError, UnsupportedOperatorException)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.overrides import TorchFunctionMode

from ... import errors

_MODULE, _LINE = "shardwright_module", "shardwright_line"
_OWN = os.path.dirname(__file__) + os.sep
_FOREIGN = (os.path.dirname(torch.__file__) + os.sep, _OWN)
_CALLER = os.path.join(os.path.dirname(__file__), "joint.py")  # calls the model


def annotate_modules(model: torch.nn.Module) -> None:
    """Lets each node that the modules' forward makes carry the module's path. Adds hooks to them.

    Raises UnsupportedError for a module that torch.jit compiled, whose code cannot be followed.
    """
    for path, module in model.named_modules():
        if isinstance(module, torch.jit.ScriptModule):
            raise errors.UnsupportedError("is compiled by torch.jit, and its code cannot be followed: give the "
                                          "module that it was made of", path or "model")
        contexts: list[Any] = []

        def enter(*_: Any, path: str = path, contexts: list[Any] = contexts) -> None:
            context = torch.fx.traceback.annotate({_MODULE: path})
            context.__enter__()
            contexts.append(context)

        def leave(*_: Any, contexts: list[Any] = contexts) -> None:
            contexts.pop().__exit__(None, None, None)

        module.register_forward_pre_hook(enter)
        module.register_forward_hook(leave, always_call=True)


def module_of(node: torch.fx.Node) -> str:
    return str(node.meta.get("custom", {}).get(_MODULE, ""))


def _is_foreign(file: str) -> bool:
    return file.startswith(_FOREIGN) or file.startswith("<")


def line_of(node: torch.fx.Node) -> str:
    return str(node.meta.get("custom", {}).get(_LINE, ""))


class Lines(TorchFunctionMode):  # type: ignore[misc]
    """Lets each node carry the line of the model's code that called a function of torch. Torch's
    tracing copies annotations from a forward node to the nodes that compute its gradient.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_foreign(frame.f_code.co_filename):
            frame = None if frame.f_code.co_filename == _CALLER else frame.f_back
        custom = torch.fx.traceback.get_current_meta().get("custom")
        if custom is not None:  # no line for a model of torch's modules alone
            custom[_LINE] = "" if frame is None else f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        return func(*args, **(kwargs or {}))


def _line_of_error(error: BaseException) -> str:
    """The innermost frame of the model's code, which neither torch nor this package has."""
    frames = list(traceback.extract_tb(error.__traceback__))
    while frames and not frames[0].filename.startswith(_OWN):
        frames.pop(0)  # of the caller of this package
    return next((f"{os.path.basename(frame.filename)}:{frame.lineno or 0}"
                 for frame in reversed(frames) if not _is_foreign(frame.filename)), "model")


_WAYS_OUT = ("select with torch.where, or keep checks out of the traced call by "
             "`if not torch.compiler.is_exporting():`")
# Texts of errors that come from tracing rather than from the model, and what they mean.
_MEANINGS = (
    (".numpy() is not supported", "the code leaves torch (numpy()), where a graph cannot follow: use torch's "
     "functions, or compute it before the call and pass it as an input"),
    ("through mirrored meta", "the code calls backward(), which a graph of the model's forward cannot have: "
     "return the loss and call backward() on it after the call"),
    ("SparseCPU", "the code makes a sparse tensor, which cannot be sharded: use dense ones (sparse=False)"),
    ("not compiled with CUDA", "the code names the device cuda, which this torch does not have: make tensors "
     "where an input or a parameter is (device=x.device)"),
)


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turns errors that mean "this has no graph" into UnsupportedError with the model's line and a
    way out. Other errors of the model's code get a note that says how the code was called.
    """
    try:
        yield
    except errors.ShardwrightError:
        raise
    except Exception as error:
        line, meaning = _line_of_error(error), _meaning(error)
        if meaning is not None:
            raise errors.UnsupportedError(meaning, line) from error
        if sys.version_info >= (3, 11):
            error.add_note(f"{line}: raised while the model was traced, where tensors have no values and are as if "
                           "on the CPU, and torch.compiler.is_exporting() is true")
        raise


def _meaning(error: Exception) -> str | None:
    """Returns None for an error of the model's own."""
    if isinstance(error, DynamicOutputShapeException):
        return (f"{error.func} makes a shape that depends on values, which have no plan: use a mask of fixed "
                "shape (torch.where, masked_fill)")
    if isinstance(error, (DataDependentOutputException, GuardOnDataDependentSymNode)):
        return ("the code reads the value of a tensor (item(), bool(), a comparison in an if), which a graph "
                f"cannot: {_WAYS_OUT}")
    if isinstance(error, UnsupportedOperatorException):
        return f"{error.func} cannot run without values, so no graph can have it"
    if isinstance(error, FakeTensorDeviceMismatchError):
        return ("tensors of different devices meet, while a model is traced as if all were on the CPU: make new "
                "tensors where an input or a parameter is (device=x.device), not on a device by name")
    return next((meaning for text, meaning in _MEANINGS if text in str(error)), None)
