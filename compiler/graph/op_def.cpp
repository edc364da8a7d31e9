#include "compiler/graph/op_def.h"

#include "compiler/base/hash.h"

namespace lenz {

namespace {
constexpr Trait kTraits[] = {Trait::elementwise, Trait::reduction,
                             Trait::view,        Trait::maybe_view,
                             Trait::random,      Trait::commutative,
                             Trait::associative, Trait::idempotent,
                             Trait::involution,  Trait::monotone,
                             Trait::creation,    Trait::data_dependent,
                             Trait::effect,      Trait::nondeterministic,
                             Trait::composite,   Trait::core,
                             Trait::scan,        Trait::movement,
                             Trait::contraction, Trait::indexing,
                             Trait::structural,  Trait::reads_metadata_only,
                             Trait::makes_float, Trait::opaque_view};
constexpr std::string_view kTraitNames[] = {"elementwise", "reduction",
                                            "view",        "maybe_view",
                                            "random",      "commutative",
                                            "associative", "idempotent",
                                            "involution",  "monotone",
                                            "creation",    "data_dependent",
                                            "effect",      "nondeterministic",
                                            "composite",   "core",
                                            "scan",        "movement",
                                            "contraction", "indexing",
                                            "structural",  "reads_metadata_only",
                                            "makes_float", "opaque_view"};
static_assert(std::size(kTraits) == std::size(kTraitNames));
constexpr bool distinct() {
  uint32_t seen = static_cast<uint32_t>(Trait::empty_dims_keep);
  for (Trait t : kTraits) {
    if (seen & static_cast<uint32_t>(t)) return false;
    seen |= static_cast<uint32_t>(t);
  }
  return true;
}
static_assert(distinct(), "two traits share a bit");
}  // namespace

std::span<const Trait> all_traits() { return kTraits; }

std::string_view name(Trait trait) {
  for (size_t i = 0; i < std::size(kTraits); ++i)
    if (kTraits[i] == trait) return kTraitNames[i];
  return "?";
}

namespace {
// relu(Tensor self) -> Tensor  =>  relu_(Tensor(a!) self) -> Tensor(a!)
Schema in_place_schema(const Schema& from, const Variants& variants) {
  Schema s = from;
  s.packet += "_";
  if (variants.in_place_as) s.overload = *variants.in_place_as;
  s.params[0].alias = 'a';
  s.params[0].writes = true;
  if (s.returns_list()) {
    s.returns.clear();
    return s;
  }
  s.returns[0].alias = 'a';
  s.returns[0].writes = true;
  return s;
}

// add.Tensor(...) -> Tensor  =>  add.out(..., *, Tensor(a!) out) -> Tensor(a!)
Schema out_schema(const Schema& from, const Variants& variants) {
  Schema s = from;
  s.overload = variants.out;
  std::string_view names = variants.out_params;
  bool unnamed = names.starts_with('!');
  if (unnamed) names.remove_prefix(1);
  for (size_t i = 0; i < s.returns.size(); ++i) {
    Param p;
    p.name = s.returns.size() == 1 ? "out" : s.returns[i].name.empty() ? "out" + std::to_string(i) : s.returns[i].name;
    if (!names.empty()) {
      size_t space = std::min(names.find(' '), names.size());
      p.name = names.substr(0, space);
      names.remove_prefix(std::min(space + 1, names.size()));
    }
    p.type = s.returns[i].type;
    p.keyword_only = true;
    p.is_out = true;
    p.alias = static_cast<char>('a' + i);
    p.writes = true;
    s.returns[i].alias = p.alias;
    s.returns[i].writes = true;
    if (unnamed) s.returns[i].name.clear();
    s.params.push_back(std::move(p));
  }
  if (from.returns_list()) s.returns.clear();
  return s;
}
}  // namespace

std::string_view OpTable::keep_text(std::string_view text) {
  if (text.empty()) return {};
  return texts_.emplace_back(text);
}

namespace {
// "running_mean running_var if training": the places of its parameters.
void read_writes(OpDef& def) {
  def.unsaid_writes.clear();
  def.unsaid_writes_if = -1;
  bool flag = false;
  for (std::string_view rest = def.writes; !rest.empty();) {
    size_t end = std::min(rest.find(' '), rest.size());
    std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (word == "if") {
      flag = true;
      continue;
    }
    int param = def.schema.find(word);
    LENZ_CHECK(param >= 0, def.schema.full_name() + " writes to " + std::string(word) + ", which is no parameter");
    if (flag) {
      def.unsaid_writes_if = param;
    } else {
      def.unsaid_writes.push_back(static_cast<uint8_t>(param));
    }
  }
}

void check_devices(const OpDef& def) {
  for (std::string_view rest = def.devices; !rest.empty();) {
    const std::string_view entry = rest.substr(0, std::min(rest.find(' '), rest.size()));
    const size_t colon = std::min(entry.find(':'), entry.size() - 1);
    const std::string_view said = entry.substr(colon + 1);
    LENZ_CHECK(def.schema.find(entry.substr(0, colon)) >= 0 && (said == "any" || said == "cpu" || said == "number"),
               def.schema.full_name() + " says of devices " + std::string(entry));
    rest.remove_prefix(std::min(entry.size() + 1, rest.size()));
  }
}
}  // namespace

void OpTable::add(OpDef def) {
  read_writes(def);
  check_devices(def);
  def.number_fits = read_fits(def);
  for (std::string_view* text : {&def.raises, &def.decompose, &def.written_base, &def.writes, &def.devices, &def.fits,
                                 &def.wants, &def.sampling, &def.exception, &def.gradient, &def.lowering.body})
    *text = keep_text(*text);
  def.full_name = def.schema.full_name();
  auto keep = [&](OpDef row) {
    row.name_hash = hash_bytes(row.full_name);
    row.may_write = row.schema.mutates() || !row.unsaid_writes.empty();
    rows_.push_back(std::make_unique<OpDef>(std::move(row)));
    const OpDef* kept = rows_.back().get();
    bool fresh = by_name_.emplace(kept->full_name, kept).second;
    LENZ_CHECK(fresh, "two rows named " + kept->full_name);
    by_packet_[kept->schema.space + "." + kept->schema.packet].push_back(kept);
    return kept;
  };
  Variants variants = def.variants;
  const OpDef* base = keep(std::move(def));
  auto derive = [&](VariantKind kind, Schema schema) {
    OpDef row = *base;
    row.variant = kind;
    row.base = base;
    row.variants = {};
    if (kind == VariantKind::in_place && !variants.in_place_value.empty())
      row.decompose = keep_text(variants.in_place_value);
    row.schema = std::move(schema);
    row.full_name = row.schema.full_name();
    keep(std::move(row));
  };
  if (variants.in_place) derive(VariantKind::in_place, in_place_schema(base->schema, variants));
  if (!variants.out.empty()) derive(VariantKind::out, out_schema(base->schema, variants));
}

const OpDef* OpTable::find(std::string_view full_name) const {
  auto found = by_name_.find(full_name);
  return found == by_name_.end() ? nullptr : found->second;
}

std::span<const OpDef* const> OpTable::packet(std::string_view name) const {
  auto found = by_packet_.find(std::string(name));
  if (found == by_packet_.end()) return {};
  return found->second;
}

}  // namespace lenz
