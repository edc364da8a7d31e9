// Inputs and results of a run as .npz files: a key per input name (`%out0` for an input that has an output's), `out0`,
// `out1`, ... for outputs (numbers as arrays of i64, f64 or bool without dims), and an entry `lenz` of JSON that says
// of each tensor the dtype, sizes, strides, offset, `lazy` and with whom it `shares` memory (an earlier key, or an
// input); `"ending": "raised"` in it says that the run raised, "reference" that these are no results but what they are
// judged by. Thread-safety: free functions.
#pragma once

#include <string>

#include "oracle/bounds/reference.h"
#include "oracle/draw_inputs.h"
#include "oracle/execute.h"

namespace lenz::oracle {

// Where a text's constants lie: the files that it names are relative to it.
std::string folder_of(const std::string& text);

// What a command line says of inputs: a file (`path`), or how to draw them; `bind` the sizes of symbols.
struct GivenInputs {
  std::string path, bind;
  Values values = Values::ordinary;
  uint64_t seed = 0;
};
struct GivenGraph {
  std::unique_ptr<Graph> graph;
  Binding binding;  // complete, and held to the graph's facts
  std::vector<RunValue> values;
  std::vector<std::string> drawn;  // inputs that the file lacks
};
// A file's graph on them: where they break its guards, the graph that serves their sizes.
GivenGraph given_graph(const std::string& file, const GivenInputs& inputs, Boxed& boxed);
// The graph's inputs from a file, in the layout that their types say; symbols are read off the arrays' shapes, and off
// what numbers are. Inputs that the file has not are drawn, and named, or an error if it must have `all`: of numbers
// those that nothing says. UserError for arrays of other names, dtypes or shapes, and numbers that `binding`
// contradicts.
std::vector<RunValue> read_inputs(const std::string& path, const Graph& graph, Boxed& boxed, Binding& binding,
                                  uint64_t seed, bool all = false, std::vector<std::string>* drawn = nullptr);
void write_inputs(const std::string& path, const Graph& graph, std::span<const RunValue> values);
// Of an input in a file: its name, with % where that is an output's key, the description's or one in it; in quotes, as
// texts of graphs have it, where it can't be shown as it is.
std::string input_key(const Graph& graph, const Input& input);
inline constexpr const char* kReference = "reference";
// What a file of results does not say, and is taken to be as expected.
struct Untold {
  std::vector<std::string> layouts, sharers, numbers;  // keys of whose layout, memory, or value it says nothing
  bool prints = false;                                 // what the graph prints
  std::vector<size_t> outputs;                         // of which it has nothing: numbers
  bool contradicted = false;                           // sharing that its arrays belie was assumed, and is not any more

  std::vector<std::string> each() const;  // in words: "the layout of out0"
  std::string together() const;           // in a line: "the layouts of out0 to out5; who shares memory"
};
// As write_results writes it, or anybody: `expected` says which arrays there must be, `inputs` are what the run began
// with (in memory of their own) and stand for inputs that the file does not have. Without the entry `lenz`, or where it
// leaves something out, layout and sharing are taken to be as expected, and `untold` says so. UserError for a file that
// lacks an array, has one of an unknown name, or contradicts itself.
Execution read_results(const std::string& path, const Graph& graph, Boxed& boxed, const Execution& expected,
                       std::span<const RunValue> inputs, Untold& untold);
// Of a run that raised that it did, and nothing else.
enum class Layouts : uint8_t { told, untold };  // the strides, offsets and memory of tensors
void write_results(const std::string& path, const Graph& graph, const Execution& execution,
                   Layouts layouts = Layouts::told);
// Of each input whether a run may leave other elements in it: it is written to, or shares memory with one that is.
std::vector<bool> changed_inputs(const Graph& graph);
// The reference's values as float64, and where they are uncertain beside `out0` also `out0.error` and `out0.ambiguous`.
void write_reference(const std::string& path, const Graph& graph, const Reference& reference);

}  // namespace lenz::oracle
