// The bytes of a tensor as its Initialiser says. An element's value depends on the seed and on its logical index alone:
// layout and dtype change how it is stored, not what it is.
// Thread-safety: pure functions.
#pragma once

#include <cstddef>
#include <span>

#include "compiler/graph/graph.h"

namespace lenz::oracle {

double first_value(const Initialiser& init);  // of element 0: a number that is no tensor

// Bytes that a storage needs so that every element of a tensor of constant type lies in it.
size_t storage_bytes(const Type& type);

// Writes the elements of a tensor of constant type into its storage. With `poison`, what no element covers is filled
// with a pattern first (NaN in floats), so that a read outside shows.
void initialise(std::span<std::byte> storage, const Type& type, const Initialiser& init, bool poison);

}  // namespace lenz::oracle
