#include "oracle/bounds/fine_sums.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>

#include "compiler/graph/pattern_functions.h"
#include "oracle/bounds/flow_parts.h"

namespace lenz::oracle {

using namespace flow;

namespace {
constexpr int64_t kMany = 1 << 16;  // elements

// Operands are cut into slices of so few bits that sums of their products are exact, in whatever order the op takes
// them (as Ozaki's scheme for products of matrices does); what is left after the last slice hardly counts. The slices'
// results are put together in double-double.
class FineSums {
 public:
  FineSums(FlowContext& in, const Call& call, std::span<const Arg> absolute, std::span<const Arg> ones)
      : in_(in), call_(call), absolute_(absolute), ones_(ones) {}

  std::optional<FineSum> into(const at::Tensor& value) {
    if (!fits(value) || !is_linear()) return std::nullopt;
    double n = at::abs(run(ones_, like(1), like(1))).max().item<double>();
    int room = 52 - static_cast<int>(std::ceil(std::log2(std::max(n, 1.0))));
    int bits = products_ ? room / 2 : room;
    if (bits < 12) return std::nullopt;
    for (Operand& o : operands_)
      if (!cut(o, bits)) return std::nullopt;
    total_ = at::zeros(value.sizes(), at::kDouble);
    rest_ = at::zeros(value.sizes(), at::kDouble);
    at::Tensor unsure = products_ ? add_products() : add_terms();
    at::Tensor fine = total_ + rest_;
    if (!all_finite(fine)) return std::nullopt;
    value.copy_(fine);
    at::Tensor size = at::abs(run(absolute_, sizes(0), sizes(1)));
    constexpr double kSlack = 1 + 0x1p-40;
    at::Tensor steps = at::scalar_tensor(n + 2, at::kDouble);
    const at::Tensor lost = at::abs((total_ - fine) + rest_);  // by rounding the reference
    return FineSum{passed() * kSlack,
                   lost * kSlack + size * 0x1p-90 + gamma(steps, 0x1p-53) * unsure + 0x1p-1070 * steps};
  }

 private:
  struct Operand {
    size_t param;
    at::Tensor value, error;
    std::vector<at::Tensor> slices;
    at::Tensor rest;
  };

  bool fits(const at::Tensor& value) {
    const OpDef& op = *call_.op;
    if (op.flow.terms != ErrorFlow::counted || !op.flow.divisor.empty() || value.scalar_type() != at::kDouble ||
        value.numel() == 0 || value.numel() > kMany || shares_operand(call_, value))
      return false;
    for (size_t i = 0; i < call_.args.size(); ++i) {
      const Arg& a = call_.args[i];
      bool number = op.schema.params[i].type.kind == ParamKind::scalar;
      if (number && !a.is_none() && number_of(a) != 1) return false;
      if (a.kind == ArgKind::value_list || a.kind == ArgKind::arg_list) return false;
      if (a.kind != ArgKind::value) continue;
      const RunValue& v = call_.values[a.value()];
      if (!v || !v->value.isTensor()) return false;
      at::Tensor t = v->value.toTensor();
      // An index may choose what is divided by how often it stands there.
      if (!flows(in_, call_, {t, call_.types[a.value()]->dtype, i})) return false;
      if (t.scalar_type() != at::kDouble || t.numel() > kMany) return false;
      Planes p = in_.store.read(t);
      operands_.push_back({i, t, p.error.defined() ? p.error : zeros_like_plane(t), {}, {}});
    }
    return operands_.size() == 1 || operands_.size() == 2;
  }

  // A polynomial without negative coefficients is linear if it is so for ones.
  bool is_linear() {
    at::Tensor all = run(ones_, like(1), like(1)), none = run(ones_, like(0), like(0));
    if (!all.defined() || !none.defined() || !none.eq(0).all().item<bool>()) return false;
    if (operands_.size() == 1) return run(ones_, like(2), {}).equal(all * 2);
    at::Tensor first = run(ones_, like(1), like(0)), second = run(ones_, like(0), like(1));
    products_ = first.eq(0).all().item<bool>() && second.eq(0).all().item<bool>();
    if (products_) return run(ones_, like(2), like(1)).equal(all * 2) && run(ones_, like(1), like(2)).equal(all * 2);
    return all.equal(first + second) && run(ones_, like(2), like(0)).equal(first * 2) &&
           run(ones_, like(0), like(2)).equal(second * 2);
  }

  // The op with other operands; of one operand the second is left out.
  at::Tensor run(std::span<const Arg> args, const std::function<at::Tensor(const at::Tensor&)>& first,
                 const std::function<at::Tensor(const at::Tensor&)>& second) {
    auto made = run_on(in_, call_, args, [&](const Leaf& leaf) {
      for (size_t i = 0; i < operands_.size(); ++i)
        if (operands_[i].param == leaf.param) return i ? second(leaf.value) : first(leaf.value);
      return leaf.value;
    });
    return made.empty() ? at::Tensor() : made[0];
  }
  at::Tensor run(std::span<const Arg> args, const at::Tensor& first, const at::Tensor& second) {
    return run(args, [&](const at::Tensor&) { return first; }, [&](const at::Tensor&) { return second; });
  }
  static std::function<at::Tensor(const at::Tensor&)> like(double number) {
    return [number](const at::Tensor& t) { return zeros_like_plane(t).fill_(number); };
  }
  at::Tensor sizes(size_t i) const { return i < operands_.size() ? at::abs(operands_[i].value) : at::Tensor(); }

  // Into slices that are multiples of powers of two, each of so many bits below the largest element.
  bool cut(Operand& o, int bits) const {
    constexpr int kSafe = 250;  // so that no product leaves the range
    o.rest = o.value;
    for (int k = 0; k < (products_ ? 3 : 2); ++k) {
      double largest = o.rest.numel() ? at::abs(o.rest).max().item<double>() : 0;
      if (largest == 0) break;
      int exponent = std::ilogb(largest) + 1;
      if (exponent > kSafe || exponent < -kSafe) return false;
      double shift = std::ldexp(1.5, exponent + 52 - bits);
      o.slices.push_back((o.rest + shift) - shift);
      o.rest = o.rest - o.slices.back();
    }
    return true;
  }

  void add(const at::Tensor& part) {
    at::Tensor sum = total_ + part, back = sum - total_;
    rest_ = rest_ + ((total_ - (sum - back)) + (part - back));
    total_ = sum;
  }

  // Both return how large what is not exact may be.
  at::Tensor add_terms() {
    at::Tensor unsure = at::zeros(total_.sizes(), at::kDouble);
    for (size_t i = 0; i < operands_.size(); ++i) {
      auto alone = [&](std::span<const Arg> args, const at::Tensor& part) {
        at::Tensor other = operands_.size() == 2 ? zeros_like_plane(operands_[1 - i].value) : at::Tensor();
        return i ? run(args, other, part) : run(args, part, other);
      };
      for (const at::Tensor& slice : operands_[i].slices) add(alone(call_.args, slice));
      add(alone(call_.args, operands_[i].rest));
      unsure = unsure + at::abs(alone(absolute_, at::abs(operands_[i].rest)));
    }
    return unsure;
  }
  at::Tensor add_products() {
    const Operand &a = operands_[0], &b = operands_[1];
    for (const at::Tensor& x : a.slices)
      for (const at::Tensor& y : b.slices) add(run(call_.args, x, y));
    add(run(call_.args, a.rest, b.value));
    add(run(call_.args, a.value - a.rest, b.rest));
    return at::abs(run(absolute_, at::abs(a.rest), sizes(1))) + 2 * at::abs(run(absolute_, sizes(0), at::abs(b.rest)));
  }

  at::Tensor passed() {
    if (!products_) {
      at::Tensor second = operands_.size() == 2 ? operands_[1].error : at::Tensor();
      return at::abs(run(absolute_, operands_[0].error, second));
    }
    const Operand &a = operands_[0], &b = operands_[1];
    return at::abs(run(absolute_, sizes(0) + a.error, b.error)) + at::abs(run(absolute_, a.error, sizes(1)));
  }

  FlowContext& in_;
  const Call& call_;
  std::span<const Arg> absolute_, ones_;
  std::vector<Operand> operands_;
  bool products_ = false;
  at::Tensor total_, rest_;
};
}  // namespace

std::optional<FineSum> summed_finely(FlowContext& in, const Call& call, std::span<const Arg> absolute,
                                     std::span<const Arg> ones, const at::Tensor& value) {
  return FineSums(in, call, absolute, ones).into(value);
}

}  // namespace lenz::oracle
