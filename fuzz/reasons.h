// Why a case may be covered in part. A construct that loses its loops or its machine code gives no wrong result: all
// that is to be seen is a reason that nobody knows, or a known one that comes more often than it did.
// Thread-safety: pure functions over constant data.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lenz::fuzz {

struct KnownReason {
  std::string_view text;  // of what is thrown as Unsupported; '*' stands for anything
  uint64_t one_in;        // at most one case in so many has it
  std::string_view why;   // for people
};
std::span<const KnownReason> known_reasons();
// Null: nobody knows it.
const KnownReason* known_reason(std::string_view reason);

// The known reasons that more cases have than may: `reasons` as CampaignSummary::why_not counts them, by property.
std::vector<std::string> beyond_their_share(const std::map<std::string, uint64_t>& reasons, uint64_t cases);

}  // namespace lenz::fuzz
