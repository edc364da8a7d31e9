// A folder of one's own, for as long as it is needed.
// Thread-safety: a value of one thread.
#pragma once

#include <string>

namespace lenz::oracle {

class Scratch {
 public:
  Scratch();  // throws UserError where there is no room for it
  ~Scratch();
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace lenz::oracle
