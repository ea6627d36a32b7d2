// How many registers a CTA's warpgroups may have together: setmaxnreg.inc waits for registers that others
// give up, for ever where they do not. Writes setmaxnreg.csv: for each launch the largest setmaxnreg.inc that
// ends, by the first warpgroup alone, or by all others after the first has executed a setmaxnreg.dec, and
// perhaps has exited. A warpgroup that got through waits 20 ms for the others, and traps.
//
// usage: g++ -std=c++17 setmaxnreg.cc -o setmaxnreg -lcuda && ./setmaxnreg | sort -t, -n -k1 -k2 -k3 -k5 -k6
// on a machine with the GPU
#include <cuda.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kProcesses = 16, kGroup = 128, kLeast = 24, kMost = 240;

struct Launch {
  int groups = 0, maxnreg = 0, minnctapersm = 0, dec = 0; // 0: none of the last three
  bool leaves = false; // the first exits, 1 ms before the others' setmaxnreg
};

// A warp has come through.
const std::string kCount =
    "  and.b32 %r3, %r1, 31; setp.ne.u32 %p3, %r3, 0; @!%p3 atom.shared.add.u32 %r4, [through], 1;\n";

std::string text_of(const Launch& launch, int inc) {
  const auto number = [](int of) { return std::to_string(of); };
  std::string text =
      ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p)\n.maxntid " +
      number(launch.groups * kGroup) + ", 1, 1\n";
  if (launch.maxnreg)
    text += ".maxnreg " + number(launch.maxnreg) + "\n";
  if (launch.minnctapersm)
    text += ".minnctapersm " + number(launch.minnctapersm) + "\n";
  text += R"({
  .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .shared .align 4 .b32 through;
  ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; shr.u32 %r2, %r1, 7; setp.ne.u32 %p1, %r1, 0;
  @%p1 bra BEGUN; st.shared.u32 [through], 0;
BEGUN: bar.sync 0;
)";
  for (int group = 0; group < launch.groups; ++group) {
    text += "  setp.ne.u32 %p2, %r2, " + number(group) + "; @%p2 bra GROUP" + number(group) + ";\n";
    if (group == 0 && launch.dec)
      text += "  setmaxnreg.dec.sync.aligned.u32 " + number(launch.dec) + ";\n";
    if (group == 0 && launch.leaves)
      text += kCount + "LEFT: @%p1 bra GONE; st.global.u32 [%d1], 1;\nGONE: exit;\n";
    if (group > 0 && launch.leaves)
      text +=
          "  mov.u64 %d2, %clock64;\nPAUSE" + number(group) +
          ": mov.u64 %d3, %clock64; sub.u64 %d4, %d3, %d2; setp.lt.u64 %p5, %d4, 2000000; @%p5 bra PAUSE" +
          number(group) + ";\n";
    if (group == 0 ? !launch.dec : launch.dec != 0)
      text += "  setmaxnreg.inc.sync.aligned.u32 " + number(inc) + ";\n";
    text += "GROUP" + number(group) + ":\n";
  }
  return text + kCount + R"(  mov.u64 %d2, %clock64;
WAIT: ld.volatile.shared.u32 %r5, [through]; setp.ge.u32 %p4, %r5, )" +
         number(4 * launch.groups) + R"(; @%p4 bra END;
  mov.u64 %d3, %clock64; sub.u64 %d4, %d3, %d2; setp.lt.u64 %p5, %d4, 40000000; @%p5 bra WAIT; trap;
END: @%p1 bra OUT; st.global.u32 [%d1], 1;
OUT: ret;
}
)";
}

enum Outcome : int { refused, ends, waits }; // refused: by ptxas, or there are not so many registers

Outcome run(const std::string& text, int threads, int* registers) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction kernel = nullptr;
  CUdeviceptr memory = 0;
  cuInit(0);
  cuDeviceGet(&device, 0);
  if (cuCtxCreate(&context, nullptr, 0, device) != CUDA_SUCCESS ||
      cuModuleLoadData(&module, text.c_str()) != CUDA_SUCCESS)
    return refused;
  cuModuleGetFunction(&kernel, module, "k");
  cuFuncGetAttribute(registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel);
  cuMemAlloc(&memory, 256);
  void* arguments[] = {&memory};
  if (cuLaunchKernel(kernel, 1, 1, 1, static_cast<unsigned>(threads), 1, 1, 0, nullptr, arguments, nullptr) !=
      CUDA_SUCCESS)
    return refused;
  return cuCtxSynchronize() == CUDA_SUCCESS ? ends : waits;
}

// A trap ends what a process may do on the GPU: each in one of its own.
Outcome try_one(const Launch& launch, int inc, int* registers) {
  int pipes[2];
  if (pipe(pipes) != 0)
    return refused;
  const pid_t child = fork();
  if (child == 0) {
    int answer[2] = {};
    answer[0] = run(text_of(launch, inc), launch.groups * kGroup, &answer[1]);
    _exit(write(pipes[1], answer, sizeof answer) != sizeof answer);
  }
  close(pipes[1]);
  int answer[2] = {refused, 0};
  const bool answered = read(pipes[0], answer, sizeof answer) == sizeof answer;
  close(pipes[0]);
  waitpid(child, nullptr, 0);
  *registers = answer[1];
  return answered ? static_cast<Outcome>(answer[0]) : refused;
}

// The first that ends not is one eighth above the last that does.
void ask(const Launch& launch) {
  int registers = 0, low = kLeast / 8 - 1, high = kMost / 8 + 1;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    const Outcome outcome = try_one(launch, 8 * middle, &registers);
    if (outcome == refused)
      return;
    (outcome == ends ? low : high) = middle;
  }
  std::printf("%d,%d,%d,%d,%d,%d,%d\n", launch.groups, launch.maxnreg, launch.minnctapersm, registers,
              launch.dec, launch.leaves, 8 * low);
  std::fflush(stdout);
}

} // namespace

int main() {
  std::vector<Launch> launches;
  for (const int minnctapersm : {0, 1, 2})
    for (const int groups : {2, 3, 4, 5})
      for (const int maxnreg : {0, 32, 48, 64, 80, 96, 104, 128, 168, 200, 255})
        for (const int dec : {0, 24, 40})
          if (!maxnreg || !minnctapersm)
            for (const bool leaves : {false, true})
              if (!leaves || dec)
                launches.push_back({groups, maxnreg, minnctapersm, dec, leaves});
  for (int process = 0; process < kProcesses; ++process)
    if (fork() == 0) {
      for (size_t i = process; i < launches.size(); i += kProcesses)
        ask(launches[i]);
      return 0;
    }
  while (wait(nullptr) > 0) {
  }
}
