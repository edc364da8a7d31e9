"""Each check of ci/layout, shown failing on a small tree that breaks just its rule, and silent on one that does not."""

import contextlib
import importlib.machinery
import importlib.util
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("layout", str(HERE / "layout"))
sys.dont_write_bytecode = True
layout = importlib.util.module_from_spec(importlib.util.spec_from_loader("layout", loader))
loader.exec_module(layout)

ROOMS = """\
lenz_room(base  compiler/base)
lenz_room(graph compiler/graph USES base)
lenz_room(ops   compiler/ops   USES graph TESTS_USE torch)
lenz_room(backend compiler/backend USES ops)
lenz_room(torch compiler/torch USES backend TORCH)
"""

ROW = 'constexpr Row kAdd = {"add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"};\n'


class Layout(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.root = Path(self.folder.name).resolve()
        self.write("ci/rooms.cmake", ROOMS)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def findings(self, check):
        return list(layout.CHECKS[check](layout.Tree(self.root)))

    def expect(self, check, *parts):
        """Exactly one finding, which contains the parts."""
        found = self.findings(check)
        self.assertEqual(len(found), 1, found)
        for part in parts:
            self.assertIn(part, found[0])

    def expect_none(self, check):
        self.assertEqual(self.findings(check), [])


class Arrows(Layout):
    def test_a_room_may_not_look_up_the_stream(self):
        self.write("compiler/base/a.cpp", '#include <vector>\n#include "compiler/graph/graph.h"\n')
        self.expect("arrows", "compiler/base/a.cpp:2", "base may not include", "room graph")

    def test_what_a_used_room_uses_is_allowed(self):
        self.write("compiler/ops/a.cpp", '#include "compiler/base/b.h"\n#include "compiler/graph/graph.h"\n')
        self.expect_none("arrows")

    def test_tests_and_benchmarks_are_exempt(self):
        for kind in ("test", "bench", "fuzz"):
            self.write(f"compiler/base/a_{kind}.cpp", '#include "compiler/ops/row.h"\n')
        self.expect_none("arrows")

    def test_headers_are_named_from_the_root(self):
        self.write("compiler/base/a.cpp", '#include "b.h"\n')
        self.expect("arrows", "compiler/base/a.cpp:1", "from the root")

    def test_a_room_that_uses_a_later_one_is_refused(self):
        self.write("ci/rooms.cmake", "lenz_room(base compiler/base USES graph)\nlenz_room(graph compiler/graph)\n")
        with self.assertRaisesRegex(SystemExit, "rooms.cmake:1: base uses graph"):
            layout.Tree(self.root)

    def test_a_room_line_that_it_cannot_read_is_refused(self):
        self.write("ci/rooms.cmake", "lenz_room(base\n  compiler/base)\n")
        with self.assertRaisesRegex(SystemExit, "rooms.cmake:1"):
            layout.Tree(self.root)

    def test_the_real_table_reads_and_points_down(self):
        rooms = layout.read_rooms(HERE.parent)
        self.assertLess({"base", "graph", "ops"}, set(rooms))
        self.assertIn("base", rooms["driver"].may_include)
        self.assertNotIn("torch", rooms["driver"].may_include)
        self.assertTrue(rooms["torch"].torch and not rooms["graph"].torch)


class Readmes(Layout):
    GOOD = "# base\n\nComes in: nothing. Goes out: errors and dtypes. May not include any room.\n"

    def test_missing(self):
        self.write("compiler/base/a.cpp", "")
        self.write("ci/README.md", self.GOOD)
        self.expect("readmes", "compiler/base", "no README.md")

    def test_long(self):
        self.write("compiler/base/README.md", self.GOOD + "more\n" * 18)
        self.write("ci/README.md", self.GOOD)
        self.expect("readmes", "compiler/base/README.md:21", "21 lines")

    def test_empty(self):
        self.write("compiler/base/README.md", "# base\n")
        self.write("ci/README.md", self.GOOD)
        self.expect("readmes", "says nothing")

    def test_good(self):
        self.write("compiler/base/README.md", self.GOOD + "more\n" * 17)
        self.write("ci/README.md", self.GOOD)
        self.expect_none("readmes")


class Libraries(Layout):
    def test_libtorch_outside_the_plugin(self):
        self.write("compiler/graph/a.h", "#include <ATen/ATen.h>\n")
        self.expect("libraries", "compiler/graph/a.h:1", "libtorch")

    def test_libtorch_in_a_test_outside_the_plugin(self):
        self.write("compiler/graph/a_test.cpp", "#include <torch/torch.h>\n")
        self.expect("libraries", "a_test.cpp:1")

    def test_llvm_outside_the_backend(self):
        self.write("compiler/ops/a.cpp", '#include "llvm/IR/Module.h"\n')
        self.expect("libraries", "compiler/ops/a.cpp:1", "LLVM")

    def test_where_they_belong(self):
        self.write("compiler/torch/a.cpp", "#include <ATen/ATen.h>\n#include <c10/core/Device.h>\n")
        self.write("compiler/backend/llvm/a.cpp", "#include <llvm/IR/Module.h>\n")
        self.expect_none("libraries")


class OpNames(Layout):
    def test_qualified_name(self):
        self.write("compiler/graph/a.cpp", 'int x;\nauto n = find("aten.relu");\n')
        self.expect("op-names", "compiler/graph/a.cpp:2", "aten.relu")

    def test_registry_spelling_and_raw_strings(self):
        self.write("compiler/graph/a.cpp", 'auto n = find(R"(aten::relu)");\n')
        self.expect("op-names", "aten::relu")

    def test_overload(self):
        self.write("compiler/graph/a.cpp", 'if (name.starts_with("add.Tensor")) {}\n')
        self.expect("op-names", "add.Tensor")

    def test_comparison_with_a_packet_that_has_a_row(self):
        self.write("compiler/ops/rows/pointwise.cpp", ROW)
        self.write("compiler/backend/a.cpp", 'bool b = node.packet == "add";\n')
        self.expect("op-names", "compiler/backend/a.cpp:1", '"add"')

    def test_comparison_the_other_way_round(self):
        self.write("compiler/ops/rows/pointwise.cpp", ROW)
        self.write("compiler/backend/a.cpp", 'bool b = "add" != node.packet;\n')
        self.expect("op-names", '"add"')

    def test_where_the_table_is_out_of_sight_the_same_word_is_another_thing(self):
        self.write("compiler/ops/rows/pointwise.cpp", ROW)
        self.write("compiler/base/a.cpp", 'bool b = word == "add";\n')
        self.expect_none("op-names")
        self.write("compiler/base/a.cpp", 'bool b = word == "aten.add";\n')
        self.expect("op-names", "aten.add")

    def test_an_argument_may_have_the_value_that_an_op_has_as_its_name(self):
        self.write("compiler/ops/rows/pointwise.cpp", ROW)
        self.write("compiler/ops/rules/a.cpp", 'bool b = reduce == "add";\n')
        self.expect_none("op-names")
        self.write("compiler/ops/rules/a.cpp", 'bool b = x.op().schema.packet != "add_";\n')
        self.expect("op-names", '"add_"')
        self.write("compiler/ops/rules/a.cpp", 'bool b = op.name.empty() || x.op().schema.packet.starts_with("add");\n')
        self.expect("op-names", '"add"')

    def test_a_word_that_is_no_comparison_is_no_op(self):
        self.write("compiler/ops/rows/pointwise.cpp", ROW)
        self.write("compiler/backend/a.cpp", 'print("add"); bool b = word == "subtract";\n')
        self.expect_none("op-names")

    def test_looking_into_a_name_or_for_it_is_asking_it(self):
        for code in (
            "bool b = op.schema.packet.ends_with(suffix);\n",
            'bool b = op.full_name.find("conv") != npos;\n',
            "bool b = kOps.contains(op.schema.packet);\n",
            "bool b = std::ranges::find(kOps, op.schema.packet) != kOps.end();\n",
            "char c = op.schema.packet[0];\n",
            'std::string_view p = op.schema.packet;\nbool b = p == "softmax";\n',
        ):
            self.write("compiler/graph/a.cpp", code)
            self.expect("op-names", "looks into an op's name")
        self.write("compiler/graph/a.cpp", "bool b = packet.ends_with(x);  // op name: an example\n")
        self.expect_none("op-names")
        self.write("compiler/graph/a.cpp", "bool b = a.schema.packet == b.schema.packet; print(a.schema.packet);\n")
        self.expect_none("op-names")

    def test_comments_are_prose(self):
        self.write("compiler/graph/a.cpp", '// "aten.relu" is one\n/* so is\n"aten.add" */\n')
        self.expect_none("op-names")

    def test_where_names_belong(self):
        text = 'auto n = find("aten.relu");\n'
        for name in (
            "compiler/ops/rows/pointwise.cpp",
            "compiler/graph/patterns/gelu.cpp",
            "compiler/graph/view_patterns.cpp",
            "compiler/ops/decompositions/norms.cpp",
            "compiler/ops/norm_decompositions.cpp",
            "compiler/graph/a_test.cpp",
        ):
            self.write(name, text)
        self.expect_none("op-names")

    def test_an_exception_gives_its_reason(self):
        self.write("compiler/graph/a.cpp", 'f("aten.relu");  // op name: the example in the help text\n')
        self.expect_none("op-names")
        self.write("compiler/graph/a.cpp", 'f("aten.relu");  // op name:\n')
        self.expect("op-names", "aten.relu")


class House(Layout):
    def test_thread_local(self):
        self.write("compiler/graph/a.cpp", "thread_local int x = 0;\n")
        self.expect("house", "a.cpp:1", "thread_local")

    def test_getenv_belongs_to_options(self):
        self.write("compiler/base/options.cpp", 'auto* x = std::getenv("X");\n')
        self.expect_none("house")
        self.write("compiler/graph/a.cpp", 'auto* x = std::getenv("X");\n')
        self.expect("house", "a.cpp:1", "Options")

    def test_assert(self):
        self.write("compiler/graph/a.cpp", "static_assert(true);\nassert(x);\n")
        self.expect("house", "a.cpp:2", "LENZ_CHECK")

    def test_unfinished(self):
        self.write("compiler/graph/a.cpp", "// TO" + "DO: the rest\n")
        self.expect("house", "a.cpp:1", "unfinished")

    def test_names(self):
        self.write("compiler/graph/utils.h", "")
        self.expect("house", "compiler/graph/utils.h")

    def test_words_in_strings_and_comments_are_not_code(self):
        self.write("compiler/graph/a.cpp", '// no thread_local here\nauto s = "getenv(x)";\n')
        self.expect_none("house")


class Format(Layout):
    def setUp(self):
        super().setUp()
        self.write(".clang-format", (HERE.parent / ".clang-format").read_text())

    def test_formatted(self):
        self.write("compiler/base/a.cpp", "int x = 1;\n")
        self.expect_none("format")

    def test_not_formatted(self):
        self.write("compiler/base/a.cpp", "int x = 1;\nint   y=1 ;\n")
        self.expect("format", "compiler/base/a.cpp:2", "clang-format-19 -i")


class Tidy(Layout):
    def git(self, *arguments):
        identity = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false")
        subprocess.run(["git", *identity, *arguments], cwd=self.root, check=True, capture_output=True)

    def test_only_changed_files_and_their_faults(self):
        self.write(".clang-tidy", (HERE.parent / ".clang-tidy").read_text())
        bad = "namespace lenz {\nint BadName() { return 0; }\n}  // namespace lenz\n"
        self.write("compiler/base/old.cpp", bad)
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "one")
        self.write("compiler/base/new.cpp", bad)
        self.write("compiler/base/good.cpp", bad.replace("BadName", "good_name"))
        commands = [
            {"directory": str(self.root), "file": f"compiler/base/{n}.cpp", "command": f"c++ -c compiler/base/{n}.cpp"}
            for n in ("old", "new", "good")
        ]
        for command in commands:
            command["file"] = str(self.root / command["file"])
        self.write("build/compile_commands.json", json.dumps(commands))
        tree, build = layout.Tree(self.root), self.root / "build"
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            found = list(layout.check_tidy(tree, "HEAD", build))
            self.assertEqual(len(found), 1, found)
            self.assertIn("compiler/base/new.cpp:2", found[0])
            self.assertIn("BadName", found[0])
            self.assertEqual(len(list(layout.check_tidy(tree, None, build, everything=True))), 2)
            self.assertEqual(list(layout.check_tidy(tree, "HEAD", build, budget=1e-9)), [])
        self.assertIn("NOT CHECKED in 0 s, 2 of 2: compiler/base/good.cpp compiler/base/new.cpp", out.getvalue())


class Command(Layout):
    def run_layout(self, *arguments):
        command = [sys.executable, str(HERE / "layout"), "--root", str(self.root), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_exit_codes(self):
        self.write("compiler/base/a.cpp", "int x = 1;\n")
        self.assertEqual(self.run_layout("arrows", "house").returncode, 0)
        self.write("compiler/base/a.cpp", "thread_local int x = 1;\n")
        done = self.run_layout("arrows", "house")
        self.assertEqual(done.returncode, 1)
        self.assertIn("layout: house: 1 findings", done.stdout)
        self.assertEqual(self.run_layout("no-such-check").returncode, 2)

    def test_every_check_has_a_test_here(self):
        tested = {"arrows", "readmes", "libraries", "op-names", "house", "format"}
        self.assertEqual(set(layout.CHECKS) - tested, {"sizes"}, "a check that can fail needs a test that shows it")


if __name__ == "__main__":
    unittest.main()
