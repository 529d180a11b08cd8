#!/usr/bin/env python3
"""Shows that check_layering.py accepts a good tree, and reports every kind of bad one at the right line."""

import collections
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest

import check_layering

Outcome = collections.namedtuple("Outcome", "returncode stdout")
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
    "runtime/cli/embedding/commands.h": "#pragma once\n",
    "tests/support.h": "#pragma once\n",
    "tests/layering/rooms.txt": "core:\nsearch:\nruntime/embedding:\n  runtime/execution\nruntime/execution:\n"
                                "runtime/cli: runtime/embedding  # why\n",
    "tests/runtime/planner_test.cc": '#include <iostream>\n#include "runtime/cli/embedding/commands.h"\n#include "tests/support.h"\n'
                                     "\nnamespace shardwright::planner_test {\n}\n",
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
    "options expose TBB": ("runtime/embedding/options.h", "#include <tbb/task.h>\n", "runtime/embedding/options.h:1: public:"),
    "options expose mimalloc": ("runtime/embedding/options.h", "#include <mimalloc.h>\n", "runtime/embedding/options.h:1: public:"),
    "runtime includes tests": ("runtime/a.cc", '#include "tests/support.h"\n', "runtime/a.cc:1: users:"),
    "samples include tests": ("samples/a.cc", '#include "tests/support.h"\n', "samples/a.cc:1: users:"),
    "a relative include": ("core/a.cc", '#include "ids.h"\n', "core/a.cc:1: root:"),
    "a new top-level folder": ("tools/a.py", "\n", "tools:1: top-level:"),
    "a new top-level file": ("setup.py", "\n", "setup.py:1: top-level:"),
}


# An include that breaks another rule may break the rules about rooms, too.
ROOM_RULES = ("rooms", "cycle")

FUNCTION = """int Sum::of(int a,
            int b) : a_{a}, b_{b} {
  const char* text = "}";  // }
  const auto add = [](int c) {
    return c + '{';
  };
%s  return add(1);
}
"""


def cmake_lists(files):
    """The lists that a tree with these files has."""
    lists = {}
    for path in files:
        floor, _, rest = path.partition("/")
        if floor in ("core", "search", "runtime") and path.endswith((".h", ".cc")):
            lists[f"{floor}/CMakeLists.txt"] = lists.get(f"{floor}/CMakeLists.txt", "") + rest + "\n"
    return lists


def write_tree(root, files):
    for path, text in files.items():
        path = os.path.join(root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def check(files, prepare=None):
    with tempfile.TemporaryDirectory() as root:
        write_tree(root, {**cmake_lists(files), **files})
        if prepare:
            prepare(root)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            code = check_layering.main([root])
        return Outcome(code, printed.getvalue())


class CheckLayering(unittest.TestCase):
    def test_good_tree_passes(self):
        result = check(GOOD)
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_every_bad_file_is_reported_alone(self):
        for name, (path, text, expected) in BAD.items():
            with self.subTest(name):
                result = check({**GOOD, path: text})
                self.assertEqual(result.returncode, 1, result.stdout)
                found = [line for line in result.stdout.splitlines() if line.split(": ")[1] not in ROOM_RULES]
                self.assertEqual(len(found), 1, result.stdout)
                self.assertTrue(found[0].startswith(expected), result.stdout)

    def test_exposure_through_another_header_is_found(self):
        result = check({
            **GOOD,
            "runtime/embedding/planner.h": '#include "runtime/execution/log.h"\n',
            "runtime/execution/log.h": "\n#include <spdlog/spdlog.h>\n",
        })
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stdout, "runtime/execution/log.h:2: public: runtime/embedding/planner.h exposes <spdlog/spdlog.h>\n")

    def assert_reported(self, files, *expected):
        result = check({**GOOD, **files})
        self.assertEqual(result.returncode, 1, result.stdout)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), len(expected), result.stdout)
        for line, start in zip(lines, expected):
            self.assertTrue(line.startswith(start), result.stdout)

    def test_a_direction_that_no_row_allows(self):
        self.assert_reported(
            {"runtime/execution/log.cc": '\n#include "runtime/cli/embedding/commands.h"\n'},
            "runtime/execution/log.cc:2: edges:",
            "runtime/execution/log.cc:2: rooms: runtime/execution includes runtime/cli/embedding/commands.h")

    def test_an_allowed_direction_and_a_lower_floor_pass(self):
        result = check({**GOOD, "runtime/embedding/plan/a.h":
                        '#include "runtime/execution/log.h"\n#include "core/ids.h"\n',
                        "runtime/execution/log.h": "\n"})
        self.assertEqual((result.returncode, result.stdout), (0, ""))

    def test_a_folder_without_a_row(self):
        self.assert_reported({"runtime/new/a.h": "\n"}, "runtime/new/a.h:1: rooms: runtime/new belongs to no room")
        self.assert_reported({"core/new/a.h": "\n"}, "core/new/a.h:1: rooms: core/new belongs to no room")

    def test_a_row_without_a_folder(self):
        table = GOOD["tests/layering/rooms.txt"] + "runtime/gone: runtime/nowhere\n"
        self.assert_reported({"tests/layering/rooms.txt": table},
                             "tests/layering/rooms.txt:1: rooms: runtime/gone has a row and no files",
                             "tests/layering/rooms.txt:1: rooms: the row of runtime/gone allows runtime/nowhere")

    def test_a_circle_between_a_folder_and_one_below_it(self):
        self.assert_reported(
            {"runtime/embedding/a.h": '#include "runtime/embedding/plan/a.h"\n',
             "runtime/embedding/plan/a.h": '\n#include "runtime/embedding/b.h"\n',
             "runtime/embedding/b.h": "\n"},
            "runtime/embedding/a.h:1: cycle:", "runtime/embedding/plan/a.h:2: cycle:")

    def test_a_circle_of_three_folders(self):
        folders = [f"runtime/embedding/{name}" for name in "xyz"]
        self.assert_reported(
            {f"{here}/a.h": f'#include "{there}/a.h"\n' for here, there in zip(folders, folders[1:] + folders[:1])},
            *(f"{folder}/a.h:1: cycle:" for folder in folders))

    def test_a_file_is_listed_once(self):
        lists = cmake_lists(GOOD)["core/CMakeLists.txt"]
        self.assert_reported({"core/CMakeLists.txt": lists + "a.cc # b.cc\nsub/a.cc\n", "core/a.cc": "\n", "core/b.cc": "\n"},
                             "core/b.cc:1: listing: one CMakeLists.txt lists a file; here: none")
        self.assert_reported({"core/CMakeLists.txt": lists + "plan.cc\n"}, "core/plan.cc:1: listing:")

    def test_tests_lie_as_what_they_test(self):
        self.assert_reported({"tests/core/gone/a_test.cc": "namespace shardwright::a_test {\n"},
                             "tests/core/gone/a_test.cc:1: mirror:")

    def test_a_test_has_a_namespace_of_its_own(self):
        self.assert_reported({"tests/core/a_test.cc": "namespace shardwright {\n"},
                             "tests/core/a_test.cc:1: namespace:")

    def test_a_long_function_is_found_by_its_first_line(self):
        short = {f"core/{name}.h": "int f() { return 1; }\n" * 10 for name in "ab"}
        self.assert_reported({**short, "core/a.cc": "struct A {\n  int b{2};\n};\n" + FUNCTION % ("  ++b_;\n" * 60)},
                             "core/a.cc:4: size: Sum::of has 68 lines; at most 60")

    def test_long_functions(self):
        self.assert_reported({"core/a.cc": FUNCTION % ("  ++b_;\n" * 20)}, ".:1: size: one in ten functions has 28 lines")

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
