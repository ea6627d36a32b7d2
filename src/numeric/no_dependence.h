// LEMMA_NO_DEPENDENCE before a loop: its iterations touch nothing of one another, so it may become vectors.
// A macro, since each compiler has a pragma of its own for it; the file has nothing else and may be included
// anywhere.
//
// Tests: none of its own; those of the loops.
#pragma once

#if defined(__clang__)
#define LEMMA_NO_DEPENDENCE _Pragma("clang loop vectorize(assume_safety)")
#else
#define LEMMA_NO_DEPENDENCE _Pragma("GCC ivdep")
#endif
