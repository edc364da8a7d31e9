#include "compiler/ops/wants.h"

#include <charconv>

namespace lenz {

namespace {
class Reader {
 public:
  Reader(const Graph& graph, const OpDef& op, std::span<const Arg> args) : graph_(graph), op_(op), args_(args) {}

  SmallVec<OperandWant, 2> read() {
    for (rest_ = op_.wants; !rest_.empty();) {
      clause();
      if (!rest_.empty()) expect(";");
    }
    return std::move(wants_);
  }

 private:
  void clause() {
    size_t operand = parameter(word());
    if (accept("sorted")) {
      add(operand, {.kind = OperandWant::sorted});
    } else if (accept("counted")) {
      add(operand, {.kind = OperandWant::counted});
    } else if (accept("in")) {
      expect("[");
      double low = number();
      expect(",");
      double high = number();
      expect("]");
      add(operand, {.kind = OperandWant::within, .low = low, .high = high});
    } else {
      expect("<");
      below(operand);
    }
  }

  void below(size_t operand) {
    if (op_.schema.params[operand].type.list) return each_below(operand, parameter(word()));
    std::optional<Dim> bound = factor();
    while (bound && accept("*")) bound = *bound * *factor();
    if (!bound) return add(operand, {.kind = OperandWant::natural});
    add(operand, {.kind = OperandWant::below, .bound = *bound});
  }

  // Nothing: there is no bound.
  std::optional<Dim> factor() {
    std::string_view name = word();
    if (name == "numel") {
      expect("(");
      Dim n = numel(tensor(parameter(word())).sizes());
      expect(")");
      return n;
    }
    size_t p = parameter(name);
    if (!accept("[")) {
      const Arg& a = args_[p];
      bool known = a.kind == ArgKind::integer && !(a.dim().is_constant() && a.dim().constant() < 0);
      return known ? std::optional(a.dim()) : std::nullopt;
    }
    Arg dim = rest_[0] == '-' || (rest_[0] >= '0' && rest_[0] <= '9') ? Arg::of_int(static_cast<int64_t>(number()))
                                                                      : args_[parameter(word())];
    expect("]");
    const Type& t = tensor(p);
    if (dim.is_none()) return numel(t.sizes());
    if (t.rank() == 0) return Dim(1);
    if (dim.kind != ArgKind::integer || !dim.dim().is_constant()) return std::nullopt;
    int64_t at = dim.dim().constant(), rank = static_cast<int64_t>(t.rank());
    if (at < 0) at += rank;
    return at >= 0 && at < rank ? std::optional(t.sizes()[static_cast<size_t>(at)]) : std::nullopt;
  }

  void each_below(size_t operand, size_t indexed) {
    const Type& t = tensor(indexed);
    if (args_[operand].kind != ArgKind::value_list) return;
    size_t dim = 0;
    for (ValueId v : args_[operand].value_list()) {
      bool mask = v != kNone && (graph_.type(v).dtype == Dtype::b8 || graph_.type(v).dtype == Dtype::u8);
      if (v != kNone && !mask && dim < t.rank())
        wants_.push_back({.kind = OperandWant::below, .value = v, .bound = t.sizes()[dim]});
      dim += mask ? graph_.type(v).rank() : 1;
    }
  }

  void add(size_t operand, OperandWant want) {
    const Arg& a = args_[operand];
    if (!a.is_value()) return;
    want.value = a.value();
    wants_.push_back(want);
  }

  const Type& tensor(size_t p) const {
    static const Type nothing;
    return args_[p].is_value() ? graph_.type(args_[p].value()) : nothing;
  }

  size_t parameter(std::string_view name) const {
    int p = op_.schema.find(name);
    LENZ_CHECK(p >= 0, op_.full_name + " wants something of `" + std::string(name) + "`, which it has not");
    return static_cast<size_t>(p);
  }

  void skip_spaces() {
    while (!rest_.empty() && rest_[0] == ' ') rest_.remove_prefix(1);
  }
  std::string_view word() {
    size_t n = 0;
    auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
    while (n < rest_.size() && is_letter(rest_[n])) ++n;
    std::string_view w = rest_.substr(0, n);
    LENZ_CHECK(n, op_.full_name + ": no name at `" + std::string(rest_) + "`");
    rest_.remove_prefix(n);
    skip_spaces();
    return w;
  }
  double number() {
    double value = 0;
    auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    LENZ_CHECK(error == std::errc(), op_.full_name + ": no number at `" + std::string(rest_) + "`");
    rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
    skip_spaces();
    return value;
  }
  bool accept(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    skip_spaces();
    return true;
  }
  void expect(std::string_view token) {
    LENZ_CHECK(accept(token), op_.full_name + ": no `" + std::string(token) + "` at `" + std::string(rest_) + "`");
  }

  const Graph& graph_;
  const OpDef& op_;
  std::span<const Arg> args_;
  std::string_view rest_;
  SmallVec<OperandWant, 2> wants_;
};
}  // namespace

SmallVec<OperandWant, 2> wants_of(const Graph& graph, const OpDef& op, std::span<const Arg> args) {
  return Reader(graph, op, args).read();
}

}  // namespace lenz
