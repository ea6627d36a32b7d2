// The C API, from C: runs, a fault, findings, the errors.
#include <lemma/c.h>

#include <stdio.h>
#include <string.h>

static const char text[] = ".version 8.0\n"
                           ".target sm_90a\n"
                           ".address_size 64\n"
                           ".visible .global .align 4 .u32 factor = 1;\n"
                           ".visible .entry store(.param .u64 data, .param .u32 value)\n"
                           "{\n"
                           "  .reg .b32 %r<4>;\n"
                           "  .reg .b64 %rd<3>;\n"
                           "  ld.param.u64 %rd1, [data];\n"
                           "  ld.param.u32 %r2, [value];\n"
                           "  ld.global.u32 %r3, [factor];\n"
                           "  mul.lo.u32 %r2, %r2, %r3;\n"
                           "  mov.u32 %r1, %tid.x;\n"
                           "  mul.wide.u32 %rd2, %r1, 4;\n"
                           "  add.s64 %rd1, %rd1, %rd2;\n"
                           "  st.global.u32 [%rd1], %r2;\n"
                           "  ret;\n"
                           "}\n";

static int lines_failed = 0;

static void check(int holds, int line, const char* what) {
  if (holds)
    return;
  fprintf(stderr, "%s:%d: %s\n", __FILE__, line, what);
  ++lines_failed;
}
#define CHECK(condition) check(condition, __LINE__, #condition)

// That a call succeeds; what it said if not.
static void check_ok(const lemma_error* error, int line) {
  check(!error, line, error ? error->rendered : "");
  lemma_error_release(error);
}
#define OK(call) check_ok(call, __LINE__)

// That it fails, and says this.
static void check_fails(const lemma_error* error, lemma_error_kind kind, const char* says, int line) {
  check(error && error->kind == kind && strstr(error->rendered, says), line,
        error ? error->rendered : "no error");
  lemma_error_release(error);
}
#define FAILS(call, kind, says) check_fails(call, kind, says, __LINE__)

int main(void) {
  lemma_device* device = NULL;
  lemma_module* module = NULL;
  const lemma_report* report = NULL;
  uint64_t address = 0;
  uint32_t words[32];
  const uint32_t value = 0x1234u, factor = 3;

  FAILS(lemma_device_open("tpu", NULL, &device), LEMMA_ERROR_INVALID_ARGUMENT, "tpu");
  OK(lemma_device_open("cpu", NULL, &device));
  CHECK(strcmp(lemma_device_describe(device)->name, "virtual GPU") == 0);
  lemma_load_options load = LEMMA_SIZED(lemma_load_options);
  load.name = "bad.ptx";
  FAILS(lemma_module_load(device, "nonsense", 8, &load, &module), LEMMA_ERROR_REJECTED, "bad.ptx:1:");
  load.name = "store.ptx";
  OK(lemma_module_load(device, text, sizeof text - 1, &load, &module));
  OK(lemma_allocate(device, sizeof words, NULL, &address));

  // A launch, after a variable of the module was set.
  OK(lemma_variable_set(module, "factor", &factor, sizeof factor));
  const lemma_bytes arguments[] = {{&address, sizeof address}, {&value, sizeof value}};
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  config.block[0] = 32;
  FAILS(lemma_launch(module, "load", &config, arguments, 2, &report), LEMMA_ERROR_INVALID_ARGUMENT, "store");
  FAILS(lemma_launch(module, NULL, &config, arguments, 1, &report), LEMMA_ERROR_INVALID_ARGUMENT,
        "2 arguments");
  OK(lemma_launch(module, NULL, &config, arguments, 2, &report));
  CHECK(report->outcome == LEMMA_OUTCOME_FINISHED && report->text[0] == '\0');
  CHECK(*report->stats->lane_instructions == 9 * 32);
  lemma_report_release(report);
  OK(lemma_copy_from_device(device, words, address, sizeof words));
  for (int i = 0; i < 32; ++i)
    CHECK(words[i] == value * factor);

  // A fault.
  config.block[0] = 64;
  OK(lemma_launch(module, "store", &config, arguments, 2, &report));
  CHECK(report->outcome == LEMMA_OUTCOME_FAULT && report->fault->kind == LEMMA_FAULT_OUT_OF_BOUNDS);
  CHECK(report->fault->place->ptx_line == 16 && report->fault->warp == 1 && report->fault->lane == 0);
  CHECK(*report->fault->address == address + sizeof words);
  lemma_report_release(report);

  // Two CTAs store, in no order: the same value, which is a note.
  config.block[0] = 32;
  config.grid[0] = 2;
  config.check = true;
  OK(lemma_launch(module, "store", &config, arguments, 2, &report));
  CHECK(report->finding_count == 1 && report->findings[0]->is_note);
  CHECK(strcmp(report->findings[0]->id, "race.global") == 0 && report->findings[0]->earlier);
  lemma_report_release(report);

  // A struct of a header that lacks all but the size.
  config.size = sizeof(size_t);
  OK(lemma_launch(module, "store", &config, arguments, 2, &report));
  CHECK(*report->stats->lane_instructions == 9);
  lemma_report_release(report);

  OK(lemma_free(device, address));
  FAILS(lemma_free(device, address), LEMMA_ERROR_INVALID_ARGUMENT, "no allocation");
  lemma_module_unload(module);
  lemma_device_close(device);
  if (lines_failed == 0)
    printf("lemma %s: the C API works\n", lemma_version());
  return lines_failed != 0;
}
