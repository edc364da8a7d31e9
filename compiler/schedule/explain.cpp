#include "compiler/schedule/explain.h"

#include <algorithm>
#include <optional>

#include "compiler/loops/text.h"

namespace lenz::schedule {

using loops::Nest;
using loops::Program;

namespace {

// A node of a block, and the group that it is in.
struct Place {
  size_t block = 0;
  uint32_t node = 0;
  size_t group = 0;
};

class Explainer {
 public:
  Explainer(const Program& naive, const Program& prepared, const Plan& plan)
      : naive_(naive), prepared_(prepared), plan_(plan), text_(prepared), blocks_(blocks_of(prepared)) {}

  std::string run(std::string_view a, std::string_view b) {
    const std::string x(a.substr(a.starts_with('%') ? 1 : 0)), y(b.substr(b.starts_with('%') ? 1 : 0));
    for (const std::string& name : {x, y})
      if (!known(name))
        throw UserError("there is no buffer or node '" + name + "'", "",
                        "`lenz compile FILE --emit=loops` shows what there is");
    const std::vector<Place> of_x = places(x), of_y = places(y);
    for (const auto& [name, found] : {std::pair(&x, &of_x), std::pair(&y, &of_y)})
      if (found->empty())
        return "%" + *name + " is not stored: whoever reads it computes it again, which costs less.\n";
    for (const Place& p : of_x)
      for (const Place& q : of_y)
        if (p.block == q.block && p.group == q.group) return together(x, p, y, q);
    return "%" + x + " and %" + y + " are computed by different kernels: " + why(of_x.back(), of_y.front()) + ".\n";
  }

 private:
  bool mentions(const Program& program, const Nest& nest, const std::string& name) const {
    for (NameId id : program.context->origin_names(nest.origin))
      if (program.context->name(id) == name) return true;
    return false;
  }
  bool known(const std::string& name) const {
    loops::ProgramText text(naive_);
    for (loops::BufferId id = 0; id < naive_.buffers.size(); ++id)
      if (text.buffer(id) == "%" + name) return true;
    bool found = false;
    loops::for_each_node(naive_.body, [&](const loops::Node& node) {
      const auto* nest = std::get_if<Nest>(&node.is);
      found = found || (nest && mentions(naive_, *nest, name));
    });
    return found;
  }
  // The nests that store the buffer; if none has its name, those that come from the node.
  std::vector<Place> places(const std::string& name) {
    std::vector<Place> storing, coming;
    for (size_t b = 0; b < blocks_.size(); ++b)
      for (size_t g = 0; g < plan_.blocks[b].size(); ++g)
        for (uint32_t n : plan_.blocks[b][g].nests) {
          const auto& nest = std::get<Nest>(blocks_[b]->nodes[n].is);
          const bool stores = std::ranges::any_of(
              nest.stores, [&](const loops::Store& s) { return text_.buffer(s.buffer) == "%" + name; });
          if (stores) storing.push_back({b, n, g});
          if (mentions(prepared_, nest, name)) coming.push_back({b, n, g});
        }
    return storing.empty() ? coming : storing;
  }
  static size_t phase_of(const Group& group, uint32_t node) {
    for (size_t p = 0; p < group.phases.size(); ++p)
      if (std::ranges::find(group.phases[p].nests, node) != group.phases[p].nests.end()) return p;
    return 0;
  }

  std::string together(const std::string& x, const Place& p, const std::string& y, const Place& q) const {
    const Group& group = plan_.blocks[p.block][p.group];
    const size_t first = phase_of(group, p.node), second = phase_of(group, q.node);
    std::string out = "%" + x + " and %" + y + " are computed by one kernel, whose nests share " +
                      std::to_string(group.shared) + (group.shared == 1 ? " axis" : " axes");
    out += first == second
               ? ", in one loop.\n"
               : ", one after the other at each of its points: phases " + std::to_string(first + 1) + " and " +
                     std::to_string(second + 1) + " of " + std::to_string(group.phases.size()) + ".\n";
    return out;
  }

  std::string why(Place p, Place q) {
    if (p.block != q.block) return "they stand in different blocks of the control flow";
    if (p.group > q.group) std::swap(p, q);
    const auto& groups = plan_.blocks[p.block];
    for (size_t g = p.group + 1; g < q.group; ++g)
      if (groups[g].nests.empty())
        return "between them runs what is no loop nest: " + text_.node(blocks_[p.block]->nodes[groups[g].node]);
    const auto& a = std::get<Nest>(blocks_[p.block]->nodes[p.node].is);
    const auto& b = std::get<Nest>(blocks_[q.block]->nodes[q.node].is);
    for (const Nest* nest : {&a, &b}) {
      if (stands_alone(nest->tag))
        return nest->name + " is a contraction, which stays by itself: a template's or a library's work";
      if (facts_of(*nest).combines) return nest->name + " combines with what other points stored";
    }
    if (std::string reason = why_illegal(prepared_, a, b, 1); !reason.empty()) return reason;
    size_t nests = groups[p.group].nests.size() + groups[q.group].nests.size();
    if (const FusionLimits limits; nests > limits.nests)
      return "together their kernels would have " + std::to_string(nests) + " nests, and " +
             std::to_string(limits.nests) + " is the most";
    if (!meet(a, b)) return "neither reads what the other one reads or writes, so that nothing is gained";
    size_t axes = 1;
    while (why_illegal(prepared_, a, b, axes + 1).empty() && axes < facts_of(a).parallel.size()) ++axes;
    return "they could share " + std::to_string(axes) + " of " + std::to_string(facts_of(a).parallel.size()) + " and " +
           std::to_string(facts_of(b).parallel.size()) +
           " parallel axes, fewer than their kernels have, or other nests of these kernels stand between them";
  }
  static bool meet(const Nest& a, const Nest& b) {
    const NestFacts x = facts_of(a), y = facts_of(b);
    auto any = [](const std::vector<BufferId>& of, const std::vector<BufferId>& in) {
      return std::ranges::any_of(of, [&](BufferId id) { return std::ranges::find(in, id) != in.end(); });
    };
    return any(x.reads, y.reads) || any(x.reads, y.writes) || any(x.writes, y.reads) || any(x.writes, y.writes);
  }

  const Program &naive_, &prepared_;
  const Plan& plan_;
  loops::ProgramText text_;
  std::vector<const loops::Block*> blocks_;
};

}  // namespace

std::string explain(const Program& naive, const Program& prepared, const Plan& plan, std::string_view a,
                    std::string_view b) {
  return Explainer(naive, prepared, plan).run(a, b);
}

}  // namespace lenz::schedule
