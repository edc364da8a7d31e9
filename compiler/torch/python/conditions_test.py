"""What programs assert of numbers that only a run knows: kept, each, and asked of every run."""

import unittest

import numpy as np

from export_case import ExportCase, run, torch
from lenz import command


class Conditions(ExportCase):
    def asks(self, model, takes, refuses, x=torch.ones(8)):
        """The text goes on where the program does, and raises where it does."""
        made = self.export(model, x, torch.tensor(takes))
        for given, raises in ((takes, False), (refuses, True)):
            values = self.folder / "asked.npz"
            np.savez(values, x=x.numpy(), i=np.array(given))
            if raises:
                with self.assertRaises(RuntimeError):
                    model(x, torch.tensor(given))
            for on in ("eager", "interp"):
                done = command.run("run", made.path, "--on", on, "--inputs", values, "--show", "0")
                self.assertEqual(done.returncode, 2 if raises else 0, f"{on} of {given}: {done.stderr}\n{made.text}")
        return made

    def test_a_number_that_is_not_negative(self):
        def f(x, i):
            n = i.item()
            torch._check(n >= 0)
            return x[:n]

        self.assertIn("u0 in 0..", self.asks(f, 2, -2).text)

    def test_a_number_that_equals_another(self):
        """torch goes on with the other one, by which the assertion holds always."""

        def f(x, i):
            n = i.item()
            torch._check(n == 3)
            return x * n, x[:n]

        self.asks(f, 3, 4)

        def f(x, i):
            n = i.item()
            torch._check(n + 1 == x.shape[0])
            return x * n

        self.asks(f, 7, 6)

    def test_a_number_of_results_that_equals_another(self):
        def f(x, i):
            found = (i > 0).nonzero()
            torch._check(found.shape[0] == 3)
            return x[:3] * found[:, 0]

        self.asks(f, [1, 0, 1, 1], [1, 0, 0, 1])

    def test_conditions_joined(self):
        def f(x, i):
            n = i.item()
            torch._check(n != 3)
            torch._check((n > 1) | (n < -5))
            torch._check(torch.sym_not((n == 4) & (n >= 0)))
            return x * n

        for refused in (3, 1, -5, 4):
            self.asks(f, 2, refused)

    def test_conditions_of_tensors(self):
        def f(x, i):
            torch._assert_async((i > 0).all(), "all of them")
            return x + 1

        self.assertIn('"all of them"', self.asks(f, [1, 2], [1, 0]).text)

        def f(x, i):
            torch._assert_async(i.sum())
            return x + 1

        self.asks(f, [1, 2], [1, -1])

        def f(x, i):
            torch._check_tensor_all(i > 0)
            return x + 1

        self.asks(f, [1, 2], [1, 0])

    def test_in_a_branch(self):
        def f(x, i):
            def twice(a):
                n = i.sum().item()
                torch._check(n >= 2)
                return a * n

            return torch.cond(x.sum() > 0, twice, lambda a: a * 1.0, (x,))

        self.asks(f, [1, 1], [1, 0])

    def test_views_of_asserted_sizes(self):
        def f(x, i):
            n = i.item()
            torch._check(n >= 0)
            torch._check(n <= 8)
            torch._check(n % 2 == 0)
            return x[:n].view(2, n // 2)

        self.asks(f, 4, 3)

    def test_conditions_that_are_results(self):
        def f(x, i):
            n = i.item()
            return n > 3, torch.sym_not(n == 2), x

        self.assertRegex(self.export(f, torch.ones(2), torch.tensor(5)).text, r"sym_gt\(u0, 3\)[^$]*sym_ne\(u0, 2\)")

    def test_conditions_of_more_than_numbers(self):
        def f(x, i):
            torch._check((i > 0).item() | (i.item() > 3))
            return x

        error = self.refused_here(f, torch.ones(2), torch.tensor(5))
        self.assertIn("logical", error.remedy)


if __name__ == "__main__":
    run()
