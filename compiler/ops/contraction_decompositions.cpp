// Einstein's sum: parses the equation, brings the operands to common dims and contracts them two by two, by the nodes
// that eager runs. So the result's layout is eager's too.
#include <algorithm>
#include <deque>

#include "compiler/ops/definition_values.h"

namespace lenz {

namespace {
constexpr size_t kLetters = 52, kEllipsis = kLetters;

// The labels of one operand or of the result: letters by number, and one for "...".
using Labels = SmallVec<size_t, 6>;

class Equation {
 public:
  Equation(DefinitionValues& v, std::string_view text, size_t operands) : v_(v) {
    size_t arrow = text.find("->");
    inputs_.resize(1);
    read(text.substr(0, arrow), true);
    if (inputs_.size() != operands) v.refuse("the equation names another number of operands than there are");
    if (arrow == std::string_view::npos) return;
    has_output_ = true;
    output_ = read(text.substr(arrow + 2), false);
  }
  const std::vector<Labels>& inputs() const { return inputs_; }
  bool has_output() const { return has_output_; }
  const Labels& output() const { return output_; }

 private:
  Labels read(std::string_view text, bool inputs) {
    Labels labels;
    auto labelled = [&](size_t label) {
      Labels& to = inputs ? inputs_.back() : labels;
      bool again = std::ranges::find(to, label) != to.end();
      if (again && label == kEllipsis) v_.refuse("\"...\" stands twice for one tensor");
      if (again && !inputs) v_.refuse("a letter stands twice in the result");
      to.push_back(label);
    };
    for (size_t i = 0; i < text.size(); ++i) {
      char c = text[i];
      if (c == ' ') continue;
      if (c == ',' && inputs) {
        inputs_.emplace_back();
      } else if (c >= 'A' && c <= 'Z') {
        labelled(static_cast<size_t>(c - 'A'));
      } else if (c >= 'a' && c <= 'z') {
        labelled(static_cast<size_t>(c - 'a') + 26);
      } else if (text.substr(i).starts_with("...")) {
        labelled(kEllipsis);
        i += 2;
      } else {
        v_.refuse("the equation holds a `" + std::string(1, c) +
                  "`: letters, \"...\", commas and one \"->\" may stand there");
      }
    }
    return labels;
  }

  DefinitionValues& v_;
  std::vector<Labels> inputs_;
  Labels output_;
  bool has_output_ = false;
};

using Positions = SmallVec<int64_t, 8>;

class Contraction {
 public:
  Contraction(DefinitionValues& v, const Equation& equation, std::span<const Arg> operands, const Arg& path) : v_(v) {
    count_letters(equation, operands);
    place_letters(equation);
    counts_.resize(places_);
    sizes_.resize(kLetters, Dim(1));
    more_sizes_.resize(more_, Dim(1));
    for (size_t i = 0; i < operands.size(); ++i)
      operands_.push_back(aligned(equation.inputs()[i], operands[i].value()));
    if (!path.is_none()) {
      for (const Arg& p : v.items_of(path)) path_.push_back(v.constant(p));
      size_t expected = operands.size() == 1 ? 1 : 2 * (operands.size() - 1);
      if (path_.size() != expected) v.refuse("`path` must hold two numbers per contraction");
      has_path_ = true;
    }
  }

  ValueId result() {
    size_t operands = operands_.size();
    while (operands_.size() > 1) contract_two();
    ValueId last = operands_[0];
    if (places_ == kept_) return last;
    Positions summed;
    for (size_t d = kept_; d < places_; ++d) summed.push_back(static_cast<int64_t>(d));
    if (operands == 1) return make("aten.sum.dim_IntList", {value(last), ints(summed)});
    DimVec sizes(type(last).sizes().first(kept_));  // the others are 1 by now
    return make("aten.view", {value(last), v_.graph().context().dims(sizes)});
  }

 private:
  static Arg value(ValueId id) { return Arg::of_value(id); }
  Arg ints(const Positions& list) { return v_.graph().context().ints(list); }
  const Type& type(ValueId id) { return v_.graph().type(id); }
  ValueId make(std::string_view op, std::initializer_list<Arg> args) { return v_.inserted(op, args); }
  bool is_one(Dim d) { return v_.same(d, 1); }

  // How often each letter stands, and how many dims "..." stands for at most.
  void count_letters(const Equation& equation, std::span<const Arg> operands) {
    occurrences_.resize(kLetters);
    for (size_t i = 0; i < operands.size(); ++i) {
      const Labels& labels = equation.inputs()[i];
      size_t rank = type(operands[i].value()).rank(), letters = 0;
      for (size_t label : labels)
        if (label != kEllipsis) ++occurrences_[label], ++letters;
      bool open = letters != labels.size();
      if (open ? letters > rank : letters != rank)
        v_.refuse("the equation names another number of dims than an operand has");
      if (open) more_ = std::max(more_, rank - letters);
    }
  }

  // Where each letter's dim goes: the result's dims first, then those that are summed over.
  void place_letters(const Equation& equation) {
    place_.resize(kLetters, -1);
    bool open = !equation.has_output();
    if (!equation.has_output()) {
      places_ = more_;
      for (size_t l = 0; l < kLetters; ++l)
        if (occurrences_[l] == 1) place_[l] = static_cast<int64_t>(places_++);
    }
    for (size_t label : equation.output()) {
      if (label == kEllipsis) {
        first_more_ = places_;
        places_ += more_;
        open = true;
      } else {
        if (!occurrences_[label]) v_.refuse("the result has a letter that no operand has");
        place_[label] = static_cast<int64_t>(places_++);
      }
    }
    kept_ = places_;
    if (!open) {
      first_more_ = places_;
      places_ += more_;
    }
    for (size_t l = 0; l < kLetters; ++l)
      if (occurrences_[l] && place_[l] < 0) place_[l] = static_cast<int64_t>(places_++);
  }

  void agree(Dim& known, Dim size, size_t place) {
    if (is_one(size)) return;
    if (!is_one(known) && !v_.same(known, size)) v_.refuse("dims of one letter have different sizes");
    known = size;
    ++counts_[place];
  }

  // The operand with a dim for every place, in order.
  ValueId aligned(const Labels& labels, ValueId operand) {
    Positions permutation(places_, int64_t{-1});
    size_t rank = type(operand).rank();
    int64_t dim = 0;
    for (size_t label : labels) {
      auto at = [&] { return type(operand).sizes()[static_cast<size_t>(dim)]; };
      if (label == kEllipsis) {
        for (size_t j = more_ - (rank - (labels.size() - 1)); j < more_; ++j) {
          agree(more_sizes_[j], at(), first_more_ + j);
          permutation[first_more_ + j] = dim++;
        }
        continue;
      }
      auto place = static_cast<size_t>(place_[label]);
      if (permutation[place] < 0) {
        agree(sizes_[label], at(), place);
        permutation[place] = dim++;
        continue;
      }
      int64_t earlier = permutation[place];
      if (!v_.same(at(), type(operand).sizes()[static_cast<size_t>(earlier)]))
        v_.refuse("dims of one letter have different sizes");
      operand = make("aten.diagonal", {value(operand), Arg::of_int(0), Arg::of_int(earlier), Arg::of_int(dim)});
      operand = make("aten.movedim.int", {value(operand), Arg::of_int(-1), Arg::of_int(earlier)});
    }
    for (int64_t& place : permutation) {
      if (place >= 0) continue;
      operand = make("aten.unsqueeze", {value(operand), Arg::of_int(dim)});
      place = dim++;
    }
    return make("aten.permute", {value(operand), ints(permutation)});
  }

  void contract_two() {
    size_t i = 0, j = 1;
    if (has_path_) {
      int64_t x = path_[step_++], y = path_[step_++];
      if (x > y) std::swap(x, y);
      if (x == y || x < 0 || y >= static_cast<int64_t>(operands_.size())) v_.refuse("`path` names no two operands");
      i = static_cast<size_t>(x), j = static_cast<size_t>(y);
    }
    ValueId a = operands_[i], b = operands_[j];
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(j));
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(i));
    Positions both, of_a, of_b;  // what can be summed over now
    for (size_t d = kept_; d < places_; ++d) {
      bool in_a = !is_one(type(a).sizes()[d]), in_b = !is_one(type(b).sizes()[d]);
      auto at = static_cast<int64_t>(d);
      if (in_a && in_b) {
        if (--counts_[d] != 1) continue;
        both.push_back(at);
      } else if (counts_[d] == 1 && (in_a || in_b)) {
        (in_a ? of_a : of_b).push_back(at);
      } else {
        continue;
      }
      counts_[d] = 0;
    }
    if (!of_a.empty()) a = make("aten.sum.dim_IntList", {value(a), ints(of_a), Arg::of_bool(true)});
    if (!of_b.empty()) b = make("aten.sum.dim_IntList", {value(b), ints(of_b), Arg::of_bool(true)});
    ValueId c = product(a, b, both);
    if (has_path_) {
      operands_.push_back(c);
    } else {
      operands_.push_front(c);
    }
  }

  // a * b, summed over dims that both have: a batched product of matrices.
  ValueId product(ValueId a, ValueId b, const Positions& summed) {
    if (summed.empty()) return make("aten.mul.Tensor", {value(a), value(b)});
    Positions shared, of_a, of_b;
    for (size_t d = 0; d < type(a).rank(); ++d) {
      auto at = static_cast<int64_t>(d);
      if (std::ranges::find(summed, at) != summed.end()) continue;
      bool in_a = !is_one(type(a).sizes()[d]), in_b = !is_one(type(b).sizes()[d]);
      (in_a && in_b ? shared : in_a ? of_a : of_b).push_back(at);
    }
    if (!of_a.empty() && !of_b.empty() && of_b.back() < of_a.front()) {  // so that the result is in order
      std::swap(a, b);
      std::swap(of_a, of_b);
    }
    auto size = [&](ValueId v, const Positions& dims) {
      Dim n = 1;
      for (int64_t d : dims) n *= type(v).sizes()[static_cast<size_t>(d)];
      return n;
    };
    auto joined = [](std::initializer_list<const Positions*> parts) {
      Positions all;
      for (const Positions* p : parts)
        for (int64_t d : *p) all.push_back(d);
      return all;
    };
    DimVec out;
    for (int64_t d : shared) out.push_back(type(a).sizes()[static_cast<size_t>(d)]);
    for (int64_t d : of_a) out.push_back(type(a).sizes()[static_cast<size_t>(d)]);
    for (size_t k = 0; k < summed.size(); ++k) out.push_back(Dim(1));
    for (int64_t d : of_b) out.push_back(type(b).sizes()[static_cast<size_t>(d)]);
    auto matrices = [&](ValueId v, const Positions& order, Dim rows, Dim columns) {
      ValueId turned = make("aten.permute", {value(v), ints(order)});
      Dim sizes[] = {size(v, shared), rows, columns};
      return make("aten.reshape", {value(turned), v_.graph().context().dims(sizes)});
    };
    ValueId left = matrices(a, joined({&shared, &of_a, &summed, &of_b}), size(a, of_a), size(a, summed));
    ValueId right = matrices(b, joined({&shared, &summed, &of_b, &of_a}), size(b, summed), size(b, of_b));
    ValueId all = make("aten.bmm", {value(left), value(right)});
    all = make("aten.view", {value(all), v_.graph().context().dims(out)});
    Positions order = joined({&shared, &of_a, &summed, &of_b}), back(order.size(), int64_t{0});
    for (size_t k = 0; k < order.size(); ++k) back[static_cast<size_t>(order[k])] = static_cast<int64_t>(k);
    return make("aten.permute", {value(all), ints(back)});
  }

  DefinitionValues& v_;
  SmallVec<int64_t, 4> occurrences_;
  Positions place_, path_;
  size_t more_ = 0, first_more_ = 0, places_ = 0, kept_ = 0, step_ = 0;
  SmallVec<int64_t, 8> counts_;  // how many operands have more than one element along a place
  DimVec sizes_, more_sizes_;
  std::deque<ValueId> operands_;
  bool has_path_ = false;
};
}  // namespace

Arg contract(DefinitionValues& v, std::string_view equation, std::span<const Arg> operands, const Arg& path) {
  if (operands.empty()) v.refuse("needs at least one operand");
  Equation parsed(v, equation, operands.size());
  return Arg::of_value(Contraction(v, parsed, operands, path).result());
}

}  // namespace lenz
