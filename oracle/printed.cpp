#include "oracle/printed.h"

#include "oracle/aten.h"
#include "oracle/tensors.h"

namespace lenz::oracle {

std::string line_of(const Printed& printed) {
  std::string line;
  const std::string_view format = printed.format;
  for (size_t at = 0, next = 0; at < format.size(); ++at) {
    if (format.substr(at, 2) != "{}" || next == printed.values.size()) {
      line += format[at];
      continue;
    }
    line += to_text(printed.values[next++]);
    ++at;
  }
  return line;
}

void note_print(std::vector<Printed>& all, const ExecuteOptions& options, std::string_view format,
                std::span<const RunValue> values) {
  Printed& made = all.emplace_back(std::string(format), std::vector<RunValue>());
  for (const RunValue& v : values) made.values.push_back(v && look(v).kind == TypeKind::tensor ? detached_copy(v) : v);
  if (options.print) options.print(line_of(made));
}

std::vector<RunValue> shown(const loops::Print& node, std::span<const loops::Tensor> values, StorageBridge& bridge) {
  std::vector<RunValue> all;
  for (size_t i = 0; i < values.size(); ++i)
    all.push_back(node.numbers[i] ? plain_number(values[i]) : hold(bridge.out(values[i])));
  return all;
}

RunValue plain_number(const loops::Tensor& held) {
  const ScalarValue x = held.at(0);
  if (held.dtype() == Dtype::b8) return truth_value(x.integer() != 0);
  return is_integral(held.dtype(), false) ? number(x.integer()) : real_number(x.real());
}

}  // namespace lenz::oracle
