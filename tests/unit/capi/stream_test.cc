// Streams, events and asynchronous copies: include/lemma/c/stream.h. What runs when is tested for the C++
// API, tests/unit/runtime/stream_test.cc.
#include "c_test.h"

#include <array>
#include <atomic>
#include <thread>

namespace lemma {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[3] = {104, 105, 0};

// Waits until *flag is 1, then writes 7 to *out.
.visible .entry waits(.param .u64 flag, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r;
  .reg .pred %p;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  griddepcontrol.launch_dependents;
again:
  ld.acquire.sys.global.u32 %r, [%rd1];
  setp.ne.u32 %p, %r, 1;
  @%p bra again;
  st.release.sys.global.u32 [%rd2], 7;
  ret;
}

// *flag = 1, so that a kernel before it that waits for that ends; then *out += 1.
.visible .entry sets(.param .u64 flag, .param .u64 out)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r;
  ld.param.u64 %rd1, [flag];
  ld.param.u64 %rd2, [out];
  st.release.sys.global.u32 [%rd1], 1;
  griddepcontrol.wait;
  ld.global.u32 %r, [%rd2];
  add.u32 %r, %r, 1;
  st.global.u32 [%rd2], %r;
  ret;
}

// *out += 1
.visible .entry adds(.param .u64 out)
{
  .reg .b64 %rd;
  .reg .b32 %r;
  ld.param.u64 %rd, [out];
  ld.global.u32 %r, [%rd];
  add.u32 %r, %r, 1;
  st.global.u32 [%rd], %r;
  ret;
}

.visible .entry says()
{
  .reg .b64 %rd;
  .param .b64 f; .param .b64 a; .param .b32 r;
  mov.u64 %rd, text;
  st.param.b64 [f], %rd;
  st.param.b64 [a], 0;
  call (r), vprintf, (f, a);
  ret;
}

.visible .entry traps()
{
  trap;
}
)";

using Stream_ = std::unique_ptr<lemma_stream, void (*)(lemma_stream*)>;
using Event_ = std::unique_ptr<lemma_event, void (*)(lemma_event*)>;

Stream_ create(lemma_device* device) {
  lemma_stream* stream = nullptr;
  EXPECT_OK(lemma_stream_create(device, nullptr, &stream));
  return {stream, lemma_stream_release};
}

Event_ record(const Stream_& stream) {
  lemma_event* event = nullptr;
  EXPECT_OK(lemma_stream_record(stream.get(), &event));
  return {event, lemma_event_release};
}

// What a launch's `done` was told.
struct Ended {
  static void note(void* user, const lemma_report* report, const lemma_error* error) {
    auto& self = *static_cast<Ended*>(user);
    EXPECT_NE(report == nullptr, error == nullptr);
    self.text = report ? report->rendered : error->text;
    self.outcome = report ? std::optional(report->outcome) : std::nullopt;
    ++self.calls;
    lemma_report_release(report);
    lemma_error_release(error);
  }
  lemma_launch_done done() {
    lemma_launch_done made = LEMMA_SIZED(lemma_launch_done);
    made.call = note;
    made.user = this;
    return made;
  }
  int calls = 0;
  std::optional<lemma_outcome> outcome;
  std::string text;
};

class CStreams : public testing::Test {
protected:
  // A word that the host sees too.
  uint64_t shared_word() const {
    lemma_allocate_options options = LEMMA_SIZED(lemma_allocate_options);
    options.host_shared = true;
    uint64_t address = 0;
    EXPECT_OK(lemma_allocate(gpu_.device, 4, &options, &address));
    return address;
  }
  static std::atomic_ref<uint32_t> host(uint64_t address) {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(address));
  }
  const lemma_error* launch(const Stream_& stream, const char* kernel, const std::vector<uint64_t>& addresses,
                            Ended* ended = nullptr, bool programmatic = false) {
    std::vector<lemma_bytes> arguments;
    for (const uint64_t& address : addresses)
      arguments.push_back(bytes_of(address));
    lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
    config.programmatic = programmatic;
    const lemma_launch_done done = ended ? ended->done() : LEMMA_SIZED(lemma_launch_done);
    return lemma_stream_launch(stream.get(), gpu_.module, kernel, &config, arguments.data(), arguments.size(),
                               ended ? &done : nullptr);
  }

  Loaded gpu_{kText};
  Stream_ stream_ = create(gpu_.device);
};

TEST_F(CStreams, OperationsRunInTheirOrder) {
  const uint64_t x = gpu_.allocate(4), y = gpu_.allocate(4);
  const uint32_t forty = 40;
  std::array<uint32_t, 2> results{};
  struct Seen {
    const uint32_t* result;
    uint32_t value;
  } seen{.result = results.data(), .value = 0};
  Ended ended;
  EXPECT_OK(lemma_stream_write(stream_.get(), x, &forty, 4));
  EXPECT_OK(launch(stream_, "adds", {x}, &ended));
  EXPECT_OK(lemma_stream_copy(stream_.get(), y, x, 4));
  EXPECT_OK(lemma_stream_fill(stream_.get(), x, 0x11, 4));
  EXPECT_OK(lemma_stream_read(stream_.get(), results.data(), y, 4));
  lemma_host_function function = LEMMA_SIZED(lemma_host_function);
  function.user = &seen;
  function.call = [](void* user) -> const lemma_error* {
    auto& at = *static_cast<Seen*>(user);
    at.value = *at.result;
    return nullptr;
  };
  EXPECT_OK(lemma_stream_call(stream_.get(), &function));
  EXPECT_OK(lemma_stream_read(stream_.get(), &results[1], x, 4));
  EXPECT_OK(lemma_stream_synchronize(stream_.get()));
  EXPECT_TRUE(lemma_stream_is_done(stream_.get()));
  EXPECT_EQ(seen.value, 41u);
  EXPECT_EQ(results, (std::array<uint32_t, 2>{41, 0x11111111}));
  EXPECT_EQ(ended.calls, 1);
  EXPECT_EQ(ended.outcome, LEMMA_OUTCOME_FINISHED);
}

TEST_F(CStreams, AKernelMayWaitForTheHost) {
  const uint64_t flag = shared_word(), out = shared_word();
  EXPECT_OK(launch(stream_, "waits", {flag, out}));
  const Event_ end = record(stream_);
  EXPECT_FALSE(lemma_stream_is_done(stream_.get()));
  EXPECT_FALSE(lemma_event_is_done(end.get()));
  double seconds = 0;
  EXPECT_EQ(kind_of(lemma_event_elapsed(end.get(), end.get(), &seconds)), LEMMA_ERROR_INVALID_ARGUMENT);
  host(flag) = 1;
  EXPECT_OK(lemma_event_synchronize(end.get()));
  EXPECT_TRUE(lemma_event_is_done(end.get()));
  EXPECT_EQ(host(out), 7u);
}

TEST_F(CStreams, EventsOrderStreams) {
  const uint64_t flag = shared_word(), out = shared_word();
  const Stream_ other = create(gpu_.device);
  const Event_ begin = record(other);
  EXPECT_OK(launch(stream_, "waits", {flag, out}));
  const Event_ end = record(stream_);
  EXPECT_OK(lemma_stream_wait(other.get(), end.get()));
  EXPECT_OK(launch(other, "adds", {out}));
  host(flag) = 1;
  EXPECT_OK(lemma_device_synchronize(gpu_.device));
  EXPECT_EQ(host(out), 8u);
  double seconds = -1;
  EXPECT_OK(lemma_event_elapsed(begin.get(), end.get(), &seconds));
  EXPECT_GT(seconds, 0);

  const Loaded another(kText);
  const Stream_ foreign = create(another.device);
  EXPECT_EQ(said(lemma_stream_wait(foreign.get(), end.get())),
            "the event is of another device than the stream that is to wait");
  EXPECT_EQ(kind_of(launch(foreign, "traps", {})), LEMMA_ERROR_INVALID_ARGUMENT);
}

// "waits" ends only because the launch behind it runs beside it; the sum says that it waited all the same.
TEST_F(CStreams, AProgrammaticLaunchBeginsEarly) {
  const uint64_t flag = gpu_.allocate(4), out = gpu_.allocate(4);
  EXPECT_OK(launch(stream_, "waits", {flag, out}));
  EXPECT_OK(launch(stream_, "sets", {flag, out}, nullptr, true));
  uint32_t result = 0;
  EXPECT_OK(lemma_stream_read(stream_.get(), &result, out, 4));
  EXPECT_OK(lemma_stream_synchronize(stream_.get()));
  EXPECT_EQ(result, 8u);
}

TEST_F(CStreams, WhatFailsTakesWithItWhatComesAfter) {
  const uint64_t out = shared_word();
  Ended fault, after;
  EXPECT_OK(launch(stream_, "traps", {}, &fault));
  EXPECT_OK(launch(stream_, "adds", {out}, &after));
  const Event_ end = record(stream_);
  EXPECT_EQ(kind_of(lemma_event_synchronize(end.get())), LEMMA_ERROR_KERNEL_FAILED);
  EXPECT_EQ(kind_of(lemma_stream_synchronize(stream_.get())), LEMMA_ERROR_KERNEL_FAILED);
  EXPECT_OK(lemma_stream_synchronize(stream_.get()));
  EXPECT_EQ(fault.outcome, LEMMA_OUTCOME_FAULT);
  EXPECT_EQ(after.calls, 1);
  EXPECT_EQ(after.outcome, std::nullopt);
  EXPECT_EQ(after.text, fault.text);
  EXPECT_EQ(host(out), 0u);
  EXPECT_OK(launch(stream_, "adds", {out}));
  EXPECT_OK(lemma_stream_synchronize(stream_.get()));
  EXPECT_EQ(host(out), 1u);

  // What cannot be launched is an error of the call, and nobody is told later.
  EXPECT_EQ(kind_of(launch(stream_, "adds", {}, &after)), LEMMA_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(after.calls, 1);
  uint32_t word = 0;
  EXPECT_OK(lemma_stream_write(stream_.get(), 16, &word, 4));
  EXPECT_EQ(kind_of(lemma_stream_synchronize(stream_.get())), LEMMA_ERROR_INVALID_ARGUMENT);
}

TEST_F(CStreams, AHostFunctionMayFailAndMustNotWait) {
  struct Calls {
    lemma_stream* stream;
    std::string said_inside;
  } calls{.stream = stream_.get(), .said_inside = {}};
  lemma_host_function function = LEMMA_SIZED(lemma_host_function);
  function.user = &calls;
  function.call = [](void* user) {
    auto& at = *static_cast<Calls*>(user);
    at.said_inside = said(lemma_stream_synchronize(at.stream));
    return lemma_error_create(LEMMA_ERROR_INVALID_ARGUMENT, "the disk is full");
  };
  EXPECT_OK(lemma_stream_call(stream_.get(), &function));
  EXPECT_NE(said(lemma_stream_synchronize(stream_.get())).find("the disk is full"), std::string::npos);
  EXPECT_NE(calls.said_inside.find("callback"), std::string::npos) << calls.said_inside;
}

// Neither the handles nor the configuration are needed once the call has returned; the observer is copied.
TEST_F(CStreams, HandlesMayBeReleasedBeforeTheEnd) {
  const uint64_t flag = shared_word(), out = shared_word();
  lemma_module* module = nullptr;
  ASSERT_OK(lemma_module_load(gpu_.device, kText, std::strlen(kText), nullptr, &module));
  std::atomic<int> instructions{0};
  std::string printed;
  {
    const Stream_ brief = create(gpu_.device);
    EXPECT_OK(launch(brief, "waits", {flag, out}));
    lemma_observer observer = LEMMA_SIZED(lemma_observer);
    observer.user = &instructions;
    observer.executes = [](void* user, const lemma_warp_step*) { ++*static_cast<std::atomic<int>*>(user); };
    lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
    config.observer = &observer;
    config.user = &printed;
    config.print = [](void* user, const char* text, size_t bytes) {
      static_cast<std::string*>(user)->append(text, bytes);
    };
    EXPECT_OK(lemma_stream_launch(brief.get(), module, "says", &config, nullptr, 0, nullptr));
    lemma_module_unload(module);
  }
  host(flag) = 1;
  EXPECT_OK(lemma_device_synchronize(gpu_.device));
  EXPECT_EQ(host(out), 7u);
  EXPECT_EQ(printed, "hi");
  EXPECT_GE(instructions, 5);
}

TEST_F(CStreams, DefaultStreamsAreCudas) {
  const uint64_t flag = shared_word(), out = shared_word(), free_running = shared_word();
  lemma_stream *legacy = nullptr, *mine = nullptr, *apart = nullptr;
  ASSERT_OK(lemma_stream_default(gpu_.device, &legacy));
  ASSERT_OK(lemma_stream_thread_default(gpu_.device, &mine));
  lemma_stream_options options = LEMMA_SIZED(lemma_stream_options);
  options.non_blocking = true;
  ASSERT_OK(lemma_stream_create(gpu_.device, &options, &apart));
  const Stream_ first(legacy, lemma_stream_release), second(mine, lemma_stream_release),
      third(apart, lemma_stream_release);
  EXPECT_OK(launch(first, "waits", {flag, out}));
  EXPECT_OK(launch(second, "adds", {out}));
  EXPECT_OK(launch(third, "adds", {free_running}));
  EXPECT_OK(lemma_stream_synchronize(third.get()));
  EXPECT_EQ(host(free_running), 1u);
  EXPECT_EQ(host(out), 0u);
  EXPECT_FALSE(lemma_stream_is_done(second.get()));
  host(flag) = 1;
  EXPECT_OK(lemma_stream_synchronize(second.get()));
  EXPECT_EQ(host(out), 8u);
}

TEST(CStreamOptions, WhoWaitsForEverIsADeadlockWithoutPatience) {
  lemma_device_options options = LEMMA_SIZED(lemma_device_options);
  options.patience_seconds = -1;
  lemma_device* device = nullptr;
  lemma_module* module = nullptr;
  ASSERT_OK(lemma_device_open("cpu", &options, &device));
  ASSERT_OK(lemma_module_load(device, kText, std::strlen(kText), nullptr, &module));
  uint64_t words = 0;
  ASSERT_OK(lemma_allocate(device, 8, nullptr, &words));
  const uint64_t out = words + 4;
  const Stream_ stream = create(device);
  const lemma_bytes arguments[] = {bytes_of(words), bytes_of(out)};
  EXPECT_OK(lemma_stream_launch(stream.get(), module, "waits", nullptr, arguments, 2, nullptr));
  const std::string text = said(lemma_stream_synchronize(stream.get()));
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  lemma_module_unload(module);
  lemma_device_close(device);
}

TEST(CStreamOptions, ClosingWaitsForStreams) {
  lemma_device* device = nullptr;
  lemma_module* module = nullptr;
  ASSERT_OK(lemma_device_open("cpu", nullptr, &device));
  ASSERT_OK(lemma_module_load(device, kText, std::strlen(kText), nullptr, &module));
  alignas(8) std::array<uint32_t, 2> words{}; // the caller's own: a flag, and what comes of it
  ASSERT_OK(lemma_register_host(device, words.data(), sizeof words, nullptr));
  uint64_t copy = 0;
  ASSERT_OK(lemma_allocate(device, 4, nullptr, &copy));
  const uint64_t flag = reinterpret_cast<uintptr_t>(words.data()), out = flag + 4;
  const Stream_ stream = create(device);
  const lemma_bytes arguments[] = {bytes_of(flag), bytes_of(out)};
  uint32_t seen = 0;
  EXPECT_OK(lemma_stream_launch(stream.get(), module, "waits", nullptr, arguments, 2, nullptr));
  EXPECT_OK(lemma_stream_copy(stream.get(), copy, out, 4));
  EXPECT_OK(lemma_stream_read(stream.get(), &seen, copy, 4));
  EXPECT_FALSE(lemma_stream_is_done(stream.get()));
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    std::atomic_ref<uint32_t>(words[0]).store(1);
  });
  lemma_device_close(device);
  EXPECT_EQ(seen, 7u); // by way of memory that is freed now
  other.join();
  EXPECT_TRUE(lemma_stream_is_done(stream.get()));
  EXPECT_OK(lemma_stream_read(stream.get(), &seen, copy, 4));
  EXPECT_EQ(kind_of(lemma_stream_synchronize(stream.get())), LEMMA_ERROR_INVALID_ARGUMENT);
  lemma_module_unload(module);
}

TEST(CStreamOptions, WhatNothingOrdersIsFound) {
  lemma_device_options options = LEMMA_SIZED(lemma_device_options);
  options.check_streams = true;
  lemma_device* device = nullptr;
  ASSERT_OK(lemma_device_open("cpu", &options, &device));
  uint64_t x = 0;
  ASSERT_OK(lemma_allocate(device, 64, nullptr, &x));
  for (const bool ordered : {true, false}) {
    const Stream_ a = create(device), b = create(device);
    EXPECT_OK(lemma_stream_fill(a.get(), x, 1, 64));
    const Event_ filled = record(a);
    if (ordered) {
      EXPECT_OK(lemma_stream_wait(b.get(), filled.get()));
    }
    EXPECT_OK(lemma_stream_fill(b.get(), x, 2, 64));
    EXPECT_OK(lemma_device_synchronize(device));
    lemma_findings* findings = nullptr;
    ASSERT_OK(lemma_findings_create(&findings));
    EXPECT_OK(lemma_findings_add_streams(findings, device));
    const lemma_findings_info* info = nullptr;
    ASSERT_OK(lemma_findings_describe(findings, &info));
    ASSERT_EQ(info->finding_count, ordered ? 0u : 1u) << info->text;
    if (!ordered) {
      EXPECT_STREQ(info->findings[0]->id, "stream.race");
    }
    lemma_findings_release(findings);
  }
  lemma_device_close(device);
}

TEST_F(CStreams, NullIsAnError) {
  EXPECT_EQ(said(lemma_stream_create(gpu_.device, nullptr, nullptr)), "lemma_stream_create: stream is null");
  EXPECT_EQ(said(lemma_stream_call(stream_.get(), nullptr)), "lemma_stream_call: function is null");
  const lemma_host_function nobody = LEMMA_SIZED(lemma_host_function);
  EXPECT_EQ(said(lemma_stream_call(stream_.get(), &nobody)), "lemma_stream_call: function.call is null");
  EXPECT_EQ(said(lemma_stream_write(stream_.get(), 0, nullptr, 4)), "lemma_stream_write: source is null");
  EXPECT_EQ(said(lemma_stream_wait(stream_.get(), nullptr)), "lemma_stream_wait: event is null");
  EXPECT_EQ(said(lemma_stream_launch(stream_.get(), gpu_.module, "adds", nullptr, nullptr, 1, nullptr)),
            "lemma_stream_launch: arguments is null");
  lemma_stream* none = nullptr;
  EXPECT_EQ(said(lemma_stream_synchronize(none)), "lemma_stream_synchronize: stream is null");
  lemma_stream_release(none);
  lemma_event_release(nullptr);
}

} // namespace
} // namespace lemma
