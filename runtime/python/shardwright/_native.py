"""Calls the C API (runtime/capi/shardwright.h) through ctypes. No call holds the GIL."""

from __future__ import annotations

import ctypes
import math
import os
import threading
from ctypes import POINTER, byref, c_char_p, c_double, c_int32, c_int64, c_size_t, c_uint8, c_uint32
from ctypes import c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, Final, Mapping, TypeVar

from . import errors

ABI_VERSION: Final = 3
WITH_SEARCH_SPACE, WITH_STATS = 1, 2
STOPS: Final = ("", "work_limit", "time_limit", "cancelled")
FAILURE, FAILURE_TYPE, FAILURE_REASON = 0, 1, 2


def _fields(**types: Any) -> list[tuple[str, Any]]:
    return [("struct_size", c_uint32), *types.items()]


class _Sized(ctypes.Structure):
    """A structure that begins with its own size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(struct_size=ctypes.sizeof(type(self)), **values)


class ProblemInfo(_Sized):
    _fields_ = _fields(num_tables=c_uint32, num_ranks=c_uint32, ranks_per_host=c_uint32,
                       batch_size=c_int64)


class SearchSpaceInfo(_Sized):
    _fields_ = _fields(num_options=c_uint32, num_shards=c_uint64)


class OptionBuffers(_Sized):
    _fields_ = _fields(num_options=c_uint32, num_shards=c_uint64, table=POINTER(c_uint32),
                       sharding_type=POINTER(c_uint8), compute_kernel=POINTER(c_uint8),
                       shard_begin=POINTER(c_uint64), load_factor=POINTER(c_double),
                       size=POINTER(c_int64), offset=POINTER(c_int64), hbm=POINTER(c_int64),
                       ddr=POINTER(c_int64), perf=POINTER(c_double), ssd=POINTER(c_int64),
                       is_weighted=POINTER(c_uint8), input_dist_comms=POINTER(c_double))


class Progress(_Sized):
    _fields_ = _fields(has_rating=c_uint32, work_steps=c_uint64, work_limit=c_uint64,
                       proposals=c_uint64, proposals_at_most=c_uint64, rating=c_double,
                       lower_bound=c_double, elapsed_s=c_double)


ProgressCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, POINTER(Progress))
MessageSink = ctypes.CFUNCTYPE(None, c_void_p, c_char_p, c_uint64)
GatherCallback = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_uint64, MessageSink, c_void_p)


class AskOptions(_Sized):
    _fields_ = _fields(reserved=c_uint32, cancel=c_void_p, progress=ProgressCallback,
                       user_data=c_void_p, problem=c_void_p, search_space=c_void_p,
                       process=c_uint32, processes=c_uint32, gather=GatherCallback)


class PlanSummary(_Sized):
    _fields_ = _fields(has_plan=c_int32, mode=c_int32, stopped_by=c_int32, rating=c_double,
                       lower_bound=c_double, gap=c_double, proven_optimal=c_int32,
                       num_tables=c_uint32, num_ranks=c_uint32, threads=c_uint32,
                       num_shards=c_uint64, num_violations=c_uint64, num_proposals=c_uint64,
                       num_plans=c_uint64, work_steps=c_uint64, total_s=c_double)


class PlanBuffers(_Sized):
    _fields_ = _fields(num_tables=c_uint32, num_shards=c_uint64, table=POINTER(c_uint32),
                       option=POINTER(c_uint32), shard_begin=POINTER(c_uint64),
                       rank=POINTER(c_uint32))


class RankBuffers(_Sized):
    _fields_ = _fields(num_ranks=c_uint32, perf_ms=POINTER(c_double), perf_parts=POINTER(c_double),
                       hbm=POINTER(c_int64), ddr=POINTER(c_int64), available_hbm=POINTER(c_int64),
                       available_ddr=POINTER(c_int64), ssd=POINTER(c_int64),
                       available_ssd=POINTER(c_int64))


class Redistribution(_Sized):
    _fields_ = _fields(num_axes=c_uint32, num_dims=c_uint32, itemsize=c_uint32,
                       mesh=POINTER(c_int64), shape=POINTER(c_int64), source=c_uint64,
                       target=c_uint64)


class RedistributionOptions(_Sized):
    _fields_ = _fields(model=c_int32, devices_per_host=c_int64, latency_us=POINTER(c_double),
                       bandwidth_gb_per_s=POINTER(c_double), copy_gb_per_s=c_double, groups=c_int32,
                       has_collective_limit=c_int32, collective_limit=c_uint32, reserved=c_uint32,
                       memory_limit=c_int64, cancel=c_void_p)


class RedistributionBuffers(_Sized):
    _fields_ = _fields(num_steps=c_uint32, kind=POINTER(c_uint8), axes=POINTER(c_uint64),
                       source_dim=POINTER(c_uint8), target_dim=POINTER(c_uint8),
                       reduce_op=POINTER(c_uint8), after=POINTER(c_uint64),
                       cost_us=POINTER(c_double))


class RedistributionSummary(_Sized):
    _fields_ = _fields(num_steps=c_uint32, num_collectives=c_uint32, is_optimal=c_int32,
                       cost_us=c_double, peak_bytes=c_int64)


_HANDLE_OUT = POINTER(c_void_p)
_TEXT_OUT = [c_char_p, c_size_t, POINTER(c_size_t)]
_PROTOTYPES: Final[dict[str, list[Any]]] = {
    "problem_from_request": [c_char_p, c_size_t, _HANDLE_OUT],
    "problem_sizes": [c_void_p, POINTER(ProblemInfo)],
    "problem_table_name": [c_void_p, c_uint32, *_TEXT_OUT],
    "problem_destroy": [c_void_p],
    "search_space_enumerate": [c_void_p, _HANDLE_OUT],
    "search_space_from_json": [c_void_p, c_char_p, c_size_t, _HANDLE_OUT],
    "search_space_sizes": [c_void_p, POINTER(SearchSpaceInfo)],
    "search_space_to_arrays": [c_void_p, POINTER(OptionBuffers)],
    "search_space_to_json": [c_void_p, *_TEXT_OUT],
    "search_space_destroy": [c_void_p],
    "cancel_create": [_HANDLE_OUT],
    "cancel_request": [c_void_p],
    "cancel_destroy": [c_void_p],
    "result_summary": [c_void_p, POINTER(PlanSummary)],
    "result_text": [c_void_p, c_int32, *_TEXT_OUT],
    "result_plan": [c_void_p, POINTER(PlanBuffers)],
    "result_ranks": [c_void_p, POINTER(RankBuffers)],
    "result_search_space": [c_void_p, _HANDLE_OUT],
    "result_to_json": [c_void_p, c_uint32, *_TEXT_OUT],
    "result_destroy": [c_void_p],
    "result_from_json": [c_void_p, c_void_p, c_char_p, c_size_t, _HANDLE_OUT],
    "result_to_text": [c_void_p, c_uint32, *_TEXT_OUT],
    "result_to_html": [c_void_p, *_TEXT_OUT],
    "ask": [c_char_p, c_char_p, c_size_t, POINTER(AskOptions), _HANDLE_OUT],
    "answer_summary": [c_void_p, POINTER(c_int32), POINTER(c_uint64)],
    "answer_warning": [c_void_p, c_uint64, *_TEXT_OUT],
    "answer_result": [c_void_p, _HANDLE_OUT],
    "answer_to_json": [c_void_p, *_TEXT_OUT],
    "answer_to_text": [c_void_p, c_uint32, *_TEXT_OUT],
    "answer_to_html": [c_void_p, *_TEXT_OUT],
    "answer_destroy": [c_void_p],
    "plan_redistribution": [POINTER(Redistribution), POINTER(RedistributionOptions),
                            POINTER(RedistributionSummary), POINTER(RedistributionBuffers)],
    "placement_from_text": [c_char_p, c_size_t, c_uint32, POINTER(c_uint64)],
    "placement_to_text": [c_uint64, c_uint32, *_TEXT_OUT],
}

_ERRORS: Final[dict[int, type[errors.ShardwrightError]]] = {
    1: errors.InvalidInputError, 2: errors.InvalidHandleError, 3: errors.InvalidInputError,
    4: errors.InfeasibleError, 5: errors.StoppedError, 6: errors.VerificationError,
    7: errors.UnsupportedError, 9: errors.NoPlanError,
}
_BUFFER_TOO_SMALL: Final = 8
_OUT_OF_MEMORY: Final = 10


def _load() -> ctypes.CDLL:
    beside = Path(__file__).with_name("libshardwright.so")
    path = Path(os.environ.get("SHARDWRIGHT_LIBRARY", beside))
    try:
        library = ctypes.CDLL(str(path))
    except OSError as error:
        raise ImportError(f"shardwright is not built: {error}; run `pip install ./runtime/python` "
                          "in the repository") from error
    library.shardwright_version.restype = c_char_p
    for name in ("sharding_type_name", "compute_kernel_name"):
        function = getattr(library, "shardwright_" + name)
        function.restype, function.argtypes = c_char_p, [c_uint32]
    for name in ("last_error_message", "last_error_place"):
        getattr(library, "shardwright_" + name).restype = c_char_p
    library.shardwright_abi_version.restype = c_uint32
    found = library.shardwright_abi_version()
    if found != ABI_VERSION:
        raise ImportError(f"{path} has interface {found}, this package needs {ABI_VERSION}; "
                          "install both from one source")
    for name, arguments in _PROTOTYPES.items():
        function = getattr(library, "shardwright_" + name)
        function.restype, function.argtypes = c_int32, arguments
    return library


_library = _load()


def version() -> str:
    """The version of the native library, such as "0.1.0"."""
    text: bytes = _library.shardwright_version()
    return text.decode()


def _names(function: Any) -> tuple[str, ...]:
    names: list[str] = []
    while (name := function(len(names))) is not None:
        names.append(name.decode())
    return tuple(names)


SHARDING_TYPES: Final = _names(_library.shardwright_sharding_type_name)
COMPUTE_KERNELS: Final = _names(_library.shardwright_compute_kernel_name)


def _raise(status: int) -> None:
    message = _library.shardwright_last_error_message().decode(errors="replace")
    if status == _OUT_OF_MEMORY:
        raise MemoryError(message)
    raise _ERRORS.get(status, errors.InternalError)(
        message, _library.shardwright_last_error_place().decode(errors="replace"))


def call(name: str, *arguments: Any) -> None:
    """Calls shardwright_<name>. Raises MemoryError, or the ShardwrightError for its status."""
    status = getattr(_library, "shardwright_" + name)(*arguments)
    if status != 0:
        _raise(status)


def text_of(name: str, *arguments: Any) -> str:
    """Returns the text that shardwright_<name> writes into a buffer. Raises as `call`."""
    function: Callable[..., int] = getattr(_library, "shardwright_" + name)
    size = c_size_t()
    status = function(*arguments, None, 0, byref(size))
    if status not in (0, _BUFFER_TOO_SMALL):
        _raise(status)
    buffer = ctypes.create_string_buffer(size.value + 1)
    status = function(*arguments, buffer, size.value + 1, byref(size))
    if status != 0:
        _raise(status)
    return buffer.raw[:size.value].decode()


def filled(structure: Any, name: str, *arguments: Any) -> Any:
    """Returns the structure after shardwright_<name> has written to it. Raises as `call`."""
    call(name, *arguments, byref(structure))
    return structure


def field(name: str, doc: str) -> Any:
    """A property that reads a member of the structure in the attribute `_info`. Numbers that are
    not finite are None.
    """
    def read(owner: Any) -> Any:
        value = getattr(owner._info, name)
        return value if isinstance(value, int) or math.isfinite(value) else None
    return property(read, doc=doc)


def buffers(kind: type[_Sized], lengths: Mapping[str, int], **counts: int) -> Any:
    """A structure of `kind` with an array for each pointer in `lengths`, for the library to fill.

    An array has at least one element, because an empty array has no address.
    """
    pointers: dict[str, Any] = dict(kind._fields_)  # type: ignore[arg-type]
    return kind(**counts, **{name: (pointers[name]._type_ * max(length, 1))()
                             for name, length in lengths.items()})


class Handle:
    """Owns one handle of the library.

    Thread safety: any. If another thread calls `close` during a call, that call still ends
    normally.
    """

    __slots__ = ("_kind", "_lock", "_value", "__weakref__")

    def __init__(self, kind: str, create: str, *arguments: Any) -> None:
        self._kind = kind
        self._value: int | None = None
        self._lock = threading.Lock()
        value = c_void_p()
        call(create, *arguments, byref(value))
        self._value = value.value

    @property
    def value(self) -> int:
        """The handle for a call. Raises InvalidHandleError after `close`."""
        value = self._value
        if value is None:
            raise errors.InvalidHandleError(f"this {self._kind.replace('_', ' ')} is closed")
        return value

    @property
    def closed(self) -> bool:
        return self._value is None

    def close(self) -> None:
        """Destroys the handle. Does nothing the second time."""
        with self._lock:
            value, self._value = self._value, None
        if value is not None:
            call(self._kind + "_destroy", value)

    def __del__(self) -> None:
        if getattr(self, "_value", None) is not None:
            self.close()

    def __reduce__(self) -> Any:
        raise TypeError("objects with native memory cannot be copied or pickled; "
                        "use their JSON text")


_Self = TypeVar("_Self", bound="Closable")


class Closable:
    """An object with native memory. `close`, `with` or the garbage collector frees the memory."""

    _handle: Handle

    def close(self) -> None:
        """Frees the native memory now. Later uses raise InvalidHandleError."""
        self._handle.close()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
