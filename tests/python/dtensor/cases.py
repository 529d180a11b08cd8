"""Random redistributions: meshes, shapes, placements with shard order and partial values."""

import itertools
import math
import random
from dataclasses import dataclass

import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import Partial, Replicate, Shard
from torch.distributed.tensor._dtensor_spec import DTensorSpec, ShardOrderEntry, TensorMeta

EVEN, UNEVEN = (8, 16, 32), (3, 5, 7, 9, 12)


@dataclass(frozen=True)
class Placed:
    """A letter per mesh axis, "R", "P" or the number of a dimension; and the order of axes."""

    axes: tuple
    order: tuple  # all axes, outermost first

    def placements(self, reduce_op):
        objects = {"R": Replicate(), "P": Partial(reduce_op)}
        return tuple(objects[axis] if axis in objects else Shard(axis) for axis in self.axes)

    def shard_order(self):
        dims = sorted({axis for axis in self.axes if axis not in ("R", "P")})
        return tuple(ShardOrderEntry(dim, tuple(axis for axis in self.order if self.axes[axis] == dim))
                     for dim in dims)

    def words(self, reduce_op):
        words = [f"P({reduce_op})" if axis == "P" else str(axis) for axis in self.axes]
        for dim, axes in self.shard_order():
            for index, axis in enumerate(axes):
                words[axis] = f"S({dim})[{index}]"
        return words


@dataclass(frozen=True)
class Pair:
    mesh: tuple
    shape: tuple
    reduce_op: str
    source: Placed
    target: Placed

    def spec(self, mesh, placed):
        stride = torch.empty(self.shape, device="meta").stride()
        return DTensorSpec(mesh, placed.placements(self.reduce_op),
                           TensorMeta(torch.Size(self.shape), stride, torch.float32),
                           shard_order=placed.shard_order())

    def specs(self, mesh):
        return self.spec(mesh, self.source), self.spec(mesh, self.target)

    def has_order(self):
        return any(list(axes) != sorted(axes) for placed in (self.source, self.target)
                   for _, axes in placed.shard_order())


def _placed(chance, mesh, dims, ordered, partial_where):
    axes = []
    for axis in range(len(mesh)):
        choices = ["R", "R", *range(dims), *(["P"] if partial_where(axis) else [])]
        axes.append(chance.choice(choices))
    order = list(range(len(mesh)))
    if ordered:
        chance.shuffle(order)
    return Placed(tuple(axes), tuple(order))


def random_pair(chance, mesh, reduce_ops, ordered):
    """A pair that torch can run: shards do not become partial, factors are not made of values."""
    dims = chance.randint(1, 4)
    sizes = EVEN if chance.random() < 0.5 else UNEVEN
    reduce_op = chance.choice(reduce_ops)
    source = _placed(chance, mesh, dims, ordered, lambda axis: True)
    target = _placed(chance, mesh, dims, ordered,
                     lambda axis: source.axes[axis] == "P"
                     or (source.axes[axis] == "R" and reduce_op != "product"))
    return Pair(mesh, tuple(chance.choice(sizes) for _ in range(dims)), reduce_op, source, target)


def random_pairs(seed, mesh, count, reduce_ops=("sum", "min", "max", "product"), order_every=4):
    """Pairs whose placements differ; one in `order_every` may have a shard order."""
    chance = random.Random(f"{seed} {mesh}")
    pairs = []
    while len(pairs) < count:
        pair = random_pair(chance, mesh, reduce_ops, len(pairs) % order_every == 0)
        if pair.source.words("sum") != pair.target.words("sum"):
            pairs.append(pair)
    return pairs


def interval(size, pair, placed, dim, coordinate):
    """What a device holds of a dimension: each axis cuts as torch.chunk does."""
    begin, end = 0, size
    for axis in dict(placed.shard_order()).get(dim, ()):
        piece = -(-(end - begin) // pair.mesh[axis])
        begin = min(end, begin + piece * coordinate[axis])
        end = min(end, begin + piece)
    return slice(begin, end)


def term(pair, placed, coordinate):
    """The values on a device: whole numbers, so that sums of any order are the same to the bit.
    Along partial axes the devices have different ones.
    """
    partial = [coordinate[axis] for axis, kind in enumerate(placed.axes) if kind == "P"]
    salt = 1 + sum(number * 3 ** place for place, number in enumerate(partial))
    values = (torch.arange(math.prod(pair.shape)) * 7 % 11 * salt % 3 + 1).reshape(pair.shape)
    cut = tuple(interval(size, pair, placed, dim, coordinate)
                for dim, size in enumerate(pair.shape))
    return values.to(torch.float32)[cut].contiguous()


def reduced(pair, coordinate):
    """The reduced tensor, cut as the target wants it on this device."""
    whole = Placed(tuple("P" if kind == "P" else "R" for kind in pair.source.axes),
                   pair.source.order)
    ranges = [range(size) if kind == "P" else range(1)
              for kind, size in zip(whole.axes, pair.mesh)]
    terms = torch.stack([term(pair, whole, place) for place in itertools.product(*ranges)])
    reduce = {"sum": terms.sum, "avg": terms.mean, "min": terms.amin, "max": terms.amax,
              "product": terms.prod}[pair.reduce_op]
    cut = tuple(interval(size, pair, pair.target, dim, coordinate)
                for dim, size in enumerate(pair.shape))
    return reduce(0)[cut]


def mesh_of(shape, device="cpu"):
    names = tuple(f"axis{axis}" for axis in range(len(shape)))
    return init_device_mesh(device, shape, mesh_dim_names=names)
