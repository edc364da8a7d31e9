// A deep graph judged in parts. Worst-case bounds grow with every layer until they hold nobody to anything; of a part
// that begins with what eager has computed so far they tell what they tell of any graph as short. So each part is
// checked as a graph of its own, on the values that it meets in the whole.
// Thread-safety: one thread; the machine outlives it.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "oracle/bounds/reference.h"
#include "oracle/parting.h"

namespace lenz::oracle {

struct PartRun {
  Part part;
  std::vector<RunValue> values;  // of its graph's inputs
  std::string where;             // "nodes 0 to 17 of 240, up to %h"
};
// Values for a graph's inputs, in memory of their own and laid as its types say.
std::vector<RunValue> laid_inputs(const Graph& graph, std::span<const RunValue> values, const Binding& binding);

class PartsWalk {
 public:
  // `inputs` are the graph's; no two may share memory.
  PartsWalk(const Graph& graph, Boxed& boxed, std::vector<RunValue> inputs, Binding binding, ExecuteOptions options);
  // As long a part as bounds say enough of, if there is one; null behind the last, and where eager did not get on.
  std::optional<PartRun> next();
  const std::string& stopped() const { return stopped_; }  // why eager did not; empty: it has

 private:
  std::vector<RunValue> values_of(const Part& part) const;
  size_t end_of_next();
  void run(const Part& part);

  Boxed& boxed_;
  Binding binding_;
  ExecuteOptions options_;
  Parting parting_;
  std::vector<RunValue> inputs_;                  // as they are before the next part
  std::unordered_map<ValueId, RunValue> values_;  // what crosses its beginning
  size_t at_ = 0;
  std::string stopped_;
};

}  // namespace lenz::oracle
