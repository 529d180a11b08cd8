#!/usr/bin/env python3
"""Shows that check_layering.py accepts a good tree and fails, at the right line, on every kind of bad one."""

import os
import subprocess
import sys
import tempfile
import unittest

CHECKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "check_layering.py")

GOOD = {
    "CMakeLists.txt": "",
    ".gitignore": "/build/\n*~\n",
    "build/generated.h": '#include "runtime/embedding/planner.h"\n',
    "core/ids.h": "#pragma once\n#include <cstdint>\n#include <boost/container/small_vector.hpp>\n",
    "core/plan.cc": '// steady_clock is for Budget.\n/* #include "search/explore.h" */\n#include "core/ids.h"\n',
    "search/explore.h": '#pragma once\n#include <vector>\n#include "core/ids.h"\n',
    "search/budget.cc": "#include <chrono>\nauto now = std::chrono::steady_clock::now();\n",
    "runtime/embedding/planner.h": '#pragma once\n#include "search/explore.h"\n',
    "runtime/execution/tbb_executor.cc": "#include <tbb/task_arena.h>\n",
    "runtime/cli/main.cc": '#include <CLI/CLI.hpp>\n#include "runtime/cli/embedding/commands.h"\n#include "runtime/embedding/planner.h"\n',
    "tests/planner_test.cc": '#include <iostream>\n#include "runtime/cli/embedding/commands.h"\n#include "tests/support.h"\n',
}

# name: (file, text, the violation that must be reported)
BAD = {
    "core includes search": ("core/a.h", '\n#include "search/explore.h"\n', "core/a.h:2: layers:"),
    "core includes runtime in brackets": ("core/a.h", "#include <runtime/embedding/planner.h>\n", "core/a.h:1: layers:"),
    "search includes runtime": ("search/a.cc", '  #  include "runtime/embedding/planner.h"\n', "search/a.cc:1: layers:"),
    "core includes a library": ("core/a.h", "#include <spdlog/spdlog.h>\n", "core/a.h:1: core:"),
    "core includes a C header": ("core/a.h", "#include <unistd.h>\n", "core/a.h:1: core:"),
    "core starts a thread": ("core/a.cc", "#include <thread>\n", "core/a.cc:1: core:"),
    "core prints": ("core/a.cc", "#include <iostream>\n", "core/a.cc:1: core:"),
    "search includes TBB": ("search/a.cc", "#include <tbb/parallel_for.h>\n", "search/a.cc:1: search:"),
    "search includes oneAPI": ("search/a.cc", "#include <oneapi/tbb.h>\n", "search/a.cc:1: search:"),
    "search logs": ("search/a.cc", "/*\n*/\n#include <spdlog/spdlog.h>\n", "search/a.cc:3: search:"),
    "search includes JSON": ("search/a.cc", "#include <nlohmann/json.hpp>\n", "search/a.cc:1: search:"),
    "search reads a clock": ("search/a.cc", "\n\nauto t = std::chrono::steady_clock::now();\n", "search/a.cc:3: clock:"),
    "search reads the time": ("search/a.cc", "#include <ctime>\n", "search/a.cc:1: clock:"),
    "planner includes cli": ("runtime/embedding/planner.cc", '#include "runtime/cli/c.h"\n', "runtime/embedding/planner.cc:1: edges:"),
    "io includes capi": ("runtime/io/a.cc", '#include "runtime/capi/c.h"\n', "runtime/io/a.cc:1: edges:"),
    "report includes python": ("runtime/report/a.cc", '#include "runtime/python/c.h"\n', "runtime/report/a.cc:1: edges:"),
    "cli includes capi": ("runtime/cli/a.cc", '#include "runtime/capi/c.h"\n', "runtime/cli/a.cc:1: edges:"),
    "mpi includes cli": ("runtime/mpi/a.cc", '#include "runtime/cli/c.h"\n', "runtime/mpi/a.cc:1: edges:"),
    "options expose TBB": ("runtime/embedding/options.h", "#include <tbb/task.h>\n", "runtime/embedding/options.h:1: public:"),
    "options expose mimalloc": ("runtime/embedding/options.h", "#include <mimalloc.h>\n", "runtime/embedding/options.h:1: public:"),
    "runtime includes tests": ("runtime/a.cc", '#include "tests/support.h"\n', "runtime/a.cc:1: users:"),
    "samples include tests": ("samples/a.cc", '#include "tests/support.h"\n', "samples/a.cc:1: users:"),
    "a relative include": ("core/a.cc", '#include "ids.h"\n', "core/a.cc:1: root:"),
    "a new top-level folder": ("tools/a.py", "\n", "tools:1: top-level:"),
    "a new top-level file": ("setup.py", "\n", "setup.py:1: top-level:"),
}


def write_tree(root, files):
    for path, text in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def check(files, prepare=None):
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, files)
        if prepare:
            prepare(root)
        return subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)


class CheckLayering(unittest.TestCase):
    def test_good_tree_passes(self):
        result = check(GOOD)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_every_bad_file_is_reported_alone(self):
        for name, (path, text, expected) in BAD.items():
            with self.subTest(name):
                result = check({**GOOD, path: text})
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(len(result.stdout.splitlines()), 1, result.stdout)
                self.assertTrue(result.stdout.startswith(expected), result.stdout)

    def test_exposure_through_another_header_is_found(self):
        result = check({
            **GOOD,
            "runtime/embedding/planner.h": '#include "runtime/execution/log.h"\n',
            "runtime/execution/log.h": "\n#include <spdlog/spdlog.h>\n",
        })
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(result.stdout, "runtime/execution/log.h:2: public: runtime/embedding/planner.h exposes <spdlog/spdlog.h>\n")

    def test_a_git_checkout_is_judged_by_what_git_does_not_ignore(self):
        def initialise(root):
            try:
                subprocess.run(["git", "init", "-q", root], check=True)
            except FileNotFoundError:
                self.skipTest("git is not installed")

        self.assertEqual(check(GOOD, initialise).returncode, 0)
        result = check({**GOOD, "tools/a.py": "\n"}, initialise)
        self.assertIn("tools:1: top-level:", result.stdout)

    def test_a_wrong_root_is_a_usage_error(self):
        with tempfile.TemporaryDirectory() as root:
            result = subprocess.run([sys.executable, CHECKER, root], capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 2)


if __name__ == "__main__":
    unittest.main()
