"""Random topologies."""

GIB = 1 << 30
DEFAULTS = {"intra_host_bw": 600 * GIB / 1000, "inter_host_bw": 12.5 * GIB / 1000,
            "hbm_mem_bw": 897 * GIB / 1000, "ddr_mem_bw": 51 * GIB / 1000,
            "hbm_to_ddr_mem_bw": 32 * GIB / 1000, "ssd_mem_bw": 100 * (1 << 20) / 1000,
            "bwd_compute_multiplier": 2.0, "weighted_feature_bwd_compute_multiplier": 1.0,
            "uneven_sharding_perf_multiplier": 1.0}
MOST_BYTES = 1 << 53  # that the command accepts per rank; virtual tables may have more
TIERS = {"hbm_cap": 32 * GIB, "ddr_cap": 128 * GIB, "ssd_cap": 2048 * GIB}
ELEMENT_BYTES = {"FP32": 4}  # TorchRec's modules hold every other type in 2 bytes


def size_of(tables):
    return sum(t["num_embeddings"] * t["embedding_dim"] * ELEMENT_BYTES.get(t.get("data_type", "FP32"), 2)
               for t in tables)


def ranks(chance, themes):
    """Returns sizes by key: world, host and perhaps pod. Hosts divide the world and pods the hosts, unless a theme
    says otherwise. The world is at least half of a host, since the command refuses smaller ones."""
    local = chance.often({1: 1, 2: 5, 4: 5, 8: 4, 3: 1})
    hosts = chance.often({1: 5, 2: 6, 3: 1, 4: 2} if local < 8 else {1: 6, 2: 3})
    if "pods" in themes:
        local, hosts = min(local, 4), chance.choice((2, 2, 3, 4, 4, 6))
    if chance.maybe(0.02):
        local, hosts = 8, 8
    result = {"world_size": local * hosts, "local_world_size": local}
    if hosts == 1 and chance.maybe(0.3):
        del result["local_world_size"]
    if chance.maybe(0.9 if "pods" in themes else 0.03):
        result["pod_size"] = chance.choice([size for size in range(1, hosts + 1) if hosts % size == 0])
    if "uneven-hosts" in themes:
        result["world_size"] = max((local + 1) // 2, result["world_size"] - chance.randint(1, local))
        if "pods" in themes:
            result["pod_size"] = chance.randint(1, hosts + 1)
    return result


def memory(chance, themes, tables, device, world_size):
    """Returns capacities in bytes per rank: from less than the tables need to far more."""
    need = min(max(size_of(tables) // world_size, 1 << 20), MOST_BYTES // 256)
    machine = {}
    if chance.maybe(0.8):
        cap = int(need * chance.often({0.05: 0.5, 0.4: 1, 0.8: 2, 1.2: 4, 2.0: 6, 8.0: 7, 100.0: 2})
                  * chance.uniform(0.8, 1.25)) + chance.choice((0, 1 << 28, 1 << 30))
        machine["ddr_cap" if device == "cpu" else "hbm_cap"] = cap
    if device == "cpu":
        chance.perhaps(0.1, machine, "hbm_cap", need)
    elif chance.maybe(0.3):
        machine["ddr_cap"] = chance.often({int(need * chance.uniform(0.1, 4)): 9, 0: 1})
    if chance.maybe(0.6 if "ssd-tier" in themes else 0.03):
        machine["ssd_cap"] = chance.often({0: 1, int(need * chance.uniform(0.2, 3)): 4, 1 << 43: 1})
    return machine


def by_rank(chance, themes, machine, device):
    """Gives each rank a memory of its own."""
    usual = "ddr_cap" if device == "cpu" else "hbm_cap"
    often = {usual: 0.9, "ssd_cap": 0.4 if "ssd-tier" in themes else 0.05}
    tiers = [tier for tier in TIERS if chance.maybe(often.get(tier, 0.3))] or [usual]
    custom = {}
    for tier in tiers:
        cap = machine.get(tier, TIERS[tier])
        custom[tier] = [int(cap * chance.choice((0.5, 0.75, 1, 1, 1.5))) for _ in range(machine["world_size"])]
    return custom


def topology(chance, themes, tables):
    device = chance.often({"cuda": 20, "cpu": 2, "mtia": 2, **({"tpu": 4} if "kernels-2026" in themes else {})})
    if "ssd-tier" in themes or "fp-guard" in themes:
        device = "cuda"
    machine = ranks(chance, themes)
    chance.perhaps(0.8 if device == "cuda" else 1, machine, "compute_device", device)
    machine.update(memory(chance, themes, tables, device, machine["world_size"]))
    for key, usual in DEFAULTS.items():
        if chance.maybe(0.6 if key == "ssd_mem_bw" and "ssd-tier" in themes else 0.12):
            machine[key] = usual * chance.choice((0.3, 0.5, 1.7, chance.uniform(0.2, 4)))
    if chance.maybe(0.1):
        machine["custom"] = by_rank(chance, themes, machine, device)
    return machine
