"""Asks the command for its options and its plan."""

import json
import subprocess
import tempfile
from pathlib import Path

DONE, BAD_INPUT, NO_PLAN = 0, 2, 3


class Command:
    def __init__(self, path, release):
        self.path = path
        self.release = release
        self.folder = tempfile.TemporaryDirectory(prefix="shardwright-torchrec-")
        self.file = Path(self.folder.name) / "problem.json"

    def call(self, *arguments):
        """Returns the exit code, the answer if there is one, and the last words on standard error."""
        done = subprocess.run(
            [self.path, *arguments, self.file, "--torchrec", self.release, "--threads", "1", "--json"],
            capture_output=True, check=False, stdin=subprocess.DEVNULL)
        answer = json.loads(done.stdout) if done.stdout.startswith(b"{") else None
        return done.returncode, answer, done.stderr.decode(errors="replace")[-300:]

    def ask(self, problem):
        """Returns what `call` returns, for `enumerate` and for `plan` in compat mode."""
        self.file.write_text(json.dumps(problem), encoding="utf-8")
        return self.call("enumerate"), self.call("plan", "--mode", "compat", "--trace")
