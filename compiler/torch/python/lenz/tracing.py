"""What is changed in PyTorch and Python while a program is captured, and what is noted meanwhile for those errors of
torch's that do not say where they come from."""

import contextlib
import dataclasses
import functools
import logging
import math
import os
import sys
import traceback
import unittest.mock

import torch
import torch._functorch.eager_transforms
import torch._prims_common.wrappers
import torch.export._trace
import torch.fx.experimental.proxy_tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from .errors import ExportError, is_users, may_be_told, source_of_here
from .fake_kernels import mended_kernels
from .open_sizes import left_open


@dataclasses.dataclass
class Notes:
    """The user's lines that did something, in order."""

    asked: list = dataclasses.field(default_factory=list)  # (condition on sizes, line)
    within: set = dataclasses.field(default_factory=set)  # those that the inside of a call asks which the graph shows
    broke: bool = False  # whether such a call raised, for a reason that other conditions may be
    decided: list = dataclasses.field(default_factory=list)  # (condition on sizes, answer) of what else goes one way or another
    derived: list = dataclasses.field(default_factory=list)  # torch.func's derivatives
    looked_behind: list = dataclasses.field(default_factory=list)  # reads of `.data`
    resized: list = dataclasses.field(default_factory=list)  # tensors that an op with out= gave another size
    fixed: list = dataclasses.field(default_factory=list)  # (of which condition on, who asked for a number, line)
    raised: list = dataclasses.field(default_factory=list)  # errors of ops, and of decisions by what only a run knows

    def caught(self):
        """The errors that the user's program caught: there a traceback begins."""
        return [e for e in self.raised if e.__traceback__ and is_users(e.__traceback__.tb_frame.f_code.co_filename)]


@contextlib.contextmanager
def noted():
    """Notes that grow while the block traces."""
    notes = Notes()
    with contextlib.ExitStack() as changed:
        for change in (every_frame_of_the_users(), _roots_of_sizes(), _conditions(notes), decisions(notes.decided),
                       _calls(notes), _derivatives(notes), _data(notes), _resized(notes), _raised(notes), seeds_refused(),
                       left_open(notes), mended_kernels(), _layouts_unasked(), _silence()):
            changed.enter_context(change)
        yield notes


def _layouts_unasked():
    """Whether a result is contiguous torch notes beside it, for nobody, and each answer is a condition on sizes: that they
    are not 1, or that a slice is no shorter than the whole."""
    plain = functools.partial(torch.fx.experimental.proxy_tensor._extract_tensor_metadata, include_contiguity=False)
    return unittest.mock.patch.object(torch.fx.experimental.proxy_tensor, "_extract_tensor_metadata", plain)


@contextlib.contextmanager
def _silence():
    """torch logs what it fails at, with graphs and stacks; what the user has to know stands in the error."""
    if os.environ.get("TORCH_LOGS"):
        yield
        return
    loggers = [logging.getLogger(name) for name in [None, *logging.root.manager.loggerDict]]
    handlers = {h for logger in loggers for h in logger.handlers}
    only_ours = lambda record: not record.name.startswith("torch")
    for handler in handlers:
        handler.addFilter(only_ours)
    try:
        with unittest.mock.patch.object(torch.export._trace, "print", lambda *_, **__: None, create=True):
            yield
    finally:
        for handler in handlers:
            handler.removeFilter(only_ours)


class _Generator:
    """torch's own random generator while a program is captured, which must not set its state."""

    _PASSED = ("/torch/random.py", "/contextlib.py", "/torch/_compile.py", "/torch/_dynamo/eval_frame.py", __file__)

    def __init__(self, generator):
        self._generator = generator

    def __getattr__(self, name):
        frame = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.endswith(self._PASSED):
            frame = frame.f_back
        if frame is not None and is_users(frame.f_code.co_filename) and name != "get_state":
            raise ExportError("the program sets or asks the seed of random numbers, which no graph does", source_of_here(),
                              "call torch.manual_seed outside of the program, and give `lenz run` a --seed")
        return getattr(self._generator, name)


def seeds_refused():
    return unittest.mock.patch.object(torch.random, "default_generator", _Generator(torch.random.default_generator))


def every_frame_of_the_users():
    """Traced nodes tell all of the user's frames; torch keeps those of functions called `forward` only."""

    def kept(_tracer, frames):
        return traceback.StackSummary.from_list([f for f in frames if may_be_told(f.filename)])

    return unittest.mock.patch.object(torch.fx.proxy.TracerBase, "_filter_traceback_frames", kept)


def _roots_of_sizes():
    """math.sqrt takes sizes that are symbols; else it would fix them. torch exports no other such function."""
    plain = math.sqrt

    @functools.wraps(plain)
    def sqrt(x):
        return torch._sym_sqrt(x) if isinstance(x, (torch.SymInt, torch.SymFloat)) else plain(x)

    return unittest.mock.patch.object(math, "sqrt", sqrt)


def _conditions(notes):
    log = ShapeEnv._log_guard

    def logged(shape_env, prefix, guard, *rest, **options):
        notes.asked.append((guard, source_of_here()))
        if _is_within_a_call():
            notes.within.add(guard)
        return log(shape_env, prefix, guard, *rest, **options)

    return unittest.mock.patch.object(ShapeEnv, "_log_guard", logged)


def _calls(notes):
    """What a call that raises asks within, the program knows of, if it catches that."""

    def made(*args, **kwargs):
        try:
            return plain(*args, **kwargs)
        except Exception:
            notes.broke = True
            raise

    plain = torch.fx.experimental.proxy_tensor.proxy_call
    return unittest.mock.patch.object(torch.fx.experimental.proxy_tensor, "proxy_call", functools.wraps(plain)(made))


def _is_within_a_call():
    """Whether a call is being made that the graph shows."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code is _CALL and "proxy_out" in frame.f_locals:
            return True
        frame = frame.f_back
    return False


_CALL = torch.fx.experimental.proxy_tensor.proxy_call.__code__


def decisions(decided):
    """A context that notes what is decided by sizes outside of the calls that a graph shows."""
    plain = ShapeEnv.evaluate_sym_node

    @functools.wraps(plain)
    def evaluated(shape_env, node, *args, **kwargs):
        answer = plain(shape_env, node, *args, **kwargs)
        if answer in (True, False) and not _is_within_a_call():
            decided.append((node.expr, bool(answer)))
        return answer

    return unittest.mock.patch.object(ShapeEnv, "evaluate_sym_node", evaluated)


def _derivatives(notes):
    transforms = torch._functorch.eager_transforms

    def noting(enter):
        @functools.wraps(enter)
        def entered():
            notes.derived.append(source_of_here())
            return enter()

        return entered

    return unittest.mock.patch.multiple(transforms, **{
        name: noting(getattr(transforms, name)) for name in ("grad_increment_nesting", "jvp_increment_nesting")})


def _data(notes):
    """`.data` of a tensor is another tensor, of which the capture knows nothing: to set it is to do something unseen."""
    plain = torch.Tensor.data

    def read(tensor):
        if is_users(sys._getframe(1).f_code.co_filename):
            notes.looked_behind.append(source_of_here())
        return plain.__get__(tensor)

    def write(tensor, value):
        if is_users(sys._getframe(1).f_code.co_filename):
            raise ExportError("`.data` is set, which no graph shows", source_of_here(),
                              "write the elements (x.copy_(y) under torch.no_grad()), or go on with the new tensor")
        plain.__set__(tensor, value)

    return unittest.mock.patch.object(torch.Tensor, "data", property(read, write))


def _resized(notes):
    wrappers = torch._prims_common.wrappers
    check = wrappers._resize_output_check

    def checked(out, shape):
        if tuple(out.shape) != tuple(shape):
            notes.resized.append(source_of_here())
        return check(out, shape)

    return unittest.mock.patch.object(wrappers, "_resize_output_check", checked)


@contextlib.contextmanager
def _raised(notes):
    run, undecided = FakeTensorMode.__torch_dispatch__, ShapeEnv._make_data_dependent_error

    @functools.wraps(run)
    def runs(*args, **kwargs):
        try:
            return run(*args, **kwargs)
        except Exception as e:
            notes.raised.append(e)
            raise

    @functools.wraps(undecided)
    def noting(*args, **kwargs):
        notes.raised.append(undecided(*args, **kwargs))
        return notes.raised[-1]

    with (unittest.mock.patch.object(FakeTensorMode, "__torch_dispatch__", runs),
          unittest.mock.patch.object(ShapeEnv, "_make_data_dependent_error", noting)):
        yield
