// The interpreter around the nests: inputs, outputs, the tree of nodes, memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/loops/interpret_helpers_test.h"

namespace lenz::loops {
namespace {
using namespace test;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Interpret, SizesBindSymbolsAndDisagreementsNameTheInput) {
  Matmul p;
  auto refused = [&](Tensor a, Tensor b) { return thrown<UserError>([&] { run(p, {std::move(a), std::move(b)}); }); };
  EXPECT_THAT(refused(Tensor(Dtype::f32, {2, 3}), Tensor(Dtype::f32, {4, 2})),
              testing::AllOf(HasSubstr("input 'b' has 4 as the size of dim 0, not k = 3"), HasSubstr("f32[k, n]")));
  EXPECT_THAT(refused(Tensor(Dtype::f64, {2, 3}), Tensor(Dtype::f32, {3, 2})), HasSubstr("input 'a' is of dtype f64"));
  EXPECT_THAT(refused(Tensor(Dtype::f32, {2}), Tensor(Dtype::f32, {3, 2})), HasSubstr("input 'a' has 1 dims"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {}); }), HasSubstr("takes 2 inputs, 0 are given"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {1.5, 2.5}); }), HasSubstr("input 'a' is no tensor"));
}

TEST(Interpret, CompoundSizesAreSolved) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), m = p.integer_input("m");
  BufferId x = p.input("x", Dtype::f32, {2 * n + 1, n * m});
  p.program.outputs.emplace_back().kind = Output::integer;
  p.program.outputs.back().value = n;
  p.program.assumptions.facts().set_range(n.node(), {1, 4});
  p.program.assumptions.facts().add(divisible(m, 2));
  (void)x;
  EXPECT_EQ(run(p, {int64_t{2}, Tensor(Dtype::f32, {7, 6})}).outputs[0].integer, 3);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{2}, Tensor(Dtype::f32, {8, 6})}); }),
              HasSubstr("has 8 as the size of dim 0, not n*2 + 1"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{2}, Tensor(Dtype::f32, {7, 7})}); }),
              HasSubstr("has 7 as the size of dim 1, not m*n = 6"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{3}, Tensor(Dtype::f32, {7, 9})}); }),
              HasSubstr("the fact m % 2 == 0"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{2}, Tensor(Dtype::f32, {11, 10})}); }),
              HasSubstr("the fact n <= 4"));
  EXPECT_THAT(thrown<UserError>([&] { run(p, {int64_t{-2}, Tensor(Dtype::f32, {1, 0})}); }),
              HasSubstr("the fact 1 <= n"));
}

TEST(Interpret, SizesAreSolvedInAnyOrder) {
  ProgramBuilder p;
  Dim a = p.symbol("a"), b = p.symbol("b");
  p.input("x", Dtype::f32, {a * b});
  p.input("y", Dtype::f32, {a + 1, b + 1});
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {6}), Tensor(Dtype::f32, {3, 4})}).ending, Ending::finished);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {Tensor(Dtype::f32, {7}), Tensor(Dtype::f32, {3, 4})}); }),
              HasSubstr("input 'x' has 7 as the size of dim 0, not a*b = 6"));
  ProgramBuilder square;
  square.input("x", Dtype::f32, {square.symbol("n") * square.symbol("n")});
  EXPECT_THAT(thrown<UserError>([&] { run(square, {Tensor(Dtype::f32, {4})}); }), HasSubstr("not n*n"));
  ProgramBuilder two;
  two.input("x", Dtype::f32, {two.symbol("n") * two.symbol("m")});
  EXPECT_THAT(thrown<UserError>([&] { run(two, {Tensor(Dtype::f32, {4})}); }), HasSubstr("not m*n"));
}

TEST(Interpret, PlacedInputsHaveTheirStrides) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), s = p.symbol("s");
  BufferId x = p.input("x", Dtype::f32, {n, 2});
  p.program.buffers[x].placed = true;
  p.program.buffers[x].type.strides = {s, 1};
  p.program.buffers[x].type.offset = 1;
  Tensor base(Dtype::f32, {20});
  EXPECT_EQ(run(p, {base.view({3, 2}, {5, 1}, 1)}).ending, Ending::finished);
  auto refused = [&](Ints sizes, Ints strides, int64_t offset) {
    return thrown<UserError>([&] { run(p, {base.view(sizes, strides, offset)}); });
  };
  EXPECT_THAT(refused({3, 2}, {2, 4}, 1), HasSubstr("has 4 as the stride of dim 1, not 1"));
  EXPECT_THAT(refused({3, 2}, {5, 1}, 0), HasSubstr("has 0 as the storage offset, not 1"));
  p.program.buffers[x].type.strides[0] = 2;
  EXPECT_EQ(run(p, {base.view({1, 2}, {7, 1}, 1)}).ending, Ending::finished);  // a stride that moves nothing
  EXPECT_THAT(refused({2, 2}, {7, 1}, 1), HasSubstr("has 7 as the stride of dim 0, not 2"));
}

TEST(Interpret, GuardsAreChecked) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  p.input("x", Dtype::f32, {n});
  ASSERT_TRUE(p.program.assumptions.assume(ne(n, 1)));
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {2})}).ending, Ending::finished);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {Tensor(Dtype::f32, {1})}); }),
              HasSubstr("the guard n != 1 does not hold"));
}

TEST(Interpret, InputsThatShareStorage) {
  ProgramBuilder p;
  BufferId a = p.input("a", Dtype::f32, {2}), b = p.input("b", Dtype::f32, {2});
  Tensor base(Dtype::f32, {4}), other(Dtype::f32, {2});
  Tensor low = base.view({2}, {1}, 0), high = base.view({2}, {1}, 2);
  EXPECT_EQ(run(p, {low, high}).ending, Ending::finished);
  p.program.buffers[a].mutated = true;
  EXPECT_THAT(thrown<UserError>([&] { run(p, {low, high}); }), HasSubstr("shares its storage with input 'a'"));
  NameId both = p.program.context->intern("both");
  p.program.buffers[a].alias = p.program.buffers[b].alias = both;
  EXPECT_EQ(run(p, {low, high}).ending, Ending::finished);
  EXPECT_THAT(thrown<UserError>([&] { run(p, {low, other}); }), HasSubstr("does not share its storage"));
}

TEST(Interpret, MutatesInputsAndOutputsAlias) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f32, {2, 2}), t = p.temporary("t", Dtype::f32, {2, 2});
  p.program.buffers[x].mutated = true;
  NestBuilder b = p.nest("double");
  Dim i = b.axis(2), j = b.axis(2);
  Ssa v = p.load(b, x, {i, j});
  b.store(t, {i, j}, b.scalar("add", Dtype::f32, {v, v}));
  p.add(b);
  NestBuilder back = p.nest("back");
  Dim k = back.axis(2), l = back.axis(2);
  back.store(x, {k, l}, p.load(back, t, {k, l}));
  p.add(back);
  for (BufferId id : {x, t, t}) p.output(id);
  p.program.outputs[2].type.strides = {1, 2};
  Tensor given = iota(Dtype::f32, {2, 2});
  Results r = run(p, {given});
  EXPECT_THAT(numbers(given), ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(r.outputs[0].tensor.storage(), given.storage());
  EXPECT_EQ(r.outputs[1].tensor.storage(), r.outputs[2].tensor.storage());
  EXPECT_THAT(numbers(r.outputs[2].tensor), ElementsAre(0, 4, 2, 6));
}

TEST(Interpret, NumbersInAndOut) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::f64, {}), yes = p.input("yes", Dtype::b8, {}),
           out = p.temporary("out", Dtype::f64, {});
  NestBuilder b = p.nest();
  b.store(out, {}, b.scalar("where", Dtype::f64, {p.load(b, yes, {}), p.load(b, x, {}), b.real(Dtype::f64, -1)}));
  p.add(b);
  p.program.outputs.emplace_back().kind = Output::list;
  Output& number = p.program.outputs.back().elements.emplace_back();
  number.kind = Output::number;
  number.buffer = out;
  p.program.outputs.back().elements.emplace_back().kind = Output::literal;
  p.program.outputs.back().elements.back().literal_value = Arg::of_int(7);
  Results r = run(p, {2.5, true});
  EXPECT_EQ(r.outputs[0].elements[0].tensor.at(0).real(), 2.5);
  EXPECT_EQ(r.outputs[0].elements[1].literal, Arg::of_int(7));
  EXPECT_EQ(run(p, {2.5, false}).outputs[0].elements[0].tensor.at(0).real(), -1);
}

// Writes the diagonal of a square through a view, and reads it through another.
TEST(Interpret, ViewsShareTheirBuffersStorage) {
  auto made = [](bool mutated) {
    ProgramBuilder p;
    BufferId x = p.input("x", Dtype::f32, {3, 3}), out = p.temporary("out", Dtype::f32, {3});
    p.program.buffers[x].mutated = mutated;
    p.program.buffers[x].placed = true;
    BufferId diagonal = p.view(x, {3}, {4}, 0), row = p.view(x, {3}, {1}, 3);
    NestBuilder w = p.nest("fill");
    Dim i = w.axis(3);
    w.store(diagonal, {i}, w.scalar("to_dtype", Dtype::i64, {w.index(i + 7)}, Dtype::f32));
    p.add(w);
    NestBuilder r = p.nest("read");
    Dim j = r.axis(3);
    r.store(out, {j}, p.load(r, row, {j}));
    p.add(r);
    p.output(out);
    return p;
  };
  Tensor x = iota(Dtype::f32, {3, 3});
  EXPECT_THAT(run_for_first(made(true), {x}), ElementsAre(3, 8, 5));
  EXPECT_THAT(numbers(x), ElementsAre(7, 1, 2, 3, 8, 5, 6, 7, 9));
  EXPECT_THAT(thrown<InternalError>([&] { run(made(false), {x}); }), HasSubstr("not mutated"));
}

TEST(Interpret, WhatAViewWroteIsWritten) {
  auto made = [](int64_t step) {
    ProgramBuilder p;
    BufferId t = p.temporary("t", Dtype::f32, {4}), out = p.temporary("out", Dtype::f32, {4});
    p.program.buffers[t].placed = true;
    BufferId evens = p.view(t, {2}, {2}, 0), odds = p.view(t, {2}, {step}, 1);
    for (BufferId half : {evens, odds}) {
      NestBuilder w = p.nest("half");
      Dim i = w.axis(2);
      w.store(half, {i}, w.real(Dtype::f32, half == evens ? 1 : 2));
      p.add(w);
    }
    NestBuilder r = p.nest("read");
    Dim j = r.axis(4);
    r.store(out, {j}, p.load(r, t, {j}));
    p.add(r);
    p.output(out);
    return p;
  };
  EXPECT_THAT(run_for_first(made(2), {}), ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(thrown<InternalError>([&] { run(made(1), {}); }), HasSubstr("[3], which nobody has written"));
  EXPECT_THAT(thrown<InternalError>([&] { run(made(0), {}); }), HasSubstr("[1], and assigned to twice"));
  EXPECT_THAT(thrown<InternalError>([&] { run(made(3), {}); }), HasSubstr("does not fit a storage of 16 bytes"));
}

// --- the tree

// count(x) of true elements, then their positions, as nonzero does: a size that depends on data.
struct Nonzero : ProgramBuilder {
  Nonzero() {
    Dim n = symbol("n"), u = symbol("u");
    BufferId x = input("x", Dtype::b8, {n}), count = temporary("count", Dtype::i64, {}),
             rank = temporary("rank", Dtype::i64, {n}), out = temporary("out", Dtype::i64, {u});
    NestBuilder c = nest("count");
    Dim i = c.reduction(n);
    c.store(count, {},
            c.reduce(Combine::sum, Dtype::i64, {c.scalar("to_dtype", Dtype::b8, {load(c, x, {i})}, Dtype::i64)}));
    add(c);
    NestBuilder r = nest("rank");
    Dim j = r.scan_axis(n);
    r.store(rank, {j},
            r.scan(Combine::sum, Dtype::i64, {r.scalar("to_dtype", Dtype::b8, {load(r, x, {j})}, Dtype::i64)}));
    add(r);
    add(Bind{u, count});
    NestBuilder w = nest("write");
    Dim k = w.axis(n);
    Ssa mask = load(w, x, {k});
    Ssa before = w.scalar("sub", Dtype::i64, {load(w, rank, {k}), w.integer(Dtype::i64, 1)});
    Dim to = w.position(before, u, false, mask);
    w.store(out, {to}, w.index(k), StoreMode::assign, mask);
    add(w);
    output(out);
  }
};

TEST(Interpret, BindsASizeThatDependsOnData) {
  Nonzero p;
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::b8, {5}, {0, 1, 1, 0, 1})}), ElementsAre(1, 2, 4));
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::b8, {2}, {0, 0})}), ElementsAre());
  p.program.assumptions.facts().set_range(p.symbol("u").node(), {0, 2});
  Results r = run(p, {Tensor::integers(Dtype::b8, {3}, {1, 1, 1})});
  EXPECT_EQ(r.ending, Ending::raised);
  EXPECT_THAT(r.text, HasSubstr("the fact u <= 2 does not hold: it is 3"));
}

// Each round has its own size u = t + 1: fills of[u] with t, then adds up another buffer's u elements.
struct Resized : ProgramBuilder {
  explicit Resized(bool same) {
    Dim t = symbol("t"), u = symbol("u");
    BufferId size = temporary("size", Dtype::i64, {}), of = temporary("of", Dtype::i64, {u}),
             first = temporary("first", Dtype::i64, {u}), sum = temporary("sum", Dtype::i64, {});
    auto body = std::make_unique<Block>();
    NestBuilder n = nest("size");
    n.store(size, {}, n.index(t + 1));
    body->nodes.push_back(n.done());
    body->nodes.push_back(Node{Bind{u, size}});
    auto fill = [&](BufferId to) {
      NestBuilder f = nest("fill");
      Dim i = f.axis(u);
      f.store(to, {i}, f.index(t));
      return f.done();
    };
    body->nodes.push_back(fill(of));
    auto once = std::make_unique<Block>();
    once->nodes.push_back(fill(first));
    BufferId start = temporary("start", Dtype::b8, {});
    NestBuilder is = nest("is_first");
    is.store(start, {}, is.scalar("eq", Dtype::i64, {is.index(t), is.integer(Dtype::i64, 0)}));
    body->nodes.push_back(is.done());
    body->nodes.push_back(Node{If{start, std::move(once), std::make_unique<Block>()}});
    NestBuilder s = nest("sum");
    Dim i = s.reduction(u);
    s.store(sum, {}, s.reduce(Combine::sum, Dtype::i64, {load(s, same ? of : first, {i})}));
    body->nodes.push_back(s.done());
    add(Repeat{t, 4, std::move(body)});
    output(sum);
  }
};

TEST(Interpret, TemporariesFollowTheirSizes) {
  EXPECT_THAT(run_for_first(Resized(true), {}), ElementsAre(12));
  EXPECT_THAT(thrown<InternalError>([] { run(Resized(false), {}); }),
              HasSubstr("buffer 'first' is read in sizes [2], but was written in [1]"));
}

TEST(Interpret, ASizeThatDependsOnDataIsNotNegative) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::i64, {});
  p.add(Bind{p.symbol("u"), x});
  EXPECT_EQ(run(p, {Tensor::integers(Dtype::i64, {}, {0})}).ending, Ending::finished);
  EXPECT_THAT(run(p, {Tensor::integers(Dtype::i64, {}, {-1})}).text, HasSubstr("0 <= u does not hold"));
}

// What has no value in 64 bits does not hold, whatever else is known.
TEST(Interpret, ASizeThatOverflowsAFactIsRefused) {
  ProgramBuilder p;
  BufferId x = p.input("x", Dtype::i64, {});
  Dim u = p.symbol("u");
  p.add(Bind{u, x});
  ASSERT_TRUE(p.program.assumptions.facts().add(le(u * 4 + 8, 32)));
  EXPECT_EQ(run(p, {Tensor::integers(Dtype::i64, {}, {6})}).ending, Ending::finished);
  EXPECT_EQ(run(p, {Tensor::integers(Dtype::i64, {}, {7})}).ending, Ending::raised);
  EXPECT_EQ(run(p, {Tensor::integers(Dtype::i64, {}, {int64_t{1} << 62})}).ending, Ending::raised);
}

// A block of one nest that stores row(load(from), value) in `to`; all of no dims.
std::unique_ptr<Block> step(ProgramBuilder& p, BufferId to, std::string_view row, BufferId from, int64_t value) {
  auto block = std::make_unique<Block>();
  NestBuilder b = p.nest(std::string(row));
  b.store(to, {}, b.scalar(row, Dtype::i64, {p.load(b, from, {}), b.integer(Dtype::i64, value)}));
  block->nodes.push_back(b.done());
  return block;
}

TEST(Interpret, If) {
  ProgramBuilder p;
  BufferId yes = p.input("yes", Dtype::b8, {}), x = p.input("x", Dtype::i64, {}),
           out = p.temporary("out", Dtype::i64, {});
  p.add(If{yes, step(p, out, "add", x, 1), step(p, out, "mul", x, 10)});
  p.output(out);
  Tensor five = Tensor::integers(Dtype::i64, {}, {5});
  EXPECT_THAT(run_for_first(p, {true, five}), ElementsAre(6));
  EXPECT_THAT(run_for_first(p, {false, five}), ElementsAre(50));
}

// while (x < 100) x = x * 3, through two buffers.
struct Tripling : ProgramBuilder {
  Tripling() {
    BufferId from = input("from", Dtype::i64, {}), x = temporary("x", Dtype::i64, {}),
             next = temporary("next", Dtype::i64, {}), more = temporary("more", Dtype::b8, {});
    NestBuilder start = nest("start");
    start.store(x, {}, load(start, from, {}));
    add(start);
    auto body = step(*this, next, "mul", x, 3);
    NestBuilder carry = nest("carry");
    carry.store(x, {}, load(carry, next, {}));
    body->nodes.push_back(carry.done());
    add(While{step(*this, more, "lt", x, 100), more, std::move(body)});
    output(x);
  }
};

TEST(Interpret, While) {
  Tripling p;
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::i64, {}, {2})}), ElementsAre(162));
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::i64, {}, {100})}), ElementsAre(100));
  Results r = run(p, {Tensor::integers(Dtype::i64, {}, {2})});
  EXPECT_EQ(r.nests[1].runs, 5u);  // the test
  EXPECT_EQ(r.nests[2].runs, 4u);
  InterpretOptions options;
  options.while_limit = 50;
  r = run(p, {Tensor::integers(Dtype::i64, {}, {0})}, options);
  EXPECT_EQ(r.ending, Ending::endless);
  EXPECT_THAT(r.text, HasSubstr("50 rounds"));
}

TEST(Interpret, RepeatAndPrint) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), t = p.symbol("t");
  BufferId x = p.input("x", Dtype::i64, {n}), sum = p.temporary("sum", Dtype::i64, {}),
           next = p.temporary("next", Dtype::i64, {});
  NestBuilder zero = p.nest("zero");
  zero.store(sum, {}, zero.integer(Dtype::i64, 0));
  p.add(zero);
  auto body = std::make_unique<Block>();
  NestBuilder b = p.nest("add");
  b.store(
      next, {},
      b.scalar("add", Dtype::i64, {p.load(b, sum, {}), b.scalar("mul", Dtype::i64, {p.load(b, x, {t}), b.index(t)})}));
  body->nodes.push_back(b.done());
  NestBuilder carry = p.nest("carry");
  carry.store(sum, {}, p.load(carry, next, {}));
  body->nodes.push_back(carry.done());
  body->nodes.push_back(Node{Print{"sum", {sum}, {false}}});
  p.add(Repeat{t, n, std::move(body)});
  p.output(sum);
  std::vector<int64_t> printed;
  InterpretOptions options;
  options.print = [&](const Print& node, std::span<const Tensor> values) {
    EXPECT_EQ(node.text, "sum");
    printed.push_back(values[0].at(0).integer());
  };
  EXPECT_THAT(run_for_first(p, {Tensor::integers(Dtype::i64, {3}, {5, 6, 7})}, options), ElementsAre(20));
  EXPECT_THAT(printed, ElementsAre(0, 6, 20));
  EXPECT_THAT(run_for_first(p, {Tensor(Dtype::i64, {0})}), ElementsAre(0));
}

TEST(Interpret, Check) {
  ProgramBuilder p;
  Dim n = p.symbol("n");
  p.input("x", Dtype::f32, {n});
  BufferId holds = p.input("holds", Dtype::b8, {});
  p.add(Check{le(n, 3), kNone, "too long", 0});
  p.add(Check{std::nullopt, holds, "must hold", 0});
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {3}), true}).ending, Ending::finished);
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {4}), true}).text, "a check: too long");
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {3}), false}).text, "a check: must hold");
}

TEST(Interpret, Extern) {
  ProgramBuilder p;
  Dim n = p.symbol("n"), u = p.symbol("u");
  BufferId x = p.input("x", Dtype::i64, {n}), out = p.temporary("out", Dtype::i64, {u}),
           size = p.temporary("size", Dtype::i64, {});
  OpDef op;
  op.full_name = "test.evens";
  p.add(Extern{&op, {Arg::of_value(x), Arg::of_dim(n * 2)}, {out, kNone}, 0});
  NestBuilder b = p.nest();
  b.store(size, {}, b.index(u));
  p.add(b);
  p.output(out);
  p.output(size);
  InterpretOptions options;
  options.run_extern = [&](const ExternCall& call) {
    EXPECT_EQ(call.integer(call.node.args[1].dim()), 8);
    Tensor from = call.tensor(call.node.args[0].value());
    std::vector<ScalarValue> kept;
    for (int64_t i = 0; i < from.numel(); ++i)
      if (from.at(i).integer() % 2 == 0) kept.push_back(from.at(i));
    return std::vector{Tensor::of(Dtype::i64, {static_cast<int64_t>(kept.size())}, kept), Tensor()};
  };
  Tensor given = Tensor::integers(Dtype::i64, {4}, {1, 2, 3, 4});
  Results r = run(p, {given}, options);
  EXPECT_THAT(numbers(r.outputs[0].tensor), ElementsAre(2, 4));
  EXPECT_THAT(numbers(r.outputs[1].tensor), ElementsAre(2));
  EXPECT_THAT(thrown<Unsupported>([&] { run(p, {given}); }), HasSubstr("test.evens"));
  options.run_extern = [](const ExternCall&) { return std::vector{Tensor(Dtype::f32, {1}), Tensor()}; };
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {given}, options); }), HasSubstr("'out' is i64[1], but gets f32[1]"));
  p.program.buffers[out].placed = true;
  options.run_extern = [](const ExternCall&) {
    return std::vector{Tensor(Dtype::i64, {8}).view({4}, {2}, 0), Tensor()};
  };
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {given}, options); }),
              HasSubstr("'out' has the stride 1 in dim 0, but gets 2"));
}

TEST(Interpret, ExternBindsItsSizesInEachRound) {
  ProgramBuilder p;
  Dim t = p.symbol("t"), u = p.symbol("u");
  BufferId out = p.temporary("out", Dtype::i64, {u});
  OpDef op;
  op.full_name = "test.ones";
  auto body = std::make_unique<Block>();
  body->nodes.push_back(Node{Extern{&op, {Arg::of_dim(t)}, {out}, 0}});
  p.add(Repeat{t, 4, std::move(body)});
  p.output(out);
  InterpretOptions options;
  options.run_extern = [](const ExternCall& call) {
    return std::vector{Tensor(Dtype::i64, {call.integer(call.node.args[0].dim())})};
  };
  EXPECT_THAT(run_for_first(p, {}, options), ElementsAre(0, 0, 0));
}

TEST(Interpret, ConstantsAreReadOnly) {
  ProgramBuilder p;
  std::vector<std::byte> bytes(8);
  write_element(Dtype::f32, bytes.data(), ScalarValue(1.5));
  write_element(Dtype::f32, bytes.data() + 4, ScalarValue(-2.0));
  ConstantData data{contiguous_tensor(Dtype::f32, DimVec{2}), std::make_shared<const std::vector<std::byte>>(bytes), "",
                    ""};
  BufferId c = p.temporary("c", Dtype::f32, {2});
  p.program.buffers[c].kind = BufferKind::constant;
  p.program.buffers[c].data = &data;
  p.output(c);
  Results r = run(p, {});
  EXPECT_THAT(numbers(r.outputs[0].tensor), ElementsAre(1.5, -2));
  EXPECT_THROW(r.outputs[0].tensor.put(0, ScalarValue(0.0)), InternalError);
  data.bytes = nullptr;
  data.key = "w";
  EXPECT_THAT(thrown<Unsupported>([&] { run(p, {}); }), HasSubstr("'w'"));
  InterpretOptions options;
  options.load_constant = [](const ConstantData&) { return Tensor::reals(Dtype::f32, {2}, {3, 4}); };
  EXPECT_THAT(run_for_first(p, {}, options), ElementsAre(3, 4));
  NestBuilder b = p.nest();
  b.store(c, {0}, b.real(Dtype::f32, 0));
  p.add(b);
  EXPECT_THAT(thrown<InternalError>([&] { run(p, {}, options); }), HasSubstr("'c' is written, but is a constant"));
}

TEST(Interpret, MemoryLimit) {
  Pointwise p("neg", Dtype::f32, 1);
  InterpretOptions options;
  options.memory_limit = 4000;
  EXPECT_EQ(run(p, {Tensor(Dtype::f32, {1000})}, options).ending, Ending::finished);
  Results r = run(p, {Tensor(Dtype::f32, {1001})}, options);
  EXPECT_EQ(r.ending, Ending::out_of_memory);
  EXPECT_THAT(r.text, HasSubstr("buffer 'out' of sizes [1001] (f32) does not fit"));
  // Sizes beyond 64 bits too.
  ProgramBuilder huge;
  BufferId t = huge.temporary("t", Dtype::f32, {INT64_MAX / 2, 1'000});
  huge.output(t);
  EXPECT_EQ(run(huge, {}).ending, Ending::out_of_memory);
}

}  // namespace
}  // namespace lenz::loops
