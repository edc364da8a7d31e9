// Which passes run, where, and how many of their rewrites: what a bisection turns.
//
//   -dead_code          not this pass           -@torch       no pass at this level
//   dead_code:3         its first 3 rewrites    dead_code:#3  only its 3rd
//   all:120             the first 120 rewrites of all passes together
//   -all,+dead_code     only this pass (`+` turns on again what stood before)
//
// Items are separated by commas and read from the left. Rewrites are counted from 1 over all runs of a pass.
// Thread-safety: a value.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "compiler/passes/pass.h"

namespace lenz {

class PassSelection {
 public:
  PassSelection() = default;
  // UserError for a name that no line has, with the nearest one.
  static PassSelection parse(std::string_view text, std::span<const PipelineLine> lines);

  bool enabled(std::string_view pass, Level level) const;
  Window window(std::string_view pass) const;
  Window total() const { return total_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::map<std::string, bool, std::less<>> enabled_;
  std::map<std::string, Window, std::less<>> windows_;
  Window total_;
  bool all_ = true;
  bool levels_[3] = {true, true, true};
};

}  // namespace lenz
