// Runs the device templates on a GPU and holds them to isa/eval.h, bit for bit: casts, division, arithmetic, comparisons, minimum and maximum, fma, on
// every boundary operand and 2^20 random ones; and measures which rounding the tensor cores give the operands of a tf32 dot.
//
//   device_check            prints one line a check; exit code 1 if one fails, 77 where there is no GPU or no NVRTC
//
// CI has no GPU; there the templates are only compiled (gpu/nvrtc, gpu/emit tests).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gpu/device/headers.h"
#include "gpu/driver/api.h"
#include "gpu/nvrtc/nvrtc.h"
#include "isa/eval.h"
#include "isa/status.h"

namespace tilevm::gpu {
namespace {

using isa::DType;
using isa::Op;
using isa::Scalar;

constexpr int kRandom = 1 << 20;

std::string CudaName(DType dtype) { return dtype == DType::kI1 ? "bool" : std::string(isa::Name(dtype)); }

class Gpu {
 public:
  static absl::StatusOr<Gpu> Open() {
    Gpu gpu;
    TILEVM_ASSIGN_OR_RETURN(gpu.api_, LoadDriver());
    TILEVM_ASSIGN_OR_RETURN(gpu.nvrtc_, Nvrtc::Load());
    const Api& api = *gpu.api_;
    CuDevice device = 0;
    CuContext context = nullptr;
    TILEVM_DRIVER_CALL(api, DeviceGet, &device, 0);
    TILEVM_DRIVER_CALL(api, DevicePrimaryCtxRetain, &context, device);
    TILEVM_DRIVER_CALL(api, CtxSetCurrent, context);
    char name[128] = {};
    TILEVM_DRIVER_CALL(api, DeviceGetName, name, sizeof(name), device);
    int major = 0, minor = 0;
    TILEVM_DRIVER_CALL(api, DeviceGetAttribute, &major, kAttributeComputeCapabilityMajor, device);
    TILEVM_DRIVER_CALL(api, DeviceGetAttribute, &minor, kAttributeComputeCapabilityMinor, device);
    gpu.arch_ = absl::StrCat("sm_", major, minor, major >= 9 ? "a" : "");
    std::printf("device %s, %s, driver %d, NVRTC %d\n", name, gpu.arch_.c_str(), api.version, gpu.nvrtc_->version());
    return gpu;
  }

  absl::StatusOr<CuFunction> Compile(const std::string& source) {
    CompileRequest request;
    request.source = absl::StrCat("#include \"device/math.cuh\"\nusing namespace tv;\n", source);
    request.headers = DeviceHeaderTexts();
    request.arch = arch_;
    TILEVM_ASSIGN_OR_RETURN(CompileResult compiled, nvrtc_->Compile(request));
    CuModule module = nullptr;
    CuFunction function = nullptr;
    TILEVM_DRIVER_CALL(*api_, ModuleLoadData, &module, compiled.cubin.data());
    TILEVM_DRIVER_CALL(*api_, ModuleGetFunction, &function, module, "check");
    return function;
  }

  // check(inputs..., output, n) over u64 arrays.
  absl::StatusOr<std::vector<uint64_t>> Run(CuFunction function, const std::vector<std::vector<uint64_t>>& inputs, size_t out_count) {
    std::vector<CuDevicePtr> memory(inputs.size() + 1);
    std::vector<void*> params;
    for (size_t i = 0; i < inputs.size(); ++i) {
      TILEVM_DRIVER_CALL(*api_, MemAlloc, &memory[i], inputs[i].size() * 8);
      TILEVM_DRIVER_CALL(*api_, MemcpyHtoD, memory[i], inputs[i].data(), inputs[i].size() * 8);
      params.push_back(&memory[i]);
    }
    TILEVM_DRIVER_CALL(*api_, MemAlloc, &memory.back(), out_count * 8);
    params.push_back(&memory.back());
    int n = static_cast<int>(inputs[0].size());
    params.push_back(&n);
    const unsigned blocks = static_cast<unsigned>((n + 127) / 128);
    TILEVM_DRIVER_CALL(*api_, LaunchKernel, function, blocks, 1, 1, 128, 1, 1, 0, nullptr, params.data(), nullptr);
    TILEVM_DRIVER_CALL(*api_, CtxSynchronize);
    std::vector<uint64_t> out(out_count);
    TILEVM_DRIVER_CALL(*api_, MemcpyDtoH, out.data(), memory.back(), out_count * 8);
    for (CuDevicePtr pointer : memory) TILEVM_DRIVER_CALL(*api_, MemFree, pointer);
    return out;
  }

 private:
  const Api* api_ = nullptr;
  std::shared_ptr<const Nvrtc> nvrtc_;
  std::string arch_;
};

uint64_t Mask(DType dtype) {
  const int bits = isa::BitWidth(dtype);
  return bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

// All patterns of up to 16 bits; else every boundary (zeros, ones, denormals, largest, infinities, NaNs, powers of two and neighbours) and random bits.
std::vector<uint64_t> Operands(DType dtype, std::mt19937_64& random) {
  const int bits = isa::BitWidth(dtype);
  std::vector<uint64_t> out;
  if (bits <= 16) {
    for (uint64_t i = 0; i <= Mask(dtype); ++i) out.push_back(i);
  } else {
    for (int i = 0; i < bits; ++i) {
      for (int64_t delta : {-1, 0, 1}) {
        out.push_back(((uint64_t{1} << i) + static_cast<uint64_t>(delta)) & Mask(dtype));
        out.push_back((~(uint64_t{1} << i) + static_cast<uint64_t>(delta)) & Mask(dtype));
      }
    }
    if (isa::IsFloat(dtype)) {
      for (double x : {0.0, 1.0, 2.0, 3.0, 0.5, 1e-40, 1e-45, 65504.0, 65520.0, 448.0, 464.0, 57344.0, 61440.0, 2147483647.0, 2147483648.0, 4294967296.0,
                       9.2233720368547758e18, 1.8446744073709552e19, 3.4e38, 1e39, 1e308, std::numeric_limits<double>::infinity(),
                       std::numeric_limits<double>::quiet_NaN()}) {
        for (double y : {x, -x}) {
          uint64_t wide;
          std::memcpy(&wide, &y, 8);
          out.push_back(isa::EvalCast(DType::kF64, dtype, isa::Rounding::kNearestEven, Scalar{wide}).bits);
        }
      }
    }
    for (int i = 0; i < kRandom; ++i) {
      uint64_t value = random();
      // Half of the floats of moderate size, so that conversions to integers are not all saturated.
      if (isa::IsFloat(dtype) && (i & 1)) {
        const double number = std::ldexp(static_cast<double>(static_cast<int64_t>(value)), static_cast<int>(value % 90) - 75);
        uint64_t wide;
        std::memcpy(&wide, &number, 8);
        value = isa::EvalCast(DType::kF64, dtype, isa::Rounding::kNearestEven, Scalar{wide}).bits;
      }
      out.push_back(value & Mask(dtype));
    }
  }
  return out;
}

bool IsNan(DType dtype, uint64_t bits) {
  if (!isa::IsFloat(dtype)) return false;
  const Scalar wide = isa::EvalCast(dtype, DType::kF64, isa::Rounding::kNearestEven, Scalar{bits});
  double number;
  std::memcpy(&number, &wide.bits, 8);
  return std::isnan(number);
}

int failures = 0;

void Report(const std::string& what, size_t count, size_t wrong, const std::string& first) {
  std::printf("%-34s %9zu operands  %s%s\n", what.c_str(), count, wrong == 0 ? "bit-equal" : absl::StrCat(wrong, " differ, first: ").c_str(), first.c_str());
  if (wrong != 0) ++failures;
}

// The body of `check`: reads operand i of each input from a u64 array, writes the result's bits.
std::string Source(const std::vector<DType>& in, DType out, const std::string& expression) {
  std::string text = "template <class T> TV_DEV T take(u64 b) { if constexpr (same<T, bool>) return b != 0; else return bit_cast<T>(static_cast<unsigned_t<T>>(b)); }\n"
                     "template <class T> TV_DEV u64 give(T x) { if constexpr (same<T, bool>) return x ? 1 : 0; else return static_cast<u64>(bit_cast<unsigned_t<T>>(x)); }\n"
                     "extern \"C\" __global__ void check(";
  for (size_t i = 0; i < in.size(); ++i) absl::StrAppend(&text, "const u64* p", i, ", ");
  absl::StrAppend(&text, "u64* out, int n) {\n  int i = blockIdx.x * 128 + threadIdx.x;\n  if (i >= n) return;\n");
  for (size_t i = 0; i < in.size(); ++i) absl::StrAppend(&text, "  ", CudaName(in[i]), " x", i, " = take<", CudaName(in[i]), ">(p", i, "[i]);\n");
  absl::StrAppend(&text, "  ", CudaName(out), " r = ", expression, ";\n  out[i] = give(r);\n}\n");
  return text;
}

absl::Status Check(Gpu& gpu, const std::string& what, const std::vector<DType>& in, DType out, const std::string& expression,
                   const std::vector<std::vector<uint64_t>>& inputs, const std::function<Scalar(size_t)>& expected) {
  TILEVM_ASSIGN_OR_RETURN(CuFunction function, gpu.Compile(Source(in, out, expression)));
  TILEVM_ASSIGN_OR_RETURN(std::vector<uint64_t> got, gpu.Run(function, inputs, inputs[0].size()));
  size_t wrong = 0;
  std::string first;
  for (size_t i = 0; i < got.size(); ++i) {
    const uint64_t want = expected(i).bits & Mask(out);
    if ((got[i] & Mask(out)) == want || (IsNan(out, got[i] & Mask(out)) && IsNan(out, want))) continue;
    if (wrong++ == 0) {
      for (const auto& input : inputs) absl::StrAppend(&first, "0x", absl::Hex(input[i]), " ");
      absl::StrAppend(&first, "gpu 0x", absl::Hex(got[i] & Mask(out)), " eval 0x", absl::Hex(want));
    }
  }
  Report(what, got.size(), wrong, first);
  return absl::OkStatus();
}

absl::Status Casts(Gpu& gpu) {
  std::mt19937_64 random(1);
  for (DType from : isa::kAllDTypes) {
    const std::vector<uint64_t> x = Operands(from, random);
    for (DType to : isa::kAllDTypes) {
      if (from == to) continue;
      TILEVM_RETURN_IF_ERROR(Check(gpu, absl::StrCat("cast ", isa::Name(from), " -> ", isa::Name(to)), {from}, to,
                                   absl::StrCat("convert<", CudaName(to), ">(x0)"), {x},
                                   [&](size_t i) { return isa::EvalCast(from, to, isa::Rounding::kNearestEven, Scalar{x[i]}); }));
    }
  }
  return absl::OkStatus();
}

absl::Status Arithmetic(Gpu& gpu) {
  std::mt19937_64 random(2);
  const std::pair<Op, const char*> ops[] = {{Op::kAdd, "add"}, {Op::kSub, "sub"}, {Op::kMul, "mul"}, {Op::kTrueDiv, "truediv"}, {Op::kFloorDiv, "floordiv"},
                                            {Op::kMod, "mod"}, {Op::kShl, "shl"}, {Op::kShr, "shr"}, {Op::kMaximum, "maximum<false>"},
                                            {Op::kMinimum, "minimum<false>"}, {Op::kLt, "lt"}, {Op::kNe, "ne"}};
  for (DType dtype : isa::kAllDTypes) {
    std::vector<uint64_t> x = Operands(dtype, random), y = x;
    std::shuffle(y.begin(), y.end(), random);
    for (const auto& [op, name] : ops) {
      if (!isa::HasEval(op, dtype)) continue;
      const DType out = op == Op::kLt || op == Op::kNe ? DType::kI1 : dtype;
      const Op code = op;
      TILEVM_RETURN_IF_ERROR(Check(gpu, absl::StrCat(isa::Mnemonic(op), " ", isa::Name(dtype)), {dtype, dtype}, out, absl::StrCat(name, "(x0, x1)"), {x, y},
                                   [&](size_t i) { return isa::EvalBinary(code, dtype, Scalar{x[i]}, Scalar{y[i]}); }));
    }
    if (dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16) {
      TILEVM_RETURN_IF_ERROR(Check(gpu, absl::StrCat("quotients ", isa::Name(dtype)), {dtype, dtype}, dtype,
                                   "[](auto x, auto y) { Quotients<> q; q.look(x); q.by(y); return q.ordinary() ? quotient(x, y) : divide_by(x, reciprocal(y)); }(x0, x1)", {x, y},
                                   [&](size_t i) { return isa::EvalBinary(Op::kTrueDiv, dtype, Scalar{x[i]}, Scalar{y[i]}); }));
    }
    if (isa::IsFloat(dtype)) {
      std::vector<uint64_t> z = y;
      std::shuffle(z.begin(), z.end(), random);
      TILEVM_RETURN_IF_ERROR(Check(gpu, absl::StrCat("fma ", isa::Name(dtype)), {dtype, dtype, dtype}, dtype, "fma_(x0, x1, x2)", {x, y, z},
                                   [&](size_t i) { return isa::EvalTernary(Op::kFma, dtype, Scalar{x[i]}, Scalar{y[i]}, Scalar{z[i]}); }));
    }
    if (dtype == DType::kF32 || dtype == DType::kF64) {
      TILEVM_RETURN_IF_ERROR(Check(gpu, absl::StrCat("sqrt ", isa::Name(dtype)), {dtype}, dtype, "tv::sqrt(x0)", {x},
                                   [&](size_t i) { return isa::EvalUnary(Op::kSqrt, dtype, Scalar{x[i]}); }));
    }
  }
  return absl::OkStatus();
}

// c = a @ identity through mma.sync tf32 with the bits of f32 as they are: which rounding did the operand get?
absl::Status Tf32Rule(Gpu& gpu) {
  const std::string source = R"(
extern "C" __global__ void check(const u64* in, u64* out, int n) {
  // Each warp takes 64 values: rows 0..15, columns 0..3 of a; b is the identity in its first four rows.
  int warp = (blockIdx.x * 128 + threadIdx.x) / 32, lane = threadIdx.x % 32, base = warp * 64;
  if (base + 64 > n) return;
  u32 a[4] = {(u32)in[base + lane / 4 * 4 + lane % 4], (u32)in[base + (lane / 4 + 8) * 4 + lane % 4], 0, 0};
  u32 b[2] = {lane % 4 == lane / 4 ? 0x3f800000u : 0u, 0};
  float c[4] = {0, 0, 0, 0};
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3]) : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  if (lane % 4 < 2) {
    for (int j = 0; j < 2; ++j) {
      out[base + lane / 4 * 4 + lane % 4 * 2 + j] = bits_of(c[j]);
      out[base + (lane / 4 + 8) * 4 + lane % 4 * 2 + j] = bits_of(c[2 + j]);
    }
  }
}
)";
  std::mt19937_64 random(3);
  std::vector<uint64_t> x;
  while (x.size() < static_cast<size_t>(kRandom)) {
    const uint32_t bits = static_cast<uint32_t>(random());
    const uint32_t exponent = bits >> 23 & 0xff;
    if (exponent > 16 && exponent < 240) x.push_back(bits);
  }
  TILEVM_ASSIGN_OR_RETURN(CuFunction function, gpu.Compile(source));
  TILEVM_ASSIGN_OR_RETURN(std::vector<uint64_t> got, gpu.Run(function, {x}, x.size()));
  size_t truncated = 0, away = 0, even = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const uint32_t bits = static_cast<uint32_t>(x[i]);
    truncated += got[i] == (bits & ~0x1fffu);
    away += got[i] == ((bits + 0x1000u) & ~0x1fffu);
    even += got[i] == ((bits + 0xfffu + (bits >> 13 & 1)) & ~0x1fffu);
  }
  std::printf("tf32 operand bits left to mma.sync: %zu values; truncation explains %zu, nearest-away %zu, nearest-even %zu\n", x.size(), truncated, away, even);
  if (truncated != x.size()) return absl::InternalError("the tensor cores do not cut f32 operands to tf32 as isa::TruncateToTf32 does");
  return Check(gpu, "cvt.rna.tf32 against RoundToTf32", {DType::kF32}, DType::kF32, "f32_of([](f32 v) { u32 r; asm(\"cvt.rna.tf32.f32 %0, %1;\" : \"=r\"(r) : \"f\"(v)); return r; }(x0))",
               {x}, [&](size_t i) {
                 float v;
                 const uint32_t bits = static_cast<uint32_t>(x[i]);
                 std::memcpy(&v, &bits, 4);
                 const float rounded = isa::RoundToTf32(v);
                 uint32_t out;
                 std::memcpy(&out, &rounded, 4);
                 return Scalar{out};
               });
}

int Main() {
  absl::StatusOr<Gpu> gpu = Gpu::Open();
  if (!gpu.ok()) {
    std::printf("skipped: %s\n", std::string(gpu.status().message()).c_str());
    return 77;
  }
  for (auto* check : {Tf32Rule, Arithmetic, Casts}) {
    if (absl::Status status = check(*gpu); !status.ok()) {
      std::printf("%s\n", std::string(status.message()).c_str());
      ++failures;
    }
  }
  std::printf("%d checks failed\n", failures);
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace tilevm::gpu

int main() { return tilevm::gpu::Main(); }
