// From LLVM IR to machine code: a module under construction, a compiler that makes objects and text of it, and the
// place in this process where objects are linked and looked up. No header of LLVM is needed here; who writes IR
// includes ir.h.
//
// The way of a kernel: CodeModule -> Compiler::object (bytes, which may be cached on disk) -> Jit::add_object ->
// Jit::lookup.
//
// Thread-safety: a CodeModule and a Compiler belong to one thread at a time; different ones run in parallel. A Jit may
// be used from several threads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "compiler/backend/llvm/target.h"

namespace lenz::native {

struct Ir;  // ir.h

// IR under construction, with a context of its own.
class CodeModule {
 public:
  explicit CodeModule(std::string_view name);
  ~CodeModule();
  CodeModule(CodeModule&&) noexcept;
  CodeModule& operator=(CodeModule&&) noexcept;

  Ir& ir() { return *ir_; }
  std::string text() const;     // the IR
  std::string content() const;  // the same for programs, made sooner: equal for equal IR

 private:
  std::unique_ptr<Ir> ir_;
};

struct CompilerOptions {
  bool optimise = true;  // the short pipeline; false: only what code generation asks for
  bool quick = false;    // code that is made in less than half the time, and runs slower
};

class Compiler {
 public:
  explicit Compiler(CpuTarget target, CompilerOptions options = {});
  ~Compiler();
  Compiler(Compiler&&) noexcept;
  Compiler& operator=(Compiler&&) noexcept;

  const CpuTarget& target() const;
  bool quick() const;

  // Gives the module the target's triple and data layout: before IR that depends on them is written.
  void prepare(CodeModule& module) const;
  // Verifies the IR (an InternalError says what is wrong and shows the function) and runs the passes, in place.
  void optimise(CodeModule& module) const;
  // These optimise first. An object is what a linker takes, for targets that don't run here too.
  std::string object(CodeModule& module) const;
  std::string assembly(CodeModule& module) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Objects linked into this process. Code stays until the Jit goes.
class Jit {
 public:
  Jit();  // code for the machine it runs on; symbols of the process (memcpy, libm) are found
  ~Jit();
  Jit(Jit&&) noexcept;
  Jit& operator=(Jit&&) noexcept;

  // Symbols of objects in one Jit must be different, or local. Throws InternalError for what is no object.
  void add_object(std::string_view object);
  // Makes functions and variables of ours known to code that names them.
  using Symbol = std::pair<std::string, const void*>;
  void define(std::span<const Symbol> known);
  // Null if there is no such symbol.
  void* lookup(std::string_view symbol);

  template <class Function>
  Function* function(std::string_view symbol) {
    return reinterpret_cast<Function*>(lookup(symbol));
  }

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace lenz::native
