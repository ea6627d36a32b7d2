// How many threads of this process the host runs at a time: what is a worker more has others wait for it.
//
// Tests: tests/unit/support/processors_test.cc.
#pragma once

#include <string_view>

namespace lemma {

// The processors that this thread may run on (sched_setaffinity(2), taskset, a container's cpuset), or as
// many as the process's control groups give the time of (`docker run --cpus`) if these are fewer; at least 1.
unsigned count_processors();

// The same, as it was when this was first asked.
unsigned usable_processors();

// How many processors' time a group's quota is, rounded up: 2 of "150000 100000", which is cpu.max of version
// 2 of control groups; 0 if the text names no quota.
unsigned processors_of_quota(std::string_view quota_and_period);

} // namespace lemma
