# The tests of ci itself: the layout of the sources, the scripts, and the executable from the outside.
find_program(LENZ_PYTHON NAMES python3 HINTS ${PROJECT_SOURCE_DIR}/.venv/bin NO_CMAKE_FIND_ROOT_PATH)
set(sanitized "")
if(LENZ_SANITIZE)
  set(sanitized --sanitized)
endif()
set(ci ${PROJECT_SOURCE_DIR}/ci)

function(lenz_ci_test name timeout)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS ci TIMEOUT ${timeout})
endfunction()

lenz_ci_test(ci.lenz_test 60 ${LENZ_PYTHON} ${ci}/lenz_test.py $<TARGET_FILE:lenz> ${sanitized})
# What does not depend on how the sources were compiled runs once, in the release build.
if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
  lenz_ci_test(layout 60 ${LENZ_PYTHON} ${ci}/layout)
  lenz_ci_test(layout.tidy 300 ${LENZ_PYTHON} ${ci}/layout --tidy --budget 25)
  lenz_ci_test(ci.layout_test 60 ${LENZ_PYTHON} ${ci}/layout_test.py)
  lenz_ci_test(ci.stages_test 60 ${LENZ_PYTHON} ${ci}/stages_test.py)
  lenz_ci_test(reports.values_table_test 60 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/reports/values_table_test.py)
  lenz_ci_test(reports.controls_table_test 60 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/reports/controls_table_test.py)
  lenz_ci_test(reports.faults_table_test 60 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/reports/faults_table_test.py)
  lenz_ci_test(ci.build_test 60 ${LENZ_PYTHON} ${ci}/build_test.py)
  lenz_ci_test(ci.setup_test 60 ${LENZ_PYTHON} ${ci}/setup_test.py)
  lenz_ci_test(ci.readme_test 300 ${LENZ_PYTHON} ${ci}/readme_test.py)
  lenz_ci_test(ci.walkthrough_test 180 ${LENZ_PYTHON} ${ci}/walkthrough_test.py)
  lenz_ci_test(ci.golden 60 ${LENZ_PYTHON} ${ci}/golden)
  if(LENZ_TORCH)
    lenz_ci_test(fuzz.command_test 400 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/fuzz/fuzz_command_test.py $<TARGET_FILE:lenz>)
    lenz_ci_test(decisions 600 ${LENZ_PYTHON} ${ci}/decisions --lenz $<TARGET_FILE:lenz>)
    lenz_ci_test(fuzz.shared_test 60 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/fuzz/subjects/shared_test.py)
    lenz_ci_test(fuzz.written_faults_test 60 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/fuzz/mutants/written_test.py)
    lenz_ci_test(fuzz.score_test 60 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/fuzz/mutants/score_test.py)
    # One fault each of text, a pass, lowering, schedule and machine code, found and blamed from end to end.
    lenz_ci_test(fuzz.seeded_faults 600 $<TARGET_FILE:lenz> fuzz --score --workers 1 --cases 384 --all-found
      --only text-forgets-mutated,views-of-two-bases-are-one,last-element-taken-for-proved,recomputed-without-mask,unrolled-sums-lost
      --out ${PROJECT_BINARY_DIR}/seeded_faults)
    lenz_ci_test(oracle.python_program_test 120 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/oracle/python_program_test.py
      $<TARGET_FILE:lenz>)
    lenz_ci_test(bench.peers_command_test 300 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/bench/peers_command_test.py
      $<TARGET_FILE:lenz>)
    lenz_ci_test(scalar.vs_eager 400 ${LENZ_PYTHON} ${PROJECT_SOURCE_DIR}/compiler/scalar/scalar_vs_eager_test.py
      $<TARGET_FILE:lenz>)
    set(exports ${PROJECT_SOURCE_DIR}/compiler/torch/python)
    lenz_ci_test(torch.export_test 300 ${LENZ_PYTHON} ${exports}/export_test.py $<TARGET_FILE:lenz>)
    lenz_ci_test(torch.refusals_test 300 ${LENZ_PYTHON} ${exports}/refusals_test.py $<TARGET_FILE:lenz>)
    lenz_ci_test(torch.conditions_test 300 ${LENZ_PYTHON} ${exports}/conditions_test.py $<TARGET_FILE:lenz>)
    lenz_ci_test(torch.fake_kernels_test 300 ${LENZ_PYTHON} ${exports}/fake_kernels_test.py $<TARGET_FILE:lenz>)
    lenz_ci_test(torch.dims_test 300 ${LENZ_PYTHON} ${exports}/dims_test.py $<TARGET_FILE:lenz>)
    set(models ${PROJECT_SOURCE_DIR}/corpus/models)
    lenz_ci_test(corpus.models_test 300 ${LENZ_PYTHON} ${models}/models_test.py $<TARGET_FILE:lenz>)
  endif()
endif()

# The op table against libtorch: on calls that rows generate, and on those of PyTorch's own operator database.
if(LENZ_TORCH)
  lenz_ci_test(corpus_check 1500 ${LENZ_PYTHON} ${ci}/corpus_check.py $<TARGET_FILE:lenz>)
  # A minute of random graphs, the same each time; ./ci/signoff and ./ci/nightly draw fresh ones, and more.
  lenz_ci_test(fuzz_check 1200 $<TARGET_FILE:lenz> fuzz --cases 2000 --seed 1 --out ${PROJECT_BINARY_DIR}/fuzz_check)
  lenz_ci_test(saved_results 600 ${LENZ_PYTHON} ${ci}/saved_results.py $<TARGET_FILE:lenz> --no-corpus --drawn 40
    --values special --jobs 1)
  lenz_ci_test(ops_check 600 $<TARGET_FILE:lenz> ops --check --calls 200)
  lenz_ci_test(values_check 600 $<TARGET_FILE:lenz> ops --check --values --calls 9 --variants 4 --known
    ${PROJECT_SOURCE_DIR}/oracle/values_known.txt)
  lenz_ci_test(loops_check 600 $<TARGET_FILE:lenz> ops --check --values --loops --calls 2 --known
    ${PROJECT_SOURCE_DIR}/oracle/loops_known.txt)
  # Each kind of number once; ./ci/signoff and ./ci/nightly have every dtype.
  set(few_dtypes --dtype f32 --dtype bf16 --dtype i64 --dtype u8 --dtype bool --dtype c64)
  lenz_ci_test(native_check 1500 $<TARGET_FILE:lenz> ops --check --values --llvm best --calls 1 --seed 1
    ${few_dtypes} --known
    ${PROJECT_SOURCE_DIR}/oracle/loops_known.txt)
  lenz_ci_test(loops_special_check 600 $<TARGET_FILE:lenz> ops --check --values --loops --special --calls 1
    ${few_dtypes} --known
    ${PROJECT_SOURCE_DIR}/oracle/loops_known.txt)
  lenz_ci_test(loops_rebind_check 600 $<TARGET_FILE:lenz> ops --check --values --loops --rebind --calls 1
    ${few_dtypes} --known ${PROJECT_SOURCE_DIR}/oracle/loops_known.txt)
  if(PROJECT_BINARY_DIR STREQUAL "${PROJECT_SOURCE_DIR}/build")
    set(oracle ${PROJECT_SOURCE_DIR}/oracle)
    lenz_ci_test(oracle.opinfo_classes_test 60 ${LENZ_PYTHON} ${oracle}/opinfo_classes_test.py)
    lenz_ci_test(oracle.absent 120 ${LENZ_PYTHON} ${oracle}/absent.py $<TARGET_FILE:lenz> --check)
    lenz_ci_test(opinfo_classes 600 ${LENZ_PYTHON} ${oracle}/opinfo_classes.py $<TARGET_FILE:lenz>)
    # On the calls that it has recorded.
    lenz_ci_test(opinfo_values 600 ${LENZ_PYTHON} ${oracle}/opinfo_values.py $<TARGET_FILE:lenz>)
    set_tests_properties(opinfo_values PROPERTIES DEPENDS opinfo_classes)
    lenz_ci_test(module_values 600 ${LENZ_PYTHON} ${oracle}/module_values.py $<TARGET_FILE:lenz> --samples 1)
  endif()
endif()
