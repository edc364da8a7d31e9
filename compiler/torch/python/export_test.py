"""usage: compiler/torch/python/export_test.py [LENZ]

The package lenz: what programs become."""

import contextlib
import copy
import dataclasses
import itertools
import json
import math
import typing
import unittest.mock
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from export_case import ExportCase, X, run
from torch import nn

import lenz
from lenz import command


class Exports(ExportCase):
    def test_a_module_with_stored_weights(self):
        net = nn.Sequential(nn.Linear(4, 3), nn.GELU())
        made = self.export(net, X)
        self.assertIn('%"0.weight": f32[3, 4] requires_grad', made.text)
        self.assertIn("aten.linear", made.text)
        with np.load(self.folder / "g.npz") as stored:
            np.testing.assert_array_equal(stored["0.weight"], net[0].weight.detach().numpy())
        self.agrees(made, net, X)

    def test_what_can_not_be_written_whole_leaves_what_was_there(self):
        module = torch.nn.Linear(3, 4)
        made = self.export(module, torch.randn(2, 3))
        before = {file: file.read_bytes() for file in made.path.parent.iterdir()}

        def half(path, arrays):
            path.write_bytes(b"half of it")
            raise OSError(28, "No space left on device")

        with unittest.mock.patch("lenz.weights.write", half), self.assertRaisesRegex(lenz.ExportError, "No space left"):
            self.export(torch.nn.Linear(3, 5), torch.randn(2, 3))
        self.assertEqual(before, {file: file.read_bytes() for file in made.path.parent.iterdir()})

    def test_seeded_weights_need_no_file(self):
        made = self.export(nn.Sequential(nn.Linear(4, 3), nn.LayerNorm(3)), X, weights="seeded", sources=False)
        self.assertIn("init normal(", made.text)
        self.assertIn("init ones", made.text)
        self.assertEqual(made.files, [self.path])

    def test_sources_say_where_values_come_from(self):
        self.export(lambda x: torch.sin(x) * 2, X)
        sources = json.loads((self.folder / "g.sources.json").read_text())["g"]
        self.assertEqual(Path(sources["sin"]["file"]).name, Path(__file__).name)
        self.assertIn("torch.sin(x) * 2", sources["sin"]["code"])

    def test_mutation_of_inputs_and_buffers_stays(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("count", torch.zeros(4))

            def forward(self, x):
                x[0].mul_(2)
                self.count.add_(x.sum(0))
                return self.count + 1

        made = self.export(Counter(), X.clone())
        self.assertIn("%count: f32[4] mut", made.text)
        self.assertIn("%x: f32[6, 4] mut", made.text)
        self.assertIn("aten.mul_", made.text)

    def test_hidden_writes_of_batch_norm_show(self):
        made = self.export(nn.BatchNorm1d(4).train(), X)
        self.assertIn("%running_mean: f32[4] mut", made.text)
        self.assertIn("_native_batch_norm_legit", made.text)
        self.agrees(made, nn.BatchNorm1d(4).train(), X)

    def test_batch_norm_of_nothing_leaves_its_statistics(self):
        nothing = torch.ones(0, 4)
        made = self.export(nn.BatchNorm1d(4).train(), nothing)
        self.assertNotIn("%running_mean: f32[4] mut", made.text)
        self.agrees(made, nn.BatchNorm1d(4).train(), nothing)

    def test_hidden_writes_are_what_rows_say(self):
        for training in (True, False):
            norm = nn.InstanceNorm1d(4, track_running_stats=True).train(training)
            made = self.export(norm, torch.arange(40.0).reshape(2, 4, 5))
            self.assertEqual("%running_mean: f32[4] mut" in made.text, training)
            self.agrees(made, copy.deepcopy(norm), torch.arange(40.0).reshape(2, 4, 5))

    def test_a_functional_program_writes_back(self):
        net = nn.BatchNorm1d(4).train()
        program = torch.export.export(net, (X,)).run_decompositions({})
        made = lenz.export(program, (X,), self.path)
        self.assertEqual(made.text.count("aten.copy_"), 3, made.text)
        self.agrees(made, net, X)

    def test_control_flow(self):
        from torch._higher_order_ops import scan, while_loop

        def f(x):
            n, y = while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (torch.tensor(0), x))
            c, ys = scan(lambda c, z: (c + z, c * z + x[0]), torch.zeros(4), x)
            return n, y, c, ys, torch.cond(x.sum() > 0, lambda a: a.sin(), lambda a: a.cos(), (x,))

        made = self.export(f, X)
        for op in ("lenz.while_loop", "lenz.scan", "lenz.cond"):
            self.assertIn(op, made.text)
        self.agrees(made, f, X)

    def test_a_map_is_a_scan(self):
        from torch._higher_order_ops.map import map as mapped

        f = lambda x, y: mapped(lambda rows, k: (rows[0] * k, rows[1].sum()), (x, y), torch.ones(4) * 2)
        made = self.export(f, X, X + 1)
        self.assertIn("lenz.scan(@body_graph_0, [], [%x, %y]", made.text)
        self.agrees(made, f, X, X + 1)

    def test_sizes_that_only_a_run_knows(self):
        def f(x):
            n = (x > 0).sum().item()
            torch._check(n >= 1)
            torch._check(n <= 24)
            return torch.nonzero(x > 0), torch.zeros(n)

        made = self.export(f, X)
        self.assertRegex(made.text, r"i64\[u\d, 2\]")
        self.assertIn("lenz.assert", made.text)
        self.agrees(made, f, X)

    def test_a_number_from_a_tensor(self):
        f = lambda x: (x * x.sum().item(), torch.cond((x.sum() > 0).item(), lambda a: a + 1, lambda a: a - 1, (x,)))
        self.agrees(self.export(f, X), f, X)

    def test_numbers_made_of_sizes(self):
        def f(x):
            m, n = x.shape
            root = n**0.5
            return (x * n**-0.5, x / math.sqrt(n), x * (1 / n), x * (n / 2 + 1.5), x * (m / n), x - abs(root - 3),
                    x * -root, x * round(n / 3), x + x.shape[0], x * (root * m / 2.0))

        varying = {"x": {0: range(2, 65), 1: range(2, 65)}}
        made = self.export(f, X.clone(), dynamic=varying)
        self.assertIn("s1 in 2..64", made.text)
        self.agrees(made, f, X)
        checked = command.run("check", made.path)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        bounded = lambda x: x.clamp(max=1 / (x.shape[0] + x.shape[1]))
        self.agrees(self.export(bounded, X.clone(), dynamic=varying), bounded, X)
        made = self.export(lambda x: x if x.shape[1] ** 0.5 < 5 else -x, X.clone(), dynamic=varying)
        self.assertIn("s1 in 2..24", made.text, "what a condition on such a number leaves of a range")

    def test_numbers_made_of_numbers_from_tensors(self):
        f = lambda x: (x * (x.sum().item() * 2.0), x / (x.shape[0] + abs(x[0, 0].item())))
        self.agrees(self.export(f, X), f, X)

    def test_several_results_of_unknown_sizes(self):
        f = lambda x: torch.unique((x * 2).long(), return_counts=True)
        self.agrees(self.export(f, X), f, X)
        # torch's own shapes of them have the dtype of the values
        for unique in (torch.unique, torch.unique_consecutive):
            f = lambda x: unique(x.long())
            self.agrees(self.export(f, X), f, X)

            def f(x):
                values, places, counts = unique(x.round(), return_inverse=True, return_counts=True)
                return values[places], counts * 2

            self.agrees(self.export(f, X), f, X)

    def test_counts_of_narrow_integers_and_weights(self):
        def f(x, w):
            narrow = x.int()
            return torch.bincount(narrow) * 2, torch.bincount(narrow, w), torch.bincount(narrow[narrow > 1]), torch.bincount(x, w.half())

        args = torch.tensor([1, 3, 1]), torch.tensor([0.5, 1.0, 2.0])
        made = self.export(f, *args)
        self.agrees(made, f, *args)
        checked = command.run("check", made.path)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_slices_of_which_torch_has_no_size(self):
        def f(x, n):
            k = n.item()
            first, last = x[:k], x[k:]
            return first * 2, last.sum(), torch.cat([first, last]), x[x > 0][-2:], x[x > 0][: k // 2].view(-1, 1)

        made = self.export(f, X[:, 0].clone(), torch.tensor(2))
        self.agrees(made, f, X[:, 0].clone(), torch.tensor(2))
        checked = command.run("check", made.path)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_vmap(self):
        f = lambda x: torch.vmap(lambda row: row.sum() * row)(x)
        self.agrees(self.export(f, X), f, X)

    def test_an_argument_that_is_a_number(self):
        f = lambda x, n: x.repeat(n, 1)
        made = self.export(f, X, 3, dynamic=(None, torch.export.Dim.DYNAMIC))
        self.assertIn("%n: int s0", made.text)
        inputs, results = self.folder / "in.npz", self.folder / "out.npz"
        for n, given in ((3, None), (5, (X, 5))):  # of the example, and others
            made.save_inputs(inputs, given)
            done = command.run("run", made.path, "--inputs", inputs, "--save", results, "--show", "0")
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("so it is made", done.stdout)
            with np.load(results) as got:
                np.testing.assert_array_equal(got["out0"], f(X, n).numpy())
            judged = command.run("check", made.path, "--inputs", inputs, "--against", results)
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)

    def test_values_of_bfloat16(self):
        net = nn.Linear(4, 3).bfloat16()
        made = self.export(net, X.bfloat16())
        made.save_inputs(self.folder / "in.npz")
        inputs, results = self.folder / "in.npz", self.folder / "out.npz"
        done = command.run("run", made.path, "--on", "eager", "--inputs", inputs, "--save", results)
        self.assertEqual(done.returncode, 0, done.stderr)
        with np.load(self.folder / "out.npz") as got:
            expected = net(X.bfloat16()).detach().view(torch.int16).numpy()
            np.testing.assert_array_equal(got["out0"].view(np.int16), expected)

    def test_autocast_shows_its_casts(self):
        def f(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                y = x @ x.t()
                with torch.autocast("cpu", enabled=False):
                    z = x @ x.t()
            return y.float(), z

        made = self.export(f, X)
        self.assertEqual(made.text.count("bf16"), 2, made.text)
        self.agrees(made, f, X)

    def test_no_grad_cuts_the_gradient(self):
        net = nn.Linear(4, 4)

        def f(x):
            y = net(x)
            with torch.no_grad():
                z = y * 2
            return y, z

        class Cut(nn.Module):
            def __init__(self):
                super().__init__()
                self.net = net

            def forward(self, x):
                return f(x)

        made = self.export(Cut(), X)
        self.assertIn("aten.detach", made.text)
        self.agrees(made, f, X)

    def test_random_ops_and_attention_are_kept(self):
        def f(x):
            x = x.reshape(1, 2, 3, 4)
            y = F.scaled_dot_product_attention(x, x, x, is_causal=True)
            return F.dropout(y, 0.5) + torch.rand(3, 4)

        made = self.export(f, X)
        for op in ("aten.scaled_dot_product_attention", "aten.dropout", "aten.rand"):
            self.assertIn(op, made.text)
        self.agrees(made, f, X)

    def test_errors_that_the_program_catches(self):
        def by_columns(x):
            try:
                return x @ x
            except RuntimeError:
                return x * 2

        made = self.export(by_columns, X)
        self.assertNotIn("matmul", made.text)
        self.agrees(made, by_columns, X)
        made = self.export(by_columns, X, dynamic={"x": {0: range(2, 20)}})
        self.assertIn("s0 != 4", made.text)
        self.agrees(made, by_columns, X)
        self.assertIn("matmul", self.export(by_columns, X[:4]).text)

        def written(x):
            y = x.clone()
            with contextlib.suppress(RuntimeError):
                y.add_(torch.ones(5, 5))
            return y

        self.agrees(self.export(written, X), written, X)

    def test_errors_of_the_capture_that_the_program_catches(self):
        def undecided(x):
            try:
                return x + 1 if x.sum() > 0 else x - 1
            except RuntimeError:
                return x

        error = self.refused_here(undecided, X)
        self.assertIn("eager does not raise", error.what)
        self.assertIn("x.sum() > 0", error.where.code)

    def test_an_op_without_a_row_is_an_extern(self):
        with torch.library._scoped_library("lenztest", "FRAGMENT") as library:
            library.define("twice(Tensor x, *, float by=2.) -> Tensor")
            library.impl("twice", lambda x, by=2.0: x * by, "CompositeExplicitAutograd")
            made = self.export(lambda x: torch.ops.lenztest.twice(x, by=3.0) + 1, X)
        self.assertIn('extern "lenztest::twice(Tensor x, *, float by=2.) -> Tensor"', made.text)
        self.assertIn("%twice: f32[6, 4] = lenztest.twice(%x, by=3.0)", made.text)
        self.assertEqual(len(made.externs), 1)

    def test_shifts_by_operators(self):
        def f(x, y):
            x <<= 2
            y >>= x
            return x << 1, x >> y, y << y

        made = self.export(f, torch.arange(4), torch.arange(4) + 3)
        self.assertNotIn("extern", made.text)
        self.agrees(made, f, torch.arange(4), torch.arange(4) + 3)

    def test_views_in_place_are_views(self):
        def model(x, y):
            z = x.clone()
            same = z
            z.t_()
            wide = z.unsqueeze_(0).add_(1)
            wide.swapaxes_(1, 2).transpose_(1, 2)
            return same + 1, wide.squeeze_(0) @ y, z.as_strided_((2, 2), (1, 2))

        args = X, X.clone()
        made = self.export(model, *args)
        self.assertNotIn("extern", made.text)
        self.agrees(made, model, *args)

    def test_an_argument_keeps_its_look(self):
        error = self.refused_here(lambda x: x.add_(1).t_() + 1, X.clone())
        self.assertIn("another shape", error.what)
        error = self.refused_here(lambda x: x.unsqueeze_(0) * 1, X.clone())
        self.assertIn("more dims", error.what)
        self.export(lambda x: x.squeeze_() + 1, X)

    def test_shared_memory_of_arguments(self):
        storage = torch.zeros(10)

        def f(a, b):
            a.add_(1)
            return a + b

        made = self.export(f, storage[:4], storage[2:6])
        self.assertIn("%a: f32[4] alias a0 mut", made.text)
        self.assertIn("%b: f32[4] offset 2 alias a0", made.text)

    def test_numbers_beside_an_out_of_another_dtype(self):
        whole = (X * 5).int()
        for op, x, number, dtype in ((torch.add, X, 1, torch.float64), (torch.mul, X.half(), 2.1, torch.float32),
                                     (torch.div, whole, 3, torch.float64), (torch.add, whole, 0.1, torch.float64),
                                     (torch.sub, X[0, 0], 0.1, torch.float16), (torch.add, X, 1j, torch.complex128),
                                     (torch.add, X[0, 0].half(), 1.1, torch.float64),
                                     (torch.mul, X[0, 1].bfloat16(), 0.1, torch.float32)):
            f = lambda x: op(x, number, out=torch.empty(x.shape, dtype=dtype))
            self.agrees(self.export(f, x.clone()), f, x.clone())

    def test_reads_through_another_view_than_writes(self):
        self.assertIn("order of its loops", self.refused_here(lambda x: x.sub_(x[:, :1]), X.clone()).what)
        self.refused_here(lambda x: torch.add(x[:, :3], 1, out=x[:, 1:]), X.clone())

        def aside(x):
            x[:, 1:] -= x[:, :1]
            return x.sub_(x[:, :1].clone())

        self.agrees(self.export(aside, X.clone(), dynamic={"x": {0: range(2, 65), 1: range(3, 65)}}), aside, X.clone())

    def test_masks_among_indices(self):
        rows, columns = torch.tensor([True, False, True, False, True, False]), torch.tensor([True, True, False, True])

        def f(x, rows, columns):
            y = x.clone()
            y[rows, columns] = 0
            return x[rows, columns], x[rows, torch.tensor([0, 1, 3])], y

        self.agrees(self.export(f, X.clone(), rows, columns), f, X.clone(), rows, columns)

    def test_quantiles(self):
        f = lambda x: (x.quantile(0.3, 1), torch.nanquantile(x, torch.tensor([0.1, 0.5]), 0))
        self.agrees(self.export(f, X.clone()), f, X.clone())
        self.agrees(self.export(f, X.clone(), via="fx"), f, X.clone())
        made = self.export(lambda x: x.quantile(0.3, 1), X.clone(), dynamic={"x": {0: range(1, 9)}})
        self.assertIn("f32[s0, 4]", made.text)

    def test_the_whole_where_parts_ask_for_values(self):
        def f(x):
            return (torch.combinations(x[0]), torch.combinations(x[1], 3, with_replacement=True), torch.cov(x),
                    x.corrcoef(), torch.cdist(x, x[:2]))

        for via in ("export", "fx"):
            self.agrees(self.export(f, X.clone(), via=via), f, X.clone())
        made = self.export(lambda x: torch.cdist(x, x[:1]), X.clone(), dynamic={"x": {0: range(1, 60)}})
        self.assertIn("f32[s0, 4]", made.text)

    def test_ctc_loss(self):
        scores = torch.arange(60.0).reshape(10, 2, 3).sin().log_softmax(-1)
        targets, lengths, of_targets = torch.tensor([[1, 2, 1], [2, 1, 2]]), torch.tensor([10, 8]), torch.tensor([3, 2])
        for reduction in ("none", "mean"):
            f = lambda s, t, n, m: nn.functional.ctc_loss(s, t, n, m, reduction=reduction)
            self.agrees(self.export(f, scores, targets, lengths, of_targets), f, scores, targets, lengths, of_targets)
        f = lambda s, t: nn.functional.ctc_loss(s, t, (10, 8), (3, 2))
        self.agrees(self.export(f, scores, targets), f, scores, targets)

    def test_masks_of_bytes(self):
        f = lambda x, mask: x[mask]
        mask = torch.tensor([1, 0, 2, 0, 0, 1], dtype=torch.uint8)
        self.agrees(self.export(f, X.clone(), mask), f, X.clone(), mask)

    def test_bags_by_their_offsets(self):
        table, rows, starts = torch.arange(21.0).reshape(7, 3), torch.tensor([1, 2, 4, 5, 4, 3]), torch.tensor([0, 2, 6])
        for dtype, mode, last in itertools.product((torch.float32, torch.bfloat16), ("sum", "mean", "max"), (True, False)):
            f = lambda t, r, s: F.embedding_bag(r, t, s, mode=mode, include_last_offset=last).float()
            with self.subTest(dtype=dtype, mode=mode, last=last):
                self.agrees(self.export(f, table.to(dtype), rows, starts), f, table.to(dtype), rows, starts)

    def test_gradients_that_lie_densely_whatever_they_are_of(self):
        aten, x, one = torch.ops.aten, X.t(), torch.ones(())
        for f in (lambda g, x: aten.mse_loss_backward(g, x, x + 1, 1).view(-1),
                  lambda g, x: aten.smooth_l1_loss_backward(g, x, x + 1, 2, 1.0).view(-1),
                  lambda g, x: aten.huber_loss_backward(g, x, x + 1, 1, 0.5).view(-1),
                  lambda g, x: aten._log_softmax_backward_data(x, x * 2, 1, torch.float32).view(-1)):
            self.agrees(self.export(f, one, x), f, one, x)

    def test_a_call_whose_parts_ask_for_values(self):
        window = torch.hann_window(8)
        f = lambda x: torch.istft(torch.stft(x, 8, 2, window=window, return_complex=True), 8, 2, window=window)
        made = self.export(f, torch.linspace(-1, 1, 32))
        self.assertTrue(any("aten::istft(" in schema for schema in made.externs))
        self.agrees(made, f, torch.linspace(-1, 1, 32))
        x = torch.complex(torch.arange(45.0).view(9, 5), torch.ones(9, 5))
        f = lambda x: torch.istft(x, 16)  # asks about a window that it makes itself
        self.agrees(self.export(f, x), f, x, off_by=1e-6)

    def test_inputs_beside_the_constants_of_the_text(self):
        many = torch.arange(100.0)
        made = self.export(lambda x: x + many, torch.ones(100))
        made.save_inputs(self.path.with_suffix(".npz"))
        done = command.run("run", made.path, "--inputs", self.path.with_suffix(".npz"), "--show", "0")
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_inputs_by_their_place_among_the_arguments(self):
        def f(scale, x, flags=None, *, mask, by=2.0, y):
            return (x * scale).masked_fill(mask, by) + y["rows"][0]

        mask, y = X > 0, {"rows": [X + 1, None], "none": None}
        made = lenz.export(f, (3.0, X.clone()), self.path, kwargs={"mask": mask, "y": y})
        other = {"y": {"none": None, "rows": [X - 2, None]}, "mask": X < 0}
        inputs, results = self.folder / "in.npz", self.folder / "out.npz"
        made.save_inputs(inputs, (3.0, X + 5), other)
        done = command.run("run", made.path, "--on", "eager", "--inputs", inputs, "--save", results, "--show", "0")
        self.assertEqual(done.returncode, 0, done.stderr)
        with np.load(results) as got:
            np.testing.assert_array_equal(got["out0"], f(3.0, X + 5, **other).numpy())
        with self.assertRaises(lenz.ExportError) as caught:
            made.save_inputs(inputs, (3.0, X + 5), {"mask": mask})
        self.assertIn("is not among these arguments", caught.exception.what)

    def test_layouts(self):
        made = self.export(lambda x: x + 1, X.t())
        self.assertIn("%x: f32[4, 6] strides [1, 4]", made.text)
        self.agrees(made, lambda x: x + 1, X.t())

    # --- the other doors ---

    def test_symbolic_trace(self):
        net = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU()).train()
        made = self.export(net, X, via="fx")
        self.assertIn("%\"1.running_mean\": f32[3] mut", made.text)
        self.agrees(made, net, X)

    def test_writes_in_a_symbolic_trace(self):
        def f(x):
            row = x[1]
            row += x[0].clone()
            x[0, 1:3] = 7
            turned = x.T
            turned *= 2
            x[x > 9] = 0
            n = x.shape[0]
            n += 1
            return x, row, x * n

        self.agrees(self.export(f, X.clone(), via="fx"), f, X.clone())
        lines = (self.folder / "g.sources.json").read_text()
        self.assertIn("row += x[0].clone()", lines)

    def test_what_a_symbolic_trace_makes_is_new_in_every_call(self):
        def f(x):
            out = torch.empty(6, 4)
            torch.cumsum(x, 0, out=out)
            torch.clamp(out, min=0, out=out)
            return out, torch.zeros(4).add_(x[0]), torch.rand(3), torch.zeros(x.shape[0], 2), torch.arange(4) * x

        made = self.export(f, X, via="fx")
        self.assertEqual(made.text.count(": f32["), 1, made.text)  # no input but x
        self.agrees(made, f, X)

    def test_a_symbolic_trace_leaves_the_model_as_it_was(self):
        class Sum(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("sum", torch.zeros(4))
                self.register_buffer("last", torch.zeros(4))
                self.shift = [torch.ones(4)]

            def forward(self, x):
                self.sum += x.sum(0)
                self.sum.mul_(0.5)[1:3].add_(1)
                self.last = x[-1] + self.last
                return x + self.sum + self.shift[0]

        net = Sum()
        names = set(vars(net))
        made = self.export(net, X, via="fx")
        self.assertIsInstance(net.sum, torch.Tensor)
        self.assertEqual(set(vars(net)), names)
        self.assertEqual(made.text.count(" mut"), 2)
        self.agrees(made, net, X)

    def test_records_in_a_symbolic_trace(self):
        class Pair(typing.NamedTuple):
            first: object
            second: object

        @dataclasses.dataclass
        class Both:
            pair: Pair
            more: list

        torch.utils._pytree.register_dataclass(Both)
        f = lambda x: (Both(Pair(x + 1, [x]), [x * 2]), Pair(x.sin(), None))
        self.agrees(self.export(f, X, via="fx"), f, X)

    def test_any_fx_graph(self):
        graph = torch.fx.Graph()
        x = graph.placeholder("x")
        y = graph.call_function(torch.ops.aten.sin.default, (x,))
        graph.output((graph.call_function(torch.ops.aten.add.Tensor, (y, 1)), None))
        module = torch.fx.GraphModule(nn.Module(), graph)
        made = lenz.export_fx(module, (X,), self.path)
        self.assertIn("aten.add(%sin, 1)", made.text)
        self.assertIn("none", made.text)

    def test_a_step_of_training_traced_of_lists_and_dicts(self):
        net = nn.Sequential(nn.Linear(5, 4), nn.Tanh())

        def step(parameters, batch):
            parameters = [p.detach().requires_grad_(True) for p in parameters]
            made = torch.func.functional_call(net, dict(zip(dict(net.named_parameters()), parameters)), batch["x"])
            return torch.autograd.grad(((made - batch["y"]) ** 2).mean(), parameters)

        args = ([p.detach() for p in net.parameters()], {"x": torch.randn(3, 5), "y": torch.randn(3, 4)})
        traced = torch.fx.experimental.proxy_tensor.make_fx(step, tracing_mode="fake")(*args)
        made = lenz.export_fx(traced, args, self.path)
        self.agrees(made, step, *args)
        self.assertEqual(len(made.inputs), 4)
        with self.assertRaisesRegex(lenz.ExportError, "takes 4 arguments, and is given 3"):
            lenz.export_fx(traced, (args[0], {"x": args[1]["x"]}), self.path)

    def test_zeros_without_memory_and_calls_for_types_alone(self):
        f = torch.func.hessian(lambda x: x.prod())
        x = torch.arange(1.0, 5.0)
        traced = torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode="fake")(x)
        self.assertIn("prims.mul", traced.code)
        made = lenz.export_fx(traced, (x,), self.path)
        self.assertNotIn("extern", made.text)
        self.agrees(made, f, x)

    def test_numbers_where_no_overload_takes_them(self):
        def f(i, x, b):
            return 7 // i, 2.5 // i, 3.5 // x, -9 // b, torch.div(7, x, rounding_mode="trunc"), torch.mul(2, b), True // i

        args = torch.tensor([2, 3, -4]), torch.tensor([0.5, 2.0, -1.0]), torch.tensor(4, dtype=torch.int8)
        made = self.export(f, *args)
        self.agrees(made, f, *args)
        with np.load(self.folder / "out.npz") as got:
            for i, expected in enumerate(f(*args)):
                self.assertEqual(got[f"out{i}"].dtype, expected.numpy().dtype, i)

    def test_a_buffer_that_is_conjugated_lazily(self):
        net = nn.Module()
        net.register_buffer("turn", torch.polar(torch.ones(2), torch.randn(2)).conj())
        net.forward = lambda x: torch.view_as_real(torch.view_as_complex(x.reshape(-1, 2, 2)) * net.turn)
        x = torch.randn(3, 4)
        self.agrees(self.export(net, x), net, x)


if __name__ == "__main__":
    run()
