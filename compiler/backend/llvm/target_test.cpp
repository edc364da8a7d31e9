#include "compiler/backend/llvm/target.h"

#include <gtest/gtest.h>

#include "compiler/backend/llvm/features.h"

namespace lenz::native {
namespace {

// LLVM lists what a processor lacks, too: one of AVX2 has "avx512vbmi" in its list.
TEST(Targets, AFeatureThatIsListedMayBeLacking) {
  const Features features{{"avx2", true}, {"avx512f", false}};
  EXPECT_TRUE(has(features, "avx2"));
  EXPECT_FALSE(has(features, "avx512f"));
  EXPECT_FALSE(has(features, "avx512vbmi"));
}

// What code is written for LLVM is told of, else it selects no instruction for it.
TEST(Targets, AWholeTargetIsToldAllThatItsCodeIsWrittenFor) {
  const CpuTarget whole = whole_target("avx512");
  EXPECT_TRUE(whole.bf16 && whole.permute_bytes && whole.funnel_shifts && whole.masks_as_words);
  for (const char* word : {"+avx512bf16", "+avx512vbmi,", "+avx512vbmi2"})
    EXPECT_NE(whole.features.find(word), std::string::npos) << word << " in " << whole.features;
  for (const CpuTarget& t : targets()) {
    EXPECT_EQ(t.bf16, t.features.find("+avx512bf16") != std::string::npos) << t.name;
    EXPECT_EQ(t.funnel_shifts, t.features.find("+avx512vbmi2") != std::string::npos) << t.name;
    EXPECT_EQ(t.permute_bytes, (t.features + ",").find("+avx512vbmi,") != std::string::npos) << t.name;
  }
}

}  // namespace
}  // namespace lenz::native
