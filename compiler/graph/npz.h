// Arrays in NumPy's files: .npz (a zip of .npy), as weights, inputs and results travel.
//
// Dtypes that NumPy lacks (bf16, float8) travel as their raw bits in unsigned integers; whoever reads them knows. A bad
// file gives a UserError that says what is wrong with it; sizes are checked before memory is taken.
// Thread-safety: a reader belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <fstream>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "compiler/graph/arg.h"

namespace lenz {

struct NpyArray {
  Dtype dtype = Dtype::f32;  // as the file says; raw bits of 16 have no dtype of ours: see `raw_bits`
  int raw_bits = 0;          // not 0: unsigned integers or void of this width that are no dtype of ours
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;  // elements in C order, little-endian

  int item_size() const { return raw_bits ? raw_bits / 8 : lenz::item_size(dtype); }
};

struct NpzLimits {
  size_t array_bytes = size_t{1} << 36;  // of one array
  size_t entries = 1'000'000;
};

// One .npy file's content.
NpyArray parse_npy(std::span<const std::byte> file, const NpzLimits& limits = {});
NpyArray parse_npy_header(std::span<const std::byte> file);  // without elements, of which none need be there
std::vector<std::byte> format_npy(const NpyArray& array);

// Whether a name can be shown, and so be an array's: UTF-8, without control characters.
bool is_shown_as_it_is(std::string_view name);

class NpzReader {
 public:
  explicit NpzReader(std::string path, const NpzLimits& limits = {});
  std::vector<std::string> keys() const;  // sorted; without ".npy"
  bool has(const std::string& key) const { return members_.contains(key); }
  NpyArray read(const std::string& key);
  NpyArray header(const std::string& key);  // without elements, which are not read

 private:
  struct Member {
    uint64_t header_at = 0, packed = 0, size = 0;
    uint32_t crc = 0;
    uint16_t method = 0;
  };
  struct Directory {
    uint64_t at = 0, size = 0, entries = 0;
    uint64_t before = 0;  // bytes before the zip, of which places in it know nothing
  };
  Directory find_directory();
  void read_directory();
  std::vector<std::byte> bytes_at(uint64_t at, uint64_t count);
  uint64_t place_of(const std::string& key, const Member& member);
  template <class F>
  NpyArray member(const std::string& key, F&& parse);
  std::vector<std::byte> unpack(const std::string& key, const Member& member);
  [[noreturn]] void fail(const std::string& what) const;

  std::string path_;
  NpzLimits limits_;
  std::ifstream file_;
  uint64_t size_ = 0;
  std::map<std::string, Member> members_;
};

// Writes all or nothing, but into what is no regular file as it stands. Members are stored, not deflated: weights don't
// shrink.
void write_npz(const std::string& path, std::span<const std::pair<std::string, NpyArray>> arrays);

// UserError unless its file below `folder` has what its type says; elements are not read.
void require_stored(const ConstantData& constant, const std::string& folder);
// The elements of a constant, from memory or from its file below `folder`; dtype and shape must be what its type says.
std::shared_ptr<const std::vector<std::byte>> load_constant(const ConstantData& constant, const std::string& folder);

}  // namespace lenz
