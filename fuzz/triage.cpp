#include "fuzz/triage.h"

#include <filesystem>
#include <fstream>

#include "compiler/graph/text.h"

namespace lenz::fuzz {

namespace {
// Packets in their order: what remains of names when types and overloads don't matter.
std::string op_chain(const Graph& graph) {
  std::string chain;
  graph.for_each_node([&](NodeId id) {
    const OpDef& op = *graph.node(id).op;
    chain += (chain.empty() ? "" : " > ") + op.schema.packet;
  });
  return chain;
}
}  // namespace

Triaged triage(const Case& found, const Failure& failure, const ReduceOptions& options) {
  Triaged t;
  std::vector<const Property*> only;
  if (const Property* p = find_property(failure.property)) only.push_back(p);
  auto alone = failure_alone(found, only);
  if (!alone || alone->symptom != failure.symptom) {
    t.alone = false;
    t.name = failure.key() + " | not alone";
    t.text = found.text();
    t.detail = failure.detail + "\nThe case by itself " +
               (alone ? "fails otherwise: " + alone->key() : "holds: something that ran before it is to blame.");
    return t;
  }
  Reduction r = reduce(found, failure, options);
  t.evaluations = r.evaluations;
  Failure smallest = failure_blamed(r.smallest, failure);
  t.name = smallest.key() + " | " + op_chain(*r.smallest.graph);
  t.text = r.smallest.text();
  t.detail = smallest.detail;
  if (!r.finished) t.detail += "\nThe reduction ran out of time.";
  return t;
}

std::string finding_file(const std::string& folder, int64_t id) {
  return (std::filesystem::path(folder) / ("finding_" + std::to_string(id) + ".lenz")).string();
}

void write_finding(const std::string& folder, int64_t id, const Triaged& t) {
  const std::string file = finding_file(folder, id);
  std::ofstream(file) << t.text;
  std::ofstream page(file.substr(0, file.size() - 5) + ".md");
  page << "# " << t.name << "\n\n```\n"
       << t.text << "```\n\n"
       << t.detail << "\n\nAgain: `lenz fuzz --replay " << file << "`\n";
}

}  // namespace lenz::fuzz
