// A launch watched from C: include/lemma/c/observer.h; and lemma_report.forms in words.
#include "c_test.h"

#include <bit>
#include <map>
#include <mutex>

namespace lemma {
namespace {

// Line 15 is the store of the odd lanes.
constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.visible .entry copy(.param .u64 data)
{
  .shared .align 16 .b8 tile[128];
  .reg .pred %p; .reg .b32 %r<5>; .reg .b64 %a, %o;
  ld.param.u64 %a, [data]; mov.u32 %r1, %tid.x; mul.wide.u32 %o, %r1, 4; add.s64 %a, %a, %o;
  mov.u32 %r2, tile; mad.lo.u32 %r2, %r1, 4, %r2; and.b32 %r4, %r1, 1; setp.ne.u32 %p, %r4, 0;
  cp.async.ca.shared.global [%r2], [%a], 4;
  cp.async.commit_group;
  cp.async.wait_group 0;
  bar.sync 0;
  ld.shared.u32 %r3, [%r2];
  @%p st.global.u32 [%a], %r3;
  ret;
}
)";

struct Seen {
  std::mutex mutex;
  uint64_t begins = 0, ends = 0, ctas = 0, ended_ctas = 0, warps = 0, lanes = 0, stores = 0;
  std::map<lemma_sync_event, uint64_t> syncs;
  std::map<lemma_operation_event, uint64_t> operations;
  uint64_t written_bytes = 0;
  std::string kernel, function, form, instruction;

  static Seen& of(void* user) { return *static_cast<Seen*>(user); }
};

lemma_observer observer_of(Seen& seen) {
  lemma_observer observer = LEMMA_SIZED(lemma_observer);
  observer.user = &seen;
  observer.ranges = true;
  observer.launch_begins = [](void* user, const lemma_watched_launch* launch) {
    Seen& seen = Seen::of(user);
    ++seen.begins;
    seen.kernel = launch->kernel;
    seen.function = launch->functions[0]->name;
    EXPECT_TRUE(launch->functions[0]->is_kernel);
    EXPECT_EQ(launch->functions[0]->count, launch->instructions);
    EXPECT_STREQ(launch->arithmetic, "sm_90");
    EXPECT_EQ(launch->grid[0], 4u);
  };
  observer.launch_ends = [](void* user, const lemma_watched_launch* launch) {
    Seen& seen = Seen::of(user);
    ++seen.ends;
    for (uint32_t i = 0; i < launch->instructions; ++i) {
      const lemma_watched_instruction* instruction = lemma_watched_instruction_of(launch, i);
      ASSERT_TRUE(instruction);
      if (instruction->place->ptx_line == 15) {
        seen.form = instruction->form;
        seen.instruction = instruction->place->instruction;
      }
      lemma_watched_instruction_release(instruction);
    }
  };
  observer.cta_begins = [](void* user, const lemma_watched_cta*) {
    const std::scoped_lock lock(Seen::of(user).mutex);
    ++Seen::of(user).ctas;
  };
  observer.cta_ends = [](void* user, const lemma_watched_cta* cta) {
    const std::scoped_lock lock(Seen::of(user).mutex);
    ++Seen::of(user).ended_ctas;
    EXPECT_EQ(cta->index, cta->id[0]);
  };
  observer.executes = [](void* user, const lemma_warp_step* step) {
    const std::scoped_lock lock(Seen::of(user).mutex);
    ++Seen::of(user).warps;
    Seen::of(user).lanes += static_cast<uint64_t>(std::popcount(step->lanes));
  };
  observer.accesses = [](void* user, const lemma_warp_step* step, const lemma_watched_access* access) {
    const std::scoped_lock lock(Seen::of(user).mutex);
    if (access->space != LEMMA_MEMORY_GLOBAL || access->type != LEMMA_ACCESS_WRITE)
      return;
    ++Seen::of(user).stores;
    EXPECT_EQ(access->pieces, 0xaaaaaaaau);
    EXPECT_EQ(step->lanes, 0xaaaaaaaau);
    EXPECT_EQ(access->addresses[31] - access->addresses[1], 4u * 30);
    EXPECT_STREQ(access->semantics, "weak");
    EXPECT_STREQ(access->scope, "");
  };
  observer.synchronizes = [](void* user, const lemma_warp_step*, const lemma_watched_sync* sync) {
    const std::scoped_lock lock(Seen::of(user).mutex);
    ++Seen::of(user).syncs[sync->event];
    if (sync->event == LEMMA_SYNC_GROUP_WAIT) {
      EXPECT_STREQ(sync->group, "cp.async");
    }
  };
  observer.operates = [](void* user, const lemma_warp_step*, const lemma_watched_operation* operation) {
    const std::scoped_lock lock(Seen::of(user).mutex);
    ++Seen::of(user).operations[operation->event];
    EXPECT_STREQ(operation->kind, "cp.async");
    ASSERT_EQ(operation->read_count, 1u);
    ASSERT_EQ(operation->write_count, 1u);
    EXPECT_EQ(operation->writes[0]->space, LEMMA_MEMORY_SHARED);
    Seen::of(user).written_bytes += operation->writes[0]->bytes;
  };
  return observer;
}

TEST(CObserver, IsToldWhatALaunchDoes) {
  const Loaded gpu(kText);
  const uint64_t data = gpu.allocate(128);
  const lemma_bytes argument = bytes_of(data);
  Seen seen;
  const lemma_observer observer = observer_of(seen);
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.grid[0] = 4;
  config.block[0] = 32;
  config.fidelity = true;
  config.observer = &observer;
  const lemma_report* report = nullptr;
  ASSERT_OK(lemma_launch(gpu.module, nullptr, &config, &argument, 1, &report));
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED) << report->text;
  EXPECT_EQ(seen.begins, 1u);
  EXPECT_EQ(seen.ends, 1u);
  EXPECT_EQ(seen.ctas, 4u);
  EXPECT_EQ(seen.ended_ctas, 4u);
  EXPECT_EQ(seen.kernel, "copy");
  EXPECT_EQ(seen.function, "copy");
  EXPECT_EQ(seen.form, "st.global.u32");
  EXPECT_EQ(seen.instruction, "@%p st.global.u32 [%a], %r3;");
  EXPECT_EQ(seen.warps, *report->stats->warp_instructions);
  EXPECT_EQ(seen.lanes, *report->stats->lane_instructions);
  EXPECT_EQ(seen.stores, 4u);
  EXPECT_EQ(seen.syncs[LEMMA_SYNC_BARRIER_COMPLETE], 4u);
  EXPECT_EQ(seen.syncs[LEMMA_SYNC_EXIT], 4u);
  EXPECT_EQ(seen.operations[LEMMA_OPERATION_ISSUED], 128u);
  EXPECT_EQ(seen.operations[LEMMA_OPERATION_COMPLETED], 128u);
  EXPECT_EQ(seen.written_bytes, 3u * 128 * 4);
  EXPECT_STREQ(lemma_sync_event_name(LEMMA_SYNC_EXIT), "exit");

  EXPECT_GT(report->form_count, 5u);
  std::vector<const lemma_executed_form*> twice(report->forms, report->forms + report->form_count);
  twice.insert(twice.end(), report->forms, report->forms + report->form_count);
  const lemma_merged_forms* merged = nullptr;
  ASSERT_OK(lemma_merge_forms(twice.data(), twice.size(), report->arithmetic, 0, &merged));
  EXPECT_EQ(std::string(merged->text).find("fidelity on sm_90: "), 0u) << merged->text;
  ASSERT_EQ(merged->form_count, report->form_count);
  EXPECT_STREQ(merged->forms[0]->form, report->forms[0]->form);
  EXPECT_EQ(merged->forms[0]->warp_instructions, 2 * report->forms[0]->warp_instructions);
  lemma_merged_forms_release(merged);
  twice[0] = nullptr;
  EXPECT_EQ(said(lemma_merge_forms(twice.data(), 1, nullptr, 0, &merged)),
            "lemma_merge_forms: a form is null");
  lemma_report_release(report);
}

TEST(CObserver, OfNothingIsToldNothing) {
  const Loaded gpu(kText);
  const uint64_t data = gpu.allocate(128);
  const lemma_bytes argument = bytes_of(data);
  const lemma_observer nothing = LEMMA_SIZED(lemma_observer);
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.block[0] = 32;
  config.observer = &nothing;
  const lemma_report* report = nullptr;
  ASSERT_OK(lemma_launch(gpu.module, nullptr, &config, &argument, 1, &report));
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED);
  lemma_report_release(report);
}

} // namespace
} // namespace lemma
