#include "fuzz/reasons.h"

#include <algorithm>

namespace lenz::fuzz {

namespace {
constexpr uint64_t kRare = 500, kSeldom = 100, kNowAndThen = 25;

// The first that fits is it.
constexpr KnownReason kKnown[] = {
    // Writes and views that no values stand for: such graphs stay as they are written.
    {"@* stays at level torch*", kNowAndThen, "writes whose values nobody says: two of one memory, or in a branch"},
    {"@* stays at level aten*", kNowAndThen, "a row without a definition or loops that fit these operands"},
    {"a write to a tensor whose elements may share places*", kNowAndThen, "which of them is last is open"},
    {"a write to an element of the list input*", kSeldom, "lists are not written to"},
    {"* writes to tensors that share memory*", kSeldom, "as above"},
    {"an out= tensor that is resized where somebody else looks at it*", kNowAndThen, "who looks sees another size"},
    {"a part of @* begins with what an out= has resized", kSeldom, "the same, of a part"},
    {"a tensor * looked at through its memory", kSeldom, "of gaps and overlaps no element says where it lies"},
    {"an input that becomes a lazy view", kSeldom, "the caller's tensor would be conjugated"},
    {"a sub-graph that gives its caller's tensor another size", kSeldom, "its caller knows the old one"},
    {"*a reference for an input that gets another size at the end", kSeldom, "the reference has no such word"},
    // Branches and loops.
    {"@* returns something that is no value", kSeldom, "a branch that gives a literal"},
    {"@* returns a size, which control flow would have to carry", kSeldom, "sizes are no values"},
    {"@* needs *, which only the run knows", kSeldom, "a guard of a branch"},
    {"@* is called with sizes that break *", kSeldom, "the branch was specialised for others"},
    {"a loop that carries a size", kSeldom, "sizes are no values"},
    {"a sub-graph relies on what its caller knows not to hold*", kSeldom, "eager would take another branch"},
    // Numbers and sizes of the run.
    {"a definition asks for a number that only the run knows*", kNowAndThen, "its value would decide steps"},
    {"a definition orders a number that only the run knows*", kNowAndThen, "as above"},
    {"arithmetic of a number that only the run knows*", kNowAndThen, "as above"},
    {"a list, or sizes that only data know*", kSeldom, "of parts of a graph"},
    {"nothing prints *", kSeldom, "a literal that is no number"},
    {"more elements than a case may have*", kNowAndThen, "it would take minutes"},
    {"no sizes for it*", kNowAndThen, "facts that the drawn sizes break"},
    {"an input * has no initial value", kSeldom, "a type that no values are drawn of"},
    {"an input that is a list of tensors*", kNowAndThen, "programs take tensors"},
    {"input * is on *", kNowAndThen, "libtorch has no such device here"},
    {"loops over tensors on *", kNowAndThen, "as above"},
    // Eager itself.
    {"libtorch *", kNowAndThen, "eager dies of it, writes anywhere, or has no such op"},
    {"out of memory*", kSeldom, "a case has so much"},
    {"differs at other sizes, and eager's values are known*", kSeldom, "values_known.txt says why"},
    {"indices point beyond the dims at other sizes*", kNowAndThen, "they were drawn for the case's own"},
    {"code that is made quickly is wrong, and a user's is right", kRare, "LLVM's own, of its quick selection"},
    // Rows that say so themselves.
    {"*aten.*: a complex number as a value*", kSeldom, "no loops take it"},
    {"*aten.*: a sparse layout*", kSeldom, "there are none"},
    {"*aten.*: pinned memory*", kSeldom, "there is none"},
    {"*aten.*: a mask without dims*", kSeldom, "which takes all or nothing"},
    {"*aten.*: the result would be complex32*", kSeldom, "there is no such dtype"},
    {"*aten.*: an out= tensor with the reduced dim, which eager takes away*", kSeldom, "its rank would change"},
    {"*aten.*: of an empty matrix eager resizes `out` twice*", kSeldom, "and forgets its strides"},
    {"*aten.*: in evaluation eager leaves *", kSeldom, "a result that is none"},
    {"*aten.*: eager would resize a tensor of *", kSeldom, "as out= of others"},
    {"*aten.*: what eager makes of *", kSeldom, "of lists"},
    {"*aten.*: * is a size that is left open*", kSeldom, "a constant is wanted"},
    {"aten.* has no sampling *", kSeldom, "Lenz's stream has no such draws"},
    {"aten.* drops no complex numbers *", kSeldom, "as above"},
    {"aten.* gives a list and has no loops", kSeldom, "externs give tensors"},
};

bool fits(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}
}  // namespace

std::span<const KnownReason> known_reasons() { return kKnown; }

const KnownReason* known_reason(std::string_view reason) {
  reason = reason.substr(0, reason.find('\n'));
  const auto* found = std::ranges::find_if(kKnown, [&](const KnownReason& k) { return fits(k.text, reason); });
  return found == std::end(kKnown) ? nullptr : found;
}

std::vector<std::string> beyond_their_share(const std::map<std::string, uint64_t>& reasons, uint64_t cases) {
  constexpr uint64_t kFew = 8;  // may come together
  // A case has one for each property that meets it: what counts is the property that meets most.
  std::map<const KnownReason*, std::map<std::string, uint64_t>> counts;
  for (const auto& [text, count] : reasons) {
    const size_t colon = text.find(": ");
    if (colon == std::string::npos) continue;
    if (const KnownReason* known = known_reason(std::string_view(text).substr(colon + 2)))
      counts[known][text.substr(0, colon)] += count;
  }
  std::vector<std::string> beyond;
  for (const auto& [known, by_property] : counts) {
    uint64_t most = 0;
    for (const auto& [property, count] : by_property) most = std::max(most, count);
    if (most > std::max(kFew, cases / known->one_in))
      beyond.push_back(std::to_string(most) + " of " + std::to_string(cases) + " cases, of which one in " +
                       std::to_string(known->one_in) + " may: " + std::string(known->text));
  }
  return beyond;
}

}  // namespace lenz::fuzz
