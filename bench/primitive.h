// One scalar primitive by itself: how fast it is where its operands lie in the nearest cache, by our code or eager's.
// Thread-safety: one per thread; the pool does the work.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/driver/build.h"
#include "oracle/execute.h"

namespace lenz::bench {

class Primitive {
 public:
  // As Work names it: "exp.f32", "pow.f32 _ 2.0", "draw.word i64", "to_dtype.bf16 f32".
  Primitive(const std::string& key, const std::shared_ptr<runtime::Pool>& pool);
  ~Primitive();
  void measure(oracle::Boxed& boxed);
  // That one result took, all threads at work, at best; of one that rounds to a narrow float, with the way back.
  double seconds() const { return best_; }

 private:
  struct Text;
  void eager_of(const ScalarRow& row);

  int64_t rows_;
  Dtype dtype_ = Dtype::f32;
  std::unique_ptr<runtime::Host> memory_;
  std::unique_ptr<runtime::Executable> ours_;
  std::vector<std::vector<std::byte>> operands_;
  std::unique_ptr<Graph> eager_;
  std::vector<oracle::RunValue> values_;
  double best_ = 1e9;
};

}  // namespace lenz::bench
