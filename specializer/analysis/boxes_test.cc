// Boxes of kernels as people write them, and why there are none in others.
#include "specializer/analysis/boxes.h"

#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "frontends/triton/compile.h"
#include "specializer/analysis/launch_ranges.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"
#include "specializer/pipeline/carried_offsets.h"

namespace tilevm::analysis {
namespace {

using specializer::ArgSpec;
using specializer::Value;

// def k(signature): body. In the signature "p: f16" is a pointer, "n" an i32, "n: i64" an i64, "n=64" a constant.
ir::Kernel Kernel(const std::string& signature, const std::string& body) {
  std::vector<std::string> names;
  specializer::SpecializationKey key;
  for (absl::string_view item : absl::StrSplit(signature, ", ")) {
    ArgSpec spec;
    const std::vector<std::string> constant = absl::StrSplit(item, absl::MaxSplits('=', 1)), typed = absl::StrSplit(item, absl::MaxSplits(": ", 1));
    if (constant.size() == 2) {
      names.push_back(constant[0]);
      spec.value = Value::Int(std::stoll(constant[1]));
    } else {
      spec.kind = ArgSpec::Kind::kTyped;
      names.push_back(typed[0]);
      if (typed.size() == 1) spec.type = isa::ScalarType(isa::DType::kI32);
      else if (typed[1] == "i64") spec.type = isa::ScalarType(isa::DType::kI64);
      else spec.type = isa::PointerType(*isa::DTypeFromName(typed[1]));
    }
    key.args.push_back(spec);
  }
  const std::string source = absl::StrCat("import triton\nimport triton.language as tl\n@triton.jit\ndef k(", absl::StrJoin(names, ", "), "):\n", body);
  absl::StatusOr<isa::Module> module = triton::CompileTriton(source, "k.py");
  EXPECT_TRUE(module.ok()) << module.status();
  specializer::Evaluator evaluator(&*module, nullptr);
  absl::StatusOr<Value> function = evaluator.Global("k");
  EXPECT_TRUE(function.ok());
  absl::StatusOr<ir::Kernel> typed = evaluator.Specialize(*function, key);
  EXPECT_TRUE(typed.ok()) << FormatDiagnostic(typed.status(), module->files);
  return pipeline::CarriedOffsets(*specializer::RunPasses(*std::move(typed)));
}

void Accesses(const ir::Region& region, std::vector<const ir::Op*>& out) {
  for (const ir::Op& op : region.ops) {
    if (op.op == isa::Op::kLoad || op.op == isa::Op::kStore) out.push_back(&op);
    for (const ir::Region& inner : op.regions) Accesses(inner, out);
  }
}

std::string Text(const ir::Kernel& kernel, const Polynomial& p) {
  std::vector<std::string> terms;
  for (const auto& [factors, coefficient] : p.terms) {
    std::vector<std::string> parts;
    if (coefficient != 1 || factors.empty()) parts.push_back(absl::StrCat(coefficient));
    for (const Factor& f : factors) parts.push_back(absl::StrCat(f.trip ? "trip" : kernel.values[f.value].name));
    terms.push_back(absl::StrJoin(parts, "*"));
  }
  return terms.empty() ? "0" : absl::StrJoin(terms, " + ");
}

// "a[1: 64*trip, 0: 128*pid_m]": axis and start of each dim, innermost first; or why not.
std::string Describe(const ir::Kernel& kernel, const Boxes& boxes, const ir::Op& op) {
  const Box* box = boxes.Of(op);
  if (box == nullptr) return boxes.Why(op);
  std::vector<std::string> dims;
  for (const BoxDim& dim : box->dims) dims.push_back(absl::StrCat(dim.axis, ": ", Text(kernel, dim.start)));
  return absl::StrCat(kernel.params[static_cast<size_t>(box->param)].name, "[", absl::StrJoin(dims, ", "), "]");
}

struct Analysed {
  Analysed(const std::string& signature, const std::string& body) : kernel(Kernel(signature, body)), boxes(kernel) { Accesses(kernel.body, accesses); }
  std::string At(size_t i) const { return i < accesses.size() ? Describe(kernel, boxes, *accesses[i]) : "there is no such access"; }
  // Every box used, whole; then the checks for this launch.
  launch::SliceValues Launch(std::vector<int64_t> params, std::array<int64_t, 3> grid) {
    for (const ir::Op* op : accesses) {
      const Box* box = boxes.Of(*op);
      if (box == nullptr) continue;
      std::vector<int64_t> size;
      for (const BoxDim& dim : box->dims) size.push_back(dim.axis < 0 ? 1 : kernel.TypeOf(op->operands[0]).shape[static_cast<size_t>(dim.axis)]);
      boxes.Use(*op, size, 128);
    }
    std::vector<std::optional<int64_t>> scalars;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const bool pointer = kernel.TypeOf(kernel.params[i].value).elem.pointer;
      scalars.push_back(pointer ? std::nullopt : std::optional<int64_t>(params[i]));
    }
    const LaunchRanges ranges(kernel, scalars, grid);
    return Evaluate(boxes.slice(), params, grid, [&](uint32_t id) { return std::make_pair(ranges.Of(id).lo, ranges.Of(id).hi); });
  }

  ir::Kernel kernel;
  Boxes boxes;
  std::vector<const ir::Op*> accesses;
};

constexpr char kMatmul[] =
    "    pid = tl.program_id(0)\n"
    "    num_pid_m = tl.cdiv(M, BM)\n"
    "    num_pid_n = tl.cdiv(N, BN)\n"
    "    in_group = 8 * num_pid_n\n"
    "    group_id = pid // in_group\n"
    "    first = group_id * 8\n"
    "    size = min(num_pid_m - first, 8)\n"
    "    pid_m = first + (pid % size)\n"
    "    pid_n = (pid % in_group) // size\n"
    "    offs_am = (pid_m * BM + tl.arange(0, BM)) % M\n"
    "    offs_bn = (pid_n * BN + tl.arange(0, BN)) % N\n"
    "    offs_k = tl.arange(0, BK)\n"
    "    a_ptrs = a + (offs_am[:, None] * am + offs_k[None, :] * ak)\n"
    "    b_ptrs = b + (offs_k[:, None] * bk + offs_bn[None, :] * bn)\n"
    "    acc = tl.zeros((BM, BN), dtype=tl.float32)\n"
    "    for k in range(0, tl.cdiv(K, BK)):\n"
    "        x = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BK, other=0.0)\n"
    "        y = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BK, other=0.0)\n"
    "        acc += tl.dot(x, y)\n"
    "        a_ptrs += BK * ak\n"
    "        b_ptrs += BK * bk\n"
    "    offs_cm = pid_m * BM + tl.arange(0, BM)\n"
    "    offs_cn = pid_n * BN + tl.arange(0, BN)\n"
    "    c_ptrs = c + cm * offs_cm[:, None] + cn * offs_cn[None, :]\n"
    "    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)\n"
    "    tl.store(c_ptrs, acc.to(c.dtype.element_ty), mask=c_mask)\n";

TEST(Boxes, Matmul) {
  Analysed k("a: f16, b: f16, c: f16, M, N, K, am, ak=1, bk, bn=1, cm, cn=1, BM=128, BN=256, BK=64", kMatmul);
  ASSERT_EQ(k.accesses.size(), 3u);
  EXPECT_EQ(k.At(0), "a[1: 64*trip, 0: 1024*group_id + 128*]");
  EXPECT_EQ(k.At(1), "b[1: 256*pid_n, 0: 64*trip]");
  EXPECT_EQ(k.At(2), "c[1: 256*pid_n, 0: 1024*group_id + 128*]");
  // params: a b c M N K am bk cm
  const launch::SliceValues values = k.Launch({0x10000, 0x20000, 0x30000, 4096, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1});
  EXPECT_EQ(values.failed, "");
  ASSERT_EQ(values.maps.size(), 3u);
  EXPECT_EQ(values.maps[0].extents, (std::vector<uint64_t>{4096, 4096}));
  EXPECT_EQ(values.maps[0].strides, (std::vector<uint64_t>{8192}));
  EXPECT_EQ(values.maps[0].box, (std::vector<uint32_t>{64, 128}));
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 1000, 1032, 520, 520, 1032, 1032}, {40, 1, 1}).failed, "");
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 16384, 16384, 8192, 8192, 16384, 16384}, {8192, 1, 1}).failed, "");
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 4095, 4095, 4093, 4093, 4095, 4095}, {512, 1, 1}).failed, "rows of a are not a multiple of 16 bytes apart");
  EXPECT_EQ(k.Launch({0x10000, 0x20002, 0x30000, 4096, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1}).failed, "b is not aligned to 16 bytes");
  // 65536 * 65536 offsets do not fit 32 bits: the kernel wraps there, a tensor map would not.
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 65536, 4096, 64, 65536, 4096, 4096}, {8192, 1, 1}).failed, "offsets into a may leave 32 bits");
}

}  // namespace
}  // namespace tilevm::analysis
