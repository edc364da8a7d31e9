// One graph on one set of inputs: what eager gives there, and what any other way to compute the same is held to.
// Thread-safety: one thread; the graph, the machine and the inputs outlive it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "compiler/loops/program.h"
#include "oracle/asked_outputs.h"
#include "oracle/bounds/reference.h"
#include "oracle/draw_inputs.h"
#include "oracle/interpreted.h"
#include "oracle/known_faults.h"
#include "oracle/native_run.h"

namespace lenz::oracle {

// What a run of a program is held to besides its results.
struct HowRun {
  bool drawn = false;        // its random ops draw from Lenz's stream: so does the reference then
  size_t drawn_by_host = 0;  // calls draw as eager does: beside any others they are compared from outside alone
  bool by_host = false;      // libtorch computes some of it, and is excused there as eager is
};
HowRun how_run(const loops::Program& program, bool products_outside = false);

class Trial {
 public:
  Trial(const Graph& graph, Boxed& boxed, const InputSource& inputs, Binding binding, ExecuteOptions options);

  const Graph& graph() const { return graph_; }
  const Binding& binding() const { return binding_; }
  // Where eager raises at what nobody needs, how it ends without that: needless.h.
  const Execution& expected() const { return expected_; }
  bool needless() const { return refusal_.has_value(); }
  std::vector<RunValue> inputs() const { return inputs_.make(boxed_); }  // the same values, in memory of their own

  Execution eager(const Graph& other) const;  // another graph of the same inputs
  // `kernels`, if there is one, runs the kernels instead of the interpreter.
  Execution on_loops(const loops::Program& program, KernelRunner kernels = {}) const;
  Execution on_executable(runtime::Executable& executable) const;
  // What the first nodes of a functional graph give as loops, and the others in eager behind them.
  Execution on_loops_up_to(const Graph& core, size_t nodes) const;

  // In any bit. Runs that memory ended say nothing of results, here and below: out_of_memory notes them.
  std::optional<Mismatch> differs(const Execution& got);
  // By the reference; nothing if that does not run here.
  std::optional<Judgement> judged(Widening widening, const Execution& got, Draws draws = Draws::eager);
  // From outside alone: of eager's own draws in another order, nothing is known of their values.
  std::optional<Mismatch> differs_outside(const Execution& got);
  // From outside, and by the bounds.
  std::optional<Mismatch> out_of_bounds(const Execution& got, HowRun how = {});
  // The same of what libtorch computed: where it is known to be off it is not held against it. `elements`: those that
  // bounds judge, where they are written otherwise there.
  std::optional<Mismatch> eager_out_of_bounds(const Execution& got, const Execution* elements = nullptr);
  // What eager's own run has of that in what anything was held to so far: a wrong definition misleads the reference as
  // it misleads the compiler.
  std::optional<Mismatch> eager_beyond_bounds();
  bool same(const Execution& got);  // whether differs() says nothing
  // Whether it differs where a zero may have either sign and in what hangs on such decisions alone.
  bool hangs_on_signs_of_zero(const Execution& got);
  // What libtorch computed, given some leeway more.
  bool within(const Leeway& by, const Execution& got, Draws draws = Draws::eager);

  // The inputs keep every operation on floats exact (exact.h): out_of_bounds leaves no bounds then.
  bool exact = false;
  bool asks_likeness = false;     // of results that bounds leave open, of ordinary values, where no float decides
  size_t alike = 0;               // how often it was asked, and was there
  bool by_the_reference = false;  // whether a run that was no eager's bit for bit was held to the reference's bounds
  std::string out_of_memory;      // what there was not enough for, and where
  std::string unasked;            // the row whose meaning does not ask what one of the two refused
  std::string no_stream;  // why random ops were compared from outside alone: an op that Lenz's stream does not draw

 private:
  bool lacks_memory(const Execution& got);
  // Whether one of the two ended as eager refuses what a row's meaning does not ask.
  bool refuses_unasked(const Execution& got);
  const Graph& needed() const { return needed_ ? *needed_ : graph_; }
  // What a run has to be like: it may raise where eager does so needlessly, or end as without that.
  const Execution& as_ended(const Execution& got) const;
  bool open(bool Reference::* what, Widening widening, Draws draws);  // says the reference
  size_t lines_certain(Widening widening, Draws draws);               // and how much of what is printed is not
  // From outside, but for refusals, sizes and lines that hang on what the reference leaves open.
  std::optional<Mismatch> differs_outside(const Execution& got, Widening widening, Draws draws);
  std::optional<Mismatch> differs_outside(const Execution& expected, const Execution& got, Widening widening,
                                          Draws draws);

  const Graph& graph_;
  Boxed& boxed_;
  const InputSource& inputs_;
  Binding binding_;
  ExecuteOptions options_;
  Execution expected_;
  std::optional<Execution> refusal_;  // what eager does with nodes that raise and that nobody needs
  std::unique_ptr<Graph> needed_;     // the graph without them; null: there are none
  using How = std::pair<Widening, Draws>;
  const Reference& reference(Widening widening, Draws draws);
  std::map<How, Reference> references_;
  // The reference of some outputs alone, of a graph that makes nothing else.
  struct Part {
    Asked outputs;
    std::unique_ptr<Graph> graph;
    Reference right;
  };
  std::map<How, std::vector<std::unique_ptr<Part>>> parts_;
  std::vector<const Part*> computed(How how, const Asked& asked);
  std::vector<const Part*> parts_with(Widening widening, Draws draws, const Asked& asked);
  // By the bounds, in what is not eager's bit for bit.
  std::optional<Mismatch> differs_beyond(Widening widening, const Execution& got, Draws draws);
  std::optional<Mismatch> worst_of(std::span<const Part* const> parts, const Execution& got);
  std::optional<Mismatch> differs_from_noise(const Execution& got, Widening widening);
  std::vector<Reference> noisy_;
};

bool draws(const Graph& graph);  // whether any of its ops is random, those of sub-graphs too

}  // namespace lenz::oracle
