#include "compiler/backend/llvm/jit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/resource.h>

#include <functional>
#include <memory>
#include <new>
#include <vector>

#include "compiler/backend/llvm/row_kernel.h"
#include "compiler/backend/llvm/shared_rows.h"
#include "compiler/base/error.h"

namespace lenz::native {
namespace {

using testing::HasSubstr;

const ScalarRow& row(std::string_view name) { return *find_scalar(name); }

CodeModule module_for(const Compiler& compiler, std::string_view name = "mul", int lanes = 16) {
  return row_module(row(name), Dtype::f32, Dtype::f32, compiler, lanes);
}

TEST(Targets, AreFoundByName) {
  for (const CpuTarget& target : targets()) EXPECT_EQ(find_target(target.name).key(), target.key());
  try {
    find_target("avx1024");
    FAIL() << "there is no such target";
  } catch (const UserError& error) {
    EXPECT_THAT(error.remedy(), HasSubstr("avx512"));
  }
}

TEST(Targets, WhatDoesNotRunHereIsRefusedWithWhatDoes) {
  for (const CpuTarget& target : targets()) {
    if (target.runs_here) {
      EXPECT_EQ(runnable_target(target.name).name, target.name);
      continue;
    }
    try {
      runnable_target(target.name);
      FAIL() << target.name;
    } catch (const UserError& error) {
      EXPECT_THAT(error.remedy(), HasSubstr(runnable_target().name));
    }
  }
}

TEST(Compiler, PrintsIrAndAssembly) {
  const Compiler compiler(runnable_target("generic"));
  CodeModule module = module_for(compiler, "mul", 4);
  EXPECT_THAT(module.text(), HasSubstr("fmul <4 x float>"));
  EXPECT_THAT(compiler.assembly(module), HasSubstr("mulps"));
}

TEST(Compiler, UsesTheWholeVector) {
  const Compiler compiler(find_target("avx512"));
  CodeModule module = module_for(compiler);
  EXPECT_THAT(compiler.assembly(module), HasSubstr("zmm"));
}

// Objects for a processor that this machine is not: an ELF of its machine.
TEST(Compiler, MakesObjectsForAarch64) {
  const Compiler compiler(find_target("aarch64"));
  for (std::string_view name : {"mul", "exp", "sin", "fmod", "round_decimals"}) {
    CodeModule module = module_for(compiler, name, 4);
    const std::string object = compiler.object(module);
    ASSERT_GT(object.size(), 64u);
    EXPECT_EQ(object.substr(1, 3), "ELF");
    EXPECT_EQ(static_cast<unsigned char>(object[18]), 183) << name;  // EM_AARCH64
  }
}

TEST(Compiler, MakesTheSameObjectTwice) {
  const Compiler first(runnable_target()), second(runnable_target());
  CodeModule a = module_for(first, "exp"), b = module_for(second, "exp");
  EXPECT_EQ(first.object(a), second.object(b));
}

TEST(Compiler, ContentTellsModulesApart) {
  const Compiler compiler(runnable_target());
  CodeModule a = module_for(compiler, "exp"), b = module_for(compiler, "exp"), c = module_for(compiler, "sin");
  EXPECT_EQ(a.content(), b.content());
  EXPECT_NE(a.content(), c.content());
}

class JitRuns : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(QuickOrNot, JitRuns, testing::Bool());

TEST_P(JitRuns, AnObject) {
  const Compiler compiler(runnable_target("generic"), {.quick = GetParam()});
  CodeModule module = module_for(compiler, "mul", 4);
  Jit jit;
  jit.add_object(compiler.object(module));
  auto* function = jit.function<void(const void* const*, void* const*, uint8_t*, int64_t)>("row");
  ASSERT_NE(function, nullptr);
  const float a[4] = {1, 2, 3, 4}, b[4] = {5, 6, 7, 8};
  float c[4] = {};
  const void* in[] = {a, b};
  void* out[] = {c};
  function(in, out, nullptr, 4);
  EXPECT_THAT(c, testing::ElementsAre(5, 12, 21, 32));
  EXPECT_EQ(jit.lookup("no_such_symbol"), nullptr);
}

TEST(Jit, RefusesWhatIsNoObject) {
  Jit jit;
  EXPECT_THROW(jit.add_object("these are no bytes of an object"), InternalError);
}

// Whether `link` has no memory for code while the process may not grow, and works once it may.
enum class Ending { as_wanted, linked_without_memory, other_complaint, never_again };
Ending with_and_without_memory(const std::function<void()>& link) {
  // All but code comes from a heap that is large enough already.
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  std::vector<std::unique_ptr<char[]>> heap;
  for (int i = 0; i < 64; ++i) heap.push_back(std::make_unique<char[]>(size_t{1} << 20));
  heap.clear();
  rlimit before{};
  getrlimit(RLIMIT_AS, &before);
  rlimit none = before;
  none.rlim_cur = 1 << 20;
  setrlimit(RLIMIT_AS, &none);
  Ending ending = Ending::linked_without_memory;
  try {
    link();
  } catch (const std::bad_alloc&) {
    ending = Ending::as_wanted;
  } catch (const std::exception&) {
    ending = Ending::other_complaint;
  }
  setrlimit(RLIMIT_AS, &before);
  if (ending != Ending::as_wanted) return ending;
  try {
    link();
  } catch (const std::exception&) {
    return Ending::never_again;
  }
  return Ending::as_wanted;
}

TEST(Jit, WantOfMemoryIsSaidToBeThat) {
#if defined(LENZ_ADDRESS_SANITIZER)
  GTEST_SKIP() << "the sanitizer needs its address space";
#endif
  const Compiler compiler(runnable_target());
  CodeModule module = module_for(compiler);
  const std::string object = compiler.object(module);
  std::vector<Jit> jits(2);
  EXPECT_EQ(with_and_without_memory([&, next = size_t{0}]() mutable {
              Jit& jit = jits[next++];
              jit.add_object(object);
              ASSERT_NE(jit.lookup("row"), nullptr);
            }),
            Ending::as_wanted);
}

TEST(Jit, ARowThatAllShareIsLinkedAgainOnceThereIsMemory) {
#if defined(LENZ_ADDRESS_SANITIZER)
  GTEST_SKIP() << "the sanitizer needs its address space";
#endif
  const CpuTarget target = runnable_target();
  shared_row(row("lgamma"), Dtype::f64, Dtype::f64, target, 8);  // the compiler is there
  EXPECT_EQ(with_and_without_memory(
                [&] { ASSERT_TRUE(shared_row(row("digamma"), Dtype::f64, Dtype::f64, target, 8).apart); }),
            Ending::as_wanted);
}

}  // namespace
}  // namespace lenz::native
