#include "oracle/storage_bridge.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

namespace lenz::oracle {
namespace {

// Else a program's intermediate results stay until it ends, and each of them has memory of its own.
TEST(StorageBridge, LetsGoOfWhatNobodyHas) {
  StorageBridge bridge;
  const at::Tensor t = at::ones({4});
  {
    const loops::Tensor in = bridge.in(t);
    EXPECT_EQ(bridge.out(in).storage().unsafeGetStorageImpl(), t.storage().unsafeGetStorageImpl());
  }
  EXPECT_EQ(t.storage().use_count(), 1);

  auto storage = std::make_shared<loops::Storage>(*loops::Tensor(Dtype::f32, {4}).storage());
  const std::weak_ptr<loops::Storage> seen = storage;
  {
    const loops::Tensor own(std::move(storage), Dtype::f32, {4}, {1}, 0);
    EXPECT_EQ(bridge.out(own).storage().data(), own.storage()->data);
  }
  EXPECT_TRUE(seen.expired());
}

// What lies where something else has lain is not taken for it.
TEST(StorageBridge, SharesAsLongAsItIsShared) {
  StorageBridge bridge;
  for (int i = 0; i < 100; ++i) {
    const at::Tensor t = at::full({8}, i);
    const loops::Tensor a = bridge.in(t), b = bridge.in(t.slice(0, 4));
    EXPECT_EQ(a.storage(), b.storage());
    EXPECT_EQ(a.storage()->data, t.storage().data());
    EXPECT_EQ(b.offset(), 4);
    const loops::Tensor own(Dtype::f32, {2});
    const loops::Tensor view = own;
    const at::Tensor out = bridge.out(own), out_view = bridge.out(view);
    EXPECT_EQ(out.storage().unsafeGetStorageImpl(), out_view.storage().unsafeGetStorageImpl());
  }
}

}  // namespace
}  // namespace lenz::oracle
