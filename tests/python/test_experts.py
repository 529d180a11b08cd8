"""Placement of experts: the command, its answers, the forms of engines, NumPy."""

import json
import os
import random
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import shardwright
from shardwright import experts

try:
    import numpy
except ImportError:
    numpy = None

try:
    import torch
except ImportError:
    torch = None

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples/data/experts.json"
COMMAND = os.environ.get("SHARDWRIGHT_COMMAND")
LOADS = [[600, 560, 120, 120, 20, 10, 10, 10]]


def random_loads(seed, layers, count):
    drawn = random.Random(seed)
    return [[int(10 ** drawn.uniform(2, 4)) for _ in range(count)] for _ in range(layers)]


def eplb(weight, replicas, gpus):
    """EPLB's rule for one group, in NumPy with float32."""
    placement = []
    for layer in numpy.asarray(weight, dtype="float32"):
        count = numpy.ones(len(layer), dtype="int64")
        experts_of = list(range(len(layer)))
        for _ in range(replicas - len(layer)):
            experts_of.append(int(numpy.argmax(layer / count.astype("float32"))))
            count[experts_of[-1]] += 1
        share = (layer / count.astype("float32"))[experts_of]
        packs, sums = [[] for _ in range(gpus)], numpy.zeros(gpus, dtype="float32")
        for item in numpy.argsort(-share, kind="stable"):
            room = [pack for pack in range(gpus) if len(packs[pack]) < replicas // gpus]
            pack = min(room, key=lambda one: (sums[one], one))
            packs[pack].append(experts_of[item])
            sums[pack] += share[item]
        placement.append([expert for pack in packs for expert in pack])
    return placement


class Experts(unittest.TestCase):
    def test_plan_says_what_it_proves(self):
        plan = experts.plan(LOADS, gpus=8, slots=16)
        self.assertAlmostEqual(plan.objective, 560 / 3 + 10)
        self.assertTrue(plan.proven_optimal)
        self.assertIn("proved optimal", str(plan))
        self.assertTrue(experts.verify(LOADS, plan, gpus=8).verified)

    def test_forged_plan_is_refused(self):
        plan = experts.plan(SAMPLE)
        for name, value in (("objective", 1.0), ("moved", 1), ("max_load", [1.0, 1.0]), ("lower_bound", [197.0, 84.0]),
                            ("bound_rules", ["mean", "mean"]), ("eplb_time", 200.0), ("mean_time", 1.0),
                            ("replica_count", [[2] * 8] * 2), ("gpu_load", [[1.0] * 8] * 2), ("mean_load", [1.0, 1.0])):
            forged = experts.verify(SAMPLE, {**plan.data, name: value})
            self.assertEqual((forged.outcome, forged.verified), ("violation", False), name)
            self.assertIn(name if name != "bound_rules" else "lower_bound", str(forged))

    def test_answer_does_not_depend_on_threads(self):
        loads = random_loads(8, 12, 64)
        one, three = (experts.plan(loads, gpus=8, slots=72, threads=threads).data for threads in (1, 3))
        self.assertEqual(one, three)

    def test_moves(self):
        before, after = random_loads(1, 3, 32), random_loads(2, 3, 32)
        old = experts.plan(before, gpus=4, slots=40).data["physical_to_logical"]
        few = experts.plan(after, gpus=4, slots=40, old=old, max_moves=5)
        self.assertLessEqual(few.moved, 5)
        self.assertEqual(few.front[0][0], 0)
        kept = experts.plan(after, gpus=4, slots=40, old=old, migration_weight=1e9)
        self.assertEqual((kept.moved, kept.data["physical_to_logical"]), (0, old))
        self.assertTrue(experts.verify(after, few, old=old).verified)

    def test_loads_of_engines_and_csv(self):
        wanted = experts.plan(LOADS, gpus=8, slots=16).data["physical_to_logical"]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "loads.csv"
            path.write_text("# a line per layer\n" + ", ".join(map(str, LOADS[0])) + "\n")
            self.assertEqual(experts.plan(path, gpus=8, slots=16).data["physical_to_logical"], wanted)
        recorded = {"logical_count": LOADS}
        self.assertEqual(experts.plan(recorded, gpus=8, slots=16).data["physical_to_logical"], wanted)

    def test_separators_and_records(self):
        rows = [[600, 560, 120, 120.5], [1, 2, 3, 4]]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "loads.csv"
            wanted = experts.plan(rows, gpus=2, slots=6).data
            for separator in (",", ";", "\t", " ", "  ", ", ", " ;\t"):
                path.write_text("\ufeff" + "\r\n".join(separator.join(map(str, row)) for row in rows), encoding="utf-8")
                self.assertEqual(experts.plan(path, gpus=2, slots=6).data, wanted, repr(separator))
            # SGLang's record of March 2025, one per rank; dense layers are missing.
            path.write_text("layer_id,expert_id,count\n1,0,500\n1,3,120.5\n1,2,120\nlayer_id,expert_id,count\n1,0,100\n"
                            "1,1,560\n")
            self.assertEqual(experts.plan(path, gpus=2, slots=6).data["max_load"],
                             experts.plan([[0] * 4, rows[0]], gpus=2, slots=6).data["max_load"])
            log = ("INFO EPLB step: 5 for model m: avg_tokens=3.50, max_tokens=7, balancedness=0.5000")
            for text, place in (("1,5;2,5", "1,5"), ("1,,2", '""'), ("1,2,", '""'), ("1 2\n1 2 3", "line 2"), ("a,b", '"a"'),
                                ("layer_id,expert_id,count\n1,2", "line 2"), (log, "no counts"),
                                ("layer_id,expert_id,count\n1000000,1000000,1", "2^26"), ("", "/loads")):
                path.write_text(text)
                with self.subTest(text), self.assertRaises(shardwright.InvalidInputError) as caught:
                    experts.plan(path, gpus=1)
                self.assertIn(place, str(caught.exception))

    def test_link_costs(self):
        loads = random_loads(9, 3, 16)
        costs = [[0, 1], [1, 0]]
        machine = {"gpus": 8, "nodes": 2, "slots": 24}
        plain = experts.plan(loads, **machine)
        plan = experts.plan(loads, link_costs=costs, **machine)
        self.assertLessEqual(plan.objective, plain.objective * (1 + 1e-9))
        self.assertLess(plan.data["link_cost"], plan.data["link_cost_before"])
        self.assertIn("link cost", str(plan))
        check = {"nodes": 2, "gpus": 8, "slots": 24}
        self.assertTrue(experts.verify(loads, plan, link_costs=costs, **check).verified)
        for forged, given in ((plan.data, None), (plain.data, costs), ({**plan.data, "link_cost": 1.0}, costs),
                              ({**plan.data, "link_cost_before": 1.0}, costs), (plan.data, [[0, 2], [1, 0]])):
            self.assertFalse(experts.verify(loads, forged, link_costs=given, **check).verified)
        compat = experts.plan(loads, link_costs=costs, mode="compat", **machine)
        self.assertEqual(compat.data["link_cost"], plan.data["link_cost_before"])
        document = {"format": "shardwright.experts/1", "loads": loads, "num_gpus": 8, "num_nodes": 2, "num_slots": 24,
                    "link_costs": costs, "origins": [1, 1, 1, 1, 0, 0, 0, 0]}
        plan = experts.plan(document)
        self.assertLess(plan.data["link_cost"], plan.data["link_cost_before"])
        self.assertTrue(experts.verify(document, plan).verified)
        for member, value in (("link_costs", [[0, 1, 1]]), ("link_costs", [[0, -1], [1, 0]]), ("origins", [1]),
                              ("origins", [0] * 8)):
            with self.assertRaises(shardwright.InvalidInputError) as caught:
                experts.plan({**document, member: value})
            self.assertIn(member, str(caught.exception))

    def test_windows_and_speeds(self):
        windows = [random_loads(seed, 2, 12) for seed in (1, 2, 3)]
        for over in ("mean", "worst"):
            plan = experts.plan(windows, gpus=4, slots=16, over=over)
            self.assertTrue(experts.verify(windows, plan, over=over).verified)
            other = {"mean": "worst", "worst": "mean"}[over]
            with self.assertRaises(shardwright.InvalidInputError) as caught:
                experts.verify(windows, plan, over=other)
            self.assertIn("over", str(caught.exception))
            self.assertFalse(experts.verify(windows, {**plan.data, "over": other}).verified)
            rules = ["mean"] * 2
            self.assertFalse(experts.verify(windows, {**plan.data, "bound_rules": rules}).verified)
        # The second window is the worst one, and its hottest expert is the third.
        drift = [[[9, 3, 2, 1]], [[10, 20, 300, 50]]]
        layer = experts.explain(drift, gpus=2, slots=6, over="worst").data["layers"][0]
        self.assertEqual((layer["hottest_expert"], round(layer["share_of_load"], 4)), (2, round(300 / 380, 4)))
        layer = experts.explain({"format": "shardwright.experts/1", "loads": [[6, 1]], "num_gpus": 2,
                                 "gpu_speeds": [1, 2]}).data["layers"][0]
        # The mean is 7 / 3; the large expert is on the fast GPU, where it takes 3.
        self.assertAlmostEqual(layer["largest_share"], 9 / 7)
        self.assertAlmostEqual(layer["busiest"], 9 / 7)

    def test_sweep_takes_the_gpus_of_each_row(self):
        swept = experts.sweep([[4, 3, 2, 1]], gpus="3..8:1", slots=[8, 12], nodes=4)
        self.assertEqual([(point["num_gpus"], point["num_slots"]) for point in swept.data["points"]],
                         [(4, 8), (4, 12), (8, 8)])
        self.assertIn("Left out: 9 pairs", str(swept))
        stopped = experts.sweep(random_loads(1, 40, 256), gpus="8..64:8", slots="256..1024:64", time_limit=0)
        self.assertEqual((len(stopped.data["points"]), stopped.data["stop"]), (1, "time_limit"))

    def test_shapes_of_placements(self):
        loads = [[1, 2], [3, 4], [5, 6]]
        plan = experts.plan(loads, gpus=2, slots=2).data
        turned = [[0, 1, 0], [1, 0, 1]]
        for old in (turned, {"shape": [2, 3], "int32": "A" * 32}, {"shape": [6], "int32": "A" * 32}):
            with self.assertRaises(shardwright.InvalidInputError) as caught:
                experts.plan(loads, gpus=2, slots=2, old=old)
            self.assertIn("/old", str(caught.exception))
        self.assertFalse(experts.verify(loads, {**plan, "physical_to_logical": turned}).verified)

    def test_a_stop_is_heard_at_once(self):
        for layers, count, slots, gpus in ((58, 256, 288, 144), (94, 512, 576, 64)):
            loads = random_loads(1, layers, count)
            begin = time.perf_counter()
            plan = experts.plan(loads, gpus=gpus, slots=slots, effort=1_000_000, time_limit=0.2)
            took = time.perf_counter() - begin
            self.assertEqual(plan.data["stop"], "time_limit")
            self.assertLess(took, 2.0)  # 0.2 s; the rest is reading, writing, and a busy machine

    def test_bad_input_is_named(self):
        for request, place in (({"loads": [[1, 2], [3]]}, "/loads/1"), ({"loads": [[1, -2]]}, "/loads/0/1"),
                               ({"loads": [[1, 2]], "slots": 3, "gpus": 2}, "slots"),
                               ({"loads": LOADS, "gpus": 8, "old": [[0, 1]]}, "/old"),
                               ({"loads": LOADS, "gpus": 8, "max_moves": 1}, "max_moves"),
                               ({"loads": {"shape": [2, 2], "float64": "AAAA"}, "gpus": 1}, "/loads")):
            with self.assertRaises(shardwright.InvalidInputError) as caught:
                shardwright.ask("experts plan", {"gpus": 2, **request})
            self.assertIn(place, str(caught.exception))

    def test_forms_follow_the_rules_of_their_loaders(self):
        loads = random_loads(3, 2, 12)
        wanted = experts.plan(loads, gpus=4, slots=16).data["physical_to_logical"]
        # SGLang, expert_location.py: a dict with a [layers, slots] list under physical_to_logical_map.
        sglang = json.loads(experts.plan(loads, gpus=4, slots=16, form="sglang").to_json())
        self.assertEqual(sglang, {"physical_to_logical_map": wanted})
        # vLLM-Ascend, expert_load_balancer.py: layers, then devices, each with as many experts.
        ascend = json.loads(experts.plan(loads, gpus=4, slots=16, form="vllm-ascend").to_json())
        self.assertEqual(ascend["moe_layer_count"], len(ascend["layer_list"]))
        for layer, row in zip(ascend["layer_list"], wanted):
            self.assertEqual(layer["device_count"], len(layer["device_list"]))
            self.assertEqual([device["device_id"] for device in layer["device_list"]], list(range(4)))
            held = [expert for device in layer["device_list"] for expert in device["device_expert"]]
            self.assertEqual((held, set(held)), (row, set(range(12))))
        # TensorRT-LLM, moe_load_balancer.py: num_slots, and as many experts per layer number.
        text = experts.plan(loads, gpus=4, slots=16, form="tensorrt-llm").to_json()
        lines = text.splitlines()
        self.assertEqual(lines[:3], ["num_slots: 16", "layer_updates_per_iter: 0", "initial_global_assignments:"])
        found = {int(key): json.loads(row) for key, row in (line.split(":") for line in lines[3:])}
        self.assertEqual(found, dict(enumerate(wanted)))

    @unittest.skipIf(COMMAND is None, "needs the command")
    def test_command_says_the_same(self):
        done = subprocess.run([COMMAND, "experts", "plan", SAMPLE, "--json"], capture_output=True, text=True, check=True)
        self.assertEqual(json.loads(done.stdout), experts.plan(SAMPLE).data)
        swept = experts.sweep(SAMPLE, gpus=[4, 8], slots="8..16:8", slot_bytes="1GiB")
        self.assertEqual([point["redundant"] for point in swept.data["points"]], [0, 8, 0, 8])
        self.assertIn("number of replicas", str(experts.explain(SAMPLE, slots=8)))


@unittest.skipIf(numpy is None, "needs NumPy")
class Arrays(unittest.TestCase):
    def test_files_of_arrays(self):
        loads = numpy.array(random_loads(4, 2, 6), dtype="int32")
        placement = numpy.array([[0, 1, 2, 3, 4, 5, 0, 1], [5, 4, 3, 2, 1, 0, 5, 5]])
        physical = numpy.stack([loads[layer, placement[layer]] for layer in range(2)])
        counts = numpy.stack([loads[layer] * numpy.bincount(placement[layer]) for layer in range(2)])
        nothing = numpy.zeros((1, 2, 6), dtype="int32")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "loads.npy"
            numpy.save(path, loads)
            self.assertEqual(experts.plan(path, gpus=2).data, experts.plan(loads, gpus=2).data)
            path = Path(folder) / "loads.npz"
            for members, wanted in (({"any": loads}, loads), ({"loads": loads, "other": counts}, loads),
                                    # SGLang's recorder in mode "stat": windows that it did not reach are zero.
                                    ({"logical_count": numpy.concatenate([loads[None], nothing])}, loads[None]),
                                    # vLLM's EPLB state: [windows, layers, slots].
                                    ({"expert_load_window": physical[None], "physical_to_logical_map": placement},
                                     counts[None])):
                numpy.savez(path, **members)
                self.assertEqual(experts.read_loads(path).tolist(), wanted.tolist())
            numpy.savez(path, a=loads, b=loads)
            with self.assertRaises(ValueError):
                experts.plan(path, gpus=2)
            if torch is None:
                return
            path = Path(folder) / "record.pt"
            torch.save({"rank": 0, "logical_count": torch.from_numpy(loads)[None],
                        "average_utilization_rate_over_window": None}, path)
            self.assertEqual(experts.read_loads(path).tolist(), [loads.tolist()])
            # In mode "per_pass": a record per forward pass and rank.
            records = [{"forward_pass_id": step, "rank": rank, "gatherer_key": "primary",
                        "global_physical_count": torch.from_numpy(physical) * step} for step in (1, 2) for rank in (0, 1)]
            torch.save({"records": records, "last_physical_to_logical_map": torch.from_numpy(placement)}, path)
            self.assertEqual(experts.read_loads(path).tolist(), [(2 * counts).tolist(), (4 * counts).tolist()])

    def test_arrays_give_what_lists_give(self):
        loads = random_loads(4, 3, 24)
        listed = experts.plan(loads, gpus=4, slots=32)
        plan = experts.plan(numpy.array(loads, dtype="float32"), gpus=4, slots=32, form="packed")
        self.assertEqual(plan.physical_to_logical.tolist(), listed.data["physical_to_logical"])
        self.assertEqual(plan.replica_count.tolist(), listed.data["replica_count"])
        self.assertTrue(experts.verify(numpy.array(loads), listed, gpus=4).verified)

    def test_compat_mode_is_eplb(self):
        loads = random_loads(5, 4, 48)
        placed, slots, counts = experts.rebalance_experts(numpy.array(loads), 64, 1, 1, 8)
        self.assertEqual(placed.tolist(), eplb(loads, 64, 8))
        for layer, expert in numpy.ndindex(counts.shape):
            held = slots[layer, expert][:counts[layer, expert]]
            self.assertTrue((placed[layer, held] == expert).all())
            self.assertTrue((slots[layer, expert][counts[layer, expert]:] == -1).all())

    def test_policy_of_vllm(self):
        class AbstractEplbPolicy:
            """Stands in for the class in vllm/distributed/eplb/policy/abstract.py."""

            @classmethod
            def rebalance_experts(cls, weight, num_replicas, num_groups, num_nodes, num_ranks,
                                  old_global_expert_indices=None):
                raise NotImplementedError

        policy = experts.vllm_policy(AbstractEplbPolicy, max_moves=4)
        self.assertTrue(issubclass(policy, AbstractEplbPolicy))
        loads = numpy.array(random_loads(6, 2, 32))
        first = policy.rebalance_experts(loads, 40, 1, 1, 4)
        self.assertEqual(first.shape, (2, 40))
        again = policy.rebalance_experts(numpy.array(random_loads(7, 2, 32)), 40, 1, 1, 4, first)
        self.assertLessEqual((again != first).sum(), 4)
        self.assertTrue(all(set(row) == set(range(32)) for row in again.tolist()))
        compat = experts.vllm_policy(AbstractEplbPolicy, mode="compat")
        self.assertEqual(compat.rebalance_experts(loads, 40, 1, 1, 4, first).tolist(), eplb(loads, 40, 4))
        self.assertEqual(policy.rebalance_experts(loads, 48, 1, 1, 4, first).shape, (2, 48))

    @unittest.skipIf(COMMAND is None, "needs the command")
    def test_values_that_no_machine_has_are_refused(self):
        for member, value, place in (("num_gpus", 0, "/num_gpus: must be at least 1"),
                                     ("num_nodes", 3, "/num_nodes: must divide"),
                                     ("loads", [[1e-310, 1]], "/loads/0/0: must be 0, or between"),
                                     ("loads", [[], [1, 2]], "/loads/0: has no numbers"),
                                     ("logical_count", [[], [2]], "/logical_count/0: has no numbers")):
            document = {"format": "shardwright.experts/1", "loads": [[1, 2]], "num_gpus": 2, member: value}
            with self.subTest(member), tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "loads.json"
                path.write_text(json.dumps(document), encoding="utf-8")
                run = subprocess.run([COMMAND, "experts", "plan", path], capture_output=True, text=True, check=False)
                self.assertEqual(run.returncode, 2)
                self.assertIn(place, run.stderr)

    @unittest.skipIf(COMMAND is None, "needs the command")
    def test_a_plan_for_other_speeds_or_a_negative_weight_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            loads, plan, forged = (Path(folder) / name for name in ("loads.json", "plan.json", "forged.json"))
            loads.write_text(json.dumps({"format": "shardwright.experts/1", "loads": [[5, 3, 2, 1]], "num_gpus": 2,
                                         "gpu_speeds": [1, 2]}), encoding="utf-8")

            def call(*arguments):
                return subprocess.run([COMMAND, "experts", *arguments], capture_output=True, text=True,
                                      check=False).returncode

            self.assertEqual(call("plan", loads, "-o", plan), 0)
            self.assertEqual(call("verify", loads, plan), 0)
            for member, value in (("gpu_speeds", [2, 1]), ("gpu_speeds", None), ("migration_weight", -5)):
                document = json.loads(plan.read_text(encoding="utf-8"))
                document[member] = value
                forged.write_text(json.dumps({k: v for k, v in document.items() if v is not None}), encoding="utf-8")
                with self.subTest(member, value=value):
                    self.assertEqual(call("verify", loads, forged), 5)

    def test_plans_with_few_moves_are_verified(self):
        for seed in range(20):
            with self.subTest(seed=seed):
                loads = random_loads(seed, 1, 8)
                machine = {"gpus": 8, "slots": 16}
                old = experts.plan(random_loads(seed + 100, 1, 8), mode="compat", **machine).physical_to_logical
                plan = experts.plan(loads, old=old, max_moves=2, **machine)
                self.assertLessEqual(plan.moved, 2)
                self.assertTrue(experts.verify(loads, plan.data, old=old, **machine).verified)


if __name__ == "__main__":
    unittest.main()
