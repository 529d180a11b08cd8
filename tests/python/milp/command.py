"""Runs the command on problems, and reads what it says."""

import json
import os
import resource
import subprocess
import tempfile
from pathlib import Path

from edits import without_rules
from rules import Rules
from space import Machine, key_of_table, read_options

DONE, BAD_INPUT, NO_PLAN, STOPPED, VIOLATED, NOT_VERIFIED = 0, 2, 3, 4, 5, 6


class Failed(Exception):
    """The command said something that is not so."""


def cpu_of_children():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Command:
    def __init__(self, path, seconds, cpu_seconds):
        self.path = path
        self.seconds = seconds
        self.cpu_seconds = cpu_seconds  # that planning may take
        self.open = []  # where the command was right, but proved nothing or took long
        self.folder = tempfile.TemporaryDirectory(prefix="shardwright-milp-")

    def file(self, name, content):
        path = Path(self.folder.name) / f"{name}-{os.getpid()}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        return path

    def call(self, *arguments):
        """Returns the exit code, the JSON on standard output if there is any, and standard error."""
        before = cpu_of_children()
        try:
            done = subprocess.run([self.path, *map(str, arguments)], capture_output=True,
                                  check=False, timeout=self.seconds, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired as expired:
            raise Failed(f"{arguments[0]} takes over {self.seconds:g} s") from expired
        if done.returncode < 0 or done.returncode in (1, 134, 139):
            raise Failed(f"{arguments[0]} exits with {done.returncode}: {done.stderr[-300:]!r}")
        took = cpu_of_children() - before
        if arguments[0] in ("plan", "replan") and took > self.cpu_seconds:
            self.open.append(f"{arguments[0]} takes {took:.1f} CPU-seconds")
        answer = json.loads(done.stdout) if done.stdout.startswith(b"{") else None
        return done.returncode, answer, done.stderr.decode(errors="replace")

    def plan(self, problem, *options):
        return self.call("plan", self.file("problem", problem), "--threads", 1, "--what-if", "no", "--json", *options)

    def verify(self, problem, answer, *options):
        problem, answer = self.file("problem", problem), self.file("plan", answer)
        return self.call("verify", problem, answer, *options)[0]

    def instance(self, problem):
        """What the MILP needs; None if the command refuses the problem even without its rules."""
        path = self.file("bare", without_rules(problem))
        code, answer, _ = self.call("enumerate", path, "--threads", 1, "--json")
        options = {}
        if code == DONE:
            options = read_options(answer["search_space"], problem)
        elif code == BAD_INPUT:
            return None
        options = {key: options.get(key, []) for key in map(key_of_table, problem["tables"])}
        machine = Machine(problem)
        return options, machine, Rules(problem, machine)
