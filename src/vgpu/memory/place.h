// Where in the program an instruction stands, for reports.
#pragma once

#include "lemma/report.h"
#include "vgpu/code/code.h"

namespace lemma::vgpu {

// PTX line and text, and the .loc in force. An instruction the decoder made has the place of the one it
// serves.
Place place_of(const Code& code, InstId id);
inline Place place_of(const Code& code, const DecodedInst& in) {
  return place_of(code, code.id_of(in));
}

} // namespace lemma::vgpu
