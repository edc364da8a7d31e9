#include "compiler/backend/llvm/target.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>
#include <llvm/TargetParser/Triple.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include "compiler/backend/llvm/features.h"
#include "compiler/base/error.h"

namespace lenz::native {

namespace {
// A processor that code may run on: LLVM's name of it, and what it has.
struct Processor {
  std::string name;
  llvm::Triple::ArchType arch;
  Features features;
};

Processor host() {
  Processor made{llvm::sys::getHostCPUName().str(), llvm::Triple(llvm::sys::getDefaultTargetTriple()).getArch(), {}};
  for (const auto& said : llvm::sys::getHostCPUFeatures()) made.features.emplace(said.first().str(), said.second);
  return made;
}
}  // namespace

bool has(const Features& features, std::string_view name) {
  auto found = features.find(name);
  return found != features.end() && found->second;
}

namespace {

// What a target needs of an x86-64 processor; LLVM's cpu of that name implies it.
constexpr std::string_view kAvx2[] = {"avx2", "fma", "f16c", "bmi", "bmi2"};
constexpr std::string_view kAvx512[] = {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"};

template <size_t N>
bool has_all(const Features& features, const std::string_view (&names)[N]) {
  for (std::string_view name : names)
    if (!has(features, name)) return false;
  return true;
}

}  // namespace

namespace {
// `whole`: with all that processors of a name may have beside what each has, whatever this one has.
std::vector<CpuTarget> targets_on(const Processor& processor, bool whole) {
  const Features& host = processor.features;
  const bool x86 = processor.arch == llvm::Triple::x86_64, arm = processor.arch == llvm::Triple::aarch64;
  const std::string x86_triple = "x86_64-unknown-linux-gnu", arm_triple = "aarch64-unknown-linux-gnu";
  std::vector<CpuTarget> all;
  CpuTarget avx512{.name = "avx512", .triple = x86_triple, .cpu = "x86-64-v4", .vector_bytes = 64};
  avx512.features = "-prefer-256-bit";
  avx512.fma = avx512.avx512 = avx512.f16 = true;
  avx512.bf16 = whole || has(host, "avx512bf16");
  if (avx512.bf16) avx512.features += ",+avx512bf16";
  avx512.permute_bytes = whole || has(host, "avx512vbmi");
  if (avx512.permute_bytes) avx512.features += ",+avx512vbmi";
  // Of these kortest takes a vector unit's time beside its own (measured on Zen 4).
  avx512.masks_as_words = whole || (x86 && processor.name.starts_with("znver"));
  avx512.funnel_shifts = whole || has(host, "avx512vbmi2");
  if (avx512.funnel_shifts) avx512.features += ",+avx512vbmi2";
  avx512.runs_here = x86 && has_all(host, kAvx2) && has_all(host, kAvx512);
  all.push_back(avx512);
  CpuTarget avx2{.name = "avx2", .triple = x86_triple, .cpu = "x86-64-v3", .vector_bytes = 32};
  avx2.fma = avx2.f16 = true;
  avx2.runs_here = x86 && has_all(host, kAvx2);
  all.push_back(avx2);
  // On x86 the instructions that every 64-bit processor since 2009 has; elsewhere the architecture's baseline.
  CpuTarget generic{.name = "generic", .triple = x86_triple, .cpu = "x86-64-v2", .vector_bytes = 16, .runs_here = x86};
  CpuTarget aarch64{.name = "aarch64", .triple = arm_triple, .cpu = "generic", .vector_bytes = 16, .fma = true};
  aarch64.f16 = true;
  aarch64.runs_here = arm;
  if (arm) {
    generic = aarch64;
    generic.name = "generic";
  }
  all.push_back(generic);
  all.push_back(aarch64);
  for (CpuTarget& target : all) target.stores_past_caches = target.triple == x86_triple;
  // Where squares' lines are asked for ahead most sizes take longer on a Zen 5, by up to a third; Zen 4 and Xeons gain
  // by it (bench/SHOWN.md).
  if (x86 && !whole && processor.name == "znver5")
    for (CpuTarget& target : all) target.follows_squares = target.triple == x86_triple;
  return all;
}
}  // namespace

const std::vector<CpuTarget>& targets() {
  static const std::vector<CpuTarget> all =
      targets_on(host(), false);  // to ask a virtual machine's processor takes long
  return all;
}

namespace {
CpuTarget named(const std::vector<CpuTarget>& all, std::string_view name) {
  std::string names;
  for (const CpuTarget& target : all) {
    if (target.name == name) return target;
    names += (names.empty() ? "" : ", ") + target.name;
  }
  throw UserError("no target '" + std::string(name) + "'", "", "there are " + names);
}
}  // namespace

CpuTarget find_target(std::string_view name) { return named(targets(), name); }

CpuTarget whole_target(std::string_view name) {
  static const std::vector<CpuTarget> all = targets_on(host(), true);
  return named(all, name);
}

std::vector<CpuTarget> targets_of(std::string_view x86) {
  llvm::SmallVector<llvm::StringRef, 64> names;
  llvm::X86::getFeaturesForCPU(llvm::StringRef(x86.data(), x86.size()), names);
  Processor processor{std::string(x86), llvm::Triple::x86_64, {}};
  for (llvm::StringRef name : names) processor.features.emplace(name.str(), true);
  return targets_on(processor, false);
}

CpuTarget runnable_target(std::string_view name) {
  std::string runnable;
  for (const CpuTarget& target : targets()) {
    if (!target.runs_here) continue;
    if (name.empty()) return target;
    runnable += (runnable.empty() ? "" : ", ") + target.name;
  }
  LENZ_CHECK(!name.empty(), "no target runs on this processor");
  CpuTarget target = find_target(name);
  if (!target.runs_here)
    throw UserError("this machine can't run code for the target '" + std::string(name) + "'", "",
                    "its processor is " + llvm::sys::getHostCPUName().str() + "; it runs " + runnable);
  return target;
}

}  // namespace lenz::native
