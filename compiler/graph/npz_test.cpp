#include "compiler/graph/npz.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <limits>

#include "compiler/base/chooser.h"

namespace lenz {
namespace {

namespace fs = std::filesystem;

// numpy.savez_compressed of w = [[0, 1, 2], [3, 4, 5]] in f32 and Fortran order, flags = [True, False],
// big = 5000 zeros in i64, c = 1-2j of rank 0.
constexpr std::string_view kNumpy =
    "504b03042d000000080000002100ce2ce0d3ffffffffffffffff05001400772e6e707901001000980000000000000056000000000000009b"
    "ec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e9366a2aea3a09e965f54529498179f5f94920a120f292a4d050a17672416a402b91a46"
    "3a0ac69a3a0ab50ae4032e06307070606068b007620710878161810300504b03042d000000080000002100ee19bb5dffffffffffffffff09"
    "001400666c6167732e6e707901001000820000000000000046000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a05e9364"
    "a8aea3a09e965f54529498179f5f94920a12774bcc294e058a17672416a402f91a463a9a3a0ab50a14002e460600504b03042d0000000800"
    "00002100c6bb26cbffffffffffffffff070014006269672e6e707901001000c09c0000000000008a00000000000000edc8b10ec1500040d1"
    "5a7dc5db1e49872e1211b34d633198a4d12724a2f22a16f1157e582d3ec07cce76efbbdeae37bb51f1289eb14dfd21c74588cbf33c96211e"
    "bb7ccfcd75dfe5367dffaab9f469f8fda9b9a5a127b3aaaaca69195ee15fe302000000000000000000000000000000000000000000000000"
    "0000000000000000000000000000f8f900504b03042d00000008000000210084602be4ffffffffffffffff05001400632e6e707901001000"
    "90000000000000004c000000000000009bec17ea1b10c9c850c650ad9e925a9c5ca46ea5a06e936c68a6aea3a09e965f54529498179f5f94"
    "920a92704bcc294e058a17672416a402f91a9a3a0ab50a94002e0630f8600fa1190e0000504b01022d032d000000080000002100ce2ce0d3"
    "5600000098000000050000000000000000000000800100000000772e6e7079504b01022d032d000000080000002100ee19bb5d4600000082"
    "00000009000000000000000000000080018d000000666c6167732e6e7079504b01022d032d000000080000002100c6bb26cb8a000000c09c"
    "000007000000000000000000000080010e0100006269672e6e7079504b01022d032d00000008000000210084602be44c0000009000000005"
    "00000000000000000000008001d1010000632e6e7079504b05060000000004000400d2000000540200000000";

std::string numpy_file() {
  std::string out;
  for (size_t i = 0; i < kNumpy.size(); i += 2)
    out += static_cast<char>(std::stoi(std::string(kNumpy.substr(i, 2)), nullptr, 16));
  return out;
}

class Npz : public testing::Test {
 protected:
  Npz()
      : folder_(fs::temp_directory_path() /
                ("lenz_npz_" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()))) {
    fs::create_directories(folder_);
  }

 public:
  ~Npz() override { fs::remove_all(folder_); }

 protected:
  std::string file(const std::string& name) { return (folder_ / name).string(); }
  std::string written(const std::string& name, const std::string& bytes) {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }
  fs::path folder_;
};

template <class T>
std::vector<T> as(const NpyArray& a) {
  std::vector<T> out(a.bytes.size() / sizeof(T));
  std::memcpy(out.data(), a.bytes.data(), a.bytes.size());
  return out;
}

template <class T>
NpyArray array_of(Dtype dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  NpyArray a;
  a.dtype = dtype;
  a.shape = std::move(shape);
  a.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
  return a;
}

TEST_F(Npz, ReadsWhatNumpyDeflates) {
  NpzReader reader(written("a.npz", numpy_file()));
  EXPECT_EQ(reader.keys(), (std::vector<std::string>{"big", "c", "flags", "w"}));
  NpyArray w = reader.read("w");
  EXPECT_EQ(w.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(as<float>(w), (std::vector<float>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(as<uint8_t>(reader.read("flags")), (std::vector<uint8_t>{1, 0}));
  EXPECT_EQ(as<int64_t>(reader.read("big")), std::vector<int64_t>(5000));
  EXPECT_EQ(as<double>(reader.read("c")), (std::vector<double>{1, -2}));
  EXPECT_TRUE(reader.read("c").shape.empty());
  EXPECT_THROW(reader.read("x"), UserError);
}

TEST_F(Npz, ReadsWhatItWrites) {
  std::vector<std::pair<std::string, NpyArray>> arrays;
  for (Dtype d : {Dtype::b8, Dtype::u8, Dtype::i8, Dtype::i16, Dtype::i32, Dtype::i64, Dtype::f16, Dtype::f32,
                  Dtype::f64, Dtype::c64, Dtype::c128})
    arrays.emplace_back(std::string(name(d)), array_of(d, {3, 0, 2}, std::vector<uint8_t>()));
  arrays.emplace_back("two words", array_of<float>(Dtype::f32, {2, 2}, {1, 2, 3, 4}));
  NpyArray raw = array_of<uint16_t>(Dtype::f32, {2}, {0x3F80, 0x7FC1});
  raw.raw_bits = 16;
  arrays.emplace_back("bf16", raw);
  write_npz(file("b.npz"), arrays);
  NpzReader reader(file("b.npz"));
  for (const auto& [key, array] : arrays) {
    NpyArray read = reader.read(key);
    EXPECT_EQ(read.shape, array.shape) << key;
    EXPECT_EQ(read.bytes, array.bytes) << key;
    EXPECT_EQ(read.raw_bits, array.raw_bits) << key;
    if (!array.raw_bits) {
      EXPECT_EQ(read.dtype, array.dtype) << key;
    }
  }
}

// With the 64-bit record that large zips end with.
std::string with_long_end(const std::string& zip) {
  auto number = [](uint64_t value, size_t width) {
    std::string out;
    for (size_t i = 0; i < width; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
    return out;
  };
  const size_t end = zip.size() - 22;
  std::string record = "PK\x06\x06" + number(44, 8) + number(45, 2) + number(45, 2) + number(0, 8);
  uint64_t size = 0, at = 0;
  for (size_t i = 4; i-- > 0;) {
    size = size << 8 | static_cast<uint8_t>(zip[end + 12 + i]);
    at = at << 8 | static_cast<uint8_t>(zip[end + 16 + i]);
  }
  record += number(4, 8) + number(4, 8) + number(size, 8) + number(at, 8);
  const std::string locator = "PK\x06\x07" + number(0, 4) + number(end, 8) + number(1, 4);
  return zip.substr(0, end) + record + locator + "PK\x05\x06" + number(0, 4) + std::string(12, '\xFF') + number(0, 2);
}

// Places in a zip count from its beginning, wherever that is in the file: so Python's zipfile reads them.
TEST_F(Npz, SomethingMayStandBeforeTheZip) {
  for (const std::string& zip : {numpy_file(), with_long_end(numpy_file())})
    for (const std::string& before : {std::string(), std::string("#!/bin/sh\n"), std::string(70000, 'x'),
                                      std::string("PK\x03\x04PK\x05\x06"), numpy_file()}) {
      NpzReader reader(written("before.npz", before + zip));
      EXPECT_EQ(reader.keys(), (std::vector<std::string>{"big", "c", "flags", "w"}));
      EXPECT_EQ(as<float>(reader.read("w")), (std::vector<float>{0, 1, 2, 3, 4, 5}));
      EXPECT_EQ(as<double>(reader.read("c")), (std::vector<double>{1, -2}));
    }
}

TEST_F(Npz, ConstantsAreHeldAgainstTheirType) {
  NpyArray raw = array_of<uint16_t>(Dtype::f32, {2}, {0x3F80, 0x7FC1});
  raw.raw_bits = 16;
  std::vector<std::pair<std::string, NpyArray>> arrays;
  arrays.emplace_back("w", array_of<float>(Dtype::f32, {2}, {1, 2}));
  arrays.emplace_back("h", raw);
  write_npz(file("w.npz"), arrays);
  auto load = [&](Dtype dtype, DimVec sizes, const std::string& key) {
    ConstantData data;
    data.type = contiguous_tensor(dtype, sizes);
    data.file = "w.npz";
    data.key = key;
    return load_constant(data, folder_.string());
  };
  EXPECT_EQ(load(Dtype::f32, DimVec{2}, "w")->size(), 8u);
  EXPECT_EQ(load(Dtype::bf16, DimVec{2}, "h")->size(), 4u);
  EXPECT_THROW(load(Dtype::f64, DimVec{2}, "w"), UserError);
  EXPECT_THROW(load(Dtype::f32, DimVec{1, 2}, "w"), UserError);
  EXPECT_THROW(load(Dtype::f32, DimVec{2}, "h"), UserError);
  EXPECT_THROW(load(Dtype::f32, DimVec{2}, "x"), UserError);
}

// Their headers alone are read, deflated ones too.
TEST_F(Npz, HeadersSayWhatElementsAre) {
  NpzReader reader(written("a.npz", numpy_file()));
  for (const std::string& key : reader.keys()) {
    const NpyArray whole = reader.read(key), header = reader.header(key);
    EXPECT_EQ(header.shape, whole.shape) << key;
    EXPECT_EQ(header.raw_bits, whole.raw_bits) << key;
    EXPECT_EQ(header.dtype, whole.dtype) << key;
    EXPECT_TRUE(header.bytes.empty()) << key;
  }
  EXPECT_THROW(reader.header("nobody"), UserError);
}

void expect_refused(const std::string& path, std::string_view why) {
  try {
    NpzReader reader(path);
    for (const std::string& key : reader.keys()) reader.read(key);
    FAIL() << why;
  } catch (const UserError& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr(why));
  }
}

TEST_F(Npz, BadFilesAreRefused) {
  std::string good = numpy_file();
  expect_refused(file("missing.npz"), "can't open");
  expect_refused(folder_.string(), "can't open");
  ASSERT_EQ(mkfifo(file("pipe.npz").c_str(), 0600), 0);
  expect_refused(file("pipe.npz"), "can't open");
  expect_refused(written("empty.npz", ""), "too short");
  expect_refused(written("text.npz", std::string(1000, 'x')), "no zip directory");
  expect_refused(written("cut.npz", good.substr(100)), "");
  std::string damaged = good;
  damaged[90] ^= 0x40;  // inside the deflated bytes of w
  expect_refused(written("damaged.npz", damaged), "`w`");
  // Places that point before the file or behind it, whatever stands before the zip.
  for (const std::string& before : {std::string(), std::string(100, 'x')})
    for (const std::string& zip : {good, with_long_end(good)}) {
      std::string outside = before + zip;
      const size_t record = zip == good ? outside.size() - 22 + 12 : outside.size() - 22 - 20 - 56 + 40;
      outside[record + 2] = 1;  // the directory is larger
      expect_refused(written("larger.npz", outside), "outside itself");
      outside = before + zip;
      outside[record + (zip == good ? 4 : 8) + 3] = 0x7F;  // and far away
      expect_refused(written("far.npz", outside), "outside itself");
      outside = before + zip;
      outside[outside.find("PK\x01\x02") + 42 + 3] = 0x7F;  // an entry is
      expect_refused(written("entry.npz", outside), "outside itself");
    }
  std::string shifted = std::string(100, 'x') + good;
  shifted[shifted.size() - 22 + 16] -= 1;  // the directory is told to be a byte nearer: so is all else
  expect_refused(written("shifted.npz", shifted), "not where the directory says");
  std::string bomb = good;
  size_t central = bomb.find("PK\x01\x02");
  for (int i = 0; i < 4; ++i) bomb[central + 24 + static_cast<size_t>(i)] = '\xF0';  // w claims to hold 4 GB
  expect_refused(written("bomb.npz", bomb), "contradict");
  for (const std::string name : {"b\xF5g", "b\ng"}) {  // of one length with `big`
    std::string no_text = good;
    for (size_t at = 0; (at = no_text.find("big.npy", at)) != std::string::npos;) no_text.replace(at, 3, name);
    expect_refused(written("no_text.npz", no_text), "no text in UTF-8");
  }
  NpzLimits limits;
  limits.array_bytes = 1000;
  EXPECT_THROW(NpzReader(written("good.npz", good), limits).read("big"), UserError);
}

// Nothing is in them, but their dims have strides.
TEST_F(Npz, EmptyArraysOfDimsThatMultiplyToTooMuch) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  NpyArray array;
  array.shape = {0, kMost};
  EXPECT_EQ(parse_npy(format_npy(array)).shape, array.shape);
  array.shape = {0, kMost, kMost};
  write_npz(file("empty.npz"), std::vector<std::pair<std::string, NpyArray>>{{"x", array}});
  expect_refused(file("empty.npz"), "`x`: its dims multiply to more than there are numbers for");
}

TEST_F(Npz, BadArraysAreRefused) {
  std::vector<std::byte> good = format_npy(array_of<float>(Dtype::f32, {2, 2}, {1, 2, 3, 4}));
  EXPECT_EQ(good.size() % 64, 16u);
  auto refused = [&](std::string_view from, std::string_view to, std::string_view why = "") {
    std::string text(reinterpret_cast<const char*>(good.data()), good.size());
    text.replace(text.find(from), from.size(), to);
    std::vector<std::byte> bad(text.size());
    std::memcpy(bad.data(), text.data(), text.size());
    try {
      parse_npy(bad);
      FAIL() << to;
    } catch (const UserError& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr(why));
    }
  };
  refused("'<f4'", "'<f16'", "floats of 16 bytes");
  refused("'<f4'", "'<u4'", "unsigned integers of 4 bytes");
  refused("'<f4'", "'|O'", "objects");
  refused("'<f4'", "'<U3'", "'U3', strings");
  refused("'<f4'", "[('a', '<f4')]", "records, of a structured dtype");
  refused("NUMPY", "numpy");
  refused("<f4", ">f4");
  refused("<f4", "<f9");
  refused("(2,2,)", "(2,3,)");
  refused("(2,2,)", "(-2,2)");
  refused("(2,2,)", "2,2,  ");
  refused("(2,2,), }", "(99999999999999999999,), }");
  refused("(2,2,), }", "(4294967296,4294967296,4294967296,), }");
  refused("False", "Maybe");
  refused("'descr'", "'DESCR'");
  for (size_t n = 0; n < good.size(); ++n) EXPECT_THROW(parse_npy(std::span(good).subspan(0, n)), UserError) << n;
}

// What is read of a file with a byte that is flipped is what was written, or nothing under that key.
TEST_F(Npz, AFlippedByteChangesNoElement) {
  const std::string good = numpy_file();
  NpzReader whole(written("good.npz", good));
  for (size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    try {
      NpzReader reader(written("flipped.npz", bad));
      for (const std::string& key : reader.keys())
        if (whole.has(key)) EXPECT_EQ(reader.read(key).bytes, whole.read(key).bytes) << at;
    } catch (const UserError&) {
    }
  }
}

TEST_F(Npz, DamagedFilesNeverCrash) {
  std::string good = numpy_file();
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    RandomChooser c(seed);
    std::string bad = c.flip() ? good : with_long_end(good);
    if (c.flip()) bad.insert(0, c.below(40), 'P');
    for (size_t n = 1 + c.below(4); n-- > 0;) {
      size_t at = c.below(bad.size());
      if (c.below(8) == 0) {
        bad.erase(at, c.below(20));
      } else {
        bad[at] = static_cast<char>(c.flip() ? c.below(256) : 0xFF);
      }
    }
    std::string path = written("fuzz.npz", bad);
    try {
      NpzReader reader(path);
      for (const std::string& key : reader.keys()) reader.read(key);
    } catch (const UserError&) {
    }
  }
}

}  // namespace
}  // namespace lenz
