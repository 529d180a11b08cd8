"""The model that both sides trace: blocks of a transformer on the meta device."""

import torch
from torch import nn

WIDTH, HEADS, HIDDEN, TOKENS, SAMPLES = 1024, 16, 4096, 256, 8


class Block(nn.Module):
    """Attention is written as products and a softmax: both planners can shard these on a machine without a GPU."""

    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))
        self.w1 = nn.Linear(WIDTH, HIDDEN, bias=False)
        self.w2 = nn.Linear(HIDDEN, WIDTH, bias=False)

    def attention(self, x):
        q, k, v = (linear(x).unflatten(-1, (HEADS, -1)).permute(0, 2, 1, 3)
                   for linear in (self.wq, self.wk, self.wv))
        weights = torch.softmax(q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5, -1)
        return self.wo((weights @ v).permute(0, 2, 1, 3).flatten(-2))

    def forward(self, x):
        x = self.attention(x) + x
        return x + self.w2(torch.relu(self.w1(x)))


def model(blocks):
    with torch.device("meta"):
        return nn.Sequential(*(Block() for _ in range(blocks)))


def input_shape(mesh):
    """The batch is sharded over the first axis, which does not change a device's work."""
    return SAMPLES * mesh[0], TOKENS, WIDTH


def pinned(mesh):
    """How input and output lie, as words: the batch over the first axis."""
    return ["S0"] + ["R"] * (len(mesh) - 1)
