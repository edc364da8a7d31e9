#include "compiler/base/shared.h"

#include <gtest/gtest.h>

#include <map>

#include "compiler/base/chooser.h"

namespace lenz {
namespace {

std::vector<int> elements(const SharedList<int>& list) { return {list.begin(), list.end()}; }

std::vector<int> in_runs(const SharedList<int>& list) {
  std::vector<int> out;
  for (const auto run : list.runs()) out.insert(out.end(), run.begin(), run.end());
  return out;
}

// Another copy of any of them, or, once there are some, one in the place of another.
template <class Both>
void copy_one(std::vector<Both>& all, RandomChooser& choose) {
  constexpr size_t kMost = 8;
  Both copy = all[choose.below(all.size())];
  if (all.size() < kMost)
    all.push_back(std::move(copy));
  else
    all[choose.below(all.size())] = copy;
}

// Copies of copies, each of which changes by itself, beside vectors that do the same.
TEST(SharedList, CopiesAreApart) {
  RandomChooser choose(1);
  std::vector<std::pair<SharedList<int>, std::vector<int>>> all(1);
  for (int step = 0; step < 20000; ++step) {
    auto& [list, plain] = all[choose.below(all.size())];
    switch (choose.below(12)) {
      case 0: copy_one(all, choose); break;
      case 1: {
        const size_t size = plain.size() - std::min<size_t>(plain.size(), choose.below(5));
        list.truncate(size);
        plain.resize(size);
        break;
      }
      case 2: {
        const int rest = static_cast<int>(choose.below(40));
        list.erase_if([&](int v) { return v % 40 == rest; });
        std::erase_if(plain, [&](int v) { return v % 40 == rest; });
        break;
      }
      default:
        for (int i = 0; i < 7; ++i) {
          list.push_back(step + i);
          plain.push_back(step + i);
        }
    }
    const auto& [some, expected] = all[choose.below(all.size())];
    ASSERT_EQ(elements(some), expected);
    ASSERT_EQ(in_runs(some), expected);
    ASSERT_EQ(some.size(), expected.size());
  }
}

TEST(SharedTable, CopiesAreApart) {
  RandomChooser choose(1);
  std::vector<std::pair<SharedTable<int>, std::map<uint32_t, int>>> all(1);
  for (int step = 0; step < 20000; ++step) {
    auto& [table, plain] = all[choose.below(all.size())];
    const auto id = static_cast<uint32_t>(choose.below(300));
    switch (choose.below(9)) {
      case 0: copy_one(all, choose); break;
      case 1:
        if (!plain.contains(id)) {
          table.change(id) = 1;
          table.unmake(id);
        }
        break;
      default: table.change(id) = plain[id] = step;
    }
    const auto& [some, expected] = all[choose.below(all.size())];
    std::vector<int> values;
    for (const auto& [at, value] : expected) values.push_back(value);
    std::vector<int> seen;
    for (const int* v : some.all()) seen.push_back(*v);
    ASSERT_EQ(seen, values);
    ASSERT_EQ(some.find(id) != nullptr, expected.contains(id));
    if (const int* found = some.find(id)) ASSERT_EQ(*found, expected.at(id));
  }
}

// A copy that gets a few elements of its own leaves the others where they are.
TEST(SharedList, CopiesCostWhatIsNew) {
  SharedList<int> list;
  for (int i = 0; i < 10000; ++i) list.push_back(i);
  SharedList<int> first = list, second = first;
  first.push_back(1);
  second.push_back(2);
  EXPECT_EQ(list.runs()[0].data(), first.runs()[0].data());
  EXPECT_EQ(first.runs()[0].data(), second.runs()[0].data());
  EXPECT_EQ(first.runs()[1].size(), 1u);
}

TEST(SharedTable, CopiesCostWhatIsNew) {
  SharedTable<int> table;
  for (uint32_t i = 0; i < 10000; ++i) table.change(3 * i) = 1;
  SharedTable<int> first = table, second = first;
  first.change(30001) = 1;
  second.change(30001) = 2;
  EXPECT_EQ(first.find(300), second.find(300));
  EXPECT_NE(*first.find(30001), *second.find(30001));
}

}  // namespace
}  // namespace lenz
