"""lenz.export and lenz.export_fx: a program, its values and its sources as files."""

import dataclasses
import json
import os
import re
from pathlib import Path

import numpy as np
import torch
from torch.utils._pytree import tree_flatten_with_path

from . import capture, command, dims, spared, spelling, weights as values
from .errors import ExportError, source_of_node
from .slices import Slices
from .spelling import Unspeakable
from .symbols import Symbols
from .writer import GraphWriter, Module, bare


@dataclasses.dataclass
class Exported:
    """What was written. `inputs`: (name in the text, kind, value or example), in order. `places`: where each stands among
    the arguments, as `(args, kwargs)` in one; None of what is none."""

    path: Path
    text: str
    inputs: list
    externs: dict  # schema -> where it is called
    files: list
    places: list

    def save_inputs(self, path, args=None, kwargs=None):
        """The values of all inputs as an `.npz` for `lenz run --inputs`; of arguments the examples, or these. Integers that
        `dynamic` calls dynamic are in it too, as int64 without dims. The file beside the text keeps the text's constants."""
        given = None if args is None else dict(tree_flatten_with_path((args, kwargs or {}))[0])
        arrays = values.kept_in(path) if Path(path).absolute() in [f.absolute() for f in self.files] else {}
        for (name, kind, value), place in zip(self.inputs, self.places):
            if kind == "argument" and given is not None:
                if place not in given:
                    raise ExportError(f"`{name}` is not among these arguments", remedy="give those that were exported with")
                value = given[place]
            if isinstance(value, torch.Tensor):
                arrays[name] = values.as_array(value)
            elif isinstance(value, int):
                arrays[name] = np.array(value, dtype=np.int64)
        values.write(path, arrays)


def export(model_or_fn, args, path, kwargs=None, dynamic=None, *, weights="store", via="export", sources=True,
           constant_limit=1 << 26):
    """Writes what a module or function does with such arguments as the text of a graph; returns what it wrote.

    dynamic: as torch.export's dynamic_shapes; a string names a size, range(1, 65) bounds one.
    weights: "store" keeps values in PATH's `.npz`; "seeded" has the text declare initialisers of like distribution.
    via: "export" (torch.export), or "fx" (FX's symbolic trace, whose graph has no dynamic sizes).
    sources: whether a `.sources.json` says where in the user's source each value came from.
    constant_limit: bytes; a tensor that the program has built in may not be larger."""
    kwargs = kwargs or {}
    capture.require_dense(model_or_fn, args, kwargs)
    if via == "export":
        if isinstance(model_or_fn, torch.export.ExportedProgram):
            program = capture.of_exported(model_or_fn, (args, kwargs))
        else:
            program = capture.by_export(model_or_fn, args, kwargs, dynamic)
    elif via == "fx":
        if dynamic:
            raise ExportError("FX's symbolic trace has no dynamic sizes", remedy="leave out `dynamic`, or `via`")
        program = capture.by_fx(model_or_fn, args, kwargs)
    else:
        raise ExportError(f"there is no door `{via}`", remedy='say via="export" or via="fx"')
    return _write(program, path, weights, sources, constant_limit)


def export_fx(graph_module, args, path, *, weights="store", sources=True, constant_limit=1 << 26):
    """The same of an FX graph: of ATen calls as it is, of other calls after tracing it to ATen's with these arguments."""
    return _write(capture.of_graph_module(graph_module, args), path, weights, sources, constant_limit)


def _write(program, path, weights, sources, constant_limit):
    if weights not in ("store", "seeded"):
        raise ExportError(f"there is no way `{weights}` to keep weights", remedy='say weights="store" or weights="seeded"')
    path = Path(path)
    if path.suffix != ".lenz":
        raise ExportError(f"the path {path} does not end in .lenz", remedy="name the text so: model.lenz")
    if not path.parent.is_dir() or not os.access(path.parent, os.W_OK):
        raise ExportError(f"there is no folder {path.parent} that can be written to", remedy="make it, or name another path")
    module = Module(Symbols(program.shape_env(), program.asked))
    writer = GraphWriter(module, program.gm, _graph_name(path))
    inputs, metas, env, arrays, kept = [], [], {}, {}, []
    by_memory = {}

    try:
        module.symbols.bind([d for i in program.inputs for d in _dims(i.placeholder.meta.get("val"))])
    except Unspeakable as e:
        raise ExportError(f"{e} can't be told from the arguments", remedy="give that size as an argument, or fix it") from None

    for i in program.inputs:
        value = i.placeholder.meta.get("val")
        if i.kind != "argument" and not i.placeholder.users:
            continue
        if i.kind == "constant":
            env[i.placeholder] = writer.fresh(i.name)
            _constant(i, env[i.placeholder], writer, arrays, path, constant_limit)
            continue
        if not isinstance(value, (torch.Tensor, torch.SymInt)):
            continue  # a number or None: the graph was made for this very one
        memory = _memory(i.real) if i.kind != "argument" else None
        if memory is not None and memory in by_memory:
            env[i.placeholder] = by_memory[memory]
            continue
        name = writer.input(i.name, i.real if isinstance(i.real, torch.Tensor) else value)
        by_memory[memory] = name
        env[i.placeholder] = name
        metas.append((name, value))
        kept.append((i, name))
    _results(program, writer, env, outputs := [])
    seeded = weights == "seeded"
    aliases = _alias_classes([i for i, _ in kept])
    for n, (i, name) in enumerate(kept):
        made = None
        if seeded:
            made = (values.like_example if i.kind == "argument" else values.initialiser)(i.real, n + 1)
        if seeded and i.kind != "argument" and made is None:
            if name in writer.written:
                raise ExportError(f"no initialiser gives the {i.kind} `{i.name}`, which the program writes to",
                                  remedy='export with weights="store"')
            _constant(i, name, writer, arrays, path, constant_limit)
            metas = [m for m in metas if m[0] != name]
            continue
        value = i.placeholder.meta["val"]
        try:
            text = f"{name}: {module.symbols.type(value)}"
        except Unspeakable as e:
            raise ExportError(f"{e} of the {i.kind} `{i.name}` has no place in a graph",
                              remedy="pass a dense tensor of one of the dtypes in GRAMMAR.md") from None
        text += f" alias {aliases[n]}" if aliases[n] else ""
        text += " mut" if name in writer.written else ""
        if isinstance(value, torch.Tensor) and getattr(i.real, "requires_grad", value.requires_grad):
            text += " requires_grad"
        if made is not None:
            text += f" init {made}"
        elif i.kind != "argument":
            arrays[bare(name)] = values.as_array(i.real)
        inputs.append(text)
    main = writer.text(inputs, outputs, metas, _facts(module))
    externs = "".join(f"extern {spelling.quoted(schema)}\n" for schema in module.externs)
    text, missing = _of_few(externs + "\n\n".join([main, *module.graphs]) + "\n", program, module, path)
    done = _filed(path, text, module, arrays, [(bare(name), i.kind, i.real) for i, name in kept if name in dict(metas)],
                  sources, [i.place for i, name in kept if name in dict(metas)])
    dims.tell(missing, stacklevel=3)
    return done


def _of_few(text, program, module, path):
    """The text for sizes 0 and 1 as far as it is for them: without conditions that it does not need, with those that it does;
    and what is left out of the sizes that were asked for."""
    symbols, left_out, missing, everywhere = module.symbols, [], [], {}
    names = {symbol: name for name, symbol in symbols.named().items()}
    for symbol, (guards, sizes) in spared.conditions(symbols.shape_env, program.within, program.decided + module.decided).items():
        if symbol not in names:
            continue
        kept = set(symbols.facts(but=[*left_out, *guards]))
        fewer = spared.without(text, set(symbols.facts()) - kept)
        try:
            told = _canonical(fewer, module, path)
        except ExportError:
            continue
        sizes = [n for n in sizes if not spared.are_excluded(symbols.shape_env, symbol, n, [*left_out, *guards])]
        places = [{names[symbol]: n} for n in sizes] + [{names[symbol]: n} | everywhere for n in sizes if everywhere]
        if all(spared.differs_at(told, path.parent, place) is None for place in places):
            text, left_out = fewer, [*left_out, *guards]
            everywhere |= {names[symbol]: n for n in sizes[:1]}
    for dim, symbol, size in program.few:
        if symbol not in names or spared.are_excluded(symbols.shape_env, symbol, size, left_out):
            continue
        value = spared.differs_at(_canonical(text, module, path), path.parent, {names[symbol]: size}, spared.have_as_many_dims)
        if value is not None:
            text = spared.stating(text, {names[symbol]: size}, "{name} != {size}")
            line = next((found[value[1:]] for found in module.sources.values() if value[1:] in found), None)
            missing.append(dims.left_out(dim, size, line))
    return text, [words for guard, words in program.missing if guard not in left_out] + missing


def _filed(path, *what):
    try:
        return _files(path, *what)
    except OSError as e:
        raise ExportError(f"{path} can't be written: {e.strerror}", remedy="name another path, or make room") from e


def _graph_name(path):
    return path.stem


def _dims(value):
    if isinstance(value, torch.Tensor):
        return [*value.shape, *value.stride(), value.storage_offset()]
    return [value]


def _facts(module):
    try:
        return module.symbols.facts()
    except Unspeakable as e:
        raise ExportError(f"{e}, on which the program was specialised, has no place in a graph",
                          remedy="narrow the range of that size in `dynamic`, or fix it") from None


def _memory(tensor):
    """What tells two names of one parameter."""
    if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0:
        return None
    return (tensor.data_ptr(), tensor.dtype, tuple(tensor.shape), tuple(tensor.stride()))


def _alias_classes(inputs):
    storages = [i.real.untyped_storage().data_ptr() if isinstance(i.real, torch.Tensor) and i.real.numel()
                and i.real.device.type != "meta" else None for i in inputs]
    shared = sorted({s for s in storages if s is not None and storages.count(s) > 1}, key=storages.index)
    names = {s: f"a{n}" for n, s in enumerate(shared)}
    return [names.get(s) for s in storages]


def _constant(i, name, writer, arrays, path, limit):
    """A tensor that the program has built in: in the text if it is small, else in the file beside it."""
    tensor = i.real
    size = tensor.numel() * tensor.element_size()
    if size > limit:
        where = next((s for u in i.placeholder.users if (s := source_of_node(u))), None)
        raise ExportError(f"the program has a constant of {size:,} bytes built in (`{i.name}`)", where,
                          "make it a parameter or buffer of the module, or an argument")
    if tensor.numel() <= values.INLINE:
        data = spelling.constant(tensor)
    else:
        key = bare(name)
        arrays[key] = values.as_array(tensor)
        dims = ", ".join(map(str, tensor.shape))
        data = f"{spelling.dtype_name(tensor.dtype)}[{dims}] {spelling.quoted(path.stem + '.npz')}:{spelling.quoted(key)}"
    writer.constant(name, data)


def _results(program, writer, env, outputs):
    results = writer.write_nodes(program.gm, env)
    for result, target in zip(results, program.written_back):
        if target is None:
            outputs.append(result)
        else:  # functional programs return what was written
            name = env[target]
            writer.statement([(writer.fresh(f"{target.name}_written"), None)], f"aten.copy_.default({name}, {result})")
            writer.written.add(name)


def _files(path, text, module, arrays, inputs, sources, places):
    text = _canonical(text, module, path)
    store = path.with_suffix(".npz")
    contents = {store: lambda to: values.write(to, arrays)} if arrays else {}
    contents[path] = lambda to: to.write_text(text)
    if sources:
        told = json.dumps({graph: {name: dataclasses.asdict(s) for name, s in found.items()}
                           for graph, found in module.sources.items()}, indent=1) + "\n"
        contents[path.with_suffix(".sources.json")] = lambda to: to.write_text(told)
    _write_all(contents)
    if not arrays:
        store.unlink(missing_ok=True)
    files = sorted(contents, key=lambda file: file != path)
    externs = {schema: [str(s) for n in nodes if (s := source_of_node(n))] for schema, nodes in module.externs.items()}
    return Exported(path, text, inputs, externs, files, places)


def _write_all(contents):
    """Files, each by who writes it: all of them, or none, and what was there stays."""
    written = {}
    try:
        for file, write in contents.items():
            written[file] = file.with_name(f"{file.name}.{os.getpid()}")
            write(written[file])
    except BaseException:
        for temporary in written.values():
            temporary.unlink(missing_ok=True)
        raise
    for file, temporary in written.items():
        temporary.replace(file)


def _split(type_text):
    """Dtype, sizes and the rest of a type as text."""
    dtype, _, rest = type_text.partition("[")
    sizes, _, rest = rest.partition("]")
    return dtype, spared.parts(sizes), rest


def _named_here(said, told, text, agree):
    """What the sizes are to which the first of two types gives names that stand nowhere before it but in facts that say what they
    equal: dim -> name and size. None: the types differ in more than that, in how a size is written, and in strides."""
    (dtype, sizes, _), (other_dtype, other_sizes, _) = _split(said), _split(told)
    if dtype != other_dtype or len(sizes) != len(other_sizes):
        return None
    before, meant = text[: text.index(said)], {}
    for at, (name, size) in enumerate(zip(sizes, other_sizes)):
        named = re.fullmatch(r"u\d+", name)
        if name == size or (not named and agree(name, size)):
            continue
        if not named or (re.search(_spelled(name), before) and not re.search(rf"{_spelled(name)} == ", before)):
            return None
        meant[at] = name, size
    return meant


def _without_facts(head, symbol):
    """A graph's first line without what it says of one symbol."""
    before, where, facts = head.removesuffix(" {").partition(" where ")
    kept = [f for f in spared.parts(facts) if not re.match(rf"{symbol} (==|in) ", f)]
    return f"{before}{where}{', '.join(kept)} {{" if where and any(kept) else f"{before} {{"


def _spelled(symbol):
    return rf"(?<![%\w.]){symbol}\b"


def _replaced(text, symbol, size):
    """Outside of strings."""
    return re.sub(rf'"(?:\\.|[^"\\])*"|{_spelled(symbol)}', lambda m: m[0] if m[0][0] == '"' else f"({size})", text)


def _canonical(text, module, path):
    """In canonical spelling. Of a size that torch gave a name (`u0`), for it could not tell, and of its strides, the row is
    right that infers them."""
    slices = Slices(module.symbols)
    origin = dict(module.node_of)  # a statement's text, as it stands now, -> its node
    for _ in range(64):
        try:
            return command.canonical(text, path.parent)
        except command.Refused as e:
            lines = text.splitlines()
            line = lines[e.line - 1].strip() if 0 < e.line <= len(lines) else ""
            told = re.search(r"(%\S+) is (.*) here$", str(e).splitlines()[0])
            said = re.search(rf"{re.escape(told[1])}: (.*?)(?=, %| = )", line) if told else None
            meant = None
            if said and said[1] != told[2]:
                meant = _named_here(said[0], f"{told[1]}: {told[2]}", text, slices.agree)
            if meant is not None:
                node = origin.get(line)
                meant = {symbol: slices.length(node, at, size) for at, (symbol, size) in meant.items()}
                lines[e.line - 1] = "  " + line.replace(said[0], f"{told[1]}: {told[2]}", 1)
                origin[lines[e.line - 1].strip()] = origin.get(line)
                for symbol, size in meant.items():
                    lines[:] = [_without_facts(old, symbol) if old.startswith("graph ") else old for old in lines]
                    renamed = [_replaced(old, symbol, size) for old in lines]
                    origin |= {new.strip(): origin.get(old.strip()) for old, new in zip(lines, renamed)}
                    lines = renamed
                text = "\n".join(lines) + "\n"
                continue
            node = origin.get(line)
            raise ExportError(f"lenz refuses the graph: {e}", source_of_node(node) if node is not None else None,
                              "mend that line if eager refuses it too; else lenz has no such form: write it another way") from None
    raise ExportError("lenz refuses the graph again and again", remedy="report it with the program")
