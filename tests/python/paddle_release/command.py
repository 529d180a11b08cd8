"""The command under test."""

import json
import subprocess
import tempfile
import time
from pathlib import Path


class Command:
    def __init__(self, path):
        self.path = path

    def ask(self, program, startup):
        """Returns the answer for the one rank of the program, and the seconds that the process took."""
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder) / name for name in ("main.json", "startup.json")]
            for file, content in zip(files, (program, startup)):
                file.write_text(json.dumps(content), encoding="utf-8")
            began = time.perf_counter()
            done = subprocess.run([self.path, "program", "apply", files[0], "--startup", files[1], "--compat", "--full",
                                   "--json"], capture_output=True, text=True, check=False)
            seconds = time.perf_counter() - began
        if done.returncode != 0:
            raise RuntimeError(f"the command ended with {done.returncode}: {done.stderr.strip()}")
        return json.loads(done.stdout)["programs"][0], seconds
