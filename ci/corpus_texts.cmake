# The graphs of the corpus inside the fuzzer, which grows others out of them and holds decisions about them: one case is
# the same on every machine. Included by CMakeLists.txt it declares the rule; run as a script (-DSOURCE, -DOUTPUT,
# -DDECISIONS) it writes two headers.
set(lenz_seeds corpus/passes/*.lenz corpus/regressions/*.lenz corpus/seeds/*.lenz)
set(lenz_models corpus/models/*.lenz)
set(lenz_errors corpus/errors/*.lenz corpus/errors/*.loops)

if(CMAKE_SCRIPT_MODE_FILE)
  # An array of all texts that these patterns name.
  function(lenz_texts into name)
    list(TRANSFORM ARGN PREPEND ${SOURCE}/)
    file(GLOB_RECURSE texts ${ARGN})
    list(SORT texts)
    set(all "inline constexpr NamedText ${name}[] = {\n")
    foreach(text IN LISTS texts)
      file(READ ${text} content)
      file(RELATIVE_PATH path ${SOURCE}/corpus ${text})
      string(APPEND all "{\"${path}\", R\"lenz(${content})lenz\"},\n")
    endforeach()
    set(${into} "${${into}}${all}};\n" PARENT_SCOPE)
  endfunction()
  set(begin "// Made by ci/corpus_texts.cmake.\n#pragma once\n#include \"fuzz/named_text.h\"\nnamespace lenz::fuzz {\n")

  set(header "${begin}")
  lenz_texts(header kCorpusTexts ${lenz_seeds})
  file(WRITE ${OUTPUT} "${header}}\n")

  set(header "${begin}")
  lenz_texts(header kModelTexts ${lenz_models})
  lenz_texts(header kErrorTexts ${lenz_errors})
  foreach(part IN ITEMS DrawnGraphs:graphs Commands:commands Baseline:baseline)
    string(REPLACE ":" ";" part ${part})
    list(GET part 0 name)
    list(GET part 1 file)
    file(READ ${SOURCE}/fuzz/decisions/${file}.txt content)
    string(APPEND header "inline constexpr char k${name}[] = R\"lenz(${content})lenz\";\n")
  endforeach()
  file(WRITE ${DECISIONS} "${header}}\n")
  return()
endif()

list(TRANSFORM lenz_seeds PREPEND ${PROJECT_SOURCE_DIR}/ OUTPUT_VARIABLE lenz_patterns)
file(GLOB_RECURSE lenz_corpus_texts CONFIGURE_DEPENDS ${lenz_patterns})
set(lenz_others ${lenz_models} ${lenz_errors} fuzz/decisions/*.txt)
list(TRANSFORM lenz_others PREPEND ${PROJECT_SOURCE_DIR}/)
file(GLOB_RECURSE lenz_other_texts CONFIGURE_DEPENDS ${lenz_others})
set(LENZ_CORPUS_TEXTS ${PROJECT_BINARY_DIR}/generated/fuzz/corpus_texts.h)
set(LENZ_DECISION_TEXTS ${PROJECT_BINARY_DIR}/generated/fuzz/decisions/texts.h)
add_custom_command(
  OUTPUT ${LENZ_CORPUS_TEXTS} ${LENZ_DECISION_TEXTS}
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${PROJECT_SOURCE_DIR} -DOUTPUT=${LENZ_CORPUS_TEXTS} -DDECISIONS=${LENZ_DECISION_TEXTS}
    -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${lenz_corpus_texts} ${lenz_other_texts} ${CMAKE_CURRENT_LIST_FILE}
  VERBATIM)
target_sources(lenz_fuzz PRIVATE ${LENZ_CORPUS_TEXTS} ${LENZ_DECISION_TEXTS})
