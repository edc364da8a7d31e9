// Reads results that may be anybody's: every claim of the file is checked before memory is taken or made.
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "compiler/graph/npz.h"
#include "oracle/initialise.h"
#include "oracle/tensors.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
constexpr uint64_t kMostBytes = uint64_t{1} << 33;  // of one tensor's memory, as a file claims it

// A tensor of the run, by its key in the file.
struct Claim {
  std::string key;
  NpyArray array;
  TensorType type;
  std::string shares;  // the key of who has its memory; empty: memory of its own
};

class ResultsReader {
 public:
  ResultsReader(const std::string& path, const Graph& graph, Boxed& boxed, Untold& untold)
      : path_(path), graph_(graph), boxed_(boxed), untold_(untold), file_(path) {
    if (!file_.has("lenz")) return;
    NpyArray entry = file_.read("lenz");
    std::string text(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
    told_ = nlohmann::json::parse(text, nullptr, false);
    if (!told_.is_object()) fail("the entry `lenz` is no JSON object");
    if (auto ending = told_.find("ending"); ending != told_.end() && *ending != "raised" && *ending != "finished")
      fail("the entry `lenz`: ending is neither \"finished\" nor \"raised\"");
  }

  Execution read(const Execution& expected, std::span<const RunValue> inputs) {
    Execution got;
    if (told_.contains("ending") && told_["ending"] == "raised") {
      got.ending = Ending::raised;
      return got;
    }
    if (expected.ending == Ending::raised) return got;  // it finished, which is all that matters
    got.inputs.assign(inputs.begin(), inputs.end());
    std::vector<std::string> inputs_by_key;
    for (const Input& input : graph_.inputs()) inputs_by_key.push_back(graph_.value_name(input.value).substr(1));

    for (size_t i = 0; i < expected.outputs.size(); ++i) expect("out" + std::to_string(i), expected.outputs[i]);
    for (const std::string& key : file_.keys()) {
      bool known = std::ranges::find(numbers_, key) != numbers_.end() || key == "lenz" ||
                   std::ranges::find(inputs_by_key, key) != inputs_by_key.end() ||
                   std::ranges::find(seen_, key, [](const auto& s) { return s.first; }) != seen_.end();
      if (!known) fail("the graph has no output or input " + key);
    }
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Input& input = graph_.inputs()[i];
      if (!file_.has(inputs_by_key[i])) {
        if (input.mutated) fail("it lacks " + inputs_by_key[i] + ", an input that the graph writes to");
        continue;
      }
      Seen seen = look(inputs[i]);
      NpyArray array = checked(inputs_by_key[i], seen);
      if (!std::ranges::equal(array.shape, seen.sizes) || array.bytes.size() != elements_of(inputs[i]).size())
        fail("array " + inputs_by_key[i] + " has another shape or dtype than the input");
      set_elements(inputs[i], array.bytes);
      filled_.push_back({inputs_by_key[i], inputs[i], std::move(array.bytes)});
    }
    for (const auto& [key, what] : told_.items())
      if (key != "ending" && !(what.is_object() && file_.has(key)))
        fail("the entry `lenz` speaks of " + key + ", of which the file has no array");
    for (size_t i = 0; i < inputs.size(); ++i) owners_.emplace_back(inputs_by_key[i], inputs[i]);
    note_expected_sharing(expected, inputs_by_key);
    for (auto& [key, seen] : seen_) claim(key, seen);
    make_all();
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      const std::string key = "out" + std::to_string(i);
      got.outputs.push_back(output(key, expected.outputs[i]));
      if (is_number(look(expected.outputs[i])) && !file_.has(key)) untold_.outputs.push_back(i);
    }
    for (const Filled& f : filled_)
      if (elements_of(f.value) != f.bytes) fail("array " + f.key + " contradicts another one that has the same memory");
    return got;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw UserError(what, path_); }

  void expect(const std::string& key, const RunValue& value) {
    Seen seen = look(value);
    if (seen.kind == TypeKind::list) {
      for (size_t k = 0; k < seen.elements.size(); ++k)
        expect(key + "." + std::to_string(k), element(value, static_cast<int64_t>(k)));
    } else if (is_number(seen)) {
      // Who says of it what tensors have holds it for one.
      numbers_.push_back(key);
      if (entry(key)) seen_.emplace_back(key, std::move(seen));
    } else if (seen.kind == TypeKind::tensor) {
      if (!file_.has(key)) fail("it lacks " + key + ", which the graph returns: " + to_string(seen));
      seen_.emplace_back(key, std::move(seen));
    }
  }

  const nlohmann::json* entry(const std::string& key) const {
    auto found = told_.find(key);
    return found != told_.end() && found->is_object() ? &*found : nullptr;
  }

  std::optional<DimVec> dims(const std::string& key, const char* field) const {
    const nlohmann::json* e = entry(key);
    if (!e || !e->contains(field)) return std::nullopt;
    DimVec list;
    const nlohmann::json& given = (*e)[field];
    bool fine = given.is_array() && given.size() <= 64;
    for (size_t i = 0; fine && i < given.size(); ++i) {
      fine = given[i].is_number_integer() && given[i].get<int64_t>() >= 0;
      if (fine) list.push_back(given[i].get<int64_t>());
    }
    if (!fine) fail("the entry `lenz`: " + key + "." + field + " is no list of counts");
    return list;
  }

  // The array, with its dtype: told, or else the expected one if the bits fit it.
  NpyArray checked(const std::string& key, const Seen& expected) {
    NpyArray array = file_.read(key);
    Dtype dtype = array.raw_bits ? expected.dtype : array.dtype;
    if (const nlohmann::json* e = entry(key); e && e->contains("dtype")) {
      auto told = (*e)["dtype"].is_string() ? parse_dtype((*e)["dtype"].get<std::string>()) : std::nullopt;
      if (!told) fail("the entry `lenz`: " + key + ".dtype is no dtype");
      bool raw = *told == Dtype::bf16 || is_float8(*told);
      bool unsigned_bits = array.raw_bits || is_integral(array.dtype, false);
      if (raw ? !unsigned_bits : array.raw_bits || array.dtype != *told)
        fail("array " + key + " does not hold what the entry `lenz` says: " + std::string(name(*told)));
      dtype = *told;
    }
    if (item_size(dtype) != array.item_size())
      fail("array " + key + " holds elements of " + std::to_string(array.item_size()) + " bytes, the graph returns " +
           to_string(expected));
    array.dtype = dtype;
    return array;
  }

  void claim(const std::string& key, const Seen& expected) {
    Claim c;
    c.key = key;
    c.array = checked(key, expected);
    c.type.dtype = c.array.dtype;
    for (int64_t s : c.array.shape) c.type.sizes.push_back(s);
    if (auto sizes = dims(key, "sizes"); sizes && !(*sizes == c.type.sizes))
      fail("array " + key + " has another shape than the entry `lenz` says");
    bool as_expected = std::ranges::equal(c.array.shape, expected.sizes);
    auto strides = dims(key, "strides");
    if (strides && strides->size() != c.type.sizes.size()) fail("the entry `lenz`: " + key + ".strides: another rank");
    if (strides) {
      c.type.strides = *strides;
      const nlohmann::json& e = *entry(key);
      if (e.contains("offset") && (!e["offset"].is_number_integer() || e["offset"].get<int64_t>() < 0))
        fail("the entry `lenz`: " + key + ".offset is no count");
      c.type.offset = e.value("offset", int64_t{0});
    } else {
      untold_.what.push_back("the layout of " + key);
      if (as_expected) {
        for (int64_t s : expected.strides) c.type.strides.push_back(s);
        c.type.offset = expected.offset;
      } else {
        c.type.strides = contiguous_strides(c.type.sizes);
      }
    }
    if (const nlohmann::json* e = entry(key)) {
      if (e->contains("shares")) {
        if (!(*e)["shares"].is_string()) fail("the entry `lenz`: " + key + ".shares is no name");
        c.shares = (*e)["shares"].get<std::string>();
      }
    } else {
      untold_.what.push_back("with whom " + key + " shares memory");
      auto sharer = std::ranges::find(expected_sharing_, key, [](const auto& s) { return s.first; });
      if (sharer != expected_sharing_.end()) c.shares = sharer->second;
    }
    claims_.push_back(std::move(c));
  }

  void note_expected_sharing(const Execution& expected, std::span<const std::string> input_keys) {
    std::vector<std::pair<const void*, std::string>> storages;
    for (size_t i = 0; i < expected.inputs.size(); ++i)
      if (Seen seen = look(expected.inputs[i]); seen.kind == TypeKind::tensor)
        storages.emplace_back(seen.storage, input_keys[i]);
    for (auto& [key, seen] : seen_) {
      auto owner = std::ranges::find(storages, seen.storage, [](const auto& s) { return s.first; });
      if (owner != storages.end()) expected_sharing_.emplace_back(key, owner->second);
      storages.emplace_back(seen.storage, key);
    }
  }

  uint64_t claimed_bytes(const TensorType& type) const {
    uint64_t bytes = 0;
    try {
      bytes = storage_bytes(*graph_.context().tensor(type));
    } catch (const Unsupported&) {
      fail("it claims a tensor of more bytes than there are numbers for");
    }
    if (bytes > kMostBytes) fail("it claims a tensor of " + std::to_string(bytes) + " bytes");
    return bytes;
  }

  RunValue make(const TensorType& type, const RunValue& shared) {
    claimed_bytes(type);
    return boxed_.make(*graph_.context().tensor(type), {.kind = Initialiser::zeros}, shared);
  }

  void make_all() {
    for (Claim& c : claims_) {
      RunValue shared;
      if (!c.shares.empty()) {
        auto owner = std::ranges::find(owners_, c.shares, [](const auto& o) { return o.first; });
        if (owner == owners_.end())
          fail("the entry `lenz`: " + c.key + " shares memory with " + c.shares + ", which does not stand before it");
        shared = owner->second;
      } else {
        // Memory for whoever shares it later, too.
        TensorType room;
        room.dtype = Dtype::u8;
        uint64_t bytes = 0;
        for (const Claim& other : claims_)
          if (&other == &c || owner_of(other) == c.key) bytes = std::max(bytes, claimed_bytes(other.type));
        room.sizes = {Dim(static_cast<int64_t>(bytes))};
        room.strides = {Dim(1)};
        shared = make(room, nullptr);
      }
      RunValue made = make(c.type, shared);
      set_elements(made, c.array.bytes);
      owners_.emplace_back(c.key, made);
      filled_.push_back({c.key, made, std::move(c.array.bytes)});
    }
  }

  // The first of those that share with it; what is none of ours, an input's name or nobody's.
  std::string owner_of(const Claim& claim) const {
    std::string key = claim.key, next = claim.shares;
    for (size_t steps = 0; !next.empty() && steps <= claims_.size(); ++steps) {
      key = next;
      auto found = std::ranges::find(claims_, key, &Claim::key);
      next = found == claims_.end() ? "" : found->shares;
    }
    return key;
  }

  RunValue output(const std::string& key, const RunValue& expected) {
    Seen seen = look(expected);
    if (seen.kind == TypeKind::list) {
      std::vector<RunValue> all;
      for (size_t k = 0; k < seen.elements.size(); ++k)
        all.push_back(output(key + "." + std::to_string(k), element(expected, static_cast<int64_t>(k))));
      return list_of(all);
    }
    if (is_number(seen) && !entry(key)) return number(key, expected, seen);
    if (seen.kind != TypeKind::tensor && !is_number(seen)) return expected;
    return std::ranges::find(owners_, key, [](const auto& o) { return o.first; })->second;
  }

  static bool is_number(const Seen& seen) {
    return seen.kind == TypeKind::sym_int || seen.kind == TypeKind::sym_float || seen.kind == TypeKind::sym_bool;
  }

  RunValue number(const std::string& key, const RunValue& expected, const Seen& seen) {
    if (!file_.has(key)) {
      untold_.what.push_back("the number " + key);
      return expected;
    }
    const NpyArray array = file_.read(key);
    auto as = [&]<class T>(T value) {
      std::memcpy(&value, array.bytes.data(), sizeof value);
      return value;
    };
    if (array.shape.empty() && !array.raw_bits) {
      if (array.dtype == Dtype::i64) return oracle::number(as(int64_t{}));
      if (array.dtype == Dtype::f64) return real_number(as(double{}));
      // Any other byte is no truth.
      if (array.dtype == Dtype::b8)
        return as(uint8_t{}) <= 1 ? truth_value(as(uint8_t{}) == 1) : oracle::number(as(uint8_t{}));
    }
    fail("array " + key + " is no number (i64, f64 or bool without dims), the graph returns: " + to_string(seen));
  }

  struct Filled {
    std::string key;
    RunValue value;
    std::vector<std::byte> bytes;
  };

  const std::string& path_;
  const Graph& graph_;
  Boxed& boxed_;
  Untold& untold_;
  NpzReader file_;
  nlohmann::json told_ = nlohmann::json::object();
  std::vector<std::pair<std::string, Seen>> seen_;  // expected outputs, by key
  std::vector<std::string> numbers_;                // those of them that are numbers
  std::vector<std::pair<std::string, std::string>> expected_sharing_;
  std::vector<Claim> claims_;
  std::vector<std::pair<std::string, RunValue>> owners_;  // who may be shared with, inputs first
  std::vector<Filled> filled_;
};
}  // namespace

Execution read_results(const std::string& path, const Graph& graph, Boxed& boxed, const Execution& expected,
                       std::span<const RunValue> inputs, Untold& untold) {
  return ResultsReader(path, graph, boxed, untold).read(expected, inputs);
}

}  // namespace lenz::oracle
