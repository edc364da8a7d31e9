#include "compiler/driver/ops_classes.h"

#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "compiler/base/hash.h"
#include "compiler/driver/arguments.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_classes.h"
#include "compiler/ops/call_file.h"
#include "compiler/ops/op_table.h"
#include "compiler/ops/select.h"

namespace lenz {

namespace {
// The classes of many calls: each by itself, two of different facets together, and one of each facet together.
struct Reached {
  int calls = 0;
  std::set<std::string> single, pairs, tuples;

  void add(const std::vector<Facet>& facets) {
    calls += 1;
    std::string tuple;
    for (size_t i = 0; i < facets.size(); ++i)
      for (const std::string& a : facets[i].classes) {
        tuple += a + " ";
        single.insert(a);
        for (size_t k = i + 1; k < facets.size(); ++k)
          for (const std::string& b : facets[k].classes) pairs.insert(a + " " + b);
      }
    tuples.insert(std::move(tuple));
  }
};

std::vector<std::string> missing(const std::set<std::string>& wanted, const std::set<std::string>& reached) {
  std::vector<std::string> list;
  std::ranges::set_difference(wanted, reached, std::back_inserter(list));
  return list;
}

struct Request {
  int calls = 2000;
  uint64_t seed = 0;
  std::string against;
  bool json = false;
  std::vector<std::string> names;
};

Reached of_generator(const OpDef& op, const Request& request) {
  Reached reached;
  for (int i = 0; op.generate && i < request.calls; ++i) {
    RandomChooser random(combine(hash_bytes(op.full_name, request.seed), static_cast<uint64_t>(i)));
    try {
      DrawnCall call = draw_call(op, op_table(), random);
      reached.add(call_classes(op, *call.graph, call.args));
    } catch (const Error&) {
      // a row that fails on its own calls is for --check to report
    }
  }
  return reached;
}

struct Compared {
  std::map<std::string, Reached> by_op;
  std::map<std::string, std::string> unreadable;  // op: why, the first
  int unread = 0;
};

Compared read_calls(const Request& request) {
  Compared c;
  for (const CallText& text : split_calls(read_text(request.against, size_t{1} << 30))) {
    const OpDef* op = op_table().find(text.op);
    try {
      if (!op) throw UserError("there is no row of this name");
      DrawnCall call = read_call(text, op_table());
      c.by_op[text.op].add(call_classes(*call.op, *call.graph, call.args));
    } catch (const Error& error) {
      c.unread += 1;
      c.unreadable.emplace(text.op, std::string(error.what()));
    }
  }
  return c;
}

nlohmann::json strings(const std::vector<std::string>& list, size_t most) {
  return std::vector<std::string>(list.begin(), list.begin() + static_cast<ptrdiff_t>(std::min(list.size(), most)));
}

nlohmann::json compare(const OpDef& op, const Reached& theirs, const Request& request) {
  Reached ours = of_generator(op, request);
  auto gaps = missing(theirs.single, ours.single);
  auto pairs = missing(theirs.pairs, ours.pairs), tuples = missing(theirs.tuples, ours.tuples);
  return {{"name", op.full_name},
          {"calls", theirs.calls},
          {"classes", theirs.single},
          {"gaps", gaps},
          {"pairs", theirs.pairs.size()},
          {"pairs_missed", pairs.size()},
          {"pair_examples", strings(pairs, 5)},
          {"tuples", theirs.tuples.size()},
          {"tuples_missed", tuples.size()}};
}

ExitCode against(const std::vector<const OpDef*>& rows, const Request& request) {
  Compared theirs = read_calls(request);
  auto list = nlohmann::json::array();
  size_t classes = 0, gaps = 0;
  for (const OpDef* op : rows) {
    auto found = theirs.by_op.find(op->full_name);
    if (found == theirs.by_op.end() || !op->generate) continue;
    list.push_back(compare(*op, found->second, request));
    classes += list.back()["classes"].size();
    gaps += list.back()["gaps"].size();
  }
  if (request.json) {
    nlohmann::json all = {{"calls_per_row", request.calls},
                          {"seed", request.seed},
                          {"classes", classes},
                          {"gaps", gaps},
                          {"unreadable", theirs.unread},
                          {"why_unreadable", theirs.unreadable},
                          {"rows", list}};
    std::printf("%s\n", all.dump(1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    for (const auto& row : list) {
      std::printf("%s: %zu classes, %zu gaps", row["name"].get<std::string>().c_str(), row["classes"].size(),
                  row["gaps"].size());
      for (const auto& gap : row["gaps"]) std::printf(" %s", gap.get<std::string>().c_str());
      std::printf("\n");
    }
    for (const auto& [op, why] : theirs.unreadable) std::printf("unreadable %s: %s\n", op.c_str(), why.c_str());
    std::printf("%zu rows, %zu classes, %zu gaps, %d calls unreadable\n", list.size(), classes, gaps, theirs.unread);
  }
  return gaps ? ExitCode::not_covered : ExitCode::fine;
}
}  // namespace

ExitCode ops_classes_command(std::span<const std::string> args) {
  Request request;
  CLI::App app("Which classes of calls the rows' generators reach.", "lenz ops --classes");
  app.add_option("NAME", request.names, "rows: a name, a packet, or a glob; none: all");
  app.add_option("--calls", request.calls, "generated calls per row")->check(CLI::Range(1, 10000000));
  app.add_option("--seed", request.seed, "seed of all choices");
  app.add_option("--against", request.against,
                 "a file of calls: which of their classes are missed; exit code 6 if any");
  app.add_flag("--json", request.json, "as JSON");
  if (!parse_arguments(app, args)) return ExitCode::fine;
  std::vector<const OpDef*> rows = select_rows(op_table(), request.names);
  if (!request.against.empty()) return against(rows, request);
  auto list = nlohmann::json::array();
  for (const OpDef* op : rows) {
    if (!op->generate) continue;
    Reached reached = of_generator(*op, request);
    if (request.json) {
      list.push_back({{"name", op->full_name}, {"calls", reached.calls}, {"classes", reached.single}});
      continue;
    }
    std::printf("%s:", op->full_name.c_str());
    for (const std::string& c : reached.single) std::printf(" %s", c.c_str());
    std::printf("\n");
  }
  if (request.json) std::printf("%s\n", list.dump(1).c_str());
  return ExitCode::fine;
}

}  // namespace lenz
