"""usage: corpus/models/models_test.py [LENZ] [--all] [-v]

The texts are what make.py writes, and run in eager libtorch (`lenz run`) to the values that Python gets: the very bits,
but for models named in ROUNDED. Without --all a few models that take a second each and need nothing but PyTorch."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
import make  # noqa: E402  (finds the package lenz)
import torch  # noqa: E402
import zoo  # noqa: E402

from lenz import command, weights  # noqa: E402

# Batch norms add up in as many parts as there are threads; lenz runs have one.
torch.set_num_threads(1)
# A transformer layer without gradients is one opaque kernel otherwise.
torch.backends.mha.set_fastpath_enabled(False)

QUICK = ["equation_of_state", "gcn", "dlrm", "mlp_dropout_train", "batch_norm_train", "mixed_precision_train", "newton"]
ALL = "--all" in sys.argv
# Models whose text computes otherwise than Python's run, and by how much the results may differ.
ROUNDED = {"lstm_tagger": 2e-6}  # Python's runs in one oneDNN call, the text's step by step


class Models(unittest.TestCase):
    def same(self, name, key, found, expected):
        expected = weights.as_array(expected) if isinstance(expected, torch.Tensor) else np.asarray(expected)
        self.assertEqual(found.shape, expected.shape, f"{name}: {key}")
        if name in ROUNDED:
            np.testing.assert_allclose(found, expected, rtol=0, atol=ROUNDED[name], err_msg=f"{name}: {key}")
        elif found.dtype.kind in "fc" or expected.dtype.kind in "fc":
            np.testing.assert_array_equal(found, expected, err_msg=f"{name}: {key}")
        else:
            self.assertEqual(found.tobytes(), expected.tobytes(), f"{name}: {key}")

    def one(self, name, folder):
        path = folder / f"{name}.lenz"
        made = make.export(name, path)
        self.assertEqual(made.text, (HERE / path.name).read_text(), f"{name}.lenz is stale: corpus/models/make.py --only {name}")
        inputs, results = folder / f"{name}.in.npz", folder / f"{name}.out.npz"
        case = zoo.build(name)
        made.save_inputs(inputs)
        done = command.run(
            "run", path, "--on", "eager", "--inputs", inputs, "--save", results, "--seed", "5", "--show", "0"
        )
        self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
        torch.manual_seed(5)
        with np.load(results) as got:
            expected = case.run()
            for i, value in enumerate(expected):
                if isinstance(value, torch.Tensor):  # numbers are not saved
                    self.same(name, f"out{i}", got[f"out{i}"], value)
            state = dict(case.module.named_buffers())
            written = {k for k in got.files if k != "lenz" and not k.startswith("out")}
            self.assertLessEqual(written, set(state), f"{name}: written to")
            for key in written:
                self.same(name, key, got[key], state[key])
        return written

    def test_the_values_are_pythons(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in zoo.MODELS if ALL else QUICK:
                with self.subTest(name):
                    written = self.one(name, Path(folder))
                    if name == "batch_norm_train":
                        self.assertEqual(len(written), 6, "running statistics of two layers")

    def test_every_model_has_a_text(self):
        texts = {path.stem for path in HERE.glob("*.lenz")}
        self.assertEqual(texts, set(zoo.MODELS))

    def test_seeded_weights_give_numbers(self):
        """What stands in for the weights keeps results finite."""
        with tempfile.TemporaryDirectory() as folder:
            for name in zoo.MODELS if ALL else QUICK[:3]:
                with self.subTest(name):
                    results = Path(folder) / f"{name}.npz"
                    done = command.run("run", HERE / f"{name}.lenz", "--on", "eager", "--save", results, "--show", "0")
                    self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")
                    with np.load(results) as got:
                        for key in (k for k in got.files if k != "lenz" and got[k].dtype.kind in "fc"):
                            self.assertTrue(np.isfinite(got[key]).all(), f"{name}: {key}")


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--all"]
    if arguments and os.access(arguments[0], os.X_OK) and Path(arguments[0]).is_file():
        os.environ["LENZ"] = str(Path(arguments.pop(0)).resolve())
    if ALL:
        make.install()
    unittest.main(argv=[sys.argv[0], *arguments])
