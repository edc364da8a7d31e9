#include "compiler/backend/llvm/kept_objects.h"

namespace lenz::native {

std::optional<std::string> KeptObjects::find(const std::string& key) const {
  std::scoped_lock lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

void KeptObjects::put(const std::string& key, std::string_view object) {
  std::scoped_lock lock(mutex_);
  if (bytes_ + object.size() > most_bytes_) {
    objects_.clear();
    bytes_ = 0;
  }
  if (objects_.emplace(key, object).second) bytes_ += object.size();
}

}  // namespace lenz::native
