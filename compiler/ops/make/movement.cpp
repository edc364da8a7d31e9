#include "compiler/ops/make/movement.h"

#include <algorithm>

#include "compiler/ops/make/common.h"

namespace lenz::make {

namespace {
// A memory format that a tensor of this rank can have, or none.
void maybe_format(CallMaker& m, size_t rank) {
  if (!m.has("memory_format")) return;
  SmallVec<MemoryFormat, 4> fit{MemoryFormat::preserve, MemoryFormat::contiguous};
  if (rank == 4) fit.push_back(MemoryFormat::channels_last);
  if (rank == 5) fit.push_back(MemoryFormat::channels_last_3d);
  size_t at = m.choose().below(fit.size() + 1);
  if (at > 0) m.set("memory_format", Arg::of_memory_format(fit[at - 1]));
}
}  // namespace

void clone(CallMaker& m) { maybe_format(m, m.rank(set_self(m))); }

void copy(CallMaker& m) {
  // Eager copies into a clone that is laid out like `self`: elements that share memory overwrite each other.
  ValueId self = m.tensor({.written = true});
  m.set("self", self);
  TensorWish src;
  src.sizes = m.shape_like_with_ones(m.sizes(self));
  if (m.choose().flip()) {
    src.dtype = m.type(self).dtype;
  } else {
    src.dtypes = dtypes::all;
  }
  m.set("src", m.tensor(src));
}

void conversion(CallMaker& m) {
  ValueId self = set_self(m);
  bool must =
      m.op().schema.params[m.op().schema.params[1].type.kind == ParamKind::device ? 2 : 1].type.optional == false;
  if (must || m.choose().chance(2, 3))
    m.set("dtype", Arg::of_dtype(m.choose().flip() ? m.type(self).dtype : m.a_dtype(dtypes::all)));
  if (m.has("device") && !m.op().schema.params[1].type.optional && m.op().schema.params[1].name == "device")
    m.set("device", Arg::of_device({}));
  maybe_format(m, m.rank(self));
}

void conversion_like(CallMaker& m) {
  ValueId self = set_self(m);
  TensorWish other;
  other.dtypes = dtypes::all;
  if (m.choose().flip()) other.dtype = m.type(self).dtype;
  m.set("other", m.tensor(other));
  maybe_format(m, m.rank(self));
}

void flip(CallMaker& m) {
  TensorWish wish;
  wish.dtypes = dtypes::usual;
  ValueId self = set_self(m, wish);
  m.set_ints("dims", m.some_dims(m.rank(self), true));
}

void flip_of_rank(CallMaker& m, int rank) {
  TensorWish wish;
  wish.dtypes = dtypes::usual;
  wish.min_rank = rank;
  set_self(m, wish);
}

void roll(CallMaker& m) {
  ValueId self = set_self(m);
  auto dims = m.some_dims(m.rank(self), true);
  if (!dims.empty() && m.choose().chance(1, 6)) dims.push_back(dims[0]);  // one dim may be rolled twice
  Sizes shifts;
  for (size_t i = 0; i < std::max<size_t>(dims.size(), 1); ++i) shifts.push_back(m.choose().between(-4, 9));
  m.set_ints("shifts", shifts);
  m.set_ints("dims", dims);
}

void rot90(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 2;
  wish.dtypes = dtypes::usual;
  ValueId self = set_self(m, wish);
  auto rank = static_cast<int64_t>(m.rank(self));
  int64_t a = m.choose().between(0, rank - 1), b = (a + m.choose().between(1, rank - 1)) % rank;
  const int64_t dims[] = {m.choose().flip() ? a - rank : a, m.choose().flip() ? b - rank : b};
  m.set("k", Arg::of_int(m.choose().between(-4, 5)));
  m.set_ints("dims", dims);
}

void repeat(CallMaker& m) {
  TensorWish wish;
  wish.max_rank = 4;
  size_t rank = m.rank(set_self(m, wish));
  bool fewer = m.has("dims");  // tile pads with ones
  Sizes repeats;
  auto count = m.choose().between(fewer ? 0 : static_cast<int64_t>(rank), static_cast<int64_t>(rank) + 1);
  for (int64_t i = 0; i < count; ++i) repeats.push_back(m.choose().any_of<int64_t>({1, 2, 3, 1, 0}));
  m.set_ints(m.op().schema.params[1].name, repeats);
}

void repeat_interleave(CallMaker& m) {
  Chooser& c = m.choose();
  ValueId self = set_self(m);
  int64_t extent = 1;
  if (m.rank(self) > 0 && c.flip()) {
    int64_t d = m.a_dim(m.rank(self));
    m.set("dim", Arg::of_int(d));
    extent = m.size(self, d);
  } else {
    for (int64_t s : m.sizes(self)) extent *= s;
  }
  auto times = c.between(0, 3);
  if (m.op().schema.params[1].type.kind != ParamKind::tensor) {
    m.set("repeats", Arg::of_int(times));
  } else {
    TensorWish repeats;
    repeats.dtypes = DtypeSet::of(Dtype::i32, Dtype::i64);
    repeats.integers = {times, times};  // equal, so that the size of the result is known
    if (c.flip()) {
      repeats.sizes = c.flip() ? Sizes{} : Sizes{1};
    } else {
      repeats.sizes = Sizes{extent};
    }
    m.set("repeats", m.tensor(repeats));
  }
  if (c.flip()) m.set("output_size", Arg::of_int(extent * times));
}

void repeats(CallMaker& m) {
  TensorWish wish;
  auto times = m.choose().between(0, 3);
  wish.sizes = Sizes{m.a_size()};
  wish.integers = {times, times};
  ValueId v = set_self(m, wish);
  if (m.choose().flip()) m.set("output_size", Arg::of_int(m.size(v, 0) * times));
}

void triangle(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 2;
  set_self(m, wish);
  m.set("diagonal", Arg::of_int(m.choose().flip() ? 0 : m.choose().between(-5, 5)));
}

void diag(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  wish.max_rank = 2;
  set_self(m, wish);
  m.set("diagonal", Arg::of_int(m.choose().flip() ? 0 : m.choose().between(-5, 5)));
}

void diag_embed(CallMaker& m) {
  TensorWish wish;
  wish.min_rank = 1;
  wish.max_rank = 4;
  auto rank = static_cast<int64_t>(m.rank(set_self(m, wish))) + 1;
  int64_t a = m.choose().between(0, rank - 1), b = (a + m.choose().between(1, rank - 1)) % rank;
  m.set("offset", Arg::of_int(m.choose().between(-2, 2)));
  m.set("dim1", Arg::of_int(m.choose().flip() ? a - rank : a));
  m.set("dim2", Arg::of_int(m.choose().flip() ? b - rank : b));
}

void diagflat(CallMaker& m) {
  Sizes sizes = m.a_shape(0, 4);
  int64_t n = 1;
  for (int64_t& s : sizes) {
    if (n * s > 60) s = 1;
    n *= s;
  }
  set_self_sized(m, sizes);
  m.set("offset", Arg::of_int(m.choose().between(-3, 3)));
}

void vander(CallMaker& m) {
  TensorWish wish;
  wish.sizes = Sizes{m.a_size()};
  set_self(m, wish);
  if (m.choose().flip()) m.set("N", Arg::of_int(m.choose().between(0, 5)));
}

void kron(CallMaker& m) {
  TensorWish wish;
  wish.plain = true;  // eager views the product as blocks
  wish.max_rank = 4;
  wish.dtypes = dtypes::usual;
  ValueId self = set_self(m, wish);
  Dtype d = m.type(self).dtype;
  DtypeSet half_or_complex = d == Dtype::f16 ? dtypes::complexes : is_complex(d) ? dtypes::half : DtypeSet();
  wish.dtypes = m.choose().flip() ? DtypeSet::of(d) : dtypes::usual - half_or_complex;
  m.set("other", m.tensor(wish));
}

namespace {
// Any leading dims, then channels and a plane.
Sizes image(CallMaker& m, int64_t channels, int64_t height, int64_t width) {
  Sizes sizes;
  auto leading = m.choose().any_of<int64_t>({1, 0, 1, 2});
  for (int64_t i = 0; i < leading; ++i) sizes.push_back(m.choose().any_of<int64_t>({2, 1, 3, 0}));
  for (int64_t s : {channels, height, width}) sizes.push_back(s);
  return sizes;
}

// Eager's kernels of planes know no channels-last with a depth.
void set_image(CallMaker& m, const Sizes& sizes) {
  TensorWish wish;
  wish.sizes = sizes;
  wish.plain = sizes.size() == 5;
  wish.dtypes = dtypes::usual;
  set_self(m, wish);
}
}  // namespace

void pixel_shuffle(CallMaker& m) {
  int64_t r = m.choose().between(1, 3);
  Sizes last{r * r * m.choose().any_of<int64_t>({1, 2, 3, 0}), m.a_size(), m.a_size()};
  set_image(m, image(m, last[0], last[1], last[2]));
  m.set("upscale_factor", Arg::of_int(r));
}

void pixel_unshuffle(CallMaker& m) {
  int64_t r = m.choose().between(1, 3);
  auto side = [&] { return r * m.choose().any_of<int64_t>({2, 1, 3, 0}); };
  int64_t height = side(), width = side();
  set_image(m, image(m, m.a_size(), height, width));
  m.set("downscale_factor", Arg::of_int(r));
}

void channel_shuffle(CallMaker& m) {
  int64_t groups = m.choose().between(1, 4);
  Sizes sizes{m.a_size(), groups * m.choose().any_of<int64_t>({2, 1, 3, 0})};
  auto planes = m.choose().between(1, 3);
  for (int64_t i = 0; i < planes; ++i) sizes.push_back(m.choose().any_of<int64_t>({3, 2, 1, 4}));
  TensorWish wish;
  wish.sizes = sizes;
  wish.dtypes = dtypes::usual;
  set_self(m, wish);
  m.set("groups", Arg::of_int(groups));
}

namespace {
struct Side {
  int64_t kernel, dilation, padding, stride, size, places;
};

Side a_side(CallMaker& m) {
  Chooser& c = m.choose();
  Side s{c.between(1, 3), c.any_of<int64_t>({1, 2}), c.between(0, 2), c.between(1, 3), 0, 0};
  int64_t reach = s.dilation * (s.kernel - 1) + 1;
  s.size = std::max<int64_t>(reach - 2 * s.padding, 1) + c.between(0, 4);
  s.places = (s.size + 2 * s.padding - reach) / s.stride + 1;
  return s;
}

void set_windows(CallMaker& m, const Side& h, const Side& w) {
  auto pair = [&](std::string_view param, int64_t a, int64_t b) {
    const int64_t both[] = {a, b};
    m.set_ints(param, both);
  };
  pair("kernel_size", h.kernel, w.kernel);
  pair("dilation", h.dilation, w.dilation);
  pair("padding", h.padding, w.padding);
  pair("stride", h.stride, w.stride);
}
}  // namespace

void im2col(CallMaker& m) {
  Side h = a_side(m), w = a_side(m);
  Sizes sizes{m.a_size(1), h.size, w.size};
  if (m.choose().flip()) sizes.insert(0, m.a_size());
  set_self_sized(m, sizes);
  set_windows(m, h, w);
}

void col2im(CallMaker& m) {
  Side h = a_side(m), w = a_side(m);
  Sizes sizes{m.choose().between(1, 3) * h.kernel * w.kernel, h.places * w.places};
  if (m.choose().flip()) sizes.insert(0, m.a_size());
  set_self_sized(m, sizes);
  const int64_t output[] = {h.size, w.size};
  m.set_ints("output_size", output);
  set_windows(m, h, w);
}

// --- joins

namespace {
// Dtypes that promote together: float8 stays alone, and f16 with complex would be complex32.
struct JoinDtypes {
  Dtype first;
  bool mixed;
};
JoinDtypes join_dtypes(CallMaker& m) {
  Dtype d = m.a_dtype(m.op().dtypes);
  return {d, !is_float8(d) && m.choose().chance(1, 4)};
}
Dtype next_dtype(CallMaker& m, JoinDtypes j) {
  if (!j.mixed) return j.first;
  return m.a_dtype(m.op().dtypes - dtypes::float8 - dtypes::half);
}

void set_list(CallMaker& m, std::span<const Sizes> shapes) {
  JoinDtypes j = join_dtypes(m);
  if (j.mixed && j.first == Dtype::f16) j.first = Dtype::f32;
  SmallVec<ValueId, 8> list;
  std::optional<MemoryFormat> format;
  if (m.choose().chance(1, 4)) format = MemoryFormat::channels_last;  // all of one layout
  for (const Sizes& shape : shapes) {
    TensorWish wish;
    wish.sizes = shape;
    wish.dtype = list.empty() ? j.first : next_dtype(m, j);
    if (format && shape.size() == 4) wish.format = format;
    if (format && shape.size() == 5) wish.format = MemoryFormat::channels_last_3d;
    list.push_back(m.tensor(wish));
  }
  m.set_tensors("tensors", list);
}

std::vector<Sizes> joinable(CallMaker& m, Sizes shape, size_t dim, bool old_empties) {
  std::vector<Sizes> shapes;
  auto count = m.choose().between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    shapes.push_back(shape);
    if (i > 0 || m.choose().chance(1, 8)) shapes.back()[dim] = m.a_size();
    if (old_empties && m.choose().chance(1, 8)) shapes.back() = Sizes{0};
  }
  return shapes;
}
}  // namespace

void cat(CallMaker& m) {
  Sizes shape = m.a_shape(1, 5);
  int64_t dim = m.a_dim(shape.size());
  size_t d = static_cast<size_t>(dim < 0 ? dim + static_cast<int64_t>(shape.size()) : dim);
  auto shapes = joinable(m, shape, d, true);
  // Of nothing but [0]s eager wraps the dim as if they had the rank that it sees.
  bool all_old = std::all_of(shapes.begin(), shapes.end(), [](const Sizes& s) { return s == Sizes{0}; });
  set_list(m, shapes);
  m.set("dim", Arg::of_int(all_old ? 0 : dim));
}

void stack(CallMaker& m) {
  Sizes shape = m.a_shape(0, 4);
  std::vector<Sizes> shapes(static_cast<size_t>(m.choose().between(1, 4)), shape);
  set_list(m, shapes);
  m.set("dim", Arg::of_int(m.a_dim(shape.size() + 1)));
}

void joined_at_rank(CallMaker& m, int rank, size_t dim) {
  if (m.choose().chance(1, 3)) {  // fewer dims: all alike
    Sizes shape = m.a_shape(0, rank - 1);
    std::vector<Sizes> shapes(static_cast<size_t>(m.choose().between(1, 3)), shape);
    return set_list(m, shapes);
  }
  Sizes shape = m.a_shape(rank, 5);
  set_list(m, joinable(m, shape, std::min(dim, shape.size() - 1), false));
}

void column_stack(CallMaker& m) {
  int64_t rows = m.a_size();
  std::vector<Sizes> shapes;
  auto count = m.choose().between(1, 4);
  bool scalars = m.choose().chance(1, 6), deep = m.choose().chance(1, 4);
  int64_t depth = m.a_size();
  for (int64_t i = 0; i < count; ++i)
    shapes.push_back(scalars             ? Sizes{}
                     : deep              ? Sizes{rows, m.a_size(), depth}
                     : m.choose().flip() ? Sizes{rows}
                                         : Sizes{rows, m.a_size()});
  set_list(m, shapes);
}

void block_diag(CallMaker& m) {
  std::vector<Sizes> shapes;
  auto count = m.choose().between(1, 4);
  for (int64_t i = 0; i < count; ++i) shapes.push_back(m.a_shape(0, 2));
  set_list(m, shapes);
}

void cartesian_prod(CallMaker& m) {
  SmallVec<ValueId, 4> list;
  auto count = m.choose().between(1, 3);
  TensorWish wish;
  wish.dtype = m.a_dtype(m.op().dtypes);
  for (int64_t i = 0; i < count; ++i) {
    wish.sizes = Sizes{m.a_size()};
    list.push_back(m.tensor(wish));
  }
  m.set_tensors("tensors", list);
}

// --- paddings

namespace {
Sizes constant_widths(CallMaker& m, const Sizes& sizes) {
  Sizes pad;
  auto dims = m.choose().between(0, static_cast<int64_t>(sizes.size()));
  for (int64_t k = 0; k < dims; ++k) {
    int64_t size = sizes[sizes.size() - 1 - static_cast<size_t>(k)];
    int64_t low = m.choose().chance(1, 4) ? -m.choose().between(0, size) : m.choose().between(0, 3);
    int64_t left = low < 0 ? size + low : size;
    pad.push_back(low);
    pad.push_back(m.choose().chance(1, 4) ? -m.choose().between(0, left) : m.choose().between(0, 3));
  }
  return pad;
}

// Widths for the last `dims` dims of a shape whose padded sizes are all at least 1.
Sizes edge_widths(CallMaker& m, const Sizes& sizes, size_t dims, bool reflect, bool negative) {
  Sizes pad;
  for (size_t k = 0; k < dims; ++k) {
    int64_t size = sizes[sizes.size() - 1 - k], most = reflect ? size - 1 : 3;
    int64_t low = m.choose().between(0, std::min<int64_t>(most, 3)),
            high = m.choose().between(0, std::min<int64_t>(most, 3));
    if (negative && m.choose().chance(1, 8)) low = -std::min<int64_t>(size - 1 + high, 1);
    if (size + low + high < 1) low = 0;
    pad.push_back(low);
    pad.push_back(high);
  }
  return pad;
}

Sizes edge_shape(CallMaker& m, size_t dims) {
  Sizes sizes;
  if (m.choose().flip()) sizes.push_back(m.choose().any_of<int64_t>({2, 1, 3, 0}));
  sizes.push_back(m.a_size(1));
  for (size_t i = 0; i < dims; ++i) sizes.push_back(m.choose().between(1, 5));
  return sizes;
}
}  // namespace

void constant_pad(CallMaker& m) {
  TensorWish wish;
  ValueId self = set_self(m, wish);
  m.set_ints("pad", constant_widths(m, m.sizes(self)));
  if (m.choose().flip()) m.set("value", m.a_number(m.type(self).dtype));
}

void pad_sequence(CallMaker& m) {
  Sizes sizes = m.a_shape(1, 4);
  SmallVec<ValueId, 4> list;
  TensorWish wish;
  wish.dtype = m.a_dtype(m.op().dtypes);
  auto count = m.choose().between(1, 4);
  for (int64_t i = 0; i < count; ++i) {
    sizes[0] = m.a_size();
    wish.sizes = sizes;
    // Each is converted to the first one's dtype, and expanded to its row.
    if (i > 0 && m.choose().below(8) == 7) wish.dtype = m.a_dtype(m.op().dtypes);
    if (i > 0 && sizes.size() > 1 && m.choose().below(8) == 7) wish.sizes->back() = 1;
    list.push_back(m.tensor(wish));
  }
  m.set_tensors("sequences", list);
  m.set("padding_value", Arg::of_real(static_cast<double>(m.choose().between(0, 2))));
  m.set("padding_side", m.context().string(m.choose().flip() ? "left" : "right"));
}

void edge_padding(CallMaker& m, size_t dims, bool reflect, bool backward) {
  Sizes sizes = edge_shape(m, dims);
  Sizes pad = edge_widths(m, sizes, dims, reflect, !backward);
  m.set_ints("padding", pad);
  TensorWish self;
  self.sizes = sizes;
  ValueId v = m.tensor(self);
  m.set("self", v);
  if (!backward) return;
  TensorWish grad;
  grad.dtype = m.type(v).dtype;
  grad.sizes = sizes;
  for (size_t k = 0; k < dims; ++k) (*grad.sizes)[sizes.size() - 1 - k] += pad[2 * k] + pad[2 * k + 1];
  m.set("grad_output", m.tensor(grad));
}

namespace {
void set_circular(CallMaker& m) {
  auto dims = static_cast<size_t>(m.choose().between(1, 3));
  Sizes sizes = edge_shape(m, dims);
  Sizes pad;
  for (size_t k = 0; k < dims; ++k) {
    int64_t size = sizes[sizes.size() - 1 - k], most = std::min<int64_t>(size, 3);
    int64_t low = m.choose().between(0, most), high = m.choose().between(0, most);
    if (size > 2 && m.choose().chance(1, 6)) {
      low = -1;
      high = std::min(high, size - 1);
    }
    pad.push_back(low);
    pad.push_back(high);
  }
  m.set_ints("pad", pad);
  set_self_sized(m, sizes);
}
}  // namespace

void circular_pad(CallMaker& m) { set_circular(m); }

void pad(CallMaker& m) {
  Chooser& c = m.choose();
  constexpr std::string_view kModes[] = {"constant", "reflect", "replicate", "circular"};
  std::string_view mode = c.pick(kModes);
  m.set("mode", m.context().string(mode));
  if (mode == "constant") {
    ValueId self = set_self(m);
    m.set_ints("pad", constant_widths(m, m.sizes(self)));
    if (c.flip()) m.set("value", Arg::of_real(is_integral(m.type(self).dtype, true) ? 1.0 : m.a_real(-2, 2)));
    return;
  }
  if (mode == "circular") return set_circular(m);
  auto dims = static_cast<size_t>(c.between(1, 3));
  TensorWish wish;
  wish.sizes = edge_shape(m, dims);
  wish.dtypes = m.op().dtypes - dtypes::float8 - dtypes::boolean;
  m.set_ints("pad", edge_widths(m, *wish.sizes, dims, mode == "reflect", true));
  set_self(m, wish);
}

}  // namespace lenz::make
