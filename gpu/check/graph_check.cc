// Captures prepared launches into a CUDA graph and replays it with changed data: each replay has to give the bits that the launch itself gives for that data. One of
// them copies its operands to aligned rows first, in workspace from an allocator of the host.
//
//   graph_check FOLDER     the folder with the example files; one line a kernel; exit code 1 if one fails, 77 where there is no GPU or no NVRTC
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu/driver/api.h"
#include "isa/status.h"
#include "vm/engine.h"
#include "vm/gpu/prepared.h"

namespace tilevm::vm {
namespace {

using isa::DType;

constexpr int64_t kRows = 512, kColumns = 512;

struct Case {
  const char *file, *kernel, *grid, *output;
  DType dtype;
  std::vector<const char*> tensors;    // the output among them
  std::vector<Argument> numbers;
  int64_t rows = kRows, columns = kColumns;  // of each tensor
};

// The host's allocator: every address is one that cuMemAlloc did not give.
class Pool {
 public:
  explicit Pool(const gpu::Api& api) : api_(api) {}

  gpu::Allocator allocator() {
    return {[this](int64_t bytes) { return Allocate(bytes); }, [this](void* memory) { Release(memory); }};
  }
  absl::Status Check() const {
    if (allocations_ == 0) return absl::InternalError("the host's allocator was not asked");
    if (!blocks_.empty() || strange_ != 0) return absl::InternalError(absl::StrCat(blocks_.size(), " blocks were not released, ", strange_, " were none"));
    return absl::OkStatus();
  }

 private:
  static constexpr int64_t kAhead = 4096;

  void* Allocate(int64_t bytes) {
    gpu::CuDevicePtr address = 0;
    if (api_.MemAlloc(&address, static_cast<size_t>(bytes + kAhead)) != 0) return nullptr;
    ++allocations_;
    void* const memory = reinterpret_cast<void*>(address + kAhead);
    blocks_[memory] = address;
    return memory;
  }
  void Release(void* memory) {
    auto block = blocks_.find(memory);
    if (block == blocks_.end() || api_.MemFree(block->second) != 0) ++strange_;
    else blocks_.erase(block);
  }

  const gpu::Api& api_;
  std::map<void*, gpu::CuDevicePtr> blocks_;
  int allocations_ = 0, strange_ = 0;
};

class Checker {
 public:
  Checker(const gpu::Api& api, std::shared_ptr<Engine> engine) : api_(api), engine_(std::move(engine)) {}

  absl::Status Check(const std::string& folder, const Case& c) {
    TILEVM_ASSIGN_OR_RETURN(std::shared_ptr<Program> program, engine_->LoadFile(absl::StrCat(folder, "/", c.file)));
    std::vector<Argument> args = c.numbers;
    std::vector<gpu::CuDevicePtr> inputs;
    gpu::CuDevicePtr output = 0;
    for (const char* name : c.tensors) {
      gpu::CuDevicePtr address = 0;
      TILEVM_DRIVER_CALL(api_, MemAlloc, &address, static_cast<size_t>(c.rows * c.columns * isa::StorageBytes(c.dtype)));
      if (std::string(name) == c.output) output = address;
      else inputs.push_back(address);
      args.push_back({name, TensorRef{reinterpret_cast<void*>(address), c.dtype, {c.rows, c.columns}}});
    }
    TILEVM_ASSIGN_OR_RETURN(std::unique_ptr<PreparedLaunch> launch, program->Prepare(c.kernel, c.grid, args));
    gpu::CuStream stream = nullptr;
    gpu::CuGraph graph = nullptr;
    gpu::CuGraphExec exec = nullptr;
    TILEVM_DRIVER_CALL(api_, StreamCreate, &stream, 1);                // does not wait for the default stream
    TILEVM_DRIVER_CALL(api_, StreamBeginCapture, stream, 0);           // whatever is not allowed in a capture fails
    TILEVM_RETURN_IF_ERROR(launch->Launch(stream));
    TILEVM_DRIVER_CALL(api_, StreamEndCapture, stream, &graph);
    TILEVM_DRIVER_CALL(api_, GraphInstantiate, &exec, graph, 0);
    const size_t bytes = static_cast<size_t>(c.rows * c.columns * isa::StorageBytes(c.dtype));
    for (unsigned seed : {1u, 2u}) {
      for (size_t i = 0; i < inputs.size(); ++i) {
        const std::vector<uint8_t> data = Random(c.dtype, c.rows * c.columns, 16 * seed + static_cast<unsigned>(i));
        TILEVM_DRIVER_CALL(api_, MemcpyHtoD, inputs[i], data.data(), bytes);
      }
      std::vector<uint8_t> direct(bytes), replayed(bytes);
      for (std::vector<uint8_t>* result : {&direct, &replayed}) {
        TILEVM_DRIVER_CALL(api_, MemsetD8Async, output, 0xff, bytes, stream);
        if (result == &direct) {
          TILEVM_RETURN_IF_ERROR(launch->Launch(stream));
        } else {
          TILEVM_DRIVER_CALL(api_, GraphLaunch, exec, stream);
        }
        TILEVM_DRIVER_CALL(api_, StreamSynchronize, stream);
        TILEVM_DRIVER_CALL(api_, MemcpyDtoH, result->data(), output, bytes);
      }
      if (direct == std::vector<uint8_t>(bytes, 0xff)) return absl::InternalError("the launch wrote nothing");
      if (direct != replayed) return absl::InternalError(absl::StrCat("the replay with data ", seed, " gave other bits than the launch"));
    }
    return absl::OkStatus();
  }

 private:
  static std::vector<uint8_t> Random(DType dtype, int64_t count, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    std::vector<uint8_t> out;
    for (int64_t i = 0; i < count; ++i) {
      const float x = normal(random);
      uint32_t bits;
      std::memcpy(&bits, &x, 4);
      // f16: a sign, a small exponent and the upper bits of the fraction do for a check of equal bits.
      if (dtype == DType::kF16) bits = (bits >> 16 & 0x8000) | 0x3400 | (bits >> 13 & 0x3ff);
      for (int b = 0; b < isa::StorageBytes(dtype); ++b) out.push_back(static_cast<uint8_t>(bits >> (8 * b)));
    }
    return out;
  }

  const gpu::Api& api_;
  std::shared_ptr<Engine> engine_;
};

int Main(const std::string& folder) {
  EngineOptions options;
  options.device = "cuda";
  absl::StatusOr<std::shared_ptr<Engine>> engine = Engine::Open(options);
  absl::StatusOr<const gpu::Api*> api = gpu::LoadDriver();
  gpu::CuContext context = nullptr;
  if (!engine.ok() || !api.ok() || (*api)->DevicePrimaryCtxRetain(&context, 0) != 0 || (*api)->CtxSetCurrent(context) != 0) {
    std::printf("skipped: %s\n", std::string(engine.status().message()).c_str());
    return 77;
  }
  const int64_t n = kRows * kColumns;
  const std::vector<Case> cases = {
      {"vector_add.py", "add_kernel", "cdiv(n_elements, BLOCK_SIZE)", "output_ptr", DType::kF32, {"x_ptr", "y_ptr", "output_ptr"}, {{"n_elements", n}, {"BLOCK_SIZE", int64_t{1024}}}},
      {"fused_softmax.py", "softmax_kernel", "512", "output_ptr", DType::kF32, {"output_ptr", "input_ptr"},
       {{"input_row_stride", kColumns}, {"output_row_stride", kColumns}, {"n_cols", kColumns}, {"BLOCK_SIZE", int64_t{512}}}},
      {"matmul_autotune.py", "matmul_kernel", "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)", "c_ptr", DType::kF16, {"a_ptr", "b_ptr", "c_ptr"},
       {{"M", kRows}, {"N", kColumns}, {"K", kColumns}, {"stride_am", kColumns}, {"stride_ak", int64_t{1}}, {"stride_bk", kColumns}, {"stride_bn", int64_t{1}},
        {"stride_cm", kColumns}, {"stride_cn", int64_t{1}}, {"GROUP_SIZE_M", int64_t{8}}}},
  };
  // Large enough that copies to aligned rows are worth it.
  const int64_t large = 2048, odd = large - 1;
  const Case unaligned = {"matmul_autotune.py", "matmul_kernel", "cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N)", "c_ptr", DType::kF16, {"a_ptr", "b_ptr", "c_ptr"},
                          {{"M", large}, {"N", odd}, {"K", odd}, {"stride_am", odd}, {"stride_ak", int64_t{1}}, {"stride_bk", odd}, {"stride_bn", int64_t{1}},
                           {"stride_cm", odd}, {"stride_cn", int64_t{1}}, {"GROUP_SIZE_M", int64_t{8}}}, large, large};
  int failures = 0;
  const auto report = [&](absl::string_view name, const absl::Status& status, absl::string_view good) {
    std::printf("%-24s %s\n", std::string(name).c_str(), std::string(status.ok() ? good : status.message()).c_str());
    failures += !status.ok();
  };
  Checker checker(**api, *engine);
  for (const Case& c : cases) report(c.kernel, checker.Check(folder, c), "two replays of a graph give the launch's bits");
  Pool pool(**api);
  options.gpu_memory = pool.allocator();
  absl::StatusOr<std::shared_ptr<Engine>> with_pool = Engine::Open(options);
  absl::Status status = with_pool.status();
  if (status.ok()) {
    status = Checker(**api, *with_pool).Check(folder, unaligned);
    with_pool->reset();
  }
  if (status.ok()) status = pool.Check();
  report("matmul_kernel, unaligned", status, "the same, in memory of the host's");
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilevm::vm

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "graph_check FOLDER\n");
    return 2;
  }
  return tilevm::vm::Main(argv[1]);
}
