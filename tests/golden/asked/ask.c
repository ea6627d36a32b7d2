// Runs each kernel of a list on the GPU and writes what it stored: ask LIST OUT
//
// A line of LIST: NAME CUBIN ENTRY BLOCK SHARED_BYTES OUT_BYTES 0. Kernels take two addresses: 64 KiB of 0x3c003c00, and
// OUT_BYTES (the first 4 KiB) of 0xee. A line of OUT: NAME, "ok" or the error's name, the words that were stored.
// A fault ends the process's context: so a child runs the list from where the last one ended.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef unsigned long long Address;
static void* driver;
#define CALL(name) ((int (*)())dlsym(driver, #name))

enum { kIn = 65536, kShown = 4096, kCases = 4096, kSeconds = 8 };

typedef struct {
  char name[64], file[64], entry[64];
  int block, shared, bytes, unused;
} Case;

static char* contents(const char* path) {
  FILE* file = fopen(path, "rb");
  if (!file)
    return 0;
  fseek(file, 0, SEEK_END);
  const long size = ftell(file);
  rewind(file);
  char* bytes = calloc(size + 1, 1);
  if (fread(bytes, 1, size, file) != (size_t)size)
    bytes = 0;
  fclose(file);
  return bytes;
}

static const char* name_of(int error) {
  const char* name = "?";
  CALL(cuGetErrorName)(error, &name);
  return name;
}

// False: the context is gone.
static int run(const Case* c, FILE* out) {
  static char loaded[64];
  static void* module;
  static uint32_t words[kIn / 4];
  void* function = 0;
  int error = 0;
  if (strcmp(loaded, c->file) != 0) {
    char* image = contents(c->file);
    error = image ? CALL(cuModuleLoadData)(&module, image) : 1;
    strcpy(loaded, error ? "" : c->file);
  }
  if (!error)
    error = CALL(cuModuleGetFunction)(&function, module, c->entry);
  if (error) {
    fprintf(out, "%s not loaded: %s\n", c->name, name_of(error));
    return 1;
  }
  Address in = 0, stored = 0;
  const size_t shown = c->bytes > kShown ? kShown : c->bytes;
  CALL(cuMemAlloc_v2)(&in, (size_t)kIn);
  CALL(cuMemAlloc_v2)(&stored, (size_t)c->bytes);
  for (int i = 0; i < kIn / 4; ++i)
    words[i] = 0x3c003c00;
  CALL(cuMemcpyHtoD_v2)(in, words, (size_t)kIn);
  memset(words, 0xee, sizeof words);
  CALL(cuMemcpyHtoD_v2)(stored, words, shown);
  void* arguments[] = {&in, &stored};
  alarm(kSeconds); // one that hangs
  error = CALL(cuLaunchKernel)(function, 1, 1, 1, c->block, 1, 1, c->shared, (void*)0, arguments, (void*)0);
  if (!error)
    error = CALL(cuCtxSynchronize)();
  alarm(0);
  fprintf(out, "%s %s", c->name, error ? name_of(error) : "ok");
  if (!error) {
    CALL(cuMemcpyDtoH_v2)(words, stored, shown);
    for (size_t i = 0; i < shown / 4; ++i)
      fprintf(out, " %x", words[i]);
    CALL(cuMemFree_v2)(in);
    CALL(cuMemFree_v2)(stored);
  }
  fprintf(out, "\n");
  fflush(out);
  return error == 0;
}

// Runs cases from `first` on, and says by `progress` at which it is.
static int run_from(const Case* cases, int first, int count, const char* path, int progress) {
  void* context = 0;
  int device = 0;
  driver = dlopen("libcuda.so.1", RTLD_NOW);
  if (!driver)
    return 255;
  CALL(cuInit)(0);
  CALL(cuDeviceGet)(&device, 0);
  if (CALL(cuDevicePrimaryCtxRetain)(&context, device) != 0)
    return 255;
  CALL(cuCtxSetCurrent)(context);
  FILE* out = fopen(path, "a");
  for (int i = first; i < count; ++i)
    if (write(progress, &i, sizeof i) != sizeof i || !run(&cases[i], out))
      break;
  fclose(out);
  return 0;
}

int main(int words, char** word) {
  static Case cases[kCases];
  int count = 0;
  FILE* list = words == 3 ? fopen(word[1], "r") : 0;
  if (!list)
    return 2;
  for (Case* c = cases; count < kCases && fscanf(list, "%63s %63s %63s %d %d %d %d", c->name, c->file, c->entry, &c->block,
                                                 &c->shared, &c->bytes, &c->unused) == 7;
       ++c)
    ++count;
  remove(word[2]);
  for (int next = 0; next < count;) {
    int progress[2], at, last = next, status = 0;
    if (pipe(progress) != 0)
      return 1;
    const pid_t child = fork();
    if (child == 0)
      _exit(run_from(cases, next, count, word[2], progress[1]));
    close(progress[1]);
    while (read(progress[0], &at, sizeof at) == sizeof at)
      last = at;
    close(progress[0]);
    waitpid(child, &status, 0);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 255)
      return 1;
    if (WIFSIGNALED(status)) {
      FILE* out = fopen(word[2], "a");
      fprintf(out, "%s signal %d\n", cases[last].name, WTERMSIG(status));
      fclose(out);
    }
    next = last + 1;
  }
  return 0;
}
