// A program that fails, and was not checked, ends with the command that checks it: `lemma exec` leaves that
// command to the process that it becomes.
//
// Tests: tests/exec/exec_test.py.
#pragma once

namespace lemma::driver {

// With LEMMA_IF_FAILED, "PID COMMAND": the process of that number says COMMAND when it exits with another
// status than 0, or aborts.
void say_command_if_failing();

} // namespace lemma::driver
