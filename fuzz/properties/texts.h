// What is asked of texts: that nothing is lost in them, and that who reads a broken one is told where it is broken.
// Thread-safety: as property.h.
#pragma once

#include <string>

#include "compiler/base/chooser.h"
#include "compiler/base/error.h"
#include "compiler/graph/text.h"

namespace lenz::fuzz {

// What is lost when a graph is printed and read again; empty: nothing.
std::string lost_in_text(const Graph& graph, const PrintOptions& options);

// A text with one thing wrong, and what a reader has to be told.
struct BrokenText {
  std::string text;
  std::string change;  // for people
  size_t at = 0;       // where it breaks: bytes from its beginning
  size_t length = 0;   // of what is wrong there; 0: anything
  std::string words;   // among those that are said
};
// Empty where the text has no such place. It must be what print() makes of a valid graph.
BrokenText break_text(const std::string& text, Chooser& choose);

// What is wrong with what a reader of that text is told. Empty: nothing.
std::string told_wrongly(const BrokenText& broken);

// What is wrong with how an error quotes the text: its place, the line, what is underlined. Empty: nothing. `length`:
// of what it is about; 0: not known.
std::string misquoted(const UserError& error, const std::string& text, size_t length);

}  // namespace lenz::fuzz
