#include "oracle/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/loops/tensor.h"
#include "compiler/scalar/rounding.h"
#include "oracle/idle_strides.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

std::string_view name(Rung rung) {
  constexpr std::string_view names[] = {"ending",  "metadata", "aliasing", "guard",
                                        "special", "bitwise",  "bound",    "likeness"};
  return names[static_cast<size_t>(rung)];
}

std::string outside(Seen seen) {
  if (std::ranges::find(seen.sizes, 0) != seen.sizes.end()) seen.offset = 0;
  return to_string(seen);
}

std::vector<int64_t> coordinates(std::span<const int64_t> sizes, uint64_t element) {
  std::vector<int64_t> at(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    at[d] = static_cast<int64_t>(element) % sizes[d];
    element /= static_cast<uint64_t>(sizes[d]);
  }
  return at;
}

namespace {
ScalarBits bits_at(std::span<const std::byte> elements, Dtype dtype, uint64_t i) {
  ScalarBits bits{};
  auto size = static_cast<size_t>(item_size(dtype));
  std::memcpy(bits.data(), elements.data() + i * size, size);
  return bits;
}

std::string number_text(double v, const char* format = "%.9g") {
  char text[40];
  std::snprintf(text, sizeof text, format, std::isnan(v) ? std::fabs(v) : v);  // NaN has no sign
  return text;
}
std::string element_text(Dtype dtype, const ScalarValue& v) {
  if (v.kind() == ScalarKind::integer) return std::to_string(v.integer());
  if (v.kind() == ScalarKind::complex)
    return number_text(v.complex().real()) + " + " + number_text(v.complex().imag()) + "i";
  return number_text(v.real(), dtype == Dtype::f64 ? "%.17g" : "%.9g");
}

enum class Class : uint8_t { finite, positive_infinity, negative_infinity, nan };
Class class_of(double v) {
  if (std::isnan(v)) return Class::nan;
  if (std::isinf(v)) return v > 0 ? Class::positive_infinity : Class::negative_infinity;
  return Class::finite;
}
// Of a real number its class twice, of a complex one those of its parts.
std::pair<Class, Class> classes(const ScalarValue& v) {
  if (v.kind() == ScalarKind::integer) return {};
  if (v.kind() == ScalarKind::complex) return {class_of(v.complex().real()), class_of(v.complex().imag())};
  return {class_of(v.real()), class_of(v.real())};
}

bool same_element(Dtype dtype, const ScalarBits& a, const ScalarBits& b) {
  if (a == b) return true;
  if (is_integral(dtype, true)) return false;
  auto same_part = [](double x, double y) {
    return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
  };
  ScalarValue x = from_bits(dtype, a), y = from_bits(dtype, b);
  if (x.kind() == ScalarKind::complex)
    return same_part(x.complex().real(), y.complex().real()) && same_part(x.complex().imag(), y.complex().imag());
  return same_part(x.real(), y.real());
}

std::optional<double> distance(Dtype dtype, const ScalarValue& a, const ScalarValue& b) {
  if (!is_floating(dtype) || !std::isfinite(a.real()) || !std::isfinite(b.real())) return std::nullopt;
  return std::abs(a.real() - b.real()) / last_place(dtype, std::max(std::abs(a.real()), std::abs(b.real())));
}

std::string ending_text(const Execution& e) {
  if (e.ending == Ending::finished) return "finished";
  return (e.ending == Ending::raised ? "raised" : "out of memory") + (e.text.empty() ? "" : ": " + e.text);
}

// Everything that the caller holds afterwards, with its name, which is made for who asks.
struct CallersValue {
  enum Kind : uint8_t { output, input, printed } kind;
  size_t at;
  std::string in_list;
  RunValue value;
  Seen seen;

  std::string what(const Graph& graph) const {
    switch (kind) {
      case output: return "output " + std::to_string(at) + in_list;
      case input: return "input " + graph.value_name(graph.inputs()[at].value) + " afterwards" + in_list;
      case printed: break;
    }
    return "line " + std::to_string(at) + " that is printed" + in_list;
  }
};
void add(std::vector<CallersValue>& all, CallersValue::Kind kind, size_t at, const RunValue& value,
         const std::string& in_list = {}) {
  Seen seen = look(value);
  if (seen.kind == TypeKind::list) {
    for (size_t i = 0; i < seen.elements.size(); ++i)
      add(all, kind, at, element(value, static_cast<int64_t>(i)), in_list + "[" + std::to_string(i) + "]");
    return;
  }
  all.push_back({kind, at, in_list, value, std::move(seen)});
}
std::vector<CallersValue> held_by_caller(const Graph& graph, const Execution& e) {
  std::vector<CallersValue> all;
  for (size_t i = 0; i < e.outputs.size(); ++i) {
    size_t first = all.size();
    add(all, CallersValue::output, i, e.outputs[i]);
    if (i >= graph.outputs().size() || !has_open_sizes(graph, graph.outputs()[i])) continue;
    for (; first < all.size(); ++first) all[first].seen = with_idle_strides(std::move(all[first].seen), {});
  }
  for (size_t i = 0; i < e.inputs.size(); ++i) add(all, CallersValue::input, i, e.inputs[i]);
  return all;
}

// The first of all that shares its storage.
size_t first_of_storage(const std::vector<CallersValue>& all, size_t i) {
  for (size_t k = 0; k < i; ++k)
    if (all[k].seen.kind == TypeKind::tensor && all[k].seen.storage == all[i].seen.storage) return k;
  return i;
}

// Whether two values have the same words, as most have: nobody needs them then.
bool look_alike(const Seen& a, const Seen& b) {
  return a.kind == TypeKind::tensor && b.kind == TypeKind::tensor && !a.foreign && !b.foreign && a.dtype == b.dtype &&
         a.device == b.device && a.sizes == b.sizes && a.strides == b.strides && a.offset == b.offset;
}

// Who asks for the memory itself gets other numbers where a tensor is read otherwise than eager's is.
std::string_view reading(const CallersValue& held) {
  if (held.seen.kind != TypeKind::tensor) return "";
  const Lazy lazy = lazy_of(held.value);
  if (!lazy.conjugate && !lazy.negate) return "read as it lies in memory";
  return !lazy.negate     ? "read lazily conjugated"
         : lazy.conjugate ? "read lazily conjugated and negated"
                          : "read lazily negated";
}

Mismatch mismatch(Rung rung, std::string what, std::string expected, std::string got) {
  Mismatch m;
  m.rung = rung;
  m.what = std::move(what);
  m.expected = std::move(expected);
  m.got = std::move(got);
  return m;
}

// What two runs print must be of one kind, and of the same numbers; elements are for who compares those.
std::optional<Mismatch> first_other_print(const Execution& expected, const Execution& got) {
  if (expected.printed.size() != got.printed.size())
    return mismatch(Rung::metadata, "what is printed", std::to_string(expected.printed.size()) + " lines",
                    std::to_string(got.printed.size()) + " lines");
  auto text = [](const RunValue& value) {
    Seen seen = look(value);
    if (seen.kind != TypeKind::tensor) return seen.kind == TypeKind::sym_int ? to_text(value) : to_string(seen);
    const std::vector<int64_t> sizes(seen.sizes.begin(), seen.sizes.end());
    return std::string(name(seen.dtype)) + loops::to_string(sizes);
  };
  for (size_t i = 0; i < expected.printed.size(); ++i) {
    const Printed &a = expected.printed[i], &b = got.printed[i];
    const std::string what = "line " + std::to_string(i) + " that is printed";
    if (a.format != b.format) return mismatch(Rung::metadata, what, a.format, b.format);
    for (size_t k = 0; k < std::min(a.values.size(), b.values.size()); ++k)
      if (std::string x = text(a.values[k]), y = text(b.values[k]); x != y) return mismatch(Rung::metadata, what, x, y);
  }
  return std::nullopt;
}

// The values that are printed, as held_by_caller has those that are returned.
void add_printed(std::vector<CallersValue>& all, const Execution& e) {
  for (size_t i = 0; i < e.printed.size(); ++i)
    for (const RunValue& v : e.printed[i].values) add(all, CallersValue::printed, i, v);
}

// A graph may itself write where its inputs have no elements: what the expected run did too is no news.
std::optional<Mismatch> first_new_damage(const Execution& expected, const Execution& got) {
  for (const Damage& d : got.damage) {
    auto same_place = [&](const Damage& e) { return e.where == d.where && e.offset == d.offset && e.bytes == d.bytes; };
    if (std::ranges::none_of(expected.damage, same_place))
      return mismatch(Rung::guard, d.where, "no write beside its elements", d.text());
  }
  return std::nullopt;
}

// `any`: as of difference().
std::optional<Mismatch> compare_elements(Dtype dtype, std::span<const int64_t> sizes,
                                         std::span<const std::byte> expected, std::span<const std::byte> got,
                                         bool any) {
  if (expected.size() == got.size() && (expected.empty() || !std::memcmp(expected.data(), got.data(), got.size())))
    return std::nullopt;
  std::optional<Mismatch> first;
  uint64_t count = expected.size() / static_cast<size_t>(item_size(dtype)), wrong = 0;
  for (uint64_t i = 0; i < count; ++i) {
    ScalarBits a = bits_at(expected, dtype, i), b = bits_at(got, dtype, i);
    if (same_element(dtype, a, b)) continue;
    ++wrong;
    if (first && first->rung == Rung::special) continue;  // none comes before it here
    ScalarValue x = scalar_at(dtype, expected, i), y = scalar_at(dtype, got, i);
    Rung rung = classes(x) == classes(y) ? Rung::bitwise : Rung::special;
    if (first && first->rung <= rung) continue;
    first = mismatch(rung, "", element_text(dtype, x), element_text(dtype, y));
    first->element = i;
    first->at = coordinates(sizes, i);
    first->ulps = distance(dtype, x, y);
    if (any) break;
  }
  if (first) {
    first->wrong = wrong;
    first->total = count;
  }
  return first;
}
}  // namespace

std::optional<Mismatch> compare_elements(Dtype dtype, std::span<const int64_t> sizes,
                                         std::span<const std::byte> expected, std::span<const std::byte> got) {
  return compare_elements(dtype, sizes, expected, got, false);
}

namespace {
// The outputs of whose sizes that is so are those that came.
Execution with_sizes_of(const Graph& graph, Execution expected, const Execution& got, const Binding& inputs) {
  for (size_t i = 0; i < got.outputs.size() && i < expected.outputs.size(); ++i) {
    const Arg& a = graph.outputs()[i];
    if (!a.is_value() || !graph.type(a.value()).is_tensor()) continue;
    const Seen x = look(expected.outputs[i]), y = look(got.outputs[i]);
    const bool alike = x.kind == y.kind && x.dtype == y.dtype && x.sizes.size() == y.sizes.size();
    const auto unknown = [&](Dim d) { return !evaluate(d, inputs.lookup()); };
    if (alike && std::ranges::any_of(graph.type(a.value()).sizes(), unknown)) expected.outputs[i] = got.outputs[i];
  }
  return expected;
}
}  // namespace

std::optional<Mismatch> compare_outside(const Graph& graph, const Execution& expected, const Execution& got,
                                        const Binding* open_sizes) {
  if (open_sizes) return compare_outside(graph, with_sizes_of(graph, expected, got, *open_sizes), got);
  // Which words an error has, and which of two errors comes first, is nobody's business but that there is one.
  if (expected.ending != got.ending) return mismatch(Rung::ending, "the run", ending_text(expected), ending_text(got));
  if (expected.ending != Ending::finished) return first_new_damage(expected, got);
  std::vector<CallersValue> a = held_by_caller(graph, expected), b = held_by_caller(graph, got);
  if (a.size() != b.size())
    return mismatch(Rung::metadata, "the run", std::to_string(a.size()) + " values", std::to_string(b.size()));
  for (size_t i = 0; i < a.size(); ++i)
    if (!look_alike(a[i].seen, b[i].seen))
      if (std::string x = outside(a[i].seen), y = outside(b[i].seen); x != y)
        return mismatch(Rung::metadata, a[i].what(graph), x, y);
  for (size_t i = 0; i < a.size(); ++i)
    if (std::string_view x = reading(a[i]), y = reading(b[i]); x != y)
      return mismatch(Rung::metadata, a[i].what(graph), std::string(x), std::string(y));
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].seen.kind != TypeKind::tensor) continue;
    size_t x = first_of_storage(a, i), y = first_of_storage(b, i);
    auto with = [&](size_t k) {
      return k == i ? std::string("memory of its own") : "memory shared with " + a[k].what(graph);
    };
    if (x != y) return mismatch(Rung::aliasing, a[i].what(graph), with(x), with(y));
  }
  if (auto other = first_other_print(expected, got)) return other;
  return first_new_damage(expected, got);
}

namespace {
// `any`: the first difference that is met is as good as another.
std::optional<Mismatch> difference(const Graph& graph, const Execution& expected, const Execution& got, bool any) {
  if (auto m = compare_outside(graph, expected, got); m || expected.ending != Ending::finished) return m;
  std::vector<CallersValue> a = held_by_caller(graph, expected), b = held_by_caller(graph, got);
  add_printed(a, expected);
  add_printed(b, got);
  std::optional<Mismatch> worst;
  for (size_t i = 0; i < a.size(); ++i) {
    std::optional<Mismatch> m;
    if (a[i].seen.kind == TypeKind::tensor) {
      std::vector<int64_t> sizes(a[i].seen.sizes.begin(), a[i].seen.sizes.end());
      if (plainly_same_elements(a[i].value, b[i].value)) continue;
      m = compare_elements(a[i].seen.dtype, sizes, elements_of(a[i].value), elements_of(b[i].value), any);
    } else if (a[i].seen.kind == TypeKind::sym_int && b[i].seen.kind == TypeKind::sym_int) {
      if (a[i].seen.integer == b[i].seen.integer) continue;
      m = mismatch(Rung::bitwise, "", std::to_string(a[i].seen.integer), std::to_string(b[i].seen.integer));
      m->wrong = m->total = 1;
    } else if (a[i].seen.number != b[i].seen.number &&
               !(std::isnan(a[i].seen.number) && std::isnan(b[i].seen.number))) {
      m = mismatch(Rung::bitwise, "", number_text(a[i].seen.number), number_text(b[i].seen.number));
      m->wrong = m->total = 1;
    }
    if (!m || (worst && worst->rung <= m->rung)) continue;
    m->what = a[i].what(graph);
    if (any) return m;
    worst = m;
  }
  return worst;
}
}  // namespace

std::optional<Mismatch> compare_runs(const Graph& graph, const Execution& expected, const Execution& got) {
  return difference(graph, expected, got, false);
}

bool same_runs(const Graph& graph, const Execution& expected, const Execution& got) {
  return !difference(graph, expected, got, true);
}

std::string Mismatch::summary() const {
  std::string text = std::string(name(rung)) + ": " + what;
  if (total) {
    text += " at [";
    for (size_t i = 0; i < at.size(); ++i) text += (i ? ", " : "") + std::to_string(at[i]);
    text += "]";
  }
  text += ": expected " + expected + ", got " + got;
  if (bound) text += ", off by more than " + number_text(*bound);
  if (ulps) text += " (" + number_text(*ulps) + " ulp)";
  if (total) text += ", " + std::to_string(wrong) + " of " + std::to_string(total) + " elements wrong";
  return text;
}

nlohmann::json Mismatch::to_json() const {
  nlohmann::json j = {{"rung", oracle::name(rung)}, {"what", what},   {"expected", expected}, {"got", got},
                      {"summary", summary()},       {"wrong", wrong}, {"total", total}};
  if (total) {
    j["element"] = element;
    j["at"] = at;
  }
  if (bound) j["bound"] = *bound;
  if (ulps) j["ulps"] = *ulps;
  return j;
}

}  // namespace lenz::oracle
