// What programs of CUDA are made of, from C: several kernels of one module in one process (CUB's radix sort),
// a struct with two tensor maps and a pointer, a tensor map in device memory, a constant variable that is
// set.
//
// usage: programs cub_radix_sort_keys.ptx
#include <lemma/c.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Ends the program with what the call said.
static void ok(const lemma_error* error) {
  if (!error)
    return;
  fputs(error->rendered, stderr);
  exit(1);
}

static void require(bool holds, const char* what) {
  if (holds)
    return;
  fprintf(stderr, "programs: %s\n", what);
  exit(1);
}

static lemma_module* load(lemma_device* device, const char* text, size_t bytes, const char* name) {
  lemma_load_options options = LEMMA_SIZED(lemma_load_options);
  lemma_module* module = NULL;
  options.name = name;
  ok(lemma_module_load(device, text, bytes, &options, &module));
  return module;
}

static uint64_t allocate(lemma_device* device, const void* contents, size_t bytes) {
  uint64_t address = 0;
  ok(lemma_allocate(device, bytes, NULL, &address));
  if (contents)
    ok(lemma_copy_to_device(device, address, contents, bytes));
  return address;
}

static void launch(lemma_module* module, const char* kernel, uint32_t grid, uint32_t block,
                   const lemma_bytes* arguments, size_t count) {
  lemma_launch_config config = LEMMA_SIZED(lemma_launch_config);
  const lemma_report* report = NULL;
  config.grid[0] = grid;
  config.block[0] = block;
  ok(lemma_launch(module, kernel, &config, arguments, count, &report));
  fputs(report->text, stderr);
  require(report->outcome == LEMMA_OUTCOME_FINISHED, kernel);
  lemma_report_release(report);
}

// --- CUB's radix sort: counts digits, sums the counts, then moves the keys a digit at a time

enum { kKeys = 20000, kSweepTile = 384 * 20, kDigits = 256 };

// The kernel whose mangled name has the word.
static const char* kernel_with(const lemma_module* module, const char* word) {
  const lemma_module_info* info = lemma_module_describe(module);
  for (size_t i = 0; i < info->kernel_count; ++i)
    if (strstr(info->kernels[i]->name, word))
      return info->kernels[i]->name;
  fprintf(stderr, "programs: no kernel %s\n", word);
  exit(1);
}

static int by_value(const void* a, const void* b) {
  const uint32_t x = *(const uint32_t*)a, y = *(const uint32_t*)b;
  return (x > y) - (x < y);
}

static void sort_keys(lemma_device* device, const char* path) {
  static char text[4 << 20];
  static uint32_t keys[kKeys], sorted[kKeys];
  FILE* file = fopen(path, "rb");
  require(file != NULL, path);
  const size_t bytes = fread(text, 1, sizeof text, file);
  fclose(file);
  lemma_module* module = load(device, text, bytes, path);

  uint32_t state = 1;
  for (int i = 0; i < kKeys; ++i)
    keys[i] = state = state * 1664525 + 1013904223;
  const uint32_t tiles = (kKeys + kSweepTile - 1) / kSweepTile;
  uint64_t from = allocate(device, keys, sizeof keys), to = allocate(device, NULL, sizeof keys);
  const uint64_t bins = allocate(device, NULL, 4 * kDigits * 4), none = 0;
  const uint64_t lookback = allocate(device, NULL, tiles * kDigits * 4), counter = allocate(device, NULL, 4);
  const uint32_t count = kKeys;
  const int32_t first_bit = 0, bits = 32, digit_bits = 8;
  const uint8_t decomposer = 0;
  const lemma_bytes histogram[] = {{&bins, 8},      {&from, 8}, {&count, 4},
                                   {&first_bit, 4}, {&bits, 4}, {&decomposer, 1}};
  launch(module, kernel_with(module, "RadixSortHistogram"), 6, 128, histogram, 6);
  const lemma_bytes sums[] = {{&bins, 8}};
  launch(module, kernel_with(module, "RadixSortExclusiveSum"), 4, 256, sums, 1);
  for (int32_t bit = 0; bit < 32; bit += 8) {
    const uint64_t starts = bins + (uint64_t)bit / 8 * kDigits * 4;
    ok(lemma_fill(device, lookback, 0, tiles * kDigits * 4));
    ok(lemma_fill(device, counter, 0, 4));
    const lemma_bytes sweep[] = {{&lookback, 8}, {&counter, 8}, {&none, 8},       {&starts, 8},
                                 {&to, 8},       {&from, 8},    {&none, 8},       {&none, 8},
                                 {&count, 4},    {&bit, 4},     {&digit_bits, 4}, {&decomposer, 1}};
    launch(module, kernel_with(module, "Onesweep"), tiles, 384, sweep, 12);
    const uint64_t swapped = from;
    from = to;
    to = swapped;
  }
  ok(lemma_copy_from_device(device, sorted, from, sizeof sorted));
  qsort(keys, kKeys, sizeof keys[0], by_value);
  require(memcmp(sorted, keys, sizeof keys) == 0, "the keys are not sorted");
  lemma_module_unload(module);
}

// --- boxes of three tensors, of two whose maps are in a struct and of one whose map is in device memory,
// added

static const char kText[] = ".version 8.0\n"
                            ".target sm_90a\n"
                            ".address_size 64\n"
                            ".visible .const .align 4 .f32 scale = 0f3F800000;\n"
                            ".visible .entry add(.param .align 64 .b8 args[320], .param .u64 third)\n"
                            "{\n"
                            "  .reg .pred %p;\n"
                            "  .reg .b32 %r<9>;\n"
                            "  .reg .b64 %rd<9>;\n"
                            "  .reg .f32 %f<5>;\n"
                            "  .shared .align 128 .b8 tiles[768];\n"
                            "  .shared .align 8 .b64 bar;\n"
                            "  mov.u32 %r1, %tid.x;\n"
                            "  mov.u32 %r2, bar;\n"
                            "  mov.u32 %r3, tiles;\n"
                            "  setp.ne.u32 %p, %r1, 0;\n"
                            "  @%p bra READY;\n"
                            "  mbarrier.init.shared.b64 [%r2], 1;\n"
                            "  fence.proxy.async.shared::cta;\n"
                            "  mbarrier.arrive.expect_tx.shared.b64 %rd1, [%r2], 768;\n"
                            "  mov.b64 %rd2, args;\n"
                            "  cvta.param.u64 %rd2, %rd2;\n"
                            "  add.u64 %rd3, %rd2, 128;\n"
                            "  ld.param.u64 %rd4, [third];\n"
                            "  mov.u32 %r4, 8;\n"
                            "  mov.u32 %r5, 4;\n"
                            "  add.u32 %r6, %r3, 256;\n"
                            "  add.u32 %r7, %r3, 512;\n"
                            "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                            " [%r3], [%rd2, {%r4, %r5}], [%r2];\n"
                            "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                            " [%r6], [%rd3, {%r4, %r5}], [%r2];\n"
                            "  cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
                            " [%r7], [%rd4, {%r4, %r5}], [%r2];\n"
                            "READY:\n"
                            "  bar.sync 0;\n"
                            "WAIT:\n"
                            "  mbarrier.try_wait.parity.shared.b64 %p, [%r2], 0;\n"
                            "  @!%p bra WAIT;\n"
                            "  shl.b32 %r8, %r1, 2;\n"
                            "  add.u32 %r3, %r3, %r8;\n"
                            "  ld.shared.f32 %f1, [%r3];\n"
                            "  ld.shared.f32 %f2, [%r3 + 256];\n"
                            "  ld.shared.f32 %f3, [%r3 + 512];\n"
                            "  ld.const.f32 %f4, [scale];\n"
                            "  add.f32 %f1, %f1, %f2;\n"
                            "  add.f32 %f1, %f1, %f3;\n"
                            "  mul.rn.f32 %f1, %f1, %f4;\n"
                            "  ld.param.u64 %rd5, [args + 256];\n"
                            "  cvt.u64.u32 %rd6, %r8;\n"
                            "  add.u64 %rd5, %rd5, %rd6;\n"
                            "  st.global.f32 [%rd5], %f1;\n"
                            "  ret;\n"
                            "}\n";

typedef struct {
  unsigned char a[128], b[128]; // tensor maps
  uint64_t out;
  uint64_t unused[7]; // to a multiple of the alignment
} Arguments;

enum { kWidth = 32, kHeight = 16 };

static void map_of(lemma_device* device, uint64_t address, void* bytes) {
  lemma_tensor_map map = LEMMA_SIZED(lemma_tensor_map);
  map.type = LEMMA_TENSOR_F32;
  map.address = address;
  map.rank = 2;
  map.dims[0] = kWidth;
  map.dims[1] = kHeight;
  map.strides_bytes[0] = kWidth * 4;
  map.box[0] = map.box[1] = 8;
  ok(lemma_tensor_map_encode(device, &map, bytes));
}

static void add_boxes(lemma_device* device) {
  float tensor[kHeight][kWidth], out[8][8];
  unsigned char map[128];
  const float scale = 0.5f;
  Arguments arguments = {0};
  for (int y = 0; y < kHeight; ++y)
    for (int x = 0; x < kWidth; ++x)
      tensor[y][x] = (float)(100 * y + x);
  const uint64_t a = allocate(device, tensor, sizeof tensor), b = allocate(device, tensor, sizeof tensor);
  arguments.out = allocate(device, NULL, sizeof out);
  map_of(device, a, arguments.a);
  map_of(device, b, arguments.b);
  map_of(device, a, map);
  const uint64_t map_address = allocate(device, map, sizeof map);

  lemma_module* module = load(device, kText, sizeof kText - 1, "add.ptx");
  ok(lemma_variable_set(module, "scale", &scale, sizeof scale));
  const lemma_bytes bytes[] = {{&arguments, sizeof arguments}, {&map_address, sizeof map_address}};
  launch(module, "add", 1, 64, bytes, 2);
  ok(lemma_copy_from_device(device, out, arguments.out, sizeof out));
  for (int y = 0; y < 8; ++y)
    for (int x = 0; x < 8; ++x)
      require(out[y][x] == 3 * tensor[4 + y][8 + x] * scale, "a wrong sum");
  lemma_module_unload(module);
}

int main(int argc, char** argv) {
  lemma_device* device = NULL;
  require(argc == 2, "usage: programs cub_radix_sort_keys.ptx");
  ok(lemma_device_open("cpu", NULL, &device));
  sort_keys(device, argv[1]);
  add_boxes(device);
  lemma_device_close(device);
  puts("CUB sorts, and three tensor maps add");
  return 0;
}
