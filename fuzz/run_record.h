// A run's line in the store: what was searched, by which build, from which seed. Thread-safety: as Database.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "corpus/store/database.h"

namespace lenz::fuzz {

// The store's file in this folder, which is made. UserError.
std::string store_in(const std::string& folder);

int64_t new_run(store::Database& store, std::string_view kind, uint64_t seed, const std::string& options);
// The number and the seed of the last run of a kind. UserError: there is none, or another build's, or of other options.
std::pair<int64_t, uint64_t> last_run(store::Database& store, std::string_view kind, const std::string& options);

}  // namespace lenz::fuzz
