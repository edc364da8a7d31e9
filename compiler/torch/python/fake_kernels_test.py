"""usage: compiler/torch/python/fake_kernels_test.py [LENZ]

Types that torch's fake kernels have otherwise than eager: sizes, strides and dtypes of what is exported are eager's."""

import json

import numpy as np
import torch
from export_case import ExportCase, X, run

from lenz import command


class FakeKernels(ExportCase):
    def test_what_a_mask_takes_of_what_is_broadcast(self):
        f = lambda x, m: (torch.masked_select(x, m), x.masked_select(m[:1, 0]))
        for many in (True, False):
            x, m = X[:, :1].clone(), torch.full((6, 9), many)
            self.agrees(self.export(f, x, m), f, x, m)

    def test_different_rows_of_any_dim(self):
        x = torch.arange(30.0).view(2, 5, 3) // 7
        for unique in (torch.unique, torch.unique_consecutive):
            for dim in (0, 1, -1):
                f = lambda x: unique(x, dim=dim).mT * 1
                self.agrees(self.export(f, x), f, x)
                layout = unique(x, dim=dim).stride()
                made = self.export(lambda x: unique(x, dim=dim), x)
                results, inputs = self.folder / "out.npz", self.folder / "in.npz"
                made.save_inputs(inputs)
                command.run("run", made.path, "--inputs", inputs, "--save", results, "--show", "0")
                with np.load(results) as got:
                    self.assertEqual(json.loads(bytes(got["lenz"]))["out0"]["strides"], list(layout))
            for dim in (0, -1):
                f = lambda x: unique(x, dim=dim)
                self.agrees(self.export(f, x.view(-1)), f, x.view(-1))

    def test_spectra_lie_as_they_do_in_eager(self):
        x = torch.arange(60.0).view(3, 4, 5)
        for call in (torch.fft.fft, torch.fft.rfft, lambda x, dim: torch.fft.ihfft(x.mT, dim=dim),
                     lambda x, dim: torch.fft.irfft(x + 1j * x, 6, dim), lambda x, dim: torch.fft.fft2(x, dim=(dim, dim - 1)),
                     lambda x, dim: torch.fft.rfft2(x.mT, dim=(dim, dim - 1))):
            for dim in range(3):
                made = self.export(lambda x: call(x, dim=dim), x)
                wanted = call(x, dim=dim)
                strides = "" if wanted.is_contiguous() else f" strides {list(wanted.stride())}"
                self.assertIn(f"{list(wanted.shape)}{strides} = aten._fft", made.text)


if __name__ == "__main__":
    run()
