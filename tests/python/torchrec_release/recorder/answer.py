"""Search space, reserved topology and plan of a planner, in the form of recorded answers."""

from torchrec.distributed.planner.storage_reservations import FixedPercentageStorageReservation

from recorder.trace import ranks_sha1


def storage(of):
    return [of.hbm, of.ddr, of.ssd]


def shard(of):
    perf = of.perf
    return {"size": list(of.size), "offset": list(of.offset), "hbm": of.storage.hbm,
            "ddr": of.storage.ddr, "ssd": of.storage.ssd,
            "perf": [float(part) for part in (perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                              perf.bwd_comms, perf.prefetch_compute)],
            "input_dist_comms": float(perf.input_dist_comms)}


def option(of):
    return {"table": of.name, "module": of.path, "sharding_type": of.sharding_type,
            "compute_kernel": of.compute_kernel, "partition_by": of.partition_by,
            "batch_size": of.batch_size, "is_pooled": of.is_pooled,
            "is_weighted": bool(of.is_weighted), "load_factor": of.cache_load_factor,
            "num_shards": of.num_shards, "shards": [shard(part) for part in of.shards]}


def search_space(planner):
    """Returns nothing if planning ended before the enumeration."""
    options = planner._enumerator.last_stored_search_space
    if options is None:
        return {}
    return {"search_space_size": len(options), "search_space": [option(o) for o in options]}


class Reserved:
    """Keeps the topology that a planner's reservation returns."""

    def __init__(self, planner):
        self.reservation = planner._storage_reservation
        self.reserve = self.reservation.reserve
        self.topology = None
        self.reservation.reserve = self.reserve_and_keep

    def reserve_and_keep(self, **arguments):
        self.topology = self.reserve(**arguments)
        return self.topology

    def reserved_topology(self):
        if self.topology is None:
            return {}
        per_rank = [storage(device.storage) for device in self.topology.devices]
        uniform = all(rank == per_rank[0] for rank in per_rank)
        result = ({"uniform": per_rank[0], "world_size": len(per_rank)} if uniform
                  else {"per_rank": per_rank})
        return {"reserved_topology": {**result, **self.parts()}}

    def parts(self):
        """Returns what dense parameters and inputs take. Fixed reservations estimate inputs, but take nothing."""
        if isinstance(self.reservation, FixedPercentageStorageReservation):
            return {}
        taken = {key: getattr(self.reservation, f"_{key}", None)
                 for key in ("dense_storage", "kjt_storage")}
        return {key: storage(of) for key, of in taken.items() if of is not None}


def assignment(of):
    total = of.total_storage
    return {"table": of.name, "module": of.path, "sharding_type": of.sharding_type,
            "compute_kernel": of.compute_kernel, "load_factor": of.cache_load_factor,
            "ranks": [part.rank for part in of.shards], "hbm": total.hbm, "ddr": total.ddr,
            "ssd": total.ssd, "perf": float(of.total_perf)}


def plan(planner):
    best = planner.get_selected_options()
    if not best:  # all tables are of another device group
        return {"plan": []}
    world_size = planner._topology.world_size
    perf, memory = [0.0] * world_size, [[0, 0, 0] for _ in range(world_size)]
    for chosen in best:
        for part in chosen.shards:
            perf[part.rank] += part.perf.total
            memory[part.rank] = [a + b for a, b in zip(memory[part.rank], storage(part.storage))]
    result = {"best_rating": float(planner._perf_model.rate(best)), "plan_perf_by_rank": perf}
    for place, tier in enumerate(("hbm", "ddr", "ssd")):
        result[f"plan_{tier}_by_rank"] = [taken[place] for taken in memory]
    result["plan_ranks_sha1"] = ranks_sha1(best)
    result["plan"] = [assignment(chosen) for chosen in best]
    return result
