// Lists of names in one text, as tables of rows write them: "gather index_select scatter".
#pragma once

#include <string_view>

namespace lenz {

inline bool has_word(std::string_view words, std::string_view word) {
  for (size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    size_t end = at + word.size();
    if ((at == 0 || words[at - 1] == ' ') && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

}  // namespace lenz
