#include "compiler/graph/diff.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/base/hash.h"
#include "compiler/graph/equal.h"
#include "compiler/graph/text.h"

namespace lenz {

namespace {

// One line of the diff.
struct Line {
  char mark = ' ';  // ' ' unchanged, '-' only in a, '+' only in b, '~' in both, changed inside
  std::string text;
};

std::vector<NodeId> in_order(const Graph& g) {
  std::vector<NodeId> ids;
  g.for_each_node([&](NodeId id) { ids.push_back(id); });
  return ids;
}

// What each node computes, operands included: equal keys mean equal values.
std::vector<uint64_t> keys(const Graph& g, const std::vector<NodeId>& ids) {
  std::vector<uint64_t> of_value(g.value_count(), 0), result;
  for (size_t i = 0; i < g.inputs().size(); ++i) of_value[g.inputs()[i].value] = mix(i + 1);
  for (NodeId id : ids) {
    const Node& n = g.node(id);
    uint64_t h = hash_bytes(n.op->full_name);
    for (const Arg& a : n.arguments()) {
      bool mentions = a.kind == ArgKind::value || a.kind == ArgKind::value_list || a.kind == ArgKind::arg_list;
      if (a.kind == ArgKind::graph) {
        h = combine(h, a.graph() < g.subgraphs.size() ? structural_hash(*g.subgraphs[a.graph()]) : 0);
      } else if (mentions) {
        h = combine(h, static_cast<uint64_t>(a.count));
        for_each_value(a, [&](ValueId v) { h = combine(h, of_value[v]); });
        if (a.kind == ArgKind::arg_list)
          for (const Arg& e : a.arg_list())
            if (!e.is_value()) h = combine(h, hash_arg(e));
      } else {
        h = combine(h, hash_arg(a));
      }
    }
    for (size_t i = 0; i < n.result_count; ++i) of_value[n.result(i)] = combine(h, i);
    result.push_back(h);
  }
  return result;
}

// Pairs of positions (i in a, j in b), increasing in both: equal labels, the k-th of one side with the k-th of the
// other, thinned to a longest increasing sequence.
template <class Label>
std::vector<std::pair<size_t, size_t>> align(const std::vector<Label>& a, const std::vector<Label>& b) {
  std::unordered_map<Label, std::vector<size_t>> places;
  for (size_t j = b.size(); j-- > 0;) places[b[j]].push_back(j);
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < a.size(); ++i) {
    auto at = places.find(a[i]);
    if (at == places.end() || at->second.empty()) continue;
    pairs.emplace_back(i, at->second.back());
    at->second.pop_back();
  }
  std::vector<size_t> tails, previous(pairs.size(), SIZE_MAX);  // of increasing sequences by length
  for (size_t k = 0; k < pairs.size(); ++k) {
    auto place = std::lower_bound(tails.begin(), tails.end(), k,
                                  [&](size_t x, size_t y) { return pairs[x].second < pairs[y].second; });
    if (place != tails.begin()) previous[k] = *(place - 1);
    if (place == tails.end()) {
      tails.push_back(k);
    } else {
      *place = k;
    }
  }
  std::vector<std::pair<size_t, size_t>> kept;
  for (size_t k = tails.empty() ? SIZE_MAX : tails.back(); k != SIZE_MAX; k = previous[k]) kept.push_back(pairs[k]);
  std::reverse(kept.begin(), kept.end());
  return kept;
}

// "%y = aten.sum(%x, [0], keepdim=true)" cut at the commas of the call, so that arguments compare one by one.
std::vector<std::string> pieces(const std::string& text) {
  std::vector<std::string> out(1);
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (quoted && c == '\\' && i + 1 < text.size()) {
      out.back() += c;
      c = text[++i];
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted && (c == '(' || c == '[')) {
      ++depth;
    } else if (!quoted && (c == ')' || c == ']')) {
      --depth;
    }
    bool ends = !quoted && ((c == '(' && depth == 1) || (c == ')' && depth == 0));
    bool comma = !quoted && c == ',' && depth == 1;
    if (ends && c == ')') out.emplace_back();
    if (!comma) out.back() += c;
    if (comma && i + 1 < text.size() && text[i + 1] == ' ') ++i;
    if (comma || (ends && c == '(')) out.emplace_back();
  }
  return out;
}

// "f32[3] [1.0, 2.0, 3.0]" cut into what stands before the last list and the list's elements. Empty: there is no list.
std::vector<std::string_view> elements(std::string_view piece) {
  const size_t open = piece.rfind('[');
  if (open == std::string_view::npos || !piece.ends_with("]")) return {};
  std::vector<std::string_view> out{piece.substr(0, open + 1)};
  for (std::string_view rest = piece.substr(open + 1, piece.size() - open - 2);;) {
    const size_t comma = rest.find(", ");
    out.push_back(rest.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    rest.remove_prefix(comma + 2);
  }
}

// Two long lists of one length, by the places where they differ: nobody reads the rest. Empty if they are not such.
std::string list_diff(const std::string& a, const std::string& b) {
  constexpr size_t kLong = 16, kShown = 4;
  const std::vector<std::string_view> x = elements(a), y = elements(b);
  if (x.size() <= kLong || x.size() != y.size() || x[0] != y[0]) return "";
  std::string out(x[0]);
  size_t differ = 0;
  for (size_t i = 1; i < x.size(); ++i) {
    if (x[i] == y[i] || ++differ > kShown) continue;
    out += (differ == 1 ? "" : ", ") + std::to_string(i - 1) + ": [-" + std::string(x[i]) + "-]{+" + std::string(y[i]) +
           "+}";
  }
  if (differ > kShown) out += ", ...";
  return out + "; " + std::to_string(differ) + " of " + std::to_string(x.size() - 1) + " elements]";
}

// Both lines in one: what only a has as [-...-], what only b has as {+...+}.
std::string inline_diff(const std::string& a, const std::string& b) {
  std::vector<std::string> x = pieces(a), y = pieces(b);
  auto pairs = align(x, y);
  pairs.emplace_back(x.size(), y.size());
  std::string out;
  size_t i = 0, j = 0;
  auto separate = [&] {
    if (!out.empty() && out.back() != '(' && !out.ends_with(", ")) out += ", ";
  };
  for (auto [to_i, to_j] : pairs) {
    if (i < to_i || j < to_j) separate();
    if (to_i == i + 1 && to_j == j + 1)
      if (const std::string lists = list_diff(x[i], y[j]); !lists.empty()) {
        out += lists;
        ++i, ++j;
      }
    for (bool first = true; i < to_i; ++i, first = false)
      out += (first ? "[-" : ", ") + x[i] + (i + 1 == to_i ? "-]" : "");
    for (bool first = true; j < to_j; ++j, first = false)
      out += (first ? "{+" : ", ") + y[j] + (j + 1 == to_j ? "+}" : "");
    if (to_i == x.size()) break;
    if (!y[to_j].starts_with(")")) separate();
    out += y[to_j];
    i = to_i + 1;
    j = to_j + 1;
  }
  return out;
}

class GraphDiff {
 public:
  GraphDiff(const Graph& a, const Graph& b, const DiffOptions& options, std::string& out)
      : a_(a),
        b_(b),
        options_(options),
        out_(out),
        a_text_(a),
        b_text_(b),
        a_types_(a, with_types()),
        b_types_(b, with_types()),
        a_ids_(in_order(a)),
        b_ids_(in_order(b)) {}

  void run() {
    header();
    match();
    body();
    outputs();
    write();
    for (auto [x, y] : subgraphs_)
      if (!structurally_equal(*a_.subgraphs[x], *b_.subgraphs[y]))
        GraphDiff(*a_.subgraphs[x], *b_.subgraphs[y], options_, out_).run();
  }

 private:
  static PrintOptions with_types() {
    PrintOptions options;
    options.types = true;
    return options;
  }

  void header() {
    std::vector<std::string> x, y;
    auto lines = [](const Graph& g, GraphText& text, std::vector<std::string>& to) {
      for (size_t i = 0; i < g.inputs().size(); ++i) to.push_back(text.input(i));
      to.push_back("level " + std::string(name(g.level)));
      if (std::string facts = text.facts(); !facts.empty()) to.push_back(facts.substr(1));
    };
    lines(a_, a_text_, x);
    lines(b_, b_text_, y);
    auto pairs = align(x, y);
    pairs.emplace_back(x.size(), y.size());
    size_t i = 0, j = 0;
    for (auto [to_i, to_j] : pairs) {
      for (; i < to_i; ++i) lines_.push_back({'-', x[i]});
      for (; j < to_j; ++j) lines_.push_back({'+', y[j]});
      if (to_i == x.size()) break;
      lines_.push_back({' ', y[to_j]});
      i = to_i + 1;
      j = to_j + 1;
    }
  }

  // Anchors first: nodes that compute the same. Between two of them, nodes of one op and one name, then of one name,
  // then of one op.
  void match() {
    partner_.assign(a_ids_.size(), SIZE_MAX);
    auto anchors = align(keys(a_, a_ids_), keys(b_, b_ids_));
    for (auto [i, j] : anchors) partner_[i] = j;
    auto label = [](const Graph& g, NodeId id) {
      const Node& n = g.node(id);
      return n.op->full_name + (n.result_count ? " " + g.value_name(n.result()) : "");
    };
    auto op = [](const Graph& g, NodeId id) { return g.node(id).op->full_name; };
    auto value = [&](const Graph& g, NodeId id) {
      return g.node(id).result_count ? g.value_name(g.node(id).result()) : op(g, id);
    };
    refine(label);
    refine(value);
    refine(op);
  }

  template <class Label>
  void refine(Label&& label) {
    size_t i = 0, j = 0;
    auto gap = [&](size_t to_i, size_t to_j) {
      std::vector<std::string> x, y;
      for (size_t k = i; k < to_i; ++k) x.push_back(label(a_, a_ids_[k]));
      for (size_t k = j; k < to_j; ++k) y.push_back(label(b_, b_ids_[k]));
      for (auto [p, q] : align(x, y)) partner_[i + p] = j + q;
    };
    for (size_t k = 0; k < a_ids_.size(); ++k) {
      if (partner_[k] == SIZE_MAX) continue;
      size_t to_j = partner_[k];
      if (k > i && to_j > j) gap(k, to_j);
      i = k + 1;
      j = to_j + 1;
    }
    if (i < a_ids_.size() && j < b_ids_.size()) gap(a_ids_.size(), b_ids_.size());
  }

  void body() {
    value_of_.assign(a_.value_count(), kNone);
    for (size_t i = 0; i < std::min(a_.inputs().size(), b_.inputs().size()); ++i)
      value_of_[a_.inputs()[i].value] = b_.inputs()[i].value;
    for (size_t i = 0; i < a_ids_.size(); ++i) {
      if (partner_[i] == SIZE_MAX) continue;
      const Node &m = a_.node(a_ids_[i]), &n = b_.node(b_ids_[partner_[i]]);
      for (size_t r = 0; r < std::min(m.result_count, n.result_count); ++r) value_of_[m.result(r)] = n.result(r);
    }
    size_t j = 0;
    for (size_t i = 0; i < a_ids_.size(); ++i) {
      if (partner_[i] == SIZE_MAX) {
        lines_.push_back({'-', a_text_.node(a_ids_[i])});
        continue;
      }
      for (; j < partner_[i]; ++j) lines_.push_back({'+', b_text_.node(b_ids_[j])});
      both(a_ids_[i], b_ids_[j++]);
    }
    for (; j < b_ids_.size(); ++j) lines_.push_back({'+', b_text_.node(b_ids_[j])});
  }

  void both(NodeId x, NodeId y) {
    const Node &m = a_.node(x), &n = b_.node(y);
    bool same = m.op->full_name == n.op->full_name && m.arg_count == n.arg_count && m.result_count == n.result_count;
    for (size_t i = 0; same && i < m.arg_count; ++i) same = same_argument(m.args[i], n.args[i]);
    for (size_t i = 0; same && i < m.result_count; ++i) same = same_type(a_.type(m.result(i)), b_.type(n.result(i)));
    if (same) {
      lines_.push_back({' ', b_text_.node(y)});
      return;
    }
    std::string before = a_text_.node(x), after = b_text_.node(y);
    if (before == after) {  // only the types differ, or what an equal name stands for
      before = a_types_.node(x);
      after = b_types_.node(y);
    }
    if (before == after) {
      lines_.push_back({' ', after});
    } else if (pieces(before)[0] == pieces(after)[0]) {
      lines_.push_back({'~', inline_diff(before, after)});
    } else {
      lines_.push_back({'-', before});
      lines_.push_back({'+', after});
    }
  }

  bool same_value(ValueId x, ValueId y) {
    if (x == kNone || y == kNone) return x == y;
    return value_of_[x] == y;
  }

  bool same_argument(const Arg& x, const Arg& y) {
    if (x.kind != y.kind || x.count != y.count) return false;
    if (x.kind == ArgKind::value) return same_value(x.value(), y.value());
    if (x.kind == ArgKind::value_list) {
      for (size_t i = 0; i < x.count; ++i)
        if (!same_value(x.values[i], y.values[i])) return false;
      return true;
    }
    if (x.kind == ArgKind::arg_list) {
      for (size_t i = 0; i < x.count; ++i)
        if (!same_argument(x.args[i], y.args[i])) return false;
      return true;
    }
    if (x.kind == ArgKind::graph) {
      subgraphs_.emplace(x.graph(), y.graph());
      return true;
    }
    return a_text_.arg(x) == b_text_.arg(y);
  }

  void outputs() {
    bool same = a_.outputs().size() == b_.outputs().size();
    for (size_t i = 0; same && i < a_.outputs().size(); ++i) same = same_argument(a_.outputs()[i], b_.outputs()[i]);
    if (!same) lines_.push_back({'-', a_text_.returns()});
    lines_.push_back({same ? ' ' : '+', b_text_.returns()});
  }

  // The changed lines with their surroundings; the rest counted.
  void write() {
    out_ += b_.spelled_name() + (a_.name == b_.name ? "" : " (was " + a_.spelled_name() + ")") + "\n";
    std::vector<bool> shown(lines_.size());
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (lines_[i].mark == ' ') continue;
      size_t from = i < options_.context ? 0 : i - options_.context;
      for (size_t k = from; k < std::min(lines_.size(), i + options_.context + 1); ++k) shown[k] = true;
    }
    size_t skipped = 0;
    auto flush = [&] {
      if (skipped) out_ += "    ... " + std::to_string(skipped) + " unchanged\n";
      skipped = 0;
    };
    for (size_t i = 0; i < lines_.size(); ++i) {
      if (!shown[i]) {
        ++skipped;
        continue;
      }
      flush();
      out_ += std::string("  ") + lines_[i].mark + ' ' + lines_[i].text + '\n';
    }
    flush();
  }

  const Graph &a_, &b_;
  const DiffOptions& options_;
  std::string& out_;
  GraphText a_text_, b_text_, a_types_, b_types_;
  std::vector<NodeId> a_ids_, b_ids_;
  std::vector<size_t> partner_;    // of a node of a, by position: in b
  std::vector<ValueId> value_of_;  // what a value of a is in b
  std::vector<Line> lines_;
  std::set<std::pair<uint32_t, uint32_t>> subgraphs_;
};

}  // namespace

std::string diff(const Graph& a, const Graph& b, const DiffOptions& options) {
  std::string out;
  if (!structurally_equal(a, b)) GraphDiff(a, b, options, out).run();
  return out;
}

}  // namespace lenz
