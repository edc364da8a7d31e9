#include "bench/primitive.h"

#include <chrono>
#include <sstream>

#include "compiler/graph/text.h"
#include "compiler/loops/text.h"
#include "compiler/ops/op_table.h"

namespace lenz::bench {

namespace {
using Clock = std::chrono::steady_clock;

// A row lies in the nearest cache and is walked again and again. Results are summed: stores take no time then.
constexpr int64_t kRow = 2048, kTurns = 16, kRowsOfThread = 4;

// What a program needs of the world around it, with memory that stays.
class OwnMemory : public runtime::Host {
 public:
  std::byte* output(uint32_t, uint64_t bytes) override {
    if (memory_.size() < bytes + 64) memory_.resize(bytes + 64);
    const auto at = reinterpret_cast<uintptr_t>(memory_.data());
    return memory_.data() + (64 - at % 64) % 64;
  }
  std::vector<loops::Tensor> run_extern(const loops::ExternCall&) override {
    throw InternalError("a primitive is no extern");
  }
  void print(const loops::Print&, std::span<const loops::Tensor>) override {}

 private:
  std::vector<std::byte> memory_;
};

std::string sized(Dtype dtype, int64_t n) { return std::string(name(dtype)) + "[" + std::to_string(n) + "]"; }

std::vector<std::byte> ramp(Dtype dtype, int64_t elements) {
  std::vector<std::byte> memory(static_cast<size_t>(elements * item_size(dtype)));
  for (int64_t i = 0; i < elements; ++i) {
    const double x = 0.1 + 0.8 * static_cast<double>(i % 1000) / 1000;
    if (dtype == Dtype::bf16 || dtype == Dtype::f16)
      reinterpret_cast<uint16_t*>(memory.data())[i] = static_cast<uint16_t>(0x3000 + i % 1000);  // a normal number
    else if (dtype == Dtype::f32)
      reinterpret_cast<float*>(memory.data())[i] = static_cast<float>(x);
    else
      reinterpret_cast<double*>(memory.data())[i] = x;
  }
  return memory;
}

template <class F>
double best_of(F&& call) {
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    const auto began = Clock::now();
    call();
    const double took = std::chrono::duration<double>(Clock::now() - began).count();
    if (i > 0) best = std::min(best, took);
  }
  return best;
}
}  // namespace

// The program of a primitive, from its name.
struct Primitive::Text {
  std::string what;
  std::vector<std::string> constants;  // of each operand, _ for none; empty: none has one. Of a draw, its dtype
  const ScalarRow* row = nullptr;      // null: a draw
  Dtype dtype = Dtype::f32;

  explicit Text(const std::string& key) {
    std::istringstream words(key);
    words >> what;
    for (std::string word; words >> word;) constants.push_back(word);
    const size_t dot = what.find('.');
    row = find_scalar(what.substr(0, dot));
    if (row) dtype = *parse_dtype(what.substr(dot + 1));
  }

  bool converts() const { return row && row->result == ResultRule::target; }
  bool constant(int operand) const {
    if (converts()) return false;
    return !constants.empty() && constants[static_cast<size_t>(operand)] != "_";
  }

  // Each number is another one, so there is nothing to walk again; they go to memory.
  std::string draws(int64_t rows) const {
    const std::string kind = what.substr(what.find('.') + 1), given = constants.at(0);
    return "loops @primitive {\n  stream 0 offset 0\n  temp %y: " + std::string(name(Dtype::f32)) + "[" +
           std::to_string(rows) + ", " + std::to_string(kRow) + "] placed\n  for t < " + std::to_string(rows) +
           ", i < " + std::to_string(kRow) + " {\n    %0: " + given + " = draw " + kind + " stream 0[t*" +
           std::to_string(kRow) + " + i]\n    %1: f32 = to_dtype." + given +
           " %0\n    store %y[t, i] = %1\n  }\n  return %y\n}\n";
  }

  std::string program(int64_t rows) const {
    std::string inputs, body;
    Dtype result = Dtype::f32;
    int last = 0;
    if (row) {
      std::string operands;
      for (int k = 0; k < row->arity; ++k) {
        const std::string number = std::to_string(k);
        operands += (k ? ", %" : "%") + number;
        if (constant(k)) {
          body += "    %" + number + " = " + std::string(name(dtype)) + " " + constants[static_cast<size_t>(k)] + "\n";
        } else {
          inputs += "  input %x" + number + ": " + sized(dtype, rows * kRow) + " placed\n";
          body += "    %" + number + " = load %x" + number + "[t*" + std::to_string(kRow) + " + i]\n";
        }
      }
      last = row->arity;
      body += "    %" + std::to_string(last) + (converts() ? ": " + constants[0] : "") + " = " + what + " " + operands +
              "\n";
      result = converts() ? *parse_dtype(constants[0]) : result_dtype(*row, dtype);
      if (is_reduced_float(result)) {  // and back: sums of few digits would be rounded, too
        body += "    %" + std::to_string(last + 1) + ": f32 = to_dtype." + constants[0] + " %" + std::to_string(last) +
                "\n";
        ++last;
        result = Dtype::f32;
      }
    } else {
      return draws(rows * kTurns);
    }
    const std::string sum = std::to_string(last + 1);
    return "loops @primitive {\n" + inputs + "  temp %y: " + sized(result, rows) + " placed\n  for t < " +
           std::to_string(rows) + ", reduce r < " + std::to_string(kTurns) + ", reduce i < " + std::to_string(kRow) +
           " {\n" + body + "    %" + sum + " = reduce sum %" + std::to_string(last) + "\n    store %y[t] = %" + sum +
           "\n  }\n  return %y\n}\n";
  }
};

Primitive::Primitive(const std::string& key, const std::shared_ptr<runtime::Pool>& pool)
    : rows_(kRowsOfThread * pool->workers()), memory_(std::make_unique<OwnMemory>()) {
  const Text text(key);
  dtype_ = text.dtype;
  BuildOptions options;
  options.threads = pool->workers();
  options.executable.pool = pool;
  ours_ = build(loops::parse_program(text.program(rows_), op_table()), options);
  for (int k = 0; text.row && k < text.row->arity; ++k)
    if (!text.constant(k)) operands_.push_back(ramp(dtype_, rows_ * kRow));
  if (text.row && text.constants.empty()) eager_of(*text.row);
}
Primitive::~Primitive() = default;

void Primitive::measure(oracle::Boxed& boxed) {
  const int64_t elements = rows_ * kRow, one = 1;
  std::vector<runtime::Argument> arguments;
  for (std::vector<std::byte>& o : operands_)
    arguments.emplace_back(runtime::TensorRef{o.data(), o.size(), dtype_, {&elements, 1}, {&one, 1}, 0});
  const double ours = best_of([&] { ours_->call(arguments, *memory_); });
  best_ = std::min(best_, ours / static_cast<double>(elements * kTurns));
  if (!eager_) return;
  if (values_.empty()) values_ = oracle::initial_inputs(*eager_, boxed, {});
  const double eager = best_of([&] { oracle::Executor(boxed).run(*eager_, values_); });
  best_ = std::min(best_, eager / static_cast<double>(elements * kTurns));
}

// Eager's op for it, if there is one of as many operands.
void Primitive::eager_of(const ScalarRow& row) {
  for (const std::unique_ptr<OpDef>& op : op_table().rows()) {
    if (op->scalar != row.name || op->variant != VariantKind::functional || op->each) continue;
    std::string inputs, operands;
    for (int k = 0; k < row.arity; ++k) {
      const std::string name = (k ? ", %x" : "%x") + std::to_string(k);
      inputs += name + ": " + sized(dtype_, rows_ * kRow * kTurns) + " init uniform(0.1, 0.9)";
      operands += name;
    }
    try {
      eager_ = parse_graph(
          "graph @p(" + inputs + ") {\n  %y = " + op->full_name + "(" + operands + ")\n  return %y\n}\n", op_table());
      return;
    } catch (const UserError&) {  // its operands are others
    }
  }
}

}  // namespace lenz::bench
