#include "tests/example_kernels.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "frontends/triton/compile.h"
#include "isa/status.h"

namespace tilevm::tests {
namespace {

using specializer::ArgSpec;
using specializer::Value;

constexpr ExampleKernel kExamples[] = {
    {"vector_add", "add_kernel", "*f32/16 *f32/16 *f32/16 i32 =1024"},
    {"fused_softmax", "softmax_kernel", "*f32/16 *f32/16 i32 i32 i32 =1024"},
    {"matmul_autotune", "matmul_kernel", "*f16/16 *f16/16 *f16/16 i32/16 i32/16 i32/16 i32/16 =1 i32/16 =1 i32/16 =1 =64 =64 =32 =8"},
    {"flash_attention_simplified", "flash_attn_kernel",
     "*f32/16 *f32/16 *f32/16 *f32/16 i32/16 =1 i32/16 =1 i32/16 =1 i32/16 =1 i32 i32 i32/16 =64 =64 =64"},
};

absl::StatusOr<ArgSpec> ParseArg(absl::string_view text) {
  ArgSpec spec;
  if (absl::ConsumePrefix(&text, "=")) {
    int64_t number = 0;
    if (text != "True" && text != "False" && !absl::SimpleAtoi(text, &number)) return absl::InternalError(absl::StrCat("no static value ", text));
    spec.value = text == "True" || text == "False" ? Value::Bool(text == "True") : Value::Int(number);
    return spec;
  }
  spec.kind = ArgSpec::Kind::kTyped;
  spec.divisible_by_16 = absl::ConsumeSuffix(&text, "/16");
  bool pointer = absl::ConsumePrefix(&text, "*");
  std::optional<isa::DType> dtype = isa::DTypeFromName(text);
  if (!dtype.has_value()) return absl::InternalError(absl::StrCat("no type ", text));
  spec.type = pointer ? isa::PointerType(*dtype) : isa::ScalarType(*dtype);
  return spec;
}

std::string PathOf(const ExampleKernel& example) { return absl::StrCat("examples/", example.file, ".py"); }

}  // namespace

absl::Span<const ExampleKernel> ExampleKernels() { return kExamples; }

std::string SourceOf(const ExampleKernel& example) {
  std::ifstream file(PathOf(example), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

absl::StatusOr<isa::Module> CompileExample(const ExampleKernel& example) {
  return triton::CompileTriton(SourceOf(example), PathOf(example));
}

absl::StatusOr<specializer::SpecializationKey> KeyOf(const ExampleKernel& example) {
  specializer::SpecializationKey key;
  for (absl::string_view arg : absl::StrSplit(example.args, ' ')) {
    TILEVM_ASSIGN_OR_RETURN(ArgSpec spec, ParseArg(arg));
    key.args.push_back(std::move(spec));
  }
  return key;
}

absl::StatusOr<ir::Kernel> SpecializeExample(const ExampleKernel& example, const isa::Module& module) {
  specializer::Evaluator evaluator(&module, nullptr);
  TILEVM_ASSIGN_OR_RETURN(Value kernel, evaluator.Global(example.kernel));
  TILEVM_ASSIGN_OR_RETURN(specializer::SpecializationKey key, KeyOf(example));
  return evaluator.Specialize(kernel, key);
}

}  // namespace tilevm::tests
