"""load_plan and save_plan: plan files of the command as TorchRec's ShardingPlans, and back."""

import collections
import copy
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "torchrec_release"))

import torch
import torch.distributed
import torch.multiprocessing
from problems import random_problem
from recorder import planner_of
from recorder.model import Model as RandomModel
from recorder.sharders import sharders as random_sharders
from test_torchrec_plans import WORK, described
from test_torchrec_training import (BATCH, CONSTRAINTS, STEPS, leave_group, sgd_sharder, tables,
                                    train_plan, unsharded)
from torchrec.distributed.planner import EmbeddingShardingPlanner as Peer
from torchrec.distributed.planner import ParameterConstraints, Topology
from torchrec_cases import EIGHT, Case, Model, bag_model, bag_module, bags, cases, scaled_caches, sharders

import shardwright
from shardwright.torchrec import EmbeddingShardingPlanner, choose_groups, load_plan, save_plan

PAGE = Path(__file__).resolve().parents[2] / "samples" / "use_the_plan_in_torchrec.md"
RANDOM = 60
SAID = ("table", "module", "sharding_type", "compute_kernel", "load_factor", "ranks", "layout")


def plan_file(planner, module, own, **options):
    """The problem and the plan file of the command, as dicts."""
    problem = json.loads(json.dumps(planner.problem(module, own)))
    return problem, shardwright.plan(problem, **options).to_dict()


class RoundTrip(unittest.TestCase):
    def check(self, planner, module, own, constraints, mode):
        """Returns the sharding types of the plan."""
        limit = {"work_limit": WORK} if mode == "best" else {}
        problem, file = plan_file(planner, module, own, mode=mode, **limit)
        wanted = planner.plan(module, own)
        self.assertEqual(planner.searched_by, "shardwright")
        loaded = load_plan(file, module, own, constraints=constraints)
        self.assertEqual(described(loaded), described(wanted))
        self.assertEqual([list(tables) for tables in loaded.plan.values()],
                         [list(tables) for tables in wanted.plan.values()])
        saved = save_plan(loaded, module, sharders=own)
        by_table = {(entry["module"], entry["table"]): entry for entry in file["plan"]}
        for entry in saved["plan"]:
            their = by_table.pop((entry["module"], entry["table"]))
            self.assertEqual([entry[name] for name in SAID], [their[name] for name in SAID])
            self.assertIn(entry["element_bits"], (their["element_bits"], None))
        self.assertEqual(by_table, {})
        self.assertEqual(described(load_plan(saved, module, own, topology=planner._topology,
                                             constraints=constraints)), described(wanted))
        checked = shardwright.verify(problem, saved)
        self.assertTrue(checked, checked.violations)
        self.assertTrue(shardwright.diff(file, saved).same)
        return {entry["sharding_type"] for entry in file["plan"]}

    def test_the_plan_is_that_of_the_planner(self):
        found = collections.Counter()
        for name, case in {**cases(), "scaled": scaled_caches()}.items():
            for mode in ("compat", "best"):
                with self.subTest(name, mode=mode):
                    options = {} if mode == "compat" else {"work_limit": WORK}
                    planner = case.planner(EmbeddingShardingPlanner, mode=mode, **options)
                    found.update(self.check(planner, case.module, case.sharders, case.constraints, mode))
        self.assertGreater(min(found[kind] for kind in shardwright.SHARDING_TYPES), 0, found)

    def test_random_models(self):
        found = collections.Counter()
        for seed in range(RANDOM):
            problem = random_problem(seed)
            module, own = RandomModel(problem), random_sharders(problem)
            try:
                planner = planner_of(problem, EmbeddingShardingPlanner, work_limit=WORK)
                planner.plan(module, own)
                planner.problem(module, own)
            except Exception:  # TorchRec refuses it, as test_torchrec_random compares
                continue
            with self.subTest(problem["name"]):
                found.update(["all", *self.check(planner, module, own, planner._constraints, "best")])
        self.assertGreater(found["all"], RANDOM * 0.5, found)

    def test_torchrecs_own_plan_is_saved_and_loaded(self):
        case = cases()["many_modules"]
        peer, plan = case.plan(Peer)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "plan.json"
            saved = save_plan(plan, case.module, path)
            self.assertEqual(json.loads(path.read_text()), saved)
            self.assertEqual(described(load_plan(path, case.module, topology=peer._topology)),
                             described(plan))
            problem = case.planner(EmbeddingShardingPlanner).problem(case.module, case.sharders)
            self.assertTrue(shardwright.verify(problem, path))
            self.assertTrue(shardwright.replan(problem, path, work_limit=WORK).has_plan)

    def test_forms_of_a_plan(self):
        case = Case(bag_model(), EIGHT)
        planner = case.planner(EmbeddingShardingPlanner, work_limit=WORK)
        result = shardwright.plan(planner.problem(case.module, case.sharders), work_limit=WORK)
        wanted = described(load_plan(result, case.module))
        with tempfile.TemporaryDirectory() as folder:
            plain, packed = Path(folder) / "plan.json", Path(folder) / "plan.json.gz"
            result.save(plain)
            packed.write_bytes(gzip.compress(plain.read_bytes()))
            for form in (plain, str(plain), packed, result.to_json(), result.to_dict(),
                         result.to_json().encode()):
                self.assertEqual(described(load_plan(form, case.module)), wanted)

    def test_the_plan_of_a_sharding_group(self):
        case = Case(bag_model(), EIGHT)
        choice = choose_groups(case.planner(EmbeddingShardingPlanner, work_limit=WORK), case.module,
                               case.sharders, group_sizes=[4], sync_interval=50)
        loaded = load_plan(choice.answer, case.module, topology=choice.topology)
        self.assertEqual(described(loaded), described(choice.plan))
        # DMPCollection, which gets all ranks, changes the placements to those of its group.
        self.assertEqual([own.ranks for own in load_plan(choice.answer, case.module).plan["ebc"].values()],
                         [own.ranks for own in choice.plan.plan["ebc"].values()])

    def test_load_factors_without_constraints(self):
        case = cases()["constraints"]
        planner = case.planner(EmbeddingShardingPlanner, work_limit=WORK)
        _, file = plan_file(planner, case.module, case.sharders, work_limit=WORK)
        loaded = load_plan(file, case.module, case.sharders).plan["ebc"]
        for entry in file["plan"]:
            cache = loaded[entry["table"]].cache_params
            self.assertEqual(cache and cache.load_factor, entry["load_factor"])
        self.assertEqual(loaded["t1"].cache_params.load_factor, 0.3)


class Problems(unittest.TestCase):
    def test_what_no_problem_file_can_say(self):
        class Own(ParameterConstraints):
            pass

        case = Case(bag_model(), EIGHT, constraints={"t0": Own()})
        with self.assertRaisesRegex(ValueError, "no problem file can say this.*constraints of table t0"):
            case.planner(EmbeddingShardingPlanner).problem(case.module, case.sharders)


class Refusals(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        case = cls.case = Case(bag_model(), EIGHT)
        planner = case.planner(EmbeddingShardingPlanner, work_limit=WORK)
        cls.problem, cls.file = plan_file(planner, case.module, case.sharders, work_limit=WORK)

    def refused(self, words, change=lambda file: None, module=None, **options):
        file = copy.deepcopy(self.file)
        file = change(file) or file
        with self.assertRaisesRegex(shardwright.InvalidInputError, words):
            load_plan(file, module or self.case.module, self.case.sharders, **options)

    def test_tables(self):
        more, fewer = bag_model(7), bag_model(5)
        self.refused(r"the plan has tables that the module lacks: ebc\.t5; plan the problem",
                     module=fewer)
        self.refused(r"the module has tables that the plan lacks: ebc\.t6; plan the problem",
                     module=more)
        self.refused("twice", lambda file: file["plan"].append(file["plan"][0]))
        # By its name alone, a table is found in any module.
        moved = load_plan(self.file, Model(other=bag_module(bags(6, 40))))
        self.assertEqual(list(moved.plan), ["other"])
        self.refused(r"the plan has tables that the module lacks: ebc\.t0", module=Model(
            a=bag_module(bags(6, 40)), b=bag_module(bags(6, 40))))

    def test_shards(self):
        def no_layout(file):
            del file["plan"][0]["layout"]

        self.refused(r"/plan/0: has no layout of table \w+; `shardwright replan` writes", no_layout)
        self.refused(r"/plan/0: table \w+ has \d+ ranks for \d+ shards",
                     lambda file: file["plan"][0]["ranks"].append(0))
        self.refused(r"make \d+ x \d+, but the module has \d+ x \d+; plan the problem",
                     module=Model(ebc=bag_module(bags(6, 41))))

    def test_ranks(self):
        self.refused("is for 8 ranks, but the topology has 4; start 8 processes, or plan again for 4",
                     topology=Topology(world_size=4, compute_device="cuda"))

        def foreign(file):
            return {"plan": file["plan"]}

        self.refused("is for 8 ranks, but the topology has 4", foreign,
                     topology=Topology(world_size=4, compute_device="cuda"))
        self.refused("no rank -1", lambda file: file["plan"][1]["ranks"].insert(0, -1))
        load_plan(foreign(self.file), self.case.module,
                  topology=Topology(world_size=16, compute_device="cuda"))
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0,
                                                 world_size=1)
            self.refused("but the process group has 1; start 8 processes, or plan again for 1")
            leave_group()

    def test_files(self):
        self.refused("is a problem", lambda file: self.problem)
        self.refused("format", lambda file: {**file, "format": "shardwright.embedding.plan/0"})
        self.refused("ranks", lambda file: file["plan"][0].pop("ranks") and None)
        tight = {**self.problem, "topology": {**self.problem["topology"], "hbm_cap": 1 << 20,
                                              "ddr_cap": 1 << 20}, "reserved_memory": {}}
        failed = shardwright.plan(tight, work_limit=WORK)
        self.assertFalse(failed.has_plan)
        self.refused("holds no plan: " + re.escape(failed.failure.message[:40]),
                     lambda file: failed.to_dict())
        with self.assertRaises(OSError):
            load_plan("no such file", self.case.module)
        self.assertRaises(TypeError, load_plan, 7, self.case.module)
        plan = load_plan(self.file, self.case.module)
        with self.assertRaisesRegex(shardwright.InvalidInputError, "lacks table t5 of ebc; give the"):
            save_plan(plan, bag_model(5))


def train(rank, world_size, folder):
    """One process, whose plan is the file in `folder`."""
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank,
                                         world_size=world_size)
    module = torch.nn.Sequential(tables())
    plan = load_plan(f"{folder}/plan.json", module, [sgd_sharder()])
    torch.save(train_plan(rank, module, sgd_sharder(), plan), f"{folder}/{rank}.pt")
    leave_group()


class Training(unittest.TestCase):
    def test_two_processes_train_as_one(self):
        planner = EmbeddingShardingPlanner(topology=Topology(world_size=2, compute_device="cpu"),
                                           batch_size=BATCH, constraints=CONSTRAINTS)
        problem = planner.problem(torch.nn.Sequential(tables()), [sgd_sharder()])
        with tempfile.TemporaryDirectory() as folder:
            shardwright.plan(problem, work_limit=1_000_000).save(f"{folder}/plan.json")
            torch.multiprocessing.spawn(train, (2, folder), nprocs=2)
            found = [torch.load(f"{folder}/{rank}.pt") for rank in range(2)]
        wanted = unsharded(2)
        for rank in range(2):
            self.assertEqual(found[rank]["types"], {
                name: own.sharding_types[0] for name, own in CONSTRAINTS.items()})
            for step in range(STEPS):
                torch.testing.assert_close(found[rank]["outputs"][step], wanted[step][rank],
                                           rtol=1e-4, atol=1e-5)


class Page(unittest.TestCase):
    @unittest.skipUnless("SHARDWRIGHT_COMMAND" in os.environ, "needs the command")
    def test_the_sample_page_runs_as_it_stands(self):
        text = PAGE.read_text(encoding="utf-8")
        blocks = re.findall(r"^`(\w+\.py)`[^\n]*\n+```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        (commands,) = re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        self.assertEqual([name for name, _ in blocks], ["model.py", "problem.py", "train.py"])
        with tempfile.TemporaryDirectory() as folder:
            for name, program in blocks:
                (Path(folder) / name).write_text(program, encoding="utf-8")
            path = os.pathsep.join([str(Path(os.environ["SHARDWRIGHT_COMMAND"]).resolve().parent),
                                    str(Path(sys.executable).parent), os.environ["PATH"]])
            done = subprocess.run(["bash", "-ec", commands], cwd=folder, capture_output=True, text=True,
                                  env={**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("loss", done.stdout)


if __name__ == "__main__":
    unittest.main()
