"""python_program_test.py LENZ [FILE ...]: `lenz python` of graphs gives in Python what `lenz run --on eager` gives."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy
import torch

LENZ = sys.argv[1]
CORPUS = pathlib.Path(__file__).resolve().parent.parent / "corpus/regressions"
# Control flow, open sizes, storages that inputs share, writes, lists, float8 and complex numbers, constants, effects.
NAMED = [CORPUS / f"{name}.lenz" for name in """
    slice_into_control_flow sizes_that_are_equal_by_guards tokens_through_control_flow scan_of_one integers_over_what_was_open
    through_an_out_of_itself power_of_two_of_a_huge_angle slice_laid_out_again digits_that_add_up parts_of_a_conjugate
    names_of_other_things out_of_an_empty_list 174459_sort_that_is_not_asked_for_order 192635_draws_keep_their_order square_of_a_size write_to_no_places refusal_of_all_inputs
""".split()]
FILES = [pathlib.Path(f) for f in sys.argv[2:]] or NAMED


def in_numpy(value):
    if not isinstance(value, torch.Tensor):
        return numpy.asarray(value)
    value = value.detach().resolve_conj().resolve_neg()
    if value.dtype in (torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2):
        value = value.to(torch.float32)
    return value.numpy()


class PythonPrograms(unittest.TestCase):
    def test_programs_give_what_eager_gives(self):
        compared = 0
        for file in FILES:
            with self.subTest(file.name), tempfile.TemporaryDirectory() as folder:
                made = subprocess.run([LENZ, "python", "--eager", str(file)], capture_output=True, text=True)
                if made.returncode == 6:
                    print(f"{file.name}: {made.stderr.strip()}")
                    continue
                self.assertEqual(made.returncode, 0, made.stderr)
                saved = f"{folder}/values.npz"
                run = subprocess.run([LENZ, "run", "--on", "eager", "--save", saved, str(file)], capture_output=True, text=True)
                scope = {"__name__": "a module"}
                exec(compile(made.stdout, file.name, "exec"), scope)
                given = scope["inputs"]()
                torch.manual_seed(0)
                if run.returncode != 0:
                    self.assertEqual(run.returncode, 2, run.stderr)
                    with self.assertRaises(Exception):
                        scope["graph"](*given)
                    continue
                results = scope["graph"](*given)
                with numpy.load(saved) as expected:
                    for i, result in enumerate(results):
                        if result is None or isinstance(result, (list, tuple)):
                            continue
                        want = expected[f"out{i}"]
                        got = in_numpy(result)
                        self.assertEqual(list(got.shape), list(want.shape))
                        if want.dtype == got.dtype:
                            numpy.testing.assert_array_equal(got, want)
                            compared += 1
        self.assertGreater(compared, 0)

    def test_more_than_a_person_reads_is_not_written_out(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "large.lenz"
            file.write_text("graph @large(%x: f32[100000]) {\n  %0 = aten.neg(%x)\n  return %0\n}\n")
            made = subprocess.run([LENZ, "python", str(file)], capture_output=True, text=True)
            self.assertEqual(made.returncode, 6)
            self.assertIn("65536 elements", made.stderr)
            nowhere = subprocess.run([LENZ, "python", str(NAMED[0]), "--out", f"{folder}/none/x.py"], capture_output=True, text=True)
            self.assertEqual(nowhere.returncode, 2)
            self.assertIn("can't write it", nowhere.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
