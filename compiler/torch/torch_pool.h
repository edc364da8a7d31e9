// A pool for programs that call libtorch's ops: its threads look for more work for milliseconds after each op, on the
// very cores that other threads were to work on. What runs right behind an op runs on them; anything else on threads of
// our own, which hold up nobody where a core is taken.
#pragma once

#include <memory>

#include "compiler/runtime/thread_pool.h"

namespace lenz {

// Of so many threads. Between park() and resume() an op of libtorch's runs.
std::unique_ptr<runtime::Pool> make_torch_pool(int threads);

}  // namespace lenz
