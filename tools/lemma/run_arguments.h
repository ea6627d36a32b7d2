// The --arg options of `lemma run`: their files, the memory they become, kernel parameters or a host
// function's arguments made of it, and the outputs, written and compared.
//
//   RunArguments arguments;
//   arguments.add("in=a.npy"); ...
//   arguments.read_files(); arguments.check_outputs();
//   arguments.for_kernel(device, module, ...) or arguments.for_host(...); the run; arguments.write_outputs()
//
// Tests: tests/cli/, tests/mlir/run/.
#pragma once

#include "arg_spec.h"
#include "compare.h"
#include "stop.h"
#include "tensor_map_file.h"

#include "lemma/lemma.h"
#include "lemma/mlir.h"

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lemma::cli {

struct OutputComparison {
  std::string got, want; // file names
  Comparison result;
};

class RunArguments {
public:
  Result<void, Stop> add(const std::string& text);
  bool empty() const { return arguments_.empty(); }
  Result<void, Stop> read_files();
  bool has_outputs() const;
  // Whether all of them could be written now.
  Result<void, Stop> check_outputs() const;

  // Sets the module's variables that options name, and finds those that are outputs; the parameters of a
  // kernel of it; of a gpu.func (`mlir`; else null) there is one option for each argument,
  // which may become several parameters. Memory after the last is there for the tensor maps that name it, or
  // for nobody.
  Result<std::vector<Argument>, Stop> for_kernel(const Device& device, const Module& module,
                                                 const Kernel& kernel, const MlirKernel* mlir);
  // What for_kernel() took and gave to no parameter and no tensor map: "arg 3 (in=b.npy)".
  const std::vector<std::string>& unused() const { return unused_; }
  // The arguments of a host function, in memory of this object.
  Result<std::vector<MlirArgument>, Stop> for_host();

  // The same options and files, without memory.
  RunArguments afresh() const;
  // The outputs, as files and as they are in memory now.
  std::vector<std::string> output_names() const;
  Result<std::vector<std::vector<std::byte>>, Error> outputs() const;
  // Writes every output, or none, and compares those that an expect follows.
  Result<std::vector<OutputComparison>, Stop> write_outputs() const;

private:
  // One --arg: what it said, the file behind it, the memory it became, the device's or the host's.
  struct State {
    Spec spec;
    std::shared_ptr<const npy::Array> file;
    std::optional<TensorMapFile> map;
    size_t mapped = 0; // of a tensor map: whose memory it is of, in arguments_
    Buffer buffer;
    uint64_t variable_address = 0; // of get
    std::vector<std::byte> host;

    // Of an argument that names a file; of a tensor map.
    const npy::Array& contents() const { return assert(file), *file; }
    const TensorMapFile& tensor_map() const { return assert(map), *map; }
    bool is_memory() const;
    uint64_t size_bytes() const { return file ? file->data.size() : spec.size_bytes; }
    // Of an array: as named by the option, else the .npy file's. Of bytes: empty.
    std::string dtype() const;
    // As named by the option, else the file's.
    const std::vector<uint64_t>& shape() const {
      return spec.shape.empty() && file ? file->shape : spec.shape;
    }
  };

  Result<void, Stop> resolve_map(State& state) const;
  Result<void, Stop> resolve_variable(const Device& device, const Module& module, State& state) const;
  Result<void, Stop> allocate(const Device& device, State& state, const std::string& name) const;
  Result<void, Stop> allocate_all(const Device& device, const Kernel& kernel, const MlirKernel* mlir);
  Result<Argument, Stop> encode(const Device& device, const State& state) const;
  Result<void, Stop> pass_to_mlir(const Device& device, const MlirParameter& parameter, State& state,
                                  std::vector<Argument>& arguments) const;
  Result<void, Stop> pass_to_kernel(const Device& device, const Kernel& kernel, const State& state,
                                    std::vector<Argument>& arguments) const;
  bool is_mapped(size_t index) const;
  size_t position_of(size_t index) const;
  npy::Array output_array(size_t index) const;
  Result<void, Error> copy_memory(const State& argument, std::span<std::byte> to) const;

  std::vector<State> arguments_; // expect included, in the order given
  std::vector<std::string> unused_;
  std::optional<Device> device_; // that variables are on
};

} // namespace lemma::cli
