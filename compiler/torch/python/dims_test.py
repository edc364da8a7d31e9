"""usage: compiler/torch/python/dims_test.py [LENZ]

Sizes that vary: which are kept, which become facts, and what is said of those that a program does not keep."""

import math
import warnings

import numpy as np
import torch
import torch.nn.functional as F
from export_case import ExportCase, X, run

import lenz
from lenz import command


class Dims(ExportCase):
    def test_dynamic_sizes_with_ranges_and_equalities(self):
        def f(x, y):
            return torch.cat([x, y]).relu(), x.shape[0] * 2

        made = self.export(f, X, X + 1, dynamic={"x": {0: "rows"}, "y": {0: "rows"}})
        self.assertIn("%x: f32[s0, 4]", made.text)
        self.assertIn("%y: f32[s0, 4]", made.text)
        self.agrees(made, f, X, X + 1)
        made = self.export(f, X, X + 1, dynamic={"x": {0: range(2, 65)}, "y": None})
        self.assertIn("s0 in 2..64", made.text)

    def test_a_size_that_is_a_multiple(self):
        made = self.export(lambda x: x.reshape(-1, 8), X, dynamic={"x": {0: 2 * torch.export.Dim("half", min=2, max=9)}})
        self.assertIn("%x: f32[s0, 4]", made.text)
        self.assertIn("s0 in 4..18, s0 % 2 == 0", made.text)

    def test_guards_become_facts(self):
        made = self.export(lambda x: x.reshape(2, -1).sum(0), X, dynamic={"x": {0: torch.export.Dim.AUTO}})
        self.assertIn("s0", made.text)
        self.agrees(made, lambda x: x.reshape(2, -1).sum(0), X)

    def test_every_guard_is_a_fact(self):
        """What the program asks of its sizes decides what is written: of other sizes the text must not be a graph."""
        two = {"x": {0: range(2, 20)}, "y": {0: range(2, 20)}}
        asks = {
            "20 < s0*s1": lambda x, y: x.shape[0] * y.shape[0] > 20,
            "s0 != s1": lambda x, y: x.shape[0] != y.shape[0],
            "s0 % 2 == 0": lambda x, y: x.shape[0] % 2 == 0,
        }
        for fact, asked in asks.items():
            made = self.export(lambda x, y: (x + 1 if asked(x, y) else x - 1, y + 1), X.clone(), X[:5].clone(), dynamic=two)
            self.assertIn(fact, made.text)
            self.assertIn("aten.add(%x", made.text)

    def test_a_range_that_the_program_does_not_keep(self):
        error = self.refused(lambda x: x + torch.ones(6, 4), X, dynamic={"x": {0: "rows"}})
        self.assertIn("`dynamic`", error.remedy)
        error = self.refused(lambda x: x + torch.ones(6, 4), X, dynamic={"x": {0: range(2, 65)}})
        self.assertIn("`dynamic`", error.remedy)

    def test_the_line_that_fixes_a_size(self):
        def f(x):
            return x + torch.hann_window(x.shape[0])[:, None]  # a number of steps

        example = X.clone()
        error = self.refused_here(f, example, dynamic={"x": {0: range(2, 65)}})
        self.assertIn("a number of steps", error.where.code)
        self.assertIn("`hann_window` asks for its number", error.what)
        self.assertIn("`dynamic`", error.remedy)
        made = self.export(lambda x: x + 1, example)
        self.assertNotIn("s0", made.text, "the example is as it was before the export that failed")

    def test_numbers_of_steps_are_open(self):
        def f(x):
            n = x.shape[0]
            return (torch.linspace(0, 1, n), torch.linspace(-1, 2.5, steps=n + 1, dtype=torch.float64), x.new_tensor([n, 2]),
                    torch.logspace(0, 1, n, base=2.0), torch.full((3,), n * 1.0), x.new_tensor(n))

        made = self.export(f, X.clone(), dynamic={"x": {0: range(2, 65)}})
        self.assertIn("aten.linspace(0, 1, s0)", made.text)
        for rows in (6, 2, 31):
            inputs, results = self.folder / "in.npz", self.folder / "out.npz"
            x = torch.rand(rows, 4)
            made.save_inputs(inputs, (x,))
            for on in ("interp", "eager"):
                done = command.run("run", made.path, "--on", on, "--inputs", inputs, "--save", results, "--show", "0")
                self.assertEqual(done.returncode, 0, done.stderr)
                with np.load(results) as got:
                    for i, value in enumerate(f(x)):
                        np.testing.assert_allclose(got[f"out{i}"], value.numpy(), rtol=1e-6)

    def test_slices_within_a_range_from_nothing(self):
        def f(x):
            n = x.shape[0]
            return x[: n // 2], x[n // 3 :].sum(1), x[: n // 2].relu().view(-1, 1)

        made = self.export(f, X.clone(), dynamic={"x": {0: range(0, 40)}})
        self.assertIn("s0 in 0..39", made.text)
        self.assertIn("end=s0//2", made.text)
        checked = command.run("check", made.path)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_length_of_a_slice_at_all_sizes(self):
        def f(x):
            head, tail, odd = x[:3], x[-4:], x[1::2]
            return head.sum(0) / head.shape[0], tail * tail.shape[0], odd + odd.shape[0], head[:2] + head[:2].shape[0]

        made = self.export(f, X.clone(), dynamic={"x": {0: range(0, 40)}})
        self.gives_at(made, f, 1, 2, 3, 4, 7, 39)

    def test_what_goes_down_and_up_is_cropped_to_the_size_it_had(self):
        weight = torch.arange(9.0).reshape(1, 1, 3, 3)

        def f(x):
            y = F.conv_transpose2d(F.conv2d(x, weight, stride=2, padding=1), weight, stride=2, padding=1, output_padding=1)
            return y[..., : x.shape[2], : x.shape[3]] - x

        made = self.export(f, torch.ones(2, 1, 8, 8), dynamic={"x": {0: range(1, 9), 2: range(2, 33), 3: range(2, 33)}})
        self.agrees(made, f, torch.ones(2, 1, 8, 8))
        check = command.run("check", made.path, "--seeds", "2", "--bind", "s0=3,s1=5,s2=7")
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_sizes_of_one_that_make_no_difference(self):
        def shifted(x):
            x[1:] = x[:-1].clone()
            return x.sum(0) + x[:, None].sum((0, 1))

        for f in (shifted, lambda x: (x + x[:1], x[1:].sin())):
            made = self.export(f, X.clone(), dynamic={"x": {0: range(2, 65)}})
            self.assertIn("where s0 in 2..64", made.text)
            self.assertNotIn("!=", made.text.partition(" assuming ")[0])
            self.agrees(made, f, X.clone())
            check = command.run("check", made.path, "--seeds", "2", "--bind", "s0=2")
            self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_a_size_of_one_of_which_only_the_inside_of_an_op_asks(self):
        layer = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
        f = lambda x: (x @ x.mT, layer(x), torch.nn.functional.linear(x.transpose(0, 1), x[0, :1]), x.mT.contiguous())
        with warnings.catch_warnings():
            warnings.simplefilter("error", lenz.DynamicWarning)
            made = self.export(f, torch.rand(3, 5, 4), dynamic={"x": {0: range(1, 9), 1: range(1, 65)}})
        self.assertNotIn("!=", made.text.partition(" assuming ")[0])
        self.gives(made, f, *(torch.rand(n, m, 4) for n, m in ((1, 1), (1, 7), (5, 1), (3, 11))))

    def test_a_size_that_another_condition_excludes_too(self):
        f = lambda x: (x[::2] * x[1::2],)
        with self.assertWarns(lenz.DynamicWarning) as told:
            made = self.export(f, X.clone(), dynamic={"x": {0: range(2, 65)}})
        self.assertIn("the text is not for 3, 5, 7", str(told.warning))
        self.gives_at(made, f, 2, 4, 34)

    def test_a_size_of_one_of_which_the_program_asks_too(self):
        for f in (lambda x: x @ x.mT if x.shape[1] != 1 else x, lambda x: x.squeeze(0).sum(-1),
                  lambda x: (lambda y: y.permute(*range(y.dim() - 1, -1, -1)))(x.squeeze(1))):
            with self.assertWarns(lenz.DynamicWarning) as told:
                made = self.export(f, torch.rand(3, 5, 4), dynamic={"x": {0: range(1, 9), 1: range(1, 65)}})
            self.assertIn("the text is not for 1", str(told.warning))
            self.gives(made, f, torch.rand(2, 7, 4))

    def test_pools_leave_sizes_open(self):
        def f(x):
            rows = x[None, None]
            pooled, at = torch.nn.functional.max_pool2d(rows, 2, return_indices=True)
            return pooled, at, torch.nn.functional.avg_pool2d(rows, 3, 2, ceil_mode=True, padding=1), \
                torch.nn.functional.max_pool1d(x.T, 3)

        made = self.export(f, X.clone(), dynamic={"x": {0: range(6, 40)}})
        self.assertIn("s0 in 6..39", made.text)
        self.gives_at(made, f, 6, 7, 8, 39)

    def test_of_conditions_of_which_one_has_to_hold_the_one_that_the_example_meets(self):
        f = lambda x, k: torch.nn.functional.conv2d(x, k, padding=1).relu()
        every = [torch.export.Dim.AUTO] * 4
        made = self.export(f, torch.rand(2, 3, 16, 15), torch.rand(4, 3, 3, 3), dynamic=(every, every))
        self.assertIn("0 < s3 - s6 + 3", made.text)
        inputs, results = self.folder / "in.npz", self.folder / "out.npz"
        for image, kernel in (((3, 2, 9, 8), (5, 2, 2, 4)), ((2, 3, 16, 15), (4, 3, 3, 3))):
            x, k = torch.rand(image), torch.rand(kernel)
            made.save_inputs(inputs, (x, k))
            done = command.run("run", made.path, "--inputs", inputs, "--save", results, "--show", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            with np.load(results) as got:
                np.testing.assert_allclose(got["out0"], f(x, k).numpy(), rtol=1e-4, atol=1e-5)

    def gives_at(self, made, f, *sizes):
        self.gives(made, f, *(torch.rand(n, 4) for n in sizes), rtol=1e-6)

    def gives(self, made, f, *arguments, rtol=1e-5):
        inputs, results = self.folder / "in.npz", self.folder / "out.npz"
        for x in arguments:
            made.save_inputs(inputs, (x.clone(),))
            for on in ("eager", "interp"):
                done = command.run("run", made.path, "--on", on, "--inputs", inputs, "--save", results, "--show", "0")
                self.assertEqual(done.returncode, 0, f"{x.shape}: {done.stderr}")
                with np.load(results) as got:
                    for i, value in enumerate(torch.utils._pytree.tree_leaves(f(x))):
                        value = value.detach().numpy()
                        np.testing.assert_allclose(got[f"out{i}"], value, rtol=rtol, atol=1e-6, err_msg=f"{x.shape}")

    def test_a_size_by_which_the_program_can_not_divide(self):
        root = lambda x, n: x ** (1 / n)
        error = self.refused_here(root, X.clone(), 2, dynamic=(None, torch.export.Dim.DYNAMIC))
        self.assertIn("has no place in a graph", error.what)
        error = self.refused_here(root, X.clone(), 2, dynamic=(None, range(0, 50)))
        self.assertIn("it holds for 2 alone", error.what)
        halves = lambda x: x.view(x.shape[0] // 2, 2, -1).sum(1)
        with self.assertWarns(lenz.DynamicWarning) as told:
            self.export(halves, X.clone(), dynamic={"x": {0: range(0, 30)}})
        self.assertIn("the text is not for 0, 1", str(told.warning))

    def test_sizes_of_nothing(self):
        for dynamic, what in (({"x": {7: "rows"}}, "dim 7 of `x`, which has 2 dims"), (5, "`dynamic` is 5"),
                              ({"other": {0: "rows"}}, "`other`, which is no argument; those are x"),
                              (({0: "rows"}, None), "2 entries for 1 arguments")):
            error = self.refused_here(lambda x: x + 1, X.clone(), dynamic=dynamic)
            self.assertIn(what, error.what)
            self.assertIn("`dynamic`", error.remedy)

    def test_dims_of_arguments_by_name_and_in_a_row(self):
        named, row = lambda x, y=None: x + y, lambda *xs: xs[0] + xs[1]
        made = lenz.export(named, (X.clone(),), self.path, kwargs={"y": X.clone()}, dynamic={"x": {0: "n"}, "y": {0: "n"}})
        self.assertIn("%y: f32[s0, 4]", made.text)
        self.assertIn("s0", self.export(row, X.clone(), X.clone(), dynamic=(({0: "n"}, {0: "n"}),)).text)

    def test_an_entry_for_each_of_a_number_of_arguments(self):
        def of_all(*xs):
            return xs[0] + xs[1]

        def behind_one(a, *xs):
            return a * xs[0]

        row = {0: "rows"}
        for f, given, dynamic in (
            (of_all, (X, X + 1), (row, row)),
            (of_all, (X, X + 1), [(("rows"), None), row]),
            (of_all, (X, X + 1), ((row, row),)),
            (behind_one, (X, X + 1), (row, row)),
            (behind_one, (X, X + 1), (row, (row,))),
        ):
            made = self.export(f, *given, dynamic=dynamic)
            self.assertEqual(made.text.count(": f32[s0, 4]"), 2, made.text)
            self.agrees(made, f, *given)

    def test_an_entry_for_a_part_that_is_not_there(self):
        error = self.refused(lambda *xs: xs[0] + xs[1], X, X, dynamic=({0: "rows", 2: "others"},))
        self.assertIn("names 2 of `xs`", str(error))

    def test_calls_without_a_row_that_take_sizes(self):
        def f(x):
            return torch.fft.irfft2(torch.fft.rfft2(x) * 2, s=x.shape[-2:])

        made = self.export(f, X, dynamic=({0: range(2, 65), 1: range(2, 65)},))
        self.assertIn("%x: f32[s0, s1]", made.text)
        self.agrees(made, f, X)

    def test_lines_that_fix_a_size(self):
        def compares(x):
            if x.shape[0] == 6:  # a fixing line
                return x + 1
            return x

        def takes_the_number(x):
            y = x + 1
            return y * math.log(y.shape[0])  # a fixing line

        def views(x):
            return x.view(6, -1) + 1  # a fixing line

        for program in (compares, takes_the_number, views):
            error = self.refused_here(program, X.clone(), dynamic={"x": {0: range(2, 65)}})
            self.assertIn("fixes dim 0 of `x` to 6", error.what)
            self.assertIn("a fixing line", error.where.code)
            self.assertIn("leave the size out of `dynamic`", error.remedy)
            self.assertEqual("math.log) asks for its number" in error.what, program is takes_the_number, error.what)

    def test_sizes_zero_and_one_that_are_asked_for(self):
        def f(x):
            n = x.shape[0]
            return torch.tril(torch.ones(n, n)) @ x, x.mean(0), F.softmax(x.t(), 1)

        for sizes, first in ((range(0, 20), "0..19"), (range(1, 20), "1..19"), (torch.export.Dim("n", max=19), "0..19")):
            made = self.export(f, X.clone(), dynamic={"x": {0: sizes}})
            self.assertIn(f"s0 in {first}", made.text)
        for rows in (0, 1, 7):
            inputs = self.folder / "in.npz"
            made.save_inputs(inputs, (torch.rand(rows, 4),))
            for on in ("interp", "eager"):
                done = command.run("run", made.path, "--on", on, "--inputs", inputs, "--show", "0")
                self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("s0 in 0..19", self.export(lambda x: x + 1, X[:1].clone(), dynamic={"x": {0: range(0, 20)}}).text)

    def test_a_dim_that_says_no_low_end_does_not_insist_on_0(self):
        def f(x):
            return x + 1 if x.shape[0] > 1 else x - 1  # more than one

        error = self.refused_here(f, X.clone(), dynamic={"x": {0: torch.export.Dim("n", min=1, max=63)}})
        self.assertIn("captured for 2..63 of dim 0 of `x` alone; `dynamic` asks for 1..63", error.what)
        for sizes in (torch.export.Dim("n", max=63), torch.export.Dim("n", min=0, max=63)):
            with self.assertWarns(lenz.DynamicWarning) as told:
                made = self.export(f, X.clone(), dynamic={"x": {0: sizes}})
            self.assertIn("`dynamic` asks for 0..63; the text is not for 0, 1", str(told.warning))
            self.assertIn("more than one", str(told.warning))
            self.assertIn("s0 in 2..63", made.text)
        attention = torch.nn.MultiheadAttention(12, 3, batch_first=True).eval()
        sizes = {0: torch.export.Dim("b", max=64), 1: torch.export.Dim("t", max=63)}
        with self.assertWarns(lenz.DynamicWarning):
            made = self.export(lambda x: attention(x, x, x, need_weights=False)[0], torch.randn(3, 4, 12), dynamic=(sizes,))
        self.assertIn("s0 in 2..64, s1 in 2..63", made.text)

    def test_sizes_that_are_asked_for_and_left_out(self):
        def f(x):
            return x + 1 if x.shape[0] > 1 else x - 1  # more than one

        def g(x):
            return x + 1 if x.shape[0] % 3 == 0 else x - 1  # by threes

        def h(x):
            return x[: int(x.shape[0] * 0.5)]  # half of it

        error = self.refused_here(f, X.clone(), dynamic={"x": {0: range(0, 64)}})
        self.assertIn("captured for 2..63 of dim 0 of `x` alone; `dynamic` asks for 0..63", error.what)
        self.assertIn("more than one", error.where.code)
        self.assertIn("range(2, 64)", error.remedy)
        for sizes in (range(2, 64), range(0, 64)):
            error = self.refused_here(h, X.clone(), dynamic={"x": {0: sizes}})
            self.assertIn("only these sizes are left: 6, 7", error.what)
            self.assertIn("half of it", error.where.code)
        with self.assertWarnsRegex(lenz.DynamicWarning, r"(?s)asks for 2..63; the text is not for 2, 4, 5, 7.*by threes") as told:
            self.export(g, X.clone(), dynamic={"x": {0: range(2, 64)}})
        self.assert_here(told.filename)

    def test_the_greatest_size_that_a_program_takes(self):
        table = torch.randn(64)
        f = lambda x: x + table[max(0, table.shape[0] - x.shape[0]) :]  # as positions are looked up, from the last
        for sizes in (torch.export.Dim.AUTO, range(2, 1000)):
            error = self.refused_here(f, torch.randn(13), dynamic={"x": {0: sizes}})
            self.assertIn("up to 64;", error.what)
            self.assertIn("range(2, 65)", error.remedy)

    def test_ranges_with_steps_and_without_sizes(self):
        made = self.export(lambda x: x + 1, X.clone(), dynamic={"x": {0: range(4, 21, 2)}})
        self.assertIn("s0 in 4..20, s0 % 2 == 0", made.text)
        for sizes, what in ((range(5, 3), "no size"), (range(2, 20, 2), "from 4 on"), (range(-1, 9), "negative")):
            self.path.unlink(missing_ok=True)
            self.assertIn(what, self.refused(lambda x: x, X.clone(), dynamic={"x": {0: sizes}}).what)

    def test_a_size_that_torch_knows_nothing_of(self):
        f = lambda x, i: x[: i.item()]
        for place in (3, -2, 9, -9):
            self.agrees(self.export(f, X, torch.tensor(place)), f, X, torch.tensor(place))

    def test_counts_that_are_the_same(self):
        """torch remembers what it made of a mask, or asserts that two of them have as many places."""
        def experts(x, e, gate):
            out = torch.zeros_like(x)
            for i in range(2):
                mine = e == i
                out[mine] += x[mine].sin() * gate[mine].unsqueeze(-1)
            return out

        x, m = torch.randn(6, 3), torch.tensor([1, 0, 1, 0, 0, 1], dtype=torch.bool)
        e, gate = torch.tensor([0, 1, 1, 0, 2, 1]), torch.randn(6)
        self.agrees(self.export(experts, x, e, gate), experts, x, e, gate)
        for f in (
            lambda x, m: x[m] + x[m].sin(),
            lambda x, m: x[m.clone()] * x[m] - x[~~m],
            lambda x, m: m.nonzero() + m.nonzero(),
            lambda x, m: x[:, 0][m] * torch.masked_select(x[:, 1], m),
            lambda x, m: torch.cond(x.sum() > 0, lambda x, m: (x[m] + x[m].sin()).sum(), lambda x, m: x.sum(), (x, m)),
        ):
            made = self.export(f, x, m)
            self.assertRegex(made.text, r"where .*u\d+ == u\d+")
            self.agrees(made, f, x, m)

    def test_a_size_that_only_a_number_fixes(self):
        def f(x):
            y = x[None]
            return F.scaled_dot_product_attention(y, y, y, scale=x.shape[1] ** -0.5)  # torch reads the number

        error = self.refused_here(f, X.clone(), dynamic={"x": {1: range(2, 65)}})
        self.assertIn("only these sizes are left: 4", error.what)
        self.assertIn("scaled_dot", error.where.code)
        error = self.refused_here(lambda x: x * 2 ** x.shape[1], X.clone(), dynamic={"x": {1: range(2, 65)}})
        self.assertIn("tensors", error.remedy)


if __name__ == "__main__":
    run()
