#include "compiler/ops/select.h"

#include <gtest/gtest.h>

#include "compiler/ops/op_table.h"

namespace lenz {
namespace {

std::vector<std::string> selected(std::vector<std::string> patterns) {
  std::vector<std::string> names;
  for (const OpDef* op : select_rows(op_table(), patterns)) names.push_back(op->full_name);
  return names;
}

TEST(Select, APatternNamesRowsAndTheirVariants) {
  const std::vector<std::string> sine{"aten.sin", "aten.sin_", "aten.sin.out"};
  for (const char* pattern : {"sin", "aten.sin", "s[i]n", "*.sin"}) EXPECT_EQ(selected({pattern}), sine) << pattern;
  EXPECT_EQ(selected({"sin_"}), std::vector<std::string>{"aten.sin_"});
  EXPECT_EQ(selected({"aten.sin.out"}), std::vector<std::string>{"aten.sin.out"});
  EXPECT_EQ(selected({"sin", "aten.sin"}), sine);
  EXPECT_EQ(selected({}).size(), op_table().rows().size());
}

TEST(Select, ANameOfNothingIsAnErrorWithARemedy) {
  try {
    selected({"sin", "sigmiod"});
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(error.message().find("sigmiod"), std::string::npos);
    EXPECT_NE(error.remedy().find("sigmoid"), std::string::npos);
  }
}

}  // namespace
}  // namespace lenz
