"""Programs as FX graphs of ATen calls, with what stands behind each input."""

import copy
import dataclasses
import functools
import inspect
import re
import traceback
import unittest.mock

import sympy
import torch
import torch.fx.experimental._config
from torch._export.non_strict_utils import _clean_dynamic_markers
from torch.export.graph_signature import InputKind, OutputKind
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode
from torch.fx.node import map_arg
from torch.fx.traceback import preserve_node_meta
from torch.utils._pytree import SequenceKey, keystr, tree_flatten_with_path, tree_leaves

from . import dims
from .errors import ExportError, source_in, source_of_caught, source_of_exception, source_of_program
from .symbolic import symbolic_trace
from .tracing import Notes, noted, seeds_refused


@dataclasses.dataclass
class Input:
    """An input of the graph. `real`: its value, of a parameter, buffer or constant; of an argument the example. `place`: of
    an argument, the path to it in `(args, kwargs)`."""

    placeholder: torch.fx.Node
    name: str
    kind: str  # "argument", "parameter", "buffer", "constant"
    real: object
    place: object = None


@dataclasses.dataclass
class Program:
    gm: torch.fx.GraphModule
    inputs: list
    # For each result of the FX graph: None if the user gets it, else the placeholder that it is written to.
    written_back: list
    asked: list = dataclasses.field(default_factory=list)  # conditions on sizes, with the user's lines that asked them
    within: set = dataclasses.field(default_factory=set)  # as `Notes` has them
    decided: list = dataclasses.field(default_factory=list)
    missing: list = dataclasses.field(default_factory=list)  # (condition, what it leaves out of the sizes that were asked for)
    few: list = dataclasses.field(default_factory=list)  # as `dims.few` has them

    def shape_env(self):
        for node in self.gm.graph.nodes:
            for value in tree_leaves(node.meta.get("val")):
                if isinstance(value, torch._subclasses.FakeTensor) and value.fake_mode.shape_env is not None:
                    return value.fake_mode.shape_env
                if isinstance(value, (torch.SymInt, torch.SymBool, torch.SymFloat)):
                    return value.node.shape_env
        return None


class _Function(torch.nn.Module):
    """A function as a module: torch.export takes nothing else."""

    def __init__(self, function):
        super().__init__()

        @functools.wraps(function)  # torch.export asks for the names of the arguments
        def forward(*args, **kwargs):
            return function(*args, **kwargs)

        self.forward = forward


def _that_fixed(asked):
    """The line that fixed a size: the first that asked for one to be a number, else the last that asked anything."""
    fixed = [at for guard, at in asked if at and isinstance(guard, sympy.Equality) and any(s.is_number for s in guard.args)]
    return next(iter(fixed), None) or next((at for _, at in reversed(asked) if at), None)


def _check(program, args, kwargs):
    if not callable(program):
        raise ExportError(f"{program!r} is no program", remedy="give a module, a function or an ExportedProgram")
    if not isinstance(args, tuple):
        raise ExportError(f"`args` is a {type(args).__name__}", remedy="give the arguments as a tuple: (x,)")
    taken = getattr(program, "forward", program)
    try:
        inspect.signature(taken).bind(*args, **kwargs)
    except TypeError as e:
        raise ExportError(f"the program takes other arguments: {e}", source_of_program(program),
                          "give in `args` and `kwargs` what a call of it would") from None
    except ValueError:  # Python does not know what it takes
        pass
    for path, leaf in tree_flatten_with_path((args, kwargs))[0]:
        if not isinstance(leaf, (torch.Tensor, int, float, bool, str, type(None), torch.dtype, torch.device)):
            raise ExportError(f"the argument at {keystr(path)} is a {type(leaf).__name__}",
                              remedy="pass tensors, numbers, strings, None, and lists, tuples and dicts of them")
        if isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided:
            raise ExportError(f"the argument at {keystr(path)} has the layout {leaf.layout}",
                              remedy="pass its parts (indices, values) as dense tensors")


def by_export(model, args, kwargs, dynamic):
    _check(model, args, kwargs)
    dynamic = dims.by_parameters(dynamic, model, args, kwargs)
    dims.check(dynamic, model, args, kwargs)
    wanted, shapes = dims.asked(dynamic, model, args, kwargs), dims.as_torch_says(dynamic)
    program, notes, error = None, None, None
    # Where sizes 0 and 1 are asked for, torch is told to take them for no constants; not every program it follows so.
    for any_size in (True, False) if dims.of_any_size(wanted) else (False,):
        program, notes, error = _captured(model, args, kwargs, shapes, any_size)
        if error is None:
            break
    if error is not None:
        raise translated(error, notes, model, dynamic) from error
    _require_seen_by_eager(notes.caught())
    made = dataclasses.replace(of_exported(program, (args, kwargs)), asked=notes.asked, decided=notes.decided,
                               within=set() if notes.broke else notes.within)
    made.missing = dims.require_kept(wanted, made.inputs, made.shape_env(), notes.asked)
    made.few = dims.few(wanted, made.inputs)
    return made


def _require_seen_by_eager(caught):
    """A program that catches an op's error goes on as eager does: sizes decide it, and are facts. It must not catch errors of
    the capture itself."""
    for e in caught:
        if type(e).__module__ != "builtins" or isinstance(e, NotImplementedError):
            first = next((line.strip() for line in str(e).splitlines() if line.strip()), "")
            raise ExportError(f"the program catches an error that eager does not raise, but its capture ({type(e).__name__}: "
                              f"{first})", source_of_caught(e), "decide by sizes there, or by torch.cond or torch.where, "
                              "without `try`; or keep it outside of the exported program") from e


def _captured(model, args, kwargs, shapes, any_size):
    """What torch.export makes of a program, what was noted, and the error that it ended in."""
    module = model if isinstance(model, torch.nn.Module) else _Function(model)
    with noted() as notes, unittest.mock.patch.object(torch.fx.experimental._config, "backed_size_oblivious", any_size):
        try:
            program = torch.export.export(module, args, kwargs, dynamic_shapes=shapes, strict=False)
            if any(_is_functorch(n.target) for n in program.graph.nodes):
                program = program.run_decompositions({})
            return program, notes, None
        except Exception as e:  # whatever torch raises: the caller says where and what to do
            for leaf in tree_leaves((args, kwargs)):  # torch leaves its marks on them, which the next export would obey
                if isinstance(leaf, torch.Tensor):
                    _clean_dynamic_markers(leaf)
            return None, notes, e


def _is_functorch(target):
    """Whether this is machinery of vmap or grad: gone in the functional program, where they have done their work."""
    return "functorch" in (getattr(target, "__module__", None) or "") or "functorch" in str(target)


_KINDS = {InputKind.PARAMETER: "parameter", InputKind.BUFFER: "buffer", InputKind.CONSTANT_TENSOR: "constant",
          InputKind.USER_INPUT: "argument"}
_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.USER_INPUT_MUTATION, OutputKind.PARAMETER_MUTATION)


def of_exported(program, example=None):
    """Of a torch.export.ExportedProgram, also one that was decomposed or made functional."""
    placeholders = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    leaves = iter(tree_flatten_with_path(example)[0] if example else ())
    inputs = []
    for spec in program.graph_signature.input_specs:
        kind = _KINDS.get(spec.kind)
        if kind is None:
            raise ExportError(f"an input of kind {spec.kind.name} is not supported",
                              remedy="keep custom objects and tokens outside of the exported function")
        node = placeholders[spec.arg.name]
        if kind == "argument":
            place, real = next(leaves, (None, None))
            inputs.append(Input(node, spec.arg.name, kind, real, place))
        else:
            real = program.state_dict.get(spec.target, program.constants.get(spec.target))
            inputs.append(Input(node, spec.target, kind, real))
    back = []
    by_target = {i.name: i.placeholder for i in inputs if i.kind != "argument"}
    for spec in program.graph_signature.output_specs:
        if spec.kind == OutputKind.USER_INPUT_MUTATION:
            back.append(placeholders[spec.target])
        else:
            back.append(by_target[spec.target] if spec.kind in _WRITTEN else None)
    return Program(program.graph_module, inputs, back)


def by_fx(model, args, kwargs):
    """FX's own symbolic trace, then its ATen calls."""
    _check(model, args, kwargs)
    if kwargs:
        raise ExportError("FX's symbolic trace takes no keyword arguments", source_of_program(model), "pass them by position")
    try:
        with seeds_refused():
            traced = symbolic_trace(model)
    except Exception as e:
        raise translated(e) from e
    return of_graph_module(traced, args)


def _is_record(node):
    """Whether a node only builds a NamedTuple or a dataclass."""
    return isinstance(node.target, type) and (hasattr(node.target, "_fields") or dataclasses.is_dataclass(node.target))


def _without_records(gm):
    """The graph with what its records hold, in order, in their place."""
    if not any(_is_record(n) for n in gm.graph.nodes):
        return gm
    graph = copy.deepcopy(gm.graph)
    held = lambda n: map_arg((*n.args, *n.kwargs.values()), held) if _is_record(n) else n
    for n in graph.nodes:
        n.args, n.kwargs = map_arg(n.args, held), map_arg(n.kwargs, held)
    for n in reversed(graph.nodes):
        if _is_record(n):
            graph.erase_node(n)
    return torch.fx.GraphModule(gm, graph)


class _ByNode(torch.nn.Module):
    """An FX graph run node by node, each of which tells its line to what traces it."""

    def __init__(self, gm):
        super().__init__()
        self.gm = gm

    def forward(self, *inputs):
        return torch.fx.Interpreter(self.gm).run(*inputs, enable_io_processing=False)


def _is_aten(gm):
    return all(n.op in ("placeholder", "output", "get_attr") or isinstance(
        n.target, (torch._ops.OpOverload, torch._ops.HigherOrderOperator)) or
        getattr(n.target, "__module__", "") == "_operator" for n in gm.graph.nodes)


def of_graph_module(gm, args):
    """Of any FX graph; one that is not yet of ATen calls is traced to them, parameters and buffers becoming inputs."""
    if not isinstance(args, tuple):
        args = tuple(args)
    paths, args = _by_placeholder(gm, args)
    gm = _without_records(gm)
    if _is_aten(gm) and all("val" in n.meta for n in gm.graph.nodes if n.op in ("placeholder", "call_function")):
        inputs, examples, places = [], iter(args), iter(paths)
        for n in gm.graph.nodes:
            if n.op == "placeholder":
                inputs.append(Input(n, str(n.target), "argument", next(examples, None), next(places, None)))
        return _whole(gm, inputs)
    names = [str(n.target) for n in gm.graph.nodes if n.op == "placeholder"]
    state = {**dict(gm.named_parameters()), **dict(gm.named_buffers())}
    parameters = {name for name, _ in gm.named_parameters()}

    def interpret(*flat):
        values, inputs = dict(zip(state, flat)), flat[len(state) :]
        with preserve_node_meta():
            return torch.func.functional_call(_ByNode(gm), {f"gm.{name}": v for name, v in values.items()}, inputs)

    with noted() as notes:
        try:
            traced = make_fx(interpret, tracing_mode="fake", pre_dispatch=True)(*state.values(), *args)
        except Exception as e:
            raise translated(e, notes) from e
    inputs = []
    reals = [*state.values(), *args]
    for i, n in enumerate(n for n in traced.graph.nodes if n.op == "placeholder"):
        if i < len(state):
            name = list(state)[i]
            inputs.append(Input(n, name, "parameter" if name in parameters else "buffer", reals[i]))
        else:
            at = i - len(state)
            inputs.append(Input(n, names[at] if at < len(names) else n.name, "argument", reals[i], paths[at]))
    return _whole(traced, inputs)


def _by_placeholder(gm, args):
    """What each placeholder is handed, and its path in `(args, kwargs)`: a graph that was traced of lists and dicts has
    one for each leaf."""
    if isinstance(gm.graph._codegen, torch.fx.graph._PyTreeCodeGen):
        leaves = tree_flatten_with_path(args)[0]
    else:
        leaves = [((SequenceKey(i),), value) for i, value in enumerate(args)]
    placeholders = [n for n in gm.graph.nodes if n.op == "placeholder"]
    if not sum(not n.args for n in placeholders) <= len(leaves) <= len(placeholders):  # some have a default
        raise ExportError(f"the graph takes {len(placeholders)} arguments, and is given {len(leaves)}",
                          remedy="give those that it was traced with")
    return [(SequenceKey(0), *path) for path, _ in leaves], tuple(value for _, value in leaves)


def _whole(gm, inputs):
    output = next(n for n in gm.graph.nodes if n.op == "output")
    return Program(gm, inputs, [None] * len(tree_leaves(output.args[0], is_leaf=lambda x: x is None)))


_DENSE = "a graph holds dense tensors: hand over and compute with such"


def require_dense(model_or_fn, args, kwargs):
    """Refuses tensors that a graph can't hold, by name, before torch stumbles over them."""
    named = [("an argument", t) for t in tree_leaves((args, kwargs))]
    if isinstance(model_or_fn, torch.nn.Module):
        named += [(f"the parameter `{n}`", t) for n, t in model_or_fn.named_parameters()]
        named += [(f"the buffer `{n}`", t) for n, t in model_or_fn.named_buffers()]
    for name, t in named:
        if not isinstance(t, torch.Tensor):
            continue
        if t.is_nested:
            raise ExportError(f"{name} is a nested tensor", remedy=f"{_DENSE} (to_padded_tensor)")
        if t.layout is not torch.strided:
            raise ExportError(f"{name} is sparse ({t.layout})", remedy=f"{_DENSE} (to_dense)")
        if t.is_quantized:
            raise ExportError(f"{name} is quantised ({t.dtype})", remedy=f"{_DENSE} (dequantize)")
        if t.is_meta:
            raise ExportError(f"{name} is on the meta device: it has no values", remedy="give it values (to_empty, load)")


_VARY = ("write that line for any size (n * 1.0 for float(n), torch.log(torch.scalar_tensor(n)) for math.log(n); no comparison "
         "with a number, no view or constant of the example's size), or leave the size out of `dynamic`")
_FIXED = re.compile(r"You marked (?:L\['(?P<name>[^']+)'\]\.size\(\)\[(?P<dim>\d+)\]|(?P<size>\S+)) as dynamic but your code "
                    r"specialized it to be a constant \((?P<value>\d+)\)")


def _of_sizes(text, where, fixed_by):
    """An error about sizes that were to vary. fixed_by: who asked for the number of one, and the line."""
    if fixed := [m.groupdict() for m in _FIXED.finditer(text)]:
        named = lambda m: f"dim {m['dim']} of `{m['name']}`" if m["name"] else f"the size {m['size']}"
        which = " and ".join(f"{named(m)} to {m['value']}" for m in fixed)
        who = next((f": {who} asks for its number" for _, who, at in fixed_by if at == where), "")
        return ExportError(f"the program fixes {which}, which `dynamic` lets vary{who}", where, _VARY)
    lines = [line.strip().partition(" For more information, run with")[0] for line in text.splitlines() if line.strip()]
    return ExportError(" ".join(lines[:3]), where, dims.REMEDY)


def translated(error, notes=None, program=None, dynamic=None):
    """torch's error as ours. `notes`: what was seen meanwhile; `program`: what was captured, with `dynamic` sizes."""
    if isinstance(error, ExportError):
        return error
    notes = notes or Notes()
    text = str(error).strip() or type(error).__name__
    where = source_of_exception(error) or source_in(text)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    if isinstance(error, GuardOnDataDependentSymNode) or "data-dependent" in first:
        return ExportError(f"Python decides by a value that only a run knows ({first})", where,
                           "branch with torch.cond or torch.where, loop with while_loop or scan; bound a size with "
                           "torch._check(n <= limit)")
    if "Proxy" in first or isinstance(error, torch.fx.proxy.TraceError):
        return ExportError(f"FX's symbolic trace can't follow this: {first}", where,
                           "take the other door (lenz.export without via=\"fx\"), or branch with torch.where")
    if any(word in text.lower() for word in ("constraint", "dynamic_shapes", "dynamic shapes", "dim hint")):
        return _of_sizes(text, where or _that_fixed(notes.asked) or source_of_program(program), notes.fixed)
    of_guards = any(f.name == "produce_guards" for f in traceback.extract_tb(error.__traceback__))
    if isinstance(error, IndexError) and of_guards and not notes.resized:
        return ExportError("an argument has more dims when the program ends (`unsqueeze_`)", where or source_of_program(program),
                           "take a view of it, without the underscore")
    if dynamic is not None and where is None and not notes.resized and isinstance(error, (IndexError, KeyError, TypeError)):
        return ExportError(f"`dynamic` does not fit the arguments ({type(error).__name__}: {first})",
                           source_of_program(program), dims.REMEDY)
    begin = source_of_program(program)
    if notes.derived and ("Expected FakeTensor" in first or where is None):
        return ExportError("torch.export can't follow derivatives by torch.func (grad, vjp, jvp, jacrev, hessian)",
                           notes.derived[-1] or begin, "trace it by torch.fx.experimental.proxy_tensor.make_fx("
                           "f, tracing_mode=\"fake\")(*args), and give that to lenz.export_fx")
    if notes.looked_behind and where is None:
        return ExportError("what `.data` shows torch.export does not see", notes.looked_behind[-1] or begin,
                           "take x.detach() for it; write elements by x.copy_(y) under torch.no_grad()")
    if notes.resized and where is None:
        return ExportError("an argument gets another size as out= of an op, which no graph can do to its caller's tensor",
                           notes.resized[-1] or begin, "hand over an out= of the result's sizes, or return the result")
    unknown = "in output, which is not a known type" in first or (where is None and first.startswith("unhashable type"))
    where = where or begin
    if unknown:
        return ExportError(first.split(". ")[0], where, "return tensors, numbers, strings, None, and lists, tuples and dicts "
                           "of them; a dataclass after torch.export.register_dataclass")
    if "Expected FakeTensor" in first or "fake tensor in the exported program constant" in first:
        return ExportError("torch.export can't follow what this computes with tensors made outside, or with torch's own "
                           "machinery", where, "hand such tensors over as arguments, parameters or buffers")
    if "torch._C.Generator" in first:
        return ExportError("a random generator of the program's own draws, of which no graph knows", where,
                           "draw without `generator`, and give `lenz run` a --seed; or hand the numbers over as an argument")
    if any(word in first.lower() for word in ("quantized", "sparse", "nested")):
        return ExportError(f"{type(error).__name__}: {first}", where, _DENSE)
    if type(error).__name__ in _UNKNOWN_RESULTS:
        return ExportError(f"what an op gives only a run knows, and torch.export has no symbol for it ({first})", where,
                           "keep that call outside of the exported program, or write it in other ops")
    what, remedy = _of_control_flow(text) if type(error).__name__ in _OF_DYNAMO else (None, None)
    return ExportError(what or f"{type(error).__name__}: {first}", where, remedy or
                       "mend the line if it fails without export too; else torch.export can't follow it: write it another way, "
                       "or keep it outside of the exported program")


_UNKNOWN_RESULTS = {"DataDependentOutputException", "DynamicOutputShapeException", "PendingUnbackedSymbolNotFound"}
_OF_DYNAMO = {"UncapturedHigherOrderOpError", "TorchRuntimeError", "Unsupported"}
_RAISED_WITHIN = re.compile(r"got \w+\(([\"'])(?P<what>.+?)\1\)", re.DOTALL)
_REMEDIES = {"aliasing": "let the branch or body return a tensor of its own: x.clone() of an input or of a view of one",
             "input mutation": "let the branch or body return what it computes, and write that (x.copy_(y)) after the call",
             "side effect": "let the branch or body return what it leaves behind: no list, dict or attribute outside changes",
             "sorted order of strides": "let branches return, and bodies carry, tensors that lie alike (x.contiguous())",
             "same ": "let branches return, and bodies carry, tensors of the same dtypes and shapes (x.to(y.dtype))"}


def _of_control_flow(text):
    """Why torch can't take a branch or body of control flow, and what to do about it."""
    if within := _RAISED_WITHIN.search(text):
        what = within["what"]
    else:
        lines = [line.strip() for line in text.partition("Got graph break/error:")[2].splitlines() or text.splitlines()
                 if line.strip()]
        told = [line for line in lines[1:] if line.startswith(("Higher Order Operator:", "Explanation:", "pair"))]
        what = " ".join([f"{lines[0].rstrip(':')}:" if told else lines[0], *(t.partition(" Found in ")[0] for t in told)])
    remedy = next((r for word, r in _REMEDIES.items() if word in what), "write branches and bodies as functions of tensors alone")
    return "control flow can't be captured: " + " ".join(what.split()), remedy
