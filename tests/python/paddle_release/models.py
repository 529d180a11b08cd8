"""Small models whose tensors are annotated with placements: data, tensor and pipeline parallel."""

import dataclasses
from typing import Optional

import numpy
import paddle
from paddle import nn
from paddle.distributed.fleet import auto
from paddle.utils import unique_name

BATCH, SEQUENCE, HIDDEN, HEADS, WORDS = 8, 16, 32, 4, 64
DATA, TENSOR = "data", "tensor"
BETWEEN = "between_layers"  # names of the tensors between layers start with this


@dataclasses.dataclass(frozen=True)
class Placement:
    """A pipeline whose stages are meshes of `data` x `tensor` ranks."""

    stages: tuple  # (data, tensor) of each
    # The dimension of the tensors between layers that the ranks of a tensor group divide. Their readers want them
    # whole, so that each of these tensors is cut and gathered again. Such a model is not trained, because Paddle places
    # some gradients otherwise than the operators that write them, which its Resharder refuses.
    divided: Optional[int] = None

    @property
    def trains(self):
        return self.divided is None

    def __post_init__(self):
        meshes, first = [], 0
        for data, tensor in self.stages:
            extents = [(name, extent) for name, extent in ((DATA, data), (TENSOR, tensor)) if extent > 1]
            names, shape = zip(*(extents or [(DATA, 1)]))
            ids = numpy.arange(first, first + data * tensor).reshape(shape)
            meshes.append((auto.ProcessMesh(ids.tolist(), dim_names=list(names)), names))
            first += data * tensor
        object.__setattr__(self, "meshes", meshes)
        object.__setattr__(self, "ranks", range(first))

    def stage_of(self, layer, layers):
        return layer * len(self.stages) // layers

    def place(self, tensor, stage, *axes):
        """Splits each dimension along the axis of that name, if the stage's mesh has it."""
        mesh, names = self.meshes[stage]
        auto.shard_tensor(tensor, mesh, [axis if axis in names else None for axis in axes])

    def place_input(self, tensor, stage):
        """Says where a stage wants its input."""
        self.place(tensor, stage, DATA, *[None] * (len(tensor.shape) - 1))


def between_layers(x, change):
    """The sum that the next layer reads; its name says so."""
    return paddle.add(x, change, name=unique_name.generate(BETWEEN))


class FeedForward(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.up = nn.Linear(HIDDEN, 4 * HIDDEN)
        self.down = nn.Linear(4 * HIDDEN, HIDDEN)

    def forward(self, x, placement, stage):
        placement.place(self.up.weight, stage, None, TENSOR)
        placement.place(self.down.weight, stage, TENSOR, None)
        return between_layers(x, self.down(nn.functional.gelu(self.up(self.norm(x)), approximate=True)))


class Attention(nn.Layer):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(HIDDEN)
        self.query, self.key, self.value, self.out = (nn.Linear(HIDDEN, HIDDEN) for _ in range(4))

    def forward(self, x, mask, placement, stage):
        def heads(linear):
            placement.place(linear.weight, stage, None, TENSOR)
            return linear(normed).reshape([0, 0, HEADS, HIDDEN // HEADS]).transpose([0, 2, 1, 3])

        normed = self.norm(x)
        query, key, value = heads(self.query), heads(self.key), heads(self.value)
        scores = paddle.matmul(query, key, transpose_y=True) * (HIDDEN // HEADS) ** -0.5
        if mask is not None:
            scores = paddle.where(mask, scores, paddle.full_like(scores, -1e4))
        # Paddle has no rule for how clip propagates splits, so it wants all heads.
        weights = nn.functional.softmax(paddle.clip(scores, -1e4, 1e4))
        mixed = paddle.matmul(weights, value).transpose([0, 2, 1, 3]).reshape([0, 0, HIDDEN])
        placement.place(self.out.weight, stage, TENSOR, None)
        return between_layers(x, self.out(mixed))


def loss_of(x, label):
    return paddle.mean(nn.functional.square_error_cost(nn.Linear(HIDDEN, 1)(x), label))


def mlp(layers, placement):
    """Returns the loss. Its operators are appended to the current program."""
    x = paddle.static.data("x", [BATCH, HIDDEN], "float32")
    label = paddle.static.data("label", [BATCH, 1], "float32")
    placement.place(x, 0, DATA, None)
    placement.place(label, -1, DATA, None)
    for layer in range(layers):
        stage = placement.stage_of(layer, layers)
        placement.place_input(x, stage)
        x = FeedForward()(x, placement, stage)
    return loss_of(x, label)


def transformer(layers, placement, masked=False):
    """Returns the loss. With `masked`, all stages use a mask of booleans that the first one makes."""
    tokens = paddle.static.data("tokens", [BATCH, SEQUENCE], "int64")
    label = paddle.static.data("label", [BATCH, SEQUENCE, 1], "float32")
    placement.place(tokens, 0, DATA, None)
    placement.place(label, -1, DATA, None, None)
    mask = (tokens > 0).reshape([0, 1, 1, SEQUENCE]) if masked else None
    embedding = nn.Embedding(WORDS, HIDDEN)
    placement.place(embedding.weight, 0, TENSOR, None)
    x = embedding(tokens)
    for layer in range(layers):
        stage = placement.stage_of(layer, layers)
        placement.place_input(x, stage)
        x = Attention()(x, mask, placement, stage)
        x = FeedForward()(x, placement, stage)
    return loss_of(x, label)


def masked_transformer(layers, placement):
    return transformer(layers, placement, masked=True)


MODELS = {"mlp": mlp, "transformer": transformer, "masked_transformer": masked_transformer}
