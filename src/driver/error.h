// What Lemma's faults and errors are as CUresult.
//
// A fault's number is what an H200 gives for the same kernel where that was measured
// (src/runtime/cuda_device.cc reads them the other way round), else the nearest in meaning.
//
// Tests: tests/driver/faults.cc, module_errors.cc.
#pragma once

#include "driver/types.h"
#include "lemma/message.h"
#include "lemma/report.h"
#include "lemma/result.h"

namespace lemma::driver {

CUresult status_of(FaultKind kind);
// What Lemma lacks, not the program: an error of that launch, after which the context is sound.
bool is_lemmas_own(FaultKind kind);
// Of a call of Lemma's API that did not do what it was asked for.
CUresult status_of(const Error& error);
CUresult status_of(const Result<void, Error>& result);

} // namespace lemma::driver
