#include "fuzz/decisions/broken.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <vector>

#include "compiler/driver/program_set.h"
#include "compiler/graph/verify.h"
#include "compiler/loops/clone.h"
#include "compiler/loops/text.h"
#include "compiler/loops/verify.h"
#include "compiler/ops/layouts.h"
#include "compiler/ops/op_table.h"
#include "compiler/schedule/realise.h"
#include "compiler/schedule/tiles.h"
#include "fuzz/case.h"
#include "oracle/binding.h"
#include "oracle/type_check.h"

namespace lenz::fuzz {

namespace {
bool is_plain(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

struct Token {
  size_t at, size;
  char kind;  // '0' of numbers, 'a' of words; else the sigil, or the sign itself
};

std::vector<Token> tokens_of(std::string_view text) {
  std::vector<Token> all;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    size_t end = at + 1;
    if (c == '"') {
      while (end < text.size() && text[end] != '"') ++end;
      end = std::min(end + 1, text.size());
    } else if (c == '%' || c == '@' || is_plain(c)) {
      while (end < text.size() && is_plain(text[end])) ++end;
    }
    if (c != ' ' && c != '\n' && c != '"')
      all.push_back({at, end - at, is_digit(c) ? '0' : c == '%' || c == '@' ? c : is_plain(c) ? 'a' : c});
    at = end;
  }
  return all;
}

std::string other_number(std::string_view number, Chooser& choose) {
  if (number.size() > 9 || !std::ranges::all_of(number, is_digit)) return "2";
  const int64_t value = std::stoll(std::string(number));
  return std::to_string(
      choose.any_of<int64_t>({value + 1, std::max<int64_t>(value - 1, 0), 0, 1, 2 * value, schedule::kLargestTile}));
}

// Lines are the statements of all texts that are printed here.
std::string with_other_lines(std::string text, Chooser& choose) {
  std::vector<size_t> begins{0};
  for (size_t at = 0; at < text.size(); ++at)
    if (text[at] == '\n' && at + 1 < text.size()) begins.push_back(at + 1);
  if (begins.size() < 4) return text;
  begins.push_back(text.size());
  const size_t i = 1 + choose.below(begins.size() - 3);
  const std::string line = text.substr(begins[i], begins[i + 1] - begins[i]);
  switch (choose.below(3)) {
    case 0: return text.erase(begins[i], line.size());
    case 1: return text.insert(begins[i], line);
    default: text.erase(begins[i], line.size()); return text.insert(begins[i - 1], line);
  }
}
}  // namespace

namespace {
// Neighbours of a list, as the dims of a permutation, or operands.
std::string with_two_exchanged(std::string text, const std::vector<Token>& all, Chooser& choose) {
  std::vector<size_t> commas;
  for (size_t i = 1; i + 1 < all.size(); ++i)
    if (all[i].kind == ',' && all[i - 1].kind == all[i + 1].kind) commas.push_back(i);
  if (commas.empty()) return text;
  const size_t at = choose.pick(commas);
  const Token &a = all[at - 1], &b = all[at + 1];
  const std::string first = text.substr(a.at, a.size), second = text.substr(b.at, b.size);
  text.replace(b.at, b.size, first);
  return text.replace(a.at, a.size, second);
}
}  // namespace

std::string with_one_change(std::string_view text, Chooser& choose) {
  std::string made(text);
  if (choose.chance(1, 4)) return with_other_lines(std::move(made), choose);
  const std::vector<Token> all = tokens_of(text);
  if (all.size() < 2) return made;
  if (choose.chance(1, 6)) return with_two_exchanged(std::move(made), all, choose);
  const Token& token = all[1 + choose.below(all.size() - 1)];
  const std::string_view here = text.substr(token.at, token.size);
  std::string by;
  if (token.kind == '0') {
    by = other_number(here, choose);
  } else {  // one of its kind
    std::vector<std::string_view> others;
    for (const Token& other : all)
      if (other.kind == token.kind && text.substr(other.at, other.size) != here)
        others.push_back(text.substr(other.at, other.size));
    constexpr std::string_view kSigns[] = {"+", "-", "*", "<", "=", ",", ""};
    by = !others.empty() ? choose.pick(others) : choose.pick(kSigns);
  }
  return made.replace(token.at, token.size, by);
}

namespace {
template <class F>
std::string said(F&& what) {
  try {
    return what();
  } catch (const UserError& error) {
    return error.what();
  } catch (const Unsupported& error) {
    return error.what();
  }
}
}  // namespace

std::string said_of_broken_loops(const std::string& text, Chooser& choose, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += said([&] {
      const loops::VerifiedText read = loops::verify_text(with_one_change(text, choose), op_table(), "<text>");
      std::string words = "\n";
      for (const auto* list : {&read.violations, &read.unproved})
        for (const UserError& error : *list) words += error.what();
      return words;
    });
  return all;
}

namespace {
// What passes make of a graph that stays legal: next to one that a rule is for there is one that it is not for.
std::string passed(const Case& read) {
  oracle::Binding binding = oracle::parse_binding(read.setting.sizes, *read.graph);
  oracle::complete(binding, *read.graph, 0);
  RunnerOptions how;
  how.verify = how.check_text = false;
  return print(*passed_for(*read.graph, binding.lookup(), pipeline(), how));
}
}  // namespace

std::string said_of_broken_graphs(const std::string& text, Chooser& choose, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += said([&] {
      const Case read = parse_case(with_one_change(text, choose));
      std::string words = print(*read.graph);
      const std::vector<Violation> violations = verify(*read.graph);
      for (const Violation& v : violations) words += to_string(v);
      return violations.empty() ? words + passed(read) : words;
    });
  return all;
}

std::string said_of_broken_plans(const std::string& text, const loops::Program& prepared, Chooser& choose, int times) {
  std::string all;
  for (int i = 0; i < times; ++i)
    all += said([&] {
      const schedule::Plan plan = schedule::parse_plan(with_one_change(text, choose));
      const std::string why = schedule::why_illegal(plan, prepared);
      return why.empty() ? loops::print(schedule::realise(loops::clone(prepared), plan)) : why;
    });
  return all;
}

namespace {
class Breaker {
 public:
  explicit Breaker(DrawnCall& call) : call_(call), context_(call.graph->context()) {}

  std::string run() {
    for (size_t i = 0; i < call_.graph->inputs().size(); ++i) input(i);
    for (size_t i = 0; i < call_.args.size(); ++i) argument(i);
    return std::move(said_);
  }

 private:
  static constexpr Device kElsewhere{.kind = DeviceKind::meta};

  void ask() {
    const oracle::Prediction predicted = oracle::predict(call_);
    said_ += predicted.text;
    for (const InferredResult& r : predicted.results) said_ += to_string(*r.type);
    said_ += "\n";
  }

  void ask_with(ValueId value, const TensorType& as) {
    const Type& was = call_.graph->type(value);
    call_.graph->set_type(value, context_.tensor(as));
    ask();
    call_.graph->set_type(value, &was);
  }

  void input(size_t i) {
    const ValueId value = call_.graph->inputs()[i].value;
    if (!call_.graph->type(value).is_tensor()) return;
    const TensorType as = call_.graph->type(value).tensor();
    auto of_sizes = [&](DimVec sizes) {
      TensorType other = as;
      other.strides = contiguous_strides(sizes);
      other.sizes = std::move(sizes);
      other.offset = 0;
      ask_with(value, other);
    };
    DimVec more(as.sizes);
    more.insert(0, Dim(2));
    of_sizes(more);
    if (!as.sizes.empty()) {
      DimVec fewer(as.sizes), larger(as.sizes), none(as.sizes);
      fewer.erase(0);
      larger.back() = larger.back() + 1;
      none[0] = Dim(0);
      of_sizes(fewer), of_sizes({}), of_sizes(larger), of_sizes(none);
    }
    // As it could lie otherwise: the last dim is the slowest.
    if (as.sizes.size() > 1) {
      TensorType turned = as;
      DimVec order(as.sizes);
      std::ranges::reverse(order);
      turned.strides = contiguous_strides(order);
      std::ranges::reverse(turned.strides);
      turned.offset = 0;
      ask_with(value, turned);
    }
    for (const Dtype dtype : {Dtype::b8, Dtype::i64, Dtype::f16, Dtype::f64, Dtype::c64}) {
      TensorType other = as;
      other.dtype = dtype;
      if (dtype != as.dtype) ask_with(value, other);
    }
    TensorType elsewhere = as;
    elsewhere.device = kElsewhere;
    ask_with(value, elsewhere);
  }

  void argument(size_t i) {
    const Arg was = call_.args[i];
    auto ask_as = [&](Arg a) {
      call_.args[i] = a;
      ask();
      call_.args[i] = was;
    };
    const ParamKind kind = call_.op->schema.params[i].type.kind;
    if (was.kind == ArgKind::integer && !was.symbolic) {
      for (const int64_t n : {int64_t{-1}, int64_t{0}, was.i == INT64_MAX ? was.i : was.i + 1, int64_t{200}})
        ask_as(Arg::of_int(n));
    } else if (was.kind == ArgKind::int_list) {
      const DimVec dims(was.dim_list());
      for (const int64_t n : {-1, 0, 100}) {
        DimVec longer(dims);
        longer.push_back(Dim(n));
        ask_as(context_.dims(longer));
        if (dims.empty()) continue;
        DimVec other(dims);
        other.back() = Dim(n);
        ask_as(context_.dims(other));
      }
      if (!dims.empty()) ask_as(context_.dims(std::span(dims.begin(), dims.size() - 1)));
    } else if (was.kind == ArgKind::boolean) {
      ask_as(Arg::of_bool(!was.boolean()));
    } else if (was.kind == ArgKind::dtype) {
      for (const Dtype dtype : {Dtype::b8, Dtype::i8, Dtype::f64, Dtype::c64}) ask_as(Arg::of_dtype(dtype));
    } else if (kind == ParamKind::device) {
      ask_as(Arg::of_device(kElsewhere));
    } else if (was.kind == ArgKind::string) {
      ask_as(context_.string("no such mode"));
    } else if (was.kind == ArgKind::value_list && was.count > 0) {
      const auto values = was.value_list();
      ask_as(context_.values({}));
      ask_as(context_.values(values.first(values.size() - 1)));
    } else if (was.is_value() && call_.op->schema.params[i].type.optional) {
      ask_as(Arg::none());
    }
    if ((kind == ParamKind::scalar || kind == ParamKind::real) && !call_.op->schema.params[i].type.list)
      for (const double x : {-1.0, 0.0, 0.5, 256.0, 1e6, 1e300, double{INFINITY}}) ask_as(Arg::of_real(x));
  }

  DrawnCall& call_;
  Context& context_;
  std::string said_;
};
}  // namespace

std::string said_of_broken_calls(DrawnCall& call) { return Breaker(call).run(); }

}  // namespace lenz::fuzz
