"""FX's symbolic trace, held to what the program does: writes by `+=` and by index are nodes, and so are tensors that it
makes on its way, which are new in every call."""

import contextlib
import functools
import operator
import unittest.mock

import torch
import torch.fx
from torch.fx.proxy import Proxy
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_leaves

from .tracing import every_frame_of_the_users

# Without them Python falls back to `x = x + y`, which leaves what x was a view of as it was.
_IN_PLACE = ("iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imod", "imul", "ior", "ipow", "irshift", "isub",
             "itruediv", "ixor")


def _written(target):
    def write(proxy, *args):
        return proxy.tracer.create_proxy("call_function", target, (proxy, *args), {})

    return write


class _Tracer(torch.fx.Tracer):
    record_stack_traces = True
    proxy_buffer_attributes = True  # else what is written to a buffer is written while it is traced


class _Making(TorchFunctionMode):
    """Functions that make tensors out of nothing become nodes; FX would keep what they made this once."""

    def __init__(self, tracer):
        super().__init__()
        self._tracer = tracer

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in _device_constructors() and not any(
                isinstance(leaf, torch.Tensor) for leaf in tree_leaves((args, kwargs))):
            return self._tracer.create_proxy("call_function", function, args, kwargs)
        return function(*args, **kwargs)


def _of_sizes(function, tracer):
    """Sizes that are nodes themselves no such function takes."""
    @functools.wraps(function)
    def made(*args, **kwargs):
        if any(isinstance(leaf, Proxy) for leaf in tree_leaves((args, kwargs))):
            return tracer.create_proxy("call_function", function, args, kwargs)
        return function(*args, **kwargs)

    return made


class _Kept:
    """The attributes of a model as they were: while it is traced, those that it sets hold nodes, and FX adds tensors."""

    def __init__(self, model):
        modules = model.named_modules() if isinstance(model, torch.nn.Module) else ()
        self._was = {name: (module, {k: dict(v) if isinstance(v, dict) else v for k, v in vars(module).items()})
                     for name, module in modules}

    def write_back(self, graph):
        """A buffer that was set to a result gets its elements when all else is done, as a caller sees it."""
        output = next(iter(reversed(graph.nodes)))
        for name, (module, was) in self._was.items():
            for buffer in was["_buffers"]:
                now = getattr(module, buffer)
                if not isinstance(now, Proxy):
                    continue
                with graph.inserting_before(output):
                    graph.call_method("copy_", (graph.get_attr(f"{name}.{buffer}" if name else buffer), now.node))

    def restore(self, added=False):
        """added: also takes away what was not there."""
        for module, was in self._was.values():
            if added:
                vars(module).clear()
            vars(module).update(was)


def symbolic_trace(model):
    tracer = _Tracer()
    writes = {f"__{name}__": _written(getattr(operator, name)) for name in _IN_PLACE}
    writes["__setitem__"] = _written(operator.setitem)
    changes = [unittest.mock.patch.object(Proxy, name, write, create=True) for name, write in writes.items()]
    changes += [unittest.mock.patch.object(torch, f.__name__, _of_sizes(f, tracer)) for f in _device_constructors()
                if getattr(torch, f.__name__, None) is f]
    with contextlib.ExitStack() as changed:
        for change in (*changes, every_frame_of_the_users(), _Making(tracer)):
            changed.enter_context(change)
        kept = _Kept(model)
        try:
            graph = tracer.trace(model)
            kept.write_back(graph)
            kept.restore()
            return torch.fx.GraphModule(tracer.root, graph)
        finally:
            kept.restore(added=True)
