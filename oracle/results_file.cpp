// Reads results that may be anybody's: every claim of the file is checked before memory is taken or made.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "compiler/base/suggest.h"
#include "compiler/graph/npz.h"
#include "oracle/compare.h"
#include "oracle/idle_strides.h"
#include "oracle/initialise.h"
#include "oracle/tensors.h"
#include "oracle/values_file.h"

namespace lenz::oracle {

namespace {
constexpr uint64_t kMostBytes = uint64_t{1} << 33;  // of one tensor's memory, as a file claims it

// A tensor that the caller holds afterwards, by its key in the file: where it lies, and its elements.
struct Claim {
  std::string key;
  TensorType type;
  std::vector<std::byte> elements;
  bool in_file = true;          // false: an input, as the run began with it
  bool layout_assumed = false;  // strides are none of the file's
  Lazy lazy;                    // how its memory is read
  std::string shares;           // the key of another one in the same memory; empty: nobody before it
  bool sharing_assumed = false;
  RunValue made;
  bool elsewhere = false;  // it lies where the graph's result does not, whatever is in it: it has no memory
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
    if (told_.value("ending", nlohmann::json()) == kReference)
      throw UserError("it is a float64 reference, of which results need not have a bit", path_,
                      "judge what --on llvm, interp or eager saves; --on f64 and bound show what these are held to");
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
    for (const Input& input : graph_.inputs()) inputs_by_key.push_back(input_key(graph_, input));

    for (size_t i = 0; i < expected.outputs.size(); ++i) expect("out" + std::to_string(i), expected.outputs[i]);
    for (const std::string& key : file_.keys()) {
      bool known = std::ranges::find(numbers_, key) != numbers_.end() || key == "lenz" ||
                   std::ranges::find(inputs_by_key, key) != inputs_by_key.end() ||
                   std::ranges::find(seen_, key, [](const auto& s) { return s.first; }) != seen_.end();
      if (!known) fail("the graph has no output or input " + key);
    }
    for (size_t i = 0; i < inputs.size(); ++i)
      claim_input(inputs_by_key[i], inputs[i], expected.inputs[i], graph_.inputs()[i].mutated);
    for (const auto& [key, what] : told_.items()) {
      if (key == "ending") continue;
      if (!file_.has(key)) fail("the entry `lenz` speaks of " + key + ", of which the file has no array");
      check_fields(key, what);
    }
    note_input_sharing(inputs, inputs_by_key);
    note_expected_sharing(expected, inputs_by_key);
    for (auto& [key, seen] : seen_) claim_output(key, seen);
    for (const Claim& c : claims_)
      if (!c.shares.empty() &&
          (c.shares == c.key || std::ranges::find(claims_, c.shares, &Claim::key) == claims_.end()))
        fail("the entry `lenz`: " + c.key + " shares memory with " + c.shares +
             ", which is no other tensor of the run");
    find_misplaced(expected, inputs_by_key);
    while (!make_all()) untold_.contradicted = true;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (auto c = std::ranges::find(claims_, inputs_by_key[i], &Claim::key); c != claims_.end())
        got.inputs[i] = c->made;
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      const std::string key = "out" + std::to_string(i);
      got.outputs.push_back(output(key, expected.outputs[i]));
      if (is_number(look(expected.outputs[i])) && !file_.has(key)) untold_.outputs.push_back(i);
    }
    // Memory that the graph's results have not is wrong, whatever is in it.
    if (!contradiction_.empty() && !compare_outside(graph_, expected, got)) fail(contradiction_);
    return got;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw UserError(what, path_); }
  std::string held() const {  // in the file
    std::string all;
    for (const std::string& key : file_.keys())
      if (key != "lenz") all += (all.empty() ? "; it has " : ", ") + key;
    return all;
  }

  void expect(const std::string& key, const RunValue& value) {
    Seen seen = look(value);
    if (const Lazy lazy = lazy_of(value); lazy.conjugate || lazy.negate) expected_lazy_.emplace_back(key, lazy);
    if (seen.kind == TypeKind::list) {
      for (size_t k = 0; k < seen.elements.size(); ++k)
        expect(key + "." + std::to_string(k), element(value, static_cast<int64_t>(k)));
    } else if (is_number(seen)) {
      // Who says of it what tensors have holds it for one.
      numbers_.push_back(key);
      if (entry(key)) seen_.emplace_back(key, std::move(seen));
    } else if (seen.kind == TypeKind::tensor) {
      if (!file_.has(key)) fail("it lacks " + key + ", which the graph returns: " + to_string(seen) + held());
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
    // NumPy has no bf16 and no float8: who says no dtypes has their bits.
    const bool expects_bits = expected.dtype == Dtype::bf16 || is_float8(expected.dtype);
    const bool bits = expects_bits && array.item_size() == item_size(expected.dtype) && is_integral(array.dtype, false);
    Dtype dtype = array.raw_bits || bits ? expected.dtype : array.dtype;
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

  // An entry of the description has known fields and no others.
  void check_fields(const std::string& key, const nlohmann::json& entry) const {
    if (!entry.is_object()) fail("the entry `lenz`: " + key + " is no object");
    constexpr std::string_view kFields[] = {"dtype", "sizes", "strides", "offset", "lazy", "shares"};
    for (const auto& [field, value] : entry.items()) {
      if (std::ranges::find(kFields, field) != std::end(kFields)) continue;
      const std::string_view meant = nearest_name(field, kFields);
      throw UserError("the entry `lenz`: " + key + " has an unknown field " + field, path_,
                      meant.empty() ? "there are dtype, sizes, strides, offset, lazy and shares"
                                    : "did you mean " + std::string(meant) + "?");
    }
  }

  Lazy told_lazy(const std::string& key, Dtype dtype, const nlohmann::json& told) const {
    Lazy lazy;
    bool fine = told.is_array();
    for (size_t i = 0; fine && i < told.size(); ++i) {
      bool& word = told[i] == "conjugate" ? lazy.conjugate : lazy.negate;
      fine = (told[i] == "conjugate" || told[i] == "negate") && !word;  // once each
      word = true;
    }
    if ((lazy.conjugate && !is_complex(dtype)) || (lazy.negate && dtype == Dtype::b8))
      fail("the entry `lenz`: " + key + " is " + std::string(name(dtype)) + ", which is not read so lazily");
    if (!fine) fail("the entry `lenz`: " + key + ".lazy is no list of \"conjugate\" and \"negate\"");
    return lazy;
  }

  // What the file says of an array: its type, and who has its memory. Of what it does not say, nothing.
  Claim told_claim(const std::string& key, const Seen& expected) {
    Claim c;
    c.key = key;
    NpyArray array = checked(key, expected);
    c.type.dtype = array.dtype;
    c.elements = std::move(array.bytes);
    for (int64_t s : array.shape) c.type.sizes.push_back(s);
    if (auto sizes = dims(key, "sizes"); sizes && !(*sizes == c.type.sizes))
      fail("array " + key + " has another shape than the entry `lenz` says in sizes");
    const auto strides = dims(key, "strides");
    if (strides && strides->size() != c.type.sizes.size()) fail("the entry `lenz`: " + key + ".strides: another rank");
    c.layout_assumed = !strides;
    if (strides) {
      c.type.strides = *strides;
    } else if (std::ranges::equal(array.shape, expected.sizes)) {
      for (int64_t s : expected.strides) c.type.strides.push_back(s);
      c.type.offset = expected.offset;
    } else {
      c.type.strides = contiguous_strides(c.type.sizes);
    }
    const nlohmann::json* e = entry(key);
    if (e && e->contains("lazy")) {
      c.lazy = told_lazy(key, c.type.dtype, (*e)["lazy"]);
    } else if (const auto as_expected = std::ranges::find(expected_lazy_, key, [](const auto& l) { return l.first; });
               c.layout_assumed && as_expected != expected_lazy_.end()) {
      c.lazy = as_expected->second;
    }
    if (e && e->contains("offset")) {
      if (!(*e)["offset"].is_number_integer() || (*e)["offset"].get<int64_t>() < 0)
        fail("the entry `lenz`: " + key + ".offset is no count");
      c.type.offset = (*e)["offset"].get<int64_t>();
    } else if (strides) {
      c.type.offset = 0;
    }
    if (e && e->contains("shares")) {
      if (!(*e)["shares"].is_string()) fail("the entry `lenz`: " + key + ".shares is no name");
      c.shares = (*e)["shares"].get<std::string>();
    }
    // Who says where it lies would say who is there too.
    c.sharing_assumed = !e || !(e->contains("strides") || e->contains("offset") || e->contains("shares"));
    claimed_bytes(key, c.type);  // there are numbers for it
    return c;
  }

  // `after`: what eager left of it, which `out=` may have given another shape.
  void claim_input(const std::string& key, const RunValue& input, const RunValue& after, bool mutated) {
    const Seen seen = look(input);
    if (!file_.has(key)) {
      if (mutated) fail("it lacks " + key + ", an input that the graph writes to");
      if (seen.kind != TypeKind::tensor) return;
      Claim c;
      c.key = key;
      c.type.dtype = seen.dtype;
      for (int64_t s : seen.sizes) c.type.sizes.push_back(s);
      for (int64_t s : seen.strides) c.type.strides.push_back(s);
      c.type.offset = seen.offset;
      c.elements = elements_of(input);
      c.in_file = false;
      c.sharing_assumed = c.layout_assumed = true;
      claims_.push_back(std::move(c));
      return;
    }
    if (is_number(seen)) {  // nobody writes to one
      const Seen told = look(number(key, input, seen));
      if (told.kind != seen.kind || told.integer != seen.integer || !same_real(told.number, seen.number))
        fail("array " + key + " says another number than the run began with: " + to_text(input));
      return;
    }
    if (seen.kind != TypeKind::tensor) fail("the graph's input " + key + " is no tensor");
    claims_.push_back(told_claim(key, mutated ? look(after) : seen));
  }

  void claim_output(const std::string& key, const Seen& expected) {
    Claim c = told_claim(key, expected);
    if (c.layout_assumed) untold_.layouts.push_back(key);
    if (c.sharing_assumed) {
      untold_.sharers.push_back(key);
      auto sharer = std::ranges::find(expected_sharing_, key, [](const auto& s) { return s.first; });
      if (sharer != expected_sharing_.end()) c.shares = sharer->second;
    }
    claims_.push_back(std::move(c));
  }

  // Inputs of which the file says nothing lie where they were.
  void note_input_sharing(std::span<const RunValue> inputs, std::span<const std::string> keys) {
    std::vector<std::pair<const void*, std::string>> storages;
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto c = std::ranges::find(claims_, keys[i], &Claim::key);
      if (c == claims_.end()) continue;
      const void* storage = look(inputs[i]).storage;
      auto owner = std::ranges::find(storages, storage, [](const auto& s) { return s.first; });
      if (owner == storages.end()) {
        storages.emplace_back(storage, keys[i]);
      } else if (c->sharing_assumed) {
        c->shares = owner->second;
      }
    }
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

  // Claims whose numbers alone are wrong: no memory is taken for those, however much they claim.
  void find_misplaced(const Execution& expected, std::span<const std::string> input_keys) {
    Boxed numbers(DeviceKind::meta);
    auto look_at = [&](const std::string& key, const RunValue& right) {
      auto c = std::ranges::find(claims_, key, &Claim::key);
      if (c == claims_.end() || !c->in_file) return;
      const RunValue claimed = numbers.make(*graph_.context().tensor(c->type), {.kind = Initialiser::zeros});
      c->elsewhere = outside(look(claimed)) != outside(look(right));
      if (c->elsewhere) c->made = claimed;
    };
    for (size_t i = 0; i < expected.inputs.size(); ++i) look_at(input_keys[i], expected.inputs[i]);
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      const bool open = i < graph_.outputs().size() && has_open_sizes(graph_, graph_.outputs()[i]);
      if (!open) for_each_tensor("out" + std::to_string(i), expected.outputs[i], look_at);
    }
  }

  static void for_each_tensor(const std::string& key, const RunValue& value,
                              const std::function<void(const std::string&, const RunValue&)>& visit) {
    const Seen seen = look(value);
    if (seen.kind == TypeKind::tensor) visit(key, value);
    if (seen.kind != TypeKind::list) return;
    for (size_t k = 0; k < seen.elements.size(); ++k)
      for_each_tensor(key + "." + std::to_string(k), element(value, static_cast<int64_t>(k)), visit);
  }

  uint64_t claimed_bytes(const std::string& key, const TensorType& type) const {
    try {
      return storage_bytes(*graph_.context().tensor(type));
    } catch (const Unsupported&) {
      fail("of " + key + " it claims a tensor of more bytes than there are numbers for");
    }
  }

  RunValue make(const TensorType& type, const RunValue& shared) {
    return boxed_.make(*graph_.context().tensor(type), {.kind = Initialiser::zeros}, shared);
  }

  // Memory for those who share it, and their elements in it. False where they contradict each other and something was
  // assumed of them, which now is not.
  bool make_all() {
    const std::vector<size_t> groups = memory_groups();
    for (size_t g = 0; g < claims_.size(); ++g) {
      if (groups[g] != g) continue;
      std::vector<Claim*> members;
      for (size_t i = 0; i < claims_.size(); ++i)
        if (groups[i] == g && !claims_[i].elsewhere) members.push_back(&claims_[i]);
      if (!members.empty() && !fill(members)) return false;
    }
    return true;
  }

  bool fill(std::span<Claim* const> members) {
    TensorType room;
    room.dtype = Dtype::u8;
    uint64_t bytes = 0;
    for (const Claim* c : members) {
      bytes = std::max(bytes, claimed_bytes(c->key, c->type));
      if (bytes > kMostBytes) fail("of " + c->key + " it claims a tensor of " + std::to_string(bytes) + " bytes");
    }
    room.sizes = {Dim(static_cast<int64_t>(bytes))};
    room.strides = {Dim(1)};
    const RunValue memory = make(room, nullptr);
    for (const bool in_file : {false, true})  // an input that the file has not shows what was written to its memory
      for (Claim* c : members) {
        if (c->in_file != in_file) continue;
        c->made = read_lazily(make(c->type, memory), c->lazy);
        set_elements(c->made, c->elements);
        if (elements_of(c->made) != c->elements && let_go(*c, std::span(&c, 1))) return false;
      }
    for (const Claim* c : members)
      if (c->in_file && elements_of(c->made) != c->elements && let_go(*c, members)) return false;
    return true;
  }

  // Whether something was assumed of these, of which one is not what the file says; it is not any more.
  bool let_go(const Claim& one, std::span<Claim* const> members) {
    bool assumed = false;
    for (Claim* c : members) {
      if (members.size() == 1 && c->layout_assumed) {
        TensorType plain = c->type;
        plain.strides = contiguous_strides(plain.sizes);
        plain.offset = Dim(0);
        assumed = !(plain.strides == c->type.strides);
        c->type = plain;
      } else if (c->sharing_assumed && !c->shares.empty()) {
        assumed = true;
        c->shares.clear();
      }
    }
    if (!assumed)
      contradiction_ =
          "array " + one.key + " contradicts " +
          (members.size() == 1 ? "itself: its elements share memory" : "another one that has the same memory");
    return assumed;
  }

  // Of each claim the first that has the same memory.
  std::vector<size_t> memory_groups() const {
    std::vector<size_t> group(claims_.size());
    for (size_t i = 0; i < group.size(); ++i) group[i] = i;
    for (size_t i = 0; i < group.size(); ++i) {
      if (claims_[i].shares.empty()) continue;
      const auto other = std::ranges::find(claims_, claims_[i].shares, &Claim::key) - claims_.begin();
      const size_t a = group[i], b = group[static_cast<size_t>(other)];
      for (size_t& g : group)
        if (g == a || g == b) g = std::min(a, b);
    }
    return group;
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
    return std::ranges::find(claims_, key, &Claim::key)->made;
  }

  static bool is_number(const Seen& seen) {
    return seen.kind == TypeKind::sym_int || seen.kind == TypeKind::sym_float || seen.kind == TypeKind::sym_bool;
  }

  static bool same_real(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

  RunValue number(const std::string& key, const RunValue& expected, const Seen& seen) {
    if (!file_.has(key)) {
      untold_.numbers.push_back(key);
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
    fail("array " + key + " is no number (i64, f64 or bool without dims), the graph has: " + to_string(seen));
  }

  const std::string& path_;
  const Graph& graph_;
  Boxed& boxed_;
  Untold& untold_;
  NpzReader file_;
  nlohmann::json told_ = nlohmann::json::object();
  std::vector<std::pair<std::string, Seen>> seen_;  // expected outputs, by key
  std::vector<std::string> numbers_;                // those of them that are numbers
  std::vector<std::pair<std::string, Lazy>> expected_lazy_;
  std::vector<std::pair<std::string, std::string>> expected_sharing_;
  std::string contradiction_;  // of two arrays, by all that the file says
  std::vector<Claim> claims_;  // inputs first
};
}  // namespace

namespace {
// "out0 to out5, out7": runs of outputs that follow each other in short.
std::string listed(std::span<const std::string> keys) {
  std::string text;
  for (size_t i = 0; i < keys.size();) {
    auto number = [&](size_t k) {
      const bool plain = keys[k].starts_with("out") && keys[k].find('.') == std::string::npos;
      return plain ? std::stoull(keys[k].substr(3)) : std::optional<uint64_t>();
    };
    size_t end = i + 1;
    while (end < keys.size() && number(i) && number(end) && *number(end) == *number(i) + (end - i)) ++end;
    if (end - i < 3) end = i + 1;
    text += (text.empty() ? "" : ", ") + keys[i] + (end - i > 1 ? " to " + keys[end - 1] : "");
    i = end;
  }
  return text;
}
}  // namespace

std::vector<std::string> Untold::each() const {
  std::vector<std::string> all;
  for (const std::string& key : layouts) all.push_back("the layout of " + key);
  for (const std::string& key : sharers) all.push_back("with whom " + key + " shares memory");
  for (const std::string& key : numbers) all.push_back("the number " + key);
  if (prints) all.emplace_back("what the graph prints");
  return all;
}

std::string Untold::together() const {
  std::string text;
  auto add = [&](const std::string& what) { text += (text.empty() ? "" : "; ") + what; };
  auto plural = [](std::span<const std::string> keys) { return keys.size() > 1 ? "s" : ""; };
  if (!layouts.empty()) add(std::string("the layout") + plural(layouts) + " of " + listed(layouts));
  if (!sharers.empty()) add("who shares memory");
  if (!numbers.empty()) add(std::string("the number") + plural(numbers) + " " + listed(numbers));
  if (prints) add("what the graph prints");
  return text;
}

Execution read_results(const std::string& path, const Graph& graph, Boxed& boxed, const Execution& expected,
                       std::span<const RunValue> inputs, Untold& untold) {
  return ResultsReader(path, graph, boxed, untold).read(expected, inputs);
}

}  // namespace lenz::oracle
