// Launches and what they report: include/lemma/c/launch.h and report.h.
#include "c_test.h"

namespace lemma {
namespace {

constexpr const char* kText = R"(.version 8.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);
.global .align 1 .b8 text[3] = {104, 105, 0};
.visible .entry store(.param .u64 data, .param .u32 value)
{
  .reg .b32 %r<3>;
  .reg .b64 %rd<3>;
  ld.param.u64 %rd1, [data];
  ld.param.u32 %r2, [value];
  mov.u32 %r1, %tid.x;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd1, %rd1, %rd2;
  st.global.u32 [%rd1], %r2;
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
.file 1 "a.cu"
.file 2 "/usr/include/b.h"
.visible .entry calls()
{
  .loc 1 3 1
  .loc 2 5 1, function_name label, inlined_at 1 3 1
  trap;
}
.section .debug_str
{
label: .b8 102, 0
}
.visible .entry waits()
{
  .reg .pred %p; .reg .b32 %r;
  mov.u32 %r, %tid.x;
  setp.ge.u32 %p, %r, 32;
  @%p ret;
  bar.sync 0, 64;
  ret;
}
.visible .entry divides()
{
  .reg .pred %p; .reg .b32 %r;
  mov.u32 %r, %tid.x;
  setp.ge.u32 %p, %r, 16;
  @%p bra END;
  bar.warp.sync -1;
END:
  bar.sync 0;
  ret;
}
.visible .entry busy()
{
  .reg .pred %p; .reg .b32 %r;
  mov.u32 %r, 1000000;
LOOP:
  sub.u32 %r, %r, 1;
  setp.ne.u32 %p, %r, 0;
  @%p bra LOOP;
  ret;
}
.visible .entry reads(.param .u64 data)
{
  .reg .b32 %r; .reg .b64 %rd;
  ld.param.u64 %rd, [data];
  ld.global.u32 %r, [%rd];
  add.u32 %r, %r, 1;
  st.global.u32 [%rd], %r;
  ret;
}
)";

class CLaunch : public testing::Test {
protected:
  CLaunch() { config_.block[0] = 32; }
  Report_ launch(const char* kernel, const std::vector<lemma_bytes>& arguments) {
    const lemma_report* report = nullptr;
    EXPECT_OK(lemma_launch(gpu_.module, kernel, &config_, arguments.data(), arguments.size(), &report));
    return {report, lemma_report_release};
  }

  Loaded gpu_{kText};
  lemma_launch_config config_ = LEMMA_SIZED(lemma_launch_config);
  uint64_t data_ = gpu_.allocate(128);
  uint32_t value_ = 5;
};

TEST_F(CLaunch, ReportsAnEnd) {
  const auto report = launch("store", {bytes_of(data_), bytes_of(value_)});
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED);
  EXPECT_EQ(report->fault, nullptr);
  EXPECT_STREQ(report->text, "");
  EXPECT_STREQ(report->arithmetic, "sm_90");
  EXPECT_STREQ(report->device, "virtual GPU");
  ASSERT_TRUE(report->stats->lane_instructions);
  EXPECT_EQ(*report->stats->lane_instructions, 7u * 32);
  EXPECT_EQ(*report->stats->matrix_flops, 0u);
  EXPECT_FALSE(report->stats->has_accesses);
  EXPECT_GT(report->stats->seconds, 0);
}

TEST_F(CLaunch, TakesTheEngineThatItIsToldElseTheEnvironments) {
  for (const lemma_engine engine :
       {LEMMA_ENGINE_DEFAULT, LEMMA_ENGINE_AUTO, LEMMA_ENGINE_INTERPRETER, LEMMA_ENGINE_COMPILED}) {
    config_.engine = engine;
    const auto report = launch("store", {bytes_of(data_), bytes_of(value_)});
    EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED) << report->text;
    ASSERT_TRUE(report->stats->compiled_instructions);
    EXPECT_LE(*report->stats->compiled_instructions, *report->stats->warp_instructions);
    for (size_t i = 0; i < report->stats->called_count; ++i) {
      EXPECT_STRNE(report->stats->called[i]->opcode, "");
      EXPECT_GT(report->stats->called[i]->count, 0u);
    }
    if (engine == LEMMA_ENGINE_INTERPRETER) {
      EXPECT_EQ(*report->stats->compiled_instructions, 0u);
      EXPECT_EQ(report->stats->called_count, 0u);
    }
  }
  setenv("LEMMA_ENGINE", "jit", 1);
  EXPECT_EQ(launch("store", {bytes_of(data_), bytes_of(value_)})->outcome, LEMMA_OUTCOME_FINISHED);
  config_.engine = LEMMA_ENGINE_DEFAULT;
  const lemma_report* report = nullptr;
  EXPECT_EQ(said(lemma_launch(gpu_.module, "store", &config_, nullptr, 0, &report)),
            "LEMMA_ENGINE is 'jit': legal are auto, interpreter, compiled");
  unsetenv("LEMMA_ENGINE");
  EXPECT_EQ(report, nullptr);
}

TEST_F(CLaunch, CountsAccesses) {
  config_.count_accesses = true;
  const auto report = launch("store", {bytes_of(data_), bytes_of(value_)});
  ASSERT_TRUE(report->stats->has_accesses);
  bool writes = false;
  for (size_t i = 0; i < report->stats->access_count; ++i) {
    const lemma_access_count& count = *report->stats->accesses[i];
    if (std::strcmp(count.space, "global") == 0 && std::strcmp(count.kind, "write") == 0) {
      EXPECT_EQ(count.lane_accesses, 32u);
      writes = count.bytes == 128;
    }
  }
  EXPECT_TRUE(writes);
}

TEST_F(CLaunch, ReportsAFault) {
  config_.block[0] = 64;
  const auto report = launch("store", {bytes_of(data_), bytes_of(value_)});
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FAULT);
  const lemma_fault& fault = *report->fault;
  EXPECT_EQ(fault.kind, LEMMA_FAULT_OUT_OF_BOUNDS);
  EXPECT_TRUE(fault.has_thread);
  EXPECT_EQ(fault.warp, 1u);
  EXPECT_EQ(fault.lane, 0);
  EXPECT_EQ(fault.place->ptx_line, 15u);
  EXPECT_STREQ(fault.place->instruction, "st.global.u32 [%rd1], %r2;");
  ASSERT_TRUE(fault.address);
  EXPECT_EQ(*fault.address, data_ + 128);
  EXPECT_NE(std::string(report->text).find("out of bounds"), std::string::npos);
}

TEST_F(CLaunch, ReportsTheCallsOfInlinedCode) {
  config_.block[0] = 64;
  const auto report = launch("calls", {});
  ASSERT_TRUE(report->fault);
  const lemma_place& place = *report->fault->place;
  EXPECT_STREQ(place.file, "/usr/include/b.h");
  EXPECT_STREQ(place.inlined_function, "f");
  ASSERT_EQ(place.inlined_at_count, 1u);
  EXPECT_STREQ(place.inlined_at[0]->file, "a.cu");
  EXPECT_EQ(place.inlined_at[0]->line, 3u);
  EXPECT_STREQ(place.inlined_at[0]->function, "calls");
  ASSERT_TRUE(place.users_frame);
  EXPECT_STREQ(place.users_frame->file, "a.cu");
  EXPECT_EQ(launch("waits", {})->fault->place->users_frame, nullptr);
}

TEST_F(CLaunch, ReportsWhoWaits) {
  config_.block[0] = 64;
  const auto report = launch("waits", {});
  ASSERT_TRUE(report->fault);
  EXPECT_EQ(report->fault->kind, LEMMA_FAULT_DEADLOCK) << report->text;
  ASSERT_EQ(report->waiting_count, 1u);
  EXPECT_EQ(report->waiting[0]->lanes, ~0u);
  EXPECT_NE(std::string(report->waiting[0]->reason).find("barrier 0"), std::string::npos);
}

TEST_F(CLaunch, ReportsWhatMendsAFinding) {
  config_.block[0] = 64;
  config_.check = true;
  const auto report = launch("waits", {});
  ASSERT_EQ(report->finding_count, 1u);
  const lemma_finding& finding = *report->findings[0];
  EXPECT_STREQ(finding.id, "barrier.count");
  EXPECT_EQ(finding.group, 0u);
  ASSERT_EQ(finding.repair_count, 1u);
  const lemma_finding_repair& repair = *finding.repairs[0];
  EXPECT_EQ(repair.where, LEMMA_REPAIR_INSTEAD);
  EXPECT_STREQ(repair.place->instruction, "bar.sync 0, 64;");
  EXPECT_STREQ(repair.replaced, "64");
  EXPECT_STREQ(repair.edit->text, "32");
  EXPECT_EQ(repair.edit->line, repair.place->ptx_line);
  EXPECT_EQ(repair.edit->column, 15u);
  EXPECT_EQ(repair.edit->length, 2u);
  EXPECT_EQ(finding.alternative_count, 0u);
}

TEST_F(CLaunch, ReportsAlternatives) {
  config_.check = true;
  const auto report = launch("divides", {});
  for (size_t i = 0; i < report->finding_count; ++i) {
    const lemma_finding& finding = *report->findings[i];
    if (std::string(finding.id) != "warp.mask")
      continue;
    EXPECT_EQ(finding.repair_count, 2u);
    ASSERT_EQ(finding.alternative_count, 2u);
    ASSERT_EQ(finding.alternatives[1]->repair_count, 1u);
    EXPECT_STREQ(finding.alternatives[1]->repairs[0]->edit->text, "65535");
    return;
  }
  FAIL() << report->text;
}

TEST_F(CLaunch, ReportsFindingsWithBothAccesses) {
  config_.grid[0] = 2;
  config_.check = true;
  const auto report = launch("store", {bytes_of(data_), bytes_of(value_)});
  ASSERT_EQ(report->finding_count, 1u);
  const lemma_finding& finding = *report->findings[0];
  EXPECT_STREQ(finding.id, "race.global");
  EXPECT_TRUE(finding.is_note); // the same value
  EXPECT_GT(finding.count, 0u);
  EXPECT_STREQ(finding.kernel, "store");
  EXPECT_STREQ(finding.ptx, "test.ptx");
  EXPECT_EQ(finding.access->place->ptx_line, 15u);
  EXPECT_STREQ(finding.access->what, "writes 4 bytes");
  ASSERT_TRUE(finding.earlier);
  EXPECT_NE(finding.earlier->cta[0], finding.access->cta[0]);
  EXPECT_NE(std::string(finding.rendered).find("test.ptx:15: note[race.global]"), std::string::npos);
  EXPECT_STREQ(report->text, "");
  EXPECT_EQ(report->checked_ctas, 2u);
}

TEST_F(CLaunch, ReportsReadsOfWhatWasNeverWritten) {
  lemma_allocate_options options = LEMMA_SIZED(lemma_allocate_options);
  options.name = "x";
  options.poisoned = true;
  uint64_t poisoned = 0;
  ASSERT_OK(lemma_allocate(gpu_.device, 4, &options, &poisoned));
  const auto report = launch("reads", {bytes_of(poisoned)});
  ASSERT_EQ(report->uninitialized_count, 1u);
  EXPECT_EQ(report->uninitialized_reads, report->uninitialized[0]->count);
  EXPECT_NE(std::string(report->uninitialized[0]->what).find("x"), std::string::npos);
}

TEST_F(CLaunch, PrintsThroughACallback) {
  struct Heard {
    std::string printed, refused;
    lemma_device* device;
  } heard{.printed = {}, .refused = {}, .device = gpu_.device};
  config_.grid[0] = 3;
  config_.block[0] = 1;
  config_.user = &heard;
  config_.print = [](void* user, const char* text, size_t bytes) {
    auto* heard = static_cast<Heard*>(user);
    heard->printed.append(text, bytes);
    heard->refused = said(lemma_fill(heard->device, 0x1f0000000000, 0, 1));
  };
  const auto report = launch("says", {});
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED) << report->text;
  EXPECT_EQ(heard.printed, "hihihi");
  EXPECT_NE(heard.refused.find("a callback of a launch"), std::string::npos) << heard.refused;
}

TEST_F(CLaunch, TellsOfProgressNowAndThen) {
  uint64_t heard[2] = {0, 0};
  config_.grid[0] = 64;
  config_.block[0] = 1;
  config_.user = heard;
  config_.progress = [](void* user, uint64_t done, uint64_t total) {
    static_cast<uint64_t*>(user)[0] = done;
    static_cast<uint64_t*>(user)[1] = total;
  };
  const auto report = launch("busy", {});
  EXPECT_EQ(report->outcome, LEMMA_OUTCOME_FINISHED) << report->text;
  if (report->stats->seconds > 0.5) {
    EXPECT_GT(heard[0], 0u);
    EXPECT_EQ(heard[1], 64u);
  }
}

TEST_F(CLaunch, StopsOnRequest) {
  lemma_stop* stop = lemma_stop_create();
  config_.stop = stop;
  EXPECT_EQ(launch("store", {bytes_of(data_), bytes_of(value_)})->outcome, LEMMA_OUTCOME_FINISHED);
  lemma_stop_request(stop);
  EXPECT_EQ(launch("store", {bytes_of(data_), bytes_of(value_)})->outcome, LEMMA_OUTCOME_STOPPED);
  lemma_stop_reset(stop);
  EXPECT_EQ(launch("store", {bytes_of(data_), bytes_of(value_)})->outcome, LEMMA_OUTCOME_FINISHED);
  lemma_stop_release(stop);
}

TEST_F(CLaunch, RefusesWhatDoesNotFit) {
  const lemma_report* report = nullptr;
  const lemma_bytes one = bytes_of(data_);
  EXPECT_NE(said(lemma_launch(gpu_.module, "store", &config_, &one, 1, &report)).find("takes 2 arguments"),
            std::string::npos);
  EXPECT_NE(said(lemma_launch(gpu_.module, "none", &config_, &one, 1, &report)).find("no kernel 'none'"),
            std::string::npos);
  const lemma_bytes null[] = {{nullptr, 8}, {&value_, 4}};
  EXPECT_EQ(said(lemma_launch(gpu_.module, "store", &config_, null, 2, &report)),
            "lemma_launch: argument 0 is null");
  config_.async = static_cast<lemma_async_mode>(9);
  EXPECT_EQ(said(lemma_launch(gpu_.module, "store", &config_, &one, 1, &report)),
            "there is no lemma_async_mode 9");
  config_.async = LEMMA_ASYNC_EAGER;
  config_.engine = static_cast<lemma_engine>(9);
  EXPECT_EQ(said(lemma_launch(gpu_.module, "store", &config_, &one, 1, &report)),
            "there is no lemma_engine 9");
  EXPECT_EQ(report, nullptr);
}

} // namespace
} // namespace lemma
