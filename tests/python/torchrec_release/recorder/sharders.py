"""The sharders of a problem."""

from types import SimpleNamespace

import torch
from torchrec.distributed.embedding import EmbeddingCollectionSharder
from torchrec.distributed.embedding_tower_sharding import EmbeddingTowerSharder
from torchrec.distributed.embeddingbag import EmbeddingBagCollectionSharder
from torchrec.distributed.fp_embeddingbag import FeatureProcessedEmbeddingBagCollectionSharder
from torchrec.distributed.quant_embedding import QuantEmbeddingCollectionSharder
from torchrec.distributed.quant_embeddingbag import QuantEmbeddingBagCollectionSharder
from torchrec.distributed.types import CommOp
from torchrec.modules.embedding_configs import DataType, data_type_to_dtype

from recorder.constraints import multipass

COLLECTIVES = {"pooled_all_to_all": CommOp.POOLED_EMBEDDINGS_ALL_TO_ALL,
               "sequence_all_to_all": CommOp.SEQUENCE_EMBEDDINGS_ALL_TO_ALL,
               "pooled_reduce_scatter": CommOp.POOLED_EMBEDDINGS_REDUCE_SCATTER}


def codec(name):
    """Returns the part of a codec that planners read. The type is `torch.float` unless named."""
    dtype = data_type_to_dtype(DataType[name]) if name else torch.float
    return SimpleNamespace(quantized_dtype=dtype)


def codecs(given):
    if not given:
        return None
    return {COLLECTIVES[key].name: SimpleNamespace(forward=codec(value.get("forward")),
                                                   backward=codec(value.get("backward")))
            for key, value in given.items() if value is not None}


def fused_params(given):
    params = dict(given or {})
    if params.get("multipass_prefetch_config"):
        params["multipass_prefetch_config"] = multipass(params["multipass_prefetch_config"])
    return params or None


def sharders(problem):
    given = problem.get("sharder", {})
    common = {"fused_params": fused_params(given.get("fused_params"))}
    if given.get("type") == "quant":
        return [QuantEmbeddingBagCollectionSharder(**common), QuantEmbeddingCollectionSharder(**common)]
    common["qcomm_codecs_registry"] = codecs(given.get("qcomm_codecs"))
    bags = EmbeddingBagCollectionSharder(**common)
    return [bags, EmbeddingCollectionSharder(**common), EmbeddingTowerSharder(**common),
            FeatureProcessedEmbeddingBagCollectionSharder(
                bags, qcomm_codecs_registry=common["qcomm_codecs_registry"])]
