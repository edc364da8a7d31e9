// Thread-safety: as property.h.
#pragma once

#include "fuzz/property.h"

namespace lenz::fuzz {

Property text_round_trip();
Property broken_text();
Property structure();
Property drawn_calls();
Property broken_calls();
Property rows_alone();
Property rules_alone();
Property nests_alone();
Property pairs_alone();
Property code_alone();
Property exact_passes();
Property all_passes();
Property pass_alone();
Property settled();
Property passes_left_out();
Property passes_off();
Property loops_interpreted();
Property fused();
Property realised();
Property machine_code();
Property called_again();
Property called_elsewhere();
Property from_cache();
Property keeps_nothing();
Property linear();
Property rebound();
Property reference();
Property kernel_keys();
Property accounts();
Property decisions();
Property inductor();

}  // namespace lenz::fuzz
