# LLVM, for the backend alone: linked statically, which starts in a third of the shared library's time. Its symbols stay
# inside the executable, where an LLVM of somebody else's, in the same process, does not meet them.
find_package(LLVM 19.1 REQUIRED CONFIG)
llvm_map_components_to_libnames(lenz_llvm_libraries core orcjit passes x86 aarch64)
target_include_directories(lenz_backend SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(lenz_backend PRIVATE ${lenz_llvm_libraries})
file(GLOB lenz_llvm_archives RELATIVE ${LLVM_LIBRARY_DIR} ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(JOIN lenz_llvm_archives ":" lenz_llvm_archives)
target_link_options(lenz PRIVATE "LINKER:--exclude-libs,${lenz_llvm_archives}")
