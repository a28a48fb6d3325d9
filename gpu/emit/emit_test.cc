// Kernels in assembly, down to a cubin for several targets. What the text computes is checked on a GPU by tools/gpu_check.
#include "gpu/emit/emit.h"

#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gpu/device/headers.h"
#include "gpu/nvrtc/nvrtc.h"
#include "gtest/gtest.h"
#include "tests/assembly_kernel.h"

namespace tilevm::gpu {
namespace {

using specializer::ArgSpec;
using tests::IntSpec;
using tests::PointerSpec;
using tests::StaticSpec;

Emitted Emit(const std::string& text, std::vector<ArgSpec> args) {
  const ir::Kernel kernel = tests::AssembledKernel(text, std::move(args));
  auto laid_out = layout::AssignLayouts(kernel, {});
  EXPECT_TRUE(laid_out.ok()) << laid_out.status();
  auto emitted = EmitCuda(*laid_out, {});
  EXPECT_TRUE(emitted.ok()) << emitted.status();
  return emitted.ok() ? *emitted : Emitted();
}

void CompileForAll(const Emitted& emitted) {
  auto nvrtc = Nvrtc::Load();
  if (!nvrtc.ok()) GTEST_SKIP() << nvrtc.status().message();
  for (const char* arch : {"sm_80", "sm_90a", "sm_100a"}) {
    CompileRequest request;
    request.source = emitted.text;
    request.headers = DeviceHeaderTexts();
    request.arch = arch;
    auto result = (*nvrtc)->Compile(request);
    ASSERT_TRUE(result.ok()) << arch << ": " << result.status() << "\n" << emitted.text;
  }
}

TEST(Emit, VectorAdd) {
  const Emitted emitted = Emit(R"(
kernel (x: ptr<f32>, y: ptr<f32>, z: ptr<f32>, n: i32, B: constexpr)
    %pid := program_id 0
    %start = mul %pid, %B
    %i = arange 0, %B
    %offs = add %start, %i
    %mask = lt %offs, %n
    %px = add %x, %offs
    %a = load %px, %mask
    %py = add %y, %offs
    %b = load %py, %mask
    %c = add %a, %b
    %pz = add %z, %offs
    store %pz, %c, %mask
)",
                               {PointerSpec(isa::DType::kF32), PointerSpec(isa::DType::kF32), PointerSpec(isa::DType::kF32), IntSpec(), StaticSpec(1024)});
  EXPECT_NE(emitted.text.find("program_id<0>()"), std::string::npos) << emitted.text;
  EXPECT_EQ(emitted.smem_bytes, 0);
  EXPECT_EQ(emitted.text.find("barrier();"), std::string::npos) << "no two accesses meet";
  CompileForAll(emitted);
}

TEST(Emit, SoftmaxOfRows) {
  const Emitted emitted = Emit(R"(
kernel (x: ptr<f32>, z: ptr<f32>, stride: i32, n: i32, B: constexpr)
    %row := program_id 0
    %start = mul %row, %stride
    %i = arange 0, %B
    %mask = lt %i, %n
    %offs = add %start, %i
    %px = add %x, %offs
    %v = load %px, %mask, other=-inf
    %m = max %v, axis=0
    %s = sub %v, %m
    %e = exp %s
    %t = sum %e, axis=0
    %q = truediv %e, %t
    %pz = add %z, %offs
    store %pz, %q, %mask
)",
                               {PointerSpec(isa::DType::kF32), PointerSpec(isa::DType::kF32), IntSpec(), IntSpec(), StaticSpec(4096)});
  EXPECT_GT(emitted.smem_bytes, 0);
  CompileForAll(emitted);
}

// Whatever a kernel's author calls a value, the text means the templates' functions and types by their names.
TEST(Emit, NamesOfTheTemplatesAreTheirs) {
  std::set<std::string> names = {"L0", "W1", "G2", "ring0", "map1"};
  const std::regex declared("^(?=[^\\s#]).*?\\bTV_DEV\\b[^;{}()]*?\\b(\\w+)\\(|^(?:template <.*> ?)?struct (?:alignas\\(\\d+\\) )?(\\w+)|^(?:constexpr|using) (?:\\w+ )?(\\w+)(?:\\[.*\\])? =");
  for (const auto& [file, text] : DeviceHeaderTexts()) {
    for (absl::string_view line : absl::StrSplit(absl::string_view(text), '\n')) {
      std::cmatch found;
      if (!std::regex_search(line.data(), line.data() + line.size(), found, declared)) continue;
      for (int i : {1, 2, 3}) {
        if (found[i].matched) names.insert(found[i].str());
      }
    }
  }
  for (const char* name : {"histogram", "divided", "quotient", "thread_id", "Tile", "sort"}) EXPECT_EQ(names.count(name), 1u) << name;
  // A kernel with values of all these names, tiles and scalars by turns.
  std::string body, tile = "%i0", scalar = "%n";
  int number = 0;
  for (const std::string& name : names) {
    std::string& last = number++ % 2 == 0 ? tile : scalar;
    absl::StrAppend(&body, "    %", name, " = add ", last, ", ", scalar, "\n");
    last = "%" + name;
  }
  const Emitted emitted = Emit(absl::StrCat("\nkernel (x: ptr<i32>, n: i32)\n    %i0 = arange 0, 256\n", body, "    %total = sum ", tile, ", axis=0\n    %q = truediv %total, ", scalar,
                                            "\n    %px = add %x, %i0\n    %sum = add ", tile, ", %total\n    store %px, %sum\n"),
                               {PointerSpec(isa::DType::kI32), IntSpec()});
  for (const std::string& name : names) {
    for (const char* declares : {"i32 ", "auto ", "L0> "}) EXPECT_EQ(emitted.text.find(absl::StrCat(declares, name, " ")), std::string::npos) << declares << name;
  }
  CompileForAll(emitted);
}

// The weights of a normalisation are on their way while its row is summed, unless the kernel writes there.
TEST(Emit, LoadsGoInFrontOfReductions) {
  const std::vector<ArgSpec> args = {PointerSpec(isa::DType::kF32), PointerSpec(isa::DType::kF32), PointerSpec(isa::DType::kF32)};
  const auto text = [&](const char* out) {
    return Emit(absl::StrCat(R"(
kernel (x: ptr<f32>, weight: ptr<f32>, z: ptr<f32>)
    %i = arange 0, 1024
    %px = add %x, %i
    %row = load %px
    %total = sum %row, axis=0
    %mean = truediv %row, %total
    %pw = add %weight, %i
    %w = load %pw
    %y = mul %mean, %w
    %pz = add )", out, R"(, %i
    store %pz, %y
)"),
                args);
  };
  const Emitted apart = text("%z"), over = text("%weight");
  const auto at = [](const Emitted& emitted, const char* part) { return emitted.text.find(part); };
  EXPECT_LT(at(apart, "ptr_add(weight, "), at(apart, "= reduce<")) << apart.text;
  EXPECT_GT(at(over, "ptr_add(weight, "), at(over, "= reduce<")) << over.text;
  // One divisor for the row: numbers are looked at, then divided by its reciprocal.
  EXPECT_NE(at(apart, "if (quotients"), std::string::npos) << apart.text;
  EXPECT_EQ(apart.may_write, (std::vector<bool>{false, false, true}));
  EXPECT_EQ(over.may_write, (std::vector<bool>{false, true, false}));
  CompileForAll(apart);
}

TEST(Emit, DotOfTilesOnTensorCores) {
  for (const char* dtype : {"f16", "bf16"}) {
    const Emitted emitted = Emit(absl::StrCat("kernel (a: ptr<", dtype, ">, b: ptr<", dtype, R"(>, c: ptr<f32>, K: i32)
    %i = arange 0, 64
    %row = expand_dims %i, 1
    %col = expand_dims %i, 0
    %k = arange 0, 32
    %kc = expand_dims %k, 0
    %kr = expand_dims %k, 1
    %ra = mul %row, %K
    %oa = add %ra, %kc
    %pa = add %a, %oa
    %rb = mul %kr, 64
    %ob = add %rb, %col
    %pb = add %b, %ob
    %va = load %pa
    %vb = load %pb
    %d = dot %va, %vb
    %rc = mul %row, 64
    %oc = add %rc, %col
    %pc = add %c, %oc
    store %pc, %d
)"),
                                 {PointerSpec(*isa::DTypeFromName(dtype)), PointerSpec(*isa::DTypeFromName(dtype)), PointerSpec(isa::DType::kF32), IntSpec()});
    EXPECT_NE(emitted.text.find("dot_mma"), std::string::npos) << emitted.text;
    CompileForAll(emitted);
  }
}

}  // namespace
}  // namespace tilevm::gpu
