// Result is public: include/lemma/result.h defines it, for the library's inside as well.
#pragma once

#include "lemma/result.h"
