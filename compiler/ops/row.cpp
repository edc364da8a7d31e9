#include "compiler/ops/row.h"

#include "compiler/ops/make/each.h"
#include "compiler/ops/rules/each.h"

namespace lenz {

void RowSink::row(std::string_view schema, const Row& fields) {
  OpDef def;
  def.schema = parse_schema(schema);
  def.variants = fields.variants;
  constexpr auto kCore = static_cast<uint32_t>(Trait::core);
  def.traits = Traits(fields.traits.bits & ~kCore) | (fields.decompose.empty() ? Trait::core : Trait::composite);
  def.infer = fields.infer;
  def.generate = fields.generate;
  def.dtypes = fields.dtypes;
  def.computes = fields.computes;
  def.domain = fields.domain;
  def.accuracy = fields.accuracy;
  def.flow = fields.flow;
  def.raises = fields.raises;
  def.decompose = fields.decompose;
  def.wide_steps = fields.wide_steps;
  def.written_base = fields.written_base;
  def.writes = fields.writes;
  def.devices = fields.devices;
  def.fits = fields.fits;
  def.wants = fields.wants;
  def.sampling = fields.sampling;
  def.exception = fields.exception;
  def.copies = fields.copies;
  def.neutral = fields.neutral;
  def.absorbing = fields.absorbing;
  def.fills = fields.fills;
  def.dims_of_result = fields.dims_of_result;
  def.scalar = fields.scalar == "{}" ? def.schema.packet : std::string(fields.scalar);
  if (!def.decompose.empty()) def.lowering.kind = LoweringKind::decompose;
  if (!fields.loops.empty() || !def.scalar.empty()) def.lowering = {LoweringKind::loops, fields.loops};
  table_.add(std::move(def));
}

void RowSink::each(std::string_view schema, const EachRow& fields) {
  const OpDef* of = table_.find("aten." + std::string(fields.of));
  LENZ_CHECK(of, "a row over lists of " + std::string(fields.of) + ", which has no row yet");
  OpDef def;
  def.schema = parse_schema(schema);
  def.each = of;
  def.variants = fields.variants;
  if (of->has(Trait::makes_float)) def.traits = Trait::makes_float;
  def.infer = rule::each;
  def.generate = fields.generate ? fields.generate : make::each;
  def.dtypes = of->dtypes;
  def.computes = of->computes;
  def.domain = of->domain;
  def.accuracy = of->accuracy;
  def.raises = of->raises;
  def.exception = fields.exception.empty() ? of->exception : fields.exception;
  def.lowering.kind = LoweringKind::decompose;  // into its elements
  table_.add(std::move(def));
}

std::string call_of(const Schema& callee, const Schema& parameters) {
  std::string text = callee.space + "." + callee.packet + "." + (callee.overload.empty() ? "default" : callee.overload);
  LENZ_CHECK(callee.params.size() == parameters.params.size(), text + " has other parameters");
  for (size_t i = 0; i < callee.params.size(); ++i) {
    text += i ? ", " : "(";
    if (callee.params[i].keyword_only) text += callee.params[i].name + "=";
    text += "$" + parameters.params[i].name;
  }
  return text + ")";
}

void RowSink::alias(std::string_view schema, std::string_view of, std::optional<Variants> variants) {
  const OpDef* row = table_.find("aten." + std::string(of));
  LENZ_CHECK(row, "an alias of " + std::string(of) + ", which has no row yet");
  OpDef def = *row;
  def.schema = parse_schema(schema);
  if (variants) def.variants = *variants;
  def.traits = Traits(def.traits.bits & ~static_cast<uint32_t>(Trait::core)) | Trait::composite;
  std::string definition = "return " + call_of(row->schema, def.schema);
  def.decompose = definition;  // the table keeps a copy
  def.lowering = {LoweringKind::decompose, {}};
  table_.add(std::move(def));
}

void RowSink::aliases(std::string_view schema, std::initializer_list<Alias> names, std::optional<Variants> variants) {
  size_t hole = schema.find("{}");
  LENZ_CHECK(hole != std::string_view::npos, "a family's schema needs a {} for the name");
  std::string_view rest = schema.substr(hole + 2);
  std::string_view overload = rest.substr(0, rest.find('('));
  for (const Alias& a : names)
    alias(std::string(schema.substr(0, hole)) + std::string(a.name) + std::string(rest),
          std::string(a.of) + std::string(overload), variants);
}

void RowSink::rows(std::string_view schema, std::string_view names, const Row& fields) {
  size_t hole = schema.find("{}");
  LENZ_CHECK(hole != std::string_view::npos, "a family's schema needs a {} for the name");
  while (!names.empty()) {
    size_t end = std::min(names.find(' '), names.size());
    if (end)
      row(std::string(schema.substr(0, hole)) + std::string(names.substr(0, end)) +
              std::string(schema.substr(hole + 2)),
          fields);
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

}  // namespace lenz
