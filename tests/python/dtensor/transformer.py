"""A transformer of plain modules, its parameters and activations placed on a mesh."""

import math

import torch
from torch import nn
from torch.distributed.tensor import Replicate, Shard, distribute_module, distribute_tensor

BATCH, TOKENS, WIDTH, HEADS, WORDS = 4, 8, 16, 4, 24
R, S = Replicate(), Shard

# By mesh: where the activations between the layers lie; and for each layer where its input lies,
# and the weights that it applies first and last.
PLACED = {
    (4,): {"between": [S(1)], "words": [S(1)], "attention": ([R], [S(0)], [S(1)]), "mlp": ([R], [S(0)], [S(1)])},
    # All ranks divide the tokens between the layers, batch and heads in attention, and the MLP's width.
    (2, 2): {"between": [S(1), S(1)], "words": [S(0), S(1)],
             "attention": ([S(0), R], [R, S(0)], [R, S(1)]),
             "mlp": ([R, R], [S(0), S(0)], [S(1), S(1)])},
}


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(WIDTH, WIDTH, bias=False)
                                                         for _ in range(4))

    def forward(self, tokens):
        query, key, value = (
            layer(tokens).view(BATCH, TOKENS, HEADS, WIDTH // HEADS).transpose(1, 2)
            for layer in (self.query, self.key, self.value))
        scores = query @ key.transpose(2, 3) / math.sqrt(WIDTH // HEADS)
        mixed = scores.softmax(-1) @ value
        return self.output(mixed.transpose(1, 2).reshape(BATCH, TOKENS, WIDTH))


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, tokens):
        return self.down(nn.functional.gelu(self.up(tokens)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.mlp_norm = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.mlp = Attention(), Mlp()

    def forward(self, tokens):
        tokens = tokens + self.attention(self.attention_norm(tokens))
        return tokens + self.mlp(self.mlp_norm(tokens))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(), Block())
        self.norm, self.words = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, WORDS)

    def forward(self, tokens):
        return self.words(self.norm(self.blocks(tokens)))


def _place_parameters(first, last):
    def place(name, module, mesh):
        at = {"query": first, "key": first, "value": first, "up": first, "output": last,
              "down": last}.get(name.rpartition(".")[2], [R] * mesh.ndim)
        for key, value in list(module.named_parameters(recurse=False)):
            # Every rank has the same values.
            module.register_parameter(key, nn.Parameter(
                distribute_tensor(value.detach(), mesh, at, src_data_rank=None)))
    return place


def _moved_to(placements):
    """What a layer does with its inputs or its output."""
    def move(_, values, mesh):
        if isinstance(values, tuple):
            return tuple(value.redistribute(mesh, placements) for value in values)
        return values.redistribute(mesh, placements)
    return move


def placed_transformer(mesh):
    """Parameters are distributed, and the layers redistribute their inputs and outputs."""
    placed = PLACED[tuple(mesh.shape)]
    torch.manual_seed(3)
    model = Transformer()
    for block in model.blocks:
        for name in ("attention", "mlp"):
            inner, first, last = placed[name]
            distribute_module(block.get_submodule(name), mesh, _place_parameters(first, last),
                              _moved_to(inner), _moved_to(placed["between"]))
    distribute_module(model.words, mesh, None, _moved_to(placed["words"]))
    return distribute_module(model, mesh)


def batch(mesh=None):
    """Tokens and the words that follow them; placed if there is a mesh."""
    chance = torch.Generator().manual_seed(4)
    tokens = torch.randn(BATCH, TOKENS, WIDTH, generator=chance)
    words = torch.randint(WORDS, (BATCH, TOKENS), generator=chance)
    followed = nn.functional.one_hot(words, WORDS).float()
    if mesh is None:
        return tokens, followed
    placed = PLACED[tuple(mesh.shape)]
    return tuple(distribute_tensor(value, mesh, at, src_data_rank=None)
                 for value, at in ((tokens, placed["between"]), (followed, placed["words"])))


def loss_of(model, tokens, followed):
    return -(model(tokens).log_softmax(-1) * followed).sum() / (BATCH * TOKENS)
