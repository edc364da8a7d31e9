// Ops that make tensors: of sizes, like other tensors, of ranges, of random numbers.
#include "compiler/ops/make/creation.h"
#include "compiler/ops/decompose.h"
#include "compiler/ops/rows/creation_loops.h"
#include "compiler/ops/rows/families.h"
#include "compiler/ops/rows/random_loops.h"
#include "compiler/ops/rules/creation.h"

namespace lenz {

namespace {
using enum Trait;
using Make = void (*)(CallMaker&);

// What ATen's factories end with.
constexpr std::string_view kOptions =
    "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None";
std::string with_options(std::string_view head, std::string_view more = "") {
  return std::string(head) + std::string(kOptions) + std::string(more) + ") -> Tensor";
}
constexpr std::string_view kFormat = ", MemoryFormat? memory_format=None";
constexpr std::string_view kLong =
    "ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? "
    "pin_memory=None) -> Tensor";

Row row_of(Traits traits, void (*infer)(Infer&), Make generate, std::string_view raises = {},
           DtypeSet dtypes = dtypes::all) {
  return {.traits = traits, .infer = infer, .generate = generate, .dtypes = dtypes, .raises = raises};
}

Row looped(std::string_view loops, Row row) {
  row.loops = loops;
  return row;
}

// Every element is this: a number, or a parameter.
Row filled(Row row, std::string_view with) {
  row.fills = with;
  return row;
}

constexpr DtypeSet kReal = dtypes::real;
// `made` and `like` refuse by the row's dtypes; eager's kernels do, where there is something to compute.
constexpr std::string_view kNothingDrawn = "of no elements, or a window of one, any dtype will do: `not of this dtype`";
constexpr DtypeSet kDrawn = dtypes::floats | dtypes::complexes;  // what normal and uniform numbers come in

void of_sizes(RowSink& t) {
  constexpr Traits kMade = creation | core;
  constexpr std::string_view kUnwritten =
      "return aten.empty_strided(result_shape(), result_strides(), dtype=result_dtype(), device=result_device())";
  t.row(with_options("empty.memory_format(SymInt[] size, *, ", kFormat),
        meaning(kUnwritten, row_of(Traits(creation) | nondeterministic, rule::empty, make::sized,
                                   "a negative size, or a format of another rank")));
  Row strided = row_of(kMade | nondeterministic, rule::empty_strided, make::strided, "a negative size or stride");
  strided.loops = kEmptyStridedLoops;
  strided.exception = "of single elements and of none eager forgets to check: `a stride is negative`";
  t.row(with_options("empty_strided(SymInt[] size, SymInt[] stride, *, "), strided);
  t.row(with_options("empty_permuted(SymInt[] size, int[] physical_layout, *, "),
        meaning(kUnwritten, row_of(Traits(creation) | nondeterministic, rule::empty_permuted, make::permuted_layout,
                                   "no permutation of all dims")));
  const Row constant = row_of(creation, rule::filled, make::sized, "a negative size");
  t.row(with_options("zeros(SymInt[] size, *, "),
        filled(meaning("return aten.full($size, 0.0, dtype=$dtype, device=$device)", constant), "0"));
  t.row(with_options("ones(SymInt[] size, *, "),
        filled(meaning("return aten.full($size, 1.0, dtype=$dtype, device=$device)", constant), "1"));
  t.row(with_options("full(SymInt[] size, Scalar fill_value, *, "),
        filled(fitting("fill_value:filled", looped(kFullLoops, row_of(kMade, rule::full, make::sized))), "fill_value"));

  constexpr Traits kLike = creation | reads_metadata_only;
  constexpr std::string_view kFilled =
      "return aten.full(result_shape(), $fill_value, dtype=result_dtype(), device=result_device())";
  t.row(with_options("empty_like(Tensor self, *, ", kFormat),
        meaning(kUnwritten, row_of(kLike | nondeterministic, rule::like<dtypes::all>, make::like<dtypes::all>)));
  const Row constant_like = row_of(kLike, rule::like<dtypes::all>, make::like<dtypes::all>, "a format of another rank");
  t.row(with_options("zeros_like(Tensor self, *, ", kFormat),
        filled(meaning("return aten.full_like(%self, 0, dtype=$dtype, device=$device, memory_format=$memory_format)",
                       constant_like),
               "0"));
  t.row(with_options("ones_like(Tensor self, *, ", kFormat),
        filled(meaning("return aten.full_like(%self, 1, dtype=$dtype, device=$device, memory_format=$memory_format)",
                       constant_like),
               "1"));
  t.row(with_options("full_like(Tensor self, Scalar fill_value, *, ", kFormat),
        filled(fitting("fill_value:filled", meaning(kFilled, row_of(kLike, rule::full_like, make::like<dtypes::all>))),
               "fill_value"));
  t.row(with_options("new_empty(Tensor self, SymInt[] size, *, "),
        meaning(kUnwritten, row_of(kLike | nondeterministic, rule::new_sized, make::sized, "a negative size")));
  const Row constant_new = row_of(kLike, rule::new_sized, make::sized, "a negative size");
  t.row(with_options("new_zeros(Tensor self, SymInt[] size, *, "),
        filled(meaning("return aten.new_full(%self, $size, 0, dtype=$dtype, device=$device)", constant_new), "0"));
  t.row(with_options("new_ones(Tensor self, SymInt[] size, *, "),
        filled(meaning("return aten.new_full(%self, $size, 1, dtype=$dtype, device=$device)", constant_new), "1"));
  t.row(
      with_options("new_full(Tensor self, SymInt[] size, Scalar fill_value, *, "),
      filled(fitting("fill_value:filled", meaning(kFilled, row_of(kLike, rule::new_full, make::sized))), "fill_value"));
  strided.traits = kLike | nondeterministic;
  strided.loops = {};
  strided.decompose = kUnwritten;
  t.row(with_options("new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, "), strided);

  Row fill = row_of(Traits(reads_metadata_only), rule::fill, make::fill);
  fill.variants = {.in_place = true, .out = "Scalar_out", .out_rule = OutRule::copied};
  fill.decompose = "return aten.full(shape(%self), $value, dtype=dtype(%self), device=device(%self))";
  t.row("fill.Scalar(Tensor self, Scalar value) -> Tensor", fitting("value:filled", fill));
  fill.variants.out = "Tensor_out";
  fill.traits = {};
  fill.raises = "a value that has dims";
  fill.decompose = R"(
    %number = aten._to_copy(%value, dtype=dtype(%self), device=device(%self))
    return aten.clone(aten.expand(%number, shape(%self))))";
  fill.devices = "value:any";
  t.row("fill.Tensor(Tensor self, Tensor value) -> Tensor", fill);
  fill.variants.out = "out";
  fill.devices = {};
  fill.traits = Traits(reads_metadata_only);
  fill.raises = {};
  t.row("zero(Tensor self) -> Tensor", meaning("return aten.fill(%self, 0)", fill));
}

void ranges(RowSink& t) {
  Row arange = row_of(creation | core, rule::arange, make::arange, "a step of 0, or away from the end", kReal);
  arange.exception =
      "a step that truncates to 0 in an i64 range kills eager with a division by zero, and 2^63 steps of -1 with one "
      "that overflows: the rule refuses. Counts of i64 overflow on the CPU, and are doubles' of other dtypes; "
      "libtorch's meta device counts exactly";
  arange.loops = kArangeLoops;
  t.row(with_options("arange(Scalar end, *, "), arange);
  arange.loops = kArangeFromLoops;
  t.row(with_options("arange.start(Scalar start, Scalar end, *, "), arange);
  arange.loops = kArangeByLoops;
  t.row(with_options("arange.start_step(Scalar start, Scalar end, Scalar step=1, *, "), arange);

  Row spaced = row_of(creation | core, rule::linspace, make::linspace, "a negative number of steps",
                      dtypes::usual - dtypes::boolean);
  spaced.exception = "of one step or none any dtype will do: `not of this dtype`";
  // Of one step the end is not looked at, and of powers the start's power only.
  constexpr std::string_view kFirst = "start:filled/steps", kStart = "start:result/steps>1",
                             kEnd = "end:result/steps>1";
  constexpr std::string_view kFirstAndEnd = "start:filled/steps end:result/steps>1",
                             kStartAndEnd = "start:result/steps>1 end:result/steps>1";
  auto between = [&](const std::string& sides, std::string_view linear, std::string_view powers,
                     std::string_view linear_fits, std::string_view power_fits) {
    t.row(with_options("linspace" + sides + ", int steps, *, "), fitting(linear_fits, looped(linear, spaced)));
    Row curved = fitting(power_fits, looped(powers, spaced));
    curved.accuracy = Accuracy::ulp4;
    t.row(with_options("logspace" + sides + ", int steps, float base=10., *, "), curved);
  };
  between("(Scalar start, Scalar end", kLinspaceLoops, kLogspaceLoops, kFirstAndEnd, kStartAndEnd);
  spaced.devices = "start:any end:any";
  spaced.exception =
      "of one step or none any dtype will do: `not of this dtype`; the ends decide: `cannot be converted to type`";
  between(".Tensor_Tensor(Tensor start, Tensor end", kLinspaceTTLoops, kLogspaceTTLoops, {}, {});
  between(".Tensor_Scalar(Tensor start, Scalar end", kLinspaceTSLoops, kLogspaceTSLoops, kEnd, kEnd);
  between(".Scalar_Tensor(Scalar start, Tensor end", kLinspaceSTLoops, kLogspaceSTLoops, kFirst, kStart);
  const Row eye = row_of(creation, rule::eye, make::eye, "a negative size");
  t.row(with_options("eye(SymInt n, *, "), meaning("return aten.eye.m($n, $n, dtype=$dtype, device=$device)", eye));
  t.row(with_options("eye.m(SymInt n, SymInt m, *, "), meaning(R"(
    if given($dtype) { $d = $dtype } else { $d = f32 }
    %row = aten.unsqueeze(aten.arange($n, device=$device), 1)
    return aten._to_copy(aten.eq(%row, aten.arange($m, device=$device)), dtype=$d))",
                                                               eye));
  const DtypeSet indices = DtypeSet::of(Dtype::i32, Dtype::i64);
  // Where a triangle of ones is: row by row, as many as the rule counts.
#define LENZ_PLACES(triangle)                                                  \
  "%ones = aten." triangle                                                     \
  "(aten.full([$row, $col], 1, dtype=bool, device=result_device()), $offset) " \
  "%places = aten.nonzero_static(%ones, size=at(result_shape(), 1)) "          \
  "return aten._to_copy(aten.t(%places), dtype=result_dtype())"
  t.row("tril_indices(int row, int col, int offset=0, *, " + std::string(kLong),
        meaning(LENZ_PLACES("tril"),
                row_of(creation, rule::triangle_indices<true>, make::triangle_indices, "a negative size", indices)));
  t.row("triu_indices(int row, int col, int offset=0, *, " + std::string(kLong),
        meaning(LENZ_PLACES("triu"),
                row_of(creation, rule::triangle_indices<false>, make::triangle_indices, "a negative size", indices)));
#undef LENZ_PLACES
  t.row(with_options("scalar_tensor(Scalar s, *, "),
        filled(fitting("s:filled", meaning("return aten.full([], $s, dtype=result_dtype(), device=result_device())",
                                           row_of(creation, rule::scalar_tensor, make::number))),
               "s"));

  Row window = row_of(creation, rule::window, make::window, "a dtype of integers", dtypes::floats);
  window.exception = kNothingDrawn;
  window.flow.stores_steps = true;  // each in the dtype, one written over the other
  // %i counts the elements from 0, $last is where the window ends: a periodic one ends beyond its last element.
#define LENZ_WINDOW(value)                                                                        \
  "if given($dtype) { $d = $dtype } else { $d = f32 } "                                           \
  "if $window_length <= 1 { return aten.full([$window_length], 1.0, dtype=$d, device=$device) } " \
  "if $periodic { $last = $window_length } else { $last = $window_length - 1 } "                  \
  "%i = aten.arange($window_length, dtype=$d, device=$device) return " value
  // Eager multiplies in place, so that half precision rounds the number.
#define LENZ_TIMES(number, x) "aten.mul(aten.scalar_tensor(" number ", dtype=$d, device=$device), " x ")"
#define LENZ_COSINE(times) "aten.cos(" LENZ_TIMES(times " * 6.2831853071795865 / $last", "%i") ")"
  constexpr std::string_view kBartlett =
      LENZ_WINDOW("aten.rsub(aten.abs(aten.sub(" LENZ_TIMES("2.0 / $last", "%i") ", 1)), 1)");
  constexpr std::string_view kHann = LENZ_WINDOW("aten.rsub(aten.mul(" LENZ_COSINE("1") ", 0.5), 0.5)");
  constexpr std::string_view kHamming = LENZ_WINDOW(
      "aten.rsub(aten.mul(aten.full([], held($beta, $d), dtype=$d, device=$device), " LENZ_COSINE("1") "), $alpha)");
  constexpr std::string_view kBlackman = LENZ_WINDOW(
      "aten.add(aten.rsub(aten.mul(" LENZ_COSINE("1") ", 0.5), 0.42), " LENZ_TIMES("0.08", LENZ_COSINE("2")) ")");
  constexpr std::string_view kKaiser = LENZ_WINDOW(
      "aten.div(aten.i0(aten.mul(aten.sqrt(aten.relu(aten.rsub(aten.square(aten.sub(aten.mul(%i, 2.0 / $last), "
      "1)), 1))), "
      "$beta)), "
      "aten.i0(aten.full([], held($beta, $d), dtype=$d, device=$device)))");
#undef LENZ_COSINE
#undef LENZ_TIMES
#undef LENZ_WINDOW
  // The overloads with fewer parameters hand on what they stand for.
  auto short_form = [&](std::string_view name, std::string_view overload, std::string_view parameters,
                        std::string_view handed) {
    std::string n(name), full(overload);
    t.row(with_options(n + std::string(parameters) + ", *, "),
          meaning("return aten." + n + "." + full + "($window_length, " + std::string(handed) +
                      ", dtype=$dtype, device=$device)",
                  window));
  };
  constexpr std::string_view kLength = "(int window_length", kPeriodic = ".periodic(int window_length, bool periodic";
  auto plain = [&](const std::string& name, std::string_view definition) {
    t.row(with_options(name + std::string(kPeriodic) + ", *, "), meaning(definition, window));
    short_form(name, "periodic", kLength, "true");
  };
  plain("bartlett_window", kBartlett);
  plain("hann_window", kHann);
  plain("blackman_window", kBlackman);
  t.row(
      with_options("hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, "),
      meaning(kHamming, window));
  short_form("hamming_window", "periodic_alpha_beta", ".periodic_alpha(int window_length, bool periodic, float alpha",
             "$periodic, $alpha, 0.46");
  short_form("hamming_window", "periodic_alpha_beta", kPeriodic, "$periodic, 0.54, 0.46");
  short_form("hamming_window", "periodic_alpha_beta", kLength, "true, 0.54, 0.46");
  t.row(with_options("kaiser_window.beta(int window_length, bool periodic, float beta, *, "), meaning(kKaiser, window));
  short_form("kaiser_window", "beta", kPeriodic, "$periodic, 12.0");
  short_form("kaiser_window", "beta", kLength, "true, 12.0");
}

// Of compiler/ops/draws.h; overloads have the parameters that they name.
constexpr std::string_view kUniform = "uniform(0, 1)", kNormal = "normal(0, 1)", kGauss = "normal(mean, std)";
constexpr std::string_view kBelow = "integers(0, high)", kBetween = "integers(low, high)";

void random_of_sizes(RowSink& t) {
  constexpr Traits kRandom = creation | random;
  Row drawn = row_of(kRandom, rule::filled, make::sized, "a dtype of integers", kDrawn);
  drawn.exception = kNothingDrawn;
  drawn.sampling = kUniform;
  t.row(with_options("rand(SymInt[] size, *, "), looped(kRandLoops, drawn));
  t.row(with_options("rand.generator(SymInt[] size, *, Generator? generator, "), looped(kRandLoops, drawn));
  drawn.sampling = kNormal;
  t.row(
      with_options("randn(SymInt[] size, *, "),
      meaning("return aten.normal.float_float(0.0, 1.0, $size, dtype=result_dtype(), device=result_device())", drawn));
  t.row(with_options("randn.generator(SymInt[] size, *, Generator? generator, "),
        meaning("return aten.normal.float_float(0.0, 1.0, $size, generator=$generator, dtype=result_dtype(), "
                "device=result_device())",
                drawn));
  drawn.sampling = kGauss;
  drawn.loops = kNormalLoops;
  t.row(with_options("normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, "), drawn);
  Row integers = row_of(kRandom, rule::random_integers, make::sized, "an empty range", dtypes::real_and_bool);
  integers.loops = kIntegersBelowLoops;
  integers.sampling = kBelow;
  t.row("randint(SymInt high, SymInt[] size, *, " + std::string(kLong), integers);
  t.row("randint.generator(SymInt high, SymInt[] size, *, Generator? generator, " + std::string(kLong), integers);
  integers.loops = kIntegersLoops;
  integers.sampling = kBetween;
  t.row("randint.low(SymInt low, SymInt high, SymInt[] size, *, " + std::string(kLong), integers);
  t.row("randint.low_generator(SymInt low, SymInt high, SymInt[] size, *, Generator? generator, " + std::string(kLong),
        integers);
  Row order =
      row_of(kRandom, rule::randperm, make::randperm, "a negative size; more numbers than the dtype has", kReal);
  order.sampling = "order()";
  order.loops = kRandpermLoops;
  t.row("randperm(SymInt n, *, " + std::string(kLong), order);
  t.row("randperm.generator(SymInt n, *, Generator? generator, " + std::string(kLong), order);

  constexpr Traits kLike = creation | random | reads_metadata_only;
  Row like = row_of(kLike, rule::like<kDrawn>, make::like<kDrawn>, "a dtype of integers");
  like.exception = kNothingDrawn;
  for (auto [of, sampling] : {std::pair{"rand", kUniform}, {"randn", kNormal}}) {
    like.sampling = sampling;
    std::string name = std::string(of) + "_like", call = "return aten." + std::string(of);
    constexpr std::string_view kOf = "dtype=result_dtype(), device=result_device())";
    t.rows(with_options("{}(Tensor self, *, ", kFormat), name,
           meaning(call + "(result_shape(), " + std::string(kOf), like));
    t.rows(with_options("{}.generator(Tensor self, *, Generator? generator, ", kFormat), name,
           meaning(call + ".generator(result_shape(), generator=$generator, " + std::string(kOf), like));
  }
  Row integers_like = row_of(kLike, rule::random_integers_like, make::like<dtypes::real_and_bool>, "an empty range");
  integers_like.loops = kIntegersBelowLoops;
  integers_like.sampling = kBelow;
  t.row(with_options("randint_like(Tensor self, SymInt high, *, ", kFormat), integers_like);
  integers_like.loops = kIntegersLoops;
  integers_like.sampling = kBetween;
  t.row(with_options("randint_like.low_dtype(Tensor self, SymInt low, SymInt high, *, ", kFormat), integers_like);
  integers_like.sampling = kBelow;
  integers_like.wants = "high in [1, 9]";
  integers_like.exception = "the value of high decides: `random_ expects 'from' to be less than 'to'`";
  integers_like.loops = {};
  integers_like.devices = "high:cpu";
  t.row(with_options("randint_like.Tensor(Tensor self, Tensor high, *, ", kFormat), integers_like);
}

void draws(RowSink& t) {
  constexpr std::string_view kGenerator = ", *, Generator? generator=None) -> Tensor";
  auto draw = [&](std::string_view schema, DtypeSet dtypes, std::string_view out, std::string_view sampling,
                  std::string_view raises, std::string_view loops = {}, void (*infer)(Infer&) = rule::draw_like) {
    Row row = row_of(Traits(random) | reads_metadata_only, infer, make::draw, raises, dtypes);
    row.variants = {.in_place = true, .out = out, .out_rule = OutRule::copied};
    row.sampling = sampling;
    row.loops = loops;
    if (schema.find("int to") != schema.npos || schema.find("int? to") != schema.npos)
      row.exception = "the dtype has to hold the bounds: `is out of bounds for`";
    t.row(std::string(schema) + std::string(kGenerator), row);
  };
  draw("uniform(Tensor self, float from=0., float to=1.", kDrawn, "out", "uniform(from, to)", "an empty range",
       kUniformLoops);
  draw("exponential(Tensor self, float lambd=1.", dtypes::floats, "out", "exponential(lambd)",
       "a rate that is not positive", kExponentialLoops);
  draw("geometric(Tensor self, float p", kReal, "out", "geometric(p)", "a probability out of (0, 1)", kGeometricLoops,
       rule::geometric);
  draw("log_normal(Tensor self, float mean=1., float std=2.", dtypes::floats, "out", "log_normal(mean, std)",
       "a deviation that is not positive", kLogNormalLoops, rule::log_normal);
  draw("cauchy(Tensor self, float median=0., float sigma=1.", dtypes::floats, "out", "cauchy(median, sigma)",
       "a scale that is not positive", kCauchyLoops);
  draw("random(Tensor self", dtypes::real_and_bool, "out", "integers(0, end)", {}, kIntegersOfDtypeLoops);
  draw("random.from(Tensor self, int from, int? to", dtypes::real_and_bool, "from_out", "integers(from, to)",
       "an empty range", kIntegersFromLoops);
  draw("random.to(Tensor self, int to", dtypes::real_and_bool, "to_out", "integers(0, to)", "an empty range",
       kIntegersToLoops);
  Row normal =
      row_of(Traits(random) | reads_metadata_only, rule::draw_like, make::draw, "a negative deviation", kDrawn);
  normal.sampling = kGauss;
  normal.decompose =
      "return aten.normal.float_float($mean, $std, shape(%self), generator=$generator, dtype=dtype(%self), "
      "device=device(%self))";
  t.row("normal_functional(Tensor self, float mean=0., float std=1." + std::string(kGenerator), normal);
  // Its functional form has another name, so that this one can't be derived.
  normal.infer = rule::draw_into;
  normal.decompose = "return aten.copy_(%self, aten.normal_functional(%self, $mean, $std, generator=$generator))";
  t.row("normal_(Tensor(a!) self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor(a!)", normal);

  constexpr std::string_view kNoProbability = "by values eager refuses what no probability is: `Expected p_in >= 0`";
  Row coin = row_of(random, rule::bernoulli, make::probabilities, "a probability out of [0, 1]", dtypes::floats);
  coin.variants = {.out = "out"};
  coin.wants = "self in [0, 1]";
  coin.loops = kCoinBySelfLoops;
  coin.sampling = "coin(self)";
  coin.exception =
      "eager draws into an out= tensor of any dtype: `can't be cast to the type of`, `draws only numbers`; by values "
      "it "
      "refuses what no probability is: `Expected p_in >= 0`";
  t.row("bernoulli(Tensor self" + std::string(kGenerator), coin);
  Row fixed = row_of(Traits(random) | reads_metadata_only, rule::bernoulli, make::draw, "a probability out of [0, 1]",
                     dtypes::real_and_bool);
  fixed.loops = kCoinLoops;
  fixed.sampling = "coin(p)";
  t.row("bernoulli.p(Tensor self, float p" + std::string(kGenerator), fixed);
  fixed.infer = rule::draw_into;
  fixed.decompose = "return aten.copy_(%self, aten.bernoulli.p(%self, $p, generator=$generator))";
  t.row("bernoulli_.float(Tensor(a!) self, float p=0.5, *, Generator? generator=None) -> Tensor(a!)", fixed);
  Row each = row_of(Traits(random), rule::bernoulli_by_tensor, make::by_probabilities, "p does not expand to self",
                    dtypes::real_and_bool);
  each.variants = {.in_place = true, .out = "Tensor_out", .out_rule = OutRule::copied};
  each.wants = "p in [0, 1]";
  each.loops = kCoinByTensorLoops;
  each.sampling = "coin(p)";
  each.exception = kNoProbability;
  each.devices = "p:cpu";
  t.row("bernoulli.Tensor(Tensor self, Tensor p" + std::string(kGenerator), each);

  Row gauss = row_of(random, rule::normal, make::normal, "a negative deviation", kDrawn);
  gauss.loops = kNormalTFLoops;
  gauss.sampling = kGauss;
  t.row("normal.Tensor_float(Tensor mean, float std=1." + std::string(kGenerator), gauss);
  gauss.loops = kNormalTTLoops;
  gauss.wants = "std in [0, 2]";
  gauss.exception = "elements decide, which its loops do not ask: `elements of std >= 0.0`";
  t.row("normal.Tensor_Tensor(Tensor mean, Tensor std" + std::string(kGenerator), gauss);
  gauss.dtypes = dtypes::floats;
  gauss.loops = kNormalFTLoops;
  t.row("normal.float_Tensor(float mean, Tensor std" + std::string(kGenerator), fitting("mean:element", gauss));
  Row poisson = row_of(random, rule::poisson, make::counts, "negative rates", dtypes::floats);
  poisson.variants = {.out = "out", .out_rule = OutRule::copied};
  poisson.wants = "self in [0, 9]";
  t.row("poisson(Tensor self, Generator? generator=None) -> Tensor", poisson);
  Row dropped = row_of(elementwise, rule::composite_of_copies, make::dropout_backward, {}, dtypes::usual);
  dropped.accuracy = Accuracy::composed;
  dropped.variants = {.out = "out", .out_rule = OutRule::copied};
  t.row("native_dropout_backward(Tensor grad_output, Tensor mask, float scale) -> Tensor",
        meaning("return aten.mul(aten.mul(%grad_output, %mask), $scale)", dropped));
  Row binomial = row_of(random, rule::binomial, make::binomial, "a probability out of [0, 1]", dtypes::wide_floats);
  binomial.variants = {.out = "out", .out_rule = OutRule::copied};
  binomial.exception = "eager counts elements: `prob does not expand to count`";
  binomial.wants = "count in [1, 9]; prob in [0, 1]";
  t.row("binomial(Tensor count, Tensor prob, Generator? generator=None) -> Tensor", binomial);
  Row multinomial = row_of(random, rule::multinomial, make::multinomial, "more samples than there are", dtypes::floats);
  multinomial.wants = "self in [0.25, 2]";
  multinomial.exception = "by values eager refuses what no weight is: `probability tensor contains either`";
  t.row("multinomial(Tensor self, SymInt num_samples, bool replacement=False" + std::string(kGenerator), multinomial);
  Row drop = row_of(random | maybe_view, rule::dropout<false>, make::dropout<0>,
                    "a probability out of [0, 1], or something to drop from integers");
  drop.sampling = "keep(input, p, train)";
  drop.written_base = "return %written";  // where nothing is dropped
  // What is kept, %kept, of coins for each element or for each channel.
#define LENZ_KEPT(coins)                         \
  "if result_is_view() { return %input } "       \
  "if $p == 0 { return aten.clone(%input) } "    \
  "if $p == 1 { return aten.mul(%input, 0.0) } " \
  "%coins, %kept = aten.native_dropout(" coins   \
  ", $p, true) "                                 \
  "%x = aten._to_copy(%input, dtype=f64) "
#define LENZ_CHANNELS \
  "aten.full(concat(first(shape(%input), 2), list(rank(%input) - 2, 1)), 1.0, dtype=f32, device=device(%input))"
  // Keeps mean and deviation of what saturates at -1.7580993408473766. Computed in f64 and rounded once.
#define LENZ_SATURATED                                                                                   \
  "$s = 1.7580993408473766 "                                                                             \
  "%spread = aten.sqrt(aten.full([], ($p * $s * $s + 1) * (1 - $p), dtype=f64, device=device(%input))) " \
  "%scale = aten.div(aten.full([], 1.0, dtype=f64, device=device(%input)), %spread) "                    \
  "%up = aten.mul(aten.mul(%scale, $p), $s) "                                                            \
  "%down = aten.sub(%up, aten.mul(%scale, $s)) "                                                         \
  "%y = aten.add(aten.mul(%x, aten.where(%kept, %scale, 0.0)), aten.where(%kept, %up, %down)) "          \
  "return aten._to_copy(%y, dtype=dtype(%input))"
#define LENZ_SCALED                                                                                               \
  "%scale = aten._to_copy(aten.full([], 1.0 / (1 - $p), dtype=dtype(%input), device=device(%input)), dtype=f64) " \
  "return aten._to_copy(aten.mul(%x, aten.where(%kept, %scale, 0.0)), dtype=dtype(%input))"
  constexpr std::string_view kNoFloat8 = "float8 times 0 eager can't make: `not implemented for 'Float8`";
  t.row("dropout(Tensor input, float p, bool train) -> Tensor",
        meaning("if result_is_view() { return %input } "
                "%y, %kept = aten.native_dropout(%input, $p, $train) return %y",
                drop));
  drop.exception = kNoFloat8;
  drop.sampling = "keep_or_saturate(input, p, train)";
  t.row("alpha_dropout(Tensor input, float p, bool train) -> Tensor",
        meaning(LENZ_KEPT("%input") LENZ_SATURATED, drop));
  Row channels = drop;  // whole channels at once
  channels.infer = rule::dropout<true>;
  channels.generate = make::dropout<2>;
  channels.raises = "fewer than 2 dims";
  channels.sampling = "keep_channels(input, p, train)";
  t.row("feature_dropout(Tensor input, float p, bool train) -> Tensor",
        meaning(LENZ_KEPT(LENZ_CHANNELS) LENZ_SCALED, channels));
  channels.sampling = "keep_or_saturate_channels(input, p, train)";
  t.row("feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
        meaning(LENZ_KEPT(LENZ_CHANNELS) LENZ_SATURATED, channels));
#undef LENZ_SCALED
#undef LENZ_SATURATED
#undef LENZ_CHANNELS
#undef LENZ_KEPT
  drop.exception = {};
  drop.infer = rule::native_dropout;
  drop.sampling = "keep(input, p, train)";
  t.row("native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)", looped(kNativeDropoutLoops, drop));
}
}  // namespace

void creation_rows(RowSink& t) {
  of_sizes(t);
  ranges(t);
  random_of_sizes(t);
  draws(t);
}

}  // namespace lenz
