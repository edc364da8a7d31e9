#include "oracle/controls/survivor.h"

#include <gtest/gtest.h>

#include "compiler/graph/text.h"
#include "compiler/ops/op_table.h"
#include "oracle/controls/extremes.h"
#include "oracle/controls/search.h"

namespace lenz::oracle::controls {
namespace {

struct Case {
  Boxed boxed{DeviceKind::cpu};
  Subject subject;
  std::vector<Elements> random, utmost;

  explicit Case(std::string_view text)
      : subject(std::move(*Subject::make(parse_graph(text, op_table())->clone(), boxed))),
        random(reach_at_random(subject, 12, 0)),
        utmost(random) {
    const Extremes e = find_extremes(subject.plan());
    raise_to(utmost, subject.exact(), e.least);
    raise_to(utmost, subject.exact(), e.greatest);
  }
  // A result of which one element is off by so much.
  Survivor off_by(size_t result, size_t element, double deviation, Efforts efforts) {
    std::vector<Elements> bad = subject.exact();
    bad[result][element] += deviation;
    return look_at(subject, boxed, bad, random, utmost, efforts, 1);
  }
};

Efforts of(int search, int redraws, std::function<void()> alive = {}) {
  return {.search = search, .redraws = redraws, .alive = std::move(alive)};
}
const Efforts kNone = of(0, 0);

TEST(Survivor, StandsWithTheStrongestThatCanBeShown) {
  Case c(R"(graph @g(%x: bf16[64] init uniform(1, 2), %y: bf16[64] init uniform(1, 2)) {
  %p = aten.mul(%x, %y)
  %w = aten._to_copy(%p, dtype=f32)
  %s = aten.sum(%w)
  return %p, %w, %s
})");
  const double at_random = c.random[2][0], attained = c.utmost[2][0], bound = c.subject.errors()[2][0];
  ASSERT_LT(at_random, attained);
  ASSERT_LT(attained, bound);
  EXPECT_EQ(c.off_by(2, 0, 0.5 * at_random, kNone).standing, Standing::reached);
  EXPECT_EQ(c.off_by(2, 0, 0.5 * (at_random + attained), kNone).standing, Standing::attained);
  const Survivor far = c.off_by(2, 0, bound, kNone);
  EXPECT_EQ(far.standing, Standing::beyond);
  EXPECT_EQ(far.result, 2u);
  EXPECT_EQ(far.element, 0u);
  EXPECT_NEAR(far.factor, bound / attained, 1e-3);
  EXPECT_EQ(far.reached, attained);
}

// One element of a tensor may be known to be rounded little; what others reach of their bounds speaks for it.
TEST(Survivor, IsHeldBesideTheRestOfItsTensorAndOtherInputs) {
  Case c(R"(graph @g(%x: bf16[16] init uniform(1, 2), %y: bf16[1] init uniform(1, 2)) {
  %p = aten.mul(%x, 1.7)
  %q = aten.exp(%p)
  %u = aten.mul(%y, 1.7)
  %v = aten.exp(%u)
  return %p, %q, %u, %v
})");
  size_t least = 0;  // the element of %q that legal results take farthest below its bound
  double share = 2;
  for (size_t k = 0; k < 16; ++k)
    if (const double s = c.utmost[1][k] / c.subject.errors()[1][k]; s < share) share = s, least = k;
  ASSERT_LT(share, 0.8);
  EXPECT_EQ(c.off_by(1, least, 0.8 * c.subject.errors()[1][least], kNone).standing, Standing::in_tensor);

  const double bound = c.subject.errors()[3][0];
  ASSERT_LT(c.utmost[3][0], 0.999 * bound);
  const Survivor alone = c.off_by(3, 0, 0.999 * bound, kNone), beside = c.off_by(3, 0, 0.999 * bound, of(0, 40));
  EXPECT_EQ(alone.standing, Standing::beyond);
  EXPECT_LT(beside.factor, alone.factor);
  int steps = 0;
  (void)c.off_by(3, 0, 2 * bound, of(5, 4, [&] { ++steps; }));
  EXPECT_EQ(steps, 5 + 4 + 4);  // whoever watches sees each; the draws that got farthest are looked at once more
}

}  // namespace
}  // namespace lenz::oracle::controls
