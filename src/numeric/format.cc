#include "numeric/format.h"

namespace lemma::numeric {} // namespace lemma::numeric
