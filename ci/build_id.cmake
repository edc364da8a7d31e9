# compiler/driver/build_id.h holds a hash of all headers: what `lenz` and its plugin have to agree on to share types.
# Included by CMakeLists.txt it declares the rule; run as a script (-DHEADERS_FILE, -DOUTPUT) it writes the header.
if(CMAKE_SCRIPT_MODE_FILE)
  file(STRINGS ${HEADERS_FILE} headers)
  set(all "${SETTINGS}")
  foreach(header IN LISTS headers)
    file(SHA256 ${header} one)
    string(APPEND all ${one})
  endforeach()
  string(SHA256 id "${all}")
  string(SUBSTRING ${id} 0 16 id)
  file(WRITE ${OUTPUT} "#pragma once\n#define LENZ_VERSION \"${VERSION}\"\n#define LENZ_BUILD_ID \"${VERSION}-${id}\"\n")
  return()
endif()

file(GLOB_RECURSE lenz_headers CONFIGURE_DEPENDS
  ${PROJECT_SOURCE_DIR}/compiler/*.h ${PROJECT_SOURCE_DIR}/corpus/*.h ${PROJECT_SOURCE_DIR}/oracle/*.h)
list(JOIN lenz_headers "\n" lenz_header_lines)
file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/headers.txt CONTENT "${lenz_header_lines}\n")
set(LENZ_BUILD_ID_HEADER ${PROJECT_BINARY_DIR}/generated/compiler/driver/build_id.h)
add_custom_command(
  OUTPUT ${LENZ_BUILD_ID_HEADER}
  COMMAND ${CMAKE_COMMAND} -DHEADERS_FILE=${PROJECT_BINARY_DIR}/generated/headers.txt -DOUTPUT=${LENZ_BUILD_ID_HEADER}
    -DVERSION=${PROJECT_VERSION} "-DSETTINGS=${CMAKE_BUILD_TYPE};${LENZ_SANITIZE};${CMAKE_CXX_COMPILER_VERSION}"
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${lenz_headers} ${PROJECT_BINARY_DIR}/generated/headers.txt ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM)
add_custom_target(lenz_build_id DEPENDS ${LENZ_BUILD_ID_HEADER})
