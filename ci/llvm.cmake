# LLVM, for the backend alone: linked statically, which starts in a third of the shared library's time. Its symbols stay
# inside the executable, where an LLVM of somebody else's, in the same process, does not meet them.
find_package(LLVM 19.1 REQUIRED CONFIG)
llvm_map_components_to_libnames(lenz_llvm_libraries BitWriter Core OrcJIT Passes X86CodeGen X86Desc X86Info AArch64CodeGen
  AArch64Desc AArch64Info)

# LLVM's four hundred static initialisers (its command line's options) would take most of the time in which a small
# command starts and ends. They are moved to a section of another name, in copies of its archives, and run when the
# first module is made: start_llvm() in compiler/backend/llvm/jit.cpp.
function(lenz_start_late target)
  if(NOT TARGET ${target})
    return()
  endif()
  get_property(seen GLOBAL PROPERTY lenz_late_${target})
  get_target_property(type ${target} TYPE)
  if(seen OR NOT type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  set_property(GLOBAL PROPERTY lenz_late_${target} TRUE)
  get_target_property(archive ${target} LOCATION)
  get_filename_component(name ${archive} NAME)
  set(late ${PROJECT_BINARY_DIR}/llvm/${LLVM_PACKAGE_VERSION}/${name})
  if(NOT EXISTS ${late} OR ${archive} IS_NEWER_THAN ${late})
    execute_process(COMMAND ${LLVM_TOOLS_BINARY_DIR}/llvm-objcopy --set-section-type .init_array=1
      --rename-section .init_array=lenz_llvm_init ${archive} ${late}.new
      COMMAND_ERROR_IS_FATAL ANY)
    file(RENAME ${late}.new ${late})
  endif()
  get_target_property(configurations ${target} IMPORTED_CONFIGURATIONS)
  foreach(configuration IN LISTS configurations)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_${configuration} ${late})
  endforeach()
  get_target_property(uses ${target} INTERFACE_LINK_LIBRARIES)
  foreach(used IN LISTS uses)
    lenz_start_late(${used})
  endforeach()
endfunction()
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/llvm/${LLVM_PACKAGE_VERSION})
foreach(library IN LISTS lenz_llvm_libraries)
  lenz_start_late(${library})
endforeach()

target_include_directories(lenz_backend SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
target_link_libraries(lenz_backend PRIVATE ${lenz_llvm_libraries})
# One option for each archive: of a list, mold 1.10 never reaches the end.
file(GLOB lenz_llvm_archives RELATIVE ${LLVM_LIBRARY_DIR} ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(TRANSFORM lenz_llvm_archives PREPEND "LINKER:--exclude-libs,")
# As needed: LLVM names a solver's library that nothing of ours calls.
target_link_options(lenz PRIVATE ${lenz_llvm_archives} LINKER:--as-needed)
