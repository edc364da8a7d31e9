// Attention in the many ways in which graphs write it out: each becomes one op, and what eager gives stays within the
// bounds. Ways that differ from attention by one thing are left alone.
#include <gtest/gtest.h>

#include "compiler/base/chooser.h"
#include "compiler/driver/pipeline.h"
#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "compiler/passes/runner.h"
#include "oracle/graph_check.h"

namespace lenz::oracle {
namespace {

// The text of a graph that writes attention out, drawn step by step.
class AttentionWriter {
 public:
  explicit AttentionWriter(uint64_t seed) : choose_(seed) {}

  // The reciprocal of a number that only a run knows may be infinite: such scores stay as they are written.
  bool divided_by_the_runs() const { return divided_by_the_runs_; }

  // Halves of which one op would round something else than the graph does: shares from a softmax in f32, exponentials.
  bool rounds_otherwise() const { return (dtype_ == "f16" || dtype_ == "bf16") && (wide_ || late_); }

  std::string write() {
    dtype_ = choose_.any_of<std::string>({"f32", "f32", "f64", "f16", "bf16"});
    bool flat = choose_.chance(1, 4);  // batches of matrices
    batch_ = flat ? "8, " : choose_.any_of<std::string>({"2, 4, ", "2, 4, ", "4, ", ""});
    input("q", batch_ + "5, 8");
    bool shared = batch_ == "2, 4, " && choose_.chance(1, 4);  // by several queries
    input("v", (shared ? "2, 1, " : batch_) + "6, 3");
    turned_ = choose_.chance(1, 4);
    product(shared, flat);
    std::string rows = turned_ ? "6, 5" : "5, 6";
    if (choose_.chance(1, 3)) wide();
    bool folded = flat && choose_.flip();
    if (folded) step("aten.view(%s, [2, 4, " + rows + "])");
    mask_batch_ = folded ? "2, 4, " : batch_;
    if (choose_.flip()) scale();
    for (uint64_t n = choose_.below(3); n > 0; --n) mask(rows);
    if (choose_.chance(1, 4)) scale();
    if (folded) step("aten.view(%s, [8, " + rows + "])");
    std::string last = choose_.any_of<std::string>({"matmul", flat ? "bmm" : batch_.empty() ? "mm" : "matmul"});
    if (!turned_ && !wide_ && choose_.chance(1, 5))
      late_softmax(last);
    else
      weigh(last);
    return "graph @g(" + inputs_ + ") {\n" + nodes_ + "  return %" + latest() + "\n}\n";
  }

 private:
  void input(const std::string& name, const std::string& sizes) { input(name, dtype_, sizes); }
  void input(const std::string& name, const std::string& dtype, const std::string& sizes) {
    inputs_ += (inputs_.empty() ? "%" : ", %") + name + ": " + dtype + "[" + sizes + "]";
  }
  void node(const std::string& name, const std::string& call) { nodes_ += "  %" + name + " = " + call + "\n"; }
  // %s stands for the latest scores.
  void step(std::string call) {
    std::string before = latest(), after = "s" + std::to_string(++steps_);
    if (size_t at = call.find("%s"); at != std::string::npos) call.replace(at, 2, "%" + before);
    node(after, call);
    finish_ = after;
  }
  std::string latest() const { return finish_; }

  // The last two dims, which attention counts queries and keys by, exchanged.
  std::string turn() {
    std::string whole = batch_.empty() ? "1, 0" : batch_ == "2, 4, " ? "0, 1, 3, 2" : "0, 2, 1";
    return choose_.any_of<std::string>(
        {"aten.transpose(%s, -2, -1)", "aten.permute(%s, [" + whole + "])", "aten.mT(%s)"});
  }

  // The same product by letters, of operands that have as many dims.
  std::string equation(const std::string& x, const std::string& y) const {
    std::string letters = batch_ == "2, 4, " ? "ab" : batch_.empty() ? "" : "a";
    return "aten.einsum(\"" + letters + "ij," + letters + "jk->" + letters + "ik\", [%" + x + ", %" + y + "])";
  }

  void first_product(const std::string& op, const std::string& x, const std::string& y, bool shared) {
    finish_ = "s0";
    if (!shared && choose_.chance(1, 5)) return node("s0", equation(x, y));
    bool flat = op == "bmm" || op == "mm";
    if (!flat || choose_.flip()) return node("s0", "aten." + op + "(%" + x + ", %" + y + ")");
    input("added", std::string(op == "bmm" ? "8, " : "") + (turned_ ? "6, 5" : "5, 6"));
    std::string weights = choose_.any_of<std::string>({"", ", alpha=0.5", ", beta=0.25", ", beta=-1, alpha=2"});
    node("s0", std::string(op == "bmm" ? "aten.baddbmm" : "aten.addmm") + "(%added, %" + x + ", %" + y + weights + ")");
  }

  // Softmax, and what stands between it and the values.
  void weigh(const std::string& last) {
    softmax();
    if (wide_) step("aten.to(%s, " + dtype_ + ")");
    if (choose_.chance(1, 3)) step("aten.dropout(%s, 0.1, false)");
    bool left = turned_ && choose_.flip();
    if (turned_ && !left) step(turn());
    if (!left) return step("aten." + last + "(%s, %v)");
    node("vt", "aten.transpose(%v, -2, -1)");
    step("aten." + last + "(%vt, %s)");
  }

  // Divided by their sum when the product is done.
  void late_softmax(const std::string& last) {
    late_ = true;
    exponentials("-1");
    std::string weights = latest();
    node("all", "aten.sum(%" + weights + ", [-1], true)");
    step("aten." + last + "(%s, %v)");
    step("aten.div(%s, %all)");
  }

  void product(bool shared, bool flat) {
    std::string keys = shared ? "2, 1, " : batch_;
    switch (choose_.below(3)) {
      case 0:
        input("k", keys + "6, 8");
        node("kt", "aten.transpose(%k, -2, -1)");
        break;
      case 1:
        input("k", keys + "6, 8");
        node("kt", "aten.permute(%k, [" +
                       std::string(batch_.empty()       ? "1, 0"
                                   : batch_ == "2, 4, " ? "0, 1, 3, 2"
                                                        : "0, 2, 1") +
                       "])");
        break;
      default: input("kt", keys + "8, 6");
    }
    if (choose_.chance(1, 5)) {  // a scale inside
      node("q1", "aten.mul(%q, 0.5)");
      query_ = "q1";
    }
    std::string op = choose_.any_of<std::string>({"matmul", flat ? "bmm" : batch_.empty() ? "mm" : "matmul"});
    if (!turned_) return first_product(op, query_, "kt", shared);
    node("qt", "aten.transpose(%" + query_ + ", -2, -1)");
    node("kk", "aten.transpose(%kt, -2, -1)");
    first_product(op, "kk", "qt", shared);
    if (!choose_.chance(1, 4)) return;
    turned_ = false;
    step(turn());
  }
  void wide() {
    if (dtype_ != "f16" && dtype_ != "bf16") return;
    wide_ = true;
    step("aten.to(%s, f32)");
  }
  void scale() {
    switch (choose_.below(hidden_.empty() ? 6 : 5)) {
      case 0: return step("aten.mul(%s, 0.35)");
      case 5: {  // only a run knows it
        std::string n = "n" + std::to_string(steps_);
        input(n, "f64", "");
        node(n + "f: float", "aten._local_scalar_dense(%" + n + ")");
        if (choose_.flip()) return step("aten.mul(%s, %" + n + "f)");
        divided_by_the_runs_ = true;
        return step("aten.div(%s, %" + n + "f)");
      }
      case 1: return step("aten.div(%s, 2.5)");
      case 2: return step("aten.mul(%s, -0.5)");
      case 3: {
        std::string c = "c" + std::to_string(steps_);
        node(c, "aten.full([], 4.0, dtype=" + std::string(wide_ ? "f32" : dtype_) + ")");
        return step("aten.div(%s, %" + c + ")");
      }
      default: return step("aten.div(%s, 2)");
    }
  }
  void mask(const std::string& rows) {
    std::string name = "m" + std::to_string(steps_);
    std::string row = rows.substr(3), column = rows.substr(0, 1);
    std::string sizes = choose_.any_of<std::string>(
        {rows, mask_batch_ + rows, mask_batch_ == "2, 4, " ? "2, 1, 1, " + row : row, column + ", 1"});
    switch (choose_.below(8)) {
      case 0: input(name, wide_ ? "f32" : dtype_, sizes); return step("aten.add(%s, %" + name + ")");
      case 1: input(name, wide_ ? "f32" : dtype_, sizes); return step("aten.add(%" + name + ", %s)");
      case 6: input(name, wide_ ? "f32" : dtype_, sizes); return step("aten.sub(%s, %" + name + ")");
      case 7: input(name, wide_ ? "f32" : dtype_, sizes); return step("aten.add(%s, %" + name + ", alpha=0.5)");
      case 2: input(name, "bool", sizes); return step("aten.masked_fill(%s, %" + name + ", " + hidden() + ")");
      case 3: input(name, "bool", sizes); return step("aten.where(%" + name + ", %s, " + hidden() + ")");
      case 4: input(name, "bool", sizes); return step("aten.where(%" + name + ", " + hidden() + ", %s)");
      default: {
        node(name + "o", "aten.ones([" + rows + "], dtype=bool)");
        node(name, "aten.tril(%" + name + "o)");
        return step("aten.where(%" + name + ", %s, " + hidden() + ")");
      }
    }
  }
  // One number for all masks of a graph: of several, a row would have to say which.
  std::string hidden() {
    if (hidden_.empty()) hidden_ = choose_.any_of<std::string>({"-inf", "-inf", "-1000.0"});
    return hidden_;
  }
  void exponentials(const std::string& dim) {
    std::string scores = latest();
    if (choose_.flip())
      node("top", "aten.amax(%" + scores + ", [" + dim + "], true)");
    else
      node("top, %where", "aten.max(%" + scores + ", " + dim + ", true)");
    step("aten.sub(%s, %top)");
    step("aten.exp(%s)");
  }
  void softmax() {
    std::string dim = turned_ ? "-2" : "-1";
    switch (choose_.below(8)) {
      case 0: {
        exponentials(dim);
        node("all", "aten.sum(%" + latest() + ", [" + dim + "], true)");
        return step("aten.div(%s, %all)");
      }
      case 1: step("aten.log_softmax(%s, " + dim + ")"); return step("aten.exp(%s)");
      case 2: {
        node("all", "aten.logsumexp(%" + latest() + ", [" + dim + "], true)");
        step("aten.sub(%s, %all)");
        return step("aten.exp(%s)");
      }
      default: return step("aten.softmax(%s, " + dim + ")");
    }
  }

  RandomChooser choose_;
  std::string dtype_, batch_, mask_batch_, inputs_, nodes_, query_ = "q", finish_, hidden_;
  bool divided_by_the_runs_ = false, late_ = false;
  bool wide_ = false, turned_ = false;  // turned: scores are counted by keys, then by queries
  size_t steps_ = 0;
};

size_t fused(const Graph& graph) {
  size_t count = 0;
  graph.for_each_node([&](NodeId id) { count += graph.node(id).op->full_name == "lenz.attention"; });
  return count;
}

TEST(Attention, IsOneOpHoweverItIsWritten) {
  size_t refused = 0, left = 0;
  constexpr uint64_t kGraphs = 600;
  for (uint64_t seed = 0; seed < kGraphs; ++seed) {
    AttentionWriter writer(seed);
    std::string text = writer.write();
    auto graph = parse_graph(text, op_table());
    auto lines = select_passes("attention");
    auto made = graph->clone();
    run_passes(*made, lines, checked_options());
    if (writer.rounds_otherwise()) {
      EXPECT_EQ(fused(*made), 0u) << text;
      made = graph->clone();  // one of f32 where the host's products of halves are slow
      RunnerOptions slow = checked_options();
      slow.slow_products = DtypeSet::of(Dtype::f16, Dtype::bf16);
      run_passes(*made, lines, slow);
    }
    if (writer.divided_by_the_runs())
      EXPECT_EQ(fused(*made), 0u) << text;
    else
      left += fused(*made) != 1;
    GraphCheckOptions options;
    options.seeds = 2;
    options.first_seed = seed;
    options.lines = lines;
    GraphReport r = check_graph(*graph, options);
    refused += r.refused;
    for (const PassFinding& f : r.findings)
      ADD_FAILURE() << "seed " << seed << ": " << f.mismatch.summary() << "\n" << text << "becomes\n" << print(*made);
  }
  // A finite number that hides scores of half floats is not scaled afterwards: it might have become infinite.
  EXPECT_LT(left, kGraphs / 25);
  EXPECT_EQ(refused, 0u);
}

}  // namespace
}  // namespace lenz::oracle
