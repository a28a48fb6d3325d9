// The names that triton and triton.language have beside those with a meaning here: what is none of them is misspelt. Inside triton.runtime, triton.compiler,
// triton.knobs and the like everything is taken to be there.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "specializer/partial_eval/impl.h"
#include "specializer/partial_eval/nearest_name.h"

namespace tilevm::specializer {

namespace {

constexpr absl::string_view kTriton =
    "AsyncCompileMode AutotunerError CompilationError CompiledKernel Config FutureKernel InterpreterError JITFunction KernelInterface MockTensor "
    "OutOfResources PTXASError TensorWrapper TritonError aggregate autotune backends cdiv common compile compiler constexpr_function errors experimental "
    "heuristics jit knobs language must_use_result next_power_of_2 ops profiler reinterpret runtime set_allocator set_profile_allocator testing tools";

constexpr absl::string_view kLanguage =
    "PropagateNan TRITON_BUILTIN TRITON_MAX_TENSOR_NUMEL aggregate base_type base_value block_type builtin check_bit_width condition const constexpr "
    "constexpr_function constexpr_type core dtype extra float8e4b8 float8e5b16 function_type int1 ir is_builtin libdevice math must_use_result "
    "nv_tma_desc_type pair_uniform_to_normal philox_impl pi32_t pointer_type random semantic slice slice_type standard static_range str_to_ty target_info "
    "tensor tensor_descriptor tensor_descriptor_base tensor_descriptor_type to_tensor tuple tuple_type uint_to_uniform_float void range rand4x randn4x "
    "ordered_set bfloat16 float16 float32 float64 float8e4b15 float8e4nv float8e5 int8 int16 int32 int64 uint8 uint16 uint32 uint64 "
    "load_tensor_descriptor store_tensor_descriptor minimum maximum exp2 get_int_dtype squeeze unsqueeze dot_scaled scalar shape_type "
    "program_id num_programs sort topk bitonic_merge warp_specialize async_task max_constancy wait_group mul sub add mod map_elementwise";

constexpr absl::string_view kTesting =
    "Benchmark Mark allclose assert_close cuda_memcheck do_bench do_bench_cudagraph do_bench_cudagraph_proton get_dram_gbps get_max_simd_tflops "
    "get_max_tensorcore_tflops nvsmi perf_report set_gpu_clock runtime";

struct Space {
  absl::string_view prefix;
  absl::flat_hash_set<absl::string_view> names;
};

const std::vector<Space>& Spaces() {
  static const auto* const spaces = [] {
    auto* list = new std::vector<Space>;
    for (auto [prefix, text] : {std::pair("triton.language.", kLanguage), {"triton.testing.", kTesting}, {"triton.", kTriton}}) {
      Space space{prefix, {}};
      for (absl::string_view name : absl::StrSplit(text, ' ', absl::SkipEmpty())) space.names.insert(name);
      list->push_back(std::move(space));
    }
    for (const isa::OpInfo& op : isa::AllOps()) {
      for (absl::string_view name : absl::StrSplit(op.surface, ' ', absl::SkipEmpty())) {
        if (!absl::StrContains(name, ".")) (*list)[0].names.insert(name);
      }
    }
    return list;
  }();
  return *spaces;
}

}  // namespace

OutsideName LookUpTritonName(absl::string_view path) {
  OutsideName result;
  for (const Space& space : Spaces()) {
    absl::string_view rest = path;
    if (!absl::ConsumePrefix(&rest, space.prefix)) continue;
    rest = rest.substr(0, rest.find('.'));
    if (absl::StartsWith(rest, "_") || space.names.contains(rest)) return result;
    result.there = false;
    result.missing = absl::StrCat(space.prefix, rest);
    NearestName nearest(rest);
    for (absl::string_view name : space.names) nearest.Offer(name);
    result.nearest = nearest.name();
    return result;
  }
  return result;
}

}  // namespace tilevm::specializer
