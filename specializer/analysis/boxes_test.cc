// Boxes of kernels as people write them, and why there are none in others.
#include "specializer/analysis/boxes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
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


TEST(Boxes, TransposedOperands) {
  Analysed k("a: bf16, b: bf16, c: f32, M, N, K, am=1, ak, bk=1, bn, cm, cn=1, BM=64, BN=128, BK=32", kMatmul);
  EXPECT_EQ(k.At(0), "a[0: 512*group_id + 64*, 1: 32*trip]");
  EXPECT_EQ(k.At(1), "b[0: 32*trip, 1: 128*pid_n]");
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 1000, 1032, 520, 1000, 520, 1032}, {144, 1, 1}).failed, "");
}

TEST(Boxes, OtherElements) {
  for (const char* dtype : {"f8e4m3", "i8", "f32"}) {
    Analysed k(absl::StrCat("a: ", dtype, ", b: ", dtype, ", c: f32, M, N, K, am, ak=1, bk=1, bn, cm, cn=1, BM=64, BN=128, BK=64"),
               absl::StrContains(dtype, "i8") ? absl::StrReplaceAll(kMatmul, {{"tl.float32", "tl.int32"}}) : kMatmul);
    EXPECT_EQ(k.At(0), "a[1: 64*trip, 0: 512*group_id + 64*]") << dtype;
    EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 256, 512, 1024, 1024, 1024, 512}, {16, 1, 1}).failed, "") << dtype;
  }
}

TEST(Boxes, NoMaskAlongK) {
  const std::string body = absl::StrReplaceAll(kMatmul, {{", mask=offs_k[None, :] < K - k * BK, other=0.0", ""}, {", mask=offs_k[:, None] < K - k * BK, other=0.0", ""}});
  Analysed k("a: f16, b: f16, c: f16, M, N, K, am, ak=1, bk, bn=1, cm, cn=1, BM=128, BN=256, BK=64", body);
  EXPECT_EQ(k.At(0), "a[1: 64*trip, 0: 1024*group_id + 128*]");
  EXPECT_EQ(k.At(1), "b[1: 256*pid_n, 0: 64*trip]");
  const launch::SliceValues values = k.Launch({0x10000, 0x20000, 0x30000, 4096, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1});
  EXPECT_EQ(values.failed, "");
  ASSERT_EQ(values.maps.size(), 3u);
  EXPECT_EQ(values.maps[0].extents, (std::vector<uint64_t>{4096, 4096}));
}

// The store has to leave out what % has changed.
TEST(Boxes, WrapsThatAreStored) {
  const std::string signature = "a: f16, b: f16, c: f16, M, N, K, am, ak=1, bk, bn=1, cm, cn=1, BM=128, BN=256, BK=64";
  Analysed other(signature, absl::StrReplaceAll(kMatmul, {{"(offs_cm[:, None] < M)", "(offs_cm[:, None] < K)"}}));
  EXPECT_EQ(other.At(0), "a[1: 64*trip, 0: 1024*group_id + 128*]");  // a box if the wrap never happens
  EXPECT_EQ(other.Launch({0x10000, 0x20000, 0x30000, 4096, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1}).failed, "");
  EXPECT_EQ(other.Launch({0x10000, 0x20000, 0x30000, 4000, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1}).failed, "an index of a may be changed by %");
  Analysed summed(signature, absl::StrCat(kMatmul, "    tl.store(c + offs_cn, tl.sum(acc, 0), mask=offs_cn < N)\n"));
  EXPECT_EQ(summed.Launch({0x10000, 0x20000, 0x30000, 4000, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1}).failed, "an index of a may be changed by %");
  Analysed rows(signature, absl::StrCat(kMatmul, "    tl.store(c + offs_cm, tl.sum(acc, 1), mask=offs_cm < M)\n"));
  EXPECT_EQ(rows.Launch({0x10000, 0x20000, 0x30000, 4000, 4096, 4096, 4096, 4096, 4096}, {512, 1, 1}).failed, "");
  EXPECT_EQ(rows.Launch({0x10000, 0x20000, 0x30000, 4000, 4000, 4096, 4096, 4096, 4096}, {512, 1, 1}).failed, "an index of b may be changed by %");
}

TEST(Boxes, PersistentMatmul) {
  Analysed k("a: f16, b: f16, c: f16, M, N, K, am, ak=1, bk, bn=1, cm, cn=1, BM=128, BN=128, BK=64, SMS=132",
             "    pid = tl.program_id(0)\n"
             "    num_pid_m = tl.cdiv(M, BM)\n"
             "    num_pid_n = tl.cdiv(N, BN)\n"
             "    tile_c = pid - SMS\n"
             "    offs_mask = tl.arange(0, BK)\n"
             "    in_group = 8 * num_pid_n\n"
             "    for tile in tl.range(pid, num_pid_m * num_pid_n, SMS, flatten=True):\n"
             "        size = min(num_pid_m - tile // in_group * 8, 8)\n"
             "        pid_m = tile // in_group * 8 + tile % size\n"
             "        pid_n = (tile % in_group) // size\n"
             "        offs_am = pid_m * BM + tl.arange(0, BM)\n"
             "        offs_bn = pid_n * BN + tl.arange(0, BN)\n"
             "        offs_am = tl.where(offs_am < M, offs_am, 0)\n"
             "        offs_bn = tl.where(offs_bn < N, offs_bn, 0)\n"
             "        acc = tl.zeros((BM, BN), dtype=tl.float32)\n"
             "        for ki in range(tl.cdiv(K, BK)):\n"
             "            offs_k = ki * BK + tl.arange(0, BK)\n"
             "            a_ptrs = a + (offs_am[:, None] * am + offs_k[None, :] * ak)\n"
             "            b_ptrs = b + (offs_k[:, None] * bk + offs_bn[None, :] * bn)\n"
             "            x = tl.load(a_ptrs, mask=offs_mask[None, :] < K - ki * BK, other=0.0)\n"
             "            y = tl.load(b_ptrs, mask=offs_mask[:, None] < K - ki * BK, other=0.0)\n"
             "            acc = tl.dot(x, y, acc)\n"
             "        tile_c += SMS\n"
             "        size = min(num_pid_m - tile_c // in_group * 8, 8)\n"
             "        pid_m = tile_c // in_group * 8 + tile_c % size\n"
             "        pid_n = (tile_c % in_group) // size\n"
             "        offs_cm = pid_m * BM + tl.arange(0, BM)\n"
             "        offs_cn = pid_n * BN + tl.arange(0, BN)\n"
             "        c_ptrs = c + cm * offs_cm[:, None] + cn * offs_cn[None, :]\n"
             "        tl.store(c_ptrs, acc.to(tl.float16), mask=(offs_cm[:, None] < M) & (offs_cn[None, :] < N))\n");
  EXPECT_EQ(k.At(0).substr(0, 18), "a[1: 64*trip, 0: 1");
  EXPECT_EQ(k.At(1).substr(0, 8), "b[1: 128");
  EXPECT_EQ(k.At(2).substr(0, 8), "c[1: 128");
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 8192, 8192, 512, 512, 8192, 8192}, {132, 1, 1}).failed, "");
  EXPECT_EQ(k.Launch({0x10000, 0x20000, 0x30000, 1000, 1032, 520, 520, 1032, 1032}, {72, 1, 1}).failed, "");
}

TEST(Boxes, AttentionByPointers) {
  Analysed k("q: f16, k: f16, o: f16, qz, qh, qm, kz, kh, kn, oz, oh, om, H, N, D=64, BM=128, BN=64",
             "    start_m = tl.program_id(0)\n"
             "    head = tl.program_id(1)\n"
             "    z = (head // H).to(tl.int64)\n"
             "    h = (head % H).to(tl.int64)\n"
             "    offs_m = start_m * BM + tl.arange(0, BM)\n"
             "    offs_d = tl.arange(0, D)\n"
             "    x = tl.load(q + z * qz + h * qh + offs_m[:, None] * qm + offs_d[None, :], mask=offs_m[:, None] < N, other=0.0)\n"
             "    acc = tl.zeros([BM, D], dtype=tl.float32)\n"
             "    for start_n in range(0, tl.minimum(N, (start_m + 1) * BM), BN):\n"
             "        offs_n = start_n + tl.arange(0, BN)\n"
             "        y = tl.load(k + z * kz + h * kh + offs_n[:, None] * kn + offs_d[None, :], mask=offs_n[:, None] < N, other=0.0)\n"
             "        p = tl.where(offs_m[:, None] >= offs_n[None, :], tl.dot(x, tl.trans(y)), 0.0)\n"
             "        acc = tl.dot(p.to(tl.float16), y, acc)\n"
             "    tl.store(o + z * oz + h * oh + offs_m[:, None] * om + offs_d[None, :], acc.to(tl.float16), mask=offs_m[:, None] < N)\n");
  EXPECT_EQ(k.At(0), "q[1: 0, 0: 128*start_m, -1: , -1: ]");  // the last two are head // H and head % H
  EXPECT_EQ(k.At(1), "k[1: 0, 0: 64*trip, -1: , -1: ]");
  EXPECT_EQ(k.At(2), "o[1: 0, 0: 128*start_m, -1: , -1: ]");
  std::vector<int64_t> params = {0x10000, 0x20000, 0x30000, 16 * 4096 * 64, 4096 * 64, 64, 16 * 4096 * 64, 4096 * 64, 64, 16 * 4096 * 64, 4096 * 64, 64, 16, 4096};
  const launch::SliceValues values = k.Launch(params, {32, 64, 1});
  EXPECT_EQ(values.failed, "");
  ASSERT_EQ(values.maps.size(), 3u);
  EXPECT_EQ(values.maps[1].extents, (std::vector<uint64_t>{64, 4096, 4, 16}));
  EXPECT_EQ(values.maps[1].box, (std::vector<uint32_t>{64, 64, 1, 1}));
  // All heads share one k: a stride of 0 is no tensor map.
  params[7] = 0;
  EXPECT_EQ(k.Launch(params, {32, 64, 1}).failed, "a stride of k is not positive");
}

TEST(Boxes, Descriptors) {
  Analysed k("a: f16, o: f16, Z, H, N, D=64, B=128",
             "    start_m = tl.program_id(0)\n"
             "    off_hz = tl.program_id(1)\n"
             "    rows = Z * H * N\n"
             "    x = tl.make_tensor_descriptor(a, shape=[rows, D], strides=[D, 1], block_shape=[B, D])\n"
             "    y = tl.make_tensor_descriptor(o, shape=[rows, D], strides=[D, 1], block_shape=[B, D])\n"
             "    off_y = off_hz // H * (N * H) + off_hz % H * N\n"
             "    lo = start_m * B\n"
             "    at = off_y + lo\n"
             "    acc = tl.zeros([B, D], tl.float16)\n"
             "    for n in tl.range(lo, N, B):\n"
             "        acc += x.load([at, 0])\n"
             "        at += B\n"
             "    y.store([off_y + lo, 0], acc)\n");
  EXPECT_EQ(k.At(0), "a[1: 0, 0: H*N* + N* + 128*start_m + 128*trip]");
  EXPECT_EQ(k.At(1), "o[1: 0, 0: H*N* + N* + 128*start_m]");
  const launch::SliceValues values = k.Launch({0x10000, 0x20000, 4, 16, 4096}, {32, 64, 1});
  EXPECT_EQ(values.failed, "");
  ASSERT_EQ(values.maps.size(), 2u);
  EXPECT_EQ(values.maps[0].extents, (std::vector<uint64_t>{64, 4 * 16 * 4096}));
}

// Descriptors whose fields come from memory: what the kernel computes, and in how many bits.
TEST(Boxes, ArraysFoundInMemory) {
  const auto of = [](const std::string& descriptor, const std::string& at) {
    Analysed k("found: u64, sizes: i32, c: f16, N",
               absl::StrCat("    m = tl.load(sizes)\n    n = tl.load(sizes + 1)\n    s = tl.load(sizes + 2)\n    p = tl.load(found).to(tl.pointer_type(tl.float16))\n"
                            "    d = tl.make_tensor_descriptor(", descriptor, ", [64, 32])\n    i = tl.program_id(0) * 64\n    for k in range(0, n, 32):\n"
                            "        tl.store(c + tl.arange(0, 64)[:, None] * N + tl.arange(0, 32)[None, :], d.load(", at, "))\n"));
    const auto load = std::find_if(k.accesses.begin(), k.accesses.end(), [&](const ir::Op* op) { return op->op == isa::Op::kLoad && k.kernel.TypeOf(op->results[0]).rank() == 2; });
    const MadeBox* box = load == k.accesses.end() ? nullptr : k.boxes.MadeOf(**load);
    if (box == nullptr) return std::string("none");
    const auto number = [&](const Number& n) { return absl::StrCat(n.narrow ? "i32 " : "", Text(k.kernel, n.value)); };
    return absl::StrCat(k.kernel.values[box->base].name, " + ", number(box->offset), ", [", number(box->extent[0]), ", ", number(box->extent[1]), "], ", number(box->stride), " at ",
                        Text(k.kernel, box->start[0]), ", ", Text(k.kernel, box->start[1]));
  };
  EXPECT_EQ(of("p, [m, n], [s, 1]", "[i, k]"), "p + 0, [m, n], s at 64*, 32*trip");
  EXPECT_EQ(of("c + s, [m, n], [N, 1]", "[i, k]"), "c + s, [m, n], N at 64*, 32*trip");  // whether the program stores there is for others to say
  EXPECT_EQ(of("p + s, [m + 1, n], [N, 1]", "[0, k - 8]"), "p + s, [i32 1 + m, n], N at 0, -8 + 32*trip");
  EXPECT_EQ(of("p, [64, 32], [N, 1]", "[i, k]"), "p + 0, [64, 32], N at 64*, 32*trip");  // only the address
  EXPECT_EQ(of("p, [m, n], [s, 1]", "[i * i, k]"), "p + 0, [m, n], s at 4096**, 32*trip");
}

// An H200 faults at coordinates along neighbours that are no multiples of 16 bytes.
TEST(Boxes, AConstantAlongNeighbours) {
  const auto box = [](const std::string& mask) {
    Analysed k("x: f16, y: f16, n, s", absl::StrCat("    i = tl.arange(0, 64)\n    j = tl.program_id(0) * 32 + tl.arange(0, 32)\n    v = tl.load(x + 3 + i[:, None] * s + j[None, :]", mask,
                                                    ")\n    tl.store(y + i[:, None] * 32 + tl.arange(0, 32)[None, :], v)\n"));
    return std::make_pair(k.At(0), k.Launch({0x10000, 0x20000, 100, 128}, {2, 1, 1}));
  };
  const auto [text, values] = box(", mask=j[None, :] < n, other=0.0");
  EXPECT_EQ(text, "x[1: 32*, 0: 0]");
  EXPECT_EQ(values.failed, "x is not aligned to 16 bytes");
  const auto [both, refused] = box(", mask=(j[None, :] < n) & (j[None, :] >= 0), other=0.0");
  EXPECT_EQ(both, "x[1: 32*, 0: 0]");
  EXPECT_EQ(refused.failed, "x is not aligned to 16 bytes");
}

TEST(Boxes, CoordinatesAlongNeighboursAreAligned) {
  const auto box = [](const std::string& start, int64_t s, const std::string& mask = "") {
    Analysed k("x: f16, y: f16, n, s", absl::StrCat("    i = tl.arange(0, 64)\n    j = ", start, " + tl.arange(0, 32)\n    v = tl.load(x + i[:, None] * n + j[None, :]", mask,
                                                    ")\n    tl.store(y + i[:, None] * 32 + tl.arange(0, 32)[None, :], v)\n"));
    return absl::StrCat(k.At(0), " | ", k.Launch({0x10000, 0x20000, 128, s}, {2, 1, 1}).failed);
  };
  EXPECT_EQ(box("tl.program_id(0) * 24", 1), "x[1: 24*, 0: 0] | ");
  EXPECT_EQ(box("tl.program_id(0) * 20", 1), "a coordinate along neighbours is not a multiple of 16 bytes | ");
  const std::string both = ", mask=(j[None, :] >= 0) & (j[None, :] < n), other=0.0";
  EXPECT_EQ(box("tl.program_id(0) * s", 16, both), "x[1: s*, 0: 0] | ");
  EXPECT_EQ(box("tl.program_id(0) * s", 12, both), "x[1: s*, 0: 0] | coordinates in x are not multiples of 16 bytes");
  EXPECT_EQ(box("tl.program_id(0) * s * 2", 12, both), "x[1: 2*s*, 0: 0] | ");
  EXPECT_EQ(box("tl.program_id(0) * 32 - 8", 1, both), "x[1: -8 + 32*, 0: 0] | ");
  EXPECT_EQ(box("tl.program_id(0) * 32 - 3", 1, both), "a coordinate along neighbours is not a multiple of 16 bytes | ");
}

// Two reductions of one tile are two scalars.
TEST(Boxes, ScalarsThatOnlyLookAlike) {
  Analysed k("x: f16, y: f16, p: i32, n",
             "    q = tl.load(p + tl.arange(0, 16))\n    hi = tl.max(q, 0)\n    lo = tl.min(q, 0)\n    j = tl.arange(0, 32)\n"
             "    rows = hi * 16 + tl.arange(0, 16)\n    out = lo * 16 + tl.arange(0, 16)\n"
             "    v = tl.load(x + (rows % n)[:, None] * 32 + j[None, :])\n"
             "    tl.store(y + out[:, None] * 32 + j[None, :], v, mask=out[:, None] < n)\n");
  EXPECT_EQ(k.At(1), "x[1: 0, 0: 16*hi]");
  EXPECT_NE(k.Launch({0x10000, 0x20000, 0x30000, 100}, {1, 1, 1}).failed, "");  // the wrap is stored elsewhere
}

// Why there is none.
TEST(Boxes, Refusals) {
  const auto why = [](const std::string& load, const std::string& before = "", const std::string& after = "") {
    return Analysed("x: f16, y: f16, n, s, p: i32",
                    absl::StrCat("    i = tl.arange(0, 64)\n    j = tl.arange(0, 32)\n", before, "    v = tl.load(", load, ")\n", after,
                                 "    tl.store(y + i[:, None] * 32 + j[None, :], v)\n"))
        .At(0);
  };
  const std::string at = "x + i[:, None] * s + j[None, :]";
  EXPECT_EQ(why(at), "x[1: 0, 0: 0]");
  EXPECT_EQ(why(at + ", mask=i[:, None] < n, other=0.0"), "x[1: 0, 0: 0]");
  EXPECT_EQ(why(at + ", mask=i[:, None] < n"), "x[1: 0, 0: 0]");
  EXPECT_EQ(why(at + ", mask=i[:, None] < n, other=1.0"), "masked lanes are not 0");
  EXPECT_EQ(why(at + ", mask=i[:, None] > j[None, :], other=0.0"), "the mask is not a bound on a coordinate");
  EXPECT_EQ(why(at + ", mask=(i[:, None] < n) | (j[None, :] < n), other=0.0"), "the mask is not a bound on a coordinate");
  EXPECT_EQ(why(at + ", mask=i[:, None] * 2 < n, other=0.0"), "the mask is not a bound on a coordinate");
  EXPECT_EQ(why(at + ", mask=i[:, None] + tl.program_id(0) < n, other=0.0"), "the mask bounds another coordinate than the address has");
  EXPECT_EQ(why("x + i[:, None] * s + j[None, :] * n"), "no axis has the constant stride 1");
  EXPECT_EQ(why("x + i[:, None] * s + j[None, :] * 2"), "no axis has the constant stride 1");
  EXPECT_EQ(why("x + (i[:, None] ^ 3) * s + j[None, :]"), "the address is not affine");
  EXPECT_EQ(why("x + i[:, None] * j[None, :]"), "the address is not affine");
  EXPECT_EQ(why("x + i[:, None] * 0 + j[None, :]"), "elements repeat along an axis");
  EXPECT_EQ(why("x + i[:, None] * tl.load(p) + j[None, :]"), "it is a scalar");  // the first access is the scalar's
  EXPECT_EQ(why(at + ", volatile=True"), "it is volatile");
  EXPECT_EQ(why(at, "", "    tl.store(x + i, 0.0)\n"), "the program may store to the same array");
  EXPECT_EQ(why(at, "", "    tl.atomic_add(x + i, 1.0)\n"), "the program may store to the same array");
}

// Coordinates that begin before the array.
TEST(Boxes, NegativeCoordinates) {
  const std::string body =
      "    i = tl.program_id(0) * 64 - 8 + tl.arange(0, 64)\n    j = tl.arange(0, 32)\n"
      "    v = tl.load(x + i[:, None] * s + j[None, :], mask=MASK, other=0.0)\n    tl.store(y + tl.program_id(0) * 2048 + tl.arange(0, 64)[:, None] * 32 + j[None, :], v)\n";
  Analysed both("x: f16, y: f16, n, s", absl::StrReplaceAll(body, {{"MASK", "(i[:, None] >= 0) & (i[:, None] < n)"}}));
  EXPECT_EQ(both.At(0), "x[1: 0, 0: -8 + 64*]");
  const launch::SliceValues halo = both.Launch({0x10000, 0x20000, 100, 32}, {2, 1, 1});
  EXPECT_EQ(halo.failed, "");
  EXPECT_EQ(halo.maps.at(0).address, 0x10000u);
  EXPECT_EQ(halo.maps.at(0).extents, (std::vector<uint64_t>{32, 100}));
  Analysed lower("x: f16, y: f16, n, s", absl::StrReplaceAll(body, {{"MASK", "i[:, None] >= 0"}}));
  const launch::SliceValues from = lower.Launch({0x10000, 0x20000, 100, 32}, {2, 1, 1});
  EXPECT_EQ(lower.At(0), "x[1: 0, 0: -8 + 64*]");
  EXPECT_EQ(from.failed, "");
  EXPECT_EQ(from.maps.at(0).address, 0x10000u);
  EXPECT_EQ(from.maps.at(0).extents, (std::vector<uint64_t>{32, 120}));
  // The program reads what lies before the array, and so does the box.
  Analysed upper("x: f16, y: f16, n, s", absl::StrReplaceAll(body, {{"MASK", "i[:, None] < n"}}));
  const launch::SliceValues before = upper.Launch({0x10000, 0x20000, 100, 32}, {2, 1, 1});
  EXPECT_EQ(before.failed, "");
  EXPECT_EQ(before.maps.at(0).address, 0x10000u - 8 * 32 * 2);
  EXPECT_EQ(before.maps.at(0).extents, (std::vector<uint64_t>{32, 108}));
  // An H200 reads zeros before an array, but faults at a box that is stored from there.
  Analysed stored("x: f16, y: f16, n, s",
                  "    i = tl.program_id(0) * 64 - 8 + tl.arange(0, 64)\n    j = tl.arange(0, 32)\n    v = tl.load(x + tl.arange(0, 64)[:, None] * s + j[None, :])\n"
                  "    tl.store(y + i[:, None] * 32 + j[None, :], v, mask=(i[:, None] >= 0) & (i[:, None] < n))\n");
  EXPECT_EQ(stored.At(1), "a store that begins before its array cannot go by one");
  Analysed reversed("x: f16, y: f16, n, s",
                    "    i = 64 - tl.program_id(0) * 64 + tl.arange(0, 64)\n    j = tl.arange(0, 32)\n    v = tl.load(x + tl.arange(0, 64)[:, None] * s + j[None, :])\n"
                    "    tl.store(y + i[:, None] * 32 + j[None, :], v, mask=(i[:, None] >= 0) & (i[:, None] < n))\n");
  EXPECT_EQ(reversed.Launch({0x10000, 0x20000, 100, 32}, {2, 1, 1}).failed, "");
  EXPECT_EQ(reversed.Launch({0x10000, 0x20000, 100, 32}, {3, 1, 1}).failed, "coordinates in y may leave their range");
}

}  // namespace
}  // namespace tilevm::analysis
