#include "bench/roof.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "bench/conversions.h"
#include "bench/peak.h"
#include "bench/primitive.h"
#include "compiler/loops/text.h"
#include "compiler/loops/uses.h"
#include "compiler/schedule/nest_facts.h"

namespace lenz::bench {

namespace {
using loops::Instr;
using loops::InstrKind;

// As the text of a program spells a float.
std::string number_text(double x) {
  char digits[64];
  std::string text(digits, std::to_chars(digits, digits + sizeof digits, x).ptr);
  return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

// Reduced floats are computed as f32.
Dtype computed_as(Dtype dtype) { return is_reduced_float(dtype) ? Dtype::f32 : dtype; }

bool takes_long(const Instr& i) {
  if (i.kind == InstrKind::draw) return true;
  return i.kind == InstrKind::scalar && i.row->arity <= 2 && i.row->result != ResultRule::target &&
         is_floating(i.compute) && schedule::cost_of(i) > 3;
}

// Of the program's text: a primitive, and what stands in it as a constant, for a square is no power: "pow.f32 _ 2.0". A
// draw, and the dtype that it gives: "draw.word i64".
std::string primitive(const loops::Nest& nest, const Instr& i) {
  if (i.kind == InstrKind::draw) return "draw." + std::string(loops::name(i.draw)) + " " + std::string(name(i.dtype));
  std::string key = std::string(i.row->name) + "." + std::string(name(computed_as(i.compute)));
  std::string operands;
  bool constants = false;
  for (loops::Ssa o : i.operands) {
    const Instr& operand = nest.body[o];
    const bool constant = operand.kind == InstrKind::constant;
    constants = constants || constant;
    operands += constant ? " " + number_text(operand.value.real()) : " _";
  }
  return constants ? key + operands : key;
}

// Products of floats that are only added to something, once: one instruction does both. Nobody has fused the loops, so
// what stands between may be a buffer.
class WithinAdditions {
 public:
  explicit WithinAdditions(const loops::Program& program) {
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      loops::for_each_buffer(node, [&](loops::BufferId id) { ++mentions_[id]; });
      if (const auto* nest = std::get_if<loops::Nest>(&node.is)) note(*nest);
    });
    loops::for_each_output_buffer(program, [&](loops::BufferId id) { ++mentions_[id]; });
    loops::for_each_node(program.body, [&](const loops::Node& node) {
      if (const auto* nest = std::get_if<loops::Nest>(&node.is)) find(*nest);
    });
  }
  bool has(const loops::Nest& nest, loops::Ssa at) const { return found_.contains({&nest, at}); }

 private:
  using Place = std::pair<const loops::Nest*, loops::Ssa>;

  void note(const loops::Nest& nest) {
    for (const Instr& i : nest.body)
      for (loops::Ssa o : i.operands) ++users_[{&nest, o}];
    for (const loops::Store& s : nest.stores) {
      ++users_[{&nest, s.value}];
      if (s.mode == loops::StoreMode::assign) stored_.try_emplace(s.buffer, Place{&nest, s.value});
    }
  }
  // What a value is that is used once; through a buffer that is stored once and loaded once.
  std::optional<Place> used_once(Place at) const {
    if (users_.at(at) != 1) return std::nullopt;
    const Instr& i = at.first->body[at.second];
    if (i.kind != InstrKind::load) return at;
    const auto from = stored_.find(i.buffer);
    if (from == stored_.end() || mentions_.at(i.buffer) != 2 || users_.at(from->second) != 1) return std::nullopt;
    return from->second;
  }
  void find(const loops::Nest& nest) {
    for (const Instr& i : nest.body) {
      const bool sum = i.kind == InstrKind::reduce && i.combine == loops::Combine::sum;
      const bool adds = i.kind == InstrKind::scalar && (i.row->name == "add" || i.row->name == "sub");
      if (!sum && !adds) continue;
      for (loops::Ssa o : i.operands) {
        const std::optional<Place> term = used_once({&nest, o});
        if (!term) continue;
        const Instr& product = term->first->body[term->second];
        if (product.kind != InstrKind::scalar || product.row->name != "mul" || !is_floating(product.dtype)) continue;
        found_.insert(*term);
        break;  // one instruction adds one product
      }
    }
  }

  std::map<loops::BufferId, size_t> mentions_;
  std::map<Place, size_t> users_;
  std::map<loops::BufferId, Place> stored_;
  std::set<Place> found_;
};

void count(const loops::Nest& nest, const WithinAdditions& within, const SymValues& symbols, Work& work) {
  double points = 1, each = 1;  // of all axes; of the parallel ones
  for (const loops::Axis& a : nest.axes) {
    const auto extent = static_cast<double>(evaluate(a.extent, symbols).value_or(0));
    points *= extent;
    if (a.kind == loops::AxisKind::parallel) each *= extent;
  }
  const std::vector<bool> after = loops::epilogue(nest);
  if (nest.tag == loops::NestTag::matmul || nest.tag == loops::NestTag::convolution) {
    // A multiplication and an addition at each point: all else is the dtype's.
    const bool narrow = std::ranges::any_of(
        nest.body, [](const Instr& i) { return i.kind == InstrKind::load && i.dtype == Dtype::bf16; });
    (narrow ? work.narrow : work.products) += 2 * points;
    return;
  }
  for (size_t n = 0; n < nest.body.size(); ++n) {
    const Instr& i = nest.body[n];
    const double times = after[n] && i.kind != InstrKind::reduce ? each : points;
    if (takes_long(i))
      work.primitives[primitive(nest, i)] += times;
    else if (!within.has(nest, static_cast<loops::Ssa>(n)) &&
             (i.kind == InstrKind::scalar || i.kind == InstrKind::reduce || i.kind == InstrKind::scan))
      work.simple += times * (item_size(i.dtype) > 4 ? 2 : 1);
  }
}

// Of a rounding to a narrow float, which is measured with it; of others none.
std::string way_back(const std::string& key) {
  const std::string rounding = "to_dtype.f32 ";
  return key.starts_with(rounding) ? "to_dtype." + key.substr(rounding.size()) + " f32" : "";
}

}  // namespace

Work work_of(const loops::Program& program, const SymValues& symbols) {
  Work work;
  const WithinAdditions within(program);
  loops::for_each_node(program.body, [&](const loops::Node& node) {
    if (const auto* nest = std::get_if<loops::Nest>(&node.is)) count(*nest, within, symbols, work);
  });
  work.conversions = conversions_of(program, symbols);
  return work;
}

struct Throughput::Impl {
  std::shared_ptr<runtime::Pool> pool;
  oracle::Boxed boxed{DeviceKind::cpu};
  Peak peak;
  std::map<std::string, std::unique_ptr<Primitive>> primitives;
};

Throughput::Throughput(std::shared_ptr<runtime::Pool> pool) : impl_(std::make_unique<Impl>()) {
  impl_->pool = std::move(pool);
}
Throughput::~Throughput() = default;

void Throughput::measure(const Work& work) {
  const Peak peak = peak_operations(*impl_->pool, 0.002);
  impl_->peak = {std::max(impl_->peak.fused, peak.fused), std::max(impl_->peak.simple, peak.simple)};
  std::set<std::string> all;
  for (const auto& [key, times] : work.primitives) all.insert(key);
  for (const auto& [key, times] : work.conversions) all.insert({key, way_back(key)});
  all.erase("");
  for (const std::string& key : all) {
    std::unique_ptr<Primitive>& one = impl_->primitives[key];
    if (!one) one = std::make_unique<Primitive>(key, impl_->pool);
    one->measure(impl_->boxed);
  }
}

double Throughput::time(const Work& work) const {
  if (impl_->peak.simple == 0) return 0;
  auto back = [&](const std::string& key) {
    const auto found = impl_->primitives.find(way_back(key));
    return found == impl_->primitives.end() ? 0 : found->second->seconds();
  };
  auto all = [&](const std::map<std::string, double>& counts) {
    double seconds = 0;
    for (const auto& [key, times] : counts)
      if (auto found = impl_->primitives.find(key); found != impl_->primitives.end())
        seconds += times * (found->second->seconds() - back(key));
    return seconds;
  };
  const double computed =
      work.simple / impl_->peak.simple + (work.products + work.narrow / 2) / impl_->peak.fused + all(work.primitives);
  return 1e3 * std::max(computed, all(work.conversions));
}

}  // namespace lenz::bench
