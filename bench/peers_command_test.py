"""usage: peers_command_test.py LENZ

`lenz bench` from the outside: small rows beside eager, their files by hand, and what it says of itself."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LENZ = Path(sys.argv.pop(1)).resolve()


def lenz(*arguments):
    return subprocess.run([LENZ, *map(str, arguments)], capture_output=True, text=True, check=False, timeout=240)


class Peers(unittest.TestCase):
    def test_rows_are_measured_and_right(self):
        rows = ["cross_entropy_bf16", "mlp8_batch16"]
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "rows.json"
            done = lenz("bench", "--peers", "--only", ",".join(rows), "--subjects", "eager", "--rounds", 2, "--seconds",
                        0.02, "--neighbours", 1, "--json", told, "--folder", folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            report = json.loads(told.read_text())
            self.assertEqual([r["name"] for r in report["rows"]], rows)
            for row in report["rows"]:
                self.assertEqual(row["check"], "right")
                self.assertEqual(set(row["ms"]), {"lenz", "eager"})
                self.assertGreater(row["ratio"], 0)
                self.assertGreater(row["roofline"], 0)
                self.assertIn(row["name"], done.stdout)
            self.assertEqual(len(report["rows"][0]["neighbours"]), 1)
            self.assertEqual(report["rows"][0]["neighbours"][0]["check"], "right")
            # 256 x 50257 numbers of 2 bytes, and as many targets of 8.
            self.assertEqual(report["rows"][0]["read"], 256 * (2 * 50257 + 8))
            by_hand = lenz("run", Path(folder) / "mlp8_batch16.lenz", "--on", "llvm", "--profile", "--inputs",
                           Path(folder) / "mlp8_batch16.inputs.npz", "--calls", 2)
            self.assertEqual(by_hand.returncode, 0, by_hand.stderr)
            self.assertIn("us in all", by_hand.stdout)

    def test_what_is_slower_than_asked_for_fails(self):
        with tempfile.TemporaryDirectory() as folder:
            done = lenz("bench", "--peers", "--only", "sum_cols_f32", "--subjects", "eager", "--rounds", 1, "--seconds",
                        0.01, "--min-ratio", 1e9, "--folder", folder)
            self.assertEqual(done.returncode, 3, done.stdout + done.stderr)

    def test_compiling_is_timed_in_fresh_processes(self):
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "times.json"
            done = lenz("bench", "--compile", "--only", "mlp8_batch16", "--no-peers", "--growth", 20, "--json", told,
                        "--folder", folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            report = json.loads(told.read_text())
            row = report["rows"][0]
            self.assertEqual(row["cold"]["cached"], 0)
            self.assertGreater(row["cold"]["kernels"], 0)
            self.assertEqual(row["warm"]["cached"], row["warm"]["kernels"])
            self.assertGreater(row["cold"]["first_call_ms"], row["cold"]["ms"])
            kernels = [g["cold"]["kernels"] for g in report["growth"]]  # of given sizes, an open one, one for each input
            self.assertEqual([k // 10 for k in kernels[:2]], [0, 2])
            self.assertEqual(len(kernels), 6)
            for less, more in zip(kernels[::2], kernels[1::2]):
                self.assertGreater(more, 4 * less)

    def test_single_ops_are_timed_beside_eager(self):
        with tempfile.TemporaryDirectory() as folder:
            told = Path(folder) / "ops.json"
            rows = ["aten.tanh", "aten.mm", "aten.view", "lenz.getitem"]
            done = lenz("bench", "--ops", "--only", ",".join(rows), "--elements", 1 << 18, "--calls", 1, "--rounds", 1,
                        "--seconds", 0.001, "--json", told, "--folder", folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            by_row = {row["op"]: row for row in json.loads(told.read_text())["rows"]}
            self.assertEqual([by_row[r]["calls"][0]["by"] for r in rows[:3]], ["ours", "library", "nobody"])
            self.assertGreater(by_row["aten.tanh"]["calls"][0]["ratio"], 0)
            self.assertEqual((by_row["lenz.getitem"]["calls"], by_row["lenz.getitem"]["none"] != ""), ([], True))
            self.assertIn("aten.tanh.0", done.stdout)
            by_hand = lenz("run", Path(folder) / "ops" / "aten.tanh.0.lenz", "--show", 0)
            self.assertEqual(by_hand.returncode, 0, by_hand.stderr)

    def test_a_module_of_ones_own_takes_the_place_of_the_tracked_rows(self):
        with tempfile.TemporaryDirectory() as folder:
            module, told = Path(folder) / "mine.py", Path(folder) / "rows.json"
            module.write_text("""import torch
from workloads import Case, row

@row(own=True)
def swish(n=1000):
    return Case(lambda x: x * torch.sigmoid(x), (torch.randn(n),))

@row(own=True)
def swish_gradient(n=1000):
    return Case(lambda x: x * torch.sigmoid(x), (torch.randn(n),), train=True)
""")
            listed = lenz("bench", "--list", "--module", module).stdout.splitlines()
            self.assertEqual([line.split()[0] for line in listed], ["swish", "swish_gradient"])
            done = lenz("bench", "--peers", "--module", module, "--subjects", "eager", "--rounds", 1, "--seconds", 0.01,
                        "--json", told, "--folder", folder)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            rows = json.loads(told.read_text())["rows"]
            self.assertEqual([(r["name"], r["check"]) for r in rows], [("swish", "right"), ("swish_gradient", "right")])

    def test_a_module_that_fails_or_has_no_rows_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            broken, empty = Path(folder) / "broken.py", Path(folder) / "empty.py"
            broken.write_text("import torch\n1 / 0\n")
            empty.write_text("x = 1\n")
            for module, words in ((broken, f"ZeroDivisionError: division by zero, at {broken}:2"), (empty, "has no rows")):
                done = lenz("bench", "--peers", "--module", module)
                self.assertNotEqual(done.returncode, 0)
                self.assertIn(words, done.stdout + done.stderr)

    def test_it_says_what_it_lacks(self):
        done = lenz("bench", "--peers", "--only", "softmax_row_f32")
        self.assertEqual(done.returncode, 2)
        self.assertIn("did you mean 'softmax_rows_f32'?", done.stderr)
        done = lenz("bench", "--peers", "--python", "/no/such/python")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--python", done.stderr)
        self.assertEqual(lenz("bench").returncode, 2)


if __name__ == "__main__":
    unittest.main()
