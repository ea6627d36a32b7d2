/* The C API, from C: a run, a fault, and the errors. */
#include <lemma/c.h>

#include <stdio.h>
#include <string.h>

static const char text[] = ".version 8.0\n"
                           ".target sm_90a\n"
                           ".address_size 64\n"
                           ".visible .entry store(.param .u64 data, .param .u32 value)\n"
                           "{\n"
                           "  .reg .b32 %r<3>;\n"
                           "  .reg .b64 %rd<3>;\n"
                           "  ld.param.u64 %rd1, [data];\n"
                           "  ld.param.u32 %r2, [value];\n"
                           "  mov.u32 %r1, %tid.x;\n"
                           "  mul.wide.u32 %rd2, %r1, 4;\n"
                           "  add.s64 %rd1, %rd1, %rd2;\n"
                           "  st.global.u32 [%rd1], %r2;\n"
                           "  ret;\n"
                           "}\n";

#define CHECK(condition)                                                                                     \
  do {                                                                                                       \
    if (!(condition)) {                                                                                      \
      fprintf(stderr, "%s:%d: %s; last error: %s\n", __FILE__, __LINE__, #condition, lemma_last_error());    \
      return 1;                                                                                              \
    }                                                                                                        \
  } while (0)

int main(void) {
  lemma_device* device = NULL;
  lemma_module* module = NULL;
  lemma_report* report = NULL;
  uint64_t address = 0;
  uint32_t words[32];
  const uint32_t value = 0xabcd1234u;

  CHECK(lemma_device_open("tpu", &device) == LEMMA_INVALID_ARGUMENT && strstr(lemma_last_error(), "tpu"));
  CHECK(lemma_device_open("cpu", &device) == LEMMA_OK);
  CHECK(strcmp(lemma_device_name(device), "virtual GPU") == 0);
  CHECK(lemma_module_load(device, "nonsense", 8, "bad.ptx", NULL, &module) == LEMMA_REJECTED);
  CHECK(strstr(lemma_last_error(), "bad.ptx:1:"));
  CHECK(lemma_module_load(device, text, sizeof text - 1, "store.ptx", NULL, &module) == LEMMA_OK);
  CHECK(lemma_allocate(device, sizeof words, 0, &address) == LEMMA_OK);

  const void* arguments[] = {&address, &value};
  const size_t sizes[] = {sizeof address, sizeof value};
  lemma_launch_config config;
  memset(&config, 0, sizeof config);
  config.grid[0] = 1;
  config.block[0] = 32;
  CHECK(lemma_launch(module, "load", &config, arguments, sizes, 2, &report) == LEMMA_INVALID_ARGUMENT);
  CHECK(lemma_launch(module, NULL, &config, arguments, sizes, 1, &report) == LEMMA_INVALID_ARGUMENT);
  CHECK(lemma_launch(module, NULL, &config, arguments, sizes, 2, &report) == LEMMA_OK);
  CHECK(lemma_report_outcome(report) == LEMMA_FINISHED && lemma_report_text(report)[0] == '\0');
  CHECK(lemma_report_lane_instructions(report) == 7 * 32);
  lemma_report_release(report);

  CHECK(lemma_copy_from_device(device, words, address, sizeof words) == LEMMA_OK);
  for (int i = 0; i < 32; ++i)
    CHECK(words[i] == value);
  CHECK(lemma_copy_to_device(device, address + 4, words, sizeof words) == LEMMA_INVALID_ARGUMENT);
  CHECK(lemma_copy_to_device(device, address + 4, words, 4) == LEMMA_OK);

  config.block[0] = 64;
  CHECK(lemma_launch(module, "store", &config, arguments, sizes, 2, &report) == LEMMA_OK);
  CHECK(lemma_report_outcome(report) == LEMMA_FAULT && strstr(lemma_report_text(report), "out of bounds"));
  lemma_report_release(report);

  lemma_stop* stop = lemma_stop_create();
  CHECK(stop);
  config.block[0] = 32;
  config.stop = stop;
  CHECK(lemma_launch(module, "store", &config, arguments, sizes, 2, &report) == LEMMA_OK);
  CHECK(lemma_report_outcome(report) == LEMMA_FINISHED);
  lemma_report_release(report);
  lemma_stop_request(stop);
  CHECK(lemma_launch(module, "store", &config, arguments, sizes, 2, &report) == LEMMA_OK);
  CHECK(lemma_report_outcome(report) == LEMMA_STOPPED && strstr(lemma_report_text(report), "on request"));
  lemma_report_release(report);
  lemma_stop_release(stop);

  /* Two CTAs store, in no order: the same value, which is a note. */
  lemma_finding finding;
  config.stop = NULL;
  config.grid[0] = 2;
  config.check = 1;
  CHECK(lemma_launch(module, "store", &config, arguments, sizes, 2, &report) == LEMMA_OK);
  CHECK(lemma_report_finding_count(report) == 1);
  CHECK(lemma_report_finding(report, 0, &finding) == LEMMA_OK);
  CHECK(strcmp(finding.id, "race.global") == 0 && finding.is_note && finding.count > 0);
  CHECK(finding.has_earlier && finding.access.ptx_line == 13 && finding.earlier.ptx_line == 13);
  CHECK(strcmp(finding.access.what, "writes 4 bytes") == 0 && strcmp(finding.kernel, "store") == 0);
  CHECK(strstr(finding.text, "store.ptx:13: note[race.global]"));
  CHECK(lemma_report_text(report)[0] == '\0');
  CHECK(lemma_report_finding(report, 1, &finding) == LEMMA_INVALID_ARGUMENT);
  lemma_report_release(report);
  config.check_ctas = 1;
  config.schedule = 5;
  CHECK(lemma_launch(module, "store", &config, arguments, sizes, 2, &report) == LEMMA_OK);
  CHECK(lemma_report_finding_count(report) == 0);
  lemma_report_release(report);

  CHECK(lemma_free(device, address) == LEMMA_OK);
  CHECK(lemma_free(device, address) == LEMMA_INVALID_ARGUMENT);
  lemma_module_unload(module);
  lemma_device_close(device);
  printf("lemma %s: the C API works\n", lemma_version());
  return 0;
}
