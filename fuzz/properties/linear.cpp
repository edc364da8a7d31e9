#include "fuzz/properties/linear.h"

#include <ctime>

#include "compiler/driver/program_set.h"
#include "compiler/graph/renumber.h"
#include "compiler/loops/text.h"
#include "compiler/schedule/realise.h"
#include "fuzz/properties/list.h"

namespace lenz::fuzz {

namespace {
constexpr size_t kSmall = 400, kTimes = 8;  // nodes of the lesser graph; so many times as many has the larger
// Beyond what is linear: caches of the processor, tables that grow.
constexpr double kSlack = 2.5;
constexpr double kMuch = 0.5;     // seconds that the lesser graph may take
constexpr double kLeast = 0.002;  // seconds: what takes less is not measured

// Numbers that only the run knows belong to the node that makes them: two can't make one.
bool makes_symbols(const Graph& graph) {
  std::set<const SymNode*> given;
  for (const Input& input : graph.inputs())
    for_each_symbolic_dim(graph.type(input.value),
                          [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { given.insert(s); }); });
  bool makes = false;
  for (const Type* type : graph.types())
    for_each_symbolic_dim(*type,
                          [&](Dim d) { for_each_symbol(d, [&](const SymNode* s) { makes |= !given.contains(s); }); });
  return makes;
}

}  // namespace

std::unique_ptr<Graph> beside_itself(const Graph& graph, size_t times) {
  if (!graph.subgraphs.empty() || makes_symbols(graph)) return nullptr;
  auto made = std::make_unique<Graph>(graph.shared_context(), graph.ops(), graph.name);
  Context& context = made->context();
  made->level = graph.level;
  made->assumptions = graph.assumptions;
  std::vector<Arg> outputs;
  ValueId token = kNone;  // the newest: effects of a graph stand in one order, so those of a copy behind the others'
  for (size_t copy = 0; copy < times; ++copy) {
    std::vector<ValueId> ids(graph.value_count(), kNone);
    for (const Input& input : graph.inputs()) {
      ids[input.value] = made->add_input({}, graph.types()[input.value]);
      Input& own = made->input(made->inputs().size() - 1);
      own = input;
      own.value = ids[input.value];
      if (own.alias) own.alias = context.intern(std::string(context.name(*own.alias)) + "_" + std::to_string(copy));
    }
    graph.for_each_node([&](NodeId at) {
      const Node& node = graph.node(at);
      const bool orders = node.result_count == 1 && graph.type(node.result()).kind == TypeKind::token;
      if (orders && node.arguments().empty() && token != kNone) {
        ids[node.result()] = token;
        return;
      }
      SmallVec<Arg, 12> args;
      for (const Arg& a : node.arguments()) args.push_back(renumbered(context, a, ids));
      SmallVec<const Type*, 4> types;
      for (uint16_t i = 0; i < node.result_count; ++i) types.push_back(&graph.type(node.result(i)));
      const NodeId id = made->insert(kNone, *node.op, args, node.origin, types);
      for (uint16_t i = 0; i < node.result_count; ++i) ids[node.result(i)] = made->node(id).result(i);
      if (orders) token = made->node(id).result();
    });
    for (const Arg& a : graph.outputs()) outputs.push_back(renumbered(context, a, ids));
  }
  made->set_outputs(outputs);
  return made;
}

namespace {
double processor_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

struct Cost {
  double seconds = 0;
  size_t code = 0;  // of the scheduled loops, as text
};
Cost cost_of(const Graph& graph, Subject& subject) {
  const double begin = processor_time();
  const loops::Program program =
      schedule::schedule(program_for(graph, subject.sizes(), subject.runner()), subject.loops_target());
  return {processor_time() - begin, loops::print(program).size()};
}

std::optional<Failure> holds(Subject& subject) {
  const Graph& graph = subject.graph();
  const auto alone = beside_itself(graph, 1);
  if (graph.node_count() == 0 || !alone) return std::nullopt;
  size_t times = std::max<size_t>(1, kSmall / graph.node_count());
  // Of what takes long by itself, as proofs about many open sizes do, fewer copies say as much.
  const double one = cost_of(*alone, subject).seconds;
  if (one * static_cast<double>(times) > kMuch) times = std::max<size_t>(1, static_cast<size_t>(kMuch / one));
  auto small = beside_itself(graph, times);
  while (times > 1 && cost_of(*small, subject).seconds > kMuch)
    small = beside_itself(graph, times = std::max<size_t>(1, times / 4));
  const auto large = beside_itself(graph, times * kTimes);
  // A processor that others use is slow at times: the best of a few times is not.
  constexpr int kAttempts = 5;
  Cost a, b;
  double ratio = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const Cost once = cost_of(*small, subject), again = cost_of(*large, subject);
    a = {attempt == 0 ? once.seconds : std::min(a.seconds, once.seconds), once.code};
    b = {attempt == 0 ? again.seconds : std::min(b.seconds, again.seconds), again.code};
    ratio = b.seconds / std::max(a.seconds, kLeast);
    if (ratio <= kSlack * kTimes) break;
  }
  const std::string sizes =
      std::to_string(small->node_count()) + " and " + std::to_string(large->node_count()) + " nodes";
  if (ratio > kSlack * kTimes)
    return Failure{"linear", "linear", "time grows",
                   "the graph " + std::to_string(kTimes) + " times beside itself, " + sizes + ", takes " +
                       std::to_string(ratio) + " times as long"};
  if (static_cast<double>(b.code) > kSlack * kTimes * static_cast<double>(a.code))
    return Failure{"linear", "linear", "code grows",
                   "the graph " + std::to_string(kTimes) + " times beside itself, " + sizes + ", makes loops of " +
                       std::to_string(a.code) + " and " + std::to_string(b.code) + " bytes of text"};
  return std::nullopt;
}
}  // namespace

Property linear() {
  return {.name = "linear",
          .contract = "eight times the graph takes at most twenty times as long to compile, and as much code",
          .holds = holds,
          .every = 256,
          .repeats = true};
}

}  // namespace lenz::fuzz
