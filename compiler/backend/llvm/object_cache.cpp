#include "compiler/backend/llvm/object_cache.h"

#include <fcntl.h>
#include <llvm/Config/llvm-config.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/base/error.h"
#include "compiler/base/hash.h"

namespace lenz::native {

namespace {
// Part of every key: raise it when the passes or the code generator's options change, which the IR does not show.
constexpr std::string_view kMade = "lenz object 1, LLVM " LLVM_VERSION_STRING;

std::string hex(uint64_t x) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(x));
  return text;
}
// An entry is its checksum, then the object.
std::string checksum(std::string_view object) { return hex(hash_bytes(object, 7)); }
}  // namespace

ObjectCache::ObjectCache(std::string folder) : folder_(std::move(folder)) {
  std::error_code failed;
  const std::filesystem::path path(folder_);
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), failed);
  if (mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    throw UserError("can't make the cache folder '" + folder_ + "'", "", "name another one");
  struct stat info{};
  if (stat(folder_.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    throw UserError("the cache '" + folder_ + "' is no folder", "", "name another one");
  if (info.st_uid != geteuid() || (info.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    throw UserError("others may write to the cache folder '" + folder_ + "', and code from it would be run", "",
                    "name a folder of your own, or chmod go-w it");
}

std::string ObjectCache::key(std::string_view code, std::string_view target) {
  std::string made_of = std::string(kMade) + "\n" + std::string(target) + "\n";
  made_of += code;
  return hex(hash_bytes(made_of, 1)) + hex(hash_bytes(made_of, 2)) + hex(made_of.size());
}

std::optional<std::string> ObjectCache::find(const std::string& key) const {
  std::ifstream file(folder_ + "/" + key + ".o", std::ios::binary);
  if (!file) return std::nullopt;
  std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (all.size() <= 16 || checksum(std::string_view(all).substr(16)) != all.substr(0, 16)) return std::nullopt;
  return all.substr(16);
}

void ObjectCache::put(const std::string& key, std::string_view object) const {
  static std::atomic<uint64_t> number = 0;
  const std::string place = folder_ + "/" + key + ".o";
  const std::string beside = place + "." + std::to_string(getpid()) + "." + std::to_string(number++);
  std::error_code ignored;
  {
    std::ofstream file(beside, std::ios::binary);
    file << checksum(object) << object;
    if (!file.flush()) {
      file.close();
      std::filesystem::remove(beside, ignored);
      return;
    }
  }
  std::filesystem::rename(beside, place, ignored);
  if (ignored) std::filesystem::remove(beside, ignored);
}

}  // namespace lenz::native
