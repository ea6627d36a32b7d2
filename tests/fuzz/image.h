// The one check of images (lemma/image.h): any bytes are refused with words, or give texts; and where a
// fatbin says how long it is, a pointer to it gives what its bytes do. Over-reads are the sanitizer's to
// notice: the bytes lie in memory of just their size.
#pragma once

#include "front_end.h"

namespace lemma::fuzz {

Verdict check_image(std::string_view bytes);

} // namespace lemma::fuzz
