// The zip around the arrays. The central directory is believed about sizes and places once they lie inside the file;
// local headers are read for their length alone. Whatever stands before the zip, all places count from its beginning:
// the directory ends where the record behind it begins, and so says how much that is.
#include "compiler/graph/npz.h"

#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "compiler/base/lexer.h"

namespace lenz {

namespace {
constexpr uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                   kLocator64 = 0x07064b50;

// Little-endian numbers out of bytes, bounds checked.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}
  size_t left() const { return bytes_.size(); }
  uint64_t number(size_t width) {
    if (bytes_.size() < width) throw UserError("the zip's directory is cut short");
    uint64_t value = 0;
    for (size_t i = width; i-- > 0;) value = value << 8 | static_cast<uint64_t>(bytes_[i]);
    bytes_ = bytes_.subspan(width);
    return value;
  }
  std::span<const std::byte> bytes(size_t count) {
    if (bytes_.size() < count) throw UserError("the zip's directory is cut short");
    auto out = bytes_.subspan(0, count);
    bytes_ = bytes_.subspan(count);
    return out;
  }

 private:
  std::span<const std::byte> bytes_;
};
}  // namespace

NpzReader::NpzReader(std::string path, const NpzLimits& limits) : path_(std::move(path)), limits_(limits) {
  std::error_code error;  // a pipe would wait for somebody to write to it: it is not even opened
  if (std::filesystem::is_regular_file(path_, error)) file_.open(path_, std::ios::binary);
  if (!file_.is_open()) throw UserError("can't open the file", path_, "check the path: it has to be a file");
  size_ = std::filesystem::file_size(path_, error);
  try {
    read_directory();
  } catch (const UserError& e) {
    if (!e.where().empty()) throw;
    fail(e.message());
  }
}

void NpzReader::fail(const std::string& what) const { throw UserError("bad .npz: " + what, path_); }

std::vector<std::byte> NpzReader::bytes_at(uint64_t at, uint64_t count) {
  if (at > size_ || count > size_ - at) fail("it points outside itself");
  std::vector<std::byte> bytes(count);
  file_.clear();
  file_.seekg(static_cast<std::streamoff>(at));
  file_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
  if (static_cast<uint64_t>(file_.gcount()) != count) fail("it can't be read");
  return bytes;
}

NpzReader::Directory NpzReader::find_directory() {
  constexpr uint64_t kEndSize = 22, kLongestComment = 65535, kEnd64Size = 56;
  if (size_ < kEndSize) fail("it is too short for a zip");
  uint64_t tail_size = std::min(size_, kEndSize + kLongestComment), tail_at = size_ - tail_size;
  std::vector<std::byte> tail = bytes_at(tail_at, tail_size);
  std::optional<size_t> end;
  for (size_t i = tail.size() - kEndSize + 1; i-- > 0 && !end;)
    if (Fields(std::span<const std::byte>(tail).subspan(i)).number(4) == kEnd) end = i;
  if (!end) fail("it has no zip directory");
  Fields f(std::span<const std::byte>(tail).subspan(*end + 10));
  Directory d;
  d.entries = f.number(2);
  d.size = f.number(4);
  d.at = f.number(4);
  uint64_t record_at = tail_at + *end;
  if ((d.entries == 0xFFFF || d.size == 0xFFFFFFFF || d.at == 0xFFFFFFFF) && record_at >= 20) {
    std::vector<std::byte> locator_bytes = bytes_at(record_at - 20, 20);
    Fields locator(locator_bytes);
    if (locator.number(4) == kLocator64) {
      locator.number(4);
      const uint64_t told = locator.number(8);
      // Before its locator, if it has the size of most and something stands before the zip.
      auto record = [&](uint64_t at) {
        std::vector<std::byte> raw = bytes_at(at, kEnd64Size);
        return Fields(raw).number(4) == kEnd64 ? raw : std::vector<std::byte>();
      };
      const uint64_t locator_at = record_at - 20;
      record_at = locator_at >= kEnd64Size ? locator_at - kEnd64Size : told;
      std::vector<std::byte> raw = record(record_at);
      if (raw.empty()) raw = record(record_at = told);
      if (raw.empty()) fail("its 64-bit directory is broken");
      Fields e(raw);
      e.bytes(32);
      d.entries = e.number(8);
      d.size = e.number(8);
      d.at = e.number(8);
    }
  }
  if (d.entries > limits_.entries) fail("it has more entries than the limit");
  if (d.size > record_at || d.at > record_at - d.size) fail("it points outside itself");
  d.before = record_at - d.size - d.at;
  d.at += d.before;
  return d;
}

bool is_shown_as_it_is(std::string_view name) {
  std::string quoted;
  append_quoted(quoted, name);
  const auto escaped = std::ranges::count_if(name, [](char c) { return c == '"' || c == '\\'; });
  return quoted.size() == name.size() + 2 + static_cast<size_t>(escaped);
}

void NpzReader::read_directory() {
  const Directory d = find_directory();
  std::vector<std::byte> directory = bytes_at(d.at, d.size);
  Fields c(directory);
  for (uint64_t i = 0; i < d.entries; ++i) {
    if (c.number(4) != kCentral) fail("its directory is broken");
    c.bytes(4);
    uint64_t flags = c.number(2);
    Member m;
    m.method = static_cast<uint16_t>(c.number(2));
    c.bytes(4);
    m.crc = static_cast<uint32_t>(c.number(4));
    m.packed = c.number(4);
    m.size = c.number(4);
    uint64_t name_size = c.number(2), extra_size = c.number(2), comment_size = c.number(2);
    c.bytes(8);
    m.header_at = c.number(4);
    auto name_bytes = c.bytes(name_size);
    std::string name(reinterpret_cast<const char*>(name_bytes.data()), name_bytes.size());
    Fields extra(c.bytes(extra_size));
    while (extra.left() >= 4) {
      uint64_t id = extra.number(2), size = extra.number(2);
      Fields field(extra.bytes(size));
      if (id != 1) continue;
      for (uint64_t* number : {&m.size, &m.packed, &m.header_at})
        if (*number == 0xFFFFFFFF && field.left() >= 8) *number = field.number(8);
    }
    if (m.header_at > size_ - d.before) fail("it points outside itself");
    m.header_at += d.before;
    c.bytes(comment_size);
    if (!is_shown_as_it_is(name)) {
      std::string quoted;
      append_quoted(quoted, name);
      fail("the name " + quoted + " of an entry is no text in UTF-8");
    }
    if (flags & 1) fail("`" + name + "` is encrypted");
    if (m.method != 0 && m.method != 8) fail("`" + name + "` is packed in an unknown way");
    if (!name.ends_with(".npy")) continue;
    if (!members_.emplace(name.substr(0, name.size() - 4), m).second) fail("it has two entries `" + name + "`");
  }
}

std::vector<std::string> NpzReader::keys() const {
  std::vector<std::string> out;
  for (const auto& [key, member] : members_) out.push_back(key);
  return out;
}

uint64_t NpzReader::place_of(const std::string& key, const Member& m) {
  constexpr uint64_t kBestRatio = 1032;  // deflate's; a claim beyond it is a lie
  constexpr size_t kHeaderSpace = 1 << 17;
  if (m.size > limits_.array_bytes + kHeaderSpace) fail("`" + key + "` is larger than the limit");
  bool lies = m.method == 0 ? m.size != m.packed : m.size / kBestRatio > m.packed + 1;
  if (lies) fail("the sizes of `" + key + "` contradict each other");
  std::vector<std::byte> header = bytes_at(m.header_at, 30);
  Fields local(header);
  if (local.number(4) != kLocal) fail("`" + key + "` is not where the directory says");
  local.bytes(22);
  return m.header_at + 30 + local.number(2) + local.number(2);
}

namespace {
// The first `count` bytes, fewer if there are no more; `whole`: whether it ended there.
std::vector<std::byte> inflated(std::span<const std::byte> packed, uint64_t count, bool& whole) {
  std::vector<std::byte> bytes(count);
  z_stream z{};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
  int state = Z_OK;
  uint64_t in = 0, out = 0;
  while (state == Z_OK) {  // zlib counts in 32 bits
    constexpr uint64_t kStep = 1 << 30;
    z.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data() + in));
    z.avail_in = static_cast<uInt>(std::min<uint64_t>(kStep, packed.size() - in));
    z.next_out = reinterpret_cast<Bytef*>(bytes.data() + out);
    z.avail_out = static_cast<uInt>(std::min(kStep, count - out));
    uint64_t in_step = z.avail_in, out_step = z.avail_out;
    state = inflate(&z, Z_NO_FLUSH);
    in += in_step - z.avail_in;
    out += out_step - z.avail_out;
    if (state == Z_OK && in_step == z.avail_in && out_step == z.avail_out) state = Z_BUF_ERROR;
  }
  inflateEnd(&z);
  whole = state == Z_STREAM_END;
  bytes.resize(out);
  return bytes;
}
}  // namespace

std::vector<std::byte> NpzReader::unpack(const std::string& key, const Member& m) {
  std::vector<std::byte> bytes = bytes_at(place_of(key, m), m.packed);
  if (m.method != 0) {
    bool whole = false;
    bytes = inflated(bytes, m.size, whole);
    if (!whole || bytes.size() != m.size) fail("`" + key + "` does not unpack");
  }
  uLong crc = crc32_z(0, nullptr, 0);
  crc = crc32_z(crc, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != m.crc) fail("`" + key + "` is damaged: its checksum differs");
  return bytes;
}

template <class F>
NpyArray NpzReader::member(const std::string& key, F&& parse) {
  auto at = members_.find(key);
  if (at == members_.end()) fail("it has no entry `" + key + "`");
  try {
    return parse(at->second);
  } catch (const UserError& e) {
    if (!e.where().empty()) throw;
    throw UserError("bad .npz: `" + key + "`: " + e.message(), path_, e.remedy());
  }
}

NpyArray NpzReader::read(const std::string& key) {
  return member(key, [&](const Member& m) { return parse_npy(unpack(key, m), limits_); });
}

NpyArray NpzReader::header(const std::string& key) {
  constexpr uint64_t kLongest = 1 << 17;
  return member(key, [&](const Member& m) {
    std::vector<std::byte> bytes = bytes_at(place_of(key, m), std::min(m.packed, kLongest));
    bool whole = false;
    return parse_npy_header(m.method == 0 ? bytes : inflated(bytes, std::min(m.size, kLongest), whole));
  });
}

// --- writing

namespace {
void put(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
}
}  // namespace

void write_npz(const std::string& path, std::span<const std::pair<std::string, NpyArray>> arrays) {
  constexpr uint64_t kMost = 0xFFFFFFFEu, kDate = 0x5CA10000;  // a fixed date: equal arrays are equal files
  std::error_code error;
  // What is no file of a disk, a device or a pipe, is written as it stands.
  const bool in_place = std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error);
  const std::string fresh = in_place ? path : path + ".new";
  std::string directory;
  std::ofstream file(fresh, std::ios::binary);
  uint64_t at = 0;
  for (const auto& [key, array] : arrays) {
    std::vector<std::byte> bytes = format_npy(array);
    std::string name = key + ".npy", local;
    if (at + bytes.size() + name.size() + 30 > kMost || arrays.size() > 0xFFFE)
      throw UserError("an .npz of more than 4 GiB or 65534 entries can't be written", path, "write several");
    uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    auto common = [&](std::string& out) {
      put(out, 20, 2);       // version that can read it
      put(out, 1 << 11, 2);  // names are UTF-8
      put(out, 0, 2);        // stored
      put(out, kDate, 4);
      put(out, crc, 4);
      put(out, bytes.size(), 4);
      put(out, bytes.size(), 4);
      put(out, name.size(), 2);
      put(out, 0, 2);
    };
    put(local, kLocal, 4);
    common(local);
    local += name;
    put(directory, kCentral, 4);
    put(directory, 20, 2);
    common(directory);
    put(directory, 0, 2 + 2 + 2 + 4);
    put(directory, at, 4);
    directory += name;
    file.write(local.data(), static_cast<std::streamsize>(local.size()));
    file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    at += local.size() + bytes.size();
  }
  std::string end;
  put(end, kEnd, 4);
  put(end, 0, 4);
  put(end, arrays.size(), 2);
  put(end, arrays.size(), 2);
  put(end, directory.size(), 4);
  put(end, at, 4);
  put(end, 0, 2);
  file << directory << end;
  file.close();
  error.clear();
  if (file && !in_place) std::filesystem::rename(fresh, path, error);
  if (!file || error) {
    if (!in_place) std::filesystem::remove(fresh, error);
    throw UserError("can't write the file", path);
  }
}

// --- constants

namespace {
// What an array has else than a constant's type says.
std::optional<std::string> unlike(const ConstantData& constant, const NpyArray& array) {
  const TensorType& t = constant.type;
  bool raw = array.raw_bits == 16                              ? t.dtype == Dtype::bf16 || t.dtype == Dtype::f16
             : array.raw_bits == 8 || array.dtype == Dtype::u8 ? is_float8(t.dtype)
                                                               : false;
  const std::string holds =
      array.raw_bits ? std::to_string(array.raw_bits) + " raw bits" : std::string(name(array.dtype));
  if (!raw && (array.raw_bits || array.dtype != t.dtype))
    return "the entry `" + constant.key + "` holds " + holds + ", not " + std::string(name(t.dtype));
  bool same = array.shape.size() == t.rank();
  for (size_t i = 0; same && i < t.rank(); ++i) same = t.sizes[i].is(array.shape[i]);
  if (same) return std::nullopt;
  std::string shape;
  for (int64_t s : array.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(s);
  return "the entry `" + constant.key + "` has the shape [" + shape + "], not the declared one";
}
}  // namespace

void require_stored(const ConstantData& constant, const std::string& folder) {
  if (constant.bytes) return;
  const std::string where = (std::filesystem::path(folder) / constant.file).string();
  if (auto why = unlike(constant, NpzReader(where).header(constant.key)))
    throw UserError(*why, where, "correct the constant's type, or save what it says");
}

std::shared_ptr<const std::vector<std::byte>> load_constant(const ConstantData& constant, const std::string& folder) {
  if (constant.bytes) return constant.bytes;
  std::string where = (std::filesystem::path(folder) / constant.file).string();
  NpyArray array = NpzReader(where).read(constant.key);
  if (auto why = unlike(constant, array)) throw UserError(*why, where);
  return std::make_shared<const std::vector<std::byte>>(std::move(array.bytes));
}

}  // namespace lenz
