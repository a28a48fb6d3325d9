// Texts kept on the disk: what comes back is what was put there, the key is all that the generator looks at, and bytes that do not fit are a miss.
#include "gpu/compile/kept_text.h"

#include <filesystem>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/compile/compiler.h"
#include "gpu/compile/passed_kernel.h"
#include "gpu/compile/text_entry.h"

namespace tilevm::gpu {
namespace {

ir::Kernel KernelOf(const tests::ExampleKernel& example) { return PassedKernel(example, tests::CompileExample(example), 4); }

void ExpectEqual(const Emitted& a, const Emitted& b) {
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.entry, b.entry);
  EXPECT_EQ(a.threads, b.threads);
  EXPECT_EQ(a.smem_bytes, b.smem_bytes);
  EXPECT_EQ(a.smem_buffers, b.smem_buffers);
  EXPECT_EQ(a.smem_loc, b.smem_loc);
  ASSERT_EQ(a.records.size(), b.records.size());
  for (size_t i = 0; i < a.records.size(); ++i) {
    EXPECT_EQ(a.records[i].kind, b.records[i].kind);
    EXPECT_EQ(a.records[i].text, b.records[i].text);
    EXPECT_EQ(a.records[i].hex, b.records[i].hex);
    EXPECT_EQ(a.records[i].operands, b.records[i].operands);
    EXPECT_EQ(a.records[i].loc, b.records[i].loc);
  }
  EXPECT_EQ(a.begins_early, b.begins_early);
  EXPECT_EQ(a.may_write, b.may_write);
  EXPECT_EQ(launch::Encode(a.slice), launch::Encode(b.slice));
  EXPECT_EQ(a.persistent, b.persistent);
  EXPECT_EQ(a.programs, b.programs);
  EXPECT_EQ(a.dealt, b.dealt);
  EXPECT_EQ(a.packed, b.packed);
  EXPECT_EQ(a.runs, b.runs);
  EXPECT_EQ(a.parts, b.parts);
  EXPECT_EQ(a.tail, b.tail);
  EXPECT_EQ(a.ctas, b.ctas);
  EXPECT_EQ(a.split, b.split);
}

TEST(KeptText, ComesBackAsItWas) {
  bool persistent = false, maps = false, runs = false;
  for (const tests::ExampleKernel& example : tests::ExampleKernels()) {
    const ir::Kernel kernel = KernelOf(example);
    for (const char* arch : {"sm_80", "sm_90a", "sm_100a"}) {
      SCOPED_TRACE(std::string(example.kernel) + " " + arch);
      const absl::StatusOr<Emitted> made = Generate(kernel, *TargetOf(arch));
      ASSERT_TRUE(made.ok()) << made.status();
      const absl::StatusOr<Emitted> kept = DecodeText(EncodeText(*made), kernel);
      ASSERT_TRUE(kept.ok()) << kept.status();
      ExpectEqual(*made, *kept);
      persistent |= made->persistent;
      maps |= !made->slice.maps.empty();
      runs |= !made->runs.empty();
    }
  }
  EXPECT_TRUE(persistent && maps && runs);
}

TEST(KeptText, PrintsAndAssertsToo) {
  const ir::Kernel kernel = KernelOf(tests::ExampleKernels()[0]);
  Emitted made = *Generate(kernel, *TargetOf("sm_80"));
  made.records.resize(2);
  made.records[0] = {RecordFormat::Kind::kPrint, "x \xc3\xa9", true, {isa::ScalarType(isa::DType::kI64), isa::TileType(isa::DType::kF16, {4, 8})}, {0, 3, 7}};
  made.records[1] = {RecordFormat::Kind::kAssert, "", false, {isa::ScalarType(isa::DType::kI1)}, {-1, 0, 0}};
  const absl::StatusOr<Emitted> kept = DecodeText(EncodeText(made), kernel);
  ASSERT_TRUE(kept.ok()) << kept.status();
  ExpectEqual(made, *kept);
}

TEST(KeptText, AllThatTheGeneratorLooksAtIsInTheKey) {
  const ir::Kernel kernel = KernelOf(tests::ExampleKernels()[0]);
  const Target target = *TargetOf("sm_90a");
  std::set<CacheKey> keys = {TextKey(kernel, target, {})};
  EXPECT_EQ(TextKey(ir::Kernel(kernel), *TargetOf("sm_90a"), {}), *keys.begin());
  size_t changes = 0;
  const auto differs = [&](const CacheKey& key) { EXPECT_TRUE(keys.insert(key).second) << "change " << ++changes; };
  differs(TextKey(kernel, target, {}, "another generator"));
  for (const char* arch : {"sm_80", "sm_86", "sm_89", "sm_100a", "sm_120a"}) differs(TextKey(kernel, *TargetOf(arch), {}));
  for (auto change : std::vector<std::function<void(Target&)>>{[](Target& t) { t.max_smem_per_block -= 1024; }, [](Target& t) { t.max_registers_per_thread = 128; },
                                                              [](Target& t) { t.max_threads_per_block = 512; }}) {
    Target other = target;
    change(other);
    differs(TextKey(kernel, other, {}));
  }
  for (bool GenerateOptions::*flag : {&GenerateOptions::line_directives, &GenerateOptions::overlap, &GenerateOptions::wgmma, &GenerateOptions::threads, &GenerateOptions::few_programs}) {
    GenerateOptions options;
    options.*flag = !(options.*flag);
    differs(TextKey(kernel, target, options));
  }
  for (bool Promises::*flag : {&Promises::no_alias, &Promises::trust_signs, &Promises::loops_run, &Promises::tail, &Promises::many, &Promises::boxes, &Promises::turn,
                               &Promises::box_stores, &Promises::workspace, &Promises::made}) {
    GenerateOptions options;
    options.promises.*flag = !(options.promises.*flag);
    differs(TextKey(kernel, target, options));
  }
  GenerateOptions options;
  options.merged = 3;
  differs(TextKey(kernel, target, options));
  options = {};
  options.promises.parts = 2;
  differs(TextKey(kernel, target, options));
  EXPECT_FALSE(CanBeKept(options));
  for (auto change : std::vector<std::function<void(ir::Kernel&)>>{
           [](ir::Kernel& k) { k.name += "_"; },
           [](ir::Kernel& k) { k.params[0].divisibility *= 2; },
           [](ir::Kernel& k) { k.params[0].name += "_"; },
           [](ir::Kernel& k) { k.params[0].loc.line += 1; },
           [](ir::Kernel& k) { std::swap(k.params[0], k.params[1]); },
           [](ir::Kernel& k) { k.values[0].name += "_"; },
           [](ir::Kernel& k) { k.values[k.params[0].value].type.elem.dtype = isa::DType::kF64; },
           [](ir::Kernel& k) { k.body.ops[0].loc.line += 1; },
           [](ir::Kernel& k) { k.body.ops[0].loc.col += 1; },
           [](ir::Kernel& k) { k.body.ops[0].loc.file += 1; },
           [](ir::Kernel& k) { k.body.ops[0].SetAttr("volatile", true); },
           [](ir::Kernel& k) { k.body.ops[0].SetAttr("volatile", int64_t{1}); },
           [](ir::Kernel& k) { k.body.ops.erase(k.body.ops.end() - 2); },
           [](ir::Kernel& k) { k.options.num_warps = 8; },
           [](ir::Kernel& k) { k.options.num_stages = 5; },
           [](ir::Kernel& k) { k.options.num_ctas = 2; },
           [](ir::Kernel& k) { k.options.maxnreg = 64; },
           [](ir::Kernel& k) { k.options.debug = true; },
           [](ir::Kernel& k) { k.options.fast_math = true; },
       }) {
    ir::Kernel other = kernel;
    change(other);
    differs(TextKey(other, target, {}));
  }
}

TEST(KeptText, BytesThatDoNotFitAreRefused) {
  const ir::Kernel kernel = KernelOf(tests::ExampleKernels()[0]);
  Emitted made = *Generate(kernel, *TargetOf("sm_90a"));
  made.text = "// short";
  made.runs = {{kernel.params[0].value, static_cast<ir::ValueId>(kernel.values.size() - 1)}};
  const std::string bytes = EncodeText(made);
  ASSERT_TRUE(DecodeText(bytes, kernel).ok());
  for (size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(DecodeText(bytes.substr(0, size), kernel).ok()) << size;
  EXPECT_FALSE(DecodeText(bytes + '\0', kernel).ok());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string other = bytes;
      other[at] = static_cast<char>(other[at] ^ (1 << bit));
      const absl::StatusOr<Emitted> kept = DecodeText(other, kernel);
      if (kept.ok()) { EXPECT_EQ(EncodeText(*kept), other); }
    }
  }
  // Of a kernel with fewer values, or other parameters.
  ir::Kernel smaller = kernel;
  smaller.values.pop_back();
  EXPECT_FALSE(DecodeText(bytes, smaller).ok());
  ir::Kernel fewer = kernel;
  fewer.params.pop_back();
  EXPECT_FALSE(DecodeText(bytes, fewer).ok());
}

TEST(KeptText, ALaterProcessDoesNotGenerate) {
  const ir::Kernel kernel = KernelOf(tests::ExampleKernels()[0]);
  const Target target = *TargetOf("sm_90a");
  CompilerOptions options;
  options.cache.directory = (std::filesystem::path(testing::TempDir()) / "kept_text").string();
  std::filesystem::remove_all(options.cache.directory);
  const absl::StatusOr<Emitted> made = Compiler(options).GenerateText(kernel, target, {});
  ASSERT_TRUE(made.ok()) << made.status();
  // Seen by an entry that the generator would not make.
  Emitted other = *made;
  other.text += "// kept\n";
  {
    DiskCache cache(options.cache);
    ASSERT_TRUE(cache.Get(TextKey(kernel, target, {})).has_value());
    ASSERT_TRUE(cache.Evict(0).ok());
    cache.Put(TextKey(kernel, target, {}), EncodeText(other));
  }
  EXPECT_EQ(Compiler(options).GenerateText(kernel, target, {})->text, other.text);
  // An entry that is none, and one of other options.
  GenerateOptions others;
  others.overlap = false;
  EXPECT_EQ(Compiler(options).GenerateText(kernel, target, others)->text, Generate(kernel, target, others)->text);
  {
    DiskCache cache(options.cache);
    ASSERT_TRUE(cache.Evict(0).ok());
    cache.Put(TextKey(kernel, target, {}), "tilevm text 1\nnonsense");
  }
  EXPECT_EQ(Compiler(options).GenerateText(kernel, target, {})->text, made->text);
  options.cache.directory.clear();
  EXPECT_EQ(Compiler(options).GenerateText(kernel, target, {})->text, made->text);
}

}  // namespace
}  // namespace tilevm::gpu
