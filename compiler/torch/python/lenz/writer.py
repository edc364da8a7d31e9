"""An FX graph of ATen calls as the text of a graph.

There is no table of ops: a call is spelled as its schema says. The few names below are calls that no graph needs, or
that say less than they do."""

import contextlib
import operator
import re

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.utils._pytree import tree_flatten, tree_leaves, tree_map

from . import autocast, command, open_sizes, spelling, stand_ins, tracing
from .conditions import Conditions, is_condition
from .errors import ExportError, source_of_node
from .reals import Reals
from .spelling import Unspeakable, quoted, value_name

_ATEN = torch.ops.aten
_HIGHER = torch.ops.higher_order

# Conditions that the types or the facts of the graph state.
_STATED = {_ATEN._assert_tensor_metadata.default, _ATEN.sym_constrain_range.default,
           _ATEN.sym_constrain_range_for_size.default}
_ASSERTED = {_ATEN._assert_async.default, _ATEN._assert_async.msg}  # of a tensor
# Python's operators << and >>, <<= and >>=.
_SHIFTS = {getattr(getattr(_ATEN, f"__{before}{way[0]}shift__"), theirs): getattr(getattr(_ATEN, f"bitwise_{way}_shift{behind}"), ours)
           for way in ("left", "right") for before, behind in (("", ""), ("i", "_"))
           for theirs, ours in (("Tensor", "Tensor"), ("Scalar", "Tensor_Scalar"))}
# The same under a name that has a row.
_RENAMED = {_ATEN.item.default: _ATEN._local_scalar_dense.default, _ATEN._efficientzerotensor.default: _ATEN.zeros.default,
            **open_sizes.STANDS_FOR, **stand_ins.STANDS_FOR, **_SHIFTS}
# Without a row, which would say it.
_HIDES_WRITES = {_ATEN.cudnn_batch_norm.default, _ATEN.miopen_batch_norm.default}
_SIZES = {"aten::sym_size", "aten::size"}  # the second one is that of TorchScript, which ops below gru_cell call
_NUMBERS = (int, float, complex, torch.SymInt, torch.SymFloat, torch.SymBool)
# As which a number counts until it meets a tensor.
_WRAPPED = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
_CONTROL = {"cond", "while_loop", "scan", "map_impl"}
# Where the sub-graph stands among the arguments of a region that is written as if it stood in the graph itself.
_REGIONS = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4, "wrap": 0, "tag_activation_checkpoint": 0,
            "invoke_subgraph": 0, "hints_wrapper": 0}


class Module:
    """What the graphs of one file share."""

    def __init__(self, symbols):
        self.symbols = symbols
        self.externs = {}  # schema -> the nodes that call it
        self.decided = []  # (condition on sizes, answer), by which ops were taken apart
        self.graphs = []  # texts of sub-graphs
        self.graph_names = set()
        self.sources = {}  # graph -> value -> Source
        self.node_of = {}  # a statement's text -> its node

    def unique(self, name, taken):
        candidate, i = name, 0
        while candidate in taken:
            i += 1
            candidate = f"{name}_{i}"
        taken.add(candidate)
        return candidate


def bare(value):
    """A value's name without its sign."""
    return value[1:].strip('"')


def as_view(op):
    """An op that makes its operand look otherwise as the view that it becomes: who comes later is handed its result."""
    if torch.Tag.inplace_view not in op.tags:
        return op
    packet = getattr(_ATEN, op._schema.name.split("::")[1].removesuffix("_"), None)
    wanted = [(a.name, str(a.type)) for a in op._schema.arguments]
    for view in (getattr(packet, name) for name in packet.overloads()) if packet else ():
        shares = view._schema.returns and view._schema.returns[0].alias_info is not None
        if shares and [(a.name, str(a.type)) for a in view._schema.arguments] == wanted:
            return view
    return op


def _gave_nothing(node):
    """An op that should give a tensor and did not: it raised, and the program caught that."""
    returns = node.target._schema.returns if isinstance(node.target, torch._ops.OpOverload) else ()
    tensors = [str(r.type) for r in returns] == ["Tensor"]
    return tensors and not node.users and "val" in node.meta and node.meta["val"] is None


def _of_types_alone(gm):
    """Nodes whose results lie on the meta device and reach none of the program's: torch asked them for types alone."""
    found = set()
    for node in reversed(gm.graph.nodes):
        value = node.meta.get("val")
        on_meta = isinstance(value, torch.Tensor) and value.device.type == "meta"
        if on_meta and node.op == "call_function" and found.issuperset(node.users):
            found.add(node)
    return found


class Several(list):
    """What a call with several results gives."""


def _is_empty(value):
    return any(isinstance(d, int) and d == 0 for d in value.shape)  # a size that is open asks nothing here


class GraphWriter:
    def __init__(self, module, graph_module, name):
        self.module, self.gm = module, graph_module
        self.name = module.unique(name, module.graph_names)
        self.symbols = module.symbols
        self.values = set()
        self.lines = []
        self.constants = 0  # lines at the beginning
        self.env = {}
        self.contexts = []  # of autocast, outermost first
        self.made = set()  # unbacked symbols that a node of ours has made
        self.roots = {}  # value -> inputs whose memory it may share
        self.written = set()
        self.objects = {}  # value -> the input that it is, and not just looks at
        self.grads = set()  # values that a gradient flows to
        self.token = None
        self.reals = Reals(self)
        self.conditions = Conditions(self)
        self.sources = module.sources.setdefault(self.name, {})

    # --- names and statements ---

    def fresh(self, name):
        return value_name(self.module.unique(name, self.values))

    def input(self, name, value=None):
        spelled = self.fresh(name)
        self.roots[spelled] = {spelled}
        self.objects[spelled] = spelled
        if isinstance(value, torch.Tensor) and value.requires_grad:
            self.grads.add(spelled)
        return spelled

    def statement(self, targets, call, node=None):
        """targets: (name, type or None)."""
        left = ", ".join(n + (f": {t}" if t else "") for n, t in targets)
        line = f"{left} = {call}" if left else call
        self.lines.append(line)
        if node is not None:
            self.module.node_of[line] = node
            source = source_of_node(node)
            if source and targets:
                self.sources[targets[0][0][1:]] = source

    def constant(self, name, data):
        self.lines.insert(self.constants, f"{name} = lenz.constant({data})")
        self.constants += 1

    # --- the graph ---

    def write_nodes(self, gm, env):
        """All nodes but inputs; returns what the graph returns, spelled."""
        result, unwritten = None, _of_types_alone(gm)
        for node in gm.graph.nodes:
            try:
                if node.op == "placeholder" or node in unwritten:
                    continue
                if node.op == "output":
                    result = [self.spell(x, env) for x in tree_leaves(node.args[0], is_leaf=lambda x: x is None)]
                elif node.op == "get_attr":
                    env[node] = self.attribute(gm, node)
                else:
                    env[node] = self.call(gm, node, env)
            except Unspeakable as e:
                raise ExportError(f"{e} of {node.name} has no place in a graph", source_of_node(node),
                                  "compute it on tensors, or keep it outside of the exported function") from None
        return result

    def attribute(self, gm, node):
        value = operator.attrgetter(node.target)(gm)
        if isinstance(value, torch.nn.Module):
            return value
        if isinstance(value, torch.Tensor):
            name = self.fresh(node.name)
            self.statement([(name, None)], f"lenz.constant({spelling.constant(value)})", node)
            return name
        raise Unspeakable(f"the attribute {node.target}, of type {type(value).__name__},")

    def spell(self, x, env):
        if isinstance(x, torch.fx.Node):
            known = env.get(x)
            if isinstance(known, torch.fx.GraphModule):
                return known
            value = x.meta.get("val")
            if known is None and isinstance(value, (torch.SymInt, int)) and not isinstance(value, bool):
                return self.symbols.dim(value)
            if known is None and isinstance(value, torch.SymFloat):
                return self.reals.spell(value, x)
            if known is None:
                raise Unspeakable(f"the value {value}")
            return known
        if isinstance(x, (list, tuple)):
            return "[" + ", ".join(self.spell(e, env) for e in x) + "]"
        if isinstance(x, torch.SymInt):
            return self.symbols.dim(x)
        return spelling.literal(x)

    def call(self, gm, node, env):
        target = node.target
        if node.op != "call_function":
            raise ExportError(f"a node of kind {node.op} ({target}) is no ATen call", source_of_node(node),
                              "trace the graph to ATen first (lenz.export does)")
        if target is operator.getitem:
            return self.getitem(node, env)
        if isinstance(target, torch._ops.HigherOrderOperator):
            return self.higher(gm, node, env)
        if target in _STATED or _gave_nothing(node):
            return None
        if target is _ATEN._assert_scalar.default:
            return self.assertion(node, env.get(node.args[0]), str(node.args[1]))
        if target in _ASSERTED:
            differs, truth = self.fresh("is_true"), self.fresh("truth")
            self.statement([(differs, None)], f"aten.ne({env[node.args[0]]}, 0)", node)
            self.statement([(truth, None)], f"aten._local_scalar_dense({differs})", node)
            said = node.args[1:] or ("Expected Tensor with single nonzero value, but got zero",)
            return self.assertion(node, truth, str(said[0]))
        if isinstance(target, torch._ops.OpOverload):
            if target._schema.name in _SIZES:
                return None  # stands as an expression where it is used
            result = self.op(node, env)
            if isinstance(node.meta.get("val"), torch.SymFloat):
                self.reals.known(node.meta["val"], result)
            return result
        if is_condition(node):
            asserted = all(u.target is _ATEN._assert_scalar.default for u in node.users)
            if asserted and node.users and node.target is operator.eq:
                self.symbols.state_equal(*self.metas(node.args))
            stated = (asserted and self.conditions.always_holds(node)) or not node.users or all(map(is_condition, node.users))
            return None if stated else self.conditions.value(node, env)
        value = node.meta.get("val")
        if isinstance(value, (torch.SymInt, torch.SymFloat)) or (isinstance(value, int) and not isinstance(value, bool)):
            return None  # stands as an expression where it is used
        raise ExportError(f"`{getattr(target, '__name__', target)}` on {type(value).__name__} has no op",
                          source_of_node(node), "compute with tensors instead of Python numbers")

    @staticmethod
    def metas(args):
        return tree_map(lambda a: a.meta.get("val") if isinstance(a, torch.fx.Node) else a, args)

    def assertion(self, node, condition, message):
        if condition is None:
            return None
        if self.token is None:
            self.token = self.fresh("token")
            self.statement([(self.token, None)], "lenz.make_token()")
        after = self.fresh("token")
        self.statement([(after, None)], f"lenz.assert({self.token}, {condition}, {quoted(message)})", node)
        self.token = after
        return None

    def getitem(self, node, env):
        source, index = env.get(node.args[0]), node.args[1]
        if source is None:  # sizes, which stand as expressions where they are used
            return None
        if isinstance(source, Several):
            return source[index]
        name = self.fresh(node.name)
        self.statement([(name, None)], f"lenz.getitem({source}, {index})", node)
        self.roots[name] = self.roots.get(source, set())
        return name

    # --- ops ---

    def op(self, node, env):
        op = as_view(_RENAMED.get(node.target, node.target))
        args, kwargs = node.args, dict(node.kwargs)
        if op is not node.target and torch.Tag.inplace_view in node.target.tags:
            self.keeps_its_look(node, env)
        elif torch.Tag.inplace_view in op.tags:
            raise ExportError(f"`{op._schema.name}` gives a tensor other memory or another size, which no graph says",
                              source_of_node(node), "go on with a new tensor (torch.empty, clone, reshape)")
        if op is _ATEN.batch_norm.default and args[5] and _is_empty(args[0].meta["val"]):
            args = (*args[:3], None, None, *args[5:])  # of nothing it looks at no statistics, and leaves them as they are
        if op in (_ATEN.batch_norm.default, _ATEN.native_batch_norm.default) and args[5] and args[3] is not None:
            # Its schema does not say that it writes the statistics; this one's does.
            results = self.emit(node, _ATEN._native_batch_norm_legit.default, args[:8], {}, env, results=3)
            return results[0] if op is _ATEN.batch_norm.default else results
        if op in _HIDES_WRITES and args[3] is not None and args[5]:
            raise ExportError(f"`{op._schema.name}` writes running statistics, which its schema hides",
                              source_of_node(node), "use a batch norm, or leave out track_running_stats")
        context = self.context()
        if context is not None:
            flat, _ = tree_flatten((args, kwargs))
            meta_args, meta_kwargs = self.metas(args), self.metas(kwargs)
            found = autocast.casts(op, meta_args, meta_kwargs, context, node.meta.get("val"))
            if found is None:
                return self.inline_op(node, op, env, context)
            env = self.cast(node, flat, found, env)
        if f"{op.namespace}.{op._schema.name.split('::')[1]}.{op._overloadname}" not in command.rows():
            if op._can_decompose() and op.namespace == "aten" and node.target not in stand_ins.STANDS_FOR:
                with contextlib.suppress(DataDependentOutputException):  # of a part; the whole is an extern then
                    return self.inline_op(node, op, env)
        return self.emit(node, op, args, kwargs, env)

    def keeps_its_look(self, node, env):
        """An argument can't look otherwise once the graph has run."""
        before, after = node.args[0].meta.get("val"), node.meta.get("val")
        same = before.shape == after.shape and before.stride() == after.stride()
        if not same and env.get(node.args[0]) in self.objects:
            raise ExportError(f"`{node.target._schema.name}` gives an argument another shape, which stays when the program ends",
                              source_of_node(node), "take a view of it, without the underscore")

    def context(self):
        if not self.contexts or not self.contexts[-1][2]:
            return None
        return lambda: autocast.region(*self.contexts[-1])

    def cast(self, node, flat, dtypes, env):
        env = dict(env)
        for at, dtype in dtypes.items():
            value = self.spell(flat[at], env)
            name = self.fresh(bare(value) + "_cast")
            self.statement([(name, None)], f"aten.to.dtype({value}, {spelling.dtype_name(dtype)})", node)
            env[flat[at]] = name
        return env

    def inline_op(self, node, op, env, context=None):
        """An op without a row as the ops it is made of."""
        fixed = self.symbols.fixed()
        asks = False  # for numbers, which open sizes are not
        try:
            with tracing.decisions(self.module.decided):
                graph, places = autocast.decomposed(op, self.metas(node.args), self.metas(dict(node.kwargs)),
                                                    *([context] if context else []))
        except RuntimeError as e:
            asks = "concrete integers" in str(e) or "symbolic sizes" in str(e)
            if not asks:
                raise
        finally:
            if asks or self.symbols.fixed() != fixed:
                raise ExportError(f"torch takes `{op._schema.name}` apart only at sizes that are fixed",
                                  source_of_node(node), "leave its sizes out of `dynamic`, or write it in simpler calls")
        flat, _ = tree_flatten((node.args, dict(node.kwargs)))
        inner, contexts, self.contexts = {}, self.contexts, []
        for placeholder, place in zip((n for n in graph.graph.nodes if n.op == "placeholder"), places):
            inner[placeholder] = self.spell(flat[place], env)
        returned = next(n for n in graph.graph.nodes if n.op == "output").args[0]
        self.symbols.same(tree_leaves(self.metas(returned)), tree_leaves(node.meta.get("val")))
        for n in graph.graph.nodes:
            n.meta["stack_trace"] = node.meta.get("stack_trace")
        results = self.write_nodes(graph, inner)
        self.contexts = contexts
        return results[0] if isinstance(node.meta.get("val"), torch.Tensor) else Several(results)

    def emit(self, node, op, args, kwargs, env, results=None):
        schema = op._schema
        spelled, numbers = [], False
        operands = []
        for position, parameter in enumerate(schema.arguments):
            given = position < len(args) or parameter.name in kwargs
            if not given:
                continue
            x = args[position] if position < len(args) else kwargs[parameter.name]
            text = self.spell(x, env)
            if isinstance(parameter.type, torch._C.TensorType) and isinstance(self.metas(x), _NUMBERS):
                dtype = self.wrapped_dtype(schema, args, kwargs, x, needed=not command.takes_number(schema, position))
                if dtype is None:
                    numbers = True
                else:
                    text = self.fresh("number")
                    self.statement([(text, None)],
                                   f"aten.scalar_tensor({spelling.literal(x)}, dtype={spelling.dtype_name(dtype)})", node)
            for value in [v for v in tree_leaves(x) if isinstance(v, torch.fx.Node)]:
                operands.append((parameter, env.get(value)))
            if parameter.kwarg_only and parameter.has_default_value() and not isinstance(x, torch.fx.Node) \
                    and x == parameter.default_value:
                continue
            spelled.append(f"{parameter.name}={text}" if parameter.kwarg_only else text)
        space, packet = schema.name.split("::")
        if numbers and self.widens_more_digits(schema, args, kwargs):
            return self.written_apart(node, f"{space}.{packet}", spelled, operands[-1])
        full = f"{space}.{packet}.{op._overloadname}"
        known = full in command.rows()
        if known:
            names, _, flag = command.rows()[full].partition(" if ")  # what it writes though its schema is silent
            given = dict(zip((p.name for p in schema.arguments), args)) | kwargs
            for parameter, value in operands:
                if parameter.name in names.split() and given.get(flag) is not False:
                    self.written |= self.roots.get(value, set())
        else:
            self.module.externs.setdefault(str(schema), []).append(node)
        # A number in a tensor's place is another overload's.
        call = f"{space}.{packet}" + ("" if numbers else f".{op._overloadname}") + f"({', '.join(spelled)})"
        return self.results(node, call, schema, operands, known, results)

    def wrapped_dtype(self, schema, args, kwargs, number, needed):
        """What an out= op makes of a number in a tensor's place: a tensor of one element, of this dtype. The overload
        that takes numbers writes to `out` otherwise. So does another op if there is no such overload: `needed`.
        None: no tensor promotes as the number does, or nobody makes one."""
        if not (needed or any(p.is_out for p in schema.arguments)) or type(number) not in _WRAPPED:
            return None
        given = self.metas(dict(zip((p.name for p in schema.arguments), args)) | dict(kwargs))
        others = [given[p.name] for p in schema.arguments if not p.is_out and isinstance(given.get(p.name), torch.Tensor)]
        if len(others) != 1:
            return None
        wanted = torch.result_type(others[0], number)
        if others[0].dim() == 0 and wanted.is_floating_point and wanted.itemsize < 4:
            return None  # computes with more digits of the number than the dtype has
        promoted = lambda dtype: torch.result_type(others[0], torch.empty((), dtype=dtype, device=others[0].device))
        return next((d for d in (_WRAPPED[type(number)], wanted) if promoted(d) == wanted), None)

    def widens_more_digits(self, schema, args, kwargs):
        """Whether `out` has another dtype than what is computed, of a tensor that has neither dims nor as many digits as the
        number beside it."""
        given = self.metas(dict(zip((p.name for p in schema.arguments), args)) | dict(kwargs))
        outs = [given[p.name] for p in schema.arguments if p.is_out]
        others = [given[p.name] for p in schema.arguments if not p.is_out and isinstance(given.get(p.name), torch.Tensor)]
        if len(outs) != 1 or len(others) != 1 or outs[0].dtype == others[0].dtype:
            return False
        return others[0].dim() == 0 and others[0].is_floating_point() and others[0].itemsize < 4

    def written_apart(self, node, op, spelled, out):
        """A call with out= as one without, whose result is copied there: eager computes in the result's own dtype too."""
        made = self.fresh(node.name)
        self.statement([(made, None)], f"{op}({', '.join(spelled[:-1])})", node)
        target = spelled[-1].removeprefix("out=")
        return self.results(node, f"aten.copy_({target}, {made})", _ATEN.copy_.default._schema,
                            [(_ATEN.copy_.default._schema.arguments[0], out[1])], True, None)

    def results(self, node, call, schema, operands, known, count):
        for parameter, value in operands:
            if parameter.alias_info is not None and parameter.alias_info.is_write:
                self.written |= self.roots.get(value, set())
        shared = set()
        for parameter, value in operands:
            if parameter.alias_info is not None:
                shared |= self.roots.get(value, set())
        meta = node.meta.get("val")
        if not schema.returns:
            self.statement([], call, node)
            return None
        one = len(schema.returns) == 1 and count is None
        metas = [meta] if one else list(meta) if count is None else [None] * count
        names = [self.fresh(node.name if one else f"{node.name}.{i}") for i in range(len(metas))]
        # Torch's fake kernels may guess at the dtypes of results that a call does not ask for.
        annotated = [self.makes_symbols(value) or not known for value in metas]
        with self.symbols.as_read() if known else contextlib.nullcontext():
            targets = [(n, self.symbols.type(value) if told else None) for n, value, told in zip(names, metas, annotated)]
        if one and not annotated[0] and (size := self.made_again(node)) is not None:
            text, own = self.symbols.type(meta), self.symbols.name(size)
            targets = [(names[0], re.sub(rf"\b{own}\b", self.symbols.again(size), text))]
        for returned, name in zip(schema.returns, names):
            for parameter, value in operands:
                aliases = parameter.alias_info, returned.alias_info
                written = all(a is not None and a.is_write for a in aliases)
                if written and aliases[0].before_set == aliases[1].before_set and value in self.objects:
                    self.objects[name] = self.objects[value]
        for name in names:
            self.roots[name] = shared
            if any(v in self.grads for _, v in operands):
                self.grads.add(name)
        self.statement(targets, call, node)
        return names[0] if one else Several(names)

    def makes_symbols(self, value):
        if value is None or not isinstance(value, (torch.Tensor, torch.SymInt, torch.SymFloat, torch.SymBool)):
            return False
        if isinstance(value, (torch.SymFloat, torch.SymBool)):
            return True
        settled = {self.symbols.name(s) for s in self.symbols.settled(value, self.made)} - self.made
        new = (self.symbols.unbacked(value) - self.made) | settled
        self.made |= new
        self.symbols.read |= new if isinstance(value, torch.SymInt) else settled
        return bool(new)

    @staticmethod
    def made_again(node):
        """The size that the run tells, of a call whose result has the one that another call of the same mask had."""
        value = node.meta.get("val")
        if torch.Tag.dynamic_output_shape not in node.target.tags or not isinstance(value, torch.Tensor):
            return None
        metas = [m for m in tree_leaves(GraphWriter.metas((node.args, node.kwargs))) if isinstance(m, torch.Tensor)]
        if node.target is _ATEN.index.Tensor and not any(m.dtype in (torch.bool, torch.uint8) for m in metas[1:]):
            return None
        known = set().union(*(free_unbacked_symbols(tuple(m.shape)) for m in metas))
        told = set(free_unbacked_symbols(tuple(value.shape))) - known
        return told.pop() if len(told) == 1 else None

    # --- regions and control flow ---

    def higher(self, gm, node, env):
        name = node.target.name()
        if name in _REGIONS:
            return self.region(name, node, env)
        if name in _CONTROL:
            return getattr(self, name)(node, env)
        raise ExportError(f"the higher-order op `{name}` is not supported", source_of_node(node),
                          "use torch.cond, while_loop, scan, or plain ops")

    def region(self, name, node, env):
        at = _REGIONS[name]
        inner = env[node.args[at]]
        operands = [a for a in node.args[at + 1 :] if isinstance(a, (torch.fx.Node, int, float)) or a is None]
        if name == "invoke_subgraph":
            operands = list(node.args[2:])
        placeholders = [n for n in inner.graph.nodes if n.op == "placeholder"]
        leaves = tree_leaves(operands, is_leaf=lambda x: x is None)
        inner_env, outside = {}, {}
        no_grad = name == "wrap_with_set_grad_enabled" and node.args[0] is False
        for placeholder, operand in zip(placeholders, leaves):
            value = env.get(operand) if isinstance(operand, torch.fx.Node) else self.spell(operand, env)
            if no_grad and value in self.grads:
                # No gradient goes back from the region.
                name_in = self.fresh(bare(value) + "_no_grad")
                self.statement([(name_in, None)], f"aten.detach({value})", node)
                self.roots[name_in] = self.roots.get(value, set())
                outside[name_in] = value
                value = name_in
            inner_env[placeholder] = value
        if name == "wrap_with_autocast":
            self.contexts.append(node.args[:4])
        results = self.write_nodes(inner, inner_env)
        if name == "wrap_with_autocast":
            self.contexts.pop()
        results = [outside.get(r, r) for r in results]
        return Several(results) if isinstance(node.meta.get("val"), (list, tuple)) else results[0]

    def subgraph(self, inner, node, caller):
        """Writes a sub-graph; returns its name."""
        writer = GraphWriter(self.module, inner, str(caller))
        writer.contexts = list(self.contexts)
        inputs, env, metas = [], {}, []
        for placeholder in (n for n in inner.graph.nodes if n.op == "placeholder"):
            value = placeholder.meta.get("val")
            name = writer.input(placeholder.name)
            env[placeholder] = name
            metas.append((name, value))
        writer.made |= self.made
        outside, self.symbols.read, self.symbols.equal = (self.symbols.read, self.symbols.equal), set(), []
        results = writer.write_nodes(inner, env)
        for name, value in metas:
            inputs.append(f"{name}: {self.symbols.type(value)}" + (" mut" if name in writer.written else ""))
        self.module.graphs.append(writer.text(inputs, results, metas))
        self.symbols.read, self.symbols.equal = outside
        return spelling.graph_name(writer.name)

    def control(self, node, call):
        metas = list(tree_leaves(node.meta["val"], is_leaf=lambda x: x is None))
        names = [self.fresh(f"{node.name}.{i}" if len(metas) > 1 else node.name) for i in range(len(metas))]
        self.statement([(n, None) for n in names], call, node)
        return Several(names)

    def cond(self, node, env):
        pred, yes, no, operands = node.args
        graphs = [self.subgraph(env[g], node, g.name) for g in (yes, no)]
        call = f"lenz.cond({self.spell(pred, env)}, {', '.join(graphs)}, {self.spell(list(operands), env)})"
        return self.control(node, call)

    def while_loop(self, node, env):
        more, body, carried, additional = node.args
        graphs = [self.subgraph(env[g], node, g.name) for g in (more, body)]
        call = f"lenz.while_loop({', '.join(graphs)}, {self.spell(list(carried), env)}{self.additional(additional, env)})"
        return self.control(node, call)

    def scan(self, node, env):
        combine, init, xs, additional = node.args
        graph = self.subgraph(env[combine], node, combine.name)
        call = f"lenz.scan({graph}, {self.spell(list(init), env)}, {self.spell(list(xs), env)}{self.additional(additional, env)})"
        return self.control(node, call)

    def map_impl(self, node, env):
        body, xs, additional = node.args  # a scan that carries nothing
        graph = self.subgraph(env[body], node, body.name)
        call = f"lenz.scan({graph}, [], {self.spell(list(xs), env)}{self.additional(additional, env)})"
        return self.control(node, call)

    def additional(self, operands, env):
        return f", additional={self.spell(list(operands), env)}" if operands else ""

    # --- text ---

    def text(self, inputs, results, metas, facts=None):
        if facts is None:
            own = self.symbols.read | set(re.findall(r"\w+", " ".join(self.symbols.equal)))
            for _, value in metas:
                if isinstance(value, torch.Tensor):
                    own |= {self.symbols.dim(d) for d in (*value.shape, *value.stride())}
                elif isinstance(value, torch.SymInt):
                    own.add(self.symbols.dim(value))
            facts = self.symbols.facts_about(own, self.symbols.facts())
        head = f"graph {spelling.graph_name(self.name)}({', '.join(inputs)})"
        if facts:
            head += f" where {', '.join(facts)}"
        return "\n".join([head + " {", *("  " + line for line in self.lines), f"  return {', '.join(map(str, results))}".rstrip(), "}"])
