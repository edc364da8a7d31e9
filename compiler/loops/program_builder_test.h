// For tests and benchmarks: programs made by hand, a line for each instruction.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "compiler/loops/program.h"

namespace lenz::loops::test {

class NestBuilder {
 public:
  NestBuilder(Context& context, std::string name) : context_(context) { nest_.name = std::move(name); }

  Dim axis(Dim extent, AxisKind kind = AxisKind::parallel) {
    Dim symbol = context_.syms.symbol("i" + std::to_string(nest_.axes.size()));
    nest_.axes.push_back({symbol, extent, kind});
    return symbol;
  }
  Dim reduction(Dim extent) { return axis(extent, AxisKind::reduction); }
  Dim scan_axis(Dim extent) { return axis(extent, AxisKind::scan); }

  Ssa real(Dtype dtype, double value) { return constant(dtype, ScalarValue(value)); }
  Ssa integer(Dtype dtype, int64_t value) { return constant(dtype, ScalarValue(value)); }
  Ssa load(const Buffer& buffer, BufferId id, std::initializer_list<Dim> index, Ssa mask = kNone) {
    Instr& i = add(InstrKind::load, buffer.type.dtype);
    i.buffer = id;
    i.index = index;
    i.mask = mask;
    return last();
  }
  Ssa index(Dim dim) {
    add(InstrKind::index, Dtype::i64).index = {dim};
    return last();
  }
  Ssa scalar(std::string_view row, Dtype compute, std::initializer_list<Ssa> operands, Dtype target = Dtype::f32) {
    const ScalarRow* found = find_scalar(row);
    Instr& i = add(InstrKind::scalar, result_dtype(*found, compute, target));
    i.row = found;
    i.compute = compute;
    i.operands = operands;
    return last();
  }
  // The dim that stands for the value of `operand`.
  Dim position(Ssa operand, Dim extent, bool wraps = false, Ssa mask = kNone) {
    Dim symbol = context_.syms.symbol("p" + std::to_string(nest_.body.size()));
    Instr& i = add(InstrKind::position, Dtype::i64);
    i.operands = {operand};
    i.symbol = symbol;
    i.extent = extent;
    i.wraps = wraps;
    i.mask = mask;
    return symbol;
  }
  Ssa reduce(Combine combine, Dtype dtype, std::initializer_list<Ssa> operands) {
    return combined(InstrKind::reduce, combine, dtype, operands);
  }
  Ssa scan(Combine combine, Dtype dtype, std::initializer_list<Ssa> operands) {
    return combined(InstrKind::scan, combine, dtype, operands);
  }
  Ssa part(Ssa of, uint32_t number) {
    const Instr& whole = nest_.body[of];
    Instr& i = add(InstrKind::part, part_dtype(whole.combine, whole.dtype, number));
    i.operands = {of};
    i.part = number;
    return last();
  }
  Ssa draw(DrawKind kind, Dtype dtype, Dim element, uint32_t stream = 0) {
    Instr& i = add(InstrKind::draw, dtype);
    i.draw = kind;
    i.index = {element};
    i.stream = stream;
    return last();
  }
  void store(BufferId buffer, std::initializer_list<Dim> index, Ssa value, StoreMode mode = StoreMode::assign,
             Ssa mask = kNone) {
    nest_.stores.push_back({buffer, index, value, mask, mode, false});
  }

  Node done() { return Node{std::move(nest_)}; }

 private:
  Instr& add(InstrKind kind, Dtype dtype) {
    Instr& i = nest_.body.emplace_back();
    i.kind = kind;
    i.dtype = dtype;
    return i;
  }
  Ssa constant(Dtype dtype, ScalarValue value) {
    add(InstrKind::constant, dtype).value = value;
    return last();
  }
  Ssa combined(InstrKind kind, Combine combine, Dtype dtype, std::initializer_list<Ssa> operands) {
    Instr& i = add(kind, dtype);
    i.combine = combine;
    i.operands = operands;
    return last();
  }
  Ssa last() const { return static_cast<Ssa>(nest_.body.size() - 1); }

  Context& context_;
  Nest nest_;
};

class ProgramBuilder {
 public:
  ProgramBuilder() { program.context = std::make_shared<Context>(); }

  Dim symbol(std::string_view name) { return program.context->syms.symbol(name); }
  BufferId input(std::string name, Dtype dtype, std::initializer_list<Dim> sizes) {
    BufferId id = buffer(std::move(name), dtype, sizes, BufferKind::input);
    program.inputs.push_back({Input::tensor, id, 0, program.buffers[id].name});
    return id;
  }
  Dim integer_input(std::string name) {
    Dim dim = symbol(name);
    program.inputs.push_back({Input::symbol, kNone, dim, std::move(name)});
    return dim;
  }
  BufferId temporary(std::string name, Dtype dtype, std::initializer_list<Dim> sizes) {
    return buffer(std::move(name), dtype, sizes, BufferKind::temporary);
  }
  BufferId view(BufferId of, std::initializer_list<Dim> sizes, std::initializer_list<Dim> strides, Dim offset) {
    BufferId id =
        buffer(program.buffers[of].name + "_view", program.buffers[of].type.dtype, sizes, program.buffers[of].kind);
    Buffer& b = program.buffers[id];
    b.type.strides = strides;
    b.type.offset = offset;
    b.placed = true;
    b.view_of = of;
    return id;
  }
  void output(BufferId id) {
    Output& o = program.outputs.emplace_back();
    o.kind = Output::tensor;
    o.buffer = id;
    o.type = program.buffers[id].type;
  }
  NestBuilder nest(std::string name = "n") { return {*program.context, std::move(name)}; }
  void add(NestBuilder& nest) { program.body.nodes.push_back(nest.done()); }
  template <class T>
  void add(T node) {
    program.body.nodes.push_back(Node{std::move(node)});
  }
  Ssa load(NestBuilder& nest, BufferId id, std::initializer_list<Dim> index, Ssa mask = kNone) const {
    return nest.load(program.buffers[id], id, index, mask);
  }

  Program program;

 private:
  BufferId buffer(std::string name, Dtype dtype, std::initializer_list<Dim> sizes, BufferKind kind) {
    Buffer& b = program.buffers.emplace_back();
    b.name = std::move(name);
    b.kind = kind;
    b.type = contiguous_tensor(dtype, DimVec(sizes));
    return static_cast<BufferId>(program.buffers.size() - 1);
  }
};

}  // namespace lenz::loops::test
