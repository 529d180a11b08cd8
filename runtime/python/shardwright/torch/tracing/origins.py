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
                                           UnsupportedOperatorException)
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.overrides import TorchFunctionMode

from ... import errors

_MODULE, _LINE = "shardwright_module", "shardwright_line"
_FOREIGN = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(__file__) + os.sep)


def annotate_modules(model: torch.nn.Module) -> None:
    """Lets each node that the modules' forward makes carry the module's path. Adds hooks to them."""
    for path, module in model.named_modules():
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


def _place(frames: list[tuple[str, int]]) -> str:
    """The innermost frame of the model's code: neither torch's nor ours."""
    for file, line in reversed(frames):
        if not _is_foreign(file):
            return f"{os.path.basename(file)}:{line}"
    return ""


def line_of(node: torch.fx.Node) -> str:
    return str(node.meta.get("custom", {}).get(_LINE, ""))


class Lines(TorchFunctionMode):  # type: ignore[misc]
    """Lets each node carry the line of the model's code that called a function of torch.

    Autograd's nodes get module and line from the forward node whose gradient they compute, which
    torch's tracing does for all annotations.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and _is_foreign(frame.f_code.co_filename):
            frame = frame.f_back
        custom = torch.fx.traceback.get_current_meta().get("custom")
        if custom is not None and frame is not None:
            custom[_LINE] = f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
        return func(*args, **(kwargs or {}))


def _line_of_error(error: BaseException) -> str:
    frames = [(frame.filename, frame.lineno or 0)
              for frame in traceback.extract_tb(error.__traceback__)]
    while frames and os.path.dirname(frames[0][0]) + os.sep != _FOREIGN[1]:
        frames.pop(0)  # of whoever called us
    return _place(frames) or "model"


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turns errors that mean "the graph depends on values" into UnsupportedError with the line."""
    try:
        yield
    except DynamicOutputShapeException as error:
        raise errors.UnsupportedError(
            f"{error.func} makes a shape that depends on values, which have no plan",
            _line_of_error(error)) from error
    except (DataDependentOutputException, GuardOnDataDependentSymNode) as error:
        raise errors.UnsupportedError(
            "the code reads the value of a tensor (item(), bool(), a comparison in an if), "
            "which a graph cannot", _line_of_error(error)) from error
    except UnsupportedOperatorException as error:
        raise errors.UnsupportedError(f"{error.func} cannot run without values",
                                      _line_of_error(error)) from error
    except RuntimeError as error:
        if ".numpy() is not supported" not in str(error):
            raise
        raise errors.UnsupportedError("the code leaves torch (numpy()), where a graph cannot follow",
                                      _line_of_error(error)) from error
