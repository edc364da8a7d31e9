# libtorch from the Python environment: lenz_libtorch is the only target that carries its headers and libraries.
file(GLOB torch_found ${PROJECT_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch)
set(LENZ_TORCH_DIR "${torch_found}" CACHE PATH "The torch package of a Python environment")
if(NOT EXISTS "${LENZ_TORCH_DIR}/include/ATen/ATen.h")
  message(FATAL_ERROR "no libtorch in '${LENZ_TORCH_DIR}': run ./ci/setup, or configure with -DLENZ_TORCH=OFF")
endif()
file(READ ${LENZ_TORCH_DIR}/version.py LENZ_TORCH_VERSION)

add_library(lenz_libtorch INTERFACE)
target_include_directories(lenz_libtorch SYSTEM INTERFACE
  ${LENZ_TORCH_DIR}/include ${LENZ_TORCH_DIR}/include/torch/csrc/api/include)
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # g++ built libtorch, and from 18 on clang spells the names of some templates another way.
  target_compile_options(lenz_libtorch INTERFACE -fclang-abi-compat=17)
endif()
target_compile_definitions(lenz_libtorch INTERFACE LENZ_TORCH=1)
# The registrations inside torch_cpu are what we call, so it must be loaded even where no symbol of it is named.
target_link_options(lenz_libtorch INTERFACE LINKER:-rpath,${LENZ_TORCH_DIR}/lib LINKER:--allow-shlib-undefined)
# The OpenMP that it brings along (compiler/torch/torch_pool.h): whatever else were linked, that one is loaded.
file(GLOB lenz_openmp ${LENZ_TORCH_DIR}/lib/libgomp*)
if(NOT lenz_openmp)
  set(lenz_openmp gomp)
endif()
target_link_libraries(lenz_libtorch INTERFACE
  -Wl,--push-state,--no-as-needed ${LENZ_TORCH_DIR}/lib/libtorch_cpu.so ${LENZ_TORCH_DIR}/lib/libc10.so
  -Wl,--pop-state ${lenz_openmp})

# What is known of eager's own faults and of what ops leave open, as texts that the plugin holds.
foreach(list values_known loops_known)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/oracle/${list}.txt)
  file(READ ${PROJECT_SOURCE_DIR}/oracle/${list}.txt lenz_known)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/oracle/${list}.inc CONTENT "R\"lenz(@lenz_known@)lenz\"\n" @ONLY)
endforeach()
