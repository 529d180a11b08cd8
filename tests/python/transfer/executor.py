"""Executes a plan of `program transfer` on a rank: gathers what it sends, sends messages in rounds, scatters what came.

What a rank passes on, it gathers from its target shards. Takes nothing from the planner but the plan file. Shards are one-dimensional byte tensors.
"""

import numpy
import torch


def read_ranks(text):
    ranks = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        ranks += range(int(first), int(last or first) + 1)
    return ranks


def interval(size, mesh, axes, place, rounding):
    """What the device with these coordinates holds of a dimension that the axes cut in this order."""
    begin, end = 0, size
    if rounding == "ceil":
        for axis in axes:
            piece = -(-(end - begin) // mesh[axis])
            begin, end = min(end, begin + place[axis] * piece), min(end, begin + (place[axis] + 1) * piece)
        return begin, end
    pieces, index = 1, 0
    for axis in axes:
        pieces, index = pieces * mesh[axis], index * mesh[axis] + place[axis]
    base, longer = divmod(size, pieces)
    begin = index * base + min(index, longer)
    return begin, begin + base + (index < longer)


class Layout:
    """Which box of a tensor a rank holds."""

    def __init__(self, plan, layout):
        mesh = plan["meshes"][layout["mesh"]]
        self.shape, self.ranks = mesh["shape"], read_ranks(mesh["ranks"])
        self.rounding = layout.get("rounding", "ceil")
        self.cuts = {}  # by dimension: pairs of order and axis
        for axis, word in enumerate(layout["placements"]):
            if word.startswith("S("):
                dim, _, order = word[2:].partition(")")
                self.cuts.setdefault(int(dim), []).append((int(order[1:-1]) if order else axis, axis))

    def box(self, shape, rank):
        """Pairs of begin and end by dimension, or None if the rank is not in the mesh."""
        if rank not in self.ranks:
            return None
        place = numpy.unravel_index(self.ranks.index(rank), self.shape)
        return [interval(size, self.shape, [axis for _, axis in sorted(self.cuts.get(dim, []))],
                         [int(i) for i in place], self.rounding)
                for dim, size in enumerate(shape)]


def shape_of(box):
    return [end - begin for begin, end in box]


class Shards:
    """The shards of one side that a rank has, as arrays of elements of `item_bytes` bytes."""

    def __init__(self, plan, side, rank):
        self.boxes, self.arrays = {}, {}
        for number, group in enumerate(plan["groups"]):
            box = Layout(plan, group[side]).box(group["shape"], rank)
            if box is None:
                continue
            for name in group["tensors"]:
                self.boxes[number, name] = box
                self.arrays[number, name] = numpy.zeros([*shape_of(box), group["item_bytes"]], numpy.uint8)

    def view(self, group, name, box):
        held = self.boxes[group, name]
        return self.arrays[group, name][tuple(slice(begin - first, end - first)
                                              for (begin, end), (first, _) in zip(box, held))]


def parts(plan, transfer):
    """Group, tensor and box of everything in the transfer's stream, in order."""
    for group, first, count, *bounds in transfer["pieces"]:
        box = list(zip(bounds[::2], bounds[1::2]))
        for name in plan["groups"][group]["tensors"][first:first + count]:
            yield group, name, box


def gather(plan, transfer, sources, targets, stream, begin, end):
    """Fills bytes of the stream, from the piece that has byte `begin` to the one that has the byte before `end`."""
    at = 0
    for part in parts(plan, transfer):
        shards = sources if at < transfer["bytes"] - transfer.get("passed_on", 0) else targets
        view = shards.view(*part)
        if at < end and at + view.size > begin:
            stream[at:at + view.size] = view.reshape(-1)
        at += view.size
    assert at == stream.size, "the stream is longer than its pieces"


def scatter(plan, transfer, targets, stream, done):
    """Writes the pieces that have arrived: they end before byte `done`."""
    at = 0
    for part in parts(plan, transfer):
        view = targets.view(*part)
        if at + view.size <= done:
            view[...] = stream[at:at + view.size].reshape(view.shape)
        at += view.size


class Stream:
    """The bytes of a transfer, and how many of them have been sent or received."""

    def __init__(self, transfer, array):
        self.transfer, self.bytes, self.done = transfer, torch.from_numpy(array), 0
        self.runs = dict(map(tuple, transfer["runs"]))

    def messages(self, number, message_bytes):
        """The messages of a round, as views."""
        end = self.done + self.runs.get(number, 0)
        while self.done < end:
            begin, self.done = self.done, min(end, self.done + message_bytes)
            yield self.bytes[begin:self.done]


def execute(plan, rank, sources, distributed):
    """Returns the target shards of the rank. Collective: every rank of the plan calls it."""
    targets = Shards(plan, "target", rank)
    sent, received = [], []
    for transfer in plan["transfers"]:
        stream = Stream(transfer, numpy.zeros(transfer["bytes"], numpy.uint8))
        if transfer["from"] == rank == transfer["to"]:
            gather(plan, transfer, sources, targets, stream.bytes.numpy(), 0, transfer["bytes"])
            scatter(plan, transfer, targets, stream.bytes.numpy(), transfer["bytes"])
        elif transfer["from"] == rank:
            sent.append(stream)
        elif transfer["to"] == rank:
            received.append(stream)
    for number in range(plan["rounds"]):
        waiting, staged = [], [0, 0]
        for stream in sent:  # what is passed on has arrived by now
            end = stream.done + stream.runs.get(number, 0)
            gather(plan, stream.transfer, sources, targets, stream.bytes.numpy(), stream.done, end)
        for way, streams, call, peer in ((0, sent, distributed.isend, "to"),
                                         (1, received, distributed.irecv, "from")):
            for stream in streams:
                for message in stream.messages(number, plan["message_bytes"]):
                    waiting.append(call(message, stream.transfer[peer]))
                    staged[way] += message.numel()
        assert max(staged) <= plan["memory_bytes"], f"round {number} needs {staged} bytes"
        for request in waiting:
            request.wait()
        for stream in received:
            if number in stream.runs:
                scatter(plan, stream.transfer, targets, stream.bytes.numpy(), stream.done)
    for stream in received:
        assert stream.done == stream.transfer["bytes"], "the rounds do not carry all bytes"
    return targets
