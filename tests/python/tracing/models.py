"""Small models of different kinds, with arguments for a call."""

import torch
import torch.nn.functional as F
from torch import nn


class Mlp(nn.Module):
    def __init__(self, width=12, hidden=20):
        super().__init__()
        self.up = nn.Linear(width, hidden)
        self.down = nn.Linear(hidden, width)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.mlp = Mlp(width, 4 * width)

    def forward(self, x):
        batch, tokens, width = x.shape
        query, key, value = (part.view(batch, tokens, self.heads, -1).transpose(1, 2)
                             for part in self.qkv(self.norm(x)).chunk(3, -1))
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(found.transpose(1, 2).reshape(batch, tokens, width))
        return x + self.mlp(x)


class Transformer(nn.Module):
    """With tied weights, a buffer, keyword arguments and a dict as result."""

    def __init__(self, blocks=2, width=16, heads=4, vocabulary=24, tokens=12):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("positions", torch.randn(tokens, width))

    def forward(self, ids, *, labels=None, scale=1.0):
        x = self.embed(ids) * scale + self.positions[:ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.head(x)
        if labels is None:
            return {"logits": logits}
        return {"logits": logits, "loss": F.cross_entropy(logits.flatten(0, 1), labels.flatten())}


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 12, 3, stride=2, padding=1, groups=4)
        self.groups = nn.GroupNorm(3, 12)
        self.head = nn.Linear(12, 5)

    def forward(self, images, labels):
        x = F.max_pool2d(F.relu(self.norm(self.first(images))), 2)
        x = F.silu(self.groups(self.second(x))).mean((2, 3))
        return F.cross_entropy(self.head(x), labels)


class Embeddings(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, 8) for rows in (30, 7))
        self.top = nn.Linear(16, 1)

    def forward(self, features):
        found = [table(ids) for table, ids in zip(self.tables, features["ids"])]
        return torch.sigmoid(self.top(torch.cat(found, -1))).squeeze(-1)


def ids(*shape, below):
    return torch.randint(0, below, shape, generator=torch.Generator().manual_seed(7))


def cases(batch=4):
    """(name, model, positional arguments, keyword arguments)."""
    torch.manual_seed(3)
    return [
        ("mlp", Mlp(), (torch.randn(batch, 12),), {}),
        ("transformer", Transformer(), (ids(batch, 12, below=24),),
         {"labels": ids(batch, 12, below=24), "scale": 2.0}),
        ("convolutions", Convolutions(), (torch.randn(batch, 3, 8, 8), ids(batch, below=5)), {}),
        ("embeddings", Embeddings(), ({"ids": [ids(batch, below=7), ids(batch, below=7)]},), {}),
    ]


class LlamaBlock(nn.Module):
    """The shapes of a block of Llama 3 with its 8 key and value heads."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(2))
        self.query, self.out = (nn.Linear(width, width, bias=False) for _ in range(2))
        self.key, self.value = (nn.Linear(width, 8 * self.size, bias=False) for _ in range(2))
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x):
        y = self.norms[0](x)
        query, key, value = (layer(y).unflatten(-1, (-1, self.size)).transpose(1, 2)
                             for layer in (self.query, self.key, self.value))
        found = F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)
        x = x + self.out(found.transpose(1, 2).flatten(-2))
        y = self.norms[1](x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, blocks=32, width=4096, heads=32, hidden=14336, vocabulary=128256):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, hidden) for _ in range(blocks))
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)

    def forward(self, tokens, labels):
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).float().flatten(0, 1), labels.flatten())
