#include "compiler/backend/llvm/jit.h"

#include <llvm/Analysis/CGSCCPassManager.h>
#include <llvm/Analysis/LoopAnalysisManager.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/Orc/Core.h>
#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Verifier.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/SmallVectorMemoryBuffer.h>
#include <llvm/Support/TargetSelect.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>

#include <mutex>
#include <new>
#include <utility>

#include "compiler/backend/llvm/halves.h"
#include "compiler/backend/llvm/ir.h"
#include "compiler/base/error.h"

// LLVM's static initialisers, which the build keeps from running at the start (ci/llvm.cmake). The linker names a
// section's ends so.
extern "C" {
// NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): the linker's names
using StaticInitialiser = void(int, char**, char**);
[[gnu::visibility("hidden")]] extern StaticInitialiser* const __start_lenz_llvm_init[];
[[gnu::visibility("hidden")]] extern StaticInitialiser* const __stop_lenz_llvm_init[];
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
}

namespace lenz::native {

namespace {

// LLVM starts, and its targets are made known, when the first module is made or linked: a command that compiles nothing
// does not pay.
void start_llvm() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (auto at = __start_lenz_llvm_init; at != __stop_lenz_llvm_init; ++at) (*at)(0, nullptr, nullptr);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
  });
}

[[noreturn]] void failed(std::string_view doing, llvm::Error error) {
  throw InternalError(std::string(doing) + ": " + llvm::toString(std::move(error)));
}
template <class T>
T must(llvm::Expected<T> value, std::string_view doing) {
  if (!value) failed(doing, value.takeError());
  return std::move(*value);
}

template <class T>
std::string printed(const T& value) {
  std::string text;
  llvm::raw_string_ostream out(text);
  value.print(out, nullptr);
  return text;
}

}  // namespace

CodeModule::CodeModule(std::string_view name) : ir_(std::make_unique<Ir>()) {
  start_llvm();
  ir_->context = std::make_unique<llvm::LLVMContext>();
  ir_->module = std::make_unique<llvm::Module>(llvm::StringRef(name.data(), name.size()), *ir_->context);
}
CodeModule::~CodeModule() = default;
CodeModule::CodeModule(CodeModule&&) noexcept = default;
CodeModule& CodeModule::operator=(CodeModule&&) noexcept = default;
std::string CodeModule::text() const { return printed(*ir_->module); }
std::string CodeModule::content() const {
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream out(bytes);
  llvm::WriteBitcodeToFile(*ir_->module, out);
  return {bytes.begin(), bytes.end()};
}

namespace {
// How addresses in loops are best counted on takes half of the time that is needed for code with very many, squares
// that are turned say, which has no registers left to count in.
bool has_many_addresses(const llvm::Module& module) {
  constexpr size_t kMany = 128;
  size_t count = 0;
  for (const llvm::Function& function : module)
    for (const llvm::BasicBlock& block : function)
      for (const llvm::Instruction& instruction : block) count += llvm::isa<llvm::GetElementPtrInst>(instruction);
  return count > kMany;
}

// LLVM asks its own options, which all threads share, whether to do that, when a pipeline is made.
class WithoutStrengthReduction {
 public:
  explicit WithoutStrengthReduction(bool without) : held_(mutex()) {
    static auto* option = static_cast<llvm::cl::opt<bool>*>(llvm::cl::getRegisteredOptions().lookup("disable-lsr"));
    if (option) option->setValue(without);
  }

 private:
  static std::mutex& mutex() {
    static std::mutex made;
    return made;
  }
  std::lock_guard<std::mutex> held_;
};
}  // namespace

struct Compiler::Parts {
  CpuTarget target;
  CompilerOptions options;
  std::unique_ptr<llvm::TargetMachine> machine;

  // What makes files of one type: setting it up takes as long as a small kernel, so that one serves all modules.
  struct Emission {
    llvm::SmallVector<char, 0> bytes;
    llvm::raw_svector_ostream out{bytes};
    llvm::legacy::PassManager passes;
  };
  struct Emissions {
    std::unique_ptr<Emission> usual, of_many_addresses;
  } objects, texts;

  std::string emit(llvm::Module& module, llvm::CodeGenFileType type) {
    Emissions& emissions = type == llvm::CodeGenFileType::ObjectFile ? objects : texts;
    const bool many = has_many_addresses(module);
    std::unique_ptr<Emission>& emission = many ? emissions.of_many_addresses : emissions.usual;
    if (!emission) {
      emission = std::make_unique<Emission>();
      const WithoutStrengthReduction chosen(many);
      if (machine->addPassesToEmitFile(emission->passes, emission->out, nullptr, type))
        internal_error("the target '" + target.name + "' makes no such file", __FILE__, __LINE__);
    }
    emission->bytes.clear();
    emission->passes.run(module);
    return {emission->bytes.begin(), emission->bytes.end()};
  }
};

Compiler::Compiler(CpuTarget target, CompilerOptions options) : parts_(std::make_unique<Parts>()) {
  start_llvm();
  std::string error;
  const llvm::Target* found = llvm::TargetRegistry::lookupTarget(target.triple, error);
  if (found == nullptr) throw InternalError("no code generator for " + target.triple + ": " + error);
  llvm::TargetOptions codegen;
  codegen.AllowFPOpFusion = llvm::FPOpFusion::Strict;  // the emitter says where to fuse
  codegen.EmulatedTLS = false;
  parts_->machine.reset(found->createTargetMachine(
      target.triple, target.cpu, target.features, codegen, llvm::Reloc::PIC_, llvm::CodeModel::Small,
      options.quick ? llvm::CodeGenOptLevel::None : llvm::CodeGenOptLevel::Default));
  parts_->target = std::move(target);
  parts_->options = options;
}
Compiler::~Compiler() = default;
Compiler::Compiler(Compiler&&) noexcept = default;
Compiler& Compiler::operator=(Compiler&&) noexcept = default;

const CpuTarget& Compiler::target() const { return parts_->target; }
bool Compiler::quick() const { return parts_->options.quick; }

void Compiler::prepare(CodeModule& module) const {
  module.ir().module->setTargetTriple(parts_->target.triple);
  module.ir().module->setDataLayout(parts_->machine->createDataLayout());
}

void Compiler::optimise(CodeModule& module) const {
  llvm::Module& m = *module.ir().module;
  prepare(module);
  // Vectors of the target's width are written as such: without this, code generation halves 512-bit ones.
  for (llvm::Function& function : m) {
    if (function.isDeclaration()) continue;
    function.addFnAttr("min-legal-vector-width", std::to_string(parts_->target.vector_bytes * 8));
    function.addFnAttr("prefer-vector-width", std::to_string(parts_->target.vector_bytes * 8));
  }
  std::string complaint;
  llvm::raw_string_ostream out(complaint);
  if (llvm::verifyModule(m, &out)) throw InternalError("invalid IR: " + complaint + "\n" + module.text());
  if (!parts_->options.optimise) return;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager graph;
  llvm::ModuleAnalysisManager modules;
  llvm::PassBuilder builder(parts_->machine.get());
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(graph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, graph, modules);
  llvm::ModulePassManager passes;
  // No vectoriser and no unrolling: emitters write vectors and unrolled tiles themselves. In a hurry only what leaves
  // code generation more than it takes.
  if (llvm::Error error = builder.parsePassPipeline(
          passes, parts_->options.quick
                      ? "always-inline,function(sroa,early-cse,instsimplify)"
                      : "always-inline,function(sroa,early-cse,instcombine<no-verify-fixpoint>,early-cse,"
                        "loop-mssa(licm),simplifycfg)"))
    failed("the pass pipeline", std::move(error));
  passes.run(m, modules);
  for (llvm::Function& function : m) widen_halves(function);
}

std::string Compiler::object(CodeModule& module) const {
  optimise(module);
  return parts_->emit(*module.ir().module, llvm::CodeGenFileType::ObjectFile);
}
std::string Compiler::assembly(CodeModule& module) const {
  optimise(module);
  return parts_->emit(*module.ir().module, llvm::CodeGenFileType::AssemblyFile);
}

// What LLVM says while it links, which the answer to a lookup leaves out: there are only names of what is missing.
class Complaints {
 public:
  void add(llvm::Error error) {
    std::string text;
    bool no_memory = false;
    llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase& one) {
      no_memory |= one.convertToErrorCode() == std::errc::not_enough_memory;
      text += (text.empty() ? "" : "; ") + one.message();
    });
    const std::scoped_lock lock(mutex_);
    no_memory_ |= no_memory;
    text_ += (text_.empty() ? "" : "; ") + text;
  }
  // Throws what is said by `error` and by those that came before it.
  [[noreturn]] void failed(llvm::Error error) {
    add(std::move(error));
    const std::scoped_lock lock(mutex_);
    const std::string text = std::exchange(text_, {});
    if (std::exchange(no_memory_, false)) throw std::bad_alloc();
    throw InternalError("linking: " + text);
  }

 private:
  std::mutex mutex_;
  std::string text_;
  bool no_memory_ = false;
};

struct Jit::Parts {
  Complaints complaints;  // before the session that reports to it
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

namespace {
// Objects alone are linked: to make a code generator for IR would take longer than to link a kernel.
class NoCodeOfIr final : public llvm::orc::IRCompileLayer::IRCompiler {
 public:
  NoCodeOfIr() : IRCompiler({}) {}
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> operator()(llvm::Module&) override {
    return llvm::createStringError("IR is compiled before it is linked");
  }
};
}  // namespace

Jit::Jit() : parts_(std::make_unique<Parts>()) {
  start_llvm();
  static const auto host = must(llvm::orc::JITTargetMachineBuilder::detectHost(), "the host");
  static const auto layout =
      must(llvm::orc::JITTargetMachineBuilder(host).getDefaultDataLayoutForTarget(), "the host's data layout");
  auto jit = must(llvm::orc::LLJITBuilder()
                      .setJITTargetMachineBuilder(host)
                      .setDataLayout(layout)
                      .setPlatformSetUp(llvm::orc::setUpInactivePlatform)
                      .setCompileFunctionCreator([](const auto&) { return std::make_unique<NoCodeOfIr>(); })
                      .create(),
                  "ORC");
  auto process =
      must(llvm::orc::DynamicLibrarySearchGenerator::GetForCurrentProcess(jit->getDataLayout().getGlobalPrefix()),
           "symbols of the process");
  jit->getMainJITDylib().addGenerator(std::move(process));
  jit->getExecutionSession().setErrorReporter(
      [to = &parts_->complaints](llvm::Error error) { to->add(std::move(error)); });
  parts_->jit = std::move(jit);
}
Jit::~Jit() = default;
Jit::Jit(Jit&&) noexcept = default;
Jit& Jit::operator=(Jit&&) noexcept = default;

void Jit::add_object(std::string_view object) {
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(llvm::StringRef(object.data(), object.size()), "kernel");
  if (llvm::Error error = parts_->jit->addObjectFile(std::move(buffer))) parts_->complaints.failed(std::move(error));
}

void Jit::define(std::span<const Symbol> known) {
  llvm::orc::SymbolMap symbols;
  for (const auto& [name, address] : known)
    symbols[parts_->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(address),
                                                   llvm::JITSymbolFlags::Exported};
  if (llvm::Error error = parts_->jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))))
    failed("defining a symbol", std::move(error));
}

void* Jit::lookup(std::string_view symbol) {
  auto found = parts_->jit->lookup(llvm::StringRef(symbol.data(), symbol.size()));
  if (found) return found->toPtr<void*>();
  llvm::Error error = found.takeError();
  if (error.isA<llvm::orc::SymbolsNotFound>()) {
    // Also what an object refers to: that is not "no such symbol".
    std::string text = llvm::toString(std::move(error));
    if (text.find(symbol) != std::string::npos) return nullptr;
    throw InternalError("linking: " + text);
  }
  parts_->complaints.failed(std::move(error));
}

}  // namespace lenz::native
