// Writes one kernel as a function: what it takes and how its points are walked (kernel_code.cpp), nests, their lanes
// and reductions (nest_code.cpp), instructions and memory (access_code.cpp, even_and_odd.cpp). Internal to the room.
// Thread-safety: one emitter per module.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <functional>
#include <map>
#include <optional>

#include "compiler/backend/llvm/combine_code.h"
#include "compiler/backend/llvm/dim_code.h"
#include "compiler/backend/llvm/ir.h"
#include "compiler/backend/llvm/kernel_code.h"
#include "compiler/loops/index_algebra.h"

namespace lenz::native {

inline constexpr int64_t kLine = 64;  // bytes that memory hands out and takes together

class KernelEmitter {
 public:
  KernelEmitter(CodeModule& module, const Compiler& compiler, const loops::Program& program,
                const loops::Kernel& kernel)
      : ir_(module.ir()),
        target_(compiler.target()),
        shares_rows_(compiler.quick()),
        program_(program),
        whole_(&kernel),
        kernel_(&kernel),
        facts_(&program.assumptions.known()),
        b_(*ir_.context) {}

  KernelArguments run(std::string_view symbol);

 private:
  // A value of a nest's body: one for all lanes, or one for each.
  struct Val {
    Lanes lanes;
    bool wide = false;
  };

  // Of lanes: step * lane is at least, or less than, a scalar of 64 bits; steps are 1 and more.
  struct Bound {
    int64_t step;
    llvm::Value* number;
  };
  // Lanes that follow one another: those within all bounds.
  struct Run {
    std::vector<Bound> least, below = {};
    llvm::Value* only = nullptr;  // a scalar truth; none of them where it does not hold
  };
  // Some lanes. Null: all.
  struct Mask {
    llvm::Value* lanes = nullptr;
    std::optional<Run> run = {};  // the same ones, if that is known
    explicit operator bool() const { return lanes != nullptr; }
  };

  // One copy of a nest's body under construction.
  struct Frame {
    std::vector<Val> values;
    std::map<loops::Ssa, State> states;  // of reduces and scans, once they have values
    DimCode dims;
    llvm::Value* base = nullptr;          // of the axis that runs in lanes: its value in the first lane
    Mask mask = {};                       // lanes that there are
    std::map<loops::Ssa, Run> runs = {};  // of values: the lanes in which they hold
    bool whole_vectors = true;            // the first lane's value is a multiple of the number of lanes
  };

  struct Place {
    llvm::Value* address = nullptr;   // in elements: a scalar, or a vector
    bool consecutive = false;         // scalar, of the first lane; the others follow
    bool runs_on = false;             // so, and the next vector follows this one
    std::vector<int64_t> apart = {};  // scalar, of the first lane; so far from there each lane is. Else empty
    bool by_coordinates = false;  // of each lane, and not by what data decide: often they are neighbours all the same
    bool wide() const { return consecutive || !apart.empty() || address->getType()->isVectorTy(); }
    bool shared() const;  // whether several lanes have one element, as far as `apart` says
  };

  // What the lanes of a vector draw for: elements that follow one another, from a multiple of four on, or from
  // anywhere.
  enum class Draws : uint8_t { anywhere, in_order, in_blocks };

  // What a nest of the kernel reads, neighbours in neighbouring lanes.
  struct Reading {
    loops::BufferId buffer;
    DimVec index;
    const loops::Nest* nest;
    // Where a position in the index comes from, one for each point of the kernel; null: there is none.
    const loops::Instr *position, *number;
  };

  // A reduce or scan of the nest: its state so far, in memory that the first pass of the pipeline takes into registers.
  struct Accumulator {
    loops::Ssa at;
    std::vector<std::vector<llvm::Value*>> parts;  // by copy, by part: real and imaginary
  };

  // What a load reads along the lanes, where these share an element or go back and forth: of each vector of the lane
  // axis, where its elements begin, which of them is each lane's, and whether one vector has them all.
  struct Window {
    Dim along;      // the part of the address that the lanes have a hand in
    int64_t bits;   // of an element
    bool by_inner;  // inner axes have a hand in it too
    llvm::Value *places = nullptr, *starts = nullptr, *reach = nullptr, *picks = nullptr, *fits = nullptr;
  };
  // What hangs on the lane axis alone, in a nest that walks it again and again.
  struct Columns {
    // Of instructions: whether no axis but inner ones, or the lanes too, and no data decide them; if lanes do, whether
    // rows compute them all the same; whether inner axes do.
    std::vector<bool> fixed, known, again, by_inner;
    std::vector<const loops::Axis*> inner;  // that have a hand in some table
    std::vector<std::pair<loops::Ssa, llvm::Value*>> tables;
    std::vector<Window> windows;
    int64_t most = 0;  // of the lane axis: columns that tables have room for
  };

  using Body = std::function<void(std::vector<Frame>&)>;
  using Axes = std::vector<const loops::Axis*>;

  // What it takes.
  Dtype dtype_of(loops::BufferId id) const;  // in memory

  // Control flow.
  llvm::BasicBlock* block(const char* name);
  void loop(llvm::Value* from, llvm::Value* to, int64_t step, const std::function<void(llvm::Value*)>& body);
  void only_if(llvm::Value* condition, const std::function<void()>& body);
  void leave(KernelStatus status);
  void leave_if(llvm::Value* any, KernelStatus status);

  // Nests.
  void at_each_point(DimCode& dims, const std::function<void()>& body);
  void all_points(DimCode dims);
  const loops::Nest* scanned_rows() const;
  void scan_rows(const loops::Nest& n, DimCode& dims);
  // What a kernel is where its rows are no longer than a tile (one_tile.cpp).
  struct OneTile {
    loops::Kernel kernel;
    Facts facts;
    std::vector<Cond> where;
    bool in_one_turn;  // rows that are proved to have no more points than a turn of their lanes have about as many
  };
  static bool is_short(const loops::Nest& n);
  void rest_of_turn(llvm::Value* from, llvm::Value* to, const std::function<void(llvm::Value*, llvm::Value*)>& vector);
  void rest_at_once(llvm::Value* rest, const std::function<void(uint32_t, uint32_t)>& copies);
  static constexpr int64_t kMostColumns = 4096;  // that there are tables for
  std::optional<OneTile> one_tile();
  std::optional<OneTile> few_columns();
  std::optional<OneTile> few_vectors(const loops::Kernel& kernel, const Facts& facts, uint32_t vectors) const;
  bool limits_columns(OneTile& one);
  void as_one_tile(const OneTile& one, const DimCode& dims);
  void begin(const loops::Nest& n);
  void nest(const loops::Nest& n, const DimCode& outside);
  void nested(const Axes& axes, size_t depth, Frame& frame, const std::function<void(Frame&)>& body);
  void in_lanes(const Frame& frame, const Body& body);
  void load_before_lanes(Frame& f);
  static bool is_shared_arithmetic(const loops::Instr& instr, const Frame& f);
  bool may_share(loops::BufferId a, loops::BufferId b) const;
  Range range_of_whole(const loops::Axis& axis) const;
  uint32_t copies_of_a_stream() const;
  int64_t points_of_a_turn() const;  // of the axis that runs in lanes
  bool turns_whole() const;
  bool in_one_turn() const;
  bool rests_at_once() const;  // what is left of a turn
  llvm::Value* points_before_a_line(const Frame& frame);
  Frame lanes_at(const Frame& frame, llvm::Value* base, bool whole_vectors = true);
  Frame perhaps_at(const Frame& frame, llvm::Value* turn, int64_t number, llvm::Value* count, bool whole_vectors);

  // Masks of lanes that follow one another (runs.cpp).
  std::optional<Run> run_where(const Cond& cond, const Frame& f);
  bool holds_everywhere(Dim difference, const Cond& cond, const Frame& f) const;
  std::optional<Run> run_of(loops::Ssa at, const Frame& f);
  Run both(const Run& a, const Run& b);
  Mask both(const Mask& a, const Mask& b);
  llvm::Value* further(bool greater, llvm::Value* a, llvm::Value* b);
  llvm::Value* within(llvm::Value* number, int64_t most);
  llvm::Value* place_at(const Bound& bound, int64_t step);
  std::pair<llvm::Value*, llvm::Value*> ends_of(const Run& run, int64_t step, int64_t begin, int64_t count);
  static constexpr int64_t kMostBits = 63;  // of a mask in a number of 64, so that it can be shifted by as many
  llvm::Value* bits_of(const Run& run, int64_t step, int64_t begin, int64_t count);
  llvm::Value* as_lanes(llvm::Value* bits);
  llvm::Value* elements_of(const Run& run, int64_t step, int64_t begin);
  llvm::Value* lanes_of(const Run& run) { return elements_of(run, 1, 0); }
  Mask of(const Run& run) { return {lanes_of(run), run}; }
  Mask mask_of(loops::Ssa at, bool wide, const Frame& f);
  bool goes_one_by_one(const Mask& mask, const llvm::Type* type) const;
  void each_of(const Run& run, const std::function<void(llvm::Value*)>& lane);
  llvm::Value* load_under(const Mask& mask, llvm::Type* type, llvm::Value* from, llvm::Align align,
                          llvm::Value* otherwise);
  void store_under(const Mask& mask, llvm::Value* v, llvm::Value* to, llvm::Align align);
  void only_below(Frame& f, llvm::Value* end);
  void find_next();
  void fetch_next(std::vector<Frame>& frames);
  bool stays_in_caches() const;
  uint32_t how_near() const;
  void fetch_rows_ahead(const loops::Axis& along, std::vector<Frame>& frames);
  void fetch_square_ahead(const Frame& frame, llvm::Value* row, llvm::Value* lane, llvm::Value* lanes);
  void fetch_results_ahead(const loops::Store& s, const Frame& ahead);
  void prefetch(llvm::Value* place, uint32_t how_near, bool to_write = false);
  std::optional<Reading> reading_of_points(const loops::Instr& load) const;
  bool step_to_next(const Reading& r, Frame& f);
  static bool is_told(std::span<const Dim> index, const Frame& frame);
  void find_levels();
  void keep_inside();
  void find_fitting();
  std::vector<int> uses() const;  // of each value
  void find_late_rounded();
  void find_otherwise();
  void find_even_and_odd();
  bool by_ones(loops::BufferId id, const DimVec& index, bool from_whole_vectors) const;
  bool may_go_even_and_odd(bool from_whole_vectors) const;
  bool mostly_adds() const;
  bool goes_even_and_odd(const std::vector<Frame>& frames) const;
  llvm::Value* store_even_and_odd(const loops::Store& s, const Frame& even, const Frame& odd);
  static bool rounds(const loops::Instr& i);
  void points(std::vector<Frame>& frames, const Axes& inner);
  void walk(const Axes& axes, size_t depth, std::vector<Frame>& frames, const Body& body);
  void late(std::vector<Frame>& frames, bool all_stores);

  // Rows that go along what all of them read together (abreast.cpp).
  void find_rows();  // and those of squares
  void abreast(Frame& frame, const Axes& inner);
  void points_abreast(std::vector<Frame>& rows, const Axes& inner);
  std::vector<State> each_across_lanes(const loops::Instr& instr, std::vector<State> states);
  // Of each state that lanes inside combine; and of those, neighbours that are loaded as one.
  size_t copies_inside() const;
  uint32_t copies_at_once() const;

  // Squares of as many rows as lanes (squares.cpp). Where a count is given, of its first so many rows, and of the lanes
  // of the frame's mask; null: of all.
  void squares(const Frame& frame);
  void square(std::vector<Frame>& frames);
  void edge_square(const Frame& first, llvm::Value* count);
  bool crosses(loops::BufferId id, const DimVec& index, const Frame& f);
  bool turns(const loops::Instr& load, const Frame& first);
  bool turns(const loops::Store& s, const Frame& first);
  std::vector<llvm::Value*> places_along_rows(loops::BufferId id, const DimVec& index, const Frame& first);
  std::vector<llvm::Value*> rows_that_are(const Frame& first, llvm::Value* count);
  std::vector<llvm::Value*> turned(std::vector<llvm::Value*> rows);
  std::vector<llvm::Value*> load_square(const loops::Instr& i, const Frame& first, llvm::Value* count);
  Val turned_value(const loops::Instr& load, llvm::Value* row);
  llvm::Value* row_to_turn(const loops::Store& s, Frame& f);
  void store_square(const loops::Store& s, std::vector<llvm::Value*> rows, const Frame& first, llvm::Value* count);

  // Reductions.
  std::vector<Accumulator> accumulators(size_t copies);
  State read(const Accumulator& a, size_t copy);
  void write(const Accumulator& a, size_t copy, const State& state);
  State copies_as_one(const Accumulator& a, size_t copies, Frame& f);
  State take_in(const Accumulator& a, Frame& f, size_t copy, bool masked);
  State scan_lanes(const Accumulator& a, Frame& f);
  State element(loops::Ssa at, Frame& f);
  void finish_reduce(loops::Ssa at, Frame& f, State state, bool wide);
  State across_lanes(const loops::Instr& instr, State state);
  llvm::Value* alloca_at_entry(llvm::Type* type);

  // Instructions.
  Lanes as(const Val& v, bool wide);
  void instruction(loops::Ssa at, Frame& f);
  // In frames of neighbouring lanes.
  void everywhere(loops::Ssa at, std::vector<Frame>& frames);
  void side_by_side(loops::Ssa at, std::vector<Frame>& frames);
  void draw_everywhere(loops::Ssa at, Draws in, std::vector<Frame>& frames);
  void round_everywhere(loops::Ssa at, std::vector<Frame>& frames);
  Val load_for_some(const loops::Instr& i, const Place& at, const Mask& mask);
  void load_everywhere(loops::Ssa at, std::vector<Frame>& frames);
  void store_everywhere(const loops::Store& s, std::vector<Frame>& frames);
  Val scalar(loops::Ssa at, Frame& f);
  Val position(const loops::Instr& i, Frame& f);
  Val draw(const loops::Instr& i, Frame& f);
  Draws draws_in(Dim element);
  Dim at_first_point(Dim dim) const;  // of the axis that runs in lanes

  Dim at_points(Dim dim);

  // Memory.
  Dim address_of(loops::BufferId id, const DimVec& index) const;
  bool fits_half(loops::BufferId id) const;
  Place place(loops::BufferId id, const DimVec& index, Frame& f);
  llvm::Value* pointer(loops::BufferId id, llvm::Value* address, int part);
  llvm::Type* pair_type(loops::BufferId id) const;
  llvm::Align alignment(loops::BufferId id) const;
  Val load(const loops::Instr& i, Frame& f);
  // Elements as memory has them, of each part; where the mask does not hold, zero, or what one is `otherwise`.
  Lanes fetch(loops::BufferId id, const Place& at, bool wide, const Mask& mask, llvm::Value* otherwise = nullptr);
  void put(loops::BufferId id, const Place& at, bool wide, const Mask& mask, const Lanes& stored);
  // Whole vectors to consecutive elements each; past the caches if the buffer is far and the places allow it.
  struct Stored {
    llvm::Value *vector, *to;
  };
  void put_vectors(loops::BufferId id, std::span<const Stored> all);
  llvm::Value* spread(const Place& at);

  llvm::Value* as_neighbours(const Place& at, llvm::Value* mask, Place& neighbours);
  llvm::Value* either(llvm::Value* condition, const std::function<llvm::Value*()>& yes,
                      const std::function<llvm::Value*()>& no);

  // What hangs on the lanes alone (columns.cpp).
  void make_columns(const DimCode& outside);
  Columns of_columns(bool limits) const;  // limits: whoever asks sees to it that there are no more than `most`
  Dim along_lanes(Dim address, const Columns& columns) const;
  static const Window* window_of(const Columns& columns, Dim along, int64_t bits);
  const Window* window_of(const loops::Instr& i) const;
  bool picks_from(loops::BufferId id) const;
  llvm::Value* numbers_to_pick(llvm::Value* elements);
  llvm::Value* picked(llvm::Value* from, llvm::Value* which);
  void fill(const Window& w, Frame& f);
  void recall(Frame& f, bool by_inner);
  bool known_by_column(loops::Ssa at) const;
  static constexpr int kLeastGathered = 8;
  llvm::Value* places_to_read(llvm::Value* addresses, llvm::Value* mask);
  llvm::Value* gather_words(loops::BufferId id, llvm::Type* type, llvm::Value* addresses, llvm::Value* mask,
                            llvm::Value* otherwise);
  llvm::Value* gather(loops::BufferId id, llvm::Type* type, llvm::Value* addresses, int part, llvm::Value* mask,
                      llvm::Value* otherwise);
  bool always_has_points(Dim extent) const;
  std::optional<Val> through_window(const loops::Instr& i, Frame& f);
  static llvm::Type* element_of(llvm::Value* table);
  llvm::Value* entry_of(llvm::Value* table, Frame& f, bool by_inner);
  llvm::Value* recalled(llvm::Value* table, Frame& f, bool by_inner);
  // What is proved of the axis along the lanes is proved once for a nest, and of an address once for all its frames.
  struct InLanes {
    Dim address;
    bool from_whole_vectors;
    std::vector<int64_t> apart;     // how far each lane is from the first one; empty: that hangs on more than the lane
    Dim of_first;                   // unless it is empty
    std::optional<int64_t> stride;  // how far each point of the lane axis is from the one before
  };
  struct AlongLanes {
    loops::Axis axis;
    int lanes;
    loops::IndexSpace space;
    std::vector<InLanes> addresses;
  };
  AlongLanes& along_lanes() const;
  loops::IndexSpace points_of(const loops::Nest& n) const;
  const InLanes& in_lanes_at(Dim address, bool from_whole_vectors) const;

  // Lanes at fixed distances (windows.cpp).
  std::vector<int64_t> apart(Dim address, bool from_whole_vectors) const;
  std::vector<int64_t> places(loops::BufferId id, const Place& at) const;
  bool in_few_vectors(const std::vector<int64_t>& places) const;
  llvm::Value* element_at(loops::BufferId id, const Place& at, int64_t place);
  std::vector<llvm::Value*> elements_of_run(const std::vector<int64_t>& places, std::span<const int64_t> starts,
                                            const Run& run);
  llvm::Value* elements_of_lanes(const std::vector<int64_t>& places, int64_t start, llvm::Value* mask);
  std::vector<llvm::Value*> pick(loops::BufferId id, const Place& at, const Mask& mask, llvm::Value* otherwise);
  bool put_together(loops::BufferId id, const Place& at, const Mask& mask, const std::vector<llvm::Value*>& parts);
  llvm::Value* guarded(llvm::Value* condition, llvm::Value* otherwise, const std::function<llvm::Value*()>& make);
  void store(const loops::Store& s, Frame& f);

  Ir& ir_;
  const CpuTarget& target_;
  const bool shares_rows_;
  const loops::Program& program_;
  const loops::Kernel* whole_;
  // Of the way to write the kernel at hand: itself, or what it is within one tile.
  const loops::Kernel* kernel_;
  const Facts* facts_;
  bool in_one_turn_ = false;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  llvm::BasicBlock* exit_ = nullptr;
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> leaving_;
  KernelArguments arguments_;
  std::vector<loops::BufferId> registers_;  // local buffers without dims
  std::map<loops::BufferId, llvm::Value*> pointers_;
  std::vector<llvm::Value*> streams_;
  std::map<loops::BufferId, llvm::Value*> far_;  // buffers whose stores may go past the caches, and when

  std::vector<Reading> read_;  // by nests before, not yet fetched for the next point
  std::vector<loops::BufferId> fetched_;

  std::map<const loops::Nest*, Columns> columns_;

  // Of the nest at hand.
  const loops::Nest* nest_ = nullptr;
  const loops::Axis* lane_axis_ = nullptr;
  const loops::Axis* row_axis_ = nullptr;  // of squares, if the nest runs in squares
  Axes abreast_;                           // points of these go along their rows together
  int lanes_ = 1;
  mutable std::optional<AlongLanes> along_lanes_;
  std::optional<loops::IndexSpace> points_;
  std::vector<std::pair<Dim, Dim>> at_points_;  // of numbers: what they are at these points
  std::optional<ScalarCode> narrow_, wide_;
  std::vector<bool> inner_, late_, store_inner_;
  std::vector<Reading> next_;  // what to fetch for the kernel's next point
  std::vector<bool> fits_;     // of values: whether what is held of them is a number of their dtype
  // even_and_odd.cpp: of the nest; of the frames at hand; of the nest, whether it has more additions than products.
  bool may_be_even_and_odd_ = false, even_and_odd_ = false, mostly_adds_ = false;
  // Of a masked load that is only chosen where its mask holds: the constant elsewhere; of that choice: the load.
  std::vector<loops::Ssa> otherwise_, chosen_;
  std::vector<bool> late_rounded_;  // of conversions: whether the store at the end of what is chosen from them rounds
};

}  // namespace lenz::native
