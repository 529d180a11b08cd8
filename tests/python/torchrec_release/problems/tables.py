"""Random tables and the modules that hold them."""

DIMS = (4, 8, 12, 16, 20, 32, 36, 48, 64, 64, 96, 100, 128, 128, 160, 192, 256, 384, 512, 768)
ODD_DIMS = (1, 2, 10, 33, 130)
OPTIMIZERS = ("SGD", "Adam", "Adagrad", "RowWiseAdagrad", "LAMB", "LarsSGD", "PartialRowWiseAdam")
NUMBERS = {1: 3, 2: 5, 3: 6, 4: 6, 5: 6, 6: 5, 8: 4, 10: 3, 14: 2, 20: 0.8, 30: 0.5}


def module(chance, themes, number, quant):
    """Returns what the tables of one module have in common."""
    kind = "sequence" if chance.maybe(0.15) else "pooled"
    common = {"module": f"m{number}"} if number or chance.maybe(0.5) else {}
    for key in ("weighted", "feature_processed", "tower"):
        chance.perhaps(0.03, common, key, False)
    if kind == "sequence":  # TorchRec wants one dimension in such a module
        return {"kind": kind, "embedding_dim": chance.choice(DIMS), **common}
    chance.perhaps(0.3, common, "kind", kind)
    if not quant and (chance.maybe(0.6) if "fp-guard" in themes else chance.maybe(0.03)):
        common["feature_processed"] = True
    elif not quant and chance.maybe(0.04):  # an embedding tower: all of its tables are on one host
        common["module"] = common["dependency"] = f"m{number}"
        common["tower"] = True
    elif chance.maybe(0.15):
        common["weighted"] = True
    return common


def special(table):
    """Returns true if the table's module is no plain collection."""
    return table.get("feature_processed") or table.get("tower")


def buckets(chance, table):
    """Makes the number of rows a multiple of the number of buckets."""
    count = chance.choice((1, 2, 3, 5, 8, 12, 16, 24, 32, 100))
    table["num_embeddings"] = max(table["num_embeddings"] // count, 1) * count
    chance.flag(0.9, table, "use_virtual_table")
    chance.perhaps(0.9, table, "total_num_buckets", count)


def data_type(chance, quant):
    """Modules for inference know fewer types."""
    return chance.choice(("FP32", "FP16", "INT8", "INT4", "INT2") if quant else ("FP32", "FP16", "BF16", "INT8"))


def features(chance, number):
    """Returns names, or objects that also have a pooling factor."""
    names = [f"t{number}_f{i}" for i in range(chance.often({1: 7, 2: 2, 3: 1, 5: 0.5}))]
    if chance.maybe(0.95):
        return names
    of_each = [{"name": name} for name in names]
    for of in of_each:
        chance.perhaps(0.7, of, "pooling_factor", round(chance.uniform(0, 40), 2))
    return [name if chance.maybe(0.2) else of for name, of in zip(names, of_each)]


def names_of_features(table):
    """Returns the names of a table's features. A table that has none is its own feature."""
    return [of["name"] if isinstance(of, dict) else of for of in table.get("features", [table["name"]])]


def table(chance, themes, number, common, quant):
    result = {"name": f"t{number}", "num_embeddings": chance.whole(1, 40_000_000),
              "embedding_dim": chance.choice(ODD_DIMS if not quant and chance.maybe(0.02) else DIMS), **common}
    chance.perhaps(0.9, result, "features", features(chance, number))
    chance.perhaps(0.05, result, "pooling_factor", round(chance.uniform(0, 60), 2))
    if chance.maybe(0.02):
        result["num_embeddings"] = chance.whole(1 << 30, 1 << 42)
    if chance.maybe(0.25):
        result["num_embeddings"] = chance.whole(1, 64)
    if chance.maybe(0.9 if quant else 0.2):
        result["data_type"] = data_type(chance, quant)
    if result.get("kind") != "sequence" and chance.maybe(0.1):
        result["pooling"] = chance.choice(("MEAN", "MEAN", "SUM"))
    if not quant and chance.maybe(0.25):
        result["optimizer"] = chance.choice(OPTIMIZERS)
    if "kernels-2026" in themes and not quant and not special(result) and chance.maybe(0.3):
        buckets(chance, result)
    return result


def tables(chance, themes, quant):
    count = chance.often(NUMBERS)
    modules = [module(chance, themes, i, quant) for i in range(min(count, chance.often({1: 7, 2: 2, 3: 1})))]
    chosen = sorted(chance.randrange(len(modules)) for _ in range(count))
    return [table(chance, themes, i, modules[number], quant) for i, number in enumerate(chosen)]
