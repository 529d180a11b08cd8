"""Files of another kind than the command reads are told by their kind."""

import json
import unittest

from malformed import MACHINE, PROBLEM, Case, answer, instance, plan, run, sample

# (command, the kind that it needs, what else it takes)
READERS = [
    ("plan {file}", "a problem"), ("enumerate {file}", "a problem"), ("sweep {file} --ranks 2", "a problem"),
    ("verify {file} {plan}", "a problem"), ("verify {problem} {file}", "a plan"),
    ("replan {problem} {file}", "a plan"), ("explain {problem} {file}", "a plan"),
    ("diff {plan} {file}", "a plan", "a problem"), ("plan {problem} --reuse {file}", "a plan"),
    ("plan {problem} --resume {file}", "a plan"), ("plan {problem} --search-space {file}", "a search space"),
    ("operators solve {file}", "a cost instance"),
    ("operators build {file} --mesh 2x2", "an operator graph", "a traced model"),
    ("operators plan {file} --mesh 2x2", "a traced model"), ("operators sweep {file} --devices 4", "a traced model"),
    ("operators plan samples/data/traced_mlp.json --options {file}", "a file of options"),
    ("operators paths {file}", "a list of resharding paths"),
    ("operators strategies {file}", "a list of single operators"),
    ("operators autoshard {file} --devices 4", "a graph for autoshard"), ("program apply {file}", "a program"),
    ("program reshard {file}", "a list of resharding cases"), ("program redistribute {file}", "a redistribution"),
    ("program transfer {file}", "a transfer"), ("experts plan {file}", "a file of expert loads"),
    ("experts verify samples/data/experts.json {file}", "a plan of experts"),
    ("machine show {file}", "a measured machine"), ("plan {problem} --machine {file}", "a measured machine"),
    ("operators plan samples/data/traced_mlp.json --mesh 2x2 --machine {file}", "a measured machine"),
]


class Kinds(Case):
    def documents(self):
        return {"a plan": plan(), "a problem": PROBLEM, "a certificate": plan()["certificate"],
                "a list of tables": PROBLEM["tables"], "a machine": PROBLEM["topology"],
                "a search space": answer("enumerate {problem}", **self.names),
                "a sweep": answer("sweep {problem} --ranks 2", **self.names),
                "an explanation": answer("explain {problem} {plan}", **self.names),
                "a verification": answer("verify {problem} {plan}", **self.names),
                "a comparison": answer("diff {plan} {plan}", **self.names),
                "a JSON Schema": json.loads(run("schema problem").stdout),
                "a cost instance": instance(), "an operator graph": sample("mlp_graph"),
                "a traced model": sample("traced_mlp"), "a file of options": {"mesh": [2, 2], "memory": 10**9},
                "a list of resharding paths": sample("paths"), "a list of single operators": sample("linear"),
                "a graph for autoshard": sample("autoshard_mlp"), "a program": sample("program"),
                "a list of resharding cases": sample("reshard"), "a redistribution": sample("redistribution"),
                "a transfer": sample("transfer"), "a file of expert loads": sample("experts"),
                "a measured machine": MACHINE, "a plan of experts": answer("experts plan samples/data/experts.json"),
                "an answer of `program transfer`": answer("program transfer samples/data/transfer.json")}

    def test_files_of_another_kind(self):
        documents = self.documents()
        for line, wanted, *others in READERS:
            for kind, document in documents.items():
                if kind in (wanted, *others):
                    continue
                with self.subTest(line=line, kind=kind):
                    self.file.write_text(json.dumps(document), encoding="utf-8")
                    done = run(line, **self.names)
                    self.assertEqual(done.returncode, 2, done.stderr)
                    self.assertIn(f"{self.file}: this is {kind}, which ", done.stderr)
                    self.assertIn(f"; {wanted} is needed here, which ", done.stderr)


if __name__ == "__main__":
    unittest.main()
