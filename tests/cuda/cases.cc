#include "tests/cuda/cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "frontends/asm/assemble.h"
#include "frontends/triton/compile.h"
#include "gpu/launch/arguments.h"
#include "isa/eval.h"
#include "isa/status.h"
#include "specializer/analysis/launch_ranges.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"
#include "tests/launch.h"

namespace tilevm::tests {
namespace {

class CollectingHost : public specializer::Host {
 public:
  explicit CollectingHost(std::vector<std::string>* lines) : lines_(lines) {}
  void Print(absl::string_view line) override {
    if (lines_ != nullptr) lines_->emplace_back(absl::StripSuffix(line, "\n"));
  }

 private:
  std::vector<std::string>* lines_;
};

bool IsFloatTile(const ir::Kernel& kernel, ir::ValueId id) { return id != ir::kNoValue && isa::IsFloat(kernel.TypeOf(id).elem.dtype) && !kernel.TypeOf(id).elem.pointer; }

bool RegionHasSameBits(const ir::Kernel& kernel, const ir::Region& region) {
  using isa::Op;
  for (const ir::Op& op : region.ops) {
    const bool floats = !op.operands.empty() && IsFloatTile(kernel, op.operands[0]);
    switch (op.op) {
      case Op::kExp: case Op::kExp2: case Op::kLog: case Op::kLog2: case Op::kRsqrt: case Op::kSin: case Op::kCos: case Op::kErf: case Op::kTanh: case Op::kLibExp:
      case Op::kLibPow: case Op::kLibExp2: case Op::kLibLog: case Op::kLibLog2: case Op::kLog10: case Op::kLog1p: case Op::kExpm1: case Op::kTan: case Op::kAsin:
      case Op::kAcos: case Op::kAtan: case Op::kAtan2: case Op::kSinh: case Op::kCosh: case Op::kAsinh: case Op::kAcosh: case Op::kAtanh: case Op::kErfc: case Op::kCbrt:
        return false;
      case Op::kFDiv:
        if (!op.BoolAttr("ieee_rounding")) return false;
        break;
      case Op::kReduce: case Op::kScan: {
        const absl::string_view kind = op.StringAttr("kind");
        if (floats && (kind == "add" || kind == "mul" || kind == "custom")) return false;
        break;
      }
      case Op::kDot:
        if (floats) return false;
        break;
      case Op::kAtomicAdd:  // the order of programs and lanes
        if (IsFloatTile(kernel, op.operands[1])) return false;
        break;
      default: break;
    }
    for (const ir::Region& inner : op.regions) {
      if (!RegionHasSameBits(kernel, inner)) return false;
    }
  }
  return true;
}

std::optional<int64_t> ScalarOf(const ir::Kernel& kernel, const ir::Param& param, const vm::Arg& arg) {
  const isa::ElemType elem = kernel.TypeOf(param.value).elem;
  if (arg.kind != vm::Arg::Kind::kScalar || elem.pointer || isa::IsFloat(elem.dtype)) return std::nullopt;
  const int64_t value = isa::ScalarToInt(elem.dtype, isa::Scalar{arg.bits});
  if (elem.dtype == isa::DType::kU64 && value < 0) return std::nullopt;
  return value;
}

}  // namespace

absl::StatusOr<std::vector<Case>> ReadFolders(const std::vector<std::string>& folders) {
  std::vector<Case> cases;
  for (const std::string& folder : folders) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".case") paths.push_back(entry.path().string());
    }
    if (error) return absl::NotFoundError(absl::StrCat(folder, ": ", error.message()));
    std::sort(paths.begin(), paths.end());
    for (const std::string& path : paths) {
      std::ifstream file(path, std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      TILEVM_ASSIGN_OR_RETURN(std::vector<Case> some, ParseCases(path, text.str()));
      for (Case& one : some) cases.push_back(std::move(one));
    }
  }
  return cases;
}

absl::StatusOr<ir::Kernel> KernelOf(const Case& one, int num_warps, std::vector<std::string>* static_prints) {
  absl::StatusOr<isa::Module> module =
      one.triton ? triton::CompileTriton(one.source, one.file) : assembly::Assemble(one.source, one.file);
  if (!module.ok()) return module.status();
  CollectingHost host(static_prints);
  specializer::Evaluator evaluator(&*module, &host);
  TILEVM_ASSIGN_OR_RETURN(specializer::Value function, evaluator.Global("kernel"));
  TILEVM_ASSIGN_OR_RETURN(const isa::Function* info, evaluator.KernelFunction(function));
  TILEVM_ASSIGN_OR_RETURN(specializer::SpecializationKey key, KeyOf(one, *info));
  key.options.num_warps = num_warps;
  key.options.debug = absl::StrContains(one.source, "assert");  // debugging leaves tensor maps out
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, evaluator.Specialize(function, key));
  return specializer::RunPasses(std::move(typed));
}

gpu::Promises PromisesOf(const Case& one, const ir::Kernel& kernel) {
  gpu::Promises promises;
  promises.no_alias = false;
  promises.trust_signs = false;
  absl::StatusOr<std::vector<vm::Arg>> args = ArgsOf(one, kernel);
  if (!args.ok()) return promises;
  std::set<int32_t> seen;
  std::vector<std::optional<int64_t>> scalars;
  promises.no_alias = true;
  for (size_t i = 0; i < args->size(); ++i) {
    const vm::Arg& arg = (*args)[i];
    if (arg.kind == vm::Arg::Kind::kBuffer && !seen.insert(arg.buffer).second) promises.no_alias = false;
    scalars.push_back(ScalarOf(kernel, kernel.params[i], arg));
  }
  promises.trust_signs = analysis::LaunchRanges(kernel, scalars, {one.grid[0], one.grid[1], one.grid[2]}).SignsAreAsTrusted();
  return promises;
}

absl::StatusOr<gpu::Emitted> EmittedOf(const Case& one, const ir::Kernel& kernel, const gpu::Target& target, bool made_maps) {
  gpu::GenerateOptions options;
  options.promises = PromisesOf(one, kernel);
  options.promises.made = made_maps;
  options.line_directives = false;
  std::vector<uint64_t> values;
  // Buffers lie at multiples of 256.
  if (absl::StatusOr<std::vector<vm::Arg>> args = ArgsOf(one, kernel); args.ok()) {
    for (const vm::Arg& arg : *args) {
      const bool buffer = arg.kind == vm::Arg::Kind::kBuffer;
      values.push_back(buffer ? (static_cast<uint64_t>(arg.buffer) + 1) << 32 | static_cast<uint64_t>(arg.byte_offset) : arg.bits);
    }
  } else {
    options.promises.boxes = false;
  }
  // As an H200; but what more programs are good for shall be seen with a few, since the CPU engine runs them too.
  const int multiprocessors = one.grid[0] * one.grid[1] * one.grid[2] > 8 ? 4 : 132;
  return gpu::GenerateFor(kernel, target, options, values, {one.grid[0], one.grid[1], one.grid[2]}, false, multiprocessors);
}

bool HasSameBits(const ir::Kernel& kernel) { return RegionHasSameBits(kernel, kernel.body); }

namespace {

// Length of the lines that say what the device headers are to be, and include them.
size_t HeadLength(absl::string_view text) {
  size_t length = 0;
  while (absl::StartsWith(text.substr(length), "#include") || absl::StartsWith(text.substr(length), "#define")) length = text.find('\n', length) + 1;
  return length;
}

}  // namespace

std::vector<std::vector<size_t>> ProgramsOf(const std::vector<const gpu::Emitted*>& texts, size_t most) {
  std::map<std::string, std::vector<size_t>> by_head;
  for (size_t i = 0; i < texts.size(); ++i) by_head[texts[i]->text.substr(0, HeadLength(texts[i]->text))].push_back(i);
  std::vector<std::vector<size_t>> programs;
  for (const auto& [head, members] : by_head) {
    const size_t first = programs.size(), count = (members.size() + most - 1) / most;
    programs.resize(first + count);
    for (size_t i = 0; i < members.size(); ++i) programs[first + i % count].push_back(members[i]);
  }
  return programs;
}

std::string ProgramHead(const gpu::Emitted& emitted) { return emitted.text.substr(0, HeadLength(emitted.text)); }

std::string InNamespace(const gpu::Emitted& emitted, const std::string& entry) {
  std::string text = emitted.text.substr(HeadLength(emitted.text));
  const std::string call = absl::StrCat(") ", emitted.entry, "(");
  const size_t kernel = text.find("extern \"C\" __global__");
  text.replace(text.find(call, kernel), call.size(), absl::StrCat(") ", entry, "("));
  return absl::StrCat("namespace in_", entry, " {\n", text, "}\n");
}

}  // namespace tilevm::tests
