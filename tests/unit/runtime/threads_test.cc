// The API from several threads: what waits for a launch, what a callback may do, calls in any order. Under
// -DLEMMA_SANITIZE=thread or address these tests say most.
#include "lemma/lemma.h"
#include "threads_kernels.h"

#include <gtest/gtest.h>

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>

namespace lemma {
namespace {

constexpr uint32_t kRounds = 300'000; // long enough for another thread to come in between

Device open(uint64_t max_memory_bytes = 0) {
  auto device = Device::open("cpu", {.max_memory_bytes = max_memory_bytes});
  EXPECT_TRUE(device);
  return *std::move(device);
}

Kernel kernel(const Device& device, std::string_view name) {
  const auto module = device.load_ptx(kThreadsPtx, {.name = "threads.ptx"});
  EXPECT_TRUE(module) << module.error().text;
  return *module->kernel(name);
}

Buffer allocate(const Device& device, uint64_t bytes) {
  auto buffer = device.allocate(bytes, {.name = "out"});
  EXPECT_TRUE(buffer);
  return *std::move(buffer);
}

// Runs `says`; `meanwhile` runs on another thread once the kernel has printed. Buffers are given as
// addresses: what the kernel uses may go.
Report run_while(const Device& device, uint64_t out, const std::function<void()>& meanwhile) {
  const Kernel says = kernel(device, "says");
  std::atomic<bool> started{false};
  std::thread other([&] {
    while (!started)
      std::this_thread::yield();
    meanwhile();
  });
  const auto report = says.launch({.print = [&](std::string_view) { started = true; }}, {out, kRounds});
  other.join();
  EXPECT_TRUE(report) << report.error().text;
  return report ? *report : Report{};
}

TEST(Threads, AFreeWaitsForTheLaunch) {
  const Device device = open();
  Buffer out = allocate(device, 4);
  const Report report = run_while(device, out.address(), [&] { out.free(); });
  EXPECT_TRUE(report.ok()) << report.rendered;
}

TEST(Threads, ACopyWaitsForTheLaunch) {
  const Device device = open();
  Buffer out = allocate(device, 4);
  uint32_t seen = 0;
  const Report report = run_while(device, out.address(), [&] {
    EXPECT_TRUE(out.copy_to(std::as_writable_bytes(std::span(&seen, 1))));
    EXPECT_TRUE(out.fill(7));
  });
  EXPECT_TRUE(report.ok()) << report.rendered;
  EXPECT_EQ(seen, 42u);
  EXPECT_TRUE(out.copy_to(std::as_writable_bytes(std::span(&seen, 1))));
  EXPECT_EQ(seen, 0x07070707u);
}

TEST(Threads, MemoryComesAndGoesWhileAKernelRuns) {
  const Device device = open(64 << 20);
  const Buffer out = allocate(device, 4);
  const Kernel says = kernel(device, "says");
  const Stream kernels = device.create_stream({.non_blocking = true});
  ASSERT_TRUE(kernels.launch(says, {.print = [](std::string_view) {}}, {out, kRounds}));
  const Stream stream = device.create_stream({.non_blocking = true});
  for (uint8_t i = 0; i < 200; ++i) {
    auto ordered = stream.allocate(4096, {.name = "ordered"});
    Buffer own = allocate(device, 4096); // at once
    ASSERT_TRUE(ordered);
    EXPECT_TRUE(stream.fill(ordered->address(), 4096, i));
    EXPECT_TRUE(stream.copy(own.address(), ordered->address(), 4096));
    std::vector<std::byte> got(4096);
    EXPECT_TRUE(stream.read(own.address(), got));
    EXPECT_TRUE(stream.free(*std::move(ordered)));
    EXPECT_TRUE(stream.synchronize());
    EXPECT_EQ(got, std::vector<std::byte>(4096, std::byte{i}));
    EXPECT_TRUE(stream.free(std::move(own)));
  }
  EXPECT_TRUE(stream.synchronize());
  EXPECT_TRUE(kernels.synchronize());
}

TEST(Threads, AModulesVariablesStayWhileALaunchRuns) {
  const Device device = open();
  Buffer place = allocate(device, 8);
  std::optional<Kernel> address = kernel(device, "address");
  ASSERT_TRUE(address->launch({}, {place}));
  uint64_t variable = 0;
  ASSERT_TRUE(place.copy_to(std::as_writable_bytes(std::span(&variable, 1))));
  const Report report = run_while(device, variable, [&] { address.reset(); });
  EXPECT_TRUE(report.ok()) << report.rendered;
}

TEST(Callbacks, CannotWaitForTheirLaunch) {
  const Device device = open();
  const Kernel says = kernel(device, "says");
  Buffer out = allocate(device, 4), other = allocate(device, 4);
  int calls = 0;
  const auto print = [&](std::string_view) {
    ++calls;
    uint32_t seen = 0;
    const auto copied = out.copy_to(std::as_writable_bytes(std::span(&seen, 1)));
    ASSERT_FALSE(copied);
    EXPECT_EQ(copied.error().kind, ErrorKind::invalid_argument);
    EXPECT_NE(copied.error().text.find("a callback of a launch"), std::string::npos);
    EXPECT_FALSE(out.fill(1));
    const auto launched = says.launch({}, {out, 1u});
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().text,
              "kernel says cannot be launched from a callback (print, progress, observer) of a "
              "launch: launch it when that has ended");
    EXPECT_TRUE(device.allocate(4));
    other.free();
    out.free(); // goes after the launch, which still uses it
  };
  const auto report = says.launch({.print = print}, {out, 1u});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->ok()) << report->rendered;
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(kernel(device, "address").launch({}, {allocate(device, 8)}));
}

TEST(Callbacks, CannotLaunchOnAnotherDeviceEither) {
  const Device device = open(), other = open();
  const Kernel says = kernel(device, "says"), elsewhere = kernel(other, "says");
  const Buffer out = allocate(device, 4);
  Buffer there = allocate(other, 4);
  const auto print = [&](std::string_view) {
    const auto launched = elsewhere.launch({}, {there, 1u});
    ASSERT_FALSE(launched);
    EXPECT_EQ(launched.error().kind, ErrorKind::invalid_argument);
    EXPECT_TRUE(there.fill(1)) << "no launch runs there";
  };
  ASSERT_TRUE(says.launch({.print = print}, {out, 1u}));
  ASSERT_TRUE(elsewhere.launch({.print = [](std::string_view) {}}, {there, 1u}));
}

TEST(Callbacks, ComeOneAtATimeWhileTheLaunchGoesOn) {
  const Device device = open();
  const Kernel says = kernel(device, "says");
  const Buffer out = allocate(device, 4);
  std::atomic<int> inside{0};
  int calls = 0;
  const auto print = [&](std::string_view text) {
    EXPECT_EQ(inside.fetch_add(1), 0);
    EXPECT_EQ(text, "hi");
    std::this_thread::yield();
    ++calls;
    inside.fetch_sub(1);
  };
  const auto report = says.launch({.grid = {200}, .workers = 4, .print = print}, {out, 1u});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_TRUE(report->ok()) << report->rendered;
  EXPECT_EQ(calls, 200);
}

TEST(Callbacks, ThatThrowEndTheLaunch) {
  const Device device = open();
  const Kernel says = kernel(device, "says");
  const Buffer out = allocate(device, 4);
  const auto end_with = [&](std::function<void(std::string_view)> print) {
    const auto report = says.launch({.grid = {64}, .print = std::move(print)}, {out, 1u});
    EXPECT_TRUE(report);
    return report ? *report : Report{};
  };
  const Report report = end_with([](std::string_view) { throw std::runtime_error("the disk is full"); });
  EXPECT_EQ(report.outcome, Outcome::internal);
  ASSERT_TRUE(report.fault);
  EXPECT_EQ(report.fault->message, "the caller's print function threw: the disk is full");
  EXPECT_EQ(end_with([](std::string_view) { throw 1; }).outcome, Outcome::internal);
}

TEST(Limits, MemoryIsAFaultOfTheLaunchAndAnErrorOfOtherCalls) {
  const Device device = open(16 << 20);
  const auto report = kernel(device, "takes").launch({}, {});
  ASSERT_TRUE(report) << report.error().text;
  EXPECT_EQ(report->outcome, Outcome::fault);
  ASSERT_TRUE(report->fault);
  EXPECT_EQ(report->fault->kind, FaultKind::out_of_memory);
  EXPECT_FALSE(report->fault->has_thread) << "it has not started";
  EXPECT_NE(
      report->rendered.find("threads.ptx: fault[out of memory]: no memory for the registers of takes: "),
      std::string::npos)
      << report->rendered;

  const auto buffer = device.allocate(16 << 20, {.name = "arg 1 (x)"});
  ASSERT_FALSE(buffer);
  EXPECT_EQ(buffer.error().kind, ErrorKind::out_of_memory);
  EXPECT_NE(buffer.error().text.find("no memory for arg 1 (x): "), std::string::npos) << buffer.error().text;

  const std::string head = ".version 8.0\n.target sm_90a\n.address_size 64\n";
  const auto variable = device.load_ptx(head + ".global .b8 huge[0x10000000];");
  ASSERT_FALSE(variable);
  EXPECT_EQ(variable.error().kind, ErrorKind::out_of_memory);
  EXPECT_NE(variable.error().text.find("no memory for .global huge: "), std::string::npos)
      << variable.error().text;

  std::string long_text = head + ".entry k() {";
  for (int i = 0; i < 200'000; ++i)
    long_text += "ret;";
  const auto text = device.load_ptx(long_text + "}");
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().kind, ErrorKind::out_of_memory);
  EXPECT_NE(text.error().text.find("--max-memory"), std::string::npos) << text.error().text;

  EXPECT_TRUE(device.allocate(15 << 20)) << "what was refused, or has gone, holds nothing";
}

TEST(Limits, ALaunchGoesOnWithTheThreadsThatThereAre) {
  GTEST_FLAG_SET(death_test_style, "threadsafe"); // in a process that has no threads yet
  // In a process of its own that may start no thread.
  const auto run = [] {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    if (geteuid() == 0 && setresuid(65534, 65534, 65534) != 0) // root has no limit
      _exit(0);
    const Device device = open();
    const Buffer out = allocate(device, 4);
    const auto report =
        kernel(device, "says")
            .launch({.grid = {64}, .workers = 8, .print = [](std::string_view) {}}, {out, 10u});
    _exit(report && report->ok() ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

// --- any calls in any order

class RandomCalls {
public:
  RandomCalls(Device device, uint32_t seed) : device_(std::move(device)), random_(seed) {}

  void run(int calls) {
    for (int i = 0; i < calls; ++i)
      call();
    buffers_.clear();
    modules_.clear();
  }

private:
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }

  void call() {
    switch (below(10)) {
    case 0:
      if (auto module = device_.load_ptx(below(4) ? kThreadsPtx : ".version 8.0 .target sm_90a .entry k( {"))
        modules_.push_back(*std::move(module));
      break;
    case 1:
      if (!modules_.empty())
        modules_.erase(modules_.begin() + below(static_cast<uint32_t>(modules_.size())));
      break;
    case 2:
    case 3:
      if (auto buffer = device_.allocate(below(5000), {.poisoned = below(2) == 0, .host_shared = false}))
        buffers_.push_back(*std::move(buffer));
      break;
    case 4:
      if (auto buffer = device_.allocate(below(5000), {.host_shared = true}))
        buffers_.push_back(*std::move(buffer));
      break;
    case 5:
      if (!buffers_.empty())
        buffers_.erase(buffers_.begin() + below(static_cast<uint32_t>(buffers_.size())));
      break;
    case 6:
      copy();
      break;
    case 7:
      if (device_.register_host(host_.data(), host_.size())) {
        EXPECT_TRUE(device_.unregister_host(host_.data()));
      }
      break;
    default:
      launch();
      break;
    }
  }

  void copy() {
    if (buffers_.empty())
      return;
    Buffer& buffer = buffers_[below(static_cast<uint32_t>(buffers_.size()))];
    const uint64_t offset = below(6000), bytes = below(1000);
    const bool inside = offset <= buffer.size_bytes() && bytes <= buffer.size_bytes() - offset;
    EXPECT_EQ(buffer.copy_from(std::span(host_).first(bytes), offset).ok(), inside);
    EXPECT_EQ(buffer.copy_to(std::span(host_).first(bytes), offset).ok(), inside);
    EXPECT_TRUE(buffer.fill(3));
  }

  void launch() {
    if (modules_.empty())
      return;
    const std::vector<Kernel> kernels = modules_[below(static_cast<uint32_t>(modules_.size()))].kernels();
    const Kernel& kernel = kernels[below(static_cast<uint32_t>(kernels.size()))];
    std::vector<Argument> arguments;
    if (!kernel.parameters().empty()) // a live buffer, or null
      arguments.push_back(buffers_.empty()
                              ? Argument(uint64_t{0})
                              : Argument(buffers_[below(static_cast<uint32_t>(buffers_.size()))]));
    if (kernel.parameters().size() > 1 && below(8))
      arguments.push_back(Argument(uint32_t{20}));
    const auto report = kernel.launch({.grid = {1 + below(4)},
                                       .block = {1 + below(64)},
                                       .seed = below(100),
                                       .async = below(2) ? AsyncMode::late : AsyncMode::eager,
                                       .max_instructions = 1000,
                                       .workers = 1 + below(3),
                                       .print = [](std::string_view) {}},
                                      arguments);
    if (report) {
      EXPECT_NE(report->outcome, Outcome::internal) << report->rendered;
    } else {
      EXPECT_EQ(report.error().kind, ErrorKind::invalid_argument) << report.error().text;
    }
  }

  Device device_;
  std::mt19937 random_;
  std::vector<Module> modules_;
  std::vector<Buffer> buffers_;
  std::vector<std::byte> host_ = std::vector<std::byte>(1000);
};

TEST(RandomOrder, OfCallsFromSeveralThreads) {
  const Device device = open(64 << 20);
  std::vector<std::thread> threads;
  for (uint32_t seed = 0; seed < 4; ++seed)
    threads.emplace_back([&, seed] { RandomCalls(device, seed).run(250); });
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_TRUE(device.synchronize()); // modules go when nothing runs that may use them
  EXPECT_TRUE(device.allocate(63 << 20)) << "something was not given back";
}

} // namespace
} // namespace lemma
