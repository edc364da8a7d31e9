// What of the processor that this runs on decides which of libtorch's libraries computes what.
// Thread-safety: pure functions.
#pragma once

namespace lenz::oracle {

// Whether the library that libtorch leaves products of f32 to is slow here: the processor is of another maker.
bool has_slow_products();

}  // namespace lenz::oracle
