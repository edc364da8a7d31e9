# The rooms of Lenz, in the order in which data flows: the one table that CMake links by and ci/layout checks by.
#
#   lenz_room(NAME FOLDER [USES room...] [TESTS_USE room...] [TORCH])
#
# A room may include headers of the rooms it USES and of those that they use, and of no others. TESTS_USE names more
# rooms for its *_test.cpp, which are exempt from the arrow. TORCH puts a room into the plugin, the only place that sees
# libtorch. A room whose folder does not exist yet is skipped. Keep one room per line: ci/layout reads this file too.
lenz_room(base     compiler/base)
lenz_room(scalar   compiler/scalar   USES base)
lenz_room(graph    compiler/graph    USES scalar TESTS_USE ops)
lenz_room(ops      compiler/ops      USES graph)
lenz_room(passes   compiler/passes   USES ops TESTS_USE driver)
lenz_room(autodiff compiler/autodiff USES passes)
lenz_room(loops    compiler/loops    USES autodiff)
lenz_room(lower    compiler/lower    USES loops)
lenz_room(schedule compiler/schedule USES lower TESTS_USE driver)
lenz_room(runtime  compiler/runtime  USES schedule TESTS_USE driver)
lenz_room(backend  compiler/backend  USES runtime)
lenz_room(driver   compiler/driver   USES backend)
lenz_room(store    corpus/store      USES base)
lenz_room(torch    compiler/torch    USES driver TORCH)
lenz_room(oracle   oracle            USES torch store TORCH)
lenz_room(fuzz     fuzz              USES oracle store TORCH)
# `measure`: lenz_bench is what Google Benchmark runs.
lenz_room(measure  bench             USES fuzz TORCH)
