"""The tables of a problem as modules of TorchRec on the meta device, which holds no values."""

import torch
from torch import nn
from torchrec import optim
from torchrec.modules.embedding_configs import (DataType, EmbeddingBagConfig, EmbeddingConfig,
                                                PoolingType)
from torchrec.modules.embedding_modules import EmbeddingBagCollection, EmbeddingCollection
from torchrec.modules.embedding_tower import EmbeddingTower
from torchrec.modules.feature_processor_ import PositionWeightedModule
from torchrec.modules.fp_embedding_modules import FeatureProcessedEmbeddingBagCollection
from torchrec.quant.embedding_modules import EmbeddingBagCollection as QuantBags
from torchrec.quant.embedding_modules import EmbeddingCollection as QuantSequences

META = torch.device("meta")
# Table key -> field of TorchRec's configurations.
CONFIG_FIELDS = ("use_virtual_table", "total_num_buckets")


def module_of(table):
    if table.get("module"):
        return table["module"]
    if table.get("feature_processed"):
        return "fp_ebc"
    if table.get("kind", "pooled") == "sequence":
        return "ec"
    return "ebc_w" if table.get("weighted") else "ebc"


def feature_names(table):
    features = table.get("features") or [table["name"]]
    return [f["name"] if isinstance(f, dict) else f for f in features]


def config(table):
    fields = {"name": table["name"], "num_embeddings": table["num_embeddings"],
              "embedding_dim": table["embedding_dim"], "feature_names": feature_names(table),
              "data_type": DataType[table.get("data_type", "FP32").upper()]}
    fields.update({key: table[key] for key in CONFIG_FIELDS if key in table})
    if table.get("kind", "pooled") == "sequence":
        return EmbeddingConfig(**fields)
    return EmbeddingBagConfig(pooling=PoolingType[table.get("pooling", "SUM")], **fields)


def processed(bags):
    """Puts a feature processor before a weighted collection."""
    names = [name for table in bags.embedding_bag_configs() for name in table.feature_names]
    return FeatureProcessedEmbeddingBagCollection(
        bags, {name: PositionWeightedModule(max_feature_length=10, device=META) for name in names})


def collection(tables, quant):
    configs = [config(table) for table in tables]
    if tables[0].get("kind", "pooled") == "sequence":
        kind = QuantSequences if quant else EmbeddingCollection
        return kind(tables=configs, device=META)
    with_processor = tables[0].get("feature_processed", False)
    weighted = with_processor or tables[0].get("weighted", False)
    if quant:
        return QuantBags(tables=configs, is_weighted=weighted, device=META)
    bags = EmbeddingBagCollection(tables=configs, is_weighted=weighted, device=META)
    if tables[0].get("tower"):
        return EmbeddingTower(embedding_module=bags, interaction_module=nn.Identity())
    return processed(bags) if with_processor else bags


def set_optimizers(module, tables):
    """Notes on the parameters which optimizer will be fused with them, as `apply_optimizer_in_backward` does."""
    by_name = {table["name"]: table.get("optimizer") for table in tables}
    for path, parameter in module.named_parameters():
        name = by_name.get(path.split(".")[-2]) if "." in path else None
        if name:
            kind = getattr(optim, name, None) or getattr(torch.optim, name)
            parameter._optimizer_classes = [kind]


class Model(nn.Module):
    """The collections by name in the order of their first tables, and the parameters beside them."""

    def __init__(self, problem):
        super().__init__()
        quant = problem.get("sharder", {}).get("type") == "quant"
        tables_of = {}
        for table in problem["tables"]:
            tables_of.setdefault(module_of(table), []).append(table)
        for name, tables in tables_of.items():
            module = collection(tables, quant)
            set_optimizers(module, tables)
            setattr(self, name, module)
        if problem.get("dense_params"):
            self.dense = nn.Parameter(torch.empty(problem["dense_params"], device=META))
