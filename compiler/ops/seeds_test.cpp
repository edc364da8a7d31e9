// One seed is one case for ever: on every machine, whatever compiled the generators. Two draws in one argument list
// break that, for compilers evaluate them in different orders.
#include <gtest/gtest.h>

#include "compiler/base/hash.h"
#include "compiler/graph/text.h"
#include "compiler/ops/call_maker.h"
#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

uint64_t hash_of_calls(std::string_view op) {
  const OpDef* row = op_table().find(op);
  EXPECT_NE(row, nullptr) << op;
  uint64_t hash = 0;
  for (uint64_t seed = 0; row != nullptr && seed < 100; ++seed) {
    RandomChooser chooser(seed);
    hash = hash_bytes(print(*generate_call(*row, op_table(), chooser)), hash);
  }
  return hash;
}

// Rows for each file of generators. After a change to a generator (or to the text form), its new number belongs here;
// otherwise a number that differs means that recorded seeds have lost their cases.
TEST(Seeds, AreTheSameCallsForEver) {
  constexpr std::pair<std::string_view, uint64_t> kCalls[] = {
      {"aten.add.Tensor", 0x175ecf0e0cf2a6b1},
      {"aten.where.self", 0x78d052f192d2ca9d},
      {"aten.clamp", 0x41a2b82ca74722e6},
      {"aten.gelu", 0xc660df17ea7f7976},
      {"aten.sum.dim_IntList", 0xc0c2725a41122f08},
      {"aten.index_put", 0x7fa5e39f82612c72},
      {"aten.index.Tensor", 0x34bb3f69643eaf72},
      {"aten.embedding", 0xdcfa00140d783fc9},
      {"aten.take", 0x539f2bbc3d737b5a},
      {"aten.scatter.src", 0xd5edd3e325ac88aa},
      {"aten.pixel_shuffle", 0x5acb724a96707e55},
      {"aten.cat", 0x44b7ff292a4fe648},
      {"aten.constant_pad_nd", 0xb772066b1c032ffd},
      {"aten.as_strided", 0xf3d6ec227e015906},
      {"aten.transpose.int", 0x29e7cdd19f698eaa},
      {"aten.slice.Tensor", 0x0e1f0c91e2f11322},
      {"aten.matmul", 0xc53bbdcb2b6fb93c},
      {"aten.einsum", 0x5d406977a79a5be1},
      {"aten.convolution", 0x7914fcfc88a6de45},
      {"aten.max_pool2d", 0x05de868b285e82a0},
      {"aten.native_layer_norm", 0x92f29a0e54227dfa},
      {"aten.nll_loss_forward", 0xf5d2995da5a0c0c6},
      {"aten.full", 0x51162f29a14d2cd4},
      {"aten.arange.start_step", 0xf852834700ecacd0},
      {"aten.var.correction", 0x1095141b0efaeeca},
      {"aten.histc", 0x25a1a17753f81949},
      {"aten._foreach_add.List", 0x4edfa8377c1471b7},
      {"aten.randint.low", 0x2afe6980bb137ca0},
      {"aten.searchsorted.Tensor", 0xd00c0b8f193c5acf},
  };
  for (auto [op, hash] : kCalls) EXPECT_EQ(hash_of_calls(op), hash) << op;
}

}  // namespace
}  // namespace lenz
