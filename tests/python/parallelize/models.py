"""Small models of many kinds, with inputs. All numbers have 64 bits."""

import torch
from torch import nn

F = nn.functional
D = torch.float64


class Block(nn.Module):
    """Attention and a feed-forward part, each with a norm before it."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width, bias=False)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        query, key, value = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                             for part in self.qkv(self.norm1(x)).split(width, -1))
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Transformer(nn.Module):
    """Token ids and targets in; a dict of loss and logits out. The head is tied to the embedding."""

    def __init__(self, tokens=24, width=16, heads=4, blocks=2, length=6):
        super().__init__()
        self.tokens, self.places = nn.Embedding(tokens, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, tokens, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids, targets):
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        return {"loss": F.cross_entropy(logits.flatten(0, 1), targets.flatten()), "logits": logits}


class Convolutions(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = norm(8)
        self.second = nn.Conv2d(8, 8, 3, stride=2, groups=4)
        self.head = nn.Linear(8, 5)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.norm(self.first(image))), 2)
        return self.head(self.second(x).mean((2, 3)))


class Patches(nn.Module):
    """Convolutions whose windows are apart."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 4, stride=4), nn.GELU(), nn.Conv2d(8, 8, 1, groups=2), nn.GELU(),
                                    nn.Conv2d(8, 4, 1, stride=2, bias=False))

    def forward(self, x):
        return self.layers(x).mean((2, 3))


class Tables(nn.Module):
    """Embeddings of several features, whose interactions are scored."""

    def __init__(self, sizes=(12, 20, 7), width=8):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(size, width) for size in sizes)
        self.dense = nn.Linear(4, width)
        self.score = nn.Linear(len(sizes) + 1, 1)

    def forward(self, ids, dense):
        rows = [table(ids[:, feature]) for feature, table in enumerate(self.tables)]
        stacked = torch.stack([*rows, self.dense(dense)], 1)
        pairs = torch.bmm(stacked, stacked.transpose(1, 2))
        return self.score(torch.amax(pairs, 2)).squeeze(-1).sigmoid()


class Odds(nn.Module):
    """Reductions and views that are easily cut in a wrong way."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(5, 8))
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.register_buffer("calls", torch.zeros(3))

    def forward(self, x):
        self.calls.add_(1)
        y = torch.einsum("bij,kj->bik", x, self.weight) * self.scale
        normed = y / (y.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
        joined = torch.cat([normed, y.mean(1, keepdim=True)], 1).clamp(min=-1)
        gathered = joined[:, 1:].flatten(1).log_softmax(-1)
        padded = F.pad(gathered, (1, 2)).cumsum(1)
        return padded.std(0), torch.var_mean(joined, dim=(0, 2)), {"n": y.abs().amax(), "m": y.mean()}


class Bags(nn.Module):
    """Bags of embeddings, of equal and of other sizes, and messages between the rows of a graph."""

    def __init__(self, width=8):
        super().__init__()
        self.sums = nn.EmbeddingBag(20, width, mode="sum", padding_idx=3)
        self.means = nn.EmbeddingBag(20, width, mode="mean")
        self.largest = nn.EmbeddingBag(20, width, mode="max")
        self.messages = nn.Linear(width, width)

    def forward(self, ids, offsets, sources, targets):
        x = self.sums(ids) + self.largest(ids) + self.means(ids.flatten(), offsets)
        sent = self.messages(x)[sources]
        counts = torch.zeros_like(x[:, 0]).index_add(0, targets, torch.ones_like(sent[:, 0]))
        received = torch.zeros_like(x).index_add(0, targets, sent) / counts.clamp(min=1)[:, None]
        return received + torch.index_select(x, 0, targets[:x.shape[0]])


class Resampled(nn.Module):
    """Operators that refuse an empty batch, which some ranks have."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect")

    def forward(self, image, grid):
        x = self.first(image)
        return F.grid_sample(x, grid, align_corners=False), F.adaptive_max_pool2d(x, 2)


class Spectrum(nn.Module):
    """Complex numbers, inverses, and checks of values that torch makes by itself."""

    def __init__(self):
        super().__init__()
        self.mixed = nn.Linear(8, 8)
        self.filter = nn.Parameter(torch.randn(5, 8, 2))

    def forward(self, x):
        y = self.mixed(x)
        filtered = torch.fft.irfft(torch.fft.rfft(y, dim=1) * torch.view_as_complex(self.filter), n=8, dim=1)
        inverse = torch.linalg.inv(y @ y.transpose(1, 2) + 4 * torch.eye(8, dtype=y.dtype))
        drawn = torch.distributions.Normal(y, y.square() + 1)
        distance = torch.distributions.kl_divergence(drawn, torch.distributions.Normal(0.0, 1.0))
        return filtered, inverse, distance.mean(), F.pairwise_distance(y, x)


def _floats(*shape):
    return torch.randn(*shape, dtype=D)


def _ids(bound, *shape):
    return torch.randint(0, bound, shape)


# Name: how to make the model, and how to make inputs for a batch of a size.
CASES = {
    "mlp": (lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 6, bias=False), nn.Tanh()),
            lambda n: (_floats(n, 8),)),
    "transformer": (Transformer, lambda n: (_ids(24, n, 6), _ids(24, n, 6))),
    "convolutions": (lambda: Convolutions(lambda n: nn.Identity()), lambda n: (_floats(n, 3, 12, 12),)),
    "patches": (Patches, lambda n: (_floats(n, 3, 32, 16),)),
    "batch norm": (lambda: Convolutions(nn.BatchNorm2d), lambda n: (_floats(n, 3, 12, 12),)),
    "group norm": (lambda: Convolutions(lambda n: nn.GroupNorm(2, n)),
                   lambda n: (_floats(n, 3, 12, 12),)),
    "tables": (Tables, lambda n: (_ids(7, n, 3), _floats(n, 4))),
    "odds": (Odds, lambda n: (_floats(n, 6, 8),)),
    "bags": (Bags, lambda n: (_ids(20, n, 3), torch.arange(0, 3 * n, 3), _ids(n, 4 * n), _ids(n, 4 * n))),
    "resampled": (Resampled, lambda n: (_floats(n, 3, 8, 8), _floats(n, 4, 4, 2).tanh())),
    "spectrum": (Spectrum, lambda n: (_floats(n, 8, 8),)),
    "recurrent": (lambda: nn.GRU(5, 6, batch_first=True), lambda n: (_floats(n, 4, 5),)),
}


def make(name, batch, seed=0):
    """(model, inputs), equal in all processes."""
    torch.manual_seed(seed)
    model, inputs = CASES[name]
    return model().to(D), inputs(batch)
