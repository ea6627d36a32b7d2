// What runs when the process is ended by a signal: in the reports for whoever has started it (LEMMA_REPORTS),
// or, with LEMMA_SAY_WHEN_KILLED, on standard error.
//
// Tests: tests/exec/exec_test.py.
#pragma once

#include "lemma/running_launch.h"

namespace lemma::driver {

// DeviceOptions::on_running.
void note_running(const RunningLaunch& running);

// With LEMMA_SAY_WHEN_KILLED: SIGTERM and SIGINT, where the program leaves them to the system, end the
// process as before, but what runs is said first.
void say_what_runs_when_killed();

} // namespace lemma::driver
