// A text that errors point into: "file:3:7", the line and a caret under the place.
// Thread-safety: values over constant text.
#pragma once

#include <string>
#include <string_view>

#include "compiler/base/error.h"

namespace lenz {

struct Position {
  size_t line = 1, column = 1;  // columns count bytes
};

class Source {
 public:
  Source(std::string_view text, std::string name) : text_(text), name_(std::move(name)) {}
  std::string_view text() const { return text_; }
  const std::string& name() const { return name_; }
  Position position(size_t at) const;
  std::string where(size_t at) const;  // "file:3:7"

  // An error about the bytes [at, end): the message, then the line with a caret under them.
  UserError error(size_t at, size_t end, const std::string& message, const std::string& remedy = {}) const;

 private:
  std::string_view text_;
  std::string name_;
};

}  // namespace lenz
