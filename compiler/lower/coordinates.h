// Where an element stands once a tensor is broadcast, reshaped, or looked at through its memory.
// Thread-safety: as the program's.
#pragma once

#include "compiler/loops/program.h"

namespace lenz::lower {

// Coordinates in a tensor of these sizes that stand below `at` when it is broadcast; aligned at the right.
DimVec broadcast_coordinates(loops::Program& program, std::span<const Dim> at, std::span<const Dim> sizes);

// The element at `at` of a tensor of sizes `from`, in row-major order, counted along one line.
Dim raveled_coordinate(std::span<const Dim> at, std::span<const Dim> sizes);

// The same element's coordinates under the sizes `to`. Groups of dims whose products agree are taken by themselves, so
// that no more is divided than has to be.
DimVec reshaped_coordinates(loops::Program& program, std::span<const Dim> at, std::span<const Dim> from,
                            std::span<const Dim> to);

// Whether the elements of two tensors of one memory, each in row-major order, are the same ones: a reshape. As far as
// it is proved.
bool lies_as(const loops::Program& program, const TensorType& a, const TensorType& b);

// Whether a tensor is proved to have neither gaps nor overlap.
bool is_dense(const loops::Program& program, const TensorType& type);

// How many places lie between one element and the next in memory, of a tensor whose elements neither overlap nor have
// other gaps than these: 1 of a dense one. None where that is not proved.
std::optional<Dim> even_step(const loops::Program& program, const TensorType& type);

// The coordinates of the element that lies so many places behind the first in memory, of a tensor that has an even
// step; of a place between elements, the one before. Unsupported where that is not proved.
DimVec storage_coordinates(loops::Program& program, const TensorType& type, Dim element);

}  // namespace lenz::lower
