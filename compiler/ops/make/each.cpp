#include "compiler/ops/make/each.h"

#include <limits>

#include "compiler/ops/make/common.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/rules/each.h"

namespace lenz::make {

namespace {
// Draws the arguments of one element with the element's own generator, out of the tensors of the call around it.
class ElementMaker final : public CallMaker {
 public:
  ElementMaker(CallMaker& outer, const OpDef& row) : CallMaker(outer.graph(), outer.choose(), row), outer_(outer) {
    row.generate(*this);
  }
  ValueId tensor(const TensorWish& wish) override {
    TensorWish full = wish;
    if (!full.dtype && full.dtypes.empty()) full.dtypes = op_.dtypes;
    if (!full.domain) full.domain = op_.domain;
    return outer_.tensor(full);
  }
  Arg argument(size_t i) { return set_[i] ? args_[i] : default_arg(context(), op_.schema.params[i]); }

 private:
  CallMaker& outer_;
};

// One 0-dim tensor for all elements, which share a dtype for its sake.
void with_shared_tensor(CallMaker& m, const OpDef& row, size_t count) {
  const auto& params = m.op().schema.params;
  bool in_place = writes_in_place(m);
  DtypeSet allowed = computes(m) - dtypes::float8;
  if (in_place && row.has(Trait::makes_float)) allowed = allowed - dtypes::integers - dtypes::boolean;
  Dtype d = m.a_dtype(allowed);
  SmallVec<ValueId, 4> list;
  for (size_t k = 0; k < count; ++k) list.push_back(m.tensor({.dtype = d, .written = in_place}));
  Dtype other = partner_of(m, d, allowed);
  if (in_place && info(other).category > info(d).category) other = d;
  m.set_tensors(params[0].name, list);
  m.set(params[1].name, m.tensor({.dtype = other, .sizes = Sizes()}));
}
}  // namespace

void each(CallMaker& m) {
  Chooser& c = m.choose();
  const OpDef& row = element_row(m.op(), op_table());
  const Schema& schema = m.op().schema;
  size_t count = 1 + c.below(4);
  // What all elements share makes them alike: the first element's numbers must suit the others.
  bool shared = false;
  SmallVec<bool, 8> kept;
  for (size_t i = 0; i < schema.params.size(); ++i) {
    const Param& p = schema.params[i];
    if (p.type.kind == ParamKind::tensor && !p.type.list &&
        row.schema.params[element_param(row, schema, i)].type.kind == ParamKind::tensor)
      return with_shared_tensor(m, row, count);
    bool keep = !p.is_out && (p.type.list || !p.fallback || c.flip());
    kept.push_back(keep);
    shared = shared || (keep && !p.type.list);
  }

  std::vector<std::vector<Arg>> lists(schema.params.size());
  std::optional<ElementMaker> first;
  for (size_t k = 0; k < count; ++k) {
    bool fresh = k == 0 || !shared;
    if (fresh) first.emplace(m, row);
    for (size_t i = 0; i < schema.params.size(); ++i) {
      const Param& p = schema.params[i];
      if (!kept[i]) continue;
      Arg arg = first->argument(element_param(row, schema, i));
      if (p.type.list && !fresh && p.type.kind == ParamKind::tensor) {
        bool written = writes_in_place(m) && i == 0;
        arg = Arg::of_value(
            m.tensor({.dtype = m.type(arg.value()).dtype, .sizes = m.sizes(arg.value()), .written = written}));
      }
      if (p.type.list || k == 0) lists[i].push_back(arg);
    }
  }
  for (size_t i = 0; i < schema.params.size(); ++i) {
    const Param& p = schema.params[i];
    if (!kept[i]) continue;
    if (p.type.list && p.type.kind == ParamKind::tensor) {
      SmallVec<ValueId, 4> values;
      for (const Arg& a : lists[i]) values.push_back(a.value());
      m.set_tensors(p.name, values);
    } else if (p.type.list) {
      m.set(p.name, m.context().args(lists[i]));
    } else if (p.type.kind == ParamKind::tensor) {
      // One number per element.
      Dtype d = m.type(lists[0][0].value()).dtype;
      m.set(p.name, m.tensor({.dtype = d, .sizes = Sizes{static_cast<int64_t>(count)}, .plain = true}));
    } else {
      m.set(p.name, lists[i][0]);
    }
  }
}

void each_norm(CallMaker& m) {
  Chooser& c = m.choose();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  double ord = c.any_of({2.0, 1.0, 0.0, 0.5, 3.0, kInfinity, -1.0, -kInfinity});
  // Of no elements there is no largest and no smallest.
  int64_t min_size = ord < 0 || ord == kInfinity ? 1 : 0;
  SmallVec<ValueId, 4> list;
  for (uint64_t k = 1 + c.below(4); k-- > 0;) list.push_back(m.tensor({.min_size = min_size}));
  m.set_tensors("self", list);
  if (ord != 2 || c.flip()) m.set("ord", Arg::of_real(ord));
}

}  // namespace lenz::make
