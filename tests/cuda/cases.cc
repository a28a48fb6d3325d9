#include "tests/cuda/cases.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "frontends/asm/assemble.h"
#include "frontends/triton/compile.h"
#include "isa/status.h"
#include "specializer/partial_eval/evaluator.h"
#include "specializer/passes/passes.h"
#include "tests/launch.h"

namespace tilevm::tests {
namespace {

class SilentHost : public specializer::Host {
 public:
  void Print(absl::string_view) override {}
};

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

absl::StatusOr<ir::Kernel> KernelOf(const Case& one, int num_warps) {
  absl::StatusOr<isa::Module> module =
      one.triton ? triton::CompileTriton(one.source, one.file) : assembly::Assemble(one.source, one.file);
  if (!module.ok()) return module.status();
  SilentHost host;
  specializer::Evaluator evaluator(&*module, &host);
  TILEVM_ASSIGN_OR_RETURN(specializer::Value function, evaluator.Global("kernel"));
  TILEVM_ASSIGN_OR_RETURN(const isa::Function* info, evaluator.KernelFunction(function));
  TILEVM_ASSIGN_OR_RETURN(specializer::SpecializationKey key, KeyOf(one, *info));
  key.options.num_warps = num_warps;
  key.options.debug = true;
  TILEVM_ASSIGN_OR_RETURN(ir::Kernel typed, evaluator.Specialize(function, key));
  return specializer::RunPasses(std::move(typed));
}

bool HasAliases(const Case& one, const ir::Kernel& kernel) {
  absl::StatusOr<std::vector<vm::Arg>> args = ArgsOf(one, kernel);
  if (!args.ok()) return true;
  std::set<int32_t> seen;
  for (const vm::Arg& arg : *args) {
    if (arg.kind == vm::Arg::Kind::kBuffer && !seen.insert(arg.buffer).second) return true;
  }
  return false;
}

std::string ProgramHead() { return "#include \"device/all.cuh\"\n"; }

std::string InNamespace(const gpu::Emitted& emitted, const std::string& entry) {
  std::string text = emitted.text.substr(ProgramHead().size());
  const std::string call = absl::StrCat(") ", emitted.entry, "(");
  const size_t kernel = text.find("extern \"C\" __global__");
  text.replace(text.find(call, kernel), call.size(), absl::StrCat(") ", entry, "("));
  return absl::StrCat("namespace in_", entry, " {\n", text, "}\n");
}

}  // namespace tilevm::tests
