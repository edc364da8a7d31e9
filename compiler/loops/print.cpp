// The printer of programs. What it writes reads back as an equal program; of a broken one it writes what text can say.
#include <optional>
#include <unordered_set>

#include "compiler/base/lexer.h"
#include "compiler/graph/print_literal.h"
#include "compiler/loops/text.h"

namespace lenz::loops {

namespace {

class Printer {
 public:
  Printer(const Program& program, const ProgramPrintOptions& options) : program_(program), options_(options) {
    std::unordered_set<std::string> taken;
    names_.resize(program.buffers.size());
    for (BufferId id : declaration_order(program)) {
      std::string name = program.buffers[id].name.empty() ? "b" + std::to_string(id) : program.buffers[id].name;
      std::string stem = name;
      for (int i = 1; !taken.insert(name).second; ++i) name = stem + "_" + std::to_string(i);
      names_[id] = std::move(name);
    }
  }

  std::string out;

  void program() {
    line([&] {
      out += "loops ";
      append_name(out, '@', program_.name);
      append_facts(out, program_.assumptions);
      out += " {";
    });
    ++depth_;
    for (const auto& row : program_.context->externs.rows())
      line([&] {
        out += "extern ";
        append_quoted(out, to_string(row->schema));
      });
    for (size_t i = 0; i < program_.streams.size(); ++i) line([&] { stream(i); });
    for (const Input& i : program_.inputs) line([&] { input(i); });
    size_t tensors = 0;  // inputs, which come first
    for (const Input& i : program_.inputs) tensors += i.kind == Input::tensor;
    std::vector<BufferId> order = declaration_order(program_);
    for (size_t i = std::min(tensors, order.size()); i < order.size(); ++i) line([&] { declaration(order[i]); });
    block(program_.body);
    line([&] { returns(); });
    --depth_;
    close();
    if (options_.comments)
      for (const std::string& comment : options_.comments->below) out += comment + '\n';
  }

  void buffer(BufferId id) {
    if (id == kNone) {
      out += "none";
    } else {
      append_name(out, '%', id < names_.size() ? std::string_view(names_[id]) : "?");
    }
  }

  // The first line of a node.
  void head(const Node& node) {
    std::visit([&](const auto& n) { head(n); }, node.is);
  }

  void instruction(const Nest& nest, Ssa at) {
    const Instr& i = nest.body[at];
    ssa(at);
    if (derived_dtype(program_, nest, i) != i.dtype) {
      out += ": ";
      out += lenz::name(i.dtype);
    }
    out += " = ";
    switch (i.kind) {
      case InstrKind::constant: constant(i); break;
      case InstrKind::index:
        out += "index";
        indices(i.index);
        break;
      case InstrKind::load:
        out += "load ";
        buffer(i.buffer);
        indices(i.index);
        break;
      case InstrKind::scalar:
        out += i.row ? i.row->name : "?";
        out += '.';
        out += lenz::name(i.compute);
        operands(i);
        break;
      case InstrKind::position:
        out += "position";
        operands(i);
        out += " < ";
        append_dim(out, i.extent);
        out += " as ";
        append_dim(out, i.symbol);
        if (i.wraps) out += " wraps";
        break;
      case InstrKind::reduce:
      case InstrKind::scan:
        out += i.kind == InstrKind::reduce ? "reduce " : "scan ";
        if (i.ordered && i.kind == InstrKind::reduce) out += "ordered ";
        out += row_of(i.combine).name;
        operands(i);
        break;
      case InstrKind::part:
        out += "part ";
        append_int(out, i.part);
        out += " of";
        operands(i);
        break;
      case InstrKind::draw:
        out += "draw ";
        out += name(i.draw);
        out += " stream ";
        append_int(out, i.stream);
        indices(i.index);
        break;
    }
    mask(i.mask);
  }

  void store(const Store& s) {
    out += "store ";
    if (s.mode != StoreMode::assign) {
      out += name(s.mode);
      out += ' ';
    }
    if (s.distinct) out += "distinct ";
    buffer(s.buffer);
    indices(s.index);
    out += " = ";
    ssa(s.value);
    mask(s.mask);
  }

 private:
  // One line, with the comments that belong to it; what stands above a closing brace stands inside.
  template <class F>
  void line(F&& write, bool closing = false) {
    const lenz::Comments::Place* place = nullptr;
    if (options_.comments && line_ < options_.comments->lines.size()) place = &options_.comments->lines[line_];
    ++line_;
    if (place)
      for (const std::string& comment : place->above) {
        indent(closing ? 1 : 0);
        out += comment + '\n';
      }
    indent();
    write();
    if (place && !place->behind.empty()) out += "  " + place->behind;
    out += '\n';
  }

  void indent(size_t more = 0) { out.append(2 * (depth_ + more), ' '); }
  void close() {
    line([&] { out += '}'; }, true);
  }

  // --- declarations

  void stream(size_t i) {
    const Stream& s = program_.streams[i];
    out += "stream ";
    append_int(out, static_cast<int64_t>(i));
    if (s.seed) out += " seed " + std::to_string(*s.seed);
    out += " offset ";
    append_dim(out, s.offset);
  }

  void input(const Input& i) {
    if (i.kind == Input::tensor && i.buffer < program_.buffers.size()) return declaration(i.buffer);
    out += "input ";
    append_name(out, '%', i.name);
    out += i.kind == Input::symbol ? ": int " : ": none";
    if (i.kind == Input::symbol) append_dim(out, i.sym);
  }

  void declaration(BufferId id) {
    constexpr std::string_view kKinds[] = {"input ", "constant ", "temp "};
    const Buffer& b = program_.buffers[id];
    if (b.view_of != kNone) return view(id);
    out += kKinds[static_cast<size_t>(b.kind)];
    buffer(id);
    bool plain = b.data && b.type == b.data->type && !b.placed && !b.local && !b.mutated && !b.alias;
    if (!plain) {
      out += ": ";
      type(b.type);
      if (b.placed) out += " placed";
      if (b.local) out += " local";
      if (b.mutated) out += " mut";
      if (b.alias) append_alias(out, program_.context->name(*b.alias));
      if (b.far) out += *b.far == kAlways ? " far" : " far where " + to_string(*b.far);
    }
    if (b.data) {
      out += " = ";
      append_data(out, *program_.context, *b.data);
    }
    origin(b.origin);
  }

  void view(BufferId id) {
    const Buffer& b = program_.buffers[id];
    out += "view ";
    buffer(id);
    out += " of ";
    buffer(b.view_of);
    out += ": ";
    type(b.type);
    origin(b.origin);
  }

  void type(const TensorType& t) { out += to_string(*program_.context->tensor(t)); }

  void origin(uint32_t set) {
    if (options_.provenance) append_origin(out, *program_.context, set);
  }

  // --- nodes

  void block(const Block& b) {
    for (const Node& node : b.nodes) {
      line([&] { head(node); });
      std::visit([&](const auto& n) { rest(n); }, node.is);
    }
  }

  void inside(const std::unique_ptr<Block>& b) {
    ++depth_;
    if (b) block(*b);
    --depth_;
  }

  template <class N>
  void rest(const N&) {}
  void rest(const Nest& n) {
    ++depth_;
    for (Ssa i = 0; i < n.body.size(); ++i) line([&] { instruction(n, i); });
    for (const Store& s : n.stores) line([&] { store(s); });
    --depth_;
    close();
  }
  void rest(const If& n) {
    inside(n.then);
    if (n.otherwise && !n.otherwise->nodes.empty()) {
      line([&] { out += "} else {"; }, true);
      inside(n.otherwise);
    }
    close();
  }
  void rest(const While& n) {
    inside(n.test);
    line(
        [&] {
          out += "} ";
          buffer(n.condition);
          out += " {";
        },
        true);
    inside(n.body);
    close();
  }
  void rest(const Repeat& n) {
    inside(n.body);
    close();
  }
  void rest(const Kernel& n) {
    inside(n.body);
    close();
  }

  void head(const Nest& n) {
    out += "for ";
    axes(n.axes);
    if (!n.name.empty()) {
      append_quoted(out, n.name);
      out += ' ';
    }
    if (n.tag != NestTag::none) {
      out += "as ";
      out += name(n.tag);
      out += ' ';
    }
    head_end(n.origin);
  }

  void head(const Kernel& n) {
    out += "kernel ";
    axes(n.axes);
    if (!n.name.empty()) {
      append_quoted(out, n.name);
      out += ' ';
    }
    head_end(n.origin);
  }

  void head_end(uint32_t set) {
    if (options_.provenance && set) {
      out.pop_back();
      origin(set);
      out += ' ';
    }
    out += '{';
  }

  void axes(const std::vector<Axis>& axes) {
    bool first = true;
    for (const Axis& a : axes) {
      if (!first) out += ", ";
      first = false;
      if (a.kind != AxisKind::parallel) {
        out += name(a.kind);
        out += ' ';
      }
      append_dim(out, a.symbol);
      out += " < ";
      append_dim(out, a.extent);
      if (a.lanes != 1) out += " lanes " + std::to_string(a.lanes);
      if (a.unroll != 1) out += " unroll " + std::to_string(a.unroll);
    }
    if (!axes.empty()) out += ' ';
  }

  void head(const Sort& n) {
    out += "sort ";
    buffer(n.values);
    if (n.indices != kNone) {
      out += ", ";
      buffer(n.indices);
    }
    out += " = ";
    buffer(n.keys);
    out += " dim ";
    append_int(out, n.dim);
    if (n.descending) out += " descending";
    if (n.stable) out += " stable";
    std::string_view separator = " at ";
    for (Dim place : n.places) {
      out += separator;
      append_dim(out, place);
      separator = ", ";
    }
    origin(n.origin);
  }

  void head(const Extern& n) {
    out += "extern ";
    std::string_view separator;
    for (BufferId r : n.results) {
      out += separator;
      separator = ", ";
      buffer(r);
    }
    if (!n.results.empty()) out += " = ";
    call(n);
    origin(n.origin);
  }

  void call(const Extern& n) {
    if (!n.op) {
      out += "?.?()";
      return;
    }
    const Schema& schema = n.op->schema;
    out += schema.space + "." + schema.packet + "." + (schema.overload.empty() ? "default" : schema.overload) + "(";
    std::string_view separator;
    bool whole = true;  // every parameter so far has its place
    for (size_t i = 0; i < n.args.size() && i < schema.params.size(); ++i) {
      const Param& p = schema.params[i];
      bool required = !p.fallback && !p.type.optional;
      if (!required && is_default(*program_.context, p, n.args[i])) {
        whole = false;
        continue;
      }
      whole = whole && required && !p.keyword_only;
      out += separator;
      separator = ", ";
      if (!whole) out += p.name + "=";
      argument(n.args[i]);
    }
    out += ')';
  }

  void argument(const Arg& a) {
    append_arg(out, *program_.context, a, [&](ValueId v) { buffer(v); }, [&](uint32_t) { out += "@\"?\""; });
  }

  void head(const Bind& n) {
    out += "bind ";
    append_dim(out, n.symbol);
    out += " = ";
    buffer(n.from);
  }

  void head(const Check& n) {
    out += "check ";
    if (n.cond) {
      out += to_string(*n.cond);
    } else {
      buffer(n.holds);
    }
    out += ' ';
    append_quoted(out, n.message);
    origin(n.origin);
  }

  void head(const Print& n) {
    out += "print ";
    append_quoted(out, n.text);
    for (size_t i = 0; i < n.values.size(); ++i) {
      out += n.numbers[i] ? ", number " : ", ";
      buffer(n.values[i]);
    }
  }

  void head(const If& n) {
    out += "if ";
    buffer(n.condition);
    out += " {";
  }
  void head(const While&) { out += "while {"; }
  void head(const Repeat& n) {
    out += "repeat ";
    append_dim(out, n.symbol);
    out += " < ";
    append_dim(out, n.count);
    out += " {";
  }

  // --- bodies

  void ssa(Ssa value) {
    out += '%';
    if (value == kNone) {
      out += "\"?\"";
    } else {
      append_int(out, value);
    }
  }

  void operands(const Instr& i) {
    std::string_view separator = " ";
    for (Ssa operand : i.operands) {
      out += separator;
      separator = ", ";
      ssa(operand);
    }
  }

  void indices(const DimVec& dims) {
    out += '[';
    std::string_view separator;
    for (Dim d : dims) {
      out += separator;
      separator = ", ";
      append_dim(out, d);
    }
    out += ']';
  }

  void mask(Ssa value) {
    if (value == kNone) return;
    out += " if ";
    ssa(value);
  }

  void constant(const Instr& i) {
    out += lenz::name(i.dtype);
    out += ' ';
    switch (i.value.kind()) {
      case ScalarKind::integer:
        if (i.dtype == Dtype::b8) {
          out += i.value.integer() ? "true" : "false";
        } else {
          append_int(out, i.value.integer());
        }
        break;
      case ScalarKind::real: append_real(out, i.value.real()); break;
      case ScalarKind::double_double: append_real(out, i.value.double_double().hi); break;
      case ScalarKind::complex:
        out += "complex(";
        append_real(out, i.value.complex().real());
        out += ", ";
        append_real(out, i.value.complex().imag());
        out += ')';
        break;
    }
  }

  // --- outputs

  void returns() {
    out += "return";
    std::string_view separator = " ";
    for (const Output& o : program_.outputs) {
      out += separator;
      separator = ", ";
      output(o);
      if (o.input == kNone) continue;
      out += " into ";
      if (o.input < program_.inputs.size()) buffer(program_.inputs[o.input].buffer);
    }
  }

  void output(const Output& o) {
    switch (o.kind) {
      case Output::tensor:
        buffer(o.buffer);
        if (o.buffer >= program_.buffers.size() || o.type != program_.buffers[o.buffer].type) {
          out += ": ";
          type(o.type);
        }
        if (o.conjugated) out += " conjugated";
        if (o.negated) out += " negated";
        break;
      case Output::list: {
        out += '[';
        std::string_view separator;
        for (const Output& e : o.elements) {
          out += separator;
          separator = ", ";
          output(e);
        }
        out += ']';
        break;
      }
      case Output::integer:
        out += "int ";
        append_dim(out, o.value);
        break;
      case Output::literal:
        out += "literal ";
        argument(o.literal_value);
        break;
      case Output::number:
        out += "number ";
        buffer(o.buffer);
        break;
      case Output::none: out += "none"; break;
    }
  }

  const Program& program_;
  const ProgramPrintOptions options_;
  std::vector<std::string> names_;  // of buffers
  size_t depth_ = 0, line_ = 0;
};

}  // namespace

std::string print(const Program& program, const ProgramPrintOptions& options) {
  Printer printer(program, options);
  printer.program();
  return std::move(printer.out);
}

// Names of all buffers are made for the first piece: most who may have to say something never do.
struct ProgramText::Impl {
  explicit Impl(const Program& of) : program(of) {}
  const Program& program;
  std::optional<Printer> printer;

  template <class F>
  std::string piece(F&& write) {
    if (!printer) printer.emplace(program, ProgramPrintOptions());
    printer->out.clear();
    write(*printer);
    return printer->out;
  }
};

ProgramText::ProgramText(const Program& program) : impl_(std::make_unique<Impl>(program)) {}
ProgramText::~ProgramText() = default;

std::string ProgramText::buffer(BufferId id) {
  return impl_->piece([&](Printer& p) { p.buffer(id); });
}
std::string ProgramText::node(const Node& node) {
  return impl_->piece([&](Printer& p) { p.head(node); });
}
std::string ProgramText::instruction(const Nest& nest, Ssa at) {
  return impl_->piece([&](Printer& p) { p.instruction(nest, at); });
}
std::string ProgramText::store(const Store& store) {
  return impl_->piece([&](Printer& p) { p.store(store); });
}

}  // namespace lenz::loops
