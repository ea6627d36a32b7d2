// Host threads that stay from one launch to the next, shared by all devices of the process: a small launch
// must not pay for starting threads.
//
// Threads are started when they are first wanted, and wait, blocked, for as long as the process lives. They
// take no signals but those of faults, so that a program's handlers run on its own threads. At exit those
// that wait are joined; one that still works (another thread called exit()) is left to the end of the
// process. After fork() the child has a pool of its own; a run that was going on in the parent goes on there
// only.
//
// Tests: tests/unit/support/worker_pool_test.cc.
#pragma once

#include <cstdint>
#include <functional>

namespace lemma {

// Calls f() on this thread and, at the same time, on up to `helpers` others; returns when all calls have.
// Others join in as they wake up: there may be fewer calls where the one on this thread ends soon or the host
// has no more threads, so that f must do all of the work if it is called once. What a call throws (the first
// that does) comes out when all have returned.
void run_on_workers(uint64_t helpers, const std::function<void()>& f);

// Calls f(), which must not throw, on another thread, and does not wait for it: at once, unless as many
// threads as there may be are at work. False: the host has no thread, and nobody will.
bool call_on_worker(std::function<void()> f);

} // namespace lemma
