# How a room becomes targets: lenz_NAME (its library), NAME_tests (its *_test.cpp), its *_bench.cpp in lenz_bench (in
# lenz_torch_bench if it sees libtorch), a
# libFuzzer program for each *_fuzz.cpp (LENZ_FUZZERS), and its place in `lenz` or in the plugin.
include(GoogleTest)
enable_testing()

set(lenz_core_rooms "")     # linked whole into the executable
set(lenz_plugin_rooms "")   # linked whole into liblenz_torch.so
set(lenz_bench_sources "")
set(lenz_torch_bench_sources "")

# Headers that do not change while one works here, compiled once for all rooms, once more for the tests and for what
# sees libtorch. A source still includes what it uses: it must compile without these too.
set(lenz_precompiled <algorithm> <array> <bit> <charconv> <cmath> <complex> <cstdint> <cstdio> <cstring> <deque> <filesystem>
  <fstream> <functional> <limits> <map> <memory> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
  <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)
set(lenz_precompiled_libtorch <ATen/Functions.h> <ATen/TensorOperators.h> <ATen/core/Tensor.h>
  <ATen/core/dispatch/Dispatcher.h> <ATen/core/grad_mode.h>)
set(lenz_precompiled_tests <gmock/gmock.h> <gtest/gtest.h> <rapidcheck.h>)

function(lenz_precompile name headers)
  file(WRITE ${PROJECT_BINARY_DIR}/generated/${name}.cpp "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/generated/${name}.cpp)
  target_link_libraries(${name} PRIVATE lenz_flags ${ARGN})
  target_precompile_headers(${name} PRIVATE ${headers})
  set(torch_version "")
  if("lenz_libtorch" IN_LIST ARGN)
    set(torch_version ${LENZ_TORCH_VERSION})
  endif()
  # What a precompiled header is made of, for ccache (pch_external_checksum): its bytes differ from folder to folder.
  string(SHA256 made_of "${headers};${ARGN};${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION};${CMAKE_BUILD_TYPE};\
${CMAKE_CXX_FLAGS_RELEASE};${CMAKE_CXX_FLAGS_DEBUG};${LENZ_SANITIZE};${fmt_VERSION};${nlohmann_json_VERSION};\
${GTest_VERSION};${torch_version}")
  foreach(suffix gch pch)
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/CMakeFiles/${name}.dir/cmake_pch.hxx.${suffix}.sum CONTENT "${made_of}\n" @ONLY)
  endforeach()
endfunction()

function(lenz_reuse target precompiled sources)
  if(NOT LENZ_PRECOMPILE)
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    # Spelt by ourselves: ccache does not see the folder in what CMake hands to clang's inside.
    set(header ${PROJECT_BINARY_DIR}/CMakeFiles/${precompiled}.dir/cmake_pch.hxx.pch)
    target_compile_options(${target} PRIVATE "SHELL:-include-pch ${header}")
    set_source_files_properties(${sources} PROPERTIES OBJECT_DEPENDS ${header})
  else()
    target_precompile_headers(${target} REUSE_FROM ${precompiled})
  endif()
endfunction()

option(LENZ_PRECOMPILE "Compile the headers of others once" ON)
if(LENZ_PRECOMPILE)
  lenz_precompile(lenz_precompiled_rooms "${lenz_precompiled}")
  lenz_precompile(lenz_precompiled_for_tests "${lenz_precompiled};${lenz_precompiled_tests}"
    rapidcheck rapidcheck_gtest GTest::gmock)
  if(LENZ_TORCH)
    lenz_precompile(lenz_precompiled_torch "${lenz_precompiled};${lenz_precompiled_libtorch}" lenz_libtorch)
  endif()
endif()

macro(lenz_room name folder)
  cmake_parse_arguments(room "TORCH" "" "USES;TESTS_USE" ${ARGN})
  file(GLOB_RECURSE room_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cpp)
  set(room_tests ${room_sources})
  set(room_benches ${room_sources})
  set(room_fuzzers ${room_sources})
  list(FILTER room_sources EXCLUDE REGEX "_(test|bench|fuzz)\\.cpp$")
  list(FILTER room_tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER room_benches INCLUDE REGEX "_bench\\.cpp$")
  list(FILTER room_fuzzers INCLUDE REGEX "_fuzz\\.cpp$")
  list(TRANSFORM room_USES PREPEND lenz_)
  list(TRANSFORM room_TESTS_USE PREPEND lenz_)

  if(room_TORCH AND NOT LENZ_TORCH)
    # Built without libtorch: the room does not exist.
  else()
    if(room_sources)
      add_library(lenz_${name} STATIC ${room_sources})
      target_link_libraries(lenz_${name} PUBLIC lenz_flags ${room_USES})
      add_dependencies(lenz_${name} lenz_build_id)
      if(room_TORCH)
        lenz_reuse(lenz_${name} lenz_precompiled_torch "${room_sources}")
        target_link_libraries(lenz_${name} PUBLIC lenz_libtorch)
        list(APPEND lenz_plugin_rooms lenz_${name})
      else()
        lenz_reuse(lenz_${name} lenz_precompiled_rooms "${room_sources}")
        list(APPEND lenz_core_rooms lenz_${name})
      endif()
    else()
      add_library(lenz_${name} INTERFACE)
      target_link_libraries(lenz_${name} INTERFACE lenz_flags ${room_USES})
    endif()
    if(room_tests AND NOT LENZ_FUZZERS)  # a build for libFuzzer makes nothing but its programs
      lenz_tests(${name} "${room_tests}" ${room_TORCH} lenz_${name} ${room_TESTS_USE})
    endif()
    if(LENZ_FUZZERS)
      lenz_fuzzers("${room_fuzzers}" lenz_${name} ${room_TESTS_USE})
    endif()
    if(room_TORCH)
      list(APPEND lenz_torch_bench_sources ${room_benches})
    else()
      list(APPEND lenz_bench_sources ${room_benches})
    endif()
  endif()
endmacro()

function(lenz_tests name sources libtorch)
  add_executable(${name}_tests ${sources})
  set_target_properties(${name}_tests PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_compile_definitions(${name}_tests PRIVATE LENZ_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
    LENZ_COMMAND="${PROJECT_BINARY_DIR}/lenz")
  target_link_libraries(${name}_tests PRIVATE ${ARGN} rapidcheck rapidcheck_gtest GTest::gmock GTest::gtest_main)
  if(libtorch)
    lenz_suites(${name} "${sources}")
  else()
    gtest_discover_tests(${name}_tests TEST_PREFIX ${name}. DISCOVERY_MODE PRE_TEST
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES TIMEOUT 300 LABELS ${name})
  endif()
endfunction()

# One entry of ctest for each suite, where a process for each test would spend most of its time loading libtorch.
function(lenz_suites name sources)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${sources})
  set(suites "")
  foreach(source IN LISTS sources)
    file(STRINGS ${source} tests REGEX "^(TEST|TEST_F|TEST_P|RC_GTEST_PROP)\\(")
    foreach(test IN LISTS tests)
      string(REGEX REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+),.*$" "\\1" suite "${test}")
      list(APPEND suites ${suite})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES suites)
  foreach(suite IN LISTS suites)
    add_test(NAME ${name}.${suite} COMMAND ${name}_tests --gtest_brief=1 "--gtest_filter=${suite}.*:*/${suite}.*"
      WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name}.${suite} PROPERTIES TIMEOUT 900 LABELS ${name})
  endforeach()
endfunction()

function(lenz_fuzzers sources)
  foreach(source IN LISTS sources)
    get_filename_component(fuzzer ${source} NAME_WE)
    add_executable(${fuzzer} ${source})
    set_target_properties(${fuzzer} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/fuzzers)
    target_link_libraries(${fuzzer} PRIVATE ${ARGN} -fsanitize=fuzzer)
  endforeach()
endfunction()

function(lenz_finish_rooms)
  add_executable(lenz ci/lenz.cpp)
  # Whole rooms with exported symbols: the plugin takes every type and function from the executable, so that exceptions
  # and singletons exist once.
  list(JOIN lenz_core_rooms "," core)
  target_link_libraries(lenz PRIVATE ${lenz_core_rooms} lenz_flags ${CMAKE_DL_LIBS})
  # Linked to a fixed address: relocating LLVM's tables would cost every start several milliseconds.
  target_link_options(lenz PRIVATE -no-pie)
  set_target_properties(lenz PROPERTIES ENABLE_EXPORTS ON LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${core}")

  if(lenz_plugin_rooms)
    file(WRITE ${PROJECT_BINARY_DIR}/generated/plugin.cpp "")
    add_library(lenz_torch_plugin MODULE ${PROJECT_BINARY_DIR}/generated/plugin.cpp)
    set_target_properties(lenz_torch_plugin PROPERTIES OUTPUT_NAME lenz_torch LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
    # Only the archives themselves: the rooms they use stay undefined here and resolve to the executable's.
    foreach(room IN LISTS lenz_plugin_rooms)
      target_link_options(lenz_torch_plugin PRIVATE LINKER:--whole-archive,$<TARGET_FILE:${room}>,--no-whole-archive)
      add_dependencies(lenz_torch_plugin ${room})
      set_property(TARGET lenz_torch_plugin APPEND PROPERTY LINK_DEPENDS $<TARGET_FILE:${room}>)
    endforeach()
    # Its own functions call each other without asking the loader; what it shares with the executable are variables.
    target_link_options(lenz_torch_plugin PRIVATE LINKER:-Bsymbolic-functions)
    target_link_libraries(lenz_torch_plugin PRIVATE lenz_libtorch)
  endif()

  if(lenz_bench_sources AND NOT LENZ_FUZZERS)
    add_executable(lenz_bench ${lenz_bench_sources})
    target_compile_definitions(lenz_bench PRIVATE LENZ_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
    target_link_libraries(lenz_bench PRIVATE ${lenz_core_rooms} lenz_flags benchmark::benchmark_main)
  endif()
  if(lenz_torch_bench_sources AND NOT LENZ_FUZZERS)
    add_executable(lenz_torch_bench ${lenz_torch_bench_sources})
    target_link_libraries(lenz_torch_bench PRIVATE ${lenz_plugin_rooms} ${lenz_core_rooms} lenz_flags
      benchmark::benchmark_main)
  endif()
endfunction()
