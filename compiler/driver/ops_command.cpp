#include "compiler/driver/ops_command.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/driver/arguments.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/ops_classes.h"
#include "compiler/driver/plugin.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/select.h"
#include "compiler/scalar/scalar.h"

namespace lenz {

namespace {
std::string_view name(LoweringKind kind) {
  constexpr std::string_view names[] = {"none", "loops", "decompose", "extern"};
  return names[static_cast<size_t>(kind)];
}
std::string_view name(Accuracy accuracy) {
  constexpr std::string_view names[] = {"exact", "rounded", "ulp1", "ulp2", "ulp4", "ulp16", "accumulated", "composed"};
  return names[static_cast<size_t>(accuracy)];
}
// Of a row that is a primitive, what the scalar table holds everybody to; of others what the row says.
std::string accuracy_of(const OpDef& op) {
  const ScalarRow* primitive = op.scalar.empty() ? nullptr : find_scalar(op.scalar);
  if (!primitive) return std::string(name(op.accuracy));
  switch (primitive->accuracy.kind) {
    case AccuracyClass::exact: return "exact";
    case AccuracyClass::correctly_rounded: return "rounded";
    case AccuracyClass::ulps: break;
  }
  return "ulp" + std::to_string(static_cast<int>(primitive->accuracy.ulps));
}
std::string_view name(VariantKind kind) {
  constexpr std::string_view names[] = {"functional", "in_place", "out"};
  return names[static_cast<size_t>(kind)];
}

// What an op's values are is said by a definition, by another row (for each element of a list), or nowhere but in a
// primitive: a row of level core, a view, a draw, the graph's own plumbing. What is left over has no meaning yet.
std::string_view meaning(const OpDef& op) {
  if (!op.decompose.empty()) return "definition";
  if (op.each) return "each";
  for (Trait t : {Trait::core, Trait::structural, Trait::view, Trait::maybe_view, Trait::random})
    if (op.has(t)) return "primitive";
  return op.scalar.empty() ? "none" : "primitive";
}

std::vector<std::string> trait_names(Traits traits) {
  std::vector<std::string> list;
  for (Trait t : all_traits())
    if (traits.has(t)) list.emplace_back(lenz::name(t));
  return list;
}

std::vector<std::string> dtype_names(DtypeSet set) {
  std::vector<std::string> list;
  for (int d = 0; d < kDtypeCount; ++d)
    if (set.has(static_cast<Dtype>(d))) list.emplace_back(lenz::name(static_cast<Dtype>(d)));
  return list;
}

nlohmann::json to_json(const OpDef& op) {
  std::vector<std::string> variants;
  if (op.variants.in_place) variants.emplace_back("in_place");
  if (!op.variants.out.empty()) variants.emplace_back("out");
  nlohmann::json row = {
      {"name", op.full_name},
      {"packet", packet_name(op)},
      {"overload", op.schema.overload},
      {"schema", to_string(op.schema)},
      {"variant", std::string(name(op.variant))},
      {"variants", variants},
      {"traits", trait_names(op.traits)},
      {"dtypes", dtype_names(op.dtypes)},
      {"domain", {{"low", op.domain.low}, {"high", op.domain.high}, {"zero", !op.domain.exclude_zero}}},
      {"accuracy", accuracy_of(op)},
      {"scalar", op.scalar},
      {"core", stands_at_core(op)},
      {"raises", op.raises},
      {"writes", op.writes},
      {"devices", op.devices},
      {"fits", op.fits},
      {"exception", op.exception},
      {"decompose", op.decompose},
      {"wide_steps", op.wide_steps},
      {"meaning", std::string(meaning(op))},
      {"lowering", std::string(name(op.lowering.kind))},
      {"gradient", !op.gradient.empty()},
      {"rule", op.infer != nullptr},
      {"generator", op.generate != nullptr}};
  return row;
}

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& s : items) text += (text.empty() ? "" : " ") + s;
  return text.empty() ? "-" : text;
}

void print_one(const OpDef& op) {
  auto line = [](const char* what, std::string_view text) {
    if (!text.empty()) std::printf("  %-11s %.*s\n", what, static_cast<int>(text.size()), text.data());
  };
  std::printf("%s\n", op.full_name.c_str());
  line("schema", to_string(op.schema));
  if (op.base) line("derived", "from " + op.base->full_name + ", " + std::string(name(op.variant)));
  line("traits", joined(trait_names(op.traits)));
  line("dtypes", joined(dtype_names(op.dtypes)));
  char domain[64];
  std::snprintf(domain, sizeof domain, "[%g, %g]%s", op.domain.low, op.domain.high,
                op.domain.exclude_zero ? " without 0" : "");
  line("domain", domain);
  const std::string_view stored = op.flow.in_storage;
  line("accuracy", accuracy_of(op) + (stored.empty()       ? ""
                                      : stored == "always" ? ", adds up in the result's dtype"
                                                           : ", may add up in the result's dtype"));
  line("scalar", op.scalar);
  line("raises", op.raises);
  line("writes", op.writes);
  line("devices", op.devices);
  line("fits", op.fits);
  line("exception", op.exception);
  line("lowering", name(op.lowering.kind));
  line("gradient", op.gradient.empty() ? "no" : "yes");
  line("calls", op.generate ? "generated" : "no generator");
  if (op.wide_steps) line("steps", "of f16 and bf16 in f32, results rounded once");
  line("decompose", op.decompose.empty() ? "no" : op.decompose);
}

void print_table(std::span<const OpDef* const> rows) {
  size_t width = 4;
  for (const OpDef* op : rows) width = std::max(width, op->full_name.size());
  std::printf("%-*s  %-10s %-9s %-8s %-11s traits\n", static_cast<int>(width), "name", "variant", "lowering",
              "gradient", "accuracy");
  for (const OpDef* op : rows)
    std::printf("%-*s  %-10s %-9s %-8s %-11s %s\n", static_cast<int>(width), op->full_name.c_str(),
                std::string(name(op->variant)).c_str(), std::string(name(op->lowering.kind)).c_str(),
                op->gradient.empty() ? "no" : "yes", accuracy_of(*op).c_str(), joined(trait_names(op->traits)).c_str());
}

void print_counts(std::span<const OpDef* const> rows) {
  std::map<std::string_view, int> meanings, lowerings;
  std::set<std::string> core, scalars;
  for (const OpDef* op : rows) {
    if (stands_at_core(*op)) (op->scalar.empty() ? core : scalars).insert(packet_name(*op));
    if (op->variant != VariantKind::functional) continue;
    ++meanings[meaning(*op)];
    ++lowerings[name(op->lowering.kind)];
  }
  std::printf("of the functional rows: meaning");
  for (auto [what, n] : meanings) std::printf(" %.*s %d", static_cast<int>(what.size()), what.data(), n);
  std::printf("; lowering");
  for (auto [what, n] : lowerings) std::printf(" %.*s %d", static_cast<int>(what.size()), what.data(), n);
  std::erase_if(scalars, [&](const std::string& packet) { return core.contains(packet); });  // op name: counts them
  std::printf("\nlevel core: %zu packets that are one scalar primitive, %zu others\n", scalars.size(), core.size());
}

// In-place packets (add_) are variants of their row's packet, and none of their own.
size_t distinct_packets(std::span<const OpDef* const> rows) {
  std::set<std::string> packets;
  for (const OpDef* op : rows) packets.insert(packet_name(op->base ? *op->base : *op));
  return packets.size();
}
}  // namespace

ExitCode ops_command(std::span<const std::string> args) {
  auto without = [&](std::string_view flag) {
    std::vector<std::string> rest;
    for (const std::string& a : args)
      if (a != flag) rest.push_back(a);
    return rest;
  };
  if (std::ranges::find(args, "--check") != args.end()) return run_plugin_command("ops-check", without("--check"));
  if (std::ranges::find(args, "--classes") != args.end()) return ops_classes_command(without("--classes"));
  CLI::App app("Lists the rows of the op table and what each knows.", "lenz ops");
  std::vector<std::string> names;
  bool json = false, undefined = false;
  app.add_option("NAME", names, "rows to show: a name, a packet, or a glob; none: all");
  app.add_flag("--json", json, "an array of objects");
  app.add_flag("--undefined", undefined, "only rows whose values nothing says: no definition, no primitive");
  bool check = false, classes = false;  // handled above; here for the help text
  app.add_flag("--check", check, "hold the rows against libtorch (`lenz ops --check --help`)");
  app.add_flag("--classes", classes, "the classes of calls that generators reach (`lenz ops --classes --help`)");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  std::vector<const OpDef*> rows = select_rows(op_table(), names);
  if (undefined) std::erase_if(rows, [](const OpDef* op) { return meaning(*op) != "none"; });
  if (json) {
    auto all = nlohmann::json::array();
    for (const OpDef* op : rows) all.push_back(to_json(*op));
    std::printf("%s\n", all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
    return ExitCode::fine;
  }
  if (!names.empty() && rows.size() <= 12) {
    for (const OpDef* op : rows) print_one(*op);
  } else {
    print_table(rows);
  }
  std::printf("%zu rows, %zu distinct packets\n", rows.size(), distinct_packets(rows));
  print_counts(rows);
  return ExitCode::fine;
}

}  // namespace lenz
