#include "compiler/lower/coordinates.h"

#include <algorithm>
#include <numeric>

namespace lenz::lower {

namespace {
bool same(const loops::Program& program, Dim a, Dim b) {
  return a == b || program.assumptions.known().proves(eq(a, b));
}

struct Axis {
  Dim size, stride;
};

// Dims without those of size 1, and those that step on where the next one ends as one: of all layouts under which the
// elements lie in one order it is the same.
std::vector<Axis> collapsed(const Facts& facts, const TensorType& type) {
  auto same = [&](Dim a, Dim b) { return a == b || facts.proves(eq(a, b)); };
  std::vector<Axis> axes;  // innermost first
  for (size_t d = type.rank(); d-- > 0;) {
    if (same(type.sizes[d], 1)) continue;
    if (!axes.empty() && same(type.strides[d], axes.back().stride * axes.back().size))
      axes.back().size *= type.sizes[d];
    else
      axes.push_back({type.sizes[d], type.strides[d]});
  }
  return axes;
}

// The dims of several elements, outermost first, and how far apart the innermost ones' elements lie, of a tensor that
// is proved to have no overlap, and no gaps but that one between all elements.
struct EvenOrder {
  std::vector<size_t> dims;
  Dim step = 1;
};
std::optional<EvenOrder> even_order(const loops::Program& program, const TensorType& type) {
  std::vector<size_t> order(type.rank());
  std::iota(order.begin(), order.end(), 0);
  const Facts& facts = program.assumptions.known();
  std::erase_if(order, [&](size_t d) { return same(program, type.sizes[d], 1); });
  std::ranges::stable_sort(order,
                           [&](size_t a, size_t b) { return facts.proves(lt(type.strides[b], type.strides[a])); });
  const Dim step = order.empty() ? Dim(1) : type.strides[order.back()];
  if (!facts.proves(ge(step, 1))) return std::nullopt;
  Dim expected = step;
  for (size_t k = order.size(); k-- > 0;) {
    if (!same(program, type.strides[order[k]], expected)) return std::nullopt;
    expected *= type.sizes[order[k]];
  }
  return EvenOrder{std::move(order), step};
}
}  // namespace

DimVec broadcast_coordinates(loops::Program& program, std::span<const Dim> at, std::span<const Dim> sizes) {
  LENZ_CHECK(at.size() >= sizes.size(), "fewer coordinates than dims to broadcast");
  DimVec out;
  for (size_t d = 0; d < sizes.size(); ++d)
    out.push_back(same(program, sizes[d], 1) ? Dim(0) : at[at.size() - sizes.size() + d]);
  return out;
}

Dim raveled_coordinate(std::span<const Dim> at, std::span<const Dim> sizes) {
  Dim line = 0;
  for (size_t d = 0; d < at.size(); ++d) line = line * sizes[d] + at[d];
  return line;
}

DimVec reshaped_coordinates(loops::Program& program, std::span<const Dim> at, std::span<const Dim> from,
                            std::span<const Dim> to) {
  DimVec out(to.size(), Dim(0));
  if (std::ranges::any_of(to, [](Dim d) { return d.is(0); })) return out;  // nothing is there
  size_t f = 0, t = 0;
  while (f < from.size() || t < to.size()) {
    // The shortest group of either side whose products agree; where nothing can be proved, all that is left.
    size_t f_end = f, t_end = t;
    Dim f_size = f < from.size() ? from[f_end++] : Dim(1), t_size = t < to.size() ? to[t_end++] : Dim(1);
    while (!same(program, f_size, t_size)) {
      const Facts& facts = program.assumptions.known();
      if (t_end < to.size() && (f_end == from.size() || facts.proves(le(t_size, f_size)))) {
        t_size *= to[t_end++];
      } else if (f_end < from.size() && (t_end == to.size() || facts.proves(le(f_size, t_size)))) {
        f_size *= from[f_end++];
      } else {
        f_end = from.size();
        t_end = to.size();
        break;
      }
    }
    Dim line = raveled_coordinate(at.subspan(f, f_end - f), from.subspan(f, f_end - f));
    // Dims of size 1 take nothing off the line.
    for (size_t d = t_end; d-- > t;) {
      if (same(program, to[d], 1)) continue;
      bool last = true;
      for (size_t k = t; k < d; ++k) last = last && same(program, to[k], 1);
      out[d] = last ? line : mod(line, to[d]);
      if (last) break;
      line = floor_div(line, to[d]);
    }
    f = f_end;
    t = t_end;
  }
  return out;
}

bool lies_as(const loops::Program& program, const TensorType& a, const TensorType& b) {
  if (!same(program, numel(a.sizes), numel(b.sizes))) return false;
  Facts facts = program.assumptions.known();
  for (const TensorType* type : {&a, &b})
    for (Dim size : type->sizes)
      if (!facts.proves(ge(size, 1)) && !facts.add(ge(size, 1))) return true;  // nothing is there
  const std::vector<Axis> x = collapsed(facts, a), y = collapsed(facts, b);
  return std::ranges::equal(x, y, [&](const Axis& p, const Axis& q) {
    return facts.proves(eq(p.size, q.size)) && facts.proves(eq(p.stride, q.stride));
  });
}

bool is_dense(const loops::Program& program, const TensorType& type) {
  const auto order = even_order(program, type);
  return order && same(program, order->step, 1);
}

std::optional<Dim> even_step(const loops::Program& program, const TensorType& type) {
  const auto order = even_order(program, type);
  return order ? std::optional(order->step) : std::nullopt;
}

DimVec storage_coordinates(loops::Program& program, const TensorType& type, Dim element) {
  const auto order = even_order(program, type);
  if (!order) throw Unsupported("a tensor with gaps or overlap, looked at through its memory");
  DimVec out(type.rank(), Dim(0));
  for (size_t k = 0; k < order->dims.size(); ++k) {
    const size_t d = order->dims[k];
    Dim quotient = floor_div(element, type.strides[d]);
    // Of sizes that nobody knows yet no proof will say that the outermost quotient stays below its own.
    bool certain = k == 0 && type.sizes[d].is_constant();
    out[d] = certain ? quotient : mod(quotient, type.sizes[d]);
  }
  return out;
}

}  // namespace lenz::lower
