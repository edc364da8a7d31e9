# The graphs of the corpus inside the fuzzer, which grows others out of them: one case is the same on every machine.
# Included by CMakeLists.txt it declares the rule; run as a script (-DFOLDER, -DOUTPUT) it writes the header.
if(CMAKE_SCRIPT_MODE_FILE)
  file(GLOB_RECURSE texts ${FOLDER}/passes/*.lenz ${FOLDER}/regressions/*.lenz ${FOLDER}/seeds/*.lenz)
  list(SORT texts)
  set(all "// Made by ci/corpus_texts.cmake.\n#pragma once\ninline constexpr const char* kCorpusTexts[] = {\n")
  foreach(text IN LISTS texts)
    file(READ ${text} content)
    string(APPEND all "R\"lenz(${content})lenz\",\n")
  endforeach()
  file(WRITE ${OUTPUT} "${all}};\n")
  return()
endif()

file(GLOB_RECURSE lenz_corpus_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/corpus/passes/*.lenz
  ${PROJECT_SOURCE_DIR}/corpus/regressions/*.lenz ${PROJECT_SOURCE_DIR}/corpus/seeds/*.lenz)
set(LENZ_CORPUS_TEXTS ${PROJECT_BINARY_DIR}/generated/fuzz/corpus_texts.h)
add_custom_command(
  OUTPUT ${LENZ_CORPUS_TEXTS}
  COMMAND ${CMAKE_COMMAND} -DFOLDER=${PROJECT_SOURCE_DIR}/corpus -DOUTPUT=${LENZ_CORPUS_TEXTS} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${lenz_corpus_texts} ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM)
target_sources(lenz_fuzz PRIVATE ${LENZ_CORPUS_TEXTS})
