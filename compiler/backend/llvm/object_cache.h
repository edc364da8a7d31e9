// Objects on disk, by what they were made of: the IR before the compiler's passes, the target, the compiler.
//
// Thread-safety: from any number of threads and processes. An entry is written beside its place and renamed, so that
// nobody reads half of one; one that does not match its own checksum is as good as none. Whoever can write the folder
// can run code: it is made for its owner alone, and refused where it belongs to others or others may write to it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace lenz::native {

class ObjectCache {
 public:
  // UserError if the folder can't be made or is not safe.
  explicit ObjectCache(std::string folder);

  static std::string key(std::string_view code, std::string_view target);
  std::optional<std::string> find(const std::string& key) const;
  // Nothing happens where there is no room.
  void put(const std::string& key, std::string_view object) const;

 private:
  std::string folder_;
};

}  // namespace lenz::native
