#include "compiler/graph/operand_devices.h"

#include "compiler/graph/alias.h"

namespace lenz {

namespace {
// What the row says of the operand: the word behind "name:".
std::string_view said_of(const OpDef& op, std::string_view param) {
  for (std::string_view rest = op.devices; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size()), colon = rest.find(':');
    if (rest.substr(0, colon) == param) return rest.substr(colon + 1, end - colon - 1);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return {};
}

class OperandDevices {
 public:
  explicit OperandDevices(const Infer& in) : in_(in) {}

  void look(size_t param) {
    for_each_value(in_.arg(param), [&](ValueId v) {
      const Type& type = in_.type_of(v);
      if (type.is_tensor()) look(param, type);
      for (const Type* element : type.elements())
        if (element->is_tensor()) look(param, *element);
    });
  }
  std::optional<Device> joined() const {
    return joined_ && common_ && !on_one_device(*common_, {}) ? common_ : std::nullopt;
  }
  // What lies on the CPU may do so if the others do, or the row lets it.
  void settle() const {
    for (const auto& [param, device] : on_cpu_)
      if (common_ && !on_one_device(*common_, device) && device.kind != DeviceKind::cpu) refuse(param, device);
  }

 private:
  struct OnCpu {
    size_t param;
    Device device;
  };

  void look(size_t param, const Type& type) {
    const std::string_view said = said_of(in_.op(), in_.op().schema.params[param].name);
    if (said == "any") return;
    const bool number = type.rank() == 0 && type.device.kind == DeviceKind::cpu;
    if (number &&
        (said == "number" || (in_.op().has(Trait::elementwise) && !writes_operand(in_.op(), in_.args(), param)))) {
      joined_ = joined_ || in_.op().has(Trait::elementwise);
    } else if (said == "cpu") {
      on_cpu_.push_back({param, type.device});
    } else if (!common_) {
      common_ = type.device;
      first_ = param;
    } else if (!on_one_device(*common_, type.device)) {
      refuse(param, type.device);
    }
  }
  [[noreturn]] void refuse(size_t param, Device device) const {
    const auto& params = in_.op().schema.params;
    std::string text = "`" + params[param].name + "` is on " + to_string(device) + ", ";
    text += param == first_ ? "another of its tensors" : "`" + params[first_].name + "`";
    in_.raise(text + " on " + to_string(*common_) + ": move one of them to the other's device first");
  }

  const Infer& in_;
  std::optional<Device> common_;
  size_t first_ = 0;
  bool joined_ = false;
  SmallVec<OnCpu, 4> on_cpu_;
};
}  // namespace

bool on_one_device(Device a, Device b) {
  return a.kind == b.kind && (a.index == b.index || a.index < 0 || b.index < 0);
}

std::optional<Device> require_one_device(const Infer& in) {
  if (in.op().has(Trait::structural) || in.op().each) return std::nullopt;
  OperandDevices devices(in);
  for (size_t i = 0; i < in.args().size(); ++i) devices.look(i);
  devices.settle();
  return devices.joined();
}

}  // namespace lenz
