// When asynchronous operations run: at once, by the groups of their threads, or when nothing else can move.
#include "vgpu/async/async.h"

#include "vgpu/engine/launch.h"
#include "vgpu/engine/observer.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace lemma::vgpu {
namespace {

// Operations of no bytes, each with a letter as its number: small when its source is read, large when it
// completes.
class Async : public testing::Test, private Observer {
protected:
  void reset(AsyncMode mode, uint64_t seed) { queue_.reset(mode, seed, nullptr, this); }
  static AsyncOperation operation(char name, AsyncGroup group) {
    AsyncOperation made;
    made.kind = AsyncKind::st_async; // with its data
    made.group = group;
    made.number = static_cast<unsigned char>(name);
    return made;
  }
  std::string take_log() { return std::exchange(log_, {}); }

  AsyncQueue queue_;
  const ThreadId one_{.cta_rank = 0, .warp = 1, .lane = 2};
  const ThreadId other_{.cta_rank = 0, .warp = 1, .lane = 3};

private:
  void reads_source(const AsyncOperation& operation) override {
    EXPECT_EQ(operation.state, AsyncState::source_read);
    log_ += static_cast<char>(operation.number);
  }
  void completes(const AsyncOperation& operation) override {
    EXPECT_EQ(operation.state, AsyncState::done);
    log_ += static_cast<char>(operation.number - 'a' + 'A');
  }

  std::string log_;
};

TEST_F(Async, EagerCompletesWhenIssued) {
  reset(AsyncMode::eager, 0);
  queue_.start(one_, operation('a', AsyncGroup::bulk));
  EXPECT_EQ(take_log(), "aA");
  EXPECT_EQ(queue_.completed(), 1u);
  queue_.commit(one_, AsyncGroup::bulk);
  queue_.wait(one_, AsyncGroup::bulk, 0);
  EXPECT_FALSE(queue_.run_one());
  EXPECT_EQ(take_log(), "");
}

TEST_F(Async, WaitCompletesAllButTheLastGroups) {
  reset(AsyncMode::late, 0);
  for (const char name : {'a', 'b', 'c'}) {
    queue_.start(one_, operation(name, AsyncGroup::bulk));
    queue_.commit(one_, AsyncGroup::bulk);
  }
  EXPECT_EQ(take_log(), "");
  queue_.wait(one_, AsyncGroup::bulk, 2);
  EXPECT_EQ(take_log(), "aA");
  queue_.wait(one_, AsyncGroup::bulk, 0);
  EXPECT_EQ(take_log(), "bBcC");
}

TEST_F(Async, ReadWaitTakesOnlyTheSources) {
  reset(AsyncMode::late, 0);
  queue_.start(one_, operation('a', AsyncGroup::bulk));
  queue_.commit(one_, AsyncGroup::bulk);
  queue_.wait(one_, AsyncGroup::bulk, 0, true);
  EXPECT_EQ(take_log(), "a");
  queue_.wait(one_, AsyncGroup::bulk, 0, true);
  EXPECT_EQ(take_log(), "");
  queue_.wait(one_, AsyncGroup::bulk, 0);
  EXPECT_EQ(take_log(), "A");
}

TEST_F(Async, GroupsBelongToAThreadAndAKind) {
  reset(AsyncMode::late, 0);
  queue_.start(one_, operation('a', AsyncGroup::bulk));
  queue_.commit(one_, AsyncGroup::bulk);
  queue_.start(one_, operation('b', AsyncGroup::cp_async));
  queue_.commit(one_, AsyncGroup::cp_async);
  queue_.wait(other_, AsyncGroup::bulk, 0);
  EXPECT_EQ(take_log(), "");
  queue_.wait(one_, AsyncGroup::cp_async, 0);
  EXPECT_EQ(take_log(), "bB");
}

TEST_F(Async, WaitLeavesWhatIsNotCommittedAndCompleteDoesNot) {
  reset(AsyncMode::late, 0);
  queue_.start(one_, operation('a', AsyncGroup::cp_async));
  queue_.wait(one_, AsyncGroup::cp_async, 0);
  EXPECT_EQ(take_log(), "");
  queue_.complete(one_, AsyncGroup::cp_async);
  EXPECT_EQ(take_log(), "aA");
}

TEST_F(Async, OperationsWithoutAGroupRunOneByOneInAnOrderOfTheSeed) {
  std::string orders[2];
  for (const uint64_t seed : {0, 5}) {
    reset(AsyncMode::late, seed);
    for (const char name : {'a', 'b', 'c', 'd'})
      queue_.start(one_, operation(name, AsyncGroup::none));
    EXPECT_EQ(queue_.waiting_count(), 4u);
    while (queue_.run_one()) {
    }
    orders[seed != 0] = take_log();
  }
  EXPECT_EQ(orders[0], "aAbBcCdD");
  EXPECT_EQ(orders[1].size(), 8u);
  EXPECT_NE(orders[1], orders[0]);
}

TEST_F(Async, RandomRunsEachStepAtATimeOfItsOwn) {
  size_t at_once = 0, between = 0, late = 0, read_long_before = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    reset(AsyncMode::random, seed);
    queue_.start(one_, operation('a', seed % 2 ? AsyncGroup::bulk : AsyncGroup::none));
    std::string log = take_log();
    at_once += log == "aA";
    read_long_before += log == "a";
    for (int i = 0; i < 300; ++i) {
      queue_.advance(std::min<uint64_t>(queue_.until_due(), 32));
      log += take_log();
      between += log == "aA" && i > 0 && queue_.completed() == 1;
    }
    late += log != "aA";
    queue_.drain();
    log += take_log();
    EXPECT_EQ(log, "aA");
    EXPECT_EQ(queue_.completed(), 1u);
  }
  EXPECT_GT(at_once, 5u);
  EXPECT_GT(read_long_before, 5u);
  EXPECT_GT(between, 5u);
  EXPECT_GT(late, 5u);
}

TEST_F(Async, RandomIsWhatTheSeedSays) {
  const auto order = [&](uint64_t seed) {
    reset(AsyncMode::random, seed);
    for (char name = 'a'; name <= 'p'; ++name) {
      queue_.start(one_, operation(name, name % 2 ? AsyncGroup::bulk : AsyncGroup::none));
      queue_.advance(100);
    }
    queue_.drain();
    return take_log();
  };
  EXPECT_EQ(order(3), order(3));
  EXPECT_NE(order(3), order(4));
}

// What a thread has waited for is complete; a group may complete before one that was committed earlier.
TEST_F(Async, RandomCompletesWhatIsWaitedFor) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    reset(AsyncMode::random, seed);
    for (const char name : {'a', 'b', 'c'}) {
      queue_.start(one_, operation(name, AsyncGroup::bulk));
      queue_.commit(one_, AsyncGroup::bulk);
    }
    queue_.wait(one_, AsyncGroup::bulk, 1);
    const std::string log = take_log();
    EXPECT_NE(log.find('A'), log.npos);
    EXPECT_NE(log.find('B'), log.npos);
    queue_.wait(one_, AsyncGroup::bulk, 0);
    EXPECT_EQ(queue_.completed(), 3u);
    EXPECT_EQ((log + take_log()).size(), 6u);
  }
}

TEST_F(Async, DrainLeavesNothing) {
  reset(AsyncMode::late, 0);
  queue_.start(one_, operation('a', AsyncGroup::none));
  queue_.start(one_, operation('b', AsyncGroup::bulk));
  queue_.drain();
  EXPECT_EQ(take_log(), "aAbB");
}

TEST(AsyncProxy, SeesStoresAfterAFenceAndItsOwnWritesAtOnce) {
  Cta cta;
  cta.shared.assign(64, std::byte{0});
  cta.shared_written.assign(64, 0);
  cta.async_view = cta.shared;
  cta.unpublished.assign(64, 0);
  cta.shared[3] = std::byte{7}; // as a store does
  cta.unpublished[3] = 1;
  EXPECT_EQ(*cta.async_read(3), std::byte{0});
  cta.publish_to_async_proxy();
  EXPECT_EQ(*cta.async_read(3), std::byte{7});

  // Another CTA's fence publishes what it has stored here, and nothing else.
  cta.shared[20] = cta.shared[21] = std::byte{9};
  cta.unpublished[20] = Cta::kByOwnThread;
  cta.unpublished[21] = Cta::kByOtherCta;
  cta.publish_to_async_proxy(true);
  EXPECT_EQ(*cta.async_read(20), std::byte{0});
  EXPECT_EQ(*cta.async_read(21), std::byte{9});

  const uint32_t word = 0x01020304;
  cta.unpublished[8] = 1;
  cta.async_write(8, &word, sizeof word);
  EXPECT_EQ(std::memcmp(cta.async_read(8), &word, sizeof word), 0);
  EXPECT_EQ(std::memcmp(cta.shared.data() + 8, &word, sizeof word), 0);
  EXPECT_EQ(cta.unpublished[8], 0);
  EXPECT_EQ(cta.shared_written[11], 1);
}

} // namespace
} // namespace lemma::vgpu
