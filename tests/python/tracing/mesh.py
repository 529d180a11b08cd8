"""Runs one call of a graph on all ranks of a mesh, in this process. Shares no code with the validation."""

import itertools
import math

import torch

from shardwright.torch.tracing import rules
from shardwright.torch.tracing.localise import localised
from shardwright.torch.tracing.pieces import Piece

EXTREMES = {"Pmax": torch.amax, "Pmin": torch.amin}


def cut_once(tensor, word, size, generator):
    if word in ("R", "-"):
        return [tensor] * size
    if word[0] == "S":
        dim = int(word[1:])
        length = math.ceil(tensor.shape[dim] / size)
        return [tensor.narrow(dim, min(rank * length, tensor.shape[dim]),
                              max(0, min(length, tensor.shape[dim] - rank * length))).clone()
                for rank in range(size)]
    if word in EXTREMES:
        owner = torch.randint(0, size, tensor.shape, generator=generator)
        less = torch.randint(0, 5, (size, *tensor.shape), generator=generator).to(tensor.dtype)
        return [torch.where(owner == rank, tensor, tensor - less[rank] if word == "Pmax"
                            else tensor + less[rank]) for rank in range(size)]
    assert word == "P", word
    parts = [torch.rand(tensor.shape, generator=generator).to(tensor.dtype) * 4 - 2
             if tensor.is_floating_point()
             else torch.randint(-5, 6, tensor.shape, generator=generator).to(tensor.dtype)
             for _ in range(size - 1)]
    return [*parts, tensor - sum(parts)]


def cut(tensor, words, mesh, generator):
    """The pieces of all ranks, the last axis the fastest. Axes cut in their order."""
    pieces = [tensor]
    for word, size in zip(words, mesh):
        pieces = [part for piece in pieces for part in cut_once(piece, word, size, generator)]
    return pieces


def described(tensor, words, mesh):
    """The Piece of every rank, read off pieces of the positions in each dimension."""
    words = ["R" if word[0] == "P" else word for word in words]
    positions = [cut(torch.arange(extent).view([-1 if dim == own else 1 for own in range(tensor.dim())])
                     .expand(tensor.shape), words, mesh, None)
                 for dim, extent in enumerate(tensor.shape)]
    shape = tuple(tensor.shape)
    found = []
    for rank in range(math.prod(mesh)):
        own = [each[rank] for each in positions]
        start = tuple(int(each.min()) if each.numel() else 0 for each in own)
        found.append(Piece(shape, start, tuple(own[0].shape) if own else ()))
    return found


def joined(pieces, words, mesh):
    """The whole tensor. Raises AssertionError if replicas differ."""
    for word, size in reversed(list(zip(words, mesh))):
        groups = [pieces[first:first + size] for first in range(0, len(pieces), size)]
        if word[0] == "S":
            pieces = [torch.cat(group, int(word[1:])) for group in groups]
        elif word == "P":
            pieces = [sum(group[1:], group[0]) for group in groups]
        elif word in EXTREMES:
            pieces = [EXTREMES[word](torch.stack(group), 0) for group in groups]
        else:
            tolerance = 1e-4 if pieces[0].dtype is torch.float32 else 1e-9
            for group in groups:
                for piece in group[1:]:
                    torch.testing.assert_close(piece, group[0], rtol=tolerance, atol=tolerance,
                                               equal_nan=True)
            pieces = [group[0] for group in groups]
    return pieces[0]


def rule_of(call):
    """The rule of a call as in a document."""
    return {"strategies": [{"outputs": entry.outputs, "inputs": entry.inputs,
                            **({} if entry.divides is None else {"divides": entry.divides}),
                            **({"by_part": True} if entry.by_part else {})} for entry in rules.rule_of(call).entries]}


def tuples(rule, shapes, mesh):
    """All that section 2 of the reference allows: tuples of entries of a rule, one per axis of the mesh.

    `shapes` are those of outputs and inputs, None for an output that is absent.
    """
    whole = [entry for entry in rule["strategies"] if "by_part" not in entry]
    for chosen in itertools.product(whole, repeat=len(mesh)):
        if all(_allowed(entry, chosen, mesh) for entry in chosen) and all(
                shape is None or _fits(shape, words, mesh) for shape, words in zip(shapes, _words(chosen))):
            yield chosen


def _words(chosen):
    return zip(*([*entry["outputs"], *entry["inputs"]] for entry in chosen))


def _allowed(entry, chosen, mesh):
    users = math.prod(size for other, size in zip(chosen, mesh) if other is entry)
    return "divides" not in entry or entry["divides"] % users == 0


def _fits(shape, words, mesh):
    shards = {}
    for word, size in zip(words, mesh):
        if word[0] == "S":
            shards[int(word[1:])] = shards.get(int(word[1:]), 1) * size
    return all(shape[dim] >= count for dim, count in shards.items())


def has_empty(pieces):
    return any(piece.numel() == 0 for piece in pieces)


def run(op, args, kwargs, inputs, outputs, chosen, mesh, seed):
    """Runs a call on pieces and joins what the ranks made; None if a rank would have an empty piece.

    `args` and `kwargs` are the call's with tensors in them, `inputs` these tensors in order and
    `outputs` the whole results, of which only the shapes are used.
    """
    generator = torch.Generator().manual_seed(seed)
    words_in = list(zip(*(entry["inputs"] for entry in chosen))) or [()] * len(inputs)
    words_out = list(zip(*(entry["outputs"] for entry in chosen)))
    pieces = [cut(tensor, words, mesh, generator) for tensor, words in zip(inputs, words_in)]
    wanted = [None if whole is None else
              cut(whole, ["R" if word[0] == "P" else word for word in words], mesh, generator)
              for whole, words in zip(outputs, words_out)]
    if any(map(has_empty, pieces)) or any(each is not None and has_empty(each) for each in wanted):
        return None
    given = [described(tensor, words, mesh) for tensor, words in zip(inputs, words_in)]
    made = [None if whole is None else described(whole, words, mesh)
            for whole, words in zip(outputs, words_out)]
    results = []
    for rank in range(math.prod(mesh)):
        remaining = iter(each[rank] for each in pieces)
        local = replaced(args, lambda leaf: next(remaining) if torch.is_tensor(leaf) else leaf)
        named = replaced(kwargs, lambda leaf: next(remaining) if torch.is_tensor(leaf) else leaf)
        function, local = localised(op, local, [each[rank] for each in given],
                                    [None if each is None else each[rank] for each in made])
        result = function(*local, **named)
        results.append(result if isinstance(result, (tuple, list)) else (result,))
    return [None if outputs[index] is None else
            joined([result[index] for result in results], words, mesh)
            for index, words in enumerate(words_out)]


def replaced(value, change):
    if isinstance(value, (tuple, list)):
        return tuple(replaced(part, change) for part in value)
    if isinstance(value, dict):
        return {key: replaced(part, change) for key, part in value.items()}
    return change(value)
