"""Transfers of mixture-of-experts models with the shapes of DeepSeek-V3, from a trainer to an inference engine.

The trainer has pipeline stages. In a stage, experts are spread over the ranks, and all other weights are replicated
(data parallel). The engine is a mesh of expert-parallel times tensor-parallel ranks: experts are spread over the first
axis and each is cut along the second; attention is tensor parallel and replicated over the first axis.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """The default is DeepSeek-V3 (671 B parameters). Source: its config.json."""

    layers: int = 61
    dense_layers: int = 3
    experts: int = 256
    hidden: int = 7168
    dense_width: int = 18432
    expert_width: int = 2048
    vocabulary: int = 129280
    heads: int = 128
    query_rank: int = 1536
    key_rank: int = 512
    head_dim: int = 128
    rope_dim: int = 64


@dataclass(frozen=True)
class Ranks:
    """Trainer: stages of ranks from 0 on. Engine: a mesh of ranks from `engine_first` on."""

    stages: int = 16
    stage_ranks: int = 64
    engine_experts: int = 32
    engine_tensor: int = 8
    engine_first: int = 1024
    stacked: bool = True  # the experts of a layer are one tensor, with a dimension of experts


def attention(model):
    """Name, shape, and the dimension that tensor parallelism cuts (None: replicated)."""
    query = model.head_dim + model.rope_dim
    return [("self_attn.q_a_proj.weight", [model.query_rank, model.hidden], None),
            ("self_attn.q_a_layernorm.weight", [model.query_rank], None),
            ("self_attn.q_b_proj.weight", [model.heads * query, model.query_rank], 0),
            ("self_attn.kv_a_proj_with_mqa.weight", [model.key_rank + model.rope_dim, model.hidden], None),
            ("self_attn.kv_a_layernorm.weight", [model.key_rank], None),
            ("self_attn.kv_b_proj.weight", [model.heads * 2 * model.head_dim, model.key_rank], 0),
            ("self_attn.o_proj.weight", [model.hidden, model.heads * model.head_dim], 1),
            ("input_layernorm.weight", [model.hidden], None),
            ("post_attention_layernorm.weight", [model.hidden], None)]


def feed_forward(prefix, width, model):
    return [(f"{prefix}.gate_proj.weight", [width, model.hidden], 0),
            (f"{prefix}.up_proj.weight", [width, model.hidden], 0),
            (f"{prefix}.down_proj.weight", [model.hidden, width], 1)]


class Transfer:
    """Collects the meshes and tensors of a transfer file."""

    def __init__(self, model, ranks):
        self.model, self.ranks = model, ranks
        self.tensors = []
        last = ranks.engine_first + ranks.engine_experts * ranks.engine_tensor - 1
        self.meshes = {"engine": {"shape": [ranks.engine_experts, ranks.engine_tensor],
                                  "ranks": f"{ranks.engine_first}-{last}"}}
        for stage in range(ranks.stages):
            first = stage * ranks.stage_ranks
            self.meshes[f"stage{stage}"] = {"shape": [ranks.stage_ranks],
                                            "ranks": f"{first}-{first + ranks.stage_ranks - 1}"}

    def add(self, name, shape, source, target):
        self.tensors.append({"name": name, "shape": shape, "data_type": "bfloat16",
                             "source": {"mesh": source[0], "placements": source[1]},
                             "target": {"mesh": target[0], "placements": target[1]}})

    def add_shared(self, name, shape, cut, stage):
        """A weight that a stage replicates."""
        target = "R" if cut is None else f"S({cut})"
        self.add(name, shape, (f"stage{stage}", ["R"]), ("engine", ["R", target]))

    def add_stacked_experts(self, prefix, stage):
        for name, shape, cut in feed_forward(prefix, self.model.expert_width, self.model):
            self.add(name, [self.model.experts, *shape], (f"stage{stage}", ["S(0)"]),
                     ("engine", ["S(0)", f"S({cut + 1})"]))

    def add_separate_experts(self, prefix, stage):
        """Each expert is a tensor on the ranks that hold it."""
        ranks = self.ranks
        for expert in range(self.model.experts):
            owner = stage * ranks.stage_ranks + expert * ranks.stage_ranks // self.model.experts
            group = expert * ranks.engine_experts // self.model.experts
            first = ranks.engine_first + group * ranks.engine_tensor
            self.meshes.setdefault(f"rank{owner}", {"shape": [1], "ranks": [owner]})
            self.meshes.setdefault(f"group{group}", {"shape": [ranks.engine_tensor],
                                                     "ranks": f"{first}-{first + ranks.engine_tensor - 1}"})
            for name, shape, cut in feed_forward(f"{prefix}.{expert}", self.model.expert_width, self.model):
                self.add(name, shape, (f"rank{owner}", ["R"]), (f"group{group}", [f"S({cut})"]))

    def add_layer(self, layer):
        model = self.model
        stage = layer * self.ranks.stages // model.layers
        prefix = f"model.layers.{layer}"
        weights = attention(model)
        if layer < model.dense_layers:
            weights += feed_forward("mlp", model.dense_width, model)
        else:
            weights += [("mlp.gate.weight", [model.experts, model.hidden], None)]
            weights += feed_forward("mlp.shared_experts", model.expert_width, model)
            add_experts = self.add_stacked_experts if self.ranks.stacked else self.add_separate_experts
            add_experts(f"{prefix}.mlp.experts", stage)
        for name, shape, cut in weights:
            self.add_shared(f"{prefix}.{name}", shape, cut, stage)

    def document(self):
        model = self.model
        self.add_shared("model.embed_tokens.weight", [model.vocabulary, model.hidden], 0, 0)
        for layer in range(model.layers):
            self.add_layer(layer)
        self.add_shared("model.norm.weight", [model.hidden], None, self.ranks.stages - 1)
        self.add_shared("lm_head.weight", [model.vocabulary, model.hidden], 0, self.ranks.stages - 1)
        return {"meshes": self.meshes, "tensors": self.tensors}


def transfer(model=Model(), ranks=Ranks(), hosts=None):
    """Returns a transfer file as a document. `hosts`: the value of its key of that name."""
    document = Transfer(model, ranks).document()
    if hosts is not None:
        document["hosts"] = hosts
    return document
