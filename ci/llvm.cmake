# LLVM, for the backend alone: linked statically, which starts in a third of the shared library's time. Its symbols stay
# inside the executable, where an LLVM of somebody else's, in the same process, does not meet them.
find_package(LLVM 19.1 REQUIRED CONFIG)
llvm_map_components_to_libnames(lenz_llvm_libraries Core OrcJIT Passes X86CodeGen X86Desc X86Info AArch64CodeGen
  AArch64Desc AArch64Info)
target_include_directories(lenz_backend SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(lenz_backend PRIVATE ${lenz_llvm_libraries})
# One option for each archive: of a list, mold 1.10 never reaches the end.
file(GLOB lenz_llvm_archives RELATIVE ${LLVM_LIBRARY_DIR} ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(TRANSFORM lenz_llvm_archives PREPEND "LINKER:--exclude-libs,")
# As needed: LLVM names a solver's library that nothing of ours calls.
target_link_options(lenz PRIVATE ${lenz_llvm_archives} LINKER:--as-needed)
