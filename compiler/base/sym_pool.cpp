// The pool: interning of nodes, symbols, limits on the size of an expression.
#include <bit>
#include <cstring>

#include "compiler/base/sym_node.h"
#include "compiler/base/sym_overflow.h"

namespace lenz {

namespace {

uint64_t mix(uint64_t seed, uint64_t value) {
  uint64_t x = (seed ^ value) + 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

size_t item_bytes(const SymNode& node) {
  static_assert(sizeof(SymTerm) == 16 && sizeof(SymFactor) == 16 && sizeof(Dim) == 16);
  return node.kind == SymKind::symbol ? node.count : size_t{16} * node.count;
}

bool same_structure(const SymNode& a, const SymNode& b) {
  return a.hash == b.hash && a.kind == b.kind && a.fn == b.fn && a.constant == b.constant && a.count == b.count &&
         std::memcmp(a.items, b.items, item_bytes(a)) == 0;
}

// Fills in what follows from the items: hash, size, depth and symbols.
void derive(SymNode& node) {
  uint64_t hash =
      mix(static_cast<uint64_t>(node.kind) * 16 + static_cast<uint64_t>(node.fn), static_cast<uint64_t>(node.constant));
  uint64_t size = 1;
  uint32_t depth = 0;
  auto child = [&](const SymNode* n, uint64_t times) {
    size += n->size * times;
    depth = std::max<uint32_t>(depth, n->depth);
    hash = mix(hash, n->hash);
    node.symbols.add(n->symbols);
  };
  switch (node.kind) {
    case SymKind::symbol:
      for (char c : node.name()) hash = mix(hash, static_cast<unsigned char>(c));
      break;
    case SymKind::sum:
      size += node.constant != 0;
      for (const SymTerm& t : node.terms()) {
        size += t.coefficient != 1;
        hash = mix(hash, static_cast<uint64_t>(t.coefficient));
        child(t.monomial, 1);
      }
      break;
    case SymKind::product:
      for (const SymFactor& f : node.factors()) {
        hash = mix(hash, static_cast<uint64_t>(f.power));
        child(f.atom, std::min<uint64_t>(static_cast<uint64_t>(f.power), kMaxSize));
      }
      break;
    default:
      for (const Dim& a : node.args()) {
        if (a.is_constant()) {
          ++size;
          hash = mix(hash, static_cast<uint64_t>(a.constant()));
        } else {
          child(a.node(), 1);
        }
      }
  }
  if (size > kMaxSize) throw UserError("dimension expression is too large", "", "name a part of it as a symbol");
  if (depth >= static_cast<uint32_t>(kMaxDimDepth))
    throw UserError("dimension expression is nested too deeply", "", "name a part of it as a symbol");
  node.hash = hash;
  node.size = static_cast<uint32_t>(size);
  node.depth = static_cast<uint16_t>(depth + 1);
}

}  // namespace

void throw_overflow() { throw DimOverflow(); }
void throw_zero_division() { throw ZeroDivision("dimension divides by zero", "", "divide by a number that is not 0"); }

double SymNode::factor() const { return std::bit_cast<double>(constant); }

size_t Dim::hash() const { return node_ != nullptr ? node_->hash : mix(1, static_cast<uint64_t>(value_)); }

SymPool::SymPool() : impl_(std::make_unique<Impl>()) {}
SymPool::~SymPool() = default;
size_t SymPool::node_count() const { return impl_->nodes.size(); }

const SymNode* SymPool::Impl::find(const SymNode& probe) const {
  if (table.empty()) return nullptr;
  size_t mask = table.size() - 1;
  for (size_t at = probe.hash & mask;; at = (at + 1) & mask) {
    if (table[at] == nullptr) return nullptr;
    if (same_structure(*table[at], probe)) return table[at];
  }
}

void* SymArena::allocate(size_t bytes) {
  constexpr size_t kChunk = size_t{1} << 12, kLargest = size_t{1} << 18;
  bytes = (bytes + 15) / 16 * 16;
  while (at_.chunk < chunks_.size() && at_.used + bytes > chunks_[at_.chunk].size) at_ = {at_.chunk + 1, 0};
  if (at_.chunk == chunks_.size()) {
    size_t size = std::max(bytes, std::min(kLargest, kChunk << std::min<size_t>(chunks_.size(), 10)));
    chunks_.push_back({std::make_unique_for_overwrite<std::byte[]>(size), size});
  }
  void* place = chunks_[at_.chunk].bytes.get() + at_.used;
  at_.used += bytes;
  return place;
}

// In order of creation, so that the youngest never stands in the way of an older one, and can be taken out again.
void SymPool::Impl::grow() {
  std::vector<const SymNode*> bigger(table.empty() ? 64 : table.size() * 2);
  size_t mask = bigger.size() - 1;
  for (const SymNode* node : nodes) {
    size_t at = node->hash & mask;
    while (bigger[at] != nullptr) at = (at + 1) & mask;
    bigger[at] = node;
  }
  table.swap(bigger);
}

void SymPool::Impl::forget_from(size_t first, SymArena::Mark mark) {
  size_t slots = table.size() - 1;
  while (nodes.size() > first) {
    const SymNode* node = nodes.back();
    LENZ_CHECK(node->kind != SymKind::symbol, "a question made a symbol");
    size_t at = node->hash & slots;
    while (table[at] != node) at = (at + 1) & slots;
    table[at] = nullptr;
    nodes.pop_back();
  }
  arena.release(mark);
}

const SymNode* SymPool::Impl::intern(SymNode probe) {
  probe.pool = this;
  derive(probe);
  if (const SymNode* found = find(probe)) return found;
  if ((nodes.size() + 1) * 2 > table.size()) grow();
  size_t bytes = item_bytes(probe);
  void* items = arena.allocate(bytes);
  std::memcpy(items, probe.items, bytes);
  probe.items = items;
  if (probe.kind == SymKind::symbol) {
    probe.id = static_cast<uint32_t>(symbols.size());
    probe.symbols.add(probe.id);
  }
  const SymNode* node = new (arena.allocate(sizeof(SymNode))) SymNode(probe);
  size_t mask = table.size() - 1, at = node->hash & mask;
  while (table[at] != nullptr) at = (at + 1) & mask;
  table[at] = node;
  nodes.push_back(node);
  if (node->kind == SymKind::symbol) symbols.push_back(node);
  return node;
}

Dim SymPool::Impl::make(SymKind kind, std::span<const Dim> args, SymFn fn, int64_t bits) {
  SymNode probe{};
  probe.kind = kind;
  probe.fn = fn;
  probe.constant = bits;
  probe.items = args.data();
  probe.count = static_cast<uint32_t>(args.size());
  return Dim(intern(probe));
}

Dim SymPool::Impl::make_sum(std::span<const SymTerm> terms, int64_t constant) {
  if (terms.empty()) return constant;
  if (terms.size() == 1 && constant == 0 && terms[0].coefficient == 1) return Dim(terms[0].monomial);
  if (terms.size() > kMaxTerms)
    throw UserError("dimension expression has too many terms", "", "name a part of it as a symbol");
  SymNode probe{};
  probe.kind = SymKind::sum;
  probe.constant = constant;
  probe.items = terms.data();
  probe.count = static_cast<uint32_t>(terms.size());
  return Dim(intern(probe));
}

Dim SymPool::Impl::make_product(std::span<const SymFactor> factors) {
  if (factors.empty()) return 1;
  if (factors.size() == 1 && factors[0].power == 1) return Dim(factors[0].atom);
  if (factors.size() > kMaxTerms)
    throw UserError("dimension expression has too many factors", "", "name a part of it as a symbol");
  SymNode probe{};
  probe.kind = SymKind::product;
  probe.items = factors.data();
  probe.count = static_cast<uint32_t>(factors.size());
  return Dim(intern(probe));
}

Dim SymPool::symbol(std::string_view name) {
  SymNode probe{};
  probe.kind = SymKind::symbol;
  probe.items = name.data();
  probe.count = static_cast<uint32_t>(name.size());
  return Dim(impl_->intern(probe));
}

std::optional<Dim> SymPool::find_symbol(std::string_view name) const {
  SymNode probe{};
  probe.kind = SymKind::symbol;
  probe.items = name.data();
  probe.count = static_cast<uint32_t>(name.size());
  derive(probe);
  const SymNode* node = impl_->find(probe);
  if (node == nullptr) return std::nullopt;
  return Dim(node);
}

SymPool::Impl& pool_of(Dim a, Dim b) {
  const SymNode* node = a.is_constant() ? b.node() : a.node();
  LENZ_CHECK(a.is_constant() || b.is_constant() || a.node()->pool == b.node()->pool, "dims of two pools are mixed");
  return *node->pool;
}

std::string_view symbol_name(const SymNode* symbol) { return symbol->name(); }
uint32_t symbol_id(const SymNode* symbol) { return symbol->id; }
SymKind kind_of(Dim dim) {
  LENZ_CHECK(!dim.is_constant(), "a constant has no kind");
  return dim.node()->kind;
}
size_t size_of(Dim dim) { return dim.is_constant() ? 1 : dim.node()->size; }

}  // namespace lenz
