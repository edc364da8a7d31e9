"""usage: compiler/torch/python/refusals_test.py [LENZ]

What can't be exported: the message says what, where in the user's source, and what to do."""

import dataclasses
import contextlib
import io

import torch
from export_case import ExportCase, X, run
from torch import nn

import lenz


class Refusals(ExportCase):
    def test_a_branch_on_data(self):
        def f(x):
            if x.sum() > 0:  # this line
                return x
            return -x

        error = self.refused_here(f, X)
        self.assertIn("this line", error.where.code)
        self.assertIn("torch.cond", error.remedy)

    def test_a_branch_on_data_in_a_symbolic_trace(self):
        class Branch(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x  # this line

        error = self.refused_here(Branch(), X, via="fx")
        self.assertIn("this line", error.where.code)

    def test_keywords_in_a_symbolic_trace(self):
        def f(x=None, *, y):  # this line
            return y

        error = self.refused_here(f, via="fx", kwargs={"y": X})
        self.assertIn("keyword", error.what)

    def test_an_error_of_an_op_in_a_symbolic_trace(self):
        def f(x):
            y = x + 1
            return y @ y  # this line

        self.assertIn("this line", self.refused_here(f, X, via="fx").where.code)

    def test_records_that_torch_does_not_know(self):
        @dataclasses.dataclass
        class Pair:
            first: object

        error = self.refused_here(lambda x: Pair(x + 1), X)
        self.assertIn("register_dataclass", error.remedy)

    def test_control_flow_beyond_graphs(self):
        from torch.nn.attention.flex_attention import flex_attention

        def f(x):
            return flex_attention(x, x, x)  # scores by a function

        error = self.refused_here(f, torch.ones(1, 1, 16, 16))
        self.assertIn("flex_attention", error.what)
        self.assertIn("scores by a function", error.where.code)
        self.assertIn("scan", error.remedy)

        def g(x):
            return torch.cond(x.sum() > 0, lambda x: x, lambda x: x[:2], (x,))  # two shapes

        error = self.refused(g, X)
        self.assertIn("cond", str(error))

        def h(x):
            while x.sum() > 0:  # a loop by data
                x = x - 1
            return x

        error = self.refused_here(h, X)
        self.assertIn("a loop by data", error.where.code)

    def test_why_control_flow_is_no_graph(self):
        outside = []

        def leaves(x):
            outside.append(x)
            return x + 1

        causes = {"aliasing": (lambda x: x, "clone()"), "input mutation": (lambda x: x.add_(1), "copy_"),
                  "side effect": (leaves, "outside"), "same dtype but got torch.float64": (lambda x: x.double(), "x.to("),
                  "sorted order of strides": (lambda x: x.mT.contiguous().mT * 2, "contiguous()")}
        for cause, (branch, remedy) in causes.items():
            error = self.refused(lambda x: torch.cond(x.sum() > 0, branch, lambda x: x - 1, (x,)), X.clone())
            self.assertIn(cause, error.what)
            self.assertIn(remedy, error.remedy)

    def test_what_torch_has_no_symbol_for(self):
        error = self.refused(lambda x: torch.linalg.lstsq(x, x[:, :1]).solution, X.clone())
        self.assertIn("aten.linalg_lstsq", error.what)
        self.assertIn("outside", error.remedy)

    def test_torch_is_silent_about_what_the_error_says(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            self.refused(lambda x: x if x.sum() > 0 else -x, X.clone())
        self.assertEqual(said.getvalue(), "")

    def test_seeds_within_a_program(self):
        def sets(x):
            torch.manual_seed(0)  # a seed
            return torch.rand(3)

        def forks(x):
            with torch.random.fork_rng(devices=()):  # a seed
                return torch.rand(3) + x.sum()

        for program in (sets, forks, lambda x: x + torch.initial_seed()):  # a seed
            error = self.refused_here(program, X.clone())
            self.assertIn("seed", error.what)
            self.assertIn("a seed", error.where.code)
            self.assertIn("--seed", error.remedy)
        self.assertIn("seed", self.refused_here(sets, X.clone(), via="fx").what)
        own = lambda x: torch.rand(3, generator=torch.Generator()) + x.sum()
        self.assertIn("generator", self.refused_here(own, X.clone()).what)

    def test_other_memory_for_a_tensor(self):
        def resizes(x):
            return x.resize_(3, 3) + 1  # of its own

        def sets(x):
            return x.clone().set_(x) + 1  # of its own

        for program in (resizes, sets):
            error = self.refused_here(program, X.clone())
            self.assertIn("other memory", error.what)
            self.assertIn("of its own", error.where.code)

    def test_a_folder_that_is_not_there(self):
        with self.assertRaisesRegex(lenz.ExportError, "no folder"):
            lenz.export(lambda x: x, (X,), self.folder / "not" / "there.lenz")
        with self.assertRaisesRegex(lenz.ExportError, "can't be written"):
            lenz.export(lambda x: x, (X,), self.folder / ("long" * 80 + ".lenz"))

    def test_the_users_own_error(self):
        def f(x):
            return x @ x  # wrong shapes

        error = self.refused_here(f, X)
        self.assertIn("wrong shapes", error.where.code)

    def test_arguments_that_it_does_not_take(self):
        for args in ((), (X, X)):
            error = self.refused_here(lambda x: x + 1, *args)
            self.assertIn("other arguments", error.what)
        self.assertIn("no program", self.refused(5, X).what)

    def test_results_that_no_graph_has(self):
        error = self.refused_here(lambda x: (x + i for i in range(3)), X)
        self.assertIn("generator", error.what)
        self.assertIn("lists", error.remedy)

    def test_derivatives_go_through_the_other_door(self):
        f = lambda x: torch.func.grad(lambda z: (z**2).sum())(x)
        g = lambda x: torch.func.jvp(torch.sin, (x,), (x,))[1]  # a derivative
        for program in (f, g):
            error = self.refused_here(program, X)
            self.assertIn("torch.func", error.what)
            self.assertIn("torch.func", error.where.code)
            self.assertIn("export_fx", error.remedy)
        traced = torch.fx.experimental.proxy_tensor.make_fx(f, tracing_mode="fake")(X)
        self.agrees(lenz.export_fx(traced, (X,), self.path), f, X)

    def test_data_that_is_set(self):
        def sets(x):
            y = x.clone()
            y.data = x * 2  # behind the graph
            return y

        def reads(x):
            y = x.clone()
            y.data.mul_(2)  # behind the graph
            return y

        for program in (sets, reads):
            error = self.refused_here(program, X.clone())
            self.assertIn("`.data`", error.what)
            self.assertIn("behind the graph", error.where.code)
            self.assertIn("copy_", error.remedy)
        self.export(lambda x: x + x.data.dim(), X.clone())

    def test_an_argument_that_out_resizes(self):
        def f(x, o):
            torch.sin(x, out=o)  # of other sizes
            return o

        error = self.refused_here(f, X.clone(), torch.empty(3))
        self.assertIn("another size", error.what)
        self.assertIn("of other sizes", error.where.code)
        self.assertIn("return the result", error.remedy)

    def test_a_form_that_a_row_does_not_know(self):
        def f(x):
            return torch.arange(0, x.shape[0], 0.5)  # real steps

        error = self.refused_here(f, X.clone(), dynamic={"x": {0: range(2, 65)}})
        self.assertIn("real steps", error.where.code)
        self.assertIn("multiply an arange of integers by the step", error.what)

    def test_wrong_inputs(self):
        self.assertIn("tuple", str(self.refused_args([X])))
        self.assertIn("object", str(self.refused(lambda x: x, object())))
        self.assertIn("to_dense", self.refused(lambda x: x + x, X.to_sparse()).remedy)
        self.assertIn("uint16", str(self.refused(lambda x: x.clone(), torch.zeros(3, dtype=torch.uint16))))

    def refused_args(self, args):
        with self.assertRaises(lenz.ExportError) as caught:
            lenz.export(lambda x: x, args, self.path)
        return caught.exception

    def test_a_huge_constant(self):
        table = torch.ones(1000)
        error = self.refused_here(lambda x: x[0, 0] + table, X, constant_limit=1000)
        self.assertIn("4,000 bytes", error.what)
        self.assertIn("buffer", error.remedy)

    def test_tensors_that_are_not_dense(self):
        def holding(tensor):
            module = nn.Module()
            module.register_buffer("held", tensor)
            module.forward = lambda x: x + 1
            return module

        quantised = torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)
        for tensor, what in ((quantised, "quantised"), (torch.eye(4).to_sparse(), "sparse"),
                             (torch.ones(4, device="meta"), "meta device")):
            error = self.refused(holding(tensor), X)
            self.assertIn("the buffer `held`", error.what)
            self.assertIn(what, error.what)
        self.assertIn("nested", self.refused(lambda x: x * 2, torch.nested.nested_tensor([torch.ones(2), X[0]])).what)
        inside = self.refused_here(lambda x: torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize(), X)
        self.assertIn("dense", inside.remedy)

    def test_an_op_that_torch_takes_apart_at_fixed_sizes_alone(self):
        f = lambda x: torch.istft(torch.stft(x, 4, return_complex=True), 4)
        error = self.refused_here(lambda x: f(x), torch.randn(3, 16), dynamic=({0: range(2, 9)},))
        self.assertIn("istft", error.what)
        self.assertIn("dynamic", error.remedy)

    def test_recurrent_layers_of_open_batches(self):
        for layer in (nn.GRUCell(6, 8), nn.LSTMCell(6, 8), nn.LSTM(6, 8, 2, bidirectional=True, proj_size=3), nn.GRU(6, 8)):
            cell = isinstance(layer, nn.RNNCellBase)
            x = torch.randn(*([3, 6] if cell else [4, 3, 6]))
            made = self.export(layer, x, dynamic=({0 if cell else 1: range(2, 9)},))
            # What PyTorch takes a layer apart to walks the rows of its gates otherwise: on some processors some elements
            # are another last place, in PyTorch's own program of it too.
            self.agrees(made, layer, x, off_by=0 if cell else 1e-6)
            self.path.unlink()

    def test_hidden_writes_without_a_row(self):
        statistics = torch.zeros(4), torch.ones(4)
        f = lambda x, m, v: torch.ops.aten.cudnn_batch_norm(x, torch.ones(4), None, m, v, True, 0.1, 1e-5)[0]
        self.assertIn("hides", str(self.refused(f, X, *statistics)))

    def test_bad_options(self):
        self.assertIn("via", str(self.refused(lambda x: x, X, via="jit")))
        self.assertIn("weights", str(self.refused(lambda x: x, X, weights="none")))
        with self.assertRaisesRegex(lenz.ExportError, ".lenz"):
            lenz.export(lambda x: x, (X,), self.folder / "g.txt")


if __name__ == "__main__":
    run()
