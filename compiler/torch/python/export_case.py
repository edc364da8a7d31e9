"""What tests of export share: a program exported, run beside itself, or refused."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parent)]
import torch  # noqa: E402

import lenz  # noqa: E402
from lenz import command  # noqa: E402

# Batch norms add up in as many parts as there are threads; lenz runs have one.
torch.set_num_threads(1)

X = torch.arange(24.0).reshape(6, 4) / 7 - 1


class ExportCase(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.path = self.folder / "g.lenz"

    def export(self, model, *args, **options):
        return lenz.export(model, args, self.path, **options)

    def agrees(self, made, model, *args, off_by=0.0):
        """The text run by lenz gives what the model gives, bit for bit; or no more off than so much."""
        inputs, results = self.folder / "in.npz", self.folder / "out.npz"
        made.save_inputs(inputs)
        done = command.run(
            "run", made.path, "--on", "eager", "--inputs", inputs, "--save", results, "--seed", "3", "--show", "0"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        torch.manual_seed(3)
        expected = torch.utils._pytree.tree_leaves(model(*args))
        with np.load(results) as got:
            for i, value in enumerate(expected):
                if isinstance(value, torch.Tensor):  # numbers are not saved
                    value = value.detach().numpy()
                    if off_by:
                        np.testing.assert_allclose(got[f"out{i}"], value, rtol=0, atol=off_by)
                    else:
                        np.testing.assert_array_equal(got[f"out{i}"], value)
        check = command.run("fmt", "--check", made.path)
        self.assertEqual(check.returncode, 0, "not canonical: " + check.stdout + check.stderr)

    def refused(self, model, *args, **options):
        with self.assertRaises(lenz.ExportError) as caught:
            self.export(model, *args, **options)
        self.assertFalse(self.path.exists())
        return caught.exception

    def refused_here(self, model, *args, **options):
        error = self.refused(model, *args, **options)
        self.assertIsNotNone(error.where, str(error))
        self.assert_here(error.where.file, str(error))
        self.assertTrue(error.remedy)
        return error

    def assert_here(self, file, why=None):
        """A place in the test's program, or the call above that exports it."""
        here = {Path(__file__).name, Path(sys.modules[type(self).__module__].__file__).name}
        self.assertIn(Path(file).name, here, why)


def run():
    """The tests of the script that asks; its argument, if there is one, is the executable."""
    if len(sys.argv) > 1 and Path(sys.argv[1]).is_file():
        os.environ["LENZ"] = str(Path(sys.argv.pop(1)).resolve())
    unittest.main()
