"""What is said of requests elsewhere agrees with the command's own description."""

import inspect
import json
import os
import subprocess
import unittest
from pathlib import Path

import shardwright
from shardwright.arguments import Machine

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ["SHARDWRIGHT_COMMAND"]

# The function of a command, and its names for members.
FUNCTIONS = {
    "plan": (shardwright.plan, {}),
    "replan": (shardwright.replan, {"plan": "old_plan"}),
    "sweep": (shardwright.sweep, {}),
    "verify": (shardwright.verify, {}),
    "explain": (shardwright.explain, {}),
    "audit": (shardwright.audit, {}),
    "diff": (shardwright.diff, {"plan_a": "before", "plan_b": "after"}),
    "enumerate": (shardwright.enumerate_options, {}),
    "operators solve": (shardwright.operators.solve, {}),
    "operators autoshard": (shardwright.operators.autoshard, {}),
    "operators paths": (shardwright.operators.paths, {}),
    "operators strategies": (shardwright.operators.strategies, {}),
    "operators build": (shardwright.operators.build, {}),
    "operators plan": (shardwright.operators.plan, {}),
    "operators sweep": (shardwright.operators.sweep, {}),
    "program reshard": (shardwright.program.reshard, {}),
    "program apply": (shardwright.program.apply, {}),
    "program redistribute": (shardwright.program.redistribute, {}),
    "program transfer": (shardwright.program.transfer, {}),
    "experts plan": (shardwright.experts.plan, {}),
    "experts verify": (shardwright.experts.verify, {}),
    "experts sweep": (shardwright.experts.sweep, {}),
    "experts explain": (shardwright.experts.explain, {}),
    "machine fit": (shardwright.machine.fit, {}),
    "machine show": (shardwright.machine.show, {}),
    "machine diff": (shardwright.machine.diff, {}),
    "init": (shardwright.init, {}),
    "schema": (shardwright.schema, {}),
}
# What results have without being asked for (PlanResult), and what a loaded answer has (Answer.load).
NOT_IN_PYTHON = {("plan", "trace"), ("plan", "emit_search_space"), ("plan", "stats"), ("replan", "trace"),
                 ("replan", "emit_search_space"), ("replan", "stats"), ("enumerate", "runs"), ("audit", "problem")}
IN_PYTHON_ONLY = {"progress", "cancel", "exchange"}


class Reference(unittest.TestCase):
    def setUp(self):
        listed = subprocess.run([COMMAND, "schema", "requests"], check=True, capture_output=True, text=True)
        self.commands = {entry["command"]: entry for entry in json.loads(listed.stdout)["commands"]}

    def test_page_is_that_of_the_command(self):
        written = subprocess.run([ROOT / "runtime/cli/write_reference.py", COMMAND, "--check"],
                                 capture_output=True, text=True)
        self.assertEqual(written.returncode, 0, "run runtime/cli/write_reference.py\n" + written.stdout)

    def test_every_command_has_a_function(self):
        self.assertEqual(set(self.commands), set(FUNCTIONS) | {"report"})

    def test_functions_take_what_the_commands_take(self):
        for command, (function, names) in FUNCTIONS.items():
            with self.subTest(command=command):
                parameters = inspect.signature(function).parameters
                taken = set(parameters)
                if "machine" in taken and parameters["machine"].kind is inspect.Parameter.VAR_KEYWORD:
                    taken = taken - {"machine"} | set(Machine.__annotations__)
                members = {names.get(member["name"], member["name"]) for member in self.commands[command]["members"]
                           if (command, member["name"]) not in NOT_IN_PYTHON}
                self.assertEqual(taken - IN_PYTHON_ONLY, members)


if __name__ == "__main__":
    unittest.main()
