// Objects in memory, by the keys of object_cache.h: for who compiles much that is alike, again and again in one
// process. Beyond so many bytes all of them are forgotten.
// Thread-safety: from any number of threads.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace lenz::native {

class KeptObjects {
 public:
  explicit KeptObjects(size_t most_bytes = size_t{64} << 20) : most_bytes_(most_bytes) {}

  std::optional<std::string> find(const std::string& key) const;
  void put(const std::string& key, std::string_view object);

 private:
  const size_t most_bytes_;
  mutable std::mutex mutex_;
  size_t bytes_ = 0;
  std::unordered_map<std::string, std::string> objects_;
};

}  // namespace lenz::native
