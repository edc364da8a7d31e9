#include "oracle/bounds/rules.h"
#include "oracle/widen.h"

#include "compiler/scalar/scalar.h"

namespace lenz::oracle {

bool is_scalar_row(const OpDef& op) { return !op.scalar.empty() && find_scalar(op.scalar) != nullptr; }

namespace {
// A scatter that keeps the largest or the smallest is told so by a word.
bool keeps_extremes(const Call& call) {
  for (const Arg& a : call.args)
    if (a.kind == ArgKind::string && (a.string() == "amax" || a.string() == "amin")) return true;
  return false;
}
}  // namespace

Rule rule_for(const Call& call) {
  const OpDef& op = *call.op;
  if (reads_bits(op)) return flow_bits;
  if (keeps_extremes(call)) return flow_monotone;
  switch (op.flow.kind) {
    case ErrorFlow::moved: return flow_moved;
    case ErrorFlow::positive: return flow_positive;
    case ErrorFlow::monotone: return flow_monotone;
    case ErrorFlow::interpolated: return flow_interpolated;
    case ErrorFlow::log_sums: return flow_log_sums;
    case ErrorFlow::opaque: return flow_opaque;
    case ErrorFlow::by_traits: break;
  }
  if (op.has(Trait::creation) && op.has(Trait::nondeterministic)) return flow_unwritten;
  if (op.has(Trait::creation) || op.has(Trait::reads_metadata_only)) return flow_created;
  if (op.has(Trait::movement) || op.has(Trait::maybe_view) || !op.copies.empty()) return flow_moved;
  if (op.accuracy == Accuracy::accumulated) return flow_positive;
  if (op.accuracy != Accuracy::exact || op.has(Trait::data_dependent)) return flow_opaque;
  if (op.has(Trait::reduction) || op.has(Trait::scan)) return flow_monotone;
  return op.has(Trait::indexing) ? flow_moved : flow_opaque;
}

}  // namespace lenz::oracle
